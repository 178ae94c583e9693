package transcode

import (
	"encoding/binary"
	"fmt"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads JSON and writes Thrift: values without parts, and map keys.

// value reads the value at p. What is frequent is here for the case that
// nothing is wrong; the rest, and what a fault says, is elsewhere.
func (r *fromJSON) value(dst []byte, p int, t *typ) ([]byte, int) {
	// By comparisons, not by a jump; see form.
	if t.kind == schema.Struct {
		return r.structure(dst, p, t.strct)
	}
	if t.kind == schema.String {
		return r.text(dst, p, "string")
	}
	switch t.kind {
	case schema.Bool:
		return r.boolean(dst, p)
	case schema.I8:
		if v, end := jsonwire.ConsumeIntAt(r.in, p, 8); end > 0 {
			return append(dst, byte(v)), end
		}
		return r.integer(dst, p, schema.I8)
	case schema.I16:
		return r.integer(dst, p, schema.I16)
	case schema.I32:
		if v, end := jsonwire.ConsumeIntAt(r.in, p, 32); end > 0 {
			return binary.BigEndian.AppendUint32(dst, uint32(v)), end
		}
		return r.integer(dst, p, schema.I32)
	case schema.I64:
		if v, end := jsonwire.ConsumeIntAt(r.in, p, 64); end > 0 {
			return binary.BigEndian.AppendUint64(dst, uint64(v)), end
		}
		return r.integer(dst, p, schema.I64)
	case schema.Double:
		if v, end := jsonwire.ConsumeFloatAt(r.in, p, 64); end > 0 {
			return binary.BigEndian.AppendUint64(dst, math.Float64bits(v)), end
		}
		return r.float(dst, p, schema.Double)
	case schema.Float:
		return r.float(dst, p, schema.Float)
	case schema.Binary:
		if r.conv.opts.rawBinary {
			return r.text(dst, p, "binary")
		}
		return r.quoted(dst, p, t)
	case schema.Enum:
		if p < len(r.in) && r.in[p] != '"' {
			return r.integer(dst, p, schema.I32)
		}
		return r.quoted(dst, p, t)
	case schema.UUID:
		return r.quoted(dst, p, t)
	case schema.Map:
		return r.mapping(dst, p, t)
	case kindSpecial:
		return r.special(dst, p, t)
	default:
		return r.list(dst, p, t)
	}
}

func (r *fromJSON) boolean(dst []byte, p int) ([]byte, int) {
	if p < len(r.in) {
		word, v := "", byte(0)
		switch r.in[p] {
		case 't':
			word, v = "true", 1
		case 'f':
			word = "false"
		default:
			return dst, r.unexpected(p, "bool")
		}
		n := jsonwire.SkipLiteral(r.in[p:], word)
		if n < 0 {
			return dst, r.jsonError(n, p)
		}
		return append(dst, v), p + n
	}
	return dst, r.unexpected(p, "bool")
}

// intBits has the width of the integer kinds.
var intBits = [...]int{schema.I8: 8, schema.I16: 16, schema.I32: 32, schema.I64: 64}

func (r *fromJSON) integer(dst []byte, p int, kind schema.Kind) ([]byte, int) {
	v, n := jsonwire.ConsumeInt(r.in[p:], intBits[kind])
	if n < 0 {
		o := &r.conv.opts
		if p < len(r.in) && r.in[p] == '"' && (o.numberStrings || o.int64Strings && kind == schema.I64) {
			return r.quoted(dst, p, &typ{kind: kind})
		}
		return dst, r.number(n, p, kind.String())
	}
	return appendInteger(dst, v, kind), p + n
}

func appendInteger(dst []byte, v int64, kind schema.Kind) []byte {
	switch kind {
	case schema.I8:
		return append(dst, byte(v))
	case schema.I16:
		return binary.BigEndian.AppendUint16(dst, uint16(v))
	case schema.I32:
		return binary.BigEndian.AppendUint32(dst, uint32(v))
	default:
		return binary.BigEndian.AppendUint64(dst, uint64(v))
	}
}

func (r *fromJSON) float(dst []byte, p int, kind schema.Kind) ([]byte, int) {
	bits := 64
	if kind == schema.Float {
		bits = 32
	}
	v, n := jsonwire.ConsumeFloat(r.in[p:], bits)
	if n < 0 {
		o := &r.conv.opts
		if p < len(r.in) && r.in[p] == '"' && (o.numberStrings || o.nonFinite == NonFiniteStrings) {
			return r.quoted(dst, p, &typ{kind: kind})
		}
		return dst, r.number(n, p, kind.String())
	}
	return appendFloating(dst, v, kind), p + n
}

func appendFloating(dst []byte, v float64, kind schema.Kind) []byte {
	if kind == schema.Float {
		return thriftwire.AppendFloat(dst, float32(v))
	}
	return thriftwire.AppendDouble(dst, v)
}

// number is the fault for the negative result n of reading a number at p.
func (r *fromJSON) number(n, p int, want string) int {
	switch n {
	case jsonwire.ErrSyntax:
		return r.unexpected(p, want)
	case jsonwire.ErrRange, jsonwire.ErrInteger:
		size := jsonwire.SkipNumber(r.in[p:])
		return r.fail(diag.OutOfRange, p, fmt.Sprintf("%s is not in the range of %s", pathKey(r.in[p:p+size]), want))
	}
	return r.jsonError(n, p)
}

// text reads a string as it stands.
func (r *fromJSON) text(dst []byte, p int, want string) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, want)
	}
	head := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	dst, end := jsonwire.AppendUnquotedAt(dst, r.in, p)
	if end < 0 && r.conv.opts.lossyText {
		if dst, end = jsonwire.AppendUnquotedLossy(dst, r.in[p:]); end > 0 {
			end += p
		}
	}
	if end < 0 {
		return dst, r.jsonError(end, p)
	}
	if len(dst) > r.limit {
		return dst, r.tooLarge(p)
	}
	binary.BigEndian.PutUint32(dst[head:], uint32(len(dst)-head-4))
	return dst, end
}

