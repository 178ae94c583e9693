package protobuf_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
)

// The shape "medium" of the other benchmarks: sixteen elements in each list and
// map, about 5.5 KB.
const nestingIDL = `
syntax = "proto3";
message Simple { int32 byte = 1; int64 i64 = 2; double double = 3; int32 i32 = 4; string string = 5; bytes binary = 6; }
message Nesting {
  string string = 1; repeated Simple list_simple = 2; double double = 3; int32 i32 = 4; repeated int32 list_i32 = 5; int64 i64 = 6;
  map<string, string> map_string_string = 7; Simple simple = 8; map<int32, int64> map_i32_i64 = 9; repeated string list_string = 10;
  bytes binary = 11; map<int64, string> map_i64_string = 12; repeated int64 list_i64 = 13; int32 byte = 14; map<string, Simple> map_string_simple = 15;
}
message PartialSimple { int32 byte = 1; double double = 3; bytes binary = 6; }
message PartialNesting { repeated PartialSimple list_simple = 2; PartialSimple simple = 8; map<string, PartialSimple> map_string_simple = 15; }
`

// nesting returns a message, its type and the smaller one.
func nesting(b *testing.B) (v protobuf.Value, partial *schema.Type) {
	b.Helper()
	file, list := protoidl.Load("n.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"n.proto": []byte(nestingIDL)}))
	if err := list.Err(); err != nil {
		b.Fatal(err)
	}
	text := strings.Repeat("text", 8) + "zz"
	simple := map[string]any{"byte": 127, "i64": int64(1) << 62, "double": 1.5, "i32": 1 << 30, "string": text, "binary": strings.Repeat("\x00\xff", 16)}
	var simples, numbers, texts []any
	byText, byNumber, texted, simpled := map[any]any{}, map[any]any{}, map[any]any{}, map[any]any{}
	for i := range 16 {
		simples, numbers, texts = append(simples, simple), append(numbers, i), append(texts, text)
		key := fmt.Sprint(i)
		byText[key], byNumber[i], texted[i], simpled[key] = text, i, text, simple
	}
	v, err := protobuf.MakeAny(file.Struct("Nesting").Type(), map[string]any{
		"string": text, "list_simple": simples, "double": 2.5, "i32": 4, "list_i32": numbers, "i64": 6, "map_string_string": byText, "simple": simple,
		"map_i32_i64": byNumber, "list_string": texts, "binary": text, "map_i64_string": texted, "list_i64": numbers, "byte": 14, "map_string_simple": simpled})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(v.Raw())))
	b.ReportAllocs()
	return v, file.Struct("PartialNesting").Type()
}

func BenchmarkMedium(b *testing.B) {
	element := []protobuf.Step{protobuf.Name("list_simple"), protobuf.Index(15), protobuf.Name("i64")}
	works := map[string]func(b *testing.B, v protobuf.Value, partial *schema.Type) func() error{
		"get-one": func(b *testing.B, v protobuf.Value, _ *schema.Type) func() error {
			path, err := protobuf.Compile(v.Type(), element...)
			if err != nil {
				b.Fatal(err)
			}
			return func() error { _, err := path.Get(v.Node); return err }
		},
		"get-many": func(b *testing.B, v protobuf.Value, _ *schema.Type) func() error {
			paths, err := protobuf.CompileAll(v.Type(), element, []protobuf.Step{protobuf.Name("byte")}, []protobuf.Step{protobuf.Name("simple"), protobuf.Name("string")},
				[]protobuf.Step{protobuf.Name("map_string_string"), protobuf.Key("15")}, []protobuf.Step{protobuf.Name("list_i64"), protobuf.Index(7)})
			if err != nil {
				b.Fatal(err)
			}
			out := make([]protobuf.Value, paths.Len())
			return func() error { return paths.Get(v.Node, out) }
		},
		"set-one": func(b *testing.B, v protobuf.Value, _ *schema.Type) func() error {
			path, err := protobuf.Compile(v.Type(), element...)
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			return func() (err error) { dst, err = path.AppendSet(dst[:0], v.Node, protobuf.NewInt(7)); return }
		},
		"trim": func(b *testing.B, v protobuf.Value, partial *schema.Type) func() error {
			trimmer, err := protobuf.NewTrimmer(v.Type(), partial)
			if err != nil {
				b.Fatal(err)
			}
			var dst []byte
			return func() (err error) { dst, err = trimmer.Append(dst[:0], v.Raw()); return }
		},
		"dom-reuse": func(b *testing.B, v protobuf.Value, _ *schema.Type) func() error {
			var tree protobuf.Tree
			return func() error { return tree.Load(v) }
		},
		"check": func(b *testing.B, v protobuf.Value, _ *schema.Type) func() error { return v.Check },
	}
	for _, name := range []string{"get-one", "get-many", "set-one", "trim", "dom-reuse", "check"} {
		b.Run(name, func(b *testing.B) {
			v, partial := nesting(b)
			work := works[name](b, v, partial)
			for b.Loop() {
				if err := work(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
