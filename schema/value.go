package schema

import "github.com/thrum-rpc/thrum/diag"

// ValueKind is what a constant Value holds. A Value that stands for a type
// (a default or a declared constant) has been converted to it, so its kind
// follows from the type.
type ValueKind uint8

const (
	BoolValue       ValueKind = iota + 1
	IntValue                  // I8 … I64, U8 … U64; a U64 as the int64 with the same bits
	FloatValue                // Float, Double
	StringValue               // String, Binary, UUID in text form
	EnumeratorValue           // Enum; Int holds the number, Enumerator its declaration
	ListValue                 // List, Set
	MapValue                  // Map
	StructValue               // Struct; the fields that were given
)

// Value is a constant. It is immutable.
type Value struct {
	Kind       ValueKind
	Bool       bool
	Int        int64
	Float      float64
	String     string
	Enumerator *EnumValue // nil where a number names no enumerator
	List       []*Value
	Map        []MapEntry   // in the declared order
	Fields     []FieldValue // in the declared order
	Const      *Const       // the constant that was named, or nil for a literal
	Span       diag.Span
}

// MapEntry is an entry of a map constant.
type MapEntry struct{ Key, Value *Value }

// FieldValue is a field of a struct constant.
type FieldValue struct {
	Field *Field
	Value *Value
}

// Const is a declared constant.
type Const struct {
	spec  DeclSpec
	typ   *Type
	value *Value
}

// NewConst declares a constant of type t; Complete gives it its value.
func NewConst(spec DeclSpec, t *Type) *Const { return &Const{spec: spec, typ: t} }

// Complete sets the value, converted to c's type. It must be called once.
func (c *Const) Complete(v *Value) {
	if c.value != nil {
		panic("schema: const " + c.spec.Name + " completed twice")
	}
	c.value = v
}

func (c *Const) Type() *Type              { return c.typ }
func (c *Const) Value() *Value            { return c.value }
func (c *Const) Name() string             { return c.spec.Name }
func (c *Const) File() *File              { return c.spec.File }
func (c *Const) Doc() string              { return c.spec.Doc }
func (c *Const) Span() diag.Span          { return c.spec.Span }
func (c *Const) Annotations() Annotations { return c.spec.Annotations }

// Annotation is extra information that a declaration or a type's use carries.
type Annotation struct {
	Name     string // such as "api.get", or the name of a structured annotation's struct
	Value    string // the text of name = "value"; empty for the other forms
	HasValue bool   // whether a value was given at all
	// Structured holds the fields of @Name{field = value}, nil for other forms.
	Structured *Value
	Span       diag.Span
}

// Annotations are in their declared order; a name may stand more than once.
type Annotations []Annotation

// Get returns the first annotation with that name.
func (a Annotations) Get(name string) (Annotation, bool) {
	for i := range a {
		if a[i].Name == name {
			return a[i], true
		}
	}
	return Annotation{}, false
}

// Value returns the value of the first annotation with that name, or "".
func (a Annotations) Value(name string) string {
	v, _ := a.Get(name)
	return v.Value
}

// Has reports whether an annotation with that name stands.
func (a Annotations) Has(name string) bool {
	_, ok := a.Get(name)
	return ok
}
