package transcode

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads the text of a path segment, query value, header, cookie or form
// field and writes Thrift.

// fromValues reads a value of type t from the values that a part of the request
// has under a name; ok is false if there are none.
func (r *fromJSON) fromValues(dst []byte, t *typ, place Place, values []string) (out []byte, ok bool) {
	if len(values) == 0 {
		return dst, false
	}
	kind := t.plainKind()
	if kind == schema.List || kind == schema.Set {
		return r.fromList(dst, t, place, values)
	}
	if place == InHeader && len(values) > 1 {
		return r.fromText(dst, t, strings.Join(values, ","), true) // RFC 9110: lines of a name are one list
	}
	return r.fromText(dst, t, values[0], true)
}

// fromList reads a list or set. Its elements are the values, or what commas part
// in a single one or in a header's lines; or all of it is one array of JSON.
func (r *fromJSON) fromList(dst []byte, t *typ, place Place, values []string) (out []byte, ok bool) {
	if t.kind == kindSpecial {
		return r.fromText(dst, t, values[0], true)
	}
	split := t.elem.plainKind() < schema.List && (len(values) == 1 || place == InHeader)
	if len(values) == 1 {
		text := trim(values[0])
		if text == "" && r.http.opts.emptyAbsent {
			return dst, false
		}
		if r.isArray(text, t.elem.plainKind()) {
			return r.fromJSONText(dst, t, text)
		}
		if text == "" {
			values = nil
		}
	}
	unique := t.kind == schema.Set && !r.conv.opts.allowDuplicates
	base, count := 0, 0
	if unique {
		base = len(r.memory().entries)
	}
	dst = thriftwire.AppendList(dst, t.elem.wire, 0)
	head := len(dst)
	plain := t.elem.kind <= schema.String
	for _, v := range values {
		for more := true; more; count++ {
			one := v
			if more = split; split {
				one, v, more = cutComma(v)
			}
			from := len(dst)
			if plain {
				dst, ok = r.plainValue(dst, t.elem.kind, trim(one))
			} else {
				dst, ok = r.fromText(dst, t.elem, trim(one), false)
			}
			if !ok {
				if r.fault == nil {
					r.noValue(t.elem.kind.String(), one, diag.InvalidData)
				}
				r.fault.Index(count)
				return dst, false
			}
			if unique {
				r.mem.add(dst[r.base:], 0, from-r.base)
			}
		}
	}
	if unique && r.mem.close(&r.conv.secret, base, dst[r.base:]) >= 0 {
		r.fail(diag.DuplicateKey, failed, "the set element stands twice")
		return dst, false
	}
	dst[head-4], dst[head-3], dst[head-2], dst[head-1] = byte(count>>24), byte(count>>16), byte(count>>8), byte(count)
	return dst, true
}

// cutComma is strings.Cut at a comma, for short parts.
func cutComma(s string) (before, after string, found bool) {
	for i := range len(s) {
		if s[i] == ',' {
			return s[:i], s[i+1:], true
		}
	}
	return s, "", false
}

// trim is strings.TrimSpace, which text without white space at its ends does not pay for.
func trim(s string) string {
	if n := len(s); n > 0 && s[0]-'!' < 0x5e && s[n-1]-'!' < 0x5e {
		return s
	}
	return strings.TrimSpace(s)
}

// isArray reports whether text is meant as an array of JSON. As a string may start
// with a bracket, an array of strings must show that it is one.
func (r *fromJSON) isArray(text string, elem schema.Kind) bool {
	if !strings.HasPrefix(text, "[") {
		return false
	}
	if elem == schema.String || elem == schema.Binary && r.conv.opts.rawBinary {
		rest := strings.TrimLeft(text[1:], " ")
		return strings.HasPrefix(rest, `"`) || rest == "]"
	}
	return true
}

// fromText reads a value of type t. ok is false without a fault if the text
// stands for no value, which optional allows.
func (r *fromJSON) fromText(dst []byte, t *typ, text string, optional bool) (out []byte, ok bool) {
	if text == "" && optional && r.http.opts.emptyAbsent {
		return dst, false
	}
	if t.kind <= schema.String {
		return r.plainValue(dst, t.kind, text)
	}
	switch t.kind {
	case schema.Binary:
		if r.conv.opts.rawBinary {
			return r.plainText(dst, text)
		}
	case schema.Enum:
		if v, err := strconv.ParseInt(text, 10, 32); err == nil {
			return thriftwire.AppendI32(dst, int32(v)), true
		}
	case kindSpecial:
		if t.special.what == boundStruct {
			return r.fromText(dst, &t.special.plain, text, optional)
		}
		if t.special.what == textNumber {
			if text == "" && t.special.plain.plainKind() != schema.String {
				text = "0"
			}
			return r.fromText(dst, &t.special.plain, text, optional)
		}
	case schema.UUID:
	default:
		return r.fromJSONText(dst, t, text)
	}
	m := r.memory()
	m.part = append(m.part[:0], text...)
	return r.parse(dst, m.part, t, failed)
}

