package flatbuf

import (
	"fmt"

	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds what a verifier knows of a schema.

// Layout says what the tables of a schema hold, as far as their bytes need it.
// It is plain data: tables and unions refer to each other by their positions in
// these slices, so that generated code can hold it in one variable.
type Layout struct {
	Tables []TableLayout
	Unions []UnionLayout
}

// TableLayout is a table: its fields, without deprecated ones, which nobody reads.
type TableLayout struct {
	Name   string
	Fields []FieldLayout
}

// FieldLayout is a field of a table.
type FieldLayout struct {
	Name string
	// Slot counts from 0. A union has two slots, this is the second: its type is
	// in the one before.
	Slot     uint16
	Kind     FieldKind
	Required bool
	// Size and Align are those of a scalar or struct, or of the elements of a
	// ScalarVector, in bytes. For a union, Size is that of its type.
	Size  uint32
	Align uint8
	// Ref is the position of the table (TableField, TableVector, NestedField)
	// or the union (UnionField, UnionVector).
	Ref int32
	// Offset64 says that the field holds an offset of 64 bits, Vector64 that its
	// vector has a length of 64 bits.
	Offset64, Vector64 bool
}

// FieldKind is what a field holds.
type FieldKind uint8

const (
	ScalarField  FieldKind = iota + 1 // a number, bool, enum or struct
	StringField                       // a string
	TableField                        // a table
	UnionField                        // a union, with its type in the slot before
	ScalarVector                      // a vector of scalars or structs
	StringVector                      // a vector of strings
	TableVector                       // a vector of tables
	UnionVector                       // a vector of unions, with that of their types in the slot before
	NestedField                       // a vector of bytes that hold a buffer
	FlexField                         // a vector of bytes that hold a FlexBuffer
)

// UnionLayout is a union: its members but NONE, whose type is 0.
type UnionLayout struct {
	Name    string
	Members []UnionMember
}

// UnionMember is a type that a union may hold.
type UnionMember struct {
	Name  string
	Type  uint64    // the value of the type field
	Kind  FieldKind // TableField, ScalarField for a struct, or StringField
	Size  uint32    // of a struct
	Align uint8
	Ref   int32 // of a table
}

// check tells what of l contradicts itself.
func (l *Layout) check() error {
	for i := range l.Tables {
		t := &l.Tables[i]
		for j := range t.Fields {
			if err := l.checkField(&t.Fields[j]); err != nil {
				return fmt.Errorf("flatbuf: layout of %s.%s: %w", t.Name, t.Fields[j].Name, err)
			}
		}
	}
	for i := range l.Unions {
		u := &l.Unions[i]
		for j := range u.Members {
			m := &u.Members[j]
			f := FieldLayout{Kind: m.Kind, Size: m.Size, Align: m.Align, Ref: m.Ref}
			err := l.checkField(&f)
			if err == nil && m.Kind != TableField && m.Kind != ScalarField && m.Kind != StringField {
				err = fmt.Errorf("kind %d is none of a member", m.Kind)
			}
			if err == nil && m.Type == 0 {
				err = fmt.Errorf("type 0 stands for NONE")
			}
			if err != nil {
				return fmt.Errorf("flatbuf: layout of %s.%s: %w", u.Name, m.Name, err)
			}
		}
	}
	return nil
}

// maxSlot is the last slot that a vtable can have.
const maxSlot = (1<<16-1-4)/2 - 1

func (l *Layout) checkField(f *FieldLayout) error {
	if f.Slot > maxSlot {
		return fmt.Errorf("slot %d is beyond %d", f.Slot, maxSlot)
	}
	if f.Offset64 && (f.Kind == TableField || f.Kind == UnionField || f.Kind == UnionVector || f.Kind == ScalarField) || f.Vector64 && f.Kind != ScalarVector && f.Kind != NestedField {
		return fmt.Errorf("64 bits are for vectors and strings")
	}
	switch f.Kind {
	case ScalarField, ScalarVector:
		if f.Size == 0 || f.Size > flatwire.MaxSize/2 || f.Align == 0 || f.Align > flatwire.MaxAlign || f.Align&(f.Align-1) != 0 {
			return fmt.Errorf("%d bytes aligned to %d", f.Size, f.Align)
		}
	case StringField, StringVector, FlexField:
	case TableField, TableVector, NestedField:
		if f.Ref < 0 || int(f.Ref) >= len(l.Tables) {
			return fmt.Errorf("there is no table %d", f.Ref)
		}
	case UnionField, UnionVector:
		if f.Ref < 0 || int(f.Ref) >= len(l.Unions) {
			return fmt.Errorf("there is no union %d", f.Ref)
		}
		if f.Slot == 0 {
			return fmt.Errorf("there is no slot before for the type")
		}
		if f.Size != 1 && f.Size != 2 && f.Size != 4 && f.Size != 8 {
			return fmt.Errorf("a type of %d bytes", f.Size)
		}
	default:
		return fmt.Errorf("there is no kind %d", f.Kind)
	}
	return nil
}
