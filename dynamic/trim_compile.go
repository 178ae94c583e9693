package dynamic

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds what a trimmer is compiled to.

// Trimmer cuts messages of one type down: to the fields that a smaller type
// has, or that a mask names. It is immutable and safe for concurrent use.
type Trimmer struct {
	from *schema.Type
	root *cut
}

// cut is what happens to a value. A nil *cut keeps it whole.
type cut struct {
	wire      thriftwire.Type
	typ       *schema.Type
	fields    *cutFields // of a struct
	key, elem *cut       // of a container
}

// cutFields is what happens to the fields of a struct.
type cutFields struct {
	name string
	// table holds what is kept, by id less base; far the rest, by id.
	table []cutField
	base  uint16
	far   map[uint16]*cutField
	// required are the fields without which the result is refused.
	required []*schema.Field
}

// cutField is a field that is kept; in the table one without a field is dropped.
type cutField struct {
	wire     thriftwire.Type
	field    *schema.Field
	part     *cut
	required int // its number among those required plus one, or 0
}

// TrimOption changes what NewTrimmer makes.
type TrimOption func(*trimOptions)

type trimOptions struct{ allowMissing bool }

// AllowMissing lets messages pass that lack required fields of the smaller type.
func AllowMissing() TrimOption { return func(o *trimOptions) { o.allowMissing = true } }

// NewTrimmer compiles the way from messages of type from to messages of type
// to, which are both structs. Fields are matched by id, on every level: in lists, sets and
// maps and their keys too. What to does not have is dropped, fields that from does not have either included.
//
// A field that only to has is an error (UnknownField), and so is one that has
// another wire type in to (TypeMismatch); the path says where. Messages without a required
// field of to are refused unless AllowMissing is given.
func NewTrimmer(from, to *schema.Type, opts ...TrimOption) (*Trimmer, error) {
	c := trimCompiler{done: map[[2]*schema.StructDef]*cutFields{}}
	for _, o := range opts {
		o(&c.opts)
	}
	if from.Kind() != schema.Struct || to.Kind() != schema.Struct {
		return nil, diag.NewFault(diag.Unsupported, -1, "only structs are trimmed, not "+from.String()+" to "+to.String())
	}
	root, f := c.pair(from, to)
	if f != nil {
		return nil, f
	}
	return &Trimmer{from, root}, nil
}

type trimCompiler struct {
	opts trimOptions
	done map[[2]*schema.StructDef]*cutFields // so that types may contain themselves
}

// pair returns what makes a value of type to of one of type from.
func (c *trimCompiler) pair(from, to *schema.Type) (*cut, *diag.Fault) {
	if wireOf(from) != wireOf(to) {
		return nil, diag.NewFault(diag.TypeMismatch, -1, from.String()+" does not become "+to.String())
	}
	out := &cut{wire: wireOf(from), typ: from}
	var f *diag.Fault
	switch from.Kind() {
	case schema.Struct:
		out.fields, f = c.structs(from.Struct(), to.Struct())
	case schema.List, schema.Set:
		out.elem, f = c.pair(from.Elem(), to.Elem())
		f = inside(f, "element")
	case schema.Map:
		if out.key, f = c.pair(from.Key(), to.Key()); f != nil {
			return nil, inside(f, "key")
		}
		out.elem, f = c.pair(from.Elem(), to.Elem())
		f = inside(f, "value")
	default:
		return nil, nil
	}
	if f != nil {
		return nil, f
	}
	return out, nil
}

func inside(f *diag.Fault, what string) *diag.Fault {
	if f != nil {
		f.Key(what)
	}
	return f
}

func (c *trimCompiler) structs(from, to *schema.StructDef) (*cutFields, *diag.Fault) {
	pair := [2]*schema.StructDef{from, to}
	if done := c.done[pair]; done != nil {
		return done, nil
	}
	out := &cutFields{name: to.Name()}
	c.done[pair] = out
	var kept []cutField
	for _, field := range to.Fields() {
		old := from.FieldByID(field.ID())
		if old == nil {
			return nil, diag.NewFault(diag.UnknownField, -1, fmt.Sprintf("%s has no field %d", from.Name(), field.ID())).Field(field.Name())
		}
		part, f := c.pair(old.Type(), field.Type())
		if f != nil {
			return nil, f.Field(field.Name())
		}
		k := cutField{wire: wireOf(field.Type()), field: field, part: part}
		if field.Requiredness() == schema.Required && !c.opts.allowMissing {
			out.required = append(out.required, field)
			k.required = len(out.required)
		}
		kept = append(kept, k)
	}
	out.fill(kept)
	return out, nil
}

// maxGap bounds the table of a struct's fields.
const maxGap = 1 << 10

// fill puts the fields that are kept into the table and, where their ids are
// too far from the first one's, into far.
func (c *cutFields) fill(kept []cutField) {
	if len(kept) == 0 {
		return
	}
	first, last := kept[0].field.ID(), kept[0].field.ID()
	for i := range kept {
		first = min(first, kept[i].field.ID())
	}
	for i := range kept {
		if id := kept[i].field.ID(); id-first < maxGap {
			last = max(last, id)
		}
	}
	c.base, c.table = uint16(first), make([]cutField, last-first+1)
	for i := range kept {
		k := &kept[i]
		if n := k.field.ID() - first; n < int32(len(c.table)) {
			c.table[n] = *k
			continue
		}
		if c.far == nil {
			c.far = map[uint16]*cutField{}
		}
		c.far[uint16(k.field.ID())] = k
	}
}

// find returns what happens to the field with that id, nil if it is dropped.
func (c *cutFields) find(id uint16) *cutField {
	if k := int(id - c.base); k < len(c.table) {
		if f := &c.table[k]; f.field != nil {
			return f
		}
		return nil
	}
	return c.far[id]
}
