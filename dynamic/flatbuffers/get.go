package flatbuffers

import (
	"bytes"
	"iter"
	"math"
	"sort"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the ways from a value to its parts.

// Step is a step of a path, of package dynamic.
type Step = dynamic.Step

// Field returns the value of a field of a table or struct by its name. It does
// not exist if v has no such field.
func (v Value) Field(name string) Value {
	d := v.fields()
	if d == nil {
		return Value{}
	}
	f := d.FieldByName(name)
	if f == nil {
		return Value{}
	}
	return v.field(f)
}

// fields returns the declaration of a table or struct, nil for other values.
func (v Value) fields() *schema.StructDef {
	if v.kind == table || v.kind == inline && v.t.Kind() == schema.Struct {
		return v.t.Struct()
	}
	return nil
}

// Len returns the number of elements of a vector or array, and of bytes of a string.
func (v Value) Len() int {
	if v.kind == left && v.t.Kind() == schema.String {
		return len(v.lack)
	}
	return v.n
}

// Index returns an element of a vector or array. It does not exist if there are
// fewer.
func (v Value) Index(i int) Value {
	if v.kind != elements || uint(i) >= uint(v.n) {
		return Value{}
	}
	elem := v.t.Elem()
	if size := elem.InlineSize(); size > 0 {
		return place(v.b, elem, v.pos+i*size)
	}
	if flatpack.IsUnion(elem) {
		size := elem.Struct().Tag().InlineSize()
		return v.union(elem, flatpack.Load(v.b, v.types+i*size, size), flatwire.Follow(v.b, v.pos+4*i))
	}
	pos, _ := flatwire.CheckElement(v.b, v.pos+4*i) // verifiers take an offset of 0 here, to an empty string or table
	return at(v.b, elem, pos)
}

// Lookup returns the element of a sorted vector of tables or structs whose key
// is key: a string, or an integer, bool or float of any type of Go. It
// does not exist if there is none, or if the elements have no key.
func (v Value) Lookup(key any) Value {
	if v.kind != elements {
		return Value{}
	}
	f := flatpack.Key(v.t.Elem())
	if f == nil {
		return Value{}
	}
	compare := compareWith(key)
	if compare == nil {
		return Value{}
	}
	i := sort.Search(v.n, func(i int) bool { return compare(v.Index(i).field(f)) >= 0 })
	if e := v.Index(i); e.Exists() && compare(e.field(f)) == 0 {
		return e
	}
	return Value{}
}

// compareWith returns a function that compares keys with key, nil if none has
// its type.
func compareWith(key any) func(Value) int {
	switch k := key.(type) {
	case string:
		return func(v Value) int {
			b, err := v.Bytes()
			if err != nil {
				return 1
			}
			return bytes.Compare(b, []byte(k))
		}
	case bool:
		return compareWith(map[bool]uint64{true: 1}[k])
	}
	n, ok := numberOf(key)
	if !ok {
		return nil
	}
	return func(v Value) int {
		bits, kind, ok := v.scalar()
		if !ok {
			return 1
		}
		return fromBits(bits, kind).compare(n)
	}
}

// Get follows a path from v. A path that leads to nothing is an error, a
// NotFound with the part of the path that there was; a path that the type does
// not have is a TypeMismatch or an UnknownField. Steps by a key look a sorted
// vector up.
func (v Value) Get(path ...Step) (Value, error) {
	at := v
	for i, s := range path {
		next, fault := at.step(s)
		if fault == nil && !next.Exists() {
			fault = diag.NewFault(diag.NotFound, at.Offset(), "the message has no such value")
		}
		if fault != nil {
			for j := i; j >= 0; j-- {
				path[j].Locate(fault)
			}
			return Value{}, fault
		}
		at = next
	}
	if !at.Exists() {
		return Value{}, at.mismatch("")
	}
	return at, nil
}

func (v Value) step(s Step) (Value, *diag.Fault) {
	if v.kind == absent { // such as the root of bytes that are no message
		return Value{}, nil
	}
	switch s.Kind() {
	case dynamic.FieldStep, dynamic.NameStep:
		d := v.fields()
		if d == nil {
			return Value{}, diag.NewFault(diag.TypeMismatch, v.Offset(), "a value of type "+v.t.String()+" has no fields")
		}
		f, fault := s.FieldOf(d)
		if fault != nil {
			return Value{}, fault
		}
		return v.field(f), nil
	case dynamic.IndexStep, dynamic.NumberStep:
		if v.kind != elements {
			return Value{}, diag.NewFault(diag.TypeMismatch, v.Offset(), "a value of type "+v.t.String()+" has no elements")
		}
		if n := s.Number(); n >= 0 && n < int64(v.n) {
			return v.Index(int(n)), nil
		}
		return Value{}, nil
	case dynamic.StringKeyStep:
		return v.Lookup(s.Text()), nil
	case dynamic.IntKeyStep:
		return v.Lookup(s.Number()), nil
	case dynamic.UintKeyStep:
		return v.Lookup(uint64(s.Number())), nil
	case dynamic.BoolKeyStep:
		return v.Lookup(s.Number() != 0), nil
	case dynamic.DoubleKeyStep:
		return v.Lookup(math.Float64frombits(uint64(s.Number()))), nil
	default:
		return Value{}, diag.NewFault(diag.Unsupported, v.Offset(), "FlatBuffers has no step "+s.String())
	}
}

// Fields iterates over the fields of a table or struct that stand in the message,
// in the order of the schema, deprecated ones left out. Of a union the value
// is that of the member.
func (v Value) Fields() iter.Seq2[*schema.Field, Value] {
	return func(yield func(*schema.Field, Value) bool) {
		d := v.fields()
		if d == nil {
			return
		}
		for _, f := range d.Fields() {
			if f.Deprecated() {
				continue
			}
			if x := v.field(f); x.Written() && !yield(f, x) {
				return
			}
		}
	}
}

// Elements iterates over the elements of a vector or array.
func (v Value) Elements() iter.Seq2[int, Value] {
	return func(yield func(int, Value) bool) {
		for i := range v.n {
			if v.kind != elements || !yield(i, v.Index(i)) {
				return
			}
		}
	}
}

// FieldOf is Field for a field that is one of the type of v.
func (v Value) FieldOf(f *schema.Field) Value {
	if v.fields() != f.Struct() || f.Struct() == nil {
		return Value{}
	}
	return v.field(f)
}

// UnionTag returns the number that says which member of the union f of the
// table v is set, 0 for none. Field tells that of a number which the schema
// knows; the tags of newer schemas it does not have.
func (v Value) UnionTag(f *schema.Field) uint64 {
	if v.kind != table || v.t.Struct() != f.Struct() || !flatpack.IsUnion(f.Type()) {
		return 0
	}
	at := flatwire.Field(v.b, v.pos, int(f.ID())-1)
	if at == 0 {
		return 0
	}
	return flatpack.Load(v.b, at, f.Type().Struct().Tag().InlineSize())
}

// ElementTag is UnionTag for the i-th element of a vector of unions: 0 for NONE, and for any
// other value.
func (v Value) ElementTag(i int) uint64 {
	if v.kind != elements || v.types == 0 || uint(i) >= uint(v.n) {
		return 0
	}
	size := v.t.Elem().Struct().Tag().InlineSize()
	return flatpack.Load(v.b, v.types+i*size, size)
}
