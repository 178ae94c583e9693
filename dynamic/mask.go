package dynamic

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds field masks.

// NewMask compiles a field mask for messages of the struct type t, such as
//
//	items(id,price),user.name
//
// It keeps what it names and drops the rest. A name is that of a field, or its
// id; names after a dot, or in parentheses after a name, are those of
// the struct in it, or of the structs that its list, set or map has for elements or
// values. What is named without parts is kept whole, with fields that t does not have.
// White space may stand between words. The empty mask keeps nothing.
//
// A syntax error has its offset in mask; a name that the schema does not have
// is UnknownField with the path to it.
func NewMask(t *schema.Type, mask string) (*Trimmer, error) {
	s, err := ParseMask(t, mask)
	if err != nil {
		return nil, err
	}
	return &Trimmer{t, s.compile(t)}, nil
}

// ParseMask reads a mask as [NewMask] does, for use in any format.
func ParseMask(t *schema.Type, mask string) (*Selection, error) {
	if t.Kind() != schema.Struct {
		return nil, diag.NewFault(diag.Unsupported, -1, "a mask is for a struct, not for "+t.String())
	}
	p := maskParser{text: mask}
	root := &Selection{}
	f := p.list(t, root, maxDepth)
	if f == nil && p.next() != 0 {
		f = diag.NewFault(diag.Syntax, p.pos, "a comma expected")
	}
	if f != nil {
		return nil, f
	}
	return root, nil
}

// Selection is what a mask names of a struct, or of the structs that a
// container has for elements or values.
type Selection struct {
	fields []*schema.Field
	parts  []*Selection // nil where the field is kept whole
}

// Fields returns the fields that are named, in the order of the mask.
func (s *Selection) Fields() []*schema.Field { return s.fields }

// Part returns what is named in Fields()[i], nil if it is kept whole.
func (s *Selection) Part(i int) *Selection { return s.parts[i] }

// add returns the selection in a field, which it adds if it is new.
func (s *Selection) add(f *schema.Field) (i int) {
	for i, have := range s.fields {
		if have == f {
			return i
		}
	}
	s.fields = append(s.fields, f)
	s.parts = append(s.parts, &Selection{})
	return len(s.fields) - 1
}

// compile makes the cut of a value of type t, whose structs keep the selection.
func (s *Selection) compile(t *schema.Type) *cut {
	out := &cut{wire: wireOf(t), typ: t}
	if t.Kind() != schema.Struct {
		out.elem = s.compile(t.Elem())
		return out
	}
	var kept []cutField
	for i, f := range s.fields {
		k := cutField{wire: wireOf(f.Type()), field: f}
		if s.parts[i] != nil {
			k.part = s.parts[i].compile(f.Type())
		}
		kept = append(kept, k)
	}
	out.fields = &cutFields{name: t.String()}
	out.fields.fill(kept)
	return out
}

type maskParser struct {
	text string
	pos  int
}

// next skips white space and returns the next byte, 0 at the end.
func (p *maskParser) next() byte {
	for p.pos < len(p.text) {
		switch c := p.text[p.pos]; c {
		case ' ', '\t', '\n', '\r':
			p.pos++
		default:
			return c
		}
	}
	return 0
}

// list reads names with commas between them, for a struct of type t or what
// holds such structs.
func (p *maskParser) list(t *schema.Type, s *Selection, depth int) *diag.Fault {
	if f := p.check(t, depth); f != nil {
		return f
	}
	if c := p.next(); c == 0 || c == ')' {
		return nil
	}
	for {
		if f := p.item(t, s, depth); f != nil {
			return f
		}
		if p.next() != ',' {
			return nil
		}
		p.pos++
	}
}

// check refuses parts of a value that is neither a struct nor holds structs.
func (p *maskParser) check(t *schema.Type, depth int) *diag.Fault {
	if depth <= 0 {
		return diag.NewFault(diag.DepthLimit, p.pos, "nested deeper than the limit of "+strconv.Itoa(maxDepth))
	}
	if structIn(t) == nil {
		return diag.NewFault(diag.TypeMismatch, p.pos, t.String()+" has no fields")
	}
	return nil
}

// structIn returns the struct that t is, or that its innermost elements are.
func structIn(t *schema.Type) *schema.StructDef {
	for t.Kind().IsContainer() {
		t = t.Elem()
	}
	return t.Struct()
}

// item reads a name and the parts of what it names.
func (p *maskParser) item(t *schema.Type, s *Selection, depth int) *diag.Fault {
	if f := p.check(t, depth); f != nil {
		return f
	}
	p.next()
	name := p.text[p.pos : p.pos+nameLength(p.text[p.pos:])]
	step, ok := parseField(name)
	if !ok {
		return diag.NewFault(diag.Syntax, p.pos, "a field's name or id expected")
	}
	d := structIn(t)
	field, f := step.FieldOf(d)
	if f != nil {
		f.Offset = p.pos
		return f
	}
	p.pos += len(name)
	i := s.add(field)
	part := s.parts[i]
	if part == nil {
		part = &Selection{} // kept whole already; the parts are read for their faults
	}
	switch p.next() {
	case '.':
		p.pos++
		f = p.item(field.Type(), part, depth-1)
	case '(':
		p.pos++
		if f = p.list(field.Type(), part, depth-1); f == nil {
			if p.next() != ')' {
				return diag.NewFault(diag.Syntax, p.pos, "a closing parenthesis expected")
			}
			p.pos++
		}
	default:
		s.parts[i] = nil
	}
	if f != nil && f.Code != diag.Syntax && f.Code != diag.DepthLimit {
		f.Field(field.Name())
	}
	return f
}
