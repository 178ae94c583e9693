package dynamic_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func TestPartsAreLeftOutByWhatTheyHold(t *testing.T) {
	v := of(t, shop.Type(), `{i32: 1, list: [1, 2, 3, 4], set: ["a", "b"], points: [{x: 1}, {x: 2}, {y: 5}], byString: {"a": 1, "b": 2}, byInt: {7: "x", 8: "y"}, far: 9}`)
	number := func(v dynamic.Value) int64 { n, _ := v.Int(); return n }
	for _, c := range []struct {
		path string
		keep func(*dynamic.Iterator) bool
		want string
	}{
		{"list", func(it *dynamic.Iterator) bool { return number(it.Value())%2 == 0 }, `[2, 4]`},
		{"list", func(it *dynamic.Iterator) bool { return it.Index() != 0 }, `[2, 3, 4]`},
		{"list", func(it *dynamic.Iterator) bool { return false }, `[]`},
		{"set", func(it *dynamic.Iterator) bool { s, _ := it.Value().Text(); return s == "b" }, `["b"]`},
		{"byString", func(it *dynamic.Iterator) bool { s, _ := it.Key().Text(); return s == "a" }, `{"a": 1}`},
		{"byInt", func(it *dynamic.Iterator) bool { return number(it.Key()) == 8 }, `{8: "y"}`},
		{"points", func(it *dynamic.Iterator) bool { x, _ := it.Value().Get(dynamic.Name("x")); return x.Exists() }, `[{x: 1}, {x: 2}]`},
		{"points[0]", func(it *dynamic.Iterator) bool { return it.ID() != 1 }, `{}`},
	} {
		steps, err := dynamic.ParsePath(c.path)
		if err != nil {
			t.Fatal(err)
		}
		path, err := dynamic.Compile(shop.Type(), steps...)
		if err != nil {
			t.Fatal(err)
		}
		b, err := path.AppendFilter([]byte("before"), v.Node, c.keep)
		if err != nil || string(b[:6]) != "before" {
			t.Fatalf("%s: %v", c.path, err)
		}
		out := dynamic.NewValue(shop.Type(), b[6:])
		part, err := path.Get(out.Node)
		if err != nil || shown(t, part) != c.want {
			t.Errorf("%s is %s, want %s (%v)", c.path, shown(t, part), c.want, err)
		}
		// What is not filtered stays, also behind it.
		if out, err = out.Get(dynamic.Name("far")); err != nil || number(out) != 9 {
			t.Errorf("%s: the end of the message is gone", c.path)
		}
	}
}

func TestFilteringWhatIsAbsentCopies(t *testing.T) {
	v := of(t, shop.Type(), `{i32: 1}`)
	path, _ := dynamic.Compile(shop.Type(), dynamic.Name("list"))
	b, err := path.AppendFilter(nil, v.Node, func(*dynamic.Iterator) bool { t.Error("asked"); return false })
	if err != nil || string(b) != string(v.Raw()) {
		t.Errorf("%x, %v", b, err)
	}
}

func TestFilteringFaultsSayWhere(t *testing.T) {
	all := func(*dynamic.Iterator) bool { return true }
	dst := []byte("dst")
	// A list of two points, of which the second is cut.
	b := thriftwire.AppendList(thriftwire.AppendField(nil, thriftwire.List, 15), thriftwire.Struct, 2)
	b = append(b, 0, byte(thriftwire.I32), 0, 1, 0)
	path, _ := dynamic.Compile(shop.Type(), dynamic.Name("points"))
	out, err := path.AppendFilter(dst, dynamic.NewNode(thriftwire.Struct, b), all)
	checkFault(t, "a cut element", err, diag.UnexpectedEOF, 12, "points")
	if string(out) != "dst" {
		t.Errorf("dst became %q", out)
	}
	// Elements of another type than the schema's.
	b = thriftwire.AppendI64(thriftwire.AppendList(thriftwire.AppendField(nil, thriftwire.List, 15), thriftwire.I64, 1), 1)
	_, err = path.AppendFilter(dst, dynamic.NewNode(thriftwire.Struct, append(b, 0)), all)
	checkFault(t, "another type", err, diag.TypeMismatch, 3, "points")
	// A value without parts, and none at all.
	number, _ := dynamic.Compile(shop.Type(), dynamic.Name("i32"))
	_, err = number.AppendFilter(dst, of(t, shop.Type(), `{i32: 1}`).Node, all)
	checkFault(t, "a number", err, diag.TypeMismatch, 3, "i32")
	_, err = number.AppendFilter(dst, dynamic.Node{}, all)
	checkFault(t, "nothing", err, diag.NotFound, -1, "")
}

// FuzzFilter leaves every other part out of any bytes; what comes of a whole
// message is whole.
func FuzzFilter(f *testing.F) {
	f.Add(nestingMessage(), "listSimple", uint(1))
	f.Add(nestingMessage(), "mapStringSimple", uint(2))
	f.Add(nestingMessage(), "simple", uint(3))
	f.Fuzz(func(t *testing.T, b []byte, text string, some uint) {
		steps, err := dynamic.ParsePath(text)
		if err != nil {
			return
		}
		for _, typ := range []*schema.Type{nesting.Type(), nil} {
			path, err := dynamic.Compile(typ, steps...)
			if err != nil {
				continue
			}
			n := dynamic.NewNode(thriftwire.Struct, b)
			out, err := path.AppendFilter(nil, n, func(it *dynamic.Iterator) bool { return some>>(uint(it.Index())%8)&1 == 0 })
			if err == nil && n.Check() == nil && dynamic.NewNode(thriftwire.Struct, out).Check() != nil {
				t.Fatalf("%x became %x", b, out)
			}
		}
	})
}
