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
	dense  []*Field         // by id, for ids below denseLimit
	byID   map[int32]*Field // the rest
	byName map[string]*Field
	done   bool
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

// Type returns the type that s declares.
func (s *StructDef) Type() *Type { return &s.typ }

// Flavor tells whether s is a struct, union or exception.
func (s *StructDef) Flavor() Flavor { return s.flavor }

// Fields returns the fields in their declared order.
func (s *StructDef) Fields() []*Field { return s.fields }

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
func (s *StructDef) File() *File              { return s.spec.File }
func (s *StructDef) Doc() string              { return s.spec.Doc }
func (s *StructDef) Span() diag.Span          { return s.spec.Span }
func (s *StructDef) Annotations() Annotations { return s.spec.Annotations }

// Requiredness says whether a field must be present.
type Requiredness uint8

const (
	Default  Requiredness = iota // always written, need not be present when read
	Required                     // always written, must be present when read
	Optional                     // written if set
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

// EnumDef declares an enum.
type EnumDef struct {
	spec    DeclSpec
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
		spec: spec, values: values,
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

// Type returns the type that e declares.
func (e *EnumDef) Type() *Type { return &e.typ }

// Values returns the values in their declared order.
func (e *EnumDef) Values() []*EnumValue { return e.values }

// ByName returns the value with that name, or nil.
func (e *EnumDef) ByName(name string) *EnumValue { return e.byName[name] }

// ByValue returns the first name of that number, or nil.
func (e *EnumDef) ByValue(n int64) *EnumValue { return e.byValue[n] }

func (e *EnumDef) Name() string             { return e.spec.Name }
func (e *EnumDef) File() *File              { return e.spec.File }
func (e *EnumDef) Doc() string              { return e.spec.Doc }
func (e *EnumDef) Span() diag.Span          { return e.spec.Span }
func (e *EnumDef) Annotations() Annotations { return e.spec.Annotations }
