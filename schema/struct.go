package schema

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
)

// Flavor tells struct, union and exception apart.
type Flavor uint8

const (
	PlainStruct Flavor = iota
	Union
	Exception
)

// String returns the Thrift keyword of f.
func (f Flavor) String() string { return [...]string{"struct", "union", "exception"}[f] }

// StructDef declares a struct, union or exception.
type StructDef struct {
	spec   DeclSpec
	flavor Flavor
	typ    Type
	fields []*Field
	oneofs []*Oneof
	dense  []*Field         // by id, for ids below denseLimit
	byID   map[int32]*Field // the rest
	byName map[string]*Field
	done   bool
	tag    *Type        // of a union of FlatBuffers
	layout *fixedStruct // of a struct of FlatBuffers
}

// denseLimit bounds the table that looks fields up by id without hashing.
const denseLimit = 256

// NewStruct declares a struct; Complete gives it its fields.
func NewStruct(spec DeclSpec, flavor Flavor) *StructDef {
	s := &StructDef{spec: spec, flavor: flavor}
	s.typ = Type{kind: Struct, strct: s}
	return s
}

// Complete sets the fields in their declared order. It must be called once,
// with ids and names that are unique; the front end has reported others.
func (s *StructDef) Complete(fields []*Field) {
	if s.done {
		panic("schema: struct " + s.spec.Name + " completed twice")
	}
	s.done = true
	s.fields = fields
	if s.layout != nil {
		s.layout.place(fields)
	}
	s.byName = make(map[string]*Field, len(fields))
	top := int32(-1)
	for _, f := range fields {
		if id := f.spec.ID; id >= 0 && id < denseLimit {
			top = max(top, id)
		}
	}
	s.dense = make([]*Field, top+1)
	for i, f := range fields {
		f.index, f.owner = i, s
		if o := f.spec.Oneof; o != nil {
			s.join(o, f)
		}
		s.byName[f.spec.Name] = f
		if id := f.spec.ID; id >= 0 && id < denseLimit {
			s.dense[id] = f
			continue
		}
		if s.byID == nil {
			s.byID = make(map[int32]*Field)
		}
		s.byID[f.spec.ID] = f
	}
}

// join adds f, a field of s, to o, which becomes s's own with its first field.
func (s *StructDef) join(o *Oneof, f *Field) {
	switch o.owner {
	case nil:
		o.owner = s
		s.oneofs = append(s.oneofs, o)
	case s:
	default:
		panic("schema: oneof " + o.spec.Name + " belongs to two structs")
	}
	o.fields = append(o.fields, f)
}

// Type returns the type that s declares.
func (s *StructDef) Type() *Type { return &s.typ }

// Flavor tells whether s is a struct, union or exception.
func (s *StructDef) Flavor() Flavor { return s.flavor }

// Fields returns the fields in their declared order.
func (s *StructDef) Fields() []*Field { return s.fields }

// Oneofs returns the groups of fields of which one at most is set, in the order
// of their first fields. A union, all of whose fields exclude each other, has none.
func (s *StructDef) Oneofs() []*Oneof { return s.oneofs }

// FullName returns the name with its package before it, such as shop.v1.Item.
func (s *StructDef) FullName() string { return s.spec.fullName() }

// FieldByID returns the field with that id, or nil.
func (s *StructDef) FieldByID(id int32) *Field {
	if id >= 0 && int(id) < len(s.dense) {
		return s.dense[id]
	}
	return s.byID[id]
}

// FieldByName returns the field with that name, or nil.
func (s *StructDef) FieldByName(name string) *Field { return s.byName[name] }

func (s *StructDef) Name() string             { return s.spec.Name }
func (s *StructDef) Package() string          { return s.spec.pkg() }
func (s *StructDef) File() *File              { return s.spec.File }
func (s *StructDef) Doc() string              { return s.spec.Doc }
func (s *StructDef) Span() diag.Span          { return s.spec.Span }
func (s *StructDef) Annotations() Annotations { return s.spec.Annotations }

// Requiredness says whether a field must be present, and whether absence is a
// state of its own.
type Requiredness uint8

