package protobuf

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the steps of paths and what a schema makes of them.

// Step is a step of a path, from a value to one of its parts, as in package
// dynamic.
type Step = dynamic.Step

// Field leads to the field of a message with that number.
func Field(number int32) Step { return dynamic.FieldNumber(number) }

// Name leads to the field of a message with that name. It needs a schema.
func Name(name string) Step { return dynamic.Name(name) }

// Index leads to the element of a list that stands at i, counted from 0.
func Index(i int) Step { return dynamic.Index(i) }

// Before leads to the gap before the element at i: setting there inserts.
func Before(i int) Step { return dynamic.Before(i) }

// End leads to the gap after the last element: setting there appends.
func End() Step { return dynamic.End() }

// Key leads to the entry of a map whose key is that string.
func Key(s string) Step { return dynamic.Key(s) }

// IntKey leads to the entry of a map with that integer for a key.
func IntKey(n int64) Step { return dynamic.IntKey(n) }

// UintKey leads to the entry of a map with that integer for a key.
func UintKey(n uint64) Step { return dynamic.UintKey(n) }

// BoolKey leads to the entry of a map with that key.
func BoolKey(v bool) Step { return dynamic.BoolKey(v) }

// ParsePath reads a path such as items[3].price or tags["a"].7 (field 7); see
// [dynamic.ParsePath].
func ParsePath(text string) ([]Step, error) { return dynamic.ParsePath(text) }

// step is a Step as it leads from a value of a type.
type step struct {
	given Step
	kind  dynamic.StepKind // without NameStep and NumberStep
	num   int64            // a field's number, an index, or a key as Node holds its bits
	text  string           // a key
	field *schema.Field    // of a message; nil without a schema
	typ   *schema.Type     // of the part; nil without a schema
}

// locate adds the step to the path of f, if there is one.
func (s *step) locate(f *diag.Fault) *diag.Fault {
	switch {
	case f == nil:
	case s.field != nil:
		f.Field(s.field.Name())
	default:
		s.given.Locate(f)
	}
	return f
}

// isElement reports whether the step leads to an element, not to a gap.
func (s *step) isElement() bool { return s.kind == dynamic.IndexStep }

// resolve returns the step as it leads from a value of type t, nil if there is
// no schema.
func resolve(given Step, t *schema.Type) (step, *diag.Fault) {
	s := step{given: given, kind: given.Kind(), num: given.Number(), text: given.Text()}
	if t == nil {
		return s, s.bare()
	}
	switch t.Kind() {
	case schema.Struct:
		f, fault := given.FieldOf(t.Struct())
		if fault != nil {
			return s, fault
		}
		if !supported(f.Type()) {
			return s, noProtobuf(f.Type())
		}
		s.kind, s.num, s.field, s.typ = dynamic.FieldStep, int64(f.ID()), f, f.Type()
		return s, nil
	case schema.List:
		switch s.typ = t.Elem(); s.kind {
		case dynamic.IndexStep, dynamic.BeforeStep, dynamic.EndStep:
			return s, nil
		case dynamic.NumberStep:
			s.kind = dynamic.IndexStep
			return s, nil
		}
	case schema.Map:
		if s.typ = t.Elem(); s.resolveKey(t.Key()) {
			return s, nil
		}
	}
	return s, diag.NewFault(diag.TypeMismatch, -1, "the step "+given.String()+" does not lead into "+t.String())
}

// bare resolves a step without a schema.
func (s *step) bare() *diag.Fault {
	switch s.kind {
	case dynamic.NumberStep:
		s.kind = dynamic.IndexStep
	case dynamic.FieldStep:
		if s.num < 1 || s.num > protowire.MaxNumber {
			return diag.NewFault(diag.UnknownField, -1, "no field has the number "+s.given.String()[1:])
		}
	case dynamic.IndexStep, dynamic.BeforeStep, dynamic.EndStep:
	default:
		return diag.NewFault(diag.Unsupported, -1, "the step "+s.given.String()+" needs a schema")
	}
	return nil
}

// resolveKey reports whether the step can be a key of type t, and gives it the
// form in which keys are compared.
func (s *step) resolveKey(t *schema.Type) bool {
	kind := s.kind
	if kind == dynamic.NumberStep {
		kind = dynamic.IntKeyStep
	}
	s.kind = kind
	switch t.Kind() {
	case schema.String:
		return kind == dynamic.StringKeyStep
	case schema.Bool:
		return kind == dynamic.BoolKeyStep
	case schema.I32:
		return kind == dynamic.IntKeyStep && s.num == int64(int32(s.num))
	case schema.I64:
		return kind == dynamic.IntKeyStep
	case schema.U32:
		return kind == dynamic.IntKeyStep && s.num >= 0 && s.num <= math.MaxUint32
	case schema.U64:
		return kind == dynamic.IntKeyStep && s.num >= 0 || kind == dynamic.UintKeyStep
	}
	return false
}

// isKey reports whether the step's key is the one that was read.
func (s *step) isKey(key Node) bool {
	if key.kind == bytesNode {
		return string(key.data) == s.text
	}
	return key.bits == uint64(s.num)
}

// supported reports whether Protobuf has fields of type t.
func supported(t *schema.Type) bool {
	switch t.Kind() {
	case schema.Map:
		return keyable(t.Key()) && single(t.Elem())
	case schema.List:
		return single(t.Elem())
	}
	return single(t)
}

func single(t *schema.Type) bool { return !t.Kind().IsContainer() && wireOf(t) != noWire }

func keyable(t *schema.Type) bool {
	switch t.Kind() {
	case schema.Bool, schema.I32, schema.I64, schema.U32, schema.U64, schema.String:
		return true
	}
	return false
}

// Path is a path that a schema has resolved once, for repeated use. It is
// immutable and safe for concurrent use.
type Path struct {
	from, to *schema.Type
	steps    []step
	alone    *Paths // the set of this path only
}

// Compile resolves the steps as they lead from a value of type t, or without a
// schema if t is nil. Without steps the path leads to the value itself. The
// error is a *diag.Fault whose path says which step the schema does not have.
func Compile(t *schema.Type, steps ...Step) (*Path, error) {
	p := &Path{from: t}
	var f *diag.Fault
	if p.steps, p.to, f = resolveAll(steps, t); f != nil {
		return nil, f
	}
	var err error
	p.alone, err = CompileAll(t, steps)
	return p, err
}

// resolveAll resolves steps as they lead from a value of type t.
func resolveAll(given []Step, t *schema.Type) ([]step, *schema.Type, *diag.Fault) {
	out := make([]step, len(given))
	for i, g := range given {
		s, f := resolve(g, t)
		if f != nil {
			return nil, nil, along(f, out[:i])
		}
		out[i], t = s, s.typ
	}
	return out, t, nil
}

// along adds the steps to the path of f, the last one first.
func along(f *diag.Fault, steps []step) *diag.Fault {
	for i := len(steps) - 1; i >= 0; i-- {
		steps[i].locate(f)
	}
	return f
}

// Type returns the type of what the path leads to.
func (p *Path) Type() *schema.Type { return p.to }

// String renders the path in the notation of [ParsePath].
func (p *Path) String() string {
	text := ""
	for i := range p.steps {
		s := p.steps[i].given
		if f := p.steps[i].field; f != nil {
			s = Name(f.Name())
		}
		text += s.String()
	}
	if len(text) > 0 && text[0] == '.' {
		text = text[1:]
	}
	return text
}
