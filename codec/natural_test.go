package codec_test

import (
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
	"github.com/thrum-rpc/thrum/examples/shop/parcels"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/internal/lower"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/schema"
)

// TestTheNaturalLayoutIsThatOfGeneratedCode compares the programs of generated
// structs with those that are shown for their schema alone.
func TestTheNaturalLayoutIsThatOfGeneratedCode(t *testing.T) {
	if ^uint(0)>>63 == 0 {
		t.Skip("the generated code gives no float to 32-bit layouts")
	}
	for file, types := range map[string][]reflect.Type{
		"shop.thrift": {
			reflect.TypeFor[shop.Book](), reflect.TypeFor[shop.Order](), reflect.TypeFor[shop.Everything](),
			reflect.TypeFor[shop.Delivery](), reflect.TypeFor[shop.Search](), reflect.TypeFor[shop.Subject](),
			reflect.TypeFor[shop.OutOfStock](),
		},
		"parcels.thrift": {reflect.TypeFor[parcels.Parcel]()},
	} {
		f, findings := thriftidl.Load("../examples/shop/" + file)
		if err := findings.Err(); err != nil {
			t.Fatal(err)
		}
		for _, typ := range types {
			for _, job := range []plan.Job{plan.Encode, plan.Size, plan.Decode} {
				comparePlans(t, job, typ, f.Struct(typ.Name()))
			}
		}
	}
}

func comparePlans(t *testing.T, job plan.Job, typ reflect.Type, def *schema.StructDef) {
	t.Helper()
	want, err := codec.PlanText(job, typ)
	if err != nil {
		t.Fatal(err)
	}
	layout, slots := lower.Natural(def)
	p, err := lower.Struct(job, layout, slots)
	if err != nil {
		t.Fatal(err)
	}
	if got := plan.Format(p); got != want {
		t.Errorf("%s of %s: got\n%s\nwant\n%s", job, typ, got, want)
	}
}

// TestAnEmptyBinaryIsWrittenWhereANilOneIsAbsent holds for structs that set
// defaults too: an optional binary without one is set if it is not nil.
func TestAnEmptyBinaryIsWrittenWhereANilOneIsAbsent(t *testing.T) {
	book := shop.NewBook()
	book.Price = new(common.Money)
	absent, err := codec.Marshal(book)
	if err != nil {
		t.Fatal(err)
	}
	book.Thumbnail = []byte{}
	empty, err := codec.Marshal(book)
	if err != nil || len(empty) != len(absent)+7 { // a header and a length
		t.Errorf("%d bytes, %d without the field; %v", len(empty), len(absent), err)
	}
	var back shop.Book
	if _, err := codec.Unmarshal(empty, &back); err != nil || back.Thumbnail == nil {
		t.Errorf("came back as %v, %v", back.Thumbnail, err)
	}
}
