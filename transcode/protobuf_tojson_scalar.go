package transcode

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads Protobuf and writes JSON: values without parts, and map keys.

// value writes the value at p.
func (w *protoToJSON) value(dst, in []byte, p int, t *protoTyp) ([]byte, int) {
	switch t.kind {
	case protoMessage:
		l, n := w.length(in, p)
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		return w.message(dst, in[:p+n+l], p+n, t.message, 0)
	case protoGroup:
		return w.message(dst, in, p, t.message, t.group)
	case protoString, protoBytes:
		return w.text(dst, in, p, t.kind)
	case protoFloat:
		u, n := protowire.ConsumeFixed32(in[p:])
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		return w.float(dst, p, float64(math.Float32frombits(u)), 32)
	case protoDouble:
		u, n := protowire.ConsumeFixed64(in[p:])
		if n < 0 {
			return dst, w.protoError(n, p)
		}
		return w.float(dst, p, math.Float64frombits(u), 64)
	}
	u, n := w.raw(in, p, t.wire)
	if n < 0 {
		return dst, w.protoError(n, p)
	}
	return w.number(dst, u, t), p + n
}

// raw reads the bits of the number at p.
func (w *protoToJSON) raw(in []byte, p int, wire protowire.Type) (uint64, int) {
	if wire == protowire.Varint {
		return w.varint(in, p)
	}
	return rawFixed(in[p:], wire)
}

// rawFixed reads the bits of a number of fixed size.
func rawFixed(b []byte, wire protowire.Type) (uint64, int) {
	if wire == protowire.Fixed32 {
		u, n := protowire.ConsumeFixed32(b)
		return uint64(u), n
	}
	return protowire.ConsumeFixed64(b)
}

// truncated reports whether of a varint of kind k only 32 bits count.
func (k protoKind) truncated() bool {
	return k == protoInt32 || k == protoSint32 || k == protoUint32 || k == protoEnum
}

// number writes a bool, integer or enum that came as u. Of numbers of 32 bits
// only those count, as every reader of Protobuf has it.
func (w *protoToJSON) number(dst []byte, u uint64, t *protoTyp) []byte {
	switch t.kind {
	case protoBool:
		if u != 0 {
			return append(dst, "true"...)
		}
		return append(dst, "false"...)
	case protoInt32, protoSfixed32:
		return jsonwire.AppendInt(dst, int64(int32(u)))
	case protoSint32:
		return jsonwire.AppendInt(dst, protowire.ZagZig(u&math.MaxUint32))
	case protoUint32, protoFixed32:
		return jsonwire.AppendInt(dst, int64(uint32(u)))
	case protoEnum:
		v := int32(u)
		if t.null {
			return append(dst, "null"...)
		}
		if !w.conv.opts.enumNumbers {
			if name := t.enum.jsonName(v); name != nil {
				return append(dst, name...)
			}
		}
		return jsonwire.AppendInt(dst, int64(v))
	}
	if w.conv.opts.int64Strings {
		return append(appendLong(append(dst, '"'), u, t.kind), '"')
	}
	return appendLong(dst, u, t.kind)
}

// appendLong writes an integer of 64 bits that came as u.
func appendLong(dst []byte, u uint64, kind protoKind) []byte {
	switch kind {
	case protoUint64, protoFixed64:
		return jsonwire.AppendUint(dst, u)
	case protoSint64:
		return jsonwire.AppendInt(dst, protowire.ZagZig(u))
	default:
		return jsonwire.AppendInt(dst, int64(u))
	}
}

// text writes a string or bytes.
func (w *protoToJSON) text(dst, in []byte, p int, kind protoKind) ([]byte, int) {
	if kind == protoString && p < len(in) && int(in[p]) < min(0x80, len(in)-p) {
		end := p + 1 + int(in[p])
		if out, ok := jsonwire.AppendQuoted(dst, in[p+1:end]); ok && len(out) <= w.limit {
			return out, end
		}
	}
	l, n := w.length(in, p)
	if n < 0 {
		return dst, w.protoError(n, p)
	}
	return w.quote(dst, in[p+n:p+n+l], p, p+n+l, kind)
}

