package structs

import (
	"reflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds structs as dynamic values and as Go maps.

// Mapper turns structs of type T into dynamic values and Go maps, and back. It
// is immutable and safe for concurrent use.
type Mapper[T any] struct{ root *message }

// For compiles the mapper of the tagged struct type T; keep it. The error is a
// *diag.Fault with the path to the Go field that has no form in Protobuf.
func For[T any](opts ...Option) (*Mapper[T], error) {
	root, f := newCompiler(opts).message(reflect.TypeFor[T]())
	if f != nil {
		return nil, f
	}
	return &Mapper[T]{root}, nil
}

// Type returns the type that the tags of T state. They do not tell the names of
// enumerators.
func (m *Mapper[T]) Type() *schema.Type { return m.root.def.Type() }

// Read fills v from a message, of which nothing is aliased. Fields that n does not have keep their
// values, others get new ones; what T does not have is skipped or, if the struct has
// XXX_unrecognized, kept there. A required field that is absent is a
// MissingRequired, if it is a pointer, bytes or a struct. After an error v is as it was. Memory is in proportion
// to the message: each of its elements takes as much as its Go type.
func (m *Mapper[T]) Read(n protobuf.Node, v *T) error {
	if !n.Exists() {
		return diag.NewFault(diag.NotFound, -1, "there is no value")
	}
	b, err := n.Bytes()
	if err != nil {
		return diag.NewFault(diag.TypeMismatch, 0, "type mismatch: "+m.Type().String()+" expected")
	}
	return m.fill(b, v, map[int]bool{})
}

// fill reads the message b into v: the fields that stand there, and those that
// are seen already, which become zero if they do not.
func (m *Mapper[T]) fill(b []byte, v *T, seen map[int]bool) error {
	if err := m.root.check(b); err != nil {
		return err
	}
	var r reader
	read := reflect.New(m.root.typ).Elem()
	if r.message(m.root, read, b, 0, 0, seen, maxDepth); r.failed {
		return diag.NewFault(diag.InvalidValue, -1, "the message changed while it was read")
	}
	if f := m.root.complete(read); f != nil {
		return f
	}
	to := reflect.ValueOf(v).Elem()
	for i := range seen {
		to.Field(i).Set(read.Field(i))
	}
	return nil
}

// Value returns v as a value of its own. A required field that is nil is a
// MissingRequired. Entries of maps are written in a random order.
func (m *Mapper[T]) Value(v *T) (protobuf.Value, error) {
	b, f := m.root.append([]byte{}, reflect.ValueOf(v).Elem(), maxDepth)
	if f != nil {
		return protobuf.Value{}, f
	}
	return protobuf.NewValue(m.Type(), b), nil
}

// ToMap returns v as a map by field name, with values as [protobuf.Value.Any]
// has them: structs in it are maps too. It holds the fields that are written, so none that
// is zero without presence, and none of what XXX_unrecognized holds.
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

// FromMap fills v from a map[string]any by field name or a map[int32]any by number,
// with the values that [protobuf.AppendAny] takes: any Go integer that fits, nodes,
// maps for structs. A key that T does not have and a required field that is missing
// are errors. Fields without a key, or whose value is nil, keep their values, others get new ones. After
// an error v is as it was.
func (m *Mapper[T]) FromMap(x any, v *T) error {
	b, err := protobuf.AppendAny(nil, m.Type(), x)
	if err != nil {
		return err
	}
	// A zero may not stand in the message.
	seen := map[int]bool{}
	switch x := x.(type) {
	case map[string]any:
		for key, value := range x {
			m.given(m.root.def.FieldByName(key), value, seen)
		}
	case map[int32]any:
		for key, value := range x {
			m.given(m.root.def.FieldByID(key), value, seen)
		}
	}
	return m.fill(b, v, seen)
}

// given notes the Go field of f if x is a value for it.
func (m *Mapper[T]) given(f *schema.Field, x any, seen map[int]bool) {
	if x != nil {
		seen[m.root.byNumber[f.ID()].index] = true
	}
}
