package transcode

import (
	"fmt"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads JSON and writes Protobuf: values without parts, and map keys.

// value reads the value at p and writes it without a tag.
func (r *protoFromJSON) value(dst []byte, p int, t *protoTyp) ([]byte, int) {
	switch t.kind {
	case protoBool:
		return r.boolean(dst, p)
	case protoUint32, protoFixed32, protoUint64, protoFixed64:
		return r.unsigned(dst, p, t.kind)
	case protoFloat, protoDouble:
		return r.float(dst, p, t.kind)
	case protoString:
		return r.text(dst, p, t.kind)
	case protoBytes:
		if r.conv.opts.rawBinary {
			return r.text(dst, p, t.kind)
		}
		return r.base64(dst, p)
	case protoEnum:
		return r.enum(dst, p, t)
	case protoMessage:
		dst = openLength(dst)
		from := len(dst)
		if dst, p = r.message(dst, p, t.message); p < 0 {
			return dst, p
		}
		return closeLength(dst, from), p
	case protoGroup:
		if dst, p = r.message(dst, p, t.message); p < 0 {
			return dst, p
		}
		return protowire.AppendTag(dst, t.group, protowire.EndGroup), p
	default:
		return r.signed(dst, p, t.kind)
	}
}

// bits returns the width of an integer.
func (k protoKind) bits() int {
	if k <= protoFixed32 {
		return 32
	}
	return 64
}

// stringAt returns the text of the string at p. It lies in the input or in scratch
// memory, until the next one is read.
func (r *protoFromJSON) stringAt(p int) (text []byte, end int) {
	end, escaped := r.skipString(p)
	if end < 0 {
		return nil, end
	}
	text = r.in[p+1 : end-1]
	if escaped {
		m := r.memory()
		m.text, _ = jsonwire.AppendUnquotedLossy(m.text[:0], r.in[p:])
		text = m.text
	}
	return text, end
}

func (r *protoFromJSON) signed(dst []byte, p int, kind protoKind) ([]byte, int) {
	v, n := jsonwire.ConsumeInt(r.in[p:], kind.bits())
	if n >= 0 {
		return appendProtoInteger(dst, v, kind), p + n
	}
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.number(n, p, kind.String())
	}
	text, end := r.stringAt(p)
	if end < 0 {
		return dst, end
	}
	if v, n = jsonwire.ConsumeInt(text, kind.bits()); n != len(text) || n == 0 {
		return dst, r.noNumber(n, text, p, kind)
	}
	return appendProtoInteger(dst, v, kind), end
}

func (r *protoFromJSON) unsigned(dst []byte, p int, kind protoKind) ([]byte, int) {
	v, n := jsonwire.ConsumeUint(r.in[p:], kind.bits())
	if n >= 0 {
		return appendProtoInteger(dst, int64(v), kind), p + n
	}
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.number(n, p, kind.String())
	}
	text, end := r.stringAt(p)
	if end < 0 {
		return dst, end
	}
	if v, n = jsonwire.ConsumeUint(text, kind.bits()); n != len(text) || n == 0 {
		return dst, r.noNumber(n, text, p, kind)
	}
	return appendProtoInteger(dst, int64(v), kind), end
}

// noNumber is the fault for text in the string at p of which reading a number
// gave n.
func (r *protoFromJSON) noNumber(n int, text []byte, p int, kind protoKind) int {
	if n == jsonwire.ErrRange || n == jsonwire.ErrInteger {
		return r.fail(diag.OutOfRange, p, fmt.Sprintf("%s is not in the range of %s", pathKey(text), kind))
	}
	return r.fail(diag.InvalidData, p, fmt.Sprintf("%q is no %s", shorten(text), kind))
}

