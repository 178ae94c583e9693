package transcode

import (
	"fmt"
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the values whose JSON is another one than their type says:
// one kind beside those of the schema, so that the others do not pay for it.

// kindSpecial is the kind of a typ that its special describes.
const kindSpecial = schema.Struct + 1

// special says how a value is converted.
type special struct {
	what  specialKind
	plain typ // the type without it
	codec ValueCodec
	bound *bound
	reply *reply
}

type specialKind uint8

const (
	unsigned8    specialKind = iota + 1 // an i8 as a number from 0 to 255
	textNumber                          // js_conv: numbers as strings
	embeddedJSON                        // body_dynamic: text that holds JSON, as that JSON
	userCodec                           // as a ValueCodec says
	boundStruct                         // a struct with fields in other parts of an HTTP request
	replyStruct                         // a struct with fields in other parts of an HTTP reply
)

// ValueCodec converts the values of a field in its own way. It must be safe for
// concurrent use and keep none of the slices it is given.
type ValueCodec interface {
	// AppendThrift appends the field's value, in Thrift's binary protocol and
	// without a header, for json, which is one JSON value. What it appends is checked to
	// be one value of the field's wire type.
	AppendThrift(dst, json []byte) ([]byte, error)
	// AppendJSON appends one JSON value for thrift, which is one value of the
	// field's wire type. What it appends is checked to be JSON.
	AppendJSON(dst, thrift []byte) ([]byte, error)
}

// The codecs of the annotations, which the converter knows itself.
type annotated struct{ what specialKind }

func (a annotated) AppendThrift(dst, json []byte) ([]byte, error) { return dst, a.only() }
func (a annotated) AppendJSON(dst, json []byte) ([]byte, error)   { return dst, a.only() }

func (annotated) only() error {
	return diag.NewFault(diag.Unsupported, -1, "this codec works in a Converter only")
}

// AnnotatedCodec returns the codec that the annotations of f ask for, or nil.
//
// api.js_conv and agw.js_conv write numbers as strings, for readers that hold
// numbers as doubles, and read them from strings and numbers; the empty string is
// zero. A field of text also takes a number, as its text. In a list, set or map they
// stand for the elements.
//
// agw.body_dynamic is for text that holds JSON: it stands in JSON as what it
// holds, and any JSON value is read as text. Text that is no JSON is an error.
func AnnotatedCodec(f *schema.Field) ValueCodec {
	a := f.Annotations()
	switch {
	case a.Has("agw.body_dynamic"):
		return annotated{embeddedJSON}
	case a.Has("api.js_conv"), a.Has("agw.js_conv"):
		return annotated{textNumber}
	}
	return nil
}

// plainKind returns the kind that t has in the schema.
func (t *typ) plainKind() schema.Kind {
	if t.kind == kindSpecial {
		return t.special.plain.kind
	}
	return t.kind
}

func (k *compiler) special(s special, plain typ) typ {
	s.plain = plain
	return typ{kind: kindSpecial, wire: plain.wire, special: &s}
}

// fieldType compiles the type of f with what is special about the field.
func (k *compiler) fieldType(f *schema.Field) (typ, error) {
	t, err := k.typ(f.Type())
	if err != nil || k.conv.opts.codec == nil {
		return t, err
	}
	c := k.conv.opts.codec(f)
	if c == nil {
		return t, nil
	}
	a, known := c.(annotated)
	switch {
	case !known:
		return k.special(special{what: userCodec, codec: c}, t), nil
	case a.what == embeddedJSON:
		if kind := t.kind; kind != schema.String && kind != schema.Binary {
			return t, diag.NewFault(diag.Unsupported, -1, "body_dynamic needs a string, not "+f.Type().String())
		}
		return k.special(special{what: embeddedJSON}, t), nil
	}
	return k.textNumbers(t, f)
}

// textNumbers makes t, or its elements, numbers that are text in JSON.
func (k *compiler) textNumbers(t typ, f *schema.Field) (typ, error) {
	switch t.plainKind() {
	case schema.I8, schema.I16, schema.I32, schema.I64, schema.Float, schema.Double, schema.String:
		return k.special(special{what: textNumber}, t), nil
	case schema.List, schema.Set, schema.Map:
		elem, err := k.textNumbers(*t.elem, f)
		t.elem = &elem
		return t, err
	}
	return t, diag.NewFault(diag.Unsupported, -1, "js_conv needs numbers or text, not "+f.Type().String())
}

// special reads the value at p.
func (r *fromJSON) special(dst []byte, p int, t *typ) ([]byte, int) {
	s := t.special
	switch s.what {
	case unsigned8:
		v, n := jsonwire.ConsumeInt(r.in[min(p, len(r.in)):], 16)
		if n < 0 && p < len(r.in) && r.in[p] == '"' && r.conv.opts.numberStrings {
			return r.key(dst, p, t)
		}
		if n >= 0 && (v < 0 || v > math.MaxUint8) {
			n = jsonwire.ErrRange
		}
		if n < 0 {
			return dst, r.number(n, p, "i8 from 0 to 255")
		}
		return append(dst, byte(v)), p + n
	case textNumber:
		return r.textNumber(dst, p, &s.plain)
	case boundStruct:
		if r.http != nil && r.http.text {
			return r.value(dst, p, &s.plain)
		}
		dst, p, _ = r.request(dst, p, s.bound, true)
		return dst, p
	}
	n := jsonwire.Skip(r.in[min(p, len(r.in)):], r.depth)
	if n < 0 {
		return dst, r.jsonError(n, p)
	}
	if s.what == embeddedJSON {
		if dst = thriftwire.AppendBytes(dst, r.in[p:p+n]); len(dst) > r.limit {
			return dst, r.tooLarge(p)
		}
		return dst, p + n
	}
	dst, ok := r.decoded(dst, r.in[p:p+n], t, p)
	if !ok {
		return dst, failed
	}
	return dst, p + n
}

// textNumber reads a number or a string that holds one.
func (r *fromJSON) textNumber(dst []byte, p int, plain *typ) ([]byte, int) {
	quoted := p < len(r.in) && r.in[p] == '"'
	switch {
	case plain.plainKind() == schema.String && !quoted:
		n := jsonwire.SkipNumber(r.in[min(p, len(r.in)):])
		if n < 0 {
			return dst, r.number(n, p, "string or number")
		}
		return thriftwire.AppendBytes(dst, r.in[p:p+n]), p + n
	case !quoted:
		return r.value(dst, p, plain)
	case p+1 < len(r.in) && r.in[p+1] == '"' && plain.plainKind() != schema.String:
		for range plain.wire.FixedSize() {
			dst = append(dst, 0)
		}
		return dst, p + 2
	}
	return r.key(dst, p, plain)
}

// parseSpecial is parse for kindSpecial: text that is no JSON.
func (r *fromJSON) parseSpecial(dst, text []byte, t *typ, p int) ([]byte, bool) {
	s := t.special
	switch s.what {
	case unsigned8:
		v, n := jsonwire.ConsumeInt(text, 16)
		if len(text) == 0 && r.conv.opts.emptyNumbers {
			v, n = 0, 0
		}
		if n == len(text) && v >= 0 && v <= math.MaxUint8 {
			return append(dst, byte(v)), true
		}
		r.fail(diag.OutOfRange, p, fmt.Sprintf("%q is no i8 from 0 to 255", shorten(text)))
		return dst, false
	case userCodec:
		return r.decoded(dst, jsonwire.AppendQuotedLossy(nil, text), t, p)
	case embeddedJSON:
		return thriftwire.AppendBytes(dst, text), true
	}
	return r.parse(dst, text, &s.plain, p)
}

// decoded appends what the user's codec of t makes of json, which stands at p.
func (r *fromJSON) decoded(dst, json []byte, t *typ, p int) ([]byte, bool) {
	from := len(dst)
	out, err := t.special.codec.AppendThrift(dst, json)
	if err != nil {
		r.codecFailed(err, p)
		return dst, false
	}
	if len(out) < from {
		r.fail(diag.InvalidValue, p, "the field's codec took from the output")
		return dst, false
	}
	if n, code := thriftwire.SkipAt(out[from:], 0, t.wire, r.depth); code < 0 || n != len(out)-from {
		r.fail(diag.InvalidValue, p, "the field's codec appended what is no value of type "+t.wire.String())
		return dst, false
	}
	if len(out) > r.limit {
		r.tooLarge(p)
		return dst, false
	}
	return out, true
}

// codecFailed makes err, which a user's codec returned, the fault.
func (s *state) codecFailed(err error, p int) int {
	s.fail(diag.InvalidData, p, err.Error())
	s.fault.Cause = err
	return failed
}

// special writes the value at p.
func (w *toJSON) special(dst []byte, p int, t *typ) ([]byte, int) {
	s := t.special
	switch s.what {
	case unsigned8:
		if !w.need(p, 1) {
			return dst, failed
		}
		return strconv.AppendUint(dst, uint64(w.in[p]), 10), p + 1
	case textNumber:
		from := len(dst)
		if dst, p = w.value(dst, p, &s.plain); p < 0 || dst[from] == '"' || dst[from] == 'n' {
			return dst, p
		}
		return quote(dst, from), p
	case embeddedJSON:
		return w.embedded(dst, p)
	case boundStruct, replyStruct:
		if s.reply == nil {
			return w.value(dst, p, &s.plain)
		}
		return w.reply(dst, p, s.reply)
	}
	end, code := thriftwire.SkipAt(w.in, p, t.wire, w.depth)
	if code < 0 {
		return dst, w.wireError(code, end)
	}
	from := len(dst)
	out, err := s.codec.AppendJSON(dst, w.in[p:end])
	if err != nil {
		return dst, w.codecFailed(err, p)
	}
	if len(out) <= from || jsonwire.Skip(out[from:], w.depth) != len(out)-from {
		return dst, w.fail(diag.InvalidValue, p, "the field's codec appended what is no JSON")
	}
	if len(out) > w.limit {
		return dst, w.tooLarge(p)
	}
	return out, end
}

// embedded writes text that holds JSON, without the white space around it.
func (w *toJSON) embedded(dst []byte, p int) ([]byte, int) {
	b, n := thriftwire.ConsumeBytes(w.in[p:])
	if n < 0 {
		return dst, w.wireError(n, p)
	}
	from := jsonwire.SkipSpace(b)
	size := jsonwire.Skip(b[from:], w.depth)
	if size < 0 || from+size+jsonwire.SkipSpace(b[from+size:]) != len(b) {
		return dst, w.fail(diag.InvalidData, p, "the text is not one JSON value")
	}
	if dst = append(dst, b[from:from+size]...); len(dst) > w.limit {
		return dst, w.tooLarge(p)
	}
	return dst, p + n
}
