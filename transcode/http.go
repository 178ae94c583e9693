package transcode

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the converters between HTTP and Thrift.

// HTTPConverter converts requests to one struct type, and values of it to
// replies. It is immutable and safe for concurrent use.
type HTTPConverter struct {
	program
	reply typ
}

// program is what reads requests of one struct, and a compiler for what else
// its converter needs.
type program struct {
	conv  *Converter
	http  *httpOptions
	root  *bound // nil for unions, which are the body
	slots int32
	given int32 // how many lists of sources may be asked again; 0 if none is
}

// NewHTTP compiles t. Options of the conversion have the defaults of [New], but for
// FieldNames([AnnotatedName]) and ValueCodecs([AnnotatedCodec]). It fails with code Unsupported
// for what has no conversion, and for annotations that do not suit their fields.
func NewHTTP(t *schema.StructDef, opts ...HTTPOption) (*HTTPConverter, error) {
	p, k, err := newProgram(opts, AnnotatedName, t)
	if err != nil {
		return nil, err
	}
	if err := p.bind(k, t); err != nil {
		return nil, err
	}
	r := replyBinder{k, p.http, map[*schema.StructDef]*reply{}}
	out, err := r.typ(t.Type(), typ{kind: schema.Struct, wire: thriftwire.Struct, strct: k.structs[t]}, true)
	return &HTTPConverter{p, out}, err
}

// newProgram compiles t, and more besides, without their parts. names is the
// default of FieldNames.
func newProgram(opts []HTTPOption, names func(*schema.Field) string, t *schema.StructDef, more ...*schema.StructDef) (program, *compiler, error) {
	h := &httpOptions{options: newOptions(), requestParts: AnnotatedParts, replyParts: AnnotatedReplyParts}
	h.fieldName, h.codec = names, AnnotatedCodec
	for _, o := range opts {
		o.applyHTTP(h)
	}
	nowhere := func(*schema.Field) []Part { return nil }
	if h.requestParts == nil {
		h.requestParts = nowhere
	}
	if h.replyParts == nil {
		h.replyParts = nowhere
	}
	c := newConverter(h.options)
	k, err := c.compile(true, t, more...)
	return program{conv: c, http: h}, k, err
}

// bind compiles t as the request struct.
func (p *program) bind(k *compiler, t *schema.StructDef) (err error) {
	if t.Flavor() == schema.Union {
		return nil
	}
	b := k.binder(p.http)
	p.root, err = b.bind(t, true, false)
	if p.slots = b.count; b.many {
		p.given = b.given
	}
	return err
}

// AppendThrift converts req and appends the struct to dst, which must not
// overlap what req holds. On an error dst comes back as it was. A fault in the JSON of the body is a
// *diag.Fault with the offset in the body, one in another part a [*PartError];
// what is missing altogether is a *diag.Fault. The result does not alias req.
//
// The body is read if fields may stand in it; as JSON, unless it is a form, whose
// fields then are the members. An empty body has none.
func (c *HTTPConverter) AppendThrift(dst []byte, req HTTPRequest) ([]byte, error) {
	r := fromJSON{c.conv.start(dst, nil)}
	out := c.read(&r, dst, req)
	return r.finish(dst, out)
}

// read appends the request struct; r.fault tells whether that failed.
func (p *program) read(r *fromJSON, dst []byte, req HTTPRequest) []byte {
	m := r.memory()
	r.http = &m.http
	*r.http = httpRun{req: req, opts: p.http, form: req.IsForm()}
	if p.conv.opts.base {
		if g, ok := req.(interface{ RequestBase() []byte }); ok && !r.give(g.RequestBase()) {
			return dst
		}
	}
	if cap(m.slots) < int(p.slots) {
		m.slots = make([]int32, p.slots)
	}
	m.slots = m.slots[:p.slots]
	clear(m.slots)
	if r.http.repeats = p.given > 0; r.http.repeats {
		m.given = append(m.given[:0], make([]given, p.given)...)
		m.givenBytes = m.givenBytes[:0]
	}
	if !r.http.form {
		r.in = req.Body()
	}
	if r.tooLong() {
		return dst
	}
	at := failed
	if p.root == nil || p.root.direct {
		if at = r.space(0); at == len(r.in) {
			at = failed
		}
	}
	if p.root == nil {
		dst, at = r.value(dst, max(at, 0), &p.conv.root)
	} else {
		dst, at = r.rootRequest(dst, at, p.root)
	}
	if at >= 0 && (p.root == nil || p.root.direct) && !r.http.form {
		r.atEnd(at)
	}
	return dst
}

