package gateway

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file turns the text of a path segment, query value, header, cookie or
// form field into the JSON of a field's value. What the text claims to be is
// checked here so that it cannot become anything else in the assembled JSON;
// whether the value suits the field is the conversion's business.

// maxJSONDepth bounds the nesting of JSON that is spliced into the arguments.
const maxJSONDepth = 128

// appendText appends the JSON for a value of type t that values, which is not
// empty, stands for.
func appendText(dst []byte, t *schema.Type, values []string) ([]byte, error) {
	switch t.Kind() {
	case schema.List, schema.Set:
		return appendElements(dst, t.Elem(), values)
	default:
		return appendOne(dst, t, values[0])
	}
}

// appendElements appends a list, whose elements are repeated values or parts
// of a single one.
func appendElements(dst []byte, elem *schema.Type, values []string) ([]byte, error) {
	if len(values) == 1 {
		text := strings.TrimSpace(values[0])
		switch {
		case text == "":
			return append(dst, "[]"...), nil
		case text[0] == '[' && elem.Kind() >= schema.List:
			return appendJSON(dst, text)
		case elem.Kind() < schema.List:
			values = strings.Split(text, ",")
		}
	}
	dst = append(dst, '[')
	for i, v := range values {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err error
		if dst, err = appendOne(dst, elem, strings.TrimSpace(v)); err != nil {
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendOne(dst []byte, t *schema.Type, text string) ([]byte, error) {
	switch k := t.Kind(); k {
	case schema.Bool:
		switch text {
		case "true", "1":
			return append(dst, "true"...), nil
		case "false", "0":
			return append(dst, "false"...), nil
		}
		return dst, notA(t, text, diag.Syntax)
	case schema.I8, schema.I16, schema.I32, schema.I64:
		v, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return dst, notA(t, text, numberCode(err))
		}
		return jsonwire.AppendInt(dst, v), nil
	case schema.Float, schema.Double:
		v, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return dst, notA(t, text, numberCode(err))
		}
		switch {
		case math.IsNaN(v):
			return append(dst, `"NaN"`...), nil
		case math.IsInf(v, 1):
			return append(dst, `"Infinity"`...), nil
		case math.IsInf(v, -1):
			return append(dst, `"-Infinity"`...), nil
		}
		return jsonwire.AppendFloat(dst, v, 64), nil
	case schema.Enum:
		if v, err := strconv.ParseInt(text, 10, 32); err == nil {
			return jsonwire.AppendInt(dst, v), nil
		}
		return appendString(dst, text)
	case schema.String, schema.Binary, schema.UUID:
		return appendString(dst, text)
	default:
		return appendJSON(dst, text)
	}
}

func appendString(dst []byte, text string) ([]byte, error) {
	out, ok := jsonwire.AppendQuoted(dst, []byte(text))
	if !ok {
		return dst, diag.NewFault(diag.InvalidData, -1, "the text is not UTF-8")
	}
	return out, nil
}

// appendJSON appends text, which must be exactly one JSON value.
func appendJSON(dst []byte, text string) ([]byte, error) {
	value, err := oneValue([]byte(text))
	if err != nil {
		return dst, err
	}
	return append(dst, value...), nil
}

func numberCode(err error) diag.Code {
	if e, ok := err.(*strconv.NumError); ok && e.Err == strconv.ErrRange {
		return diag.OutOfRange
	}
	return diag.Syntax
}

// notA says that text is no value of t, showing no more of it than a line.
func notA(t *schema.Type, text string, code diag.Code) error {
	const shown = 40
	if len(text) > shown {
		text = strings.ToValidUTF8(text[:shown], "") + "…"
	}
	if !utf8.ValidString(text) {
		text = strings.ToValidUTF8(text, "\uFFFD")
	}
	return diag.NewFault(code, -1, fmt.Sprintf("%q is no value of type %s", text, t))
}
