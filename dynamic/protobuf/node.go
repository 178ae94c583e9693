package protobuf

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds values and the reading of those that have no parts.

// Node is a value: a number, bytes, a message, or the elements or entries of a
// list or map. The zero Node does not exist: it stands for what a path did not
// find. A Node is immutable as long as its bytes are, and then safe for
// concurrent use.
type Node struct {
	kind   kind
	wire   protowire.Type // as it stood in the message
	number int32          // of a list or map: the field that its records have
	bits   uint64         // of a number, as the kind says
	// data is the value as it stands in the message without tag and length; nil
	// for a number that was made. Of a list or map it is records.
	data []byte
}

// kind is what a Node holds.
type kind uint8

const (
	noNode kind = iota
	boolNode
	intNode    // bits: an int64
	uintNode   // bits: a uint64
	floatNode  // bits: a float32's
	doubleNode // bits: a float64's
	// Numbers whose schema nobody knows, by wire type.
	varintNode
	fixed32Node
	fixed64Node
	bytesNode // text, bytes or a message
	groupNode // a group's fields; with a schema groups are bytesNodes
	listNode
	mapNode
	badNode // bits: the code of a number that could not be read
)

var kindNames = [...]string{"nothing", "bool", "a signed integer", "an unsigned integer", "float", "double",
	"a varint", "a fixed32", "a fixed64", "bytes", "a group", "a list", "a map", "a bad number"}

func (k kind) String() string { return kindNames[k] }

// Value is a Node whose type the schema knows. The zero Value does not exist;
// the type is also nil for a value that the schema does not have.
type Value struct {
	Node
	schema *schema.Type
}

// NewMessage returns the message with the bytes b, which it aliases. Nothing is
// read: what is wrong is found when it is read, or by Check.
func NewMessage(b []byte) Node { return Node{kind: bytesNode, wire: protowire.Bytes, data: b} }

// NewValue returns the value of type t with the bytes b, which it aliases: a
// message, text, or a number as it stands behind its tag; a list or map as the
// field 1 of a message. Of messages, lists and maps nothing is read.
func NewValue(t *schema.Type, b []byte) Value {
	switch t.Kind() {
	case schema.List:
		return Value{Node{kind: listNode, wire: protowire.Bytes, number: 1, data: b}, t}
	case schema.Map:
		return Value{Node{kind: mapNode, wire: protowire.Bytes, number: 1, data: b}, t}
	case schema.Struct, schema.String, schema.Binary:
		return Value{NewMessage(b), t}
	}
	w := wireOf(t)
	if w == noWire {
		return Value{}
	}
	k, bits, n := number(b, t, w)
	switch {
	case n < 0:
		k, bits = badNode, uint64(int64(n))
	case n < len(b):
		k, bits = badNode, 1<<63|uint64(n) // a place instead of a code
	}
	return Value{Node{kind: k, wire: w, bits: bits, data: b}, t}
}

// The constructors of nodes without parts. Numbers are written as the field
// asks for that they are set in, and checked to be in its range.

// NewBool returns a bool.
func NewBool(v bool) Node {
	if v {
		return Node{kind: boolNode, bits: 1}
	}
	return Node{kind: boolNode}
}

func NewInt(v int64) Node      { return Node{kind: intNode, bits: uint64(v)} }
func NewUint(v uint64) Node    { return Node{kind: uintNode, bits: v} }
func NewFloat(v float32) Node  { return Node{kind: floatNode, bits: uint64(math.Float32bits(v))} }
func NewDouble(v float64) Node { return Node{kind: doubleNode, bits: math.Float64bits(v)} }
func NewString(v string) Node  { return NewMessage([]byte(v)) }
func NewBinary(v []byte) Node  { return NewMessage(append([]byte{}, v...)) }

// Exists reports whether there is a value.
func (n Node) Exists() bool { return n.kind != noNode }

// WireType returns the wire type that the value had in the message. It is
// meaningless for numbers that were made and for lists and maps.
func (n Node) WireType() protowire.Type { return n.wire }

// Raw returns the bytes of the value without tag and length, which the node
// aliases; nil for numbers that were made. Of a list or map they are records.
func (n Node) Raw() []byte { return n.data }

// Type returns the type of the value by the schema, or nil.
func (v Value) Type() *schema.Type { return v.schema }

