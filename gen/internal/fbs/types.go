package fbs

// Types of the schema as types of Go.

import (
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
)

// kind is what a field holds, as far as its code differs.
type kind string

const (
	kindScalar  kind = "scalar"
	kindString  kind = "string"
	kindStruct  kind = "struct"
	kindTable   kind = "table"
	kindUnion   kind = "union"
	kindArray   kind = "array"
	kindScalars kind = "scalars"
	kindStrings kind = "strings"
	kindStructs kind = "structs"
	kindTables  kind = "tables"
	kindUnions  kind = "unions"
)

func kindOf(f *schema.Field) kind {
	t := f.Type()
	switch t.Kind() {
	case schema.String:
		return kindString
	case schema.Array:
		return kindArray
	case schema.Struct:
		return structKind(t.Struct())
	case schema.List:
		switch e := t.Elem(); e.Kind() {
		case schema.String:
			return kindStrings
		case schema.Struct:
			return structKind(e.Struct()) + "s"
		}
		return kindScalars
	}
	return kindScalar
}

func structKind(d *schema.StructDef) kind {
	switch {
	case d.Fixed():
		return kindStruct
	case d.Flavor() == schema.Union:
		return kindUnion
	}
	return kindTable
}

// base returns the kind of the number that stands for a scalar.
func base(t *schema.Type) schema.Kind {
	if t.Kind() == schema.Enum {
		return t.Enum().Base()
	}
	return t.Kind()
}

// basics are the Go types of numbers, as Google's compiler names them.
var basics = map[schema.Kind]string{
	schema.Bool: "bool", schema.I8: "int8", schema.I16: "int16", schema.I32: "int32", schema.I64: "int64",
	schema.U8: "byte", schema.U16: "uint16", schema.U32: "uint32", schema.U64: "uint64",
	schema.Float: "float32", schema.Double: "float64",
}

// getters are the parts of names of package flatbuf's functions.
var getters = map[schema.Kind]string{
	schema.Bool: "Bool", schema.I8: "Int8", schema.I16: "Int16", schema.I32: "Int32", schema.I64: "Int64",
	schema.U8: "Byte", schema.U16: "Uint16", schema.U32: "Uint32", schema.U64: "Uint64",
	schema.Float: "Float32", schema.Double: "Float64",
}

// scalar returns the Go type of a scalar.
func (u *unit) scalar(t *schema.Type) string {
	if t.Kind() == schema.Enum {
		return u.enumName(u.generator.enums[t.Enum()])
	}
	return basics[t.Kind()]
}

func (u *unit) enumName(e *enum) string { return u.qualified(e.unit, e.Name) }

// element returns the type of the elements of a vector or array, else the type itself.
func element(t *schema.Type) *schema.Type {
	if t.Kind() == schema.List || t.Kind() == schema.Array {
		return t.Elem()
	}
	return t
}

// target returns what a field or its elements refer to.
func (f *field) target() *message { return f.owner.messages[element(f.Type()).Struct()] }

// T returns the accessor's type of what the field or its elements refer to.
func (f *field) T() string { return f.owner.qualified(f.target().unit, f.target().Name) }

// ObjectT returns the same in the object form.
func (f *field) ObjectT() string { return f.owner.qualified(f.target().unit, f.target().Object) }

// Tag returns the type of a union, as a type of Go.
func (f *field) Tag() string { return f.owner.qualified(f.target().unit, f.target().tag.Name) }

// Go returns the Go type of a scalar or of the elements of a vector or array of them.
func (f *field) Go() string { return f.owner.scalar(element(f.Type())) }

// Basic returns the type of the number that stands for it, and Getter the part of
// the names of the functions that read and write such numbers.
func (f *field) Basic() string  { return basics[f.number()] }
func (f *field) Getter() string { return getters[f.number()] }

func (f *field) number() schema.Kind {
	if f.Kind == kindUnion || f.Kind == kindUnions {
		return f.target().tag.Base
	}
	return base(element(f.Type()))
}

// IsEnum reports whether the scalar, or the elements, are of an enum.
func (f *field) IsEnum() bool {
	return f.Kind == kindUnion || f.Kind == kindUnions || element(f.Type()).Kind() == schema.Enum
}

// FromBasic converts an expression of the number's type to the field's, ToBasic
// the other way.
func (f *field) FromBasic(expr string) string {
	switch {
	case f.Kind == kindUnion || f.Kind == kindUnions:
		return f.Tag() + "(" + expr + ")"
	case f.IsEnum():
		return f.Go() + "(" + expr + ")"
	}
	return expr
}

func (f *field) ToBasic(expr string) string {
	if f.IsEnum() {
		return f.Basic() + "(" + expr + ")"
	}
	return expr
}

// Optional reports whether a scalar may be absent, as null.
func (f *field) Optional() bool {
	return f.Kind == kindScalar && f.Requiredness() == schema.Optional
}

