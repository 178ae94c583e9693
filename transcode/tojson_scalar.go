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

// This file reads Thrift and writes JSON: values without parts, and map keys.

// value writes the value at p.
func (w *toJSON) value(dst []byte, p int, t *typ) ([]byte, int) {
	switch t.kind {
	case schema.Struct:
		return w.structure(dst, p, t.strct)
	case schema.List, schema.Set:
		return w.list(dst, p, t)
	case schema.Map:
		return w.mapping(dst, p, t)
	case schema.String, schema.Binary:
		return w.text(dst, p, t.kind)
	case kindSpecial:
		return w.special(dst, p, t)
	}
	if n := t.wire.FixedSize(); !w.need(p, n) {
		return dst, failed
	}
	switch t.kind {
	case schema.Bool:
		if w.in[p] != 0 {
			return append(dst, "true"...), p + 1
		}
		return append(dst, "false"...), p + 1
	case schema.I8:
		return jsonwire.AppendInt(dst, int64(int8(w.in[p]))), p + 1
	case schema.I16:
		return jsonwire.AppendInt(dst, int64(int16(binary.BigEndian.Uint16(w.in[p:])))), p + 2
	case schema.I32:
		return jsonwire.AppendInt(dst, int64(int32(w.u32(p)))), p + 4
	case schema.I64:
		if w.conv.opts.int64Strings {
			dst = jsonwire.AppendInt(append(dst, '"'), int64(w.u64(p)))
			return append(dst, '"'), p + 8
		}
		return jsonwire.AppendInt(dst, int64(w.u64(p))), p + 8
	case schema.Float:
		return w.float(dst, p, float64(math.Float32frombits(w.u32(p))), 32)
	case schema.Double:
		return w.float(dst, p, math.Float64frombits(w.u64(p)), 64)
	case schema.Enum:
		v := int32(w.u32(p))
		if !w.conv.opts.enumNumbers {
			if name := t.enum.jsonName(v); name != nil {
				return append(dst, name...), p + 4
			}
		}
		return jsonwire.AppendInt(dst, int64(v)), p + 4
	default: // UUID
		dst = appendUUID(append(dst, '"'), [16]byte(w.in[p:]))
		return append(dst, '"'), p + 16
	}
}

// float writes v, which stands at p.
func (w *toJSON) float(dst []byte, p int, v float64, bits int) ([]byte, int) {
	if v-v == 0 { // false for NaN and infinities
		return jsonwire.AppendFloat(dst, v, bits), p + bits/8
	}
	switch w.conv.opts.nonFinite {
	case NonFiniteNull:
		return append(dst, "null"...), p + bits/8
	case NonFiniteStrings:
		text := `"NaN"`
		if v > 0 {
			text = `"Infinity"`
		} else if v < 0 {
			text = `"-Infinity"`
		}
		return append(dst, text...), p + bits/8
	}
	return dst, w.fail(diag.InvalidValue, p, fmt.Sprintf("JSON has no number for %v", v))
}

// text writes a string or binary.
func (w *toJSON) text(dst []byte, p int, kind schema.Kind) ([]byte, int) {
	b, n := thriftwire.ConsumeBytes(w.in[p:])
	if n < 0 {
		return dst, w.wireError(n, p)
	}
	if kind == schema.Binary && !w.conv.opts.rawBinary {
		dst = jsonwire.AppendBase64(append(dst, '"'), b)
		dst = append(dst, '"')
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
	return dst, p + n
}

// key writes the value at p as the name of a member.
func (w *toJSON) key(dst []byte, p int, t *typ) ([]byte, int) {
	switch {
	case t.kind == schema.I32 && len(w.in)-p >= 4:
		dst = jsonwire.AppendInt(append(dst, '"'), int64(int32(w.u32(p))))
		return append(dst, '"'), p + 4
	case t.kind == schema.I64 && len(w.in)-p >= 8:
		dst = jsonwire.AppendInt(append(dst, '"'), int64(w.u64(p)))
		return append(dst, '"'), p + 8
	}
	from := len(dst)
	at := p
	dst, p = w.value(dst, p, t)
	if p < 0 || len(dst) > from && dst[from] == '"' {
		return dst, p
	}
	if dst[from] == 'n' {
		return dst, w.fail(diag.InvalidValue, at, "a map key must not be NaN or infinite")
	}
	return quote(dst, from), p
}

// quote puts the number or bool that dst ends with from from on into quotes.
func quote(dst []byte, from int) []byte {
	dst = append(dst, '"', '"')
	copy(dst[from+1:], dst[from:len(dst)-2])
	dst[from], dst[len(dst)-1] = '"', '"'
	return dst
}
