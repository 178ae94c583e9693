package dynamic_test

import (
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the schemas and messages of the benchmarks and of many
// tests: a flat struct of 114 bytes and one with sixteen elements in each of
// its containers.

func field(id int32, name string, t *schema.Type) *schema.Field {
	return schema.NewField(schema.FieldSpec{ID: id, Name: name, Type: t})
}

func structOf(name string, fields ...*schema.Field) *schema.StructDef {
	d := schema.NewStruct(schema.DeclSpec{Name: name}, schema.PlainStruct)
	d.Complete(fields)
	return d
}

var (
	tBool   = schema.Basic(schema.Bool)
	tI8     = schema.Basic(schema.I8)
	tI16    = schema.Basic(schema.I16)
	tI32    = schema.Basic(schema.I32)
	tI64    = schema.Basic(schema.I64)
	tDouble = schema.Basic(schema.Double)
	tString = schema.Basic(schema.String)
	tBinary = schema.Basic(schema.Binary)
	tUUID   = schema.Basic(schema.UUID)
)

var simple = structOf("Simple",
	field(1, "byteField", tI8), field(2, "i64Field", tI64), field(3, "doubleField", tDouble),
	field(4, "i32Field", tI32), field(5, "stringField", tString), field(6, "binaryField", tBinary))

var nesting = structOf("Nesting",
	field(1, "string", tString), field(2, "listSimple", schema.ListOf(simple.Type())), field(3, "double", tDouble),
	field(4, "i32", tI32), field(5, "listI32", schema.ListOf(tI32)), field(6, "i64", tI64),
	field(7, "mapStringString", schema.MapOf(tString, tString)), field(8, "simple", simple.Type()),
	field(9, "mapI32I64", schema.MapOf(tI32, tI64)), field(10, "listString", schema.ListOf(tString)),
	field(11, "binary", tBinary), field(12, "mapI64String", schema.MapOf(tI64, tString)),
	field(13, "listI64", schema.ListOf(tI64)), field(14, "byte", tI8),
	field(15, "mapStringSimple", schema.MapOf(tString, simple.Type())))

var partialSimple = structOf("PartialSimple",
	field(1, "byteField", tI8), field(3, "doubleField", tDouble), field(6, "binaryField", tBinary))

var partialNesting = structOf("PartialNesting",
	field(2, "listSimple", schema.ListOf(partialSimple.Type())), field(8, "simple", partialSimple.Type()),
	field(15, "mapStringSimple", schema.MapOf(tString, partialSimple.Type())))

const each = 16

func simpleMessage() []byte { return appendSimple(nil) }

func appendSimple(b []byte) []byte {
	b = thriftwire.AppendI8(thriftwire.AppendField(b, thriftwire.I8, 1), 127)
	b = thriftwire.AppendI64(thriftwire.AppendField(b, thriftwire.I64, 2), 1<<62)
	b = thriftwire.AppendDouble(thriftwire.AppendField(b, thriftwire.Double, 3), 1.5)
	b = thriftwire.AppendI32(thriftwire.AppendField(b, thriftwire.I32, 4), 1<<30)
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 5), strings.Repeat("text", 8)+"zz")
	b = thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 6), strings.Repeat("\x00\xff", 16))
	return thriftwire.AppendStop(b)
}

func nestingMessage() []byte {
	name := strings.Repeat("text", 8) + "zz"
	f := thriftwire.AppendField
	b := thriftwire.AppendString(f(nil, thriftwire.String, 1), name)
	b = thriftwire.AppendList(f(b, thriftwire.List, 2), thriftwire.Struct, each)
	for range each {
		b = appendSimple(b)
	}
	b = thriftwire.AppendDouble(f(b, thriftwire.Double, 3), 2.5)
	b = thriftwire.AppendI32(f(b, thriftwire.I32, 4), 4)
	b = thriftwire.AppendList(f(b, thriftwire.List, 5), thriftwire.I32, each)
	for i := range each {
		b = thriftwire.AppendI32(b, int32(i))
	}
	b = thriftwire.AppendI64(f(b, thriftwire.I64, 6), 6)
	b = thriftwire.AppendMap(f(b, thriftwire.Map, 7), thriftwire.String, thriftwire.String, each)
	for i := range each {
		b = thriftwire.AppendString(thriftwire.AppendString(b, strconv.Itoa(i)), name)
	}
	b = appendSimple(f(b, thriftwire.Struct, 8))
	b = thriftwire.AppendMap(f(b, thriftwire.Map, 9), thriftwire.I32, thriftwire.I64, each)
	for i := range each {
		b = thriftwire.AppendI64(thriftwire.AppendI32(b, int32(i)), int64(i))
	}
	b = thriftwire.AppendList(f(b, thriftwire.List, 10), thriftwire.String, each)
	for range each {
		b = thriftwire.AppendString(b, name)
	}
	b = thriftwire.AppendString(f(b, thriftwire.String, 11), name)
	b = thriftwire.AppendMap(f(b, thriftwire.Map, 12), thriftwire.I64, thriftwire.String, each)
	for i := range each {
		b = thriftwire.AppendString(thriftwire.AppendI64(b, int64(i)), name)
	}
	b = thriftwire.AppendList(f(b, thriftwire.List, 13), thriftwire.I64, each)
	for i := range each {
		b = thriftwire.AppendI64(b, int64(i))
	}
	b = thriftwire.AppendI8(f(b, thriftwire.I8, 14), 14)
	b = thriftwire.AppendMap(f(b, thriftwire.Map, 15), thriftwire.String, thriftwire.Struct, each)
	for i := range each {
		b = appendSimple(thriftwire.AppendString(b, strconv.Itoa(i)))
	}
	return thriftwire.AppendStop(b)
}
