package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds values and the reading of those that have no parts.

// Node is a value on the wire: its type, its protocol and its bytes. The
// zero Node does not exist: it stands for what a path did not find. A Node is
// immutable as long as its bytes are, and then safe for concurrent use.
type Node struct {
	typ thriftwire.Type
	// exact says that a walk has found data to be one whole value. It need not be
	// looked at again before it is copied into a message.
	exact bool
	proto Protocol
	data  []byte
}

// Value is a Node whose type the schema knows. The zero Value does not exist;
// the type is also nil for a value that the schema does not have.
type Value struct {
	Node
	schema *schema.Type
}

// NewNode returns the value of type t in the binary protocol at the front of b, which it aliases.
// Nothing is read: bytes that are no such value are found when they are read, or by Check.
func NewNode(t thriftwire.Type, b []byte) Node { return Node{typ: t, data: b} }

// NewValue returns the value of type t in the binary protocol at the front of b, which it aliases.
// Nothing is read, as in NewNode.
func NewValue(t *schema.Type, b []byte) Value { return Value{NewNode(wireOf(t), b), t} }

// found returns the node of a value in the binary protocol that is known to be whole.
func found(t thriftwire.Type, b []byte) Node { return Node{typ: t, exact: true, data: b} }

// The constructors of nodes without parts. They are in the binary protocol, and
// fit into messages of every other, as all nodes do.

func NewBool(v bool) Node      { return found(thriftwire.Bool, thriftwire.AppendBool(nil, v)) }
func NewI8(v int8) Node        { return found(thriftwire.I8, thriftwire.AppendI8(nil, v)) }
func NewI16(v int16) Node      { return found(thriftwire.I16, thriftwire.AppendI16(nil, v)) }
func NewI32(v int32) Node      { return found(thriftwire.I32, thriftwire.AppendI32(nil, v)) }
func NewI64(v int64) Node      { return found(thriftwire.I64, thriftwire.AppendI64(nil, v)) }
func NewFloat(v float32) Node  { return found(thriftwire.Float, thriftwire.AppendFloat(nil, v)) }
func NewDouble(v float64) Node { return found(thriftwire.Double, thriftwire.AppendDouble(nil, v)) }
func NewString(v string) Node  { return found(thriftwire.String, thriftwire.AppendString(nil, v)) }
func NewBinary(v []byte) Node  { return found(thriftwire.String, thriftwire.AppendBytes(nil, v)) }
func NewUUID(v [16]byte) Node  { return found(thriftwire.UUID, thriftwire.AppendUUID(nil, v)) }

// Exists reports whether there is a value.
func (n Node) Exists() bool { return n.typ != thriftwire.Stop }

// WireType returns the wire type, Stop if there is no value.
func (n Node) WireType() thriftwire.Type { return n.typ }

// Protocol returns the wire format of the bytes.
func (n Node) Protocol() Protocol { return n.proto }

// Raw returns the bytes, which the node aliases. A bool in a compact message has the one
// byte that it has in a list, also if it was a field, which has none.
func (n Node) Raw() []byte { return n.data }

// Type returns the type of the value by the schema, or nil.
func (v Value) Type() *schema.Type { return v.schema }

// Check reads the value to its end and reports what is wrong with it, bytes
// after its end included. It looks at wire types only, not at a schema.
func (n Node) Check() error {
	if !n.Exists() {
		return notFound()
	}
	end, code := n.proto.skipAt(n.data, 0, n.typ, maxDepth)
	if code < 0 {
		return fault(code, end)
	}
	if end < len(n.data) {
		return diag.NewFault(diag.TrailingData, end, "bytes after the end of the value")
	}
	return nil
}

// expect reports why a read that wants another type cannot be done.
func (n Node) expect(want string) *diag.Fault {
	if !n.Exists() {
		return notFound()
	}
	return wrongType(0, want, n.typ.String())
}

// took is the error for the result n of a Consume function.
func took(n int) error {
	if n < 0 {
		return fault(n, 0)
	}
	return nil
}

// Bool returns a bool.
func (n Node) Bool() (bool, error) {
	if n.typ != thriftwire.Bool {
		return false, n.expect("bool")
	}
	if n.proto != Binary {
		v, m := compact.ConsumeBool(n.data)
		return v, took(m)
	}
	v, m := thriftwire.ConsumeBool(n.data)
	return v, took(m)
}

// Int returns an i8, i16, i32, i64 or the number of an enum.
func (n Node) Int() (int64, error) {
	var v int64
	var m int
	if n.proto != Binary && isInt(n.typ) {
		v, m = compactInt(n.data, n.typ)
		return v, took(m)
	}
	switch n.typ {
	case thriftwire.I8:
		x, k := thriftwire.ConsumeI8(n.data)
		v, m = int64(x), k
	case thriftwire.I16:
		x, k := thriftwire.ConsumeI16(n.data)
		v, m = int64(x), k
	case thriftwire.I32:
		x, k := thriftwire.ConsumeI32(n.data)
		v, m = int64(x), k
	case thriftwire.I64:
		v, m = thriftwire.ConsumeI64(n.data)
	default:
		return 0, n.expect("an integer")
	}
	return v, took(m)
}

// isInt reports whether t is the wire type of an integer.
func isInt(t thriftwire.Type) bool {
	return t == thriftwire.I8 || t == thriftwire.I16 || t == thriftwire.I32 || t == thriftwire.I64
}

// Float returns a double or a float.
func (n Node) Float() (float64, error) {
	switch n.typ {
	case thriftwire.Double:
		if n.proto != Binary {
			v, m := n.proto.dialect().ConsumeDouble(n.data)
			return v, took(m)
		}
		v, m := thriftwire.ConsumeDouble(n.data)
		return v, took(m)
	case thriftwire.Float:
		v, m := thriftwire.ConsumeFloat(n.data)
		return float64(v), took(m)
	}
	return 0, n.expect("a double or float")
}

// Bytes returns the bytes of a string or binary. They alias the node's.
func (n Node) Bytes() ([]byte, error) {
	if n.typ != thriftwire.String {
		return nil, n.expect("a string or binary")
	}
	v, m := n.proto.text(n.data)
	return v, took(m)
}

// Text returns a copy of a string or binary.
func (n Node) Text() (string, error) {
	v, err := n.Bytes()
	return string(v), err
}

// UUID returns a uuid.
func (n Node) UUID() ([16]byte, error) {
	if n.typ != thriftwire.UUID {
		return [16]byte{}, n.expect("uuid")
	}
	v, m := thriftwire.ConsumeUUID(n.data)
	return v, took(m)
}

// Len returns the length in bytes of a string or binary, and the number of
// elements of a list or set and of entries of a map as the header states it.
func (n Node) Len() (int, error) {
	var size, m int
	switch n.typ {
	case thriftwire.String:
		var v []byte
		v, m = n.proto.text(n.data)
		size = len(v)
	case thriftwire.List, thriftwire.Set:
		_, size, m = n.proto.list(n.data)
	case thriftwire.Map:
		_, _, size, m = n.proto.mapping(n.data)
	default:
		return 0, n.expect("a string, binary, list, set or map")
	}
	return size, took(m)
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

// narrow returns n as the count of a container, if there can be as many.
func narrow(n int) (int32, bool) { return int32(n), n >= 0 && n <= thriftwire.MaxLength }
