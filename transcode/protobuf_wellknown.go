package transcode

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file knows the messages of google.protobuf that have a JSON form of
// their own, and writes them.

// protoForm is what the JSON of a message is.
type protoForm uint8

const (
	formPlain     protoForm = iota // an object by field name
	formBare                       // that of its only field
	formValue                      // that of the field that is set
	formTimestamp                  // a string
	formDuration                   // a string
	formFieldMask                  // a string
	formAny                        // unsupported
)

// protoForms has the forms by name and the kinds of their fields from number 1 on.
var protoForms = map[string]struct {
	form  protoForm
	kinds []schema.Kind
}{
	"BoolValue":   {formBare, []schema.Kind{schema.Bool}},
	"Int32Value":  {formBare, []schema.Kind{schema.I32}},
	"UInt32Value": {formBare, []schema.Kind{schema.U32}},
	"Int64Value":  {formBare, []schema.Kind{schema.I64}},
	"UInt64Value": {formBare, []schema.Kind{schema.U64}},
	"FloatValue":  {formBare, []schema.Kind{schema.Float}},
	"DoubleValue": {formBare, []schema.Kind{schema.Double}},
	"StringValue": {formBare, []schema.Kind{schema.String}},
	"BytesValue":  {formBare, []schema.Kind{schema.Binary}},
	"Struct":      {formBare, []schema.Kind{schema.Map}},
	"ListValue":   {formBare, []schema.Kind{schema.List}},
	"Value":       {formValue, []schema.Kind{schema.Enum, schema.Double, schema.String, schema.Bool, schema.Struct, schema.Struct}},
	"Timestamp":   {formTimestamp, []schema.Kind{schema.I64, schema.I32}},
	"Duration":    {formDuration, []schema.Kind{schema.I64, schema.I32}},
	"FieldMask":   {formFieldMask, []schema.Kind{schema.List}},
	"Any":         {formAny, []schema.Kind{schema.String, schema.Binary}},
}

// formOf returns the form of d: by its full name, if its fields are those that
// a message of that name has.
func formOf(d *schema.StructDef) protoForm {
	const pkg = "google.protobuf."
	name := d.FullName()
	if len(name) <= len(pkg) || name[:len(pkg)] != pkg {
		return formPlain
	}
	known, ok := protoForms[name[len(pkg):]]
	if !ok || len(d.Fields()) != len(known.kinds) {
		return formPlain
	}
	for i, f := range d.Fields() {
		if f.ID() != int32(i)+1 || f.Type().Kind() != known.kinds[i] || f.Type().Encoding() != schema.StandardEncoding {
			return formPlain
		}
	}
	return known.form
}

// wellKnown writes a message that has a form of its own.
func (w *protoToJSON) wellKnown(dst, in []byte, p int, t *protoTable, group int32) ([]byte, int) {
	start := p
	switch t.form {
	case formTimestamp, formDuration:
		seconds, nanos, p := w.instant(in, p, t, group)
		if p < 0 {
			return dst, p
		}
		var ok bool
		if t.form == formTimestamp {
			dst, ok = appendTimestamp(dst, seconds, nanos)
		} else {
			dst, ok = appendDuration(dst, seconds, nanos)
		}
		if !ok {
			return dst, w.fail(diag.OutOfRange, start, fmt.Sprintf("%d seconds and %d nanoseconds are no %s", seconds, nanos, t.name))
		}
		return dst, p
	case formFieldMask:
		return w.fieldMask(dst, in, p, t, group)
	}
	from := len(dst)
	if w.merge {
		dst, p = w.mergedFields(dst, in, p, t, group)
	} else {
		dst, p = w.fields(dst, in, p, t, group, 0)
	}
	switch {
	case p < 0:
		return dst, p
	case t.form == formAny && len(dst) == from:
		return append(dst, '{', '}'), p
	case t.form == formAny:
		return dst, w.fail(diag.Unsupported, start, "the message in a google.protobuf.Any has no known schema")
	case len(dst) > from:
		return dst[:len(dst)-1], p // without the comma
	case t.form == formValue:
		return dst, w.fail(diag.InvalidUnion, start, t.name+" needs a value")
	}
	switch f := &t.fields[0]; f.shape {
	case repeated:
		return append(dst, '[', ']'), p
	case mapped:
		return append(dst, '{', '}'), p
	default:
		return w.zero(dst, p, &f.typ)
	}
}

// instant reads the two fields of a Timestamp or Duration and returns the
// position after it.
func (w *protoToJSON) instant(in []byte, p int, t *protoTable, group int32) (seconds int64, nanos int32, end int) {
	for _, x := range w.take([]piece{{p, len(in), group}}) {
		var done bool
		for p = x.from; p < x.to && !done; {
			at := p
			number, wire, n := protowire.ConsumeTag(w.state.in[p:x.to])
			if n < 0 {
				return 0, 0, w.protoError(n, p)
			}
			p += n
			if wire != protowire.Varint || number > 2 {
				if p, done = w.stranger(w.state.in[:x.to], p, at, t, t.byNumber(number), x.group); p < 0 {
					return 0, 0, p
				}
				continue
			}
			u, n := protowire.ConsumeVarint(w.state.in[p:x.to])
			if n < 0 {
				return 0, 0, w.protoError(n, p)
			}
			p += n
			if number == 1 {
				seconds = int64(u)
			} else {
				nanos = int32(u)
			}
		}
		if x.group != 0 && !done {
			return 0, 0, w.protoError(protowire.ErrEOF, p)
		}
	}
	return seconds, nanos, p
}

