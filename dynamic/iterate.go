package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds iteration.

// Iterator goes over the fields of a struct, the elements of a list or set or
// the entries of a map, in the order of the message:
//
//	it := v.Iterate()
//	for it.Next() {
//		use(it.ID(), it.Value())
//	}
//	if err := it.Err(); err != nil { … }
//
// It allocates nothing. It is for one goroutine; several iterators may go over
// one value at once.
type Iterator struct {
	b         []byte
	pos       int
	proto     Protocol
	typ       thriftwire.Type // of the whole
	key, elem thriftwire.Type // of the parts of a container
	left      int             // elements or entries that have not been reached
	schema    *schema.Type    // of the whole, or nil
	index     int
	id        int16
	current   Value
	entry     Value // the key of the current entry
	err       *diag.Fault
}

// Iterate starts before the first part of the value. A value without parts
// has none, and Err says so.
func (n Node) Iterate() Iterator { return Value{Node: n}.Iterate() }

// Iterate is Node.Iterate by the schema: parts come with their types, and a
// part of another wire type than the schema's ends the iteration with an error.
// Fields that the schema does not have come without a type.
func (v Value) Iterate() Iterator { return iterate(v.proto, v.data, 0, v.typ, v.schema) }

// iterate starts before the first part of the value of type t at b[pos:].
func iterate(p Protocol, b []byte, pos int, t thriftwire.Type, typ *schema.Type) Iterator {
	it := Iterator{b: b, pos: pos, proto: p, typ: t, schema: typ, index: -1}
	n := 0
	switch t {
	case thriftwire.Struct:
		return it
	case thriftwire.List, thriftwire.Set:
		it.elem, it.left, n = p.list(b[pos:])
	case thriftwire.Map:
		it.key, it.elem, it.left, n = p.mapping(b[pos:])
	default:
		if it.err = notFound(); t != thriftwire.Stop {
			it.err = wrongType(pos, "a struct or container", t.String())
		}
		return it
	}
	if n < 0 {
		it.err, it.left = fault(n, pos), 0
		return it
	}
	it.pos += n
	if typ != nil && it.left > 0 {
		if !agrees(typ.Elem(), it.elem) || t == thriftwire.Map && !agrees(typ.Key(), it.key) {
			it.err, it.left = wrongType(pos, typ.String(), "another element type"), 0
		}
	}
	return it
}

// Next goes to the next part and reports whether there is one.
func (it *Iterator) Next() bool {
	if it.err != nil {
		return false
	}
	if it.typ == thriftwire.Struct {
		return it.nextField()
	}
	if it.left == 0 {
		return false
	}
	it.left--
	it.index++
	if it.typ == thriftwire.Map {
		key, ok := it.take(it.key)
		if !ok {
			return false
		}
		it.entry = Value{key, nil}
		if it.schema != nil {
			it.entry.schema = it.schema.Key()
		}
	}
	elem, ok := it.take(it.elem)
	it.current = Value{elem, nil}
	if it.schema != nil {
		it.current.schema = it.schema.Elem()
	}
	return ok
}

func (it *Iterator) nextField() bool {
	var f compact.Field
	var n int
	if it.proto == Binary {
		f.Type, f.ID, n = thriftwire.ConsumeField(it.b[it.pos:])
	} else {
		f, n = it.proto.dialect().ConsumeField(it.b[it.pos:], it.id)
	}
	if n < 0 {
		it.err = fault(n, it.pos)
		return false
	}
	t, id := f.Type, f.ID
	if t == thriftwire.Stop {
		it.typ = thriftwire.Stop // so that the next call ends too
		return false
	}
	it.id = id
	it.index++
	var typ *schema.Type
	if it.schema != nil {
		if f := it.schema.Struct().FieldByID(int32(id)); f != nil {
			typ = f.Type()
			if !agrees(typ, t) {
				it.err = wrongType(it.pos, typ.String(), t.String()).Field(f.Name())
				return false
			}
		}
	}
	it.pos += n
	if it.proto.inHeader(t) {
		it.current = Value{it.proto.boolNode(f.True), typ}
		return true
	}
	value, ok := it.take(t)
	it.current = Value{value, typ}
	return ok
}

// take cuts out the value of type t at the place of the iterator.
func (it *Iterator) take(t thriftwire.Type) (Node, bool) {
	var end, code int
	if it.proto == Binary {
		end, code = thriftwire.SkipAt(it.b, it.pos, t, maxDepth-1)
	} else {
		end, code = it.proto.dialect().SkipAt(it.b, it.pos, t, maxDepth-1)
	}
	if code < 0 {
		it.err = fault(code, end)
		return Node{}, false
	}
	n := Node{t, true, it.proto, it.b[it.pos:end:end]}
	it.pos = end
	return n, true
}

// ID returns the id of the current field.
func (it *Iterator) ID() int16 { return it.id }

// Field returns the current field by the schema, or nil.
func (it *Iterator) Field() *schema.Field {
	if it.schema == nil || it.schema.Kind() != schema.Struct {
		return nil
	}
	return it.schema.Struct().FieldByID(int32(it.id))
}

// Index returns how many parts came before the current one.
func (it *Iterator) Index() int { return it.index }

// Key returns the key of the current entry. It aliases the value.
func (it *Iterator) Key() Value { return it.entry }

// Value returns the current part. It aliases the value.
func (it *Iterator) Value() Value { return it.current }

// Err returns why the iteration ended before the end of the value, or nil.
func (it *Iterator) Err() error { return asError(it.err) }
