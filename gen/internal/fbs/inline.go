package fbs

// Structs: their parts as arguments and as bytes.

import (
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/schema"
)

// leaf is a scalar in a struct, with those of the structs inside it, or an array
// of scalars, one dimension for each array that it is in.
type leaf struct {
	Name   string
	Type   string // in Go
	offset int
	dims   []int
	steps  []int // bytes from one element to the next
	field  *field
	in     *unit
}

// Leaves returns the scalars of a struct in their order.
func (m *message) Leaves() []leaf {
	names := gofile.Scope{}
	names.Reserve(taken...)
	leaves := m.leaves(m.unit, "", 0, nil, nil)
	for i := range leaves {
		leaves[i].Name = names.Add(leaves[i].Name)
	}
	return leaves
}

func (m *message) leaves(in *unit, prefix string, offset int, dims, steps []int) (all []leaf) {
	for _, f := range m.Fields {
		d, s := dims, steps
		elem := element(f.Type())
		if f.Kind == kindArray {
			d = append(d[:len(d):len(d)], f.Len())
			s = append(s[:len(s):len(s)], elem.InlineSize())
		}
		at := offset + f.Offset()
		if elem.Kind() == schema.Struct {
			all = append(all, f.target().leaves(in, prefix+camel(f.Field.Name(), false)+"_", at, d, s)...)
			continue
		}
		l := leaf{Name: escape(prefix + camel(f.Field.Name(), false)), offset: at, dims: d, steps: s, field: f, in: in}
		for _, n := range d {
			l.Type += fmt.Sprintf("[%d]", n)
		}
		l.Type += in.scalar(elem)
		all = append(all, l)
	}
	return all
}

// Write returns the statement that writes the leaf into p.
func (l leaf) Write() string {
	var open, at strings.Builder
	value := l.Name
	for i, n := range l.dims {
		v := fmt.Sprintf("i%d", i)
		fmt.Fprintf(&open, "for %s := range %d {\n", v, n)
		fmt.Fprintf(&at, "+%d*%s", l.steps[i], v)
		value += "[" + v + "]"
	}
	return fmt.Sprintf("%sflatbuf.Write%s(p[%d%s:], %s)%s", open.String(), l.field.Getter(), l.offset, at.String(),
		l.field.ToBasic(value), strings.Repeat("\n}", len(l.dims)))
}

// markKeys finds the structs that are compared as keys.
func (m *message) markKeys() {
	if m.Key != nil && element(m.Key.Type()).Kind() == schema.Struct {
		m.Key.target().markCompared()
	}
}

func (m *message) markCompared() {
	if m.compares {
		return
	}
	m.compares = true
	for _, f := range m.Fields {
		if element(f.Type()).Kind() == schema.Struct {
			f.target().markCompared()
		}
	}
}

// Compares reports whether objects of a struct are compared.
func (m *message) Compares() bool { return m.compares }

// KeyType returns the type of the values that the key has.
func (m *message) KeyType() string { return m.Key.Native() }

// KeyValue returns the key of what expr names, to be compared.
func (m *message) KeyValue(expr string) string {
	switch f := m.Key; f.Kind {
	case kindString:
		return "string(" + expr + "." + f.F + "())"
	case kindStruct:
		return expr + "." + f.F + "(nil).UnPack()"
	case kindArray:
		return expr + ".UnPack()." + f.F
	default:
		return expr + "." + f.F + "()"
	}
}

// CompareKeys returns an expression that compares keys.
func (m *message) CompareKeys(a, b string) string { return m.Key.Compare(a, b) }

// Compare returns an expression that compares two values of the field in the object form:
// less than 0, 0 or more.
func (f *field) Compare(a, b string) string {
	switch {
	case f.Kind == kindArray && f.ofStructs():
		return "flatbuf.CompareArrays(" + a + "[:], " + b + "[:], func(x, y " + f.ObjectT() + ") int { return x.Compare(&y) })"
	case f.Kind == kindArray && f.number() == schema.Bool:
		return "flatbuf.CompareArrays(" + a + "[:], " + b + "[:], flatbuf.CompareBools)"
	case f.Kind == kindArray:
		return "flatbuf.CompareArrays(" + a + "[:], " + b + "[:], " + f.owner.Use("cmp") + ".Compare[" + f.Go() + "])"
	case f.Kind == kindStruct:
		return a + ".Compare(" + b + ")"
	case f.number() == schema.Bool && f.Kind == kindScalar:
		return "flatbuf.CompareBools(" + a + ", " + b + ")"
	}
	return f.owner.Use("cmp") + ".Compare(" + a + ", " + b + ")"
}

// Keyed returns what the elements of a vector are found by, or nil.
func (f *field) Keyed() *message {
	if m := f.target(); m.Key != nil {
		return m
	}
	return nil
}

// ElemKeyType returns the type of the keys of the elements, as seen by f.
func (f *field) ElemKeyType() string {
	key := *f.target().Key
	asSeen := *f.owner
	key.owner = &asSeen
	return key.Native()
}