// IsRequired reports whether the field must be present: required ones, and
// strings that are keys.
func (f *field) IsRequired() bool {
	return f.Requiredness() == schema.Required || f.Key() && f.Kind == kindString
}

// VSlot returns the place of the field in the vtable.
func (f *field) VSlot() int { return 4 + 2*f.Slot }

// TypeSlot returns the slot of the type of a union, TypeVSlot its place.
func (f *field) TypeSlot() int  { return f.Slot - 1 }
func (f *field) TypeVSlot() int { return f.VSlot() - 2 }

// tagSize returns the bytes of the type of a union.
func (f *field) tagSize() int { return schema.Basic(f.target().tag.Base).InlineSize() }

// Size and Align return the bytes of a scalar or struct, or of the elements.
func (f *field) Size() int {
	switch f.Kind {
	case kindStrings, kindTables, kindUnions:
		return 4
	}
	return element(f.Type()).InlineSize()
}

func (f *field) Align() int {
	switch f.Kind {
	case kindStrings, kindTables, kindUnions:
		return 4
	}
	return element(f.Type()).InlineAlign()
}

// TagSize returns the bytes of the type of a union.
func (f *field) TagSize() int { return f.tagSize() }

// IsBytes reports whether the field is a vector of bytes, signed ones not counted.
func (f *field) IsBytes() bool {
	return f.Kind == kindScalars && base(f.Type().Elem()) == schema.U8
}

// PlainBytes reports whether its elements are bytes as Go knows them.
func (f *field) PlainBytes() bool { return f.IsBytes() && !f.IsEnum() }

func (f *field) flex() bool { return f.Flex() && f.PlainBytes() }

// HasFlex reports whether the bytes are a FlexBuffer, NestedT the root of the
// buffer that they are, or "".
func (f *field) HasFlex() bool { return f.flex() && !f.wide() }
func (f *field) NestedT() string {
	if n := f.owner.messages[f.Nested()]; n != nil && !f.wide() {
		return f.owner.qualified(n.unit, n.Name)
	}
	return ""
}

// wide reports whether the field is referred to by an offset of 64 bits, Long whether its
// vector has a length of 64 bits as well.
func (f *field) wide() bool {
	return f.Type().Encoding() == schema.Offset64 || f.Type().Encoding() == schema.Vector64
}
func (f *field) Wide() bool { return f.wide() }
func (f *field) Long() bool { return f.Type().Encoding() == schema.Vector64 }

// hasWide reports whether f, or a file that it includes, has offsets of 64 bits.
func hasWide(f *schema.File, seen map[*schema.File]bool) bool {
	if seen[f] {
		return false
	}
	seen[f] = true
	return slices.ContainsFunc(f.Structs(), func(d *schema.StructDef) bool {
		return slices.ContainsFunc(d.Fields(), func(f *schema.Field) bool {
			return f.Type().Encoding() == schema.Offset64 || f.Type().Encoding() == schema.Vector64
		})
	}) || slices.ContainsFunc(f.Includes(), func(i schema.Include) bool { return hasWide(i.File, seen) })
}

// Shared reports whether strings are to be written once.
func (f *field) Shared() bool { return f.Annotations().Has("shared") }

// Native returns the type of the field in the object form.
func (f *field) Native() string {
	switch f.Kind {
	case kindScalar:
		if f.Optional() {
			return "*" + f.Go()
		}
		return f.Go()
	case kindString:
		return "string"
	case kindStruct, kindTable, kindUnion:
		return "*" + f.ObjectT()
	case kindScalars:
		return "[]" + f.Go()
	case kindStrings:
		return "[]string"
	case kindArray:
		if f.ofStructs() {
			return f.array(f.ObjectT())
		}
		return f.array(f.Go())
	}
	return "[]*" + f.ObjectT()
}

func (f *field) array(elem string) string { return "[" + strconv.Itoa(f.Type().Len()) + "]" + elem }

// OfStructs reports whether an array has structs.
func (f *field) ofStructs() bool { return element(f.Type()).Kind() == schema.Struct }
func (f *field) OfStructs() bool { return f.ofStructs() }
func (f *field) Len() int        { return f.Type().Len() }

// Held returns the type of the argument by which a typed builder is given the field.
func (f *field) Held() string {
	ref := func(t string) string { return "flatbuf.Ref[" + t + "]" }
	switch f.Kind {
	case kindScalar:
		return f.Go()
	case kindString:
		return ref("string")
	case kindStruct:
		return "*" + f.ObjectT()
	case kindTable:
		return ref(f.T())
	case kindUnion:
		return "flatbuf.UnionRef[" + f.Tag() + "]"
	case kindScalars:
		return ref("[]" + f.Go())
	case kindStrings:
		return ref("[]string")
	case kindUnions:
		return "flatbuf.UnionsRef[" + f.Tag() + "]"
	}
	return ref("[]" + f.T())
}

// Exported reports whether the field has a name that other packages can use.
func (f *field) Exported() bool { return isUpper(f.F[0]) }
