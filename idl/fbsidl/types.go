package fbsidl

import "github.com/thrum-rpc/thrum/schema"

// baseType is what a type is to the rules of FlatBuffers, under the number that
// reflection.fbs gives it.
type baseType uint8

const (
	btNone baseType = iota
	btUType
	btBool
	btByte
	btUByte
	btShort
	btUShort
	btInt
	btUInt
	btLong
	btULong
	btFloat
	btDouble
	btString
	btVector
	btObj // a table or a struct
	btUnion
	btArray
	btVector64
)

func (b baseType) isScalar() bool  { return b >= btUType && b <= btDouble }
func (b baseType) isInteger() bool { return b >= btUType && b <= btULong }
func (b baseType) isFloat() bool   { return b == btFloat || b == btDouble }
func (b baseType) isUnsigned() bool {
	return b == btUType || b == btBool || b == btUByte || b == btUShort || b == btUInt || b == btULong
}
func (b baseType) isVector() bool { return b == btVector || b == btVector64 }

// size returns the bytes of a scalar.
func (b baseType) size() int {
	switch b {
	case btUType, btBool, btByte, btUByte:
		return 1
	case btShort, btUShort:
		return 2
	case btInt, btUInt, btFloat:
		return 4
	}
	return 8
}

// kinds are the kinds of scalars and of string in the schema.
var kinds = [...]schema.Kind{
	btUType: schema.U8, btBool: schema.Bool, btByte: schema.I8, btUByte: schema.U8, btShort: schema.I16, btUShort: schema.U16,
	btInt: schema.I32, btUInt: schema.U32, btLong: schema.I64, btULong: schema.U64, btFloat: schema.Float, btDouble: schema.Double,
	btString: schema.String,
}

// typeWords are the names of types that the language has.
var typeWords = map[string]baseType{
	"bool": btBool, "byte": btByte, "int8": btByte, "ubyte": btUByte, "uint8": btUByte, "short": btShort, "int16": btShort,
	"ushort": btUShort, "uint16": btUShort, "int": btInt, "int32": btInt, "uint": btUInt, "uint32": btUInt,
	"long": btLong, "int64": btLong, "ulong": btULong, "uint64": btULong, "float": btFloat, "float32": btFloat,
	"double": btDouble, "float64": btDouble, "string": btString,
}

// foreignTypes are names that other languages have for FlatBuffers' types.
var foreignTypes = map[string]string{
	"i8": "byte", "i16": "short", "i32": "int", "i64": "long", "u8": "ubyte", "u16": "ushort", "u32": "uint", "u64": "ulong",
	"f32": "float", "f64": "double", "boolean": "bool", "char": "byte", "uchar": "ubyte", "integer": "int", "text": "string",
	"str": "string", "String": "string", "bytes": "[ubyte]", "binary": "[ubyte]", "sint32": "int", "sint64": "long",
	"list": "[T]", "vector": "[T]", "array": "[T]", "Int": "int", "Long": "long", "Bool": "bool", "Float": "float", "Double": "double",
}

// typeRef is a resolved use of a type. Of a series, elem is what it holds.
type typeRef struct {
	base, elem baseType
	strct      *structSym // of btObj
	enum       *enumSym   // of btUnion, and of integers that are an enum's
	length     uint16     // of an array
}

// element returns the type of what a series holds.
func (t typeRef) element() typeRef { return typeRef{base: t.elem, strct: t.strct, enum: t.enum} }

// isStruct reports whether t is a struct that has been declared already.
func (t typeRef) isStruct() bool { return t.base == btObj && t.strct.declared() && t.strct.fixed }

// inline returns the size and the alignment of a value in a struct.
func (t typeRef) inline() (size, align int) {
	switch {
	case t.base == btArray:
		size, align = t.element().inline()
		return size * int(t.length), align
	case t.base == btObj:
		return t.strct.size, t.strct.align
	}
	return t.base.size(), t.base.size()
}

// schemaType returns the type in the schema. All structs have been made.
func (t typeRef) schemaType() *schema.Type {
	switch t.base {
	case btVector:
		return schema.ListOf(t.element().schemaType())
	case btVector64:
		return schema.ListOf(t.element().schemaType()).WithEncoding(schema.Vector64)
	case btArray:
		return schema.ArrayOf(t.element().schemaType(), t.length)
	case btObj:
		return t.strct.actual().def.Type()
	case btUnion:
		return t.enum.union.Type()
	}
	if t.enum != nil {
		return t.enum.enum.Type()
	}
	return schema.Basic(kinds[t.base])
}