func (r *fromJSON) rootRequest(dst []byte, at int, b *bound) ([]byte, int) {
	dst, at, _ = r.request(dst, at, b, true)
	return dst, at
}

// finish ends a conversion of a request to out.
func (r *fromJSON) finish(dst, out []byte) ([]byte, error) {
	var err error
	if r.fault != nil {
		out, err = dst, r.fault
		if s := r.http.failed; s != nil {
			err = &PartError{s.place, s.name, r.fault}
		}
	}
	r.conv.release(r.mem)
	return out, err
}

// AppendReply converts the struct at the front of thrift to a reply: it
// appends the body to dst, which must not overlap thrift, and gives the rest to resp
// when all is converted. raw says that the body is a field as it stands, not JSON. On an error
// dst comes back as it was and resp has got nothing. The result does not alias thrift.
func (c *HTTPConverter) AppendReply(dst, thrift []byte, resp HTTPResponse) (out []byte, raw bool, err error) {
	w := toJSON{c.conv.start(dst, thrift)}
	m := w.memory()
	w.http = &m.http
	*w.http = httpRun{resp: resp, opts: c.http}
	p := failed
	out = dst
	if !w.tooLong() {
		out, p = w.value(dst, 0, &c.reply)
	}
	if p >= 0 {
		out, raw = w.send(out, len(dst), 0)
		w.giveBase()
	} else {
		out, err = dst, w.fault
	}
	c.conv.release(w.mem)
	return out, raw, err
}

// giveBase gives the base of the reply to what takes one.
func (w *toJSON) giveBase() {
	if w.http.base == nil {
		return
	}
	if b, ok := w.http.resp.(interface{ SetReplyBase([]byte) }); ok {
		b.SetReplyBase(w.http.base)
	}
}

// HTTPMethod converts requests to the arguments of a method, and its results
// and exceptions to replies. It is immutable and safe for concurrent use.
type HTTPMethod struct {
	program
	def      *schema.Method
	only     *field // the argument that is the request struct; nil if the arguments are
	result   *structTable
	success  int   // the status of a result
	statuses []int // by index in result
}

// NewHTTPMethod compiles m. A method's only argument is the request struct if it is a struct
// that no annotation looks for in a part of the request; otherwise the
// arguments are together. It fails as [NewHTTP] does, and for methods that stream.
func NewHTTPMethod(m *schema.Method, opts ...HTTPOption) (*HTTPMethod, error) {
	if m.Stream() != nil {
		return nil, diag.NewFault(diag.Unsupported, -1, m.Name()+" streams; only single requests and replies are converted")
	}
	var results []*schema.StructDef
	if m.Result() != nil {
		results = append(results, m.Result())
	}
	p, k, err := newProgram(opts, AnnotatedNames(m), m.Args(), results...)
	if err != nil {
		return nil, err
	}
	c := &HTTPMethod{program: p, def: m}
	if c.success, err = SuccessStatus(m); err != nil {
		return nil, err
	}
	request := m.Args()
	if f := m.Args().Fields(); len(f) == 1 && f[0].Type().Kind() == schema.Struct &&
		f[0].Type().Struct().Flavor() == schema.PlainStruct && p.http.requestParts(f[0]) == nil {
		c.only, request = &k.structs[request].fields[0], f[0].Type().Struct()
	}
	if err := c.bind(k, request); err != nil || m.Result() == nil {
		return c, err
	}
	return c, c.compileResult(k)
}