// plainValue reads text of a kind up to String.
func (r *fromJSON) plainValue(dst []byte, kind schema.Kind, text string) (out []byte, ok bool) {
	switch kind {
	case schema.String:
		return r.plainText(dst, text)
	case schema.Bool:
		v, err := strconv.ParseBool(text)
		if err != nil {
			return dst, r.noValue(kind.String(), text, diag.Syntax)
		}
		return thriftwire.AppendBool(dst, v), true
	case schema.Float, schema.Double:
		return r.textFloat(dst, kind, text)
	}
	return r.textInteger(dst, kind, text)
}

func (r *fromJSON) textInteger(dst []byte, kind schema.Kind, text string) ([]byte, bool) {
	if text == "" && r.conv.opts.emptyNumbers {
		return appendInteger(dst, 0, kind), true
	}
	if v, ok := digits(text); ok && v>>(intBits[kind]-1) == 0 {
		return appendInteger(dst, v, kind), true
	}
	v, err := strconv.ParseInt(text, 10, intBits[kind])
	switch {
	case err == nil:
		return appendInteger(dst, v, kind), true
	case errors.Is(err, strconv.ErrRange):
		r.fail(diag.OutOfRange, failed, fmt.Sprintf("%s is not in the range of %s", pathKey([]byte(text)), kind))
		return dst, false
	}
	return dst, r.noValue(kind.String(), text, diag.Syntax)
}

// digits reads text that is up to 18 digits.
func digits(text string) (v int64, ok bool) {
	if len(text)-1 >= 18 || text == "" {
		return 0, false
	}
	for i := range len(text) {
		c := text[i] - '0'
		if c > 9 {
			return 0, false
		}
		v = v*10 + int64(c)
	}
	return v, true
}

func (r *fromJSON) textFloat(dst []byte, kind schema.Kind, text string) ([]byte, bool) {
	if text == "" && r.conv.opts.emptyNumbers {
		return appendFloating(dst, 0, kind), true
	}
	bits := 64
	if kind == schema.Float {
		bits = 32
	}
	v, err := strconv.ParseFloat(text, bits)
	switch {
	case err == nil && (v-v == 0 || r.conv.opts.nonFinite == NonFiniteStrings):
		return appendFloating(dst, v, kind), true
	case err == nil:
		return dst, r.noValue(kind.String(), text, diag.InvalidData)
	case errors.Is(err, strconv.ErrRange) && math.IsInf(v, 0):
		return dst, r.noValue(kind.String(), text, diag.OutOfRange)
	}
	return dst, r.noValue(kind.String(), text, diag.Syntax)
}

// plainText writes text as a string.
func (r *fromJSON) plainText(dst []byte, text string) ([]byte, bool) {
	if !utf8.ValidString(text) {
		if !r.conv.opts.lossyText {
			r.fail(diag.InvalidData, failed, "the text is not UTF-8")
			return dst, false
		}
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	if dst = thriftwire.AppendString(dst, text); len(dst) > r.limit {
		r.tooLarge(failed)
	}
	return dst, r.fault == nil
}

// noValue is the fault for text that is no value of a type.
func (r *fromJSON) noValue(kind, text string, code diag.Code) bool {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) > shownKey {
		text = strings.ToValidUTF8(text[:shownKey], "") + "…"
	}
	r.fail(code, failed, fmt.Sprintf("%q is no value of type %s", text, kind))
	return false
}

// fromJSONText reads text that must be one JSON value of type t. null stands
// for no value.
func (r *fromJSON) fromJSONText(dst []byte, t *typ, text string) (out []byte, ok bool) {
	if strings.TrimSpace(text) == "null" {
		return dst, false
	}
	m := r.memory()
	m.part = append(m.part[:0], text...)
	body := r.in
	r.in, r.http.text = m.part, true
	dst, p := r.value(dst, r.space(0), t)
	if p >= 0 {
		p = r.atEnd(p)
	}
	r.in, r.http.text = body, false
	return dst, p >= 0
}
