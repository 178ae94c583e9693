package dynamic

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the steps of paths and what a schema makes of them.

// Step is a step of a path, from a value to one of its parts. Steps are made
// by the functions below; the zero Step leads nowhere. A Step is immutable and
// may be shared.
type Step struct {
	kind stepKind
	// want is the wire type of the part, Stop if any will do.
	want thriftwire.Type
	// num is a field's id, an index, an integer key, a bool key or the bits of a
	// double key; for a key that is a value of its own it is its wire type.
	num int64
	// text is the bytes of a key, those of a value in the binary protocol, or the
	// name of a field.
	text string
	// typ is the schema of the part; nil until the schema has resolved the step.
	typ *schema.Type
}

type stepKind uint8

const (
	stepNone stepKind = iota
	stepField
	stepName
	stepIndex
	stepBefore // the gap before an element
	stepEnd    // the gap after the last element
	stepNumber // in text: an index or an integer key, as the value has it
	stepString
	stepInt
	stepBool
	stepDouble
	stepValue
	stepUint // an integer key that an int64 cannot hold; Thrift has none
	stepFar  // a field's id that an int16 cannot hold; Thrift has none
)

// Field leads to the field of a struct with that id.
func Field(id int16) Step { return Step{kind: stepField, num: int64(id)} }

// Name leads to the field of a struct with that name. It needs a schema.
func Name(name string) Step { return Step{kind: stepName, text: name} }

// Index leads to the element of a list or set that stands at i, counted from 0.
func Index(i int) Step { return Step{kind: stepIndex, num: int64(i)} }

// Before leads to the gap before the element at i: setting there inserts.
func Before(i int) Step { return Step{kind: stepBefore, num: int64(i)} }

// End leads to the gap after the last element: setting there appends.
func End() Step { return Step{kind: stepEnd, num: math.MaxInt64} }

// Key leads to the entry of a map whose key is that string or binary, or the
// enumerator of that name, which needs a schema.
func Key(s string) Step { return Step{kind: stepString, text: s} }

// BinaryKey is Key for bytes, which are copied; it also finds the key that is
// a uuid of these 16 bytes.
func BinaryKey(b []byte) Step { return Step{kind: stepString, text: string(b)} }

// IntKey leads to the entry of a map with that integer or enum for a key.
func IntKey(n int64) Step { return Step{kind: stepInt, num: n} }

// BoolKey leads to the entry of a map with that key.
func BoolKey(v bool) Step {
	if v {
		return Step{kind: stepBool, num: 1}
	}
	return Step{kind: stepBool}
}

// DoubleKey leads to the entry of a map with that double or float for a key.
// Keys are compared bit by bit, so 0 and -0 are two.
func DoubleKey(f float64) Step { return Step{kind: stepDouble, num: int64(math.Float64bits(f))} }

// NodeKey leads to the entry of a map whose key is encoded as n is, such as a
// struct. The bytes of n are copied. In compact messages n stands for its shortest
// form, which is what writers send. In a message of another protocol than the
// binary one each use allocates memory for the key in that protocol, unless the
// path was compiled into [Paths].
func NodeKey(n Node) Step {
	s := Step{kind: stepValue, num: int64(n.typ), text: string(n.data)}
	if n.proto != Binary {
		s.text = "" // no value, if n is not one
		if b, err := n.AppendIn(nil, Binary); err == nil {
			s.text = string(b)
		}
	}
	return s
}

// in returns the step with a key that is a value brought into the protocol p.
// One that p does not have becomes a key that no map has.
func (s *Step) in(p Protocol) *Step {
	if p == Binary || s.kind != stepValue {
		return s
	}
	out := *s
	out.text = s.form(p)
	return &out
}

// form returns the text of a key that is a value in the protocol p, "" if
// there is none.
func (s *Step) form(p Protocol) string {
	b, err := NewNode(thriftwire.Type(s.num), []byte(s.text)).AppendIn(nil, p)
	if err != nil {
		return ""
	}
	return string(b)
}