func (r *protoFromJSON) float(dst []byte, p int, kind protoKind) ([]byte, int) {
	bits := 64
	if kind == protoFloat {
		bits = 32
	}
	v, n := jsonwire.ConsumeFloat(r.in[p:], bits)
	if n >= 0 {
		return appendProtoFloat(dst, v, kind), p + n
	}
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.number(n, p, kind.String())
	}
	text, end := r.stringAt(p)
	if end < 0 {
		return dst, end
	}
	if r.conv.opts.nonFinite == NonFiniteStrings {
		switch string(text) {
		case "NaN":
			return appendProtoFloat(dst, math.NaN(), kind), end
		case "Infinity":
			return appendProtoFloat(dst, math.Inf(1), kind), end
		case "-Infinity":
			return appendProtoFloat(dst, math.Inf(-1), kind), end
		}
	}
	if v, n = jsonwire.ConsumeFloat(text, bits); n != len(text) || n == 0 {
		return dst, r.noNumber(n, text, p, kind)
	}
	return appendProtoFloat(dst, v, kind), end
}

func appendProtoFloat(dst []byte, v float64, kind protoKind) []byte {
	if kind == protoFloat {
		return protowire.AppendFixed32(dst, math.Float32bits(float32(v)))
	}
	return protowire.AppendFixed64(dst, math.Float64bits(v))
}

// text reads a string as it stands.
func (r *protoFromJSON) text(dst []byte, p int, kind protoKind) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, kind.String())
	}
	n, escaped := jsonwire.SkipString(r.in[p:])
	if n > 0 && !escaped {
		return protowire.AppendBytes(dst, r.in[p+1:p+n-1]), p + n
	}
	dst = openLength(dst)
	from := len(dst)
	out, n := jsonwire.AppendUnquoted(dst, r.in[p:])
	if n < 0 && r.conv.opts.lossyText {
		out, n = jsonwire.AppendUnquotedLossy(dst, r.in[p:])
	}
	if n < 0 {
		return dst, r.jsonError(n, p)
	}
	return closeLength(out, from), p + n
}

// base64 reads a string as bytes.
func (r *protoFromJSON) base64(dst []byte, p int) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, "bytes")
	}
	dst = openLength(dst)
	from := len(dst)
	if out, end := jsonwire.ConsumeBase64At(dst, r.in, p, true); end > 0 {
		return closeLength(out, from), end
	}
	text, end := r.stringAt(p)
	if end < 0 {
		return dst, end
	}
	dst, ok := jsonwire.AppendUnbase64(dst, text, true)
	if !ok {
		return dst, r.fail(diag.InvalidData, p, "invalid base64")
	}
	return closeLength(dst, from), end
}

// enum reads the name or the number of an enumerator.
func (r *protoFromJSON) enum(dst []byte, p int, t *protoTyp) ([]byte, int) {
	switch {
	case p < len(r.in) && r.in[p] == '"':
		text, end := r.stringAt(p)
		if end < 0 {
			return dst, end
		}
		i := t.enum.names.find(text)
		if i < 0 {
			return dst, r.fail(diag.UnknownEnum, p, fmt.Sprintf("%s has no value %q", t.enum.name, shorten(text)))
		}
		return appendProtoInteger(dst, int64(t.enum.values[i]), protoEnum), end
	case t.null && p < len(r.in) && r.in[p] == 'n' && r.null(p):
		return append(dst, 0), p + len("null")
	}
	v, n := jsonwire.ConsumeInt(r.in[p:], 32)
	if n < 0 {
		return dst, r.number(n, p, "enum "+t.enum.name)
	}
	if t.closed && !t.enum.has(int32(v)) {
		return dst, r.fail(diag.UnknownEnum, p, fmt.Sprintf("%s has no value %d", t.enum.name, v))
	}
	return appendProtoInteger(dst, v, protoEnum), p + n
}

// key reads the string at p as a map key.
func (r *protoFromJSON) key(dst []byte, p int, t *protoTyp) ([]byte, int) {
	if t.kind == protoString {
		return r.text(dst, p, t.kind)
	}
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, "map key")
	}
	switch t.kind {
	case protoBool:
		text, end := r.stringAt(p)
		switch {
		case end < 0:
			return dst, end
		case string(text) == "true":
			return append(dst, 1), end
		case string(text) == "false":
			return append(dst, 0), end
		}
		return dst, r.noNumber(0, text, p, t.kind)
	case protoUint32, protoFixed32, protoUint64, protoFixed64:
		return r.unsigned(dst, p, t.kind)
	default:
		return r.signed(dst, p, t.kind)
	}
}
