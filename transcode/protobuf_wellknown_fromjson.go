package transcode

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads the messages of google.protobuf that have a JSON form of
// their own.

// The numbers of the fields of a Value.
const (
	valueNull = iota
	valueNumberField
	valueString
	valueBool
	valueStruct
	valueList
)

// wellKnown reads the JSON of a message that has a form of its own, and writes
// its fields.
func (r *protoFromJSON) wellKnown(dst []byte, p int, t *protoTable) ([]byte, int) {
	switch t.form {
	case formBare:
		return r.field(dst, p, &t.fields[0])
	case formValue:
		return r.anyValue(dst, p, t)
	case formAny:
		if end := r.emptyObject(p); end > 0 {
			return dst, end
		}
		return dst, r.fail(diag.Unsupported, p, "the message in a google.protobuf.Any has no known schema")
	}
	if p >= len(r.in) || r.in[p] != '"' {
		return dst, r.unexpected(p, t.name)
	}
	text, end := r.stringAt(p)
	if end < 0 {
		return dst, end
	}
	var seconds int64
	var nanos int32
	var ok bool
	switch t.form {
	case formFieldMask:
		if dst, ok = appendMask(dst, text, t); ok {
			return dst, end
		}
	case formTimestamp:
		seconds, nanos, ok = parseTimestamp(text)
	default:
		seconds, nanos, ok = parseDuration(text)
	}
	if !ok {
		return dst, r.fail(diag.InvalidData, p, fmt.Sprintf("%q is no %s", shorten(text), t.name))
	}
	if seconds != 0 {
		dst = protowire.AppendVarint(append(dst, t.fields[0].head...), uint64(seconds))
	}
	if nanos != 0 {
		dst = protowire.AppendVarint(append(dst, t.fields[1].head...), uint64(int64(nanos)))
	}
	return dst, end
}

// anyValue reads any JSON value as a Value.
func (r *protoFromJSON) anyValue(dst []byte, p int, t *protoTable) ([]byte, int) {
	if p >= len(r.in) {
		return dst, r.jsonError(jsonwire.ErrEOF, p)
	}
	kind := valueNumberField
	switch r.in[p] {
	case '"':
		kind = valueString
	case '{':
		kind = valueStruct
	case '[':
		kind = valueList
	case 't', 'f':
		kind = valueBool
	case 'n':
		if r.null(p) {
			kind = valueNull
		}
	}
	return r.field(dst, p, &t.fields[kind])
}

// emptyObject returns the position after the object without members at p, or 0.
func (r *protoFromJSON) emptyObject(p int) int {
	if p < len(r.in) && r.in[p] == '{' {
		if p = r.space(p + 1); p < len(r.in) && r.in[p] == '}' {
			return p + 1
		}
	}
	return 0
}

// appendMask appends the paths of a FieldMask that text, in lowerCamelCase,
// lists with commas.
func appendMask(dst, text []byte, t *protoTable) ([]byte, bool) {
	if len(text) == 0 {
		return dst, true
	}
	for i := 0; i <= len(text); {
		dst = openLength(append(dst, t.fields[0].head...))
		from := len(dst)
		word := false // whether a name has begun
		for ; i < len(text) && text[i] != ','; i++ {
			switch c := text[i]; {
			case 'a' <= c && c <= 'z':
				dst, word = append(dst, c), true
			case 'A' <= c && c <= 'Z':
				dst, word = append(dst, '_', c|0x20), true
			case '0' <= c && c <= '9' && word:
				dst = append(dst, c)
			case c == '.' && word:
				dst, word = append(dst, c), false
			default:
				return dst, false
			}
		}
		if !word {
			return dst, false
		}
		dst = closeLength(dst, from)
		i++
	}
	return dst, true
}