// String renders the step as it stands in the text of a path.
func (s Step) String() string {
	switch s.kind {
	case stepField, stepFar:
		if s.text != "" {
			return "." + s.text
		}
		return "." + strconv.FormatInt(s.num, 10)
	case stepName:
		return "." + s.text
	case stepNone:
		return "[]"
	default:
		return "[" + s.keyText() + "]"
	}
}

// keyText is what stands in brackets.
func (s *Step) keyText() string {
	switch s.kind {
	case stepString:
		return strconv.Quote(s.text)
	case stepInt, stepIndex, stepNumber:
		return strconv.FormatInt(s.num, 10)
	case stepUint:
		return strconv.FormatUint(uint64(s.num), 10)
	case stepBefore:
		return "^" + strconv.FormatInt(s.num, 10)
	case stepEnd:
		return "$"
	case stepBool:
		return strconv.FormatBool(s.num != 0)
	case stepDouble:
		text := strconv.FormatFloat(math.Float64frombits(uint64(s.num)), 'g', -1, 64)
		if !strings.ContainsAny(text, ".eIN") {
			text += ".0" // a double, not an integer
		}
		return text
	default:
		return fmt.Sprintf("#%d:%x", s.num, s.text)
	}
}

// locate adds the step to the path of a fault.
func (s *Step) locate(f *diag.Fault) {
	switch s.kind {
	case stepField, stepName, stepFar:
		f.Field(s.String()[1:])
	case stepValue:
		f.Key("entry")
	default:
		f.Key(s.keyText())
	}
}

// resolve returns the step as it leads from a value of type t: with the id for
// a name, and with the type of the part.
func (s Step) resolve(t *schema.Type) (Step, *diag.Fault) {
	if t == nil {
		switch s.kind {
		case stepFar:
			return s, noThriftID(s.String()[1:])
		case stepName:
			return s, diag.NewFault(diag.Unsupported, -1, "a field's name "+strconv.Quote(s.text)+" needs a schema")
		}
		return s, nil
	}
	s = s.at(wireOf(t))
	ok := false
	switch t.Kind() {
	case schema.Struct:
		return s.resolveField(t.Struct())
	case schema.List, schema.Set:
		s.typ = t.Elem()
		ok = s.kind == stepIndex || s.kind == stepBefore || s.kind == stepEnd
	case schema.Map:
		s.typ = t.Elem()
		ok = s.resolveKey(t.Key())
	}
	if !ok {
		return s, diag.NewFault(diag.TypeMismatch, -1, "the step "+s.String()+" does not lead into "+t.String())
	}
	if s.want = wireOf(s.typ); s.want == thriftwire.Stop {
		return s, noThriftType(s.typ)
	}
	return s, nil
}

// noThriftType is the fault for a part of another format's schema.
func noThriftType(t *schema.Type) *diag.Fault {
	return diag.NewFault(diag.Unsupported, -1, "Thrift has no values of type "+t.String())
}

// at returns the step as it leads from a value of wire type t: text does not
// tell an index from an integer key.
func (s Step) at(t thriftwire.Type) Step {
	if s.kind == stepNumber {
		s.kind = stepIndex
		if t == thriftwire.Map {
			s.kind = stepInt
		}
	}
	return s
}

func (s Step) resolveField(d *schema.StructDef) (Step, *diag.Fault) {
	f, fault := s.FieldOf(d)
	switch {
	case fault != nil:
		return s, fault
	case f.ID() != int32(int16(f.ID())):
		return s, noThriftID(d.Name() + "." + f.Name())
	case wireOf(f.Type()) == thriftwire.Stop:
		return s, noThriftType(f.Type())
	}
	return Step{kind: stepField, want: wireOf(f.Type()), num: int64(f.ID()), text: f.Name(), typ: f.Type()}, nil
}

// noThriftID is the fault for a field of another format's schema.
func noThriftID(field string) *diag.Fault {
	return diag.NewFault(diag.Unsupported, -1, "the id of "+field+" is none that Thrift can have")
}

// resolveKey reports whether the step can be a key of type t, and turns the
// name of an enumerator into its number.
func (s *Step) resolveKey(t *schema.Type) bool {
	if s.kind == stepString && t.Kind() == schema.Enum {
		v := t.Enum().ByName(s.text)
		if v == nil {
			return false
		}
		s.kind, s.num = stepInt, v.Value
	}
	return s.fits(wireOf(t))
}

