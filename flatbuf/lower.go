package flatbuf

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file makes layouts of schemas.

// LayoutOf returns the layout of these tables and of all that they refer to.
// Each stands in Tables at its place among the arguments, what they refer to
// follows. Deprecated fields are left out. A type that FlatBuffers does not
// have is an error.
func LayoutOf(roots ...*schema.StructDef) (*Layout, error) {
	l := &lowering{layout: &Layout{}, tables: map[*schema.StructDef]int32{}, unions: map[*schema.StructDef]int32{}}
	for _, r := range roots {
		if !isTable(r) {
			return nil, fmt.Errorf("flatbuf: %s is not a table", r.FullName())
		}
		if _, twice := l.tables[r]; twice {
			return nil, fmt.Errorf("flatbuf: %s is named twice", r.FullName())
		}
		l.table(r)
	}
	for len(l.todo) > 0 { // a loop, so that no schema is too deep
		s := l.todo[0]
		l.todo = l.todo[1:]
		if err := l.complete(s); err != nil {
			return nil, err
		}
	}
	return l.layout, nil
}

type lowering struct {
	layout         *Layout
	tables, unions map[*schema.StructDef]int32
	todo           []*schema.StructDef
}

func isTable(s *schema.StructDef) bool { return !s.Fixed() && s.Flavor() == schema.PlainStruct }
func isUnion(s *schema.StructDef) bool { return s.Flavor() == schema.Union && s.Tag() != nil }

func (l *lowering) table(s *schema.StructDef) int32 {
	i, ok := l.tables[s]
	if !ok {
		i = int32(len(l.layout.Tables))
		l.tables[s] = i
		l.layout.Tables = append(l.layout.Tables, TableLayout{Name: s.FullName()})
		l.todo = append(l.todo, s)
	}
	return i
}

func (l *lowering) union(s *schema.StructDef) int32 {
	i, ok := l.unions[s]
	if !ok {
		i = int32(len(l.layout.Unions))
		l.unions[s] = i
		l.layout.Unions = append(l.layout.Unions, UnionLayout{Name: s.FullName()})
		l.todo = append(l.todo, s)
	}
	return i
}

// complete lowers the fields of a table or the members of a union.
func (l *lowering) complete(s *schema.StructDef) error {
	var fields []FieldLayout
	var members []UnionMember
	for _, f := range s.Fields() {
		if f.Deprecated() {
			continue
		}
		fl, err := l.field(f)
		if err != nil {
			return fmt.Errorf("flatbuf: %s.%s: %w", s.FullName(), f.Name(), err)
		}
		fields = append(fields, fl)
		members = append(members, UnionMember{
			Name: f.Name(), Type: uint64(f.ID()) & mask(s), Kind: fl.Kind, Size: fl.Size, Align: fl.Align, Ref: fl.Ref,
		})
	}
	if isUnion(s) {
		l.layout.Unions[l.unions[s]].Members = members
	} else {
		l.layout.Tables[l.tables[s]].Fields = fields
	}
	return nil
}

// mask has the bits of a union's type.
func mask(s *schema.StructDef) uint64 {
	if s.Tag() == nil || s.Tag().InlineSize() == 0 {
		return ^uint64(0)
	}
	return ^uint64(0) >> (64 - 8*s.Tag().InlineSize())
}

// field lowers a field of a table, or a member of a union, which has a number in
// place of a slot.
func (l *lowering) field(f *schema.Field) (FieldLayout, error) {
	t := f.Type()
	fl := FieldLayout{Name: f.Name(), Required: f.Requiredness() == schema.Required}
	switch t.Encoding() {
	case schema.Offset64:
		fl.Offset64 = true
	case schema.Vector64:
		fl.Offset64, fl.Vector64 = true, true
	}
	if !isUnion(f.Struct()) {
		if f.ID() < 0 || f.ID() > maxSlot {
			return fl, fmt.Errorf("the id %d", f.ID())
		}
		fl.Slot = uint16(f.ID())
	}
	elem := t
	if t.Kind() == schema.List {
		elem = t.Elem()
	}
	var err error
	fl.Kind, fl.Ref, err = l.kind(elem)
	if err != nil {
		return fl, err
	}
	if fl.Kind == ScalarField {
		size := elem.InlineSize()
		if size > flatwire.MaxSize/2 {
			return fl, fmt.Errorf("%d bytes", size)
		}
		fl.Size, fl.Align = uint32(size), uint8(elem.InlineAlign())
	}
	if fl.Kind == UnionField {
		fl.Size = uint32(elem.Struct().Tag().InlineSize())
	}
	if t.Kind() == schema.List {
		fl.Kind = map[FieldKind]FieldKind{
			ScalarField: ScalarVector, StringField: StringVector, TableField: TableVector, UnionField: UnionVector,
		}[fl.Kind]
	}
	if n := f.Nested(); n != nil {
		fl.Kind, fl.Ref, fl.Size, fl.Align = NestedField, l.table(n), 0, 0
	}
	if f.Flex() && !fl.Vector64 {
		fl.Kind, fl.Size, fl.Align = FlexField, 0, 0
	}
	return fl, nil
}

// kind returns what a value of type t is.
func (l *lowering) kind(t *schema.Type) (FieldKind, int32, error) {
	switch {
	case t.InlineSize() > 0:
		return ScalarField, 0, nil
	case t.Kind() == schema.String:
		return StringField, 0, nil
	case t.Kind() == schema.Struct && isUnion(t.Struct()):
		return UnionField, l.union(t.Struct()), nil
	case t.Kind() == schema.Struct && isTable(t.Struct()):
		return TableField, l.table(t.Struct()), nil
	default:
		return 0, 0, fmt.Errorf("FlatBuffers has no type %s", t)
	}
}
