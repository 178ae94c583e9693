package schema

// This file holds what FlatBuffers needs beyond structs of fields: unions with a
// type of their tag, and structs whose fields stand at fixed offsets.

// NewTaggedUnion declares a union of which the number that tells the field
// travels as a value of its own, of type tag: the union of FlatBuffers. The ids
// of its fields are those numbers, and 0 says that none is set.
func NewTaggedUnion(spec DeclSpec, tag *Type) *StructDef {
	s := NewStruct(spec, Union)
	s.tag = tag
	return s
}

// Tag returns the type of the number that tells which field of a union is set,
// where that is a value of its own, else nil.
func (s *StructDef) Tag() *Type { return s.tag }

// fixedStruct is the layout of a struct whose size is known.
type fixedStruct struct{ size, align int }

// NewFixedStruct declares a struct whose fields have fixed offsets: the struct
// of FlatBuffers. Complete lays them out in their order, each aligned to its size; they must
// be bools, numbers, enums, fixed structs that are complete, or arrays of these.
// align is the least alignment of the whole, a power of two.
func NewFixedStruct(spec DeclSpec, align int) *StructDef {
	s := NewStruct(spec, PlainStruct)
	s.layout = &fixedStruct{align: max(align, 1)}
	return s
}

// Fixed reports whether s is a struct whose fields have fixed offsets.
func (s *StructDef) Fixed() bool { return s.layout != nil }

// Size returns the bytes of a fixed struct, padding included, 0 for others.
func (s *StructDef) Size() int {
	if s.layout == nil {
		return 0
	}
	return s.layout.size
}

// Align returns the alignment of a fixed struct in bytes, 0 for others.
func (s *StructDef) Align() int {
	if s.layout == nil {
		return 0
	}
	return s.layout.align
}

// Offset returns where f begins in its struct, in bytes, if that is fixed.
func (f *Field) Offset() int { return f.offset }

// Padding returns how many unused bytes follow f in its struct, if that is fixed.
func (f *Field) Padding() int { return f.padding }

// place gives the fields their offsets.
func (l *fixedStruct) place(fields []*Field) {
	for i, f := range fields {
		size, align := f.spec.Type.InlineSize(), f.spec.Type.InlineAlign()
		if size == 0 {
			panic("schema: field " + f.spec.Name + " has no fixed size")
		}
		at := roundUp(l.size, align)
		if i > 0 {
			fields[i-1].padding = at - l.size
		}
		f.offset, l.size, l.align = at, at+size, max(l.align, align)
	}
	if n := len(fields); n > 0 {
		end := roundUp(l.size, l.align)
		fields[n-1].padding, l.size = end-l.size, end
	}
}

// roundUp returns the next multiple of align, a power of two.
func roundUp(n, align int) int { return (n + align - 1) &^ (align - 1) }

// InlineSize returns how many bytes a value of t takes, if all take as many: bools,
// numbers, enums, fixed structs and arrays of these. It is 0 for others.
func (t *Type) InlineSize() int {
	switch t.kind {
	case Bool, I8, U8:
		return 1
	case I16, U16:
		return 2
	case I32, U32, Float:
		return 4
	case I64, U64, Double:
		return 8
	case Enum:
		return Basic(t.enum.base).InlineSize()
	case Array:
		return t.elem.InlineSize() * int(t.length)
	case Struct:
		return t.strct.Size()
	}
	return 0
}

// InlineAlign returns the alignment of a value of t whose size is fixed, in
// bytes, 0 for others.
func (t *Type) InlineAlign() int {
	switch t.kind {
	case Array:
		return t.elem.InlineAlign()
	case Struct:
		return t.strct.Align()
	}
	return t.InlineSize()
}