// fieldMask writes the paths of a FieldMask with commas between them.
func (w *protoToJSON) fieldMask(dst, in []byte, p int, t *protoTable, group int32) ([]byte, int) {
	dst = append(dst, '"')
	from := len(dst)
	for _, x := range w.take([]piece{{p, len(in), group}}) {
		var done bool
		for p = x.from; p < x.to && !done; {
			at := p
			number, wire, n := protowire.ConsumeTag(w.state.in[p:x.to])
			if n < 0 {
				return dst, w.protoError(n, p)
			}
			p += n
			if number != 1 || wire != protowire.Bytes {
				if p, done = w.stranger(w.state.in[:x.to], p, at, t, t.byNumber(number), x.group); p < 0 {
					return dst, p
				}
				continue
			}
			path, n := protowire.ConsumeBytes(w.state.in[p:x.to])
			if n < 0 {
				return dst, w.protoError(n, p)
			}
			if len(dst) > from {
				dst = append(dst, ',')
			}
			var ok bool
			if dst, ok = appendCamelPath(dst, path); !ok {
				return dst, w.fail(diag.InvalidValue, p, fmt.Sprintf("the path %q has no form in JSON", shorten(path)))
			}
			p += n
		}
		if x.group != 0 && !done {
			return dst, w.protoError(protowire.ErrEOF, p)
		}
	}
	if len(dst) > w.limit {
		return dst, w.tooLarge(p)
	}
	return append(dst, '"'), p
}

// appendCamelPath turns the names of a path into lowerCamelCase, if that can be
// turned back, and if each is a name.
func appendCamelPath(dst, path []byte) ([]byte, bool) {
	word := false // whether a name has begun
	for i := 0; i < len(path); i++ {
		c := path[i]
		switch {
		case 'a' <= c && c <= 'z':
			word = true
		case '0' <= c && c <= '9' && word:
		case c == '.' && word:
			word = false
		case c == '_' && i+1 < len(path) && 'a' <= path[i+1] && path[i+1] <= 'z':
			i++
			c = path[i] - 'a' + 'A'
			word = true
		default:
			return dst, false
		}
		dst = append(dst, c)
	}
	return dst, word
}

// appendTimestamp appends the time at that distance from 1970 as a JSON string,
// if its year has four digits.
func appendTimestamp(dst []byte, seconds int64, nanos int32) ([]byte, bool) {
	if seconds < minTimestamp || seconds > maxTimestamp || nanos < 0 || nanos >= second {
		return dst, false
	}
	days := seconds / secondsPerDay
	rest := seconds % secondsPerDay
	if rest < 0 {
		days, rest = days-1, rest+secondsPerDay
	}
	year, month, day := civil(days)
	dst = append(dst, '"')
	dst = appendDigits(dst, year, 4)
	dst = appendDigits(append(dst, '-'), month, 2)
	dst = appendDigits(append(dst, '-'), day, 2)
	dst = appendDigits(append(dst, 'T'), int(rest/3600), 2)
	dst = appendDigits(append(dst, ':'), int(rest/60%60), 2)
	dst = appendDigits(append(dst, ':'), int(rest%60), 2)
	dst = appendFraction(dst, int(nanos))
	return append(dst, 'Z', '"'), true
}

// appendDuration appends seconds with a fraction as a JSON string, if both
// numbers have one sign and are in the range of a Duration.
func appendDuration(dst []byte, seconds int64, nanos int32) ([]byte, bool) {
	if seconds < -maxDuration || seconds > maxDuration || nanos <= -second || nanos >= second ||
		seconds > 0 && nanos < 0 || seconds < 0 && nanos > 0 {
		return dst, false
	}
	dst = append(dst, '"')
	if seconds < 0 || nanos < 0 {
		dst = append(dst, '-')
		seconds, nanos = -seconds, -nanos
	}
	dst = appendFraction(jsonwire.AppendInt(dst, seconds), int(nanos))
	return append(dst, 's', '"'), true
}

// appendFraction appends a fraction of a second with 3, 6 or 9 digits, or
// nothing if there is none.
func appendFraction(dst []byte, nanos int) []byte {
	switch {
	case nanos == 0:
		return dst
	case nanos%1e6 == 0:
		return appendDigits(append(dst, '.'), nanos/1e6, 3)
	case nanos%1e3 == 0:
		return appendDigits(append(dst, '.'), nanos/1e3, 6)
	default:
		return appendDigits(append(dst, '.'), nanos, 9)
	}
}

// appendDigits appends the last n decimal digits of v.
func appendDigits(dst []byte, v, n int) []byte {
	at := len(dst)
	for range n {
		dst = append(dst, '0')
	}
	for i := len(dst) - 1; i >= at; i-- {
		dst[i] += byte(v % 10)
		v /= 10
	}
	return dst
}