const (
	// Default: need not be present when read. Thrift always writes it, Protobuf
	// writes what is not zero or empty: its implicit presence. FlatBuffers
	// writes what is not the default value.
	Default  Requiredness = iota
	Required              // always written, must be present when read
	Optional              // written if set: Protobuf's explicit presence
)

// String returns the Thrift keyword of r.
func (r Requiredness) String() string { return [...]string{"default", "required", "optional"}[r] }

// FieldSpec is what a field is made of.
type FieldSpec struct {
	ID           int32
	Name         string
	Type         *Type
	Requiredness Requiredness
	Default      *Value // nil if none was declared
	Oneof        *Oneof // nil if the field is in none
	Packed       bool
	Deprecated   bool
	Key          bool       // elements of lists are sorted and found by this field
	Nested       *StructDef // the root of the buffer that the bytes hold, or nil
	Flex         bool       // the bytes hold a value of FlexBuffers
	JSONName     string     // empty for the name as JSON spells names
	Doc          string
	Annotations  Annotations
	Span         diag.Span // of the name
}

// Field is a field of a struct, an argument, an exception of a throws clause
// or the success field of a result.
type Field struct {
	spec  FieldSpec
	owner *StructDef
	index int

	offset, padding int // of a field of a fixed struct
}

// NewField makes a field, which becomes part of a struct by Complete.
func NewField(spec FieldSpec) *Field { return &Field{spec: spec} }

func (f *Field) ID() int32                  { return f.spec.ID }
func (f *Field) Name() string               { return f.spec.Name }
func (f *Field) Type() *Type                { return f.spec.Type }
func (f *Field) Requiredness() Requiredness { return f.spec.Requiredness }
func (f *Field) Doc() string                { return f.spec.Doc }
func (f *Field) Annotations() Annotations   { return f.spec.Annotations }
func (f *Field) Span() diag.Span            { return f.spec.Span }

// Default returns the declared default, converted to the field's type, or nil.
func (f *Field) Default() *Value { return f.spec.Default }

// Oneof returns the oneof that f belongs to, or nil.
func (f *Field) Oneof() *Oneof { return f.spec.Oneof }

// Deprecated reports whether the field is no longer used: FlatBuffers keeps its
// id and generates nothing for it.
func (f *Field) Deprecated() bool { return f.spec.Deprecated }

// Key reports whether structs in a list are sorted by f, and found by its
// value: the key of FlatBuffers. A struct has one at most.
func (f *Field) Key() bool { return f.spec.Key }

// Nested returns the table that is the root of the FlatBuffer which the bytes of
// f hold, or nil.
func (f *Field) Nested() *StructDef { return f.spec.Nested }

// Flex reports whether the bytes of the field hold a value of FlexBuffers.
func (f *Field) Flex() bool { return f.spec.Flex }

// Packed reports whether Protobuf writes the elements of the list one after
// another behind one header. Readers take them either way.
func (f *Field) Packed() bool { return f.spec.Packed }

// JSONName returns the name that Protobuf's JSON gives the field: the declared
// one, else the name in lowerCamelCase.
func (f *Field) JSONName() string {
	if f.spec.JSONName != "" {
		return f.spec.JSONName
	}
	return lowerCamel(f.spec.Name)
}

// lowerCamel drops underscores and turns the letters after them into capitals.
func lowerCamel(name string) string {
	out := make([]byte, 0, len(name))
	up := false
	for i := range len(name) {
		c := name[i]
		if up && c >= 'a' && c <= 'z' {
			c -= 'a' - 'A'
		}
		if up = c == '_'; !up {
			out = append(out, c)
		}
	}
	return string(out)
}

// Struct returns the struct that f is part of.
func (f *Field) Struct() *StructDef { return f.owner }

// Index returns f's position among the fields of its struct.
func (f *Field) Index() int { return f.index }

// String renders f as "3: optional string name".
func (f *Field) String() string {
	s := strconv.Itoa(int(f.spec.ID)) + ": "
	if f.spec.Requiredness != Default {
		s += f.spec.Requiredness.String() + " "
	}
	return s + f.spec.Type.String() + " " + f.spec.Name
}

// Oneof is a group of fields of a struct of which one at most is set.
type Oneof struct {
	spec   DeclSpec
	owner  *StructDef
	fields []*Field
}

