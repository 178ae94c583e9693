package schema

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
)

// Kind is what a type is, with typedefs resolved.
type Kind uint8

const (
	Invalid Kind = iota
	Void         // the absence of a result
	Bool
	I8
	I16
	I32
	I64
	U8 // unsigned integers; Protobuf and FlatBuffers
	U16
	U32
	U64
	Float // 32 bits; fbthrift
	Double
	String // text; UTF-8 is expected and not enforced by Thrift
	Binary
	UUID // 16 bytes; Apache Thrift
	Enum
	List
	Set
	Map
	Array  // a fixed number of elements; FlatBuffers
	Struct // struct, table, union and exception; see Flavor and Fixed
)

var kindNames = [...]string{
	Invalid: "invalid", Void: "void", Bool: "bool", I8: "i8", I16: "i16", I32: "i32", I64: "i64",
	U8: "u8", U16: "u16", U32: "u32", U64: "u64",
	Float: "float", Double: "double", String: "string", Binary: "binary", UUID: "uuid",
	Enum: "enum", List: "list", Set: "set", Map: "map", Array: "array", Struct: "struct",
}

// String returns the Thrift keyword of k, or one in its manner.
func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return "invalid"
}

// IsInteger reports whether k is one of I8 to I64 and U8 to U64.
func (k Kind) IsInteger() bool { return k >= I8 && k <= U64 }

// IsUnsigned reports whether k is one of U8, U16, U32 and U64.
func (k Kind) IsUnsigned() bool { return k >= U8 && k <= U64 }

// IsContainer reports whether k is List, Set or Map.
func (k Kind) IsContainer() bool { return k >= List && k <= Map }

// Encoding is how the values of a type are written, where a format has several
// ways: Protobuf and FlatBuffers.
type Encoding uint8

const (
	// StandardEncoding: integers and enums as varints, structs with their length.
	StandardEncoding Encoding = iota
	ZigZag                    // integers as varints that are short near zero: sint32, sint64
	Fixed                     // integers in 4 or 8 bytes: fixed32, sfixed32, fixed64, sfixed64
	Delimited                 // structs between a start and an end: groups
	Offset64                  // strings and lists behind an offset of 64 bits: offset64
	Vector64                  // lists behind such an offset, with a length of 64 bits: vector64
)

// String returns a name for messages.
func (e Encoding) String() string {
	if int(e) < len(encodingNames) {
		return encodingNames[e]
	}
	return "invalid"
}

var encodingNames = [...]string{StandardEncoding: "standard", ZigZag: "zigzag", Fixed: "fixed", Delimited: "delimited",
	Offset64: "offset64", Vector64: "vector64"}

// Type is a use of a type: a base type, a container, an enum or a struct,
// possibly under a typedef's name and with annotations of its own.
type Type struct {
	kind        Kind
	encoding    Encoding
	length      uint16 // of an array
	key, elem   *Type
	strct       *StructDef
	enum        *EnumDef
	typedef     *Typedef
	annotations Annotations
}

var basics = func() (t [Struct + 1]*Type) {
	for k := Void; k <= UUID; k++ {
		t[k] = &Type{kind: k}
	}
	return t
}()

// Basic returns the type of a kind between Void and UUID. It panics on other
// kinds, which need their parts.
func Basic(k Kind) *Type {
	if k < Void || k > UUID {
		panic("schema: Basic: " + k.String() + " is not a base type")
	}
	return basics[k]
}

// ListOf returns list<elem>.
func ListOf(elem *Type) *Type { return &Type{kind: List, elem: elem} }

// SetOf returns set<elem>.
func SetOf(elem *Type) *Type { return &Type{kind: Set, elem: elem} }

// MapOf returns map<key, elem>.
func MapOf(key, elem *Type) *Type { return &Type{kind: Map, key: key, elem: elem} }

// ArrayOf returns an array of length elements.
func ArrayOf(elem *Type, length uint16) *Type { return &Type{kind: Array, elem: elem, length: length} }

