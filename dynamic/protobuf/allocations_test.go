package protobuf_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/protobuf"
)

func TestReadingAndChangingDoNotAllocate(t *testing.T) {
	typ := shop(t)
	v, err := protobuf.MakeAny(typ, map[string]any{
		"name": "a", "items": []any{map[string]any{"name": "b", "price": 7}}, "counts": []any{1, 2}, "ids": map[any]any{1: "c"}, "gift": map[string]any{"name": "d"}})
	if err != nil {
		t.Fatal(err)
	}
	one, err := protobuf.Compile(typ, protobuf.Name("items"), protobuf.Index(0), protobuf.Name("price"))
	if err != nil {
		t.Fatal(err)
	}
	set, err := protobuf.CompileAll(typ, []protobuf.Step{protobuf.Name("name")}, []protobuf.Step{protobuf.Name("gift"), protobuf.Name("name")},
		[]protobuf.Step{protobuf.Name("items"), protobuf.Index(0), protobuf.Name("name")})
	if err != nil {
		t.Fatal(err)
	}
	out := make([]protobuf.Value, 3)
	values := []protobuf.Node{protobuf.NewString("x"), protobuf.NewString("yy"), protobuf.NewString("zzz")}
	dst := make([]byte, 0, 1000)
	for name, f := range map[string]func(){
		"Path.Get":        func() { _, _ = one.Get(v.Node) },
		"Paths.Get":       func() { _ = set.Get(v.Node, out) },
		"Path.AppendSet":  func() { dst, _ = one.AppendSet(dst[:0], v.Node, protobuf.NewInt(5)) },
		"Paths.AppendSet": func() { dst, _ = set.AppendSet(dst[:0], v.Node, values) },
		"Check":           func() { _ = v.Check() },
	} {
		if n := testing.AllocsPerRun(100, f); n > 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