// quoted reads a string that stands for a value of another type.
func (r *fromJSON) quoted(dst []byte, p int, t *typ) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, t.kind.String())
	}
	return r.key(dst, p, t)
}

// key reads the string at p, such as the name of a map's member, as a value
// of type t.
func (r *fromJSON) key(dst []byte, p int, t *typ) ([]byte, int) {
	if t.kind == schema.String || t.kind == schema.Binary && r.conv.opts.rawBinary {
		return r.text(dst, p, "string")
	}
	if t.kind == schema.I32 || t.kind == schema.I64 {
		if v, end := r.plainKey(p, t.kind); end > 0 {
			return appendInteger(dst, v, t.kind), end
		}
	}
	if t.kind == schema.Binary {
		head := len(dst)
		out, end := jsonwire.ConsumeBase64At(append(dst, 0, 0, 0, 0), r.in, p, r.conv.opts.looseBase64)
		if end > 0 {
			binary.BigEndian.PutUint32(out[head:], uint32(len(out)-head-4))
			return out, end
		}
	}
	end, escaped := r.skipString(p)
	if end < 0 {
		return dst, end
	}
	text := r.in[p+1 : end-1]
	if escaped {
		m := r.memory()
		m.text, _ = jsonwire.AppendUnquotedLossy(m.text[:0], r.in[p:])
		text = m.text
	}
	dst, ok := r.parse(dst, text, t, p)
	if !ok {
		return dst, failed
	}
	return dst, end
}

// plainKey reads the string at p if it is nothing but a number of that kind; else
// the position that it returns is negative.
func (r *fromJSON) plainKey(p int, kind schema.Kind) (int64, int) {
	if p >= len(r.in) || r.in[p] != '"' {
		return 0, failed
	}
	v, end := jsonwire.ConsumeIntAt(r.in, p+1, intBits[kind])
	if end < 0 || end >= len(r.in) || r.in[end] != '"' {
		return 0, failed
	}
	return v, end + 1
}

