package structs

import (
	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds structs as dynamic values and as Go maps.

// Mapper turns structs of type T into dynamic values and Go maps, and back. It
// is safe for concurrent use.
type Mapper[T any] struct {
	typ *schema.Type
	// read takes what may come from elsewhere: of a union it may know no field.
	read *codec.Codec[T]
	// whole takes what must fit T.
	whole *codec.Codec[T]
	// compact are as read, for the other protocols of nodes.
	compact [2]*codec.Codec[T]
}

// For compiles the mapper of the tagged struct type T; keep it. The error is a
// *codec.TypeError.
func For[T any]() (*Mapper[T], error) {
	m := &Mapper[T]{}
	var err error
	if m.read, err = codec.For[T](codec.Strict()); err != nil {
		return nil, err
	}
	if m.whole, err = codec.For[T](codec.Strict(), codec.CheckUnions()); err != nil {
		return nil, err
	}
	for i, p := range [...]codec.Protocol{codec.Compact, codec.CompactFBThrift} {
		// A type that a protocol does not have leaves nil, and reading from it says so.
		if c, err := codec.For[T](codec.Strict(), codec.Use(p)); err == nil {
			m.compact[i] = c
		}
	}
	m.typ = m.read.Type()
	return m, nil
}

// Type returns the type that the tags of T state.
func (m *Mapper[T]) Type() *schema.Type { return m.typ }

// Read fills v from a struct. Fields that n does not have keep their values;
// those that T does not have are skipped or, if T has _unknownFields, kept there. A field of another wire
// type than the tag's is a TypeMismatch. After an error v is partly filled.
func (m *Mapper[T]) Read(n dynamic.Node, v *T) error {
	if !n.Exists() {
		return diag.NewFault(diag.NotFound, -1, "there is no value")
	}
	if n.WireType() != thriftwire.Struct {
		return diag.NewFault(diag.TypeMismatch, 0, "type mismatch: "+m.typ.String()+" expected, got "+n.WireType().String())
	}
	c := m.read
	switch n.Protocol() {
	case dynamic.Compact:
		c = m.compact[0]
	case dynamic.CompactFBThrift:
		c = m.compact[1]
	}
	if c == nil {
		return diag.NewFault(diag.Unsupported, -1, "the protocol of the node does not have a type of "+m.typ.String())
	}
	_, err := c.Unmarshal(n.Raw(), v)
	return err
}

// Value returns v as a value of its own, in the binary protocol.
func (m *Mapper[T]) Value(v *T) (dynamic.Value, error) {
	b, err := m.read.Marshal(v)
	if err != nil {
		return dynamic.Value{}, err
	}
	return dynamic.NewValue(m.typ, b), nil
}

// ToMap returns v as a map by field name, with values as [dynamic.Value.Any]
// has them: structs in it are maps too. What _unknownFields holds is left out.
func (m *Mapper[T]) ToMap(v *T) (map[string]any, error) {
	x, err := m.Value(v)
	if err != nil {
		return nil, err
	}
	out, err := x.Any()
	if err != nil {
		return nil, err
	}
	return out.(map[string]any), nil
}

// ToMapByID is ToMap with every struct as a map by field id.
func (m *Mapper[T]) ToMapByID(v *T) (map[int16]any, error) {
	x, err := m.Value(v)
	if err != nil {
		return nil, err
	}
	out, err := x.AnyByID()
	if err != nil {
		return nil, err
	}
	return out.(map[int16]any), nil
}

// FromMap fills v from a map[string]any by field name or a map[int16]any by id,
// with the values that [dynamic.AppendAny] takes: any Go integer that fits, nodes,
// maps for structs. A key that T does not have, a required field that is missing and a
// union with none or several fields are errors. Fields without a key keep their values. After
// an error v is as it was, unless it is one of a union.
func (m *Mapper[T]) FromMap(x any, v *T) error {
	b, err := dynamic.AppendAny(nil, m.typ, x)
	if err != nil {
		return err
	}
	_, err = m.whole.Unmarshal(b, v)
	return err
}
