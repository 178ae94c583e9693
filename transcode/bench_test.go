package transcode_test

import (
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file measures a small message (114 bytes: four numbers, a string, a
// binary) and a medium one (lists and maps of 16).

func simple() *schema.StructDef {
	return structOf("Simple", field(1, "ByteField", tI8), field(2, "I64Field", tI64), field(3, "DoubleField", tDouble),
		field(4, "I32Field", tI32), field(5, "StringField", tString), field(6, "BinaryField", tBinary))
}

func nesting() *schema.StructDef {
	s := simple().Type()
	m := schema.MapOf
	return structOf("Nesting", field(1, "String", tString), field(2, "ListSimple", schema.ListOf(s)), field(3, "Double", tDouble),
		field(4, "I32", tI32), field(5, "ListI32", schema.ListOf(tI32)), field(6, "I64", tI64), field(7, "MapStringString", m(tString, tString)),
		field(8, "SimpleStruct", s), field(9, "MapI32I64", m(tI32, tI64)), field(10, "ListString", schema.ListOf(tString)),
		field(11, "Binary", tBinary), field(12, "MapI64String", m(tI64, tString)), field(13, "ListI64", schema.ListOf(tI64)),
		field(14, "Byte", tI8), field(15, "MapStringSimple", m(tString, s)))
}

const (
	someText   = "the string of this message, 34 by."
	someBase64 = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="
)

var simpleJSON = fmt.Sprintf(`{"ByteField":127,"I64Field":%d,"DoubleField":%v,"I32Field":%d,"StringField":%q,"BinaryField":%q}`,
	int64(math.MaxInt64), 0.1234567890123456, math.MaxInt32, someText, someBase64)

func nestingJSON() string {
	list := func(open, end string, item func(i int) string) string {
		items := make([]string, 16)
		for i := range items {
			items[i] = item(i)
		}
		return open + strings.Join(items, ",") + end
	}
	number := func(i int) string { return fmt.Sprint(math.MaxInt32 - i) }
	large := func(i int) string { return fmt.Sprint(math.MaxInt64 - int64(i)) }
	text := func(i int) string { return fmt.Sprintf("%q", fmt.Sprintf("%02d%s", i, someText[2:])) }
	return `{"String":` + text(0) + `,"ListSimple":` + list("[", "]", func(int) string { return simpleJSON }) +
		`,"Double":1.5,"I32":7,"ListI32":` + list("[", "]", number) + `,"I64":9,"MapStringString":` +
		list("{", "}", func(i int) string { return text(i) + ":" + text(i) }) + `,"SimpleStruct":` + simpleJSON +
		`,"MapI32I64":` + list("{", "}", func(i int) string { return `"` + number(i) + `":` + large(i) }) +
		`,"ListString":` + list("[", "]", text) + `,"Binary":"` + someBase64 + `","MapI64String":` +
		list("{", "}", func(i int) string { return `"` + large(i) + `":` + text(i) }) + `,"ListI64":` + list("[", "]", large) +
		`,"Byte":1,"MapStringSimple":` + list("{", "}", func(i int) string { return text(i) + ":" + simpleJSON }) + `}`
}

func benchmarks(b *testing.B, run func(b *testing.B, c *transcode.Converter, json string)) {
	b.Run("small", func(b *testing.B) { run(b, converter(b, simple()), simpleJSON) })
	b.Run("medium", func(b *testing.B) { run(b, converter(b, nesting()), nestingJSON()) })
}

func BenchmarkJSONToThrift(b *testing.B) {
	benchmarks(b, func(b *testing.B, c *transcode.Converter, json string) {
		in := []byte(json)
		out, err := c.AppendThrift(nil, in)
		if err != nil {
			b.Fatal(err)
		}
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			out, _ = c.AppendThrift(out[:0], in)
		}
	})
}

func BenchmarkThriftToJSON(b *testing.B) {
	benchmarks(b, func(b *testing.B, c *transcode.Converter, json string) {
		in, err := c.AppendThrift(nil, []byte(json))
		if err != nil {
			b.Fatal(err)
		}
		out, _, err := c.AppendJSON(nil, in)
		if err != nil || string(out) != json {
			b.Fatalf("%s\n%s, %v", json, out, err)
		}
		b.SetBytes(int64(len(in)))
		b.ReportAllocs()
		for b.Loop() {
			out, _, _ = c.AppendJSON(out[:0], in)
		}
	})
}