// parse appends the value of type t that text, which stands at p, denotes. If
// it denotes none, the fault is set.
func (r *fromJSON) parse(dst, text []byte, t *typ, p int) (out []byte, ok bool) {
	switch t.kind {
	case kindSpecial:
		return r.parseSpecial(dst, text, t, p)
	case schema.Bool:
		switch string(text) {
		case "true":
			return append(dst, 1), true
		case "false":
			return append(dst, 0), true
		}
	case schema.I8, schema.I16, schema.I32, schema.I64:
		v, n := jsonwire.ConsumeInt(text, intBits[t.kind])
		if len(text) == 0 && r.conv.opts.emptyNumbers {
			return appendInteger(dst, 0, t.kind), true
		}
		if n == len(text) && n > 0 {
			return appendInteger(dst, v, t.kind), true
		}
		if n == jsonwire.ErrRange || n == jsonwire.ErrInteger {
			r.fail(diag.OutOfRange, p, fmt.Sprintf("%s is not in the range of %s", pathKey(text), t.kind))
			return dst, false
		}
	case schema.Float, schema.Double:
		return r.parseFloat(dst, text, t.kind, p)
	case schema.Enum:
		return r.parseEnum(dst, text, t.enum, p)
	case schema.Binary:
		return r.parseBase64(dst, text, p)
	case schema.UUID:
		if v, ok := parseUUID(text); ok {
			return append(dst, v[:]...), true
		}
	}
	r.fail(diag.InvalidData, p, fmt.Sprintf("%q is no %s", shorten(text), t.kind))
	return dst, false
}

func (r *fromJSON) parseFloat(dst, text []byte, kind schema.Kind, p int) ([]byte, bool) {
	if r.conv.opts.nonFinite == NonFiniteStrings {
		switch string(text) {
		case "NaN":
			return appendFloating(dst, math.NaN(), kind), true
		case "Infinity":
			return appendFloating(dst, math.Inf(1), kind), true
		case "-Infinity":
			return appendFloating(dst, math.Inf(-1), kind), true
		}
	}
	bits := 64
	if kind == schema.Float {
		bits = 32
	}
	v, n := jsonwire.ConsumeFloat(text, bits)
	switch {
	case len(text) == 0 && r.conv.opts.emptyNumbers:
		return appendFloating(dst, 0, kind), true
	case n == len(text) && n > 0:
		return appendFloating(dst, v, kind), true
	case n == jsonwire.ErrRange:
		r.fail(diag.OutOfRange, p, fmt.Sprintf("%s is not in the range of %s", pathKey(text), kind))
	default:
		r.fail(diag.InvalidData, p, fmt.Sprintf("%q is no %s", shorten(text), kind))
	}
	return dst, false
}

// parseEnum takes the name of an enumerator or, as unnamed ones and
// EnumNumbers write map keys, a number.
func (r *fromJSON) parseEnum(dst, text []byte, e *enumTable, p int) ([]byte, bool) {
	if i := e.names.find(text); i >= 0 {
		return thriftwire.AppendI32(dst, e.values[i]), true
	}
	if v, n := jsonwire.ConsumeInt(text, 32); n == len(text) && n > 0 {
		return thriftwire.AppendI32(dst, int32(v)), true
	}
	r.fail(diag.UnknownEnum, p, fmt.Sprintf("%s has no value %q", e.name, shorten(text)))
	return dst, false
}

// shorten cuts text to what a message shows.
func shorten(text []byte) []byte { return text[:min(len(text), shownKey)] }

// unexpected is the fault for the value at p, which is not of the type that is
// wanted.
func (r *fromJSON) unexpected(p int, want string) int {
	if p >= len(r.in) {
		return r.jsonError(jsonwire.ErrEOF, len(r.in))
	}
	switch c := r.in[p]; {
	case c == '"', c == '{', c == '[', c == '-', c-'0' <= 9:
		return r.mismatch(p, want, r.describe(p))
	case jsonwire.Skip(r.in[p:], 1) > 0:
		return r.mismatch(p, want, r.describe(p))
	}
	return r.fail(diag.Syntax, p, want+" expected, got "+r.describe(p))
}

// describe names what stands at p, which is inside the input.
func (r *fromJSON) describe(p int) string {
	switch c := r.in[p]; {
	case c == '"':
		return "a string"
	case c == '{':
		return "an object"
	case c == '[':
		return "an array"
	case c == '-' || c-'0' <= 9:
		return "a number"
	case jsonwire.Skip(r.in[p:], 1) > 0:
		return string(r.in[p : p+jsonwire.Skip(r.in[p:], 1)])
	default:
		return fmt.Sprintf("%q", c)
	}
}
