package flatbuffers

import (
	"bytes"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file turns values into those of Go, and changes numbers in place.

// Union is the value of a union in Go: the name of the member that is set and
// its value. The zero Union is none.
type Union struct {
	Member string
	Value  any
}

// Any returns v in Go: bool, int64, uint64 for unsigned numbers, float64,
// string, []byte for vectors of ubyte, []any, map[string]any for tables and structs
// with the fields that stand in the message, Union. Enums are numbers.
//
// Tables nest 64 levels deep at most, which is a DepthLimit, and a message that
// refers to the same parts so often that the result would be 16 times as large
// is a SizeLimit.
func (v Value) Any() (any, error) {
	w := anyWalk{left: 16*len(v.b) + 1<<16}
	x, fault := w.value(v, 0)
	if fault != nil {
		return nil, fault
	}
	return x, nil
}

// maxDepth is the deepest nesting of tables.
const maxDepth = flatwire.MaxDepth

// tableCost is what a table counts for beside its fields, in bytes: its map takes
// more, and a message cannot have tables in less than four bytes each, unless several places
// refer to one.
const tableCost = 48

const tooShared = "parts of the message are shared too often"

// anyWalk is one use of Any.
type anyWalk struct {
	left  int  // bytes or elements that may still be read
	whole bool // fields that the schema does not have are a fault
}

func (w *anyWalk) value(v Value, depth int) (any, *diag.Fault) {
	x, fault := w.plain(v, depth)
	if fault == nil && v.member != nil {
		return Union{v.member.Name(), x}, nil
	}
	return x, fault
}

func (w *anyWalk) plain(v Value, depth int) (any, *diag.Fault) {
	if w.left -= 1 + v.n; w.left < 0 {
		return nil, diag.NewFault(diag.SizeLimit, v.Offset(), tooShared)
	}
	switch {
	case v.kind == absent:
		return nil, nil
	case v.kind == text:
		return string(v.b[v.pos : v.pos+v.n]), nil
	case v.kind == left && v.t.Kind() == schema.String:
		return v.lack, nil
	case v.kind == left && v.t.Kind() == schema.List:
		return []any{}, nil
	case v.kind == elements && v.t.Elem().Kind() == schema.U8:
		return bytes.Clone(v.b[v.pos : v.pos+v.n : v.pos+v.n]), nil
	case v.kind == elements:
		return w.elements(v, depth)
	case v.fields() != nil:
		return w.fields(v, depth)
	}
	bits, kind, _ := v.scalar()
	switch n := fromBits(bits, kind); {
	case kind == schema.Bool:
		return bits != 0, nil
	case n.float:
		return n.f, nil
	case kind.IsUnsigned():
		return bits, nil
	default:
		return int64(bits), nil
	}
}

func (w *anyWalk) elements(v Value, depth int) (any, *diag.Fault) {
	list := make([]any, 0, v.n)
	for i, e := range v.Elements() {
		x, fault := w.value(e, depth)
		if fault != nil {
			return nil, fault.Index(i)
		}
		if tag := v.ElementTag(i); w.whole && tag != 0 && flatpack.Member(v.t.Elem().Struct(), tag) == nil {
			return nil, newMember(v.t.Elem(), tag).Index(i)
		}
		if x == nil && flatpack.IsUnion(v.t.Elem()) {
			x = Union{}
		}
		list = append(list, x)
	}
	return list, nil
}

func (w *anyWalk) fields(v Value, depth int) (any, *diag.Fault) {
	if depth >= maxDepth && v.kind == table {
		return nil, diag.NewFault(diag.DepthLimit, v.pos, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	if w.whole && v.kind == table {
		if slot, ok := v.Unknown(); ok {
			return nil, diag.NewFault(diag.UnknownField, v.pos, fmt.Sprintf("the table has the field %d, which the schema does not have; it would be lost", slot))
		}
	}
	if v.kind == table {
		if w.left -= tableCost; w.left < 0 {
			return nil, diag.NewFault(diag.SizeLimit, v.pos, tooShared)
		}
	}
	if w.whole {
		for _, f := range v.fields().Fields() {
			if tag := v.UnionTag(f); tag != 0 && flatpack.Member(f.Type().Struct(), tag) == nil {
				return nil, newMember(f.Type(), tag).Field(f.Name())
			}
		}
	}
	all := map[string]any{}
	for f, x := range v.Fields() {
		y, fault := w.value(x, depth+1)
		if fault != nil {
			return nil, fault.Field(f.Name())
		}
		all[f.Name()] = y
	}
	return all, nil
}

// newMember is the fault of a member of a union that the schema does not have.
func newMember(union *schema.Type, tag uint64) *diag.Fault {
	return diag.NewFault(diag.UnknownField, -1, fmt.Sprintf("%s has no member %d; it would be lost", union.Struct().Name(), tag))
}

// Unknown returns the id of a field that the table v holds and the schema does not have, or
// that nobody reads since it is deprecated. ok is false if there is none.
func (v Value) Unknown() (id int, ok bool) {
	if v.kind != table {
		return 0, false
	}
	_, size := flatwire.VTable(v.b, v.pos)
	for slot := range max(0, size-4) / 2 {
		if flatwire.Field(v.b, v.pos, slot) == 0 {
			continue
		}
		f := v.t.Struct().FieldByID(int32(slot))
		if f == nil { // the type of a union stands before it
			next := v.t.Struct().FieldByID(int32(slot) + 1)
			if next != nil && flatpack.HasTag(next.Type()) {
				f = next
			}
		}
		if f == nil || f.Deprecated() {
			return slot, true
		}
	}
	return 0, false
}

// SetBool changes a bool in place. A value that the message leaves out is a
// NotFound, for there is no place for it: AppendSet makes one.
func (v Value) SetBool(x bool) error {
	if v.kind == inline && v.t.Kind() != schema.Bool {
		return v.mismatch("a bool")
	}
	if x {
		return v.set(unsigned(1))
	}
	return v.set(unsigned(0))
}

// SetInt changes an integer or enum in place, as SetBool does. A number that the type cannot
// hold is an OutOfRange.
func (v Value) SetInt(n int64) error { return v.setInteger(signed(n)) }

// SetUint is SetInt for numbers without a sign.
func (v Value) SetUint(n uint64) error { return v.setInteger(unsigned(n)) }

func (v Value) setInteger(n number) error {
	if v.kind == inline && !flatpack.KindOf(v.t).IsInteger() {
		return v.mismatch("an integer")
	}
	return v.set(n)
}

// SetFloat changes a float or double in place, as SetBool does.
func (v Value) SetFloat(f float64) error {
	if v.kind == inline && v.t.Kind() != schema.Float && v.t.Kind() != schema.Double {
		return v.mismatch("a floating-point number")
	}
	return v.set(floating(f))
}

func (v Value) set(n number) error {
	_, kind, ok := v.scalar()
	switch {
	case v.kind == left:
		return diag.NewFault(diag.NotFound, -1, "the message leaves the value out")
	case !ok:
		return v.mismatch("a number")
	}
	size := v.t.InlineSize()
	bits, ok := bitsOf(n, kind, size)
	if !ok {
		return diag.NewFault(diag.OutOfRange, v.pos, "the number is beyond the range of "+v.t.String())
	}
	flatpack.Put(v.b[v.pos:], bits, size)
	return nil
}