// quote writes b, a string or bytes that stands from p to end.
func (w *protoToJSON) quote(dst, b []byte, p, end int, kind protoKind) ([]byte, int) {
	if kind == protoBytes && !w.conv.opts.rawBinary {
		dst = append(jsonwire.AppendBase64(append(dst, '"'), b), '"')
	} else if w.conv.opts.lossyText {
		dst = jsonwire.AppendQuotedLossy(dst, b)
	} else {
		var ok bool
		if dst, ok = jsonwire.AppendQuoted(dst, b); !ok {
			return dst, w.fail(diag.InvalidData, p, "the "+kind.String()+" is not UTF-8")
		}
	}
	if len(dst) > w.limit {
		return dst, w.tooLarge(p)
	}
	return dst, end
}

// key writes the map key at p as the name of a member.
func (w *protoToJSON) key(dst, in []byte, p int, t *protoTyp) ([]byte, int) {
	switch {
	case t.kind == protoString:
		return w.text(dst, in, p, t.kind)
	case p < len(in) && in[p] < 0x80 && (t.kind == protoInt32 || t.kind == protoInt64):
		return append(jsonwire.AppendInt(append(dst, '"'), int64(in[p])), '"'), p + 1
	}
	u, n := w.raw(in, p, t.wire)
	if n < 0 {
		return dst, w.protoError(n, p)
	}
	return w.numberKey(dst, u, t), p + n
}

// numberKey writes a key that came as u.
func (w *protoToJSON) numberKey(dst []byte, u uint64, t *protoTyp) []byte {
	if t.kind >= protoInt64 {
		return append(appendLong(append(dst, '"'), u, t.kind), '"')
	}
	return append(w.number(append(dst, '"'), u, t), '"')
}

func (w *protoToJSON) zeroKey(dst []byte, t *protoTyp) []byte {
	if t.kind == protoString {
		return append(dst, '"', '"')
	}
	return w.numberKey(dst, 0, t)
}

// zero writes what an absent value stands for; the input goes on at p.
func (w *protoToJSON) zero(dst []byte, p int, t *protoTyp) ([]byte, int) {
	switch t.kind {
	case protoMessage, protoGroup:
		return w.message(dst, w.state.in[:p], p, t.message, 0)
	case protoString, protoBytes:
		return append(dst, '"', '"'), p
	case protoFloat, protoDouble:
		return append(dst, '0'), p
	case protoEnum:
		if len(t.enum.values) > 0 {
			return w.number(dst, uint64(t.enum.values[0]), t), p
		}
	}
	return w.number(dst, 0, t), p
}

// absentValue looks at the value of f at p and reports whether it stands for
// nothing: the zero of a field that has no other absence, or a number that a
// closed enum does not have. It returns the position after it. What cannot be
// read is left to value.
func (w *protoToJSON) absentValue(in []byte, p int, f *protoField) (int, bool) {
	t := &f.typ
	switch {
	case t.wire == protowire.Bytes:
		if p < len(in) && in[p] == 0 {
			return p + 1, true
		}
		l, n := protowire.ConsumeVarint(in[p:])
		return p + n, n > 0 && l == 0
	case p < len(in) && in[p]-1 < 0x7f && !t.closed && t.wire == protowire.Varint:
		return p, false // a number in one byte
	}
	u, n := w.raw(in, p, t.wire)
	if n < 0 {
		return p, false
	}
	zero := u == 0 || t.kind.truncated() && uint32(u) == 0
	return p + n, f.implicit && zero || t.closed && !t.enum.has(int32(u))
}

// has reports whether v has a name.
func (e *enumTable) has(v int32) bool { return e.jsonName(v) != nil }
