package protobuf

import (
	"fmt"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds what a trimmer is compiled to.

// Trimmer cuts messages of one type down: to the fields that a smaller type
// has, or that a mask names. It is immutable and safe for concurrent use.
type Trimmer struct {
	from, to *schema.Type
	root     *cut
	required bool // the result is looked through for required fields
}

// cut is what happens to a message.
type cut struct {
	// table holds what is kept, by number less base; far the rest, by number.
	table []cutField
	base  int32
	far   map[int32]*cutField
	parts int // how many fields are cut themselves
	// careful says that a oneof loses some of its members. What they unset must
	// then be found out before.
	careful bool
	from    *schema.StructDef // nil for the entry of a map
}

// cutField is a field that is kept; in the table one without a type is dropped.
type cutField struct {
	typ      *schema.Type
	name     string
	part     *cut // nil where it is kept whole
	number   int  // of a singular field that is cut: its number among those
	singular bool
	wire     protowire.Type
	packable bool // bytes may be packed elements
}

// TrimOption changes what NewTrimmer makes.
type TrimOption func(*trimOptions)

type trimOptions struct{ allowMissing bool }

// AllowMissing lets messages pass that lack required fields of the smaller type.
func AllowMissing() TrimOption { return func(o *trimOptions) { o.allowMissing = true } }

// NewTrimmer compiles the way from messages of type from to messages of type
// to. Fields are matched by number, on every level. What to does not have is
// dropped, unknown fields included.
//
// A field that only to has is an error (UnknownField), and so is one that is
// written in another way in to (TypeMismatch); the path says where. Messages
// without a required field of to are refused unless AllowMissing is given.
func NewTrimmer(from, to *schema.Type, opts ...TrimOption) (*Trimmer, error) {
	c := trimCompiler{done: map[[2]*schema.StructDef]*cut{}}
	for _, o := range opts {
		o(&c.opts)
	}
	if from.Kind() != schema.Struct || to.Kind() != schema.Struct {
		return nil, diag.NewFault(diag.Unsupported, -1, "only messages are trimmed, not "+from.String()+" to "+to.String())
	}
	root, f := c.messages(from.Struct(), to.Struct())
	if f != nil {
		return nil, f
	}
	return &Trimmer{from: from, to: to, root: root, required: c.required && !c.opts.allowMissing}, nil
}

// NewMask compiles a field mask for messages of type t, such as
//
//	items(id,price),user.name
//
// as [dynamic.NewMask] does. It keeps what it names and drops the rest. What is
// named without parts is kept whole, with fields that t does not have.
func NewMask(t *schema.Type, mask string) (*Trimmer, error) {
	s, err := dynamic.ParseMask(t, mask)
	if err != nil {
		return nil, err
	}
	root, f := selected(t.Struct(), s)
	if f != nil {
		return nil, f
	}
	return &Trimmer{from: t, to: t, root: root}, nil
}

// selected returns the cut that keeps what is named of a message.
func selected(d *schema.StructDef, s *dynamic.Selection) (*cut, *diag.Fault) {
	var kept []cutField
	for i, field := range s.Fields() {
		if !supported(field.Type()) {
			return nil, noProtobuf(field.Type()).Field(field.Name())
		}
		k := newCutField(field)
		if part := s.Part(i); part != nil {
			inner, f := selected(messageIn(field.Type()), part)
			if f != nil {
				return nil, f.Field(field.Name())
			}
			k.cut(inner)
		}
		kept = append(kept, k)
	}
	return newCut(d, kept), nil
}

// messageIn returns the message that t is, or that its elements or values are.
func messageIn(t *schema.Type) *schema.StructDef {
	if t.Kind().IsContainer() {
		t = t.Elem()
	}
	return t.Struct()
}

func newCutField(f *schema.Field) cutField {
	return cutField{typ: f.Type(), name: f.Name(), singular: !f.Type().Kind().IsContainer()}
}

// cut has the messages of a field cut: of a map in its entries.
func (k *cutField) cut(inner *cut) {
	if k.part = inner; k.typ.Kind() == schema.Map {
		key := cutField{typ: k.typ.Key(), name: "key", singular: true}
		k.part = newCut(nil, nil)
		k.part.fill([]cutField{key, {typ: k.typ.Elem(), name: "value", singular: true, part: inner}}, []int32{1, 2})
	}
}

type trimCompiler struct {
	opts     trimOptions
	required bool
	done     map[[2]*schema.StructDef]*cut // so that types may contain themselves
}

func (c *trimCompiler) messages(from, to *schema.StructDef) (*cut, *diag.Fault) {
	pair := [2]*schema.StructDef{from, to}
	if done := c.done[pair]; done != nil {
		return done, nil
	}
	out := &cut{}
	c.done[pair] = out
	var kept []cutField
	var numbers []int32
	for _, field := range to.Fields() {
		old := from.FieldByID(field.ID())
		if old == nil {
			return nil, diag.NewFault(diag.UnknownField, -1, fmt.Sprintf("%s has no field %d", from.Name(), field.ID())).Field(field.Name())
		}
		k := newCutField(field)
		if !alike(old.Type(), field.Type()) {
			return nil, diag.NewFault(diag.TypeMismatch, -1, old.Type().String()+" does not become "+field.Type().String()).Field(field.Name())
		}
		if inner := messageIn(field.Type()); inner != nil {
			part, f := c.messages(messageIn(old.Type()), inner)
			if f != nil {
				return nil, f.Field(field.Name())
			}
			k.cut(part)
		}
		c.required = c.required || field.Requiredness() == schema.Required
		kept, numbers = append(kept, k), append(numbers, field.ID())
	}
	out.from = from
	out.fill(kept, numbers)
	out.careful = losesMembers(from, to, numbers)
	return out, nil
}

// alike reports whether a value of one type stands on the wire as one of the
// other does.
func alike(a, b *schema.Type) bool {
	switch a.Kind() {
	case schema.List:
		return b.Kind() == schema.List && supported(a) && alike(a.Elem(), b.Elem())
	case schema.Map:
		return b.Kind() == schema.Map && supported(a) && supported(b) && alike(a.Key(), b.Key()) && alike(a.Elem(), b.Elem())
	}
	w := wireOf(a)
	return w != noWire && w == wireOf(b) && (a.Encoding() == schema.ZigZag) == (b.Encoding() == schema.ZigZag) &&
		(a.Struct() == nil) == (b.Struct() == nil) && isFloat(a) == isFloat(b)
}

func isFloat(t *schema.Type) bool { return t.Kind() == schema.Float || t.Kind() == schema.Double }

// losesMembers reports whether a oneof of from has members that to has and
// others that it has not, or that it does not have in one oneof.
func losesMembers(from, to *schema.StructDef, kept []int32) bool {
	for _, o := range from.Oneofs() {
		var first *schema.Field
		n := 0
		for _, f := range o.Fields() {
			if !slices.Contains(kept, f.ID()) {
				continue
			}
			have := to.FieldByID(f.ID())
			if n++; n > 1 && (have.Oneof() == nil || have.Oneof() != first.Oneof()) {
				return true
			}
			first = have
		}
		if n > 0 && n < len(o.Fields()) {
			return true
		}
	}
	return false
}

// newCut returns the cut that keeps these fields of a message.
func newCut(d *schema.StructDef, kept []cutField) *cut {
	c := &cut{from: d}
	var numbers []int32
	for _, k := range kept {
		numbers = append(numbers, d.FieldByName(k.name).ID())
	}
	c.fill(kept, numbers)
	c.careful = d != nil && losesMembers(d, d, numbers)
	return c
}

// fill puts the fields that are kept into the table and, where their numbers
// are too far from the first one's, into far.
func (c *cut) fill(kept []cutField, numbers []int32) {
	if len(kept) == 0 {
		return
	}
	first, last := numbers[0], numbers[0]
	for _, n := range numbers {
		first = min(first, n)
	}
	for _, n := range numbers {
		if n-first < maxTable {
			last = max(last, n)
		}
	}
	c.base, c.table = first, make([]cutField, last-first+1)
	for i := range kept {
		k := &kept[i]
		k.wire = wireOf(k.typ)
		k.packable = fits(k.typ, protowire.Bytes)
		if k.singular && k.part != nil {
			k.number = c.parts
			c.parts++
		}
		if n := numbers[i] - first; n < int32(len(c.table)) {
			c.table[n] = *k
			continue
		}
		if c.far == nil {
			c.far = map[int32]*cutField{}
		}
		c.far[numbers[i]] = k
	}
}

// find returns what happens to a record, nil if it is dropped: its field may be
// another or, with another wire type, an unknown one.
func (c *cut) find(r *record) *cutField {
	var k *cutField
	if n := uint32(r.number - c.base); n < uint32(len(c.table)) {
		if k = &c.table[n]; k.typ == nil {
			return nil
		}
	} else if k = c.far[r.number]; k == nil {
		return nil
	}
	if r.wire != k.wire && !(k.packable && r.wire == protowire.Bytes) {
		return nil
	}
	return k
}