// expect reports why a read that wants another type cannot be done.
func (n Node) expect(want string) *diag.Fault {
	switch n.kind {
	case noNode:
		return notFound()
	case badNode:
		if n.bits>>62 == 2 { // see NewValue
			return diag.NewFault(diag.TrailingData, int(n.bits&^(1<<63)), "bytes after the end of the value")
		}
		return fault(int(int64(n.bits)), 0)
	}
	return wrongType(0, want, n.kind.String())
}

// expect is Node.expect by the schema.
func (v Value) expect(want string) *diag.Fault {
	if v.schema == nil || !v.Exists() || v.kind == badNode {
		return v.Node.expect(want)
	}
	return wrongType(0, want, v.schema.String())
}

// text reports whether the value may be read as text or bytes.
func (v Value) text() bool {
	return v.kind == bytesNode && (v.schema == nil || v.schema.Kind() == schema.String || v.schema.Kind() == schema.Binary)
}

// Bool returns a bool.
func (n Node) Bool() (bool, error) { return Value{Node: n}.Bool() }

// Bool returns a bool.
func (v Value) Bool() (bool, error) {
	switch v.kind {
	case boolNode, varintNode:
		return v.bits != 0, nil
	}
	return false, v.expect("bool")
}

// Int returns an integer or the number of an enum. Without a schema a varint is
// taken for an int64, and a fixed number for a signed one.
func (n Node) Int() (int64, error) { return Value{Node: n}.Int() }

// Int returns a signed or unsigned integer, or the number of an enum. One above
// the range of int64 is OutOfRange.
func (v Value) Int() (int64, error) {
	switch v.kind {
	case intNode, varintNode, fixed64Node:
		return int64(v.bits), nil
	case fixed32Node:
		return int64(int32(v.bits)), nil
	case uintNode:
		if v.bits > math.MaxInt64 {
			return 0, diag.NewFault(diag.OutOfRange, 0, "the number is above the range of int64")
		}
		return int64(v.bits), nil
	}
	return 0, v.expect("an integer")
}

// Uint returns an integer as it stands on the wire, unsigned.
func (n Node) Uint() (uint64, error) { return Value{Node: n}.Uint() }

// Uint returns a signed or unsigned integer. A negative one is OutOfRange.
func (v Value) Uint() (uint64, error) {
	switch v.kind {
	case uintNode, varintNode, fixed32Node, fixed64Node:
		return v.bits, nil
	case intNode:
		if int64(v.bits) < 0 {
			return 0, diag.NewFault(diag.OutOfRange, 0, "the number is negative")
		}
		return v.bits, nil
	}
	return 0, v.expect("an integer")
}

// Float returns a double or float; without a schema of 8 or 4 fixed bytes.
func (n Node) Float() (float64, error) { return Value{Node: n}.Float() }

// Float returns a double or float.
func (v Value) Float() (float64, error) {
	switch v.kind {
	case doubleNode, fixed64Node:
		return math.Float64frombits(v.bits), nil
	case floatNode, fixed32Node:
		return float64(math.Float32frombits(uint32(v.bits))), nil
	}
	return 0, v.expect("a double or float")
}

// Bytes returns a string or bytes. They alias the node's.
func (n Node) Bytes() ([]byte, error) { return Value{Node: n}.Bytes() }

// Bytes returns a string or bytes. They alias the value's.
func (v Value) Bytes() ([]byte, error) {
	if !v.text() {
		return nil, v.expect("a string or binary")
	}
	return v.data[:len(v.data):len(v.data)], nil
}

// Text returns a copy of a string or bytes.
func (n Node) Text() (string, error) { return Value{Node: n}.Text() }

// Text returns a copy of a string or bytes.
func (v Value) Text() (string, error) {
	b, err := v.Bytes()
	return string(b), err
}

// EnumName returns the name of an enum's value, or "" for a number that has none.
func (v Value) EnumName() (string, error) {
	if v.schema == nil || v.schema.Kind() != schema.Enum {
		return "", v.expect("an enum")
	}
	n, err := v.Int()
	if err != nil {
		return "", err
	}
	if e := v.schema.Enum().ByValue(n); e != nil {
		return e.Name, nil
	}
	return "", nil
}

// Len returns the length in bytes of a string or binary, and the number of
// elements of a list and of entries of a map, which it counts.
func (v Value) Len() (int, error) {
	switch {
	case v.text():
		return len(v.data), nil
	case v.kind != listNode && v.kind != mapNode:
		return 0, v.expect("a string, binary, list or map")
	}
	count := 0
	it := v.Iterate()
	for it.Next() {
		count++
	}
	return count, it.Err()
}