// NewOneof declares a oneof. The fields whose spec names it make it complete,
// together with their struct.
func NewOneof(spec DeclSpec) *Oneof { return &Oneof{spec: spec} }

// Fields returns the fields in their declared order.
func (o *Oneof) Fields() []*Field { return o.fields }

// Struct returns the struct that o is part of.
func (o *Oneof) Struct() *StructDef { return o.owner }

func (o *Oneof) Name() string             { return o.spec.Name }
func (o *Oneof) Doc() string              { return o.spec.Doc }
func (o *Oneof) Span() diag.Span          { return o.spec.Span }
func (o *Oneof) Annotations() Annotations { return o.spec.Annotations }

// EnumDef declares an enum.
type EnumDef struct {
	spec    DeclSpec
	base    Kind
	flags   bool
	closed  bool
	typ     Type
	values  []*EnumValue
	byName  map[string]*EnumValue
	byValue map[int64]*EnumValue
}

// EnumValue is one name of an enum.
type EnumValue struct {
	Name        string
	Value       int64
	Doc         string
	Annotations Annotations
	Span        diag.Span
}

// NewEnum declares an enum with its values in their declared order. Names are
// unique. Where several names share a value, the first is the value's name.
func NewEnum(spec DeclSpec, values []*EnumValue) *EnumDef {
	e := &EnumDef{
		spec: spec, values: values, base: I32,
		byName:  make(map[string]*EnumValue, len(values)),
		byValue: make(map[int64]*EnumValue, len(values)),
	}
	e.typ = Type{kind: Enum, enum: e}
	for _, v := range values {
		e.byName[v.Name] = v
		if e.byValue[v.Value] == nil {
			e.byValue[v.Value] = v
		}
	}
	return e
}

// NewClosedEnum is [NewEnum] for an enum that has no other values than these.
func NewClosedEnum(spec DeclSpec, values []*EnumValue) *EnumDef {
	e := NewEnum(spec, values)
	e.closed = true
	return e
}

// NewEnumOf is [NewEnum] for an enum whose numbers are of an integer kind other
// than I32. Those of U64 are the int64 with the same bits. flags says that
// values are sets of the declared bits.
func NewEnumOf(spec DeclSpec, values []*EnumValue, base Kind, flags bool) *EnumDef {
	e := NewEnum(spec, values)
	e.base, e.flags = base, flags
	return e
}

// Base returns the kind of the enum's numbers: I32 for Thrift and Protobuf.
func (e *EnumDef) Base() Kind { return e.base }

// Flags reports whether a value is a set of the declared bits: bit_flags of
// FlatBuffers. The declared values are the bits as numbers, not their positions.
func (e *EnumDef) Flags() bool { return e.flags }

// Closed reports whether a number without a name is no value of the enum.
// Enums of Thrift and proto3 are open; those of proto2 are closed.
func (e *EnumDef) Closed() bool { return e.closed }

// FullName returns the name with its package before it, such as shop.v1.Color.
func (e *EnumDef) FullName() string { return e.spec.fullName() }

// Type returns the type that e declares.
func (e *EnumDef) Type() *Type { return &e.typ }

// LongType returns e used as an i64: the type's Kind is I64, its Enum is e.
func (e *EnumDef) LongType() *Type { return &Type{kind: I64, enum: e} }

// Values returns the values in their declared order.
func (e *EnumDef) Values() []*EnumValue { return e.values }

// ByName returns the value with that name, or nil.
func (e *EnumDef) ByName(name string) *EnumValue { return e.byName[name] }

// ByValue returns the first name of that number, or nil.
func (e *EnumDef) ByValue(n int64) *EnumValue { return e.byValue[n] }

func (e *EnumDef) Name() string             { return e.spec.Name }
func (e *EnumDef) Package() string          { return e.spec.pkg() }
func (e *EnumDef) File() *File              { return e.spec.File }
func (e *EnumDef) Doc() string              { return e.spec.Doc }
func (e *EnumDef) Span() diag.Span          { return e.spec.Span }
func (e *EnumDef) Annotations() Annotations { return e.spec.Annotations }
