package flatbuffers

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds Value and what it means.

// Value is a part of a message whose type the schema knows. The zero Value does
// not exist. A Value is small and is passed by value.
//
// The value of a union is that of the member which is set; Member tells which.
type Value struct {
	b     []byte
	t     *schema.Type
	kind  shape
	pos   int    // of a number, struct or table, or of the content of text
	n     int    // elements, or bytes of text
	types int    // of a vector of unions: where the types stand
	def   uint64 // of a number that the message leaves out: its bits
	lack  string // of a string that the message leaves out

	member *schema.Field // of a union, that holds the value
}

// shape is how a value stands in a message.
type shape uint8

const (
	absent   shape = iota
	left           // what the message leaves out, and is its default
	inline         // a scalar or struct at pos
	table          // at pos
	text           // n bytes at pos
	elements       // n elements from pos on
)

// Root returns the root table of a message, whose type is d. b is the message without
// a size prefix.
//
// Reading needs no verified message: what the bytes cannot hold does not exist.
// Value.Any bounds its work; who walks by other means verifies first, as parts
// may be shared, which makes a small message a long walk.
func Root(d *schema.StructDef, b []byte) Value {
	pos := flatwire.Root(b)
	if pos == 0 || d.Fixed() || d.Flavor() != schema.PlainStruct {
		return Value{}
	}
	return Value{b: b, t: d.Type(), kind: table, pos: pos}
}

// Exists reports whether there is a value. A scalar that the message leaves out
// exists, with its default, unless it is an optional one.
func (v Value) Exists() bool { return v.kind != absent }

// Written reports whether the value stands in the message, and is not a default.
func (v Value) Written() bool { return v.kind > left }

// Type returns the type of the value, nil if it does not exist.
func (v Value) Type() *schema.Type { return v.t }

// Member returns the member of a union that holds the value, or nil if v is no
// value of a union.
func (v Value) Member() *schema.Field { return v.member }

// field returns the value of a field of the table or struct v.
func (v Value) field(f *schema.Field) Value {
	t := f.Type()
	if v.kind == inline {
		return place(v.b, t, v.pos+f.Offset())
	}
	pos := flatwire.Field(v.b, v.pos, int(f.ID()))
	switch {
	case t.InlineSize() > 0:
		if pos != 0 && t.InlineSize() <= len(v.b)-pos {
			return place(v.b, t, pos)
		}
		if t.Kind() == schema.Struct || f.Requiredness() == schema.Optional {
			return Value{}
		}
		return Value{t: t, kind: left, def: flatpack.DefaultBits(f)}
	case flatpack.IsUnion(t):
		tag := v.UnionTag(f)
		if tag == 0 || pos == 0 {
			return Value{}
		}
		return v.union(t, tag, flatwire.Follow(v.b, pos))
	case pos == 0:
		return v.defaultOf(f)
	case t.Encoding() == schema.Offset64 || t.Encoding() == schema.Vector64:
		return at(v.b, t, flatwire.Follow64(v.b, pos))
	case t.Kind() == schema.List && flatpack.IsUnion(t.Elem()):
		return v.unions(t, flatwire.Field(v.b, v.pos, int(f.ID())-1), pos)
	}
	return at(v.b, t, flatwire.Follow(v.b, pos))
}

// unions returns the vector of unions at pos, whose types are a vector at tags;
// 0 is nowhere.
func (v Value) unions(t *schema.Type, tags, pos int) Value {
	if tags == 0 {
		return Value{}
	}
	types, n := flatwire.Vector(v.b, flatwire.Follow(v.b, tags), t.Elem().Struct().Tag().InlineSize())
	start, m := flatwire.Vector(v.b, flatwire.Follow(v.b, pos), 4)
	if types == 0 || start == 0 {
		return Value{}
	}
	return Value{b: v.b, t: t, kind: elements, pos: start, n: min(n, m), types: types}
}

// defaultOf returns the default of a string or vector that is left out.
func (v Value) defaultOf(f *schema.Field) Value {
	switch d := f.Default(); {
	case d == nil:
		return Value{}
	case f.Type().Kind() == schema.String:
		return Value{t: f.Type(), kind: left, lack: d.String}
	default: // of a vector, which is empty
		return Value{t: f.Type(), kind: left}
	}
}

// place returns the scalar, struct or array of type t at pos.
func place(b []byte, t *schema.Type, pos int) Value {
	v := Value{b: b, t: t, kind: inline, pos: pos}
	if t.Kind() == schema.Array {
		v.kind, v.n = elements, t.Len()
	}
	return v
}

// at returns the table, string or vector of type t at pos, which is 0 for none.
func at(b []byte, t *schema.Type, pos int) Value {
	if pos == 0 {
		return Value{}
	}
	wide := t.Encoding() == schema.Vector64
	switch t.Kind() {
	case schema.Struct:
		if t.Struct().Fixed() {
			if t.InlineSize() > len(b)-pos {
				return Value{}
			}
			return place(b, t, pos)
		}
		return Value{b: b, t: t, kind: table, pos: pos}
	case schema.String:
		if start, n := flatwire.Vector(b, pos, 1); start != 0 {
			return Value{b: b, t: t, kind: text, pos: start, n: n}
		}
	case schema.List:
		size := 4 // of an offset
		if n := t.Elem().InlineSize(); n > 0 {
			size = n
		}
		vector := flatwire.Vector
		if wide {
			vector = flatwire.Vector64
		}
		if start, n := vector(b, pos, size); start != 0 {
			return Value{b: b, t: t, kind: elements, pos: start, n: n}
		}
	}
	return Value{}
}

