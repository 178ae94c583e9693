package codec_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
)

type setItem struct {
	Name string   `thrift:"name,1"`
	Tags []string `thrift:"tags,2,default,list<string>"`
}

func TestASetKeepsItsOptionsForEveryType(t *testing.T) {
	type other struct {
		Items []*setItem `thrift:"items,1,default,list<setItem>"`
	}
	s := codec.NewSet(codec.Use(codec.Compact), codec.MaxContainer(2))
	if s.Protocol() != codec.Compact {
		t.Error("the protocol is lost")
	}
	item := &setItem{Name: "a", Tags: []string{"x", "y"}}
	c, err := codec.For[setItem](codec.Use(codec.Compact))
	if err != nil {
		t.Fatal(err)
	}
	want, _ := c.Marshal(item)
	b, err := s.Marshal(item)
	if err != nil || string(b) != string(want) {
		t.Fatalf("% x, %v; want % x", b, err, want)
	}
	if n, err := s.Size(*item); n != len(b) || err != nil {
		t.Errorf("size %d, %v", n, err)
	}
	if into := make([]byte, len(b)); true {
		if n, err := s.EncodeInto(into, nil, item); n != len(b) || err != nil || string(into) != string(b) {
			t.Errorf("into: % x, %d, %v", into, n, err)
		}
	}
	var again setItem
	if n, err := s.Unmarshal(b, &again); n != len(b) || err != nil || !reflect.DeepEqual(&again, item) {
		t.Errorf("%+v, %d, %v", again, n, err)
	}
	b, _ = s.Append(nil, &other{Items: []*setItem{item, item, item}})
	var f *diag.Fault
	if _, err := s.Unmarshal(b, &other{}); !errors.As(err, &f) || f.Code != diag.SizeLimit {
		t.Errorf("three elements give %v", err)
	}
	if _, err := s.Unmarshal(b, other{}); err == nil {
		t.Error("a value is decoded into")
	}
}

func TestASetTellsWhetherValuesAlias(t *testing.T) {
	for _, v := range []any{setItem{}, &setItem{}, reflect.TypeFor[setItem]()} {
		if a, err := codec.NewSet(codec.NoCopy()).Aliases(v); !a || err != nil {
			t.Errorf("%T: %v, %v", v, a, err)
		}
		if a, err := codec.Default().Aliases(v); a || err != nil {
			t.Errorf("%T without options: %v, %v", v, a, err)
		}
	}
	for _, v := range []any{nil, 7, struct {
		C chan int `thrift:"c,1"`
	}{}} {
		if _, err := codec.Default().Aliases(v); err == nil {
			t.Errorf("%T has an answer", v)
		}
	}
}

func TestTheEngineIsAnOption(t *testing.T) {
	for _, k := range []codec.EngineKind{codec.Auto, codec.Interp} {
		c, err := codec.For[setItem](codec.Engine(k))
		if err != nil || c.Engine() != "interp" {
			t.Errorf("%v runs on %v, %v", k, c, err)
		}
	}
	if _, err := codec.For[setItem](codec.Engine(77)); err == nil {
		t.Error("an engine that does not exist is taken")
	}
}