// WithAnnotations returns t as used with annotations of its own, which stand
// before those that t has already.
func (t *Type) WithAnnotations(a Annotations) *Type {
	if len(a) == 0 {
		return t
	}
	c := *t
	c.annotations = append(a[:len(a):len(a)], t.annotations...)
	return &c
}

// WithEncoding returns t as used with that encoding.
func (t *Type) WithEncoding(e Encoding) *Type {
	if t.encoding == e {
		return t
	}
	c := *t
	c.encoding = e
	return &c
}

// Encoding returns how values of t are written. That of elements, keys and
// entries is their own types'.
func (t *Type) Encoding() Encoding { return t.encoding }

// Kind returns what t is, with typedefs resolved.
func (t *Type) Kind() Kind { return t.kind }

// Elem returns the element type of a list, set or array or the value type of a
// map, nil for others.
func (t *Type) Elem() *Type { return t.elem }

// Key returns the key type of a map, nil for others.
func (t *Type) Key() *Type { return t.key }

// Len returns the number of elements of an array, 0 for others.
func (t *Type) Len() int { return int(t.length) }

// Struct returns the declaration of a struct, union or exception, nil for others.
func (t *Type) Struct() *StructDef { return t.strct }

// Enum returns the declaration of an enum, also of one that is used as an i64; nil
// for others.
func (t *Type) Enum() *EnumDef { return t.enum }

// Typedef returns the typedef under whose name t is used, or nil.
func (t *Type) Typedef() *Typedef { return t.typedef }

// Annotations returns those of this use, then those of the typedefs it names.
func (t *Type) Annotations() Annotations { return t.annotations }

// String renders t in Thrift's notation with typedefs resolved, such as
// map<string, list<Item>>.
func (t *Type) String() string {
	switch t.kind {
	case Enum:
		return t.enum.Name()
	case Struct:
		return t.strct.Name()
	case List, Set:
		return t.kind.String() + "<" + t.elem.String() + ">"
	case Array:
		return "array<" + t.elem.String() + ", " + strconv.Itoa(int(t.length)) + ">"
	case Map:
		return "map<" + t.key.String() + ", " + t.elem.String() + ">"
	default:
		return t.kind.String()
	}
}

// Typedef is a declared other name of a type.
type Typedef struct {
	spec DeclSpec
	typ  *Type
}

// NewTypedef declares a typedef; Complete gives it its target.
func NewTypedef(spec DeclSpec) *Typedef { return &Typedef{spec: spec} }

// Complete sets what t stands for. It must be called once.
func (t *Typedef) Complete(target *Type) {
	if t.typ != nil {
		panic("schema: typedef " + t.spec.Name + " completed twice")
	}
	c := *target
	c.typedef = t
	c.annotations = append(t.spec.Annotations[:len(t.spec.Annotations):len(t.spec.Annotations)], target.annotations...)
	t.typ = &c
}

// Type returns the type under t's name: its Kind is the target's.
func (t *Typedef) Type() *Type { return t.typ }

func (t *Typedef) Name() string             { return t.spec.Name }
func (t *Typedef) File() *File              { return t.spec.File }
func (t *Typedef) Doc() string              { return t.spec.Doc }
func (t *Typedef) Span() diag.Span          { return t.spec.Span }
func (t *Typedef) Annotations() Annotations { return t.spec.Annotations }

// DeclSpec is what every declaration has.
type DeclSpec struct {
	Name        string
	File        *File  // nil for types that no file declares
	Doc         string // the documentation comment without its delimiters
	Annotations Annotations
	Span        diag.Span // of the name
	// Package is the declaration's own package where a file holds several: the
	// namespace of FlatBuffers. Where it is empty, the file's package counts.
	Package string
}

func (d *DeclSpec) pkg() string {
	if d.Package == "" && d.File != nil {
		return d.File.spec.Package
	}
	return d.Package
}

func (d *DeclSpec) fullName() string {
	if p := d.pkg(); p != "" {
		return p + "." + d.Name
	}
	return d.Name
}
