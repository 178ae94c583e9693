package transcode

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file converts the arguments and results of a method.

// Method converts what one method of a service takes and returns: its
// arguments, none or several, as one JSON object by name; a result or a
// declared exception as the JSON of its value. It is immutable and safe for
// concurrent use.
type Method struct {
	def    *schema.Method
	args   *Converter
	result *Converter // nil for a oneway method
}

// NewMethod compiles m. It fails as New does, and for methods that stream.
func NewMethod(m *schema.Method, opts ...Option) (*Method, error) {
	if m.Stream() != nil {
		return nil, diag.NewFault(diag.Unsupported, -1, m.Name()+" streams; only single requests and replies are converted")
	}
	o := newOptions()
	for _, opt := range opts {
		opt(&o)
	}
	c := &Method{def: m, args: newConverter(o)}
	k, err := c.args.compile(false, m.Args())
	if err == nil && o.base {
		err = k.bindBases(m.Args())
	}
	if err != nil || m.Result() == nil {
		return c, err
	}
	c.result = newConverter(o)
	if k, err = c.result.compile(false, m.Result()); err == nil && o.base {
		err = k.bindBases(m.Result())
	}
	return c, err
}

// Schema returns the method.
func (c *Method) Schema() *schema.Method { return c.def }

// AppendArgsThrift converts a JSON object of the arguments and appends their
// struct. No JSON stands for no arguments. Otherwise it is [Converter.AppendThrift].
func (c *Method) AppendArgsThrift(dst, json []byte) ([]byte, error) {
	return c.args.AppendThrift(dst, orEmpty(json))
}

// AppendArgsThriftBase is AppendArgsThrift for converters with the option
// [Base]: the base goes into the arguments that have a place for it and are there.
func (c *Method) AppendArgsThriftBase(dst, json, base []byte) ([]byte, error) {
	return c.args.AppendThriftBase(dst, orEmpty(json), base)
}

func orEmpty(json []byte) []byte {
	if len(json) == 0 {
		return []byte("{}")
	}
	return json
}

// AppendArgsJSON converts the struct of the arguments at the front of thrift to a
// JSON object. It is [Converter.AppendJSON].
func (c *Method) AppendArgsJSON(dst, thrift []byte) (out []byte, n int, err error) {
	return c.args.AppendJSON(dst, thrift)
}

// AppendResultJSON converts the struct of the result at the front of thrift. It
// appends the JSON of what that holds and returns its field: that with the
// id 0 for a result, one of the throws clause for an exception, which goes before a
// result; nil, and nothing appended, if it holds neither. On an error dst comes
// back as it was. The result does not alias thrift.
func (c *Method) AppendResultJSON(dst, thrift []byte) (out []byte, field *schema.Field, err error) {
	out, field, _, err = c.AppendResultJSONBase(dst, thrift)
	return out, field, err
}

// AppendResultJSONBase is AppendResultJSON for converters with the option
// [Base], and returns the base of the reply, which aliases thrift; nil if it has none.
func (c *Method) AppendResultJSONBase(dst, thrift []byte) (out []byte, field *schema.Field, base []byte, err error) {
	if c.result == nil {
		return dst, nil, nil, diag.NewFault(diag.Unsupported, -1, c.def.Name()+" is oneway and has no result")
	}
	var w toJSON
	w.start(c.result, dst, thrift)
	if c.result.opts.base {
		w.http = &w.memory().http
	}
	i, p := -1, failed
	out = dst
	if !w.tooLong() {
		out, i, p = w.outcome(dst, c.result.root.strct)
	}
	if w.http != nil {
		base = w.http.base
	}
	c.result.release(w.mem)
	switch {
	case p < 0:
		return dst, nil, nil, w.fault
	case i < 0:
		return dst, nil, nil, nil
	}
	return out, c.def.Result().Fields()[i], base, nil
}

// outcome writes the value that a method's result struct holds and returns the
// index of its field, -1 if there is none.
func (w *toJSON) outcome(dst []byte, t *structTable) (out []byte, found, p int) {
	from := len(dst)
	found = -1
	for {
		if p >= len(w.in) {
			return dst, found, w.wireError(thriftwire.ErrEOF, p)
		}
		if w.in[p] == byte(thriftwire.Stop) {
			return dst, found, p
		}
		i, at := -1, p
		if i, p = w.outcomeHeader(p, t); p < 0 {
			return dst, found, p
		}
		switch {
		case i < 0:
			p = w.unknown(p, at, t)
		case found >= 0 && t.fields[found].id != 0: // the first exception stays
			end, code := thriftwire.SkipAt(w.in, p, t.fields[i].typ.wire, w.depth)
			if p = end; code < 0 {
				p = w.wireError(code, end)
			}
		default:
			if found = i; w.mem != nil { // an exception takes the place of a result
				w.mem.parts, w.mem.part = w.mem.parts[:0], w.mem.part[:0]
			}
			if dst, p = w.value(dst[:from], p, &t.fields[i].typ); p < 0 {
				w.fault.Field(t.fields[i].name)
			}
		}
		if p < 0 {
			return dst, found, p
		}
	}
}

// outcomeHeader is header, but refuses a value of another type than the schema
// has: what a caller waits for is not unknown.
func (w *toJSON) outcomeHeader(p int, t *structTable) (int, int) {
	i, next := w.header(p, t, 0)
	if i >= 0 || next < 0 {
		return i, next
	}
	wire, id, _ := thriftwire.ConsumeField(w.in[p:])
	if i = t.byID(id); i < 0 {
		return i, next
	}
	next = w.mismatch(p, wireName(t.fields[i].typ.wire), wireName(wire))
	w.fault.Field(t.fields[i].name)
	return i, next
}

// AppendResultThrift converts the JSON of a result or exception and appends the
// struct of the result that holds it in field, which is nil for a method that returns
// nothing; json is then not looked at. Otherwise it is as [Converter.AppendThrift].
func (c *Method) AppendResultThrift(dst []byte, field *schema.Field, json []byte) ([]byte, error) {
	switch {
	case c.result == nil:
		return dst, diag.NewFault(diag.Unsupported, -1, c.def.Name()+" is oneway and has no result")
	case field == nil:
		return thriftwire.AppendStop(dst), nil
	case c.def.Result().FieldByID(field.ID()) != field:
		return dst, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("%s has no result or exception %s", c.def.Name(), field.Name()))
	}
	f := &c.result.root.strct.fields[field.Index()]
	var r fromJSON
	r.start(c.result, dst, json)
	out, err := c.result.whole(&r, append(dst, f.head[:]...), &f.typ)
	if err != nil {
		return dst, err
	}
	return thriftwire.AppendStop(out), nil
}