// compileResult compiles what the method returns.
func (c *HTTPMethod) compileResult(k *compiler) (err error) {
	result := *k.structs[c.def.Result()]
	c.result, result.fields = &result, append([]field(nil), result.fields...)
	b := replyBinder{k, c.http, map[*schema.StructDef]*reply{}}
	for i, f := range c.def.Result().Fields() {
		t := &result.fields[i]
		status := c.success
		if f.ID() != 0 {
			status, err = ExceptionStatus(f)
		}
		if err == nil && (f.ID() == 0 || c.http.convertExceptions) {
			t.typ, err = b.typ(f.Type(), t.typ, true)
		}
		if err != nil {
			return err
		}
		c.statuses = append(c.statuses, status)
	}
	return nil
}

// Schema returns the method.
func (c *HTTPMethod) Schema() *schema.Method { return c.def }

// AppendArgs converts req and appends the struct of the arguments. Otherwise
// it is [HTTPConverter.AppendThrift].
func (c *HTTPMethod) AppendArgs(dst []byte, req HTTPRequest) ([]byte, error) {
	r := fromJSON{c.conv.start(dst, nil)}
	if c.only == nil {
		return r.finish(dst, c.read(&r, dst, req))
	}
	out := c.read(&r, append(dst, c.only.head[:]...), req)
	if r.fault != nil {
		r.fault.Field(c.only.name)
	}
	return r.finish(dst, thriftwire.AppendStop(out))
}

// Body is what the body of a reply holds.
type Body uint8

const (
	NoBody   Body = iota // nothing
	JSONBody             // JSON
	RawBody              // a field as it stands
)

// Exception is the error of a result struct that holds a declared exception.
type Exception struct {
	Field *schema.Field // of the throws clause; its type is the exception's
	JSON  []byte        // the exception's fields
}

// Error renders the exception's name and fields.
func (e *Exception) Error() string { return e.Name() + " " + string(e.JSON) }

// Name returns the name of the exception's type.
func (e *Exception) Name() string { return e.Field.Type().Struct().Name() }

// AppendResult converts the struct of the result at the front of thrift to a
// reply, as [HTTPConverter.AppendReply] does, with the status that [SuccessStatus]
// returns unless a field has another one. An exception, which goes before a result,
// is an [*Exception] unless ConvertExceptions makes it a reply. A method that returns nothing has no
// body; a result struct that holds neither, where something is returned, is a fault
// with code MissingRequired.
func (c *HTTPMethod) AppendResult(dst, thrift []byte, resp HTTPResponse) (out []byte, body Body, err error) {
	if c.result == nil {
		return dst, NoBody, diag.NewFault(diag.Unsupported, -1, c.def.Name()+" is oneway and has no result")
	}
	w := toJSON{c.conv.start(dst, thrift)}
	m := w.memory()
	w.http = &m.http
	*w.http = httpRun{resp: resp, opts: c.http}
	i, p := -1, failed
	out = dst
	if !w.tooLong() {
		out, i, p = w.outcome(dst, c.result)
	}
	out, body, err = c.outcome(&w, dst, out, i, p)
	c.conv.release(w.mem)
	return out, body, err
}

// outcome sends what w has converted, field i of the result.
func (c *HTTPMethod) outcome(w *toJSON, dst, out []byte, i, p int) ([]byte, Body, error) {
	void := c.def.Returns().Kind() == schema.Void
	switch {
	case p < 0:
		return dst, NoBody, w.fault
	case i < 0 && !void:
		return dst, NoBody, diag.NewFault(diag.MissingRequired, p, c.def.Name()+" returned neither a result nor a declared exception")
	case i < 0:
		w.http.resp.SetStatus(c.success)
		return dst, NoBody, nil
	case c.result.fields[i].id != 0 && !c.http.convertExceptions:
		return dst, NoBody, &Exception{c.def.Result().Fields()[i], append([]byte(nil), out[len(dst):]...)}
	}
	out, raw := w.send(out, len(dst), c.statuses[i])
	w.giveBase()
	if raw {
		return out, RawBody, nil
	}
	return out, JSONBody, nil
}
