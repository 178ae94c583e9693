package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the wire formats: what walks over a message need of each, and
// bringing a value from one into another.
//
// Walks over containers are written once and ask the protocol here. Walks over
// the fields of structs, where a compact header depends on the one before it
// and a bool is part of its header, are written for each; those of the compact
// protocols are in the files compact_*.go.

// Protocol is a wire format. Every [Node] has one.
type Protocol uint8

const (
	Binary          Protocol = iota // the default
	Compact                         // Apache's compact protocol, version 1; it has no float
	CompactFBThrift                 // fbthrift's compact protocol, version 2: doubles big-endian; it has no uuid
)

// String returns the name of the protocol.
func (p Protocol) String() string {
	switch p {
	case Binary:
		return "binary"
	case Compact:
		return "compact"
	case CompactFBThrift:
		return "fbthrift's compact"
	default:
		return "unknown protocol"
	}
}

// NewNode is [NewNode] for the protocol p.
func (p Protocol) NewNode(t thriftwire.Type, b []byte) Node { return Node{typ: t, proto: p, data: b} }

// NewValue is [NewValue] for the protocol p.
func (p Protocol) NewValue(t *schema.Type, b []byte) Value { return Value{p.NewNode(wireOf(t), b), t} }

// dialect returns the dialect of a compact protocol.
func (p Protocol) dialect() compact.Dialect { return compact.Dialect(p) }

// known refuses to write a protocol that does not exist.
func (p Protocol) known() *diag.Fault {
	if p <= CompactFBThrift {
		return nil
	}
	return diag.NewFault(diag.Unsupported, -1, p.String())
}

// has reports whether values of type t exist in p.
func (p Protocol) has(t thriftwire.Type) bool {
	if p == Binary {
		return t.Valid()
	}
	return p.dialect().Has(t)
}

// expects refuses values of type t if p does not have them.
func (p Protocol) expects(t thriftwire.Type) *diag.Fault {
	if p.has(t) {
		return nil
	}
	return diag.NewFault(diag.Unsupported, -1, p.String()+" Thrift has no "+t.String())
}

// text reads a string or binary.
func (p Protocol) text(b []byte) ([]byte, int) {
	if p == Binary {
		return thriftwire.ConsumeBytes(b)
	}
	return compact.ConsumeBytes(b)
}

// fixedSize returns the number of bytes that every element of type t takes, or 0.
func (p Protocol) fixedSize(t thriftwire.Type) int {
	if p == Binary {
		return t.FixedSize()
	}
	return compact.FixedSize(t)
}

// list reads the header of a list or set.
func (p Protocol) list(b []byte) (elem thriftwire.Type, size, n int) {
	if p == Binary {
		return thriftwire.ConsumeList(b)
	}
	return p.dialect().ConsumeList(b)
}

// mapping reads the header of a map.
func (p Protocol) mapping(b []byte) (key, elem thriftwire.Type, size, n int) {
	if p == Binary {
		return thriftwire.ConsumeMap(b)
	}
	return p.dialect().ConsumeMap(b)
}

// skipAt steps over the value of type t at b[pos:]; see [thriftwire.SkipAt].
func (p Protocol) skipAt(b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	if p == Binary {
		return thriftwire.SkipAt(b, pos, t, depth)
	}
	return p.dialect().SkipAt(b, pos, t, depth)
}

// skipElements steps over n values of type t.
func (p Protocol) skipElements(b []byte, pos int, t thriftwire.Type, n, depth int) (end, code int) {
	if p == Binary {
		return thriftwire.SkipElements(b, pos, t, n, depth)
	}
	return p.dialect().SkipElements(b, pos, t, n, depth)
}

// skipEntries steps over n entries of a map.
func (p Protocol) skipEntries(b []byte, pos int, key, elem thriftwire.Type, n, depth int) (end, code int) {
	if p == Binary {
		return thriftwire.SkipEntries(b, pos, key, elem, n, depth)
	}
	return p.dialect().SkipEntries(b, pos, key, elem, n, depth)
}

// field reads the header of a field; last is the id of the field before it.
func (p Protocol) field(b []byte, last int16) (f compact.Field, n int) {
	if p != Binary {
		return p.dialect().ConsumeField(b, last)
	}
	f.Type, f.ID, n = thriftwire.ConsumeField(b)
	return f, n
}

// skipField steps over the value of the field whose header f was read.
func (p Protocol) skipField(b []byte, pos int, f compact.Field, depth int) (end, code int) {
	switch {
	case p == Binary:
		return thriftwire.SkipAt(b, pos, f.Type, depth)
	case f.Type == thriftwire.Bool:
		return pos, 0
	default:
		return p.dialect().SkipAt(b, pos, f.Type, depth)
	}
}

// appendInt appends n as a bool element or an integer of wire type t.
func (p Protocol) appendInt(b []byte, t thriftwire.Type, n int64) []byte {
	if p == Binary {
		return appendInt(b, t, n)
	}
	return appendCompactInt(b, t, n)
}

// appendDouble appends a double.
func (p Protocol) appendDouble(b []byte, v float64) []byte {
	if p == Binary {
		return thriftwire.AppendDouble(b, v)
	}
	return p.dialect().AppendDouble(b, v)
}

// appendString appends a string or binary.
func (p Protocol) appendString(b []byte, v string) []byte {
	if p == Binary {
		return thriftwire.AppendString(b, v)
	}
	return compact.AppendString(b, v)
}

// appendBytes appends a string or binary.
func (p Protocol) appendBytes(b []byte, v []byte) []byte {
	if p == Binary {
		return thriftwire.AppendBytes(b, v)
	}
	return compact.AppendBytes(b, v)
}

// appendField appends the header of a field that is no bool of a compact struct;
// last is the id of the field before it.
func (p Protocol) appendField(b []byte, t thriftwire.Type, id, last int16) []byte {
	if p == Binary {
		return thriftwire.AppendField(b, t, id)
	}
	return p.dialect().AppendField(b, t, id, last)
}

// appendList appends the header of a list or set.
func (p Protocol) appendList(b []byte, elem thriftwire.Type, size int) []byte {
	if p == Binary {
		return thriftwire.AppendList(b, elem, size)
	}
	if size == 0 && !p.has(elem) {
		elem = thriftwire.I8 // an empty list may have any type; this one every reader knows
	}
	return p.dialect().AppendList(b, elem, size)
}

// appendMap appends the header of a map.
func (p Protocol) appendMap(b []byte, key, elem thriftwire.Type, size int) []byte {
	if p == Binary {
		return thriftwire.AppendMap(b, key, elem, size)
	}
	return p.dialect().AppendMap(b, key, elem, size)
}

// inHeader reports whether a field of type t has its value in its header.
func (p Protocol) inHeader(t thriftwire.Type) bool { return p != Binary && t == thriftwire.Bool }

// bools are the bytes of nodes that stand for bool fields of compact structs.
// They alias no message, since a header is no value. Nobody writes to them.
var bools = [2][1]byte{{2}, {1}}

// boolNode is the value of a compact bool field.
func (p Protocol) boolNode(v bool) Node {
	b := bools[0][:]
	if v {
		b = bools[1][:]
	}
	return Node{typ: thriftwire.Bool, exact: true, proto: p, data: b}
}
