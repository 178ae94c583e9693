package structs

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds what a converter is compiled to.

// Option changes what Between compiles.
type Option func(*compiler)

// ByName matches fields by their names, on every level, and not by their ids.
func ByName() Option { return func(c *compiler) { c.byName = true } }

// conversion is what makes a value of one type from that of another.
type conversion struct {
	how       how
	from, to  thriftwire.Type
	name      string      // of the type it makes, for faults
	key, elem *conversion // of containers
	fields    map[int16]*fieldConversion
}

// how is the kind of a conversion.
type how uint8

const (
	asItIs     how = iota // the bytes are copied
	asInteger             // an integer as one of another width
	asFloating            // an integer, float or double as a float or double
	asList                // a list or set as a list or set
	asMap
	asStruct
)

// fieldConversion is a field that both structs have.
type fieldConversion struct {
	name string // in the struct that is read
	id   int16  // in the struct that is made
	*conversion
}

type compiler struct {
	byName bool
	done   map[[2]*schema.StructDef]*conversion // so that types may contain themselves
	// rewrites says that the message has to be written anew: without it the
	// decoder of the other type takes it as it is.
	rewrites bool
}

func wireOf(t *schema.Type) thriftwire.Type { return dynamic.NewValue(t, nil).WireType() }

// pair returns what makes a value of type to of one of type from.
func (c *compiler) pair(from, to *schema.Type) (*conversion, *diag.Fault) {
	out := &conversion{from: wireOf(from), to: wireOf(to), name: to.String()}
	c.rewrites = c.rewrites || out.from != out.to
	a, b := from.Kind(), to.Kind()
	switch {
	case a == schema.Struct && b == schema.Struct:
		return c.structs(from.Struct(), to.Struct())
	case isList(a) && isList(b):
		out.how = asList
		var f *diag.Fault
		out.elem, f = c.pair(from.Elem(), to.Elem())
		return out, within(f, "element")
	case a == schema.Map && b == schema.Map:
		out.how = asMap
		var f *diag.Fault
		if out.key, f = c.pair(from.Key(), to.Key()); f != nil {
			return nil, within(f, "key")
		}
		out.elem, f = c.pair(from.Elem(), to.Elem())
		return out, within(f, "value")
	case isInteger(a) && isInteger(b):
		if out.from != out.to {
			out.how = asInteger
		}
		return out, nil
	case (isInteger(a) || isFloating(a)) && isFloating(b):
		if out.from != out.to {
			out.how = asFloating
		}
		return out, nil
	case out.from == out.to && !isContainer(a):
		return out, nil
	}
	return nil, diag.NewFault(diag.TypeMismatch, -1, from.String()+" does not become "+to.String())
}

func isList(k schema.Kind) bool      { return k == schema.List || k == schema.Set }
func isFloating(k schema.Kind) bool  { return k == schema.Float || k == schema.Double }
func isContainer(k schema.Kind) bool { return isList(k) || k == schema.Map || k == schema.Struct }

func isInteger(k schema.Kind) bool {
	switch k {
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Enum:
		return true
	}
	return false
}

func within(f *diag.Fault, what string) *diag.Fault {
	if f != nil {
		f.Key(what)
	}
	return f
}

func (c *compiler) structs(from, to *schema.StructDef) (*conversion, *diag.Fault) {
	pair := [2]*schema.StructDef{from, to}
	if done := c.done[pair]; done != nil {
		return done, nil
	}
	out := &conversion{how: asStruct, from: thriftwire.Struct, to: thriftwire.Struct, name: to.Name(), fields: map[int16]*fieldConversion{}}
	c.done[pair] = out
	for _, field := range from.Fields() {
		other := to.FieldByID(field.ID())
		if c.byName {
			taken := other != nil
			other = to.FieldByName(field.Name())
			// A field that goes to another id, or whose id means another field.
			c.rewrites = c.rewrites || other == nil && taken || other != nil && other.ID() != field.ID()
		}
		if other == nil {
			continue
		}
		conv, f := c.pair(field.Type(), other.Type())
		if f != nil {
			return nil, f.Field(field.Name())
		}
		out.fields[int16(field.ID())] = &fieldConversion{field.Name(), int16(other.ID()), conv}
	}
	return out, nil
}