// fits reports whether the step can be a key of wire type t.
func (s *Step) fits(t thriftwire.Type) bool {
	switch s.kind {
	case stepString:
		return t == thriftwire.String || t == thriftwire.UUID && len(s.text) == 16
	case stepInt, stepNumber:
		switch t {
		case thriftwire.I8:
			return s.num == int64(int8(s.num))
		case thriftwire.I16:
			return s.num == int64(int16(s.num))
		case thriftwire.I32:
			return s.num == int64(int32(s.num))
		default:
			return t == thriftwire.I64
		}
	case stepBool:
		return t == thriftwire.Bool
	case stepDouble:
		f := math.Float64frombits(uint64(s.num))
		return t == thriftwire.Double || t == thriftwire.Float && (f != f || float64(float32(f)) == f)
	case stepValue:
		return t == thriftwire.Type(s.num)
	default:
		return false
	}
}

// check refuses a key of wire type t that the protocol p does not have, and one
// given as a value that is not a whole one. It would lead to nothing, but must not be
// written.
func (s *Step) check(p Protocol, t thriftwire.Type) *diag.Fault {
	if f := p.expects(t); f != nil {
		return f
	}
	if s.kind != stepValue {
		return nil
	}
	if p != Binary && s.form(p) == "" {
		return diag.NewFault(diag.InvalidValue, -1, "the key is not one whole "+t.String()+" that "+p.String()+" Thrift has")
	}
	return NewNode(thriftwire.Type(s.num), []byte(s.text)).whole(nil)
}

// appendKey appends the key in the protocol p, which has it, as one of wire type t,
// which the step fits.
func (s *Step) appendKey(p Protocol, b []byte, t thriftwire.Type) []byte {
	if p != Binary {
		return s.appendCompactKey(p, b, t)
	}
	switch t {
	case thriftwire.Bool, thriftwire.I8, thriftwire.I16, thriftwire.I32, thriftwire.I64:
		if s.kind == stepValue {
			break
		}
		return appendInt(b, t, s.num)
	case thriftwire.Double:
		if s.kind == stepDouble {
			return thriftwire.AppendI64(b, s.num)
		}
	case thriftwire.Float:
		if s.kind == stepDouble {
			return thriftwire.AppendFloat(b, float32(math.Float64frombits(uint64(s.num))))
		}
	case thriftwire.String:
		if s.kind == stepString {
			return thriftwire.AppendString(b, s.text)
		}
	}
	return append(b, s.text...)
}

// appendInt appends n as a bool or an integer of wire type t.
func appendInt(b []byte, t thriftwire.Type, n int64) []byte {
	switch t {
	case thriftwire.I16:
		return thriftwire.AppendI16(b, int16(n))
	case thriftwire.I32:
		return thriftwire.AppendI32(b, int32(n))
	case thriftwire.I64:
		return thriftwire.AppendI64(b, n)
	default:
		return thriftwire.AppendI8(b, int8(n))
	}
}

// Path is a path that a schema has resolved once, for repeated use. It is
// immutable and safe for concurrent use.
type Path struct {
	from  *schema.Type
	to    *schema.Type
	steps []Step
	alone *Paths // the set of this path only
}

// Compile resolves the steps as they lead from a value of type t, or without a
// schema if t is nil. Without steps the path leads to the value itself. The error is a *diag.Fault whose
// path says which step the schema does not have.
func Compile(t *schema.Type, steps ...Step) (*Path, error) {
	p := &Path{from: t, to: t, steps: make([]Step, len(steps))}
	for i, s := range steps {
		r, f := s.resolve(p.to)
		if f != nil {
			return nil, along(f, steps[:i])
		}
		p.steps[i], p.to = r, r.typ
	}
	var err error
	p.alone, err = CompileAll(t, steps)
	return p, err
}

// Type returns the type of what the path leads to.
func (p *Path) Type() *schema.Type { return p.to }

// String renders the path in the notation of [ParsePath].
func (p *Path) String() string { return formatSteps(p.steps) }
