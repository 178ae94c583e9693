package fbs

// The order in which a table's fields are written: by falling alignment, so that
// none needs padding, with the references side by side.

import (
	"encoding/binary"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/flatbuf"
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
	At          int  // its place if no field is absent
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
	at := flatbuf.SizeSOffsetT
	for i := range all {
		all[i].At = at
		at += all[i].Size
	}
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

// TableSize returns the bytes of a table with all fields.
func (m *message) TableSize() int { return flatbuf.SizeSOffsetT + m.Inline() }

func (m *message) TableAlign() int {
	align := 4
	for _, p := range m.parts() {
		align = max(align, p.Align)
	}
	return align
}

// Shape returns a table with all its fields as an expression of Go, or "" if there can be none.
func (m *message) Shape() string {
	parts := m.parts()
	slots := 0
	for _, p := range parts {
		slots = max(slots, p.Slot+1)
	}
	size := m.TableSize()
	vtable := make([]byte, flatbuf.SizeVOffsetT*(flatbuf.VtableMetadataFields+slots))
	if len(parts) == 0 || size > 1<<16-1 || len(vtable) > 1<<16-1 {
		return ""
	}
	binary.LittleEndian.PutUint16(vtable, uint16(len(vtable)))
	binary.LittleEndian.PutUint16(vtable[flatbuf.SizeVOffsetT:], uint16(size))
	for _, p := range parts {
		binary.LittleEndian.PutUint16(vtable[flatbuf.SizeVOffsetT*(flatbuf.VtableMetadataFields+p.Slot):], uint16(p.At))
	}
	return "&flatbuf.TableShape{Size: " + strconv.Itoa(size) + ", Align: " + strconv.Itoa(m.TableAlign()) + ", Vtable: " + strconv.QuoteToASCII(string(vtable)) + "}"
}

// Full returns the functions that write a table with all its fields. One alone
// is no function but stands where it is needed.
func (m *message) Full() (all []layer) {
	for i, chunk := range slices.Collect(slices.Chunk(m.parts(), maxPut)) {
		all = append(all, layer{Table: m, Name: "full" + strconv.Itoa(i), Fields: chunk})
	}
	return all
}

// All returns the condition under which a builder has all fields.
func (l layer) All() string {
	var all []string
	for _, p := range l.Fields {
		all = append(all, p.Present())
	}
	return strings.Join(all, " &&\n")
}

// Present returns the condition under which a builder has the field.
func (p part) Present() string {
	switch {
	case p.Kind == kindScalar && p.Optional():
		return p.InBuilder() + "set"
	case p.Kind == kindScalar:
		return p.Differs(p.InBuilder())
	case p.Kind == kindStruct:
		return p.InBuilder() + " != nil"
	}
	return p.InBuilder() + " != 0"
}

// InBuilder is where a builder has the part.
func (p part) InBuilder() string {
	v := "m." + p.Store
	switch {
	case p.Tag && p.Kind == kindUnion:
		return v + ".Type"
	case p.Tag:
		return v + ".Types"
	case p.Kind == kindUnion:
		return v + ".Offset"
	case p.Kind == kindUnions:
		return v + ".Values"
	}
	return v
}

// Write returns the statement that writes the part to its place in p, the bytes of the table at
// the offset off.
func (p part) Write() string {
	at := strconv.Itoa(p.At)
	switch {
	case p.Ref && p.Wide:
		return "flatbuf.WriteUint64(p[" + at + ":], uint64(off)-" + at + "-uint64(" + p.InBuilder() + "))"
	case p.Ref:
		return "flatbuf.WriteUOffsetT(p[" + at + ":], off-" + at + "-flatbuf.UOffsetT(" + p.InBuilder() + "))"
	case p.Kind == kindStruct:
		return p.InBuilder() + ".Put(p[" + at + ":])"
	}
	return "flatbuf.Write" + p.Getter() + "(p[" + at + ":], " + p.ToBasic(p.InBuilder()) + ")"
}

// PutName returns the part of the name of the function that puts the number into
// a table, PutValue the number as it takes it.
func (p part) PutName() string {
	if p.Ref {
		return "Uint" + strconv.Itoa(8*p.Size)
	}
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
	switch number := p.Basic(); {
	case p.Ref:
	case number == "bool":
		return expr
	case number == "float32" || number == "float64":
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