// union returns the value of a union of type t at pos, whose type is tag.
func (v Value) union(t *schema.Type, tag uint64, pos int) Value {
	m := flatpack.Member(t.Struct(), tag)
	if m == nil {
		return Value{}
	}
	value := at(v.b, m.Type(), pos)
	if value.kind != absent { // else there is a type alone
		value.member = m
	}
	return value
}

// mismatch is the fault of a value of another type than what was asked for.
func (v Value) mismatch(want string) error {
	if v.kind == absent {
		return diag.NewFault(diag.NotFound, -1, "the value does not exist")
	}
	return diag.NewFault(diag.TypeMismatch, v.Offset(), want+" was asked for, the value is of type "+v.t.String())
}

// Offset returns where the value stands in the message: a table, struct or number itself,
// a string or vector with its first byte or element behind the length. It is -1 for a value
// that is not written.
func (v Value) Offset() int {
	if v.kind <= left {
		return -1
	}
	return v.pos
}

// scalar returns the bits of a number, extended to 64, and its kind.
func (v Value) scalar() (bits uint64, kind schema.Kind, ok bool) {
	if v.kind != left && v.kind != inline {
		return 0, 0, false
	}
	kind = flatpack.KindOf(v.t)
	size := v.t.InlineSize()
	if kind == schema.Struct || size == 0 {
		return 0, kind, false
	}
	bits = v.def
	if v.kind == inline {
		bits = flatpack.Load(v.b, v.pos, size)
	}
	return flatpack.Extend(bits, kind, size), kind, true
}

// Bool returns a bool.
func (v Value) Bool() (bool, error) {
	bits, kind, ok := v.scalar()
	if !ok || kind != schema.Bool {
		return false, v.mismatch("a bool")
	}
	return bits != 0, nil
}

// Int returns an integer or the number of an enum. A number beyond the range of
// int64 is an OutOfRange.
func (v Value) Int() (int64, error) {
	bits, kind, ok := v.scalar()
	switch {
	case !ok || !kind.IsInteger():
		return 0, v.mismatch("an integer")
	case kind == schema.U64 && bits > math.MaxInt64:
		return 0, diag.NewFault(diag.OutOfRange, v.Offset(), "the number is beyond the range of int64")
	}
	return int64(bits), nil
}

// Uint returns an integer that is not negative, or the number of such an enum.
func (v Value) Uint() (uint64, error) {
	bits, kind, ok := v.scalar()
	switch {
	case !ok || !kind.IsInteger():
		return 0, v.mismatch("an integer")
	case !kind.IsUnsigned() && int64(bits) < 0:
		return 0, diag.NewFault(diag.OutOfRange, v.Offset(), "the number is negative")
	}
	return bits, nil
}

// Float returns a float or double.
func (v Value) Float() (float64, error) {
	bits, kind, ok := v.scalar()
	switch {
	case ok && kind == schema.Float:
		return float64(math.Float32frombits(uint32(bits))), nil
	case ok && kind == schema.Double:
		return math.Float64frombits(bits), nil
	}
	return 0, v.mismatch("a floating-point number")
}

// EnumName returns the name of an enum's value, empty if it has none.
func (v Value) EnumName() (string, error) {
	bits, _, ok := v.scalar()
	if !ok || v.t.Kind() != schema.Enum {
		return "", v.mismatch("an enum")
	}
	if e := v.t.Enum().ByValue(int64(bits)); e != nil {
		return e.Name, nil
	}
	return "", nil
}

// Text returns a copy of a string.
func (v Value) Text() (string, error) {
	if v.kind == left && v.t.Kind() == schema.String {
		return v.lack, nil
	}
	if v.kind != text {
		return "", v.mismatch("a string")
	}
	return string(v.b[v.pos : v.pos+v.n]), nil
}

// Bytes returns the bytes of a string, of a vector or array of single bytes, or
// of a struct as it stands in the message. The result aliases the message, with
// its capacity cut.
func (v Value) Bytes() ([]byte, error) {
	n := v.n
	switch {
	case v.kind == left && (v.t.Kind() == schema.String || v.t.Kind() == schema.List && v.t.Elem().InlineSize() == 1):
		return []byte(v.lack), nil
	case v.kind == text:
	case v.kind == elements && v.t.Elem().InlineSize() == 1:
	case v.kind == inline && v.t.Kind() == schema.Struct:
		n = v.t.InlineSize()
	default:
		return nil, v.mismatch("bytes")
	}
	return v.b[v.pos : v.pos+n : v.pos+n], nil
}

// Nested returns the root of the message that a field with the attribute
// nested_flatbuffer holds. f is that field, of v.
func (v Value) Nested(f *schema.Field) (Value, error) {
	if f.Nested() == nil {
		return Value{}, diag.NewFault(diag.TypeMismatch, -1, "the field "+f.Name()+" holds no nested message")
	}
	b, err := v.Field(f.Name()).Bytes()
	if err != nil {
		return Value{}, err
	}
	return Root(f.Nested(), b), nil
}
