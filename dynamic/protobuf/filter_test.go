package protobuf_test

import (
	"fmt"
	"testing"

	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// filtered returns v, of type typ, without the parts whose text has an odd length.
func filtered(v any, typ *schema.Type) any {
	switch x := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for k, e := range x {
			if keepAny(e) {
				out[k] = e
			}
		}
		return out
	case []any:
		out := []any{}
		for _, e := range x {
			if keepAny(e) {
				out = append(out, e)
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	default:
		out := map[any]any{}
		for k, e := range x.(map[any]any) {
			if keepAny(e) {
				out[k] = e
			}
		}
		if len(out) == 0 {
			return nil
		}
		return out
	}
}

func keepAny(v any) bool { return len(fmt.Sprintf("%#v", v))%2 == 0 }

func TestFilteringLeavesOutWhatIsNotKept(t *testing.T) {
	each(t, 60, func(c *corpus, md protoreflect.MessageDescriptor, b []byte) {
		typ := c.schema(md)
		before := content(mustParse(t, md, b))
		walkTyped(before, typ, nil, func(path []protobuf.Step, part any, partType *schema.Type) {
			if k := partType.Kind(); k != schema.Struct && !k.IsContainer() {
				return
			}
			p, err := protobuf.Compile(typ, path...)
			if err != nil {
				t.Error(err)
				return
			}
			out, err := p.AppendFilter([]byte("kept"), protobuf.NewMessage(b), func(it *protobuf.Iterator) bool {
				v, err := it.Value().Any()
				if err != nil {
					t.Error(err)
				}
				return keepAny(withoutZeros(v, it.Value().Type()))
			})
			if err != nil || string(out[:4]) != "kept" {
				t.Errorf("%v: %v", path, err)
				return
			}
			want := wanted(t, md, typ, edit(before, typ, path, filtered(part, partType)))
			if got := show(mustParse(t, md, out[4:])); got != want {
				t.Errorf("%v:\ngot  %s\nwant %s\nbytes %x", path, got, want, out[4:])
			}
		})
	})
}

func TestWhatHasNoPartsIsNotFiltered(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{"name": "a"})
	if err != nil {
		t.Fatal(err)
	}
	all := func(*protobuf.Iterator) bool { return true }
	name, _ := protobuf.Compile(typ, protobuf.Name("name"))
	_, err = name.AppendFilter(nil, v.Node, all)
	checkFault(t, "a string", err, diag.TypeMismatch, "name")
	items, _ := protobuf.Compile(typ, protobuf.Name("items"))
	if out, err := items.AppendFilter(nil, v.Node, all); err != nil || string(out) != string(v.Raw()) {
		t.Errorf("nothing to filter: %x, %v", out, err)
	}
	bare, _ := protobuf.Compile(nil, protobuf.Field(1))
	_, err = bare.AppendFilter(nil, v.Node, all)
	checkFault(t, "no schema", err, diag.Unsupported, "1")
}
