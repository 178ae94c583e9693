package dynamic

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds compact values without parts, compact keys, and the
// translation between protocols.

// compactInt reads an integer of wire type t.
func compactInt(b []byte, t thriftwire.Type) (int64, int) {
	switch t {
	case thriftwire.I8:
		v, n := compact.ConsumeI8(b)
		return int64(v), n
	case thriftwire.I16:
		v, n := compact.ConsumeI16(b)
		return int64(v), n
	case thriftwire.I32:
		v, n := compact.ConsumeI32(b)
		return int64(v), n
	default:
		return compact.ConsumeI64(b)
	}
}

// compactScalar reads a value without parts that is no string.
func compactScalar(d compact.Dialect, b []byte, t thriftwire.Type) (any, int) {
	switch t {
	case thriftwire.Bool:
		return pair(compact.ConsumeBool(b))
	case thriftwire.I8:
		return pair(compact.ConsumeI8(b))
	case thriftwire.I16:
		return pair(compact.ConsumeI16(b))
	case thriftwire.I32:
		return pair(compact.ConsumeI32(b))
	case thriftwire.I64:
		return pair(compact.ConsumeI64(b))
	case thriftwire.Double:
		return pair(d.ConsumeDouble(b))
	case thriftwire.Float:
		return pair(compact.ConsumeFloat(b))
	case thriftwire.UUID:
		return pair(compact.ConsumeUUID(b))
	default:
		return nil, thriftwire.ErrType
	}
}

// sameCompactKey reports whether b[pos:end], a key of wire type t, is the step's.
func (s *Step) sameCompactKey(p Protocol, b []byte, pos, end int, t thriftwire.Type) bool {
	b = b[pos:end]
	switch s.kind {
	case stepString:
		if t == thriftwire.String {
			b, _ = compact.ConsumeBytes(b)
		}
		return string(b) == s.text
	case stepValue:
		return string(b) == s.text || sameScalar(b, s.text, t)
	case stepDouble:
		if t == thriftwire.Float {
			v, _ := compact.ConsumeFloat(b)
			return math.Float32bits(v) == math.Float32bits(float32(math.Float64frombits(uint64(s.num))))
		}
		v, _ := p.dialect().ConsumeDouble(b)
		return math.Float64bits(v) == uint64(s.num)
	case stepBool:
		v, n := compact.ConsumeBool(b)
		return n > 0 && v == (s.num != 0)
	default:
		v, _ := compactInt(b, t)
		return v == s.num
	}
}

// sameScalar reports whether b is the value without parts whose shortest form
// is text. Other writers may pad its varint, and have two bytes for false.
func sameScalar(b []byte, text string, t thriftwire.Type) bool {
	switch {
	case len(text) == 0:
		return false
	case t == thriftwire.Bool:
		v, n := compact.ConsumeBool(b)
		return n > 0 && v == (text[0] == 1)
	case t == thriftwire.String:
		v, _ := compact.ConsumeBytes(b)
		return len(text) == compact.SizeBytes(len(v)) && text[len(text)-len(v):] == string(v)
	case isInt(t):
		v, _ := compactInt(b, t)
		return string(appendCompactInt(nil, t, v)) == text
	default:
		return false
	}
}

// appendCompactKey is appendKey in a compact protocol.
func (s *Step) appendCompactKey(p Protocol, b []byte, t thriftwire.Type) []byte {
	switch {
	case s.kind == stepValue:
		return append(b, s.form(p)...)
	case t == thriftwire.Double:
		return p.dialect().AppendDouble(b, math.Float64frombits(uint64(s.num)))
	case t == thriftwire.Float:
		return compact.AppendFloat(b, float32(math.Float64frombits(uint64(s.num))))
	case t == thriftwire.String:
		return compact.AppendString(b, s.text)
	case t == thriftwire.UUID:
		return append(b, s.text...)
	default:
		return appendCompactInt(b, t, s.num)
	}
}

// appendCompactInt appends n as a bool element or an integer of wire type t.
func appendCompactInt(b []byte, t thriftwire.Type, n int64) []byte {
	switch t {
	case thriftwire.Bool:
		return compact.AppendBool(b, n != 0)
	case thriftwire.I8:
		return compact.AppendI8(b, int8(n))
	case thriftwire.I16:
		return compact.AppendI16(b, int16(n))
	case thriftwire.I32:
		return compact.AppendI32(b, int32(n))
	default:
		return compact.AppendI64(b, n)
	}
}

// AppendIn appends the value in the protocol p, which may be the node's own. What is not a
// whole value, and a value of a type that p does not have, is an error; dst is
// then returned as it was, and it must not overlap the node's bytes.
func (n Node) AppendIn(dst []byte, p Protocol) ([]byte, error) {
	if f := p.known(); f != nil {
		return dst, f
	}
	if err := n.Check(); err != nil {
		return dst, err
	}
	dst, f := n.appendIn(dst, p)
	return dst, asError(f)
}

// appendIn is AppendIn for a node that is known to be one whole value.
func (n Node) appendIn(dst []byte, p Protocol) ([]byte, *diag.Fault) {
	if n.proto == p {
		return append(dst, n.data...), nil
	}
	out, code := dst, 0
	switch {
	case p == Binary:
		out, code = n.proto.dialect().AppendToBinary(dst, n.data, n.typ, maxDepth)
	case n.proto == Binary:
		out, code = p.dialect().AppendFromBinary(dst, n.data, n.typ, maxDepth)
	default: // from one dialect to the other
		between, f := n.appendIn(nil, Binary)
		if f != nil {
			return dst, f
		}
		return NewNode(n.typ, between).appendIn(dst, p)
	}
	switch {
	case code >= 0:
		return out, nil
	case code == thriftwire.ErrType:
		return dst, diag.NewFault(diag.Unsupported, -1, "the value has a type that does not exist in "+p.String()+" Thrift")
	default:
		return dst, fault(code, -1)
	}
}
