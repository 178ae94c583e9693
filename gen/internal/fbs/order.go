package fbs

// The order in which a table's fields are written: by falling alignment, so that
// none needs padding, with the references side by side.

import (
	"slices"
	"strconv"
)

// maxPut is how many fields one function puts into a table: Go inlines little in
// larger ones.
const maxPut = 64

// layer is a run of fields that one function writes.
type layer struct {
	Table  *message
	Name   string // of the function
	Fields []part
}

// sections are the layers of a table: what comes before the references, those
// of 64 bits, the others, and what comes after them.
type sections struct{ Before, Wide, Refs, After []layer }

// part is a value in a table: a field, or the type of a union.
type part struct {
	*field
	Slot        int
	Size, Align int
	Ref, Wide   bool // a reference, of 64 bits
	Tag         bool // the type of a union
}

// parts returns what the table holds, in the order of writing.
func (m *message) parts() []part {
	var all []part
	for _, f := range m.Fields {
		switch f.Kind {
		case kindUnion:
			all = append(all, part{field: f, Slot: f.Slot - 1, Size: f.tagSize(), Align: f.tagSize(), Tag: true})
			all = append(all, part{field: f, Slot: f.Slot, Size: 4, Align: 4, Ref: true})
		case kindUnions:
			all = append(all, part{field: f, Slot: f.Slot - 1, Size: 4, Align: 4, Ref: true, Tag: true})
			all = append(all, part{field: f, Slot: f.Slot, Size: 4, Align: 4, Ref: true})
		case kindScalar, kindStruct:
			all = append(all, part{field: f, Slot: f.Slot, Size: f.Type().InlineSize(), Align: f.Type().InlineAlign()})
		default:
			p := part{field: f, Slot: f.Slot, Size: 4, Align: 4, Ref: true}
			if f.wide() {
				p.Size, p.Align, p.Wide = 8, 8, true
			}
			all = append(all, p)
		}
	}
	slices.SortStableFunc(all, func(a, b part) int { return a.rank() - b.rank() })
	return all
}

// rank puts wide references after all else that is aligned to eight bytes, and
// references before all else that is aligned to four.
func (p *part) rank() int {
	rank := -4 * p.Align
	switch {
	case p.Wide:
		return rank + 1
	case p.Ref:
		return rank - 1
	}
	return rank
}

// Sections returns the functions that write the fields.
func (m *message) Sections() (s sections) {
	n := 0
	for _, p := range m.parts() {
		to := &s.After
		switch {
		case p.Wide:
			to = &s.Wide
		case p.Ref:
			to = &s.Refs
		case p.Align > 4:
			to = &s.Before
		}
		if k := len(*to); k == 0 || len((*to)[k-1].Fields) == maxPut {
			*to = append(*to, layer{Table: m, Name: "put" + strconv.Itoa(n)})
			n++
		}
		last := &(*to)[len(*to)-1]
		last.Fields = append(last.Fields, p)
	}
	return s
}

// Layers returns all of them.
func (s sections) Layers() []layer { return slices.Concat(s.Before, s.Wide, s.Refs, s.After) }

// Inline returns the bytes of all fields in a table, and TableAlign the greatest
// alignment of them, which is at least that of an offset.
func (m *message) Inline() (n int) {
	for _, p := range m.parts() {
		n += p.Size
	}
	return n
}

func (m *message) TableAlign() int {
	align := 4
	for _, p := range m.parts() {
		align = max(align, p.Align)
	}
	return align
}

// PutName returns the part of the name of the function that puts the number into
// a table, PutValue the number as it takes it.
func (p part) PutName() string {
	switch p.Basic() {
	case "bool":
		return "Bool"
	case "float32":
		return "Uint32"
	case "float64":
		return "Uint64"
	}
	return "Uint" + strconv.Itoa(8*p.Size)
}

func (p part) PutValue(expr string) string {
	switch p.Basic() {
	case "bool":
		return expr
	case "float32", "float64":
		return p.owner.Use("math") + ".Float" + strconv.Itoa(8*p.Size) + "bits(" + expr + ")"
	}
	return "uint" + strconv.Itoa(8*p.Size) + "(" + expr + ")"
}

// Differs returns the condition under which a scalar is written: that it is not its
// default. A zero equals the other one, and what is no number is no default.
func (p part) Differs(expr string) string {
	switch {
	case p.IsNaN():
		return "!" + p.owner.Use("math") + ".IsNaN(float64(" + expr + "))"
	case p.Basic() == "bool" && p.Default() == "true":
		return "!" + expr
	case p.Basic() == "bool":
		return expr
	}
	return expr + " != " + p.Default()
}

// Place returns where a vector is, for the functions that unpack it.
func (f *field) Place() string {
	place := "rcv._tab, " + strconv.Itoa(f.VSlot())
	switch {
	case f.Long():
		return place + ", flatbuf.Long"
	case f.wide():
		return place + ", flatbuf.Far"
	}
	return place + ", flatbuf.Near"
}

// VectorFunc returns the function that writes a vector of structs, "" if it
// has no name that f can use.
func (f *field) VectorFunc() string {
	t := f.target()
	if name := t.names.Vector; t.pkg == f.owner.pkg || capital(name) == name {
		return f.owner.qualified(t.unit, name)
	}
	return ""
}
