package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file serves requests.

// Gateway is an http.Handler that calls Thrift services. It is safe for
// concurrent use.
type Gateway struct {
	options options
	backend rpc.Caller
	// A request takes the table once, so that it sees one table throughout.
	table    atomic.Pointer[table]
	requests sync.Pool // of *Request
}

// New compiles the services that files declare, with the methods they
// inherit; services of files that these only include are left out, and so are
// methods that stream. The error joins everything that is wrong: routes
// that conflict, services of the same name, annotations that make no sense.
// backend, which must be safe for concurrent use, makes the calls.
func New(files []*schema.File, backend rpc.Caller, opts ...Option) (*Gateway, error) {
	g := &Gateway{options: defaults(), backend: backend}
	for _, o := range opts {
		o(&g.options)
	}
	if err := g.Replace(files); err != nil {
		return nil, err
	}
	return g, nil
}

// Replace gives the gateway the services of other files, as New takes them.
// Requests that have begun end with the old ones; none waits or fails because of
// it. An error changes nothing.
func (g *Gateway) Replace(files []*schema.File) error {
	t, err := newTable(files, g.backend, &g.options)
	if err != nil {
		return fmt.Errorf("gateway: %w", err)
	}
	g.table.Store(t)
	return nil
}

// ServeHTTP answers one request.
func (g *Gateway) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if err := g.checkLimits(r); err != nil {
		g.fail(w, r, err)
		return
	}
	t := g.table.Load()
	path := r.URL.EscapedPath()
	rt, params, allowed := t.lookup(r.Method, path)
	switch {
	case rt != nil:
		g.call(w, r, rt, params)
	case path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		g.serveIndex(w, r, t)
	case len(allowed) == 0:
		g.fail(w, r, &failure{http.StatusNotFound, "no route has this path; GET / lists the routes"})
	default:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		g.fail(w, r, &failure{http.StatusMethodNotAllowed, "the path takes " + strings.Join(allowed, ", ")})
	}
}

func (g *Gateway) checkLimits(r *http.Request) error {
	if len(r.URL.RequestURI()) > g.options.maxURI {
		return &failure{http.StatusRequestURITooLong, "the URI is longer than " + strconv.Itoa(g.options.maxURI) + " bytes"}
	}
	size := 0
	for name, values := range r.Header {
		for _, v := range values {
			size += len(name) + len(v)
		}
	}
	if size > g.options.maxHeader {
		return &failure{http.StatusRequestHeaderFieldsTooLarge, "the header is larger than " + strconv.Itoa(g.options.maxHeader) + " bytes"}
	}
	return nil
}

// call serves a request that has a route.
func (g *Gateway) call(w http.ResponseWriter, r *http.Request, rt *route, params []string) {
	body, err := g.body(w, r, rt.binding)
	if err != nil {
		g.fail(w, r, err)
		return
	}
	ctx := r.Context()
	if g.options.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.options.timeout)
		defer cancel()
	}
	if rt.binding != nil {
		g.callBound(ctx, w, r, rt, body, params)
		return
	}
	result, err := rt.method.CallJSON(ctx, rt.caller, body.bytes)
	switch {
	case err != nil:
		g.fail(w, r, err)
	case result == nil:
		w.WriteHeader(rt.status)
	default:
		write(w, rt.status, "application/json", append(result, '\n'))
	}
}

// callBound serves a request whose parts are arguments.
func (g *Gateway) callBound(ctx context.Context, w http.ResponseWriter, r *http.Request, rt *route, body requestBody, params []string) {
	in, _ := g.requests.Get().(*Request)
	if in == nil {
		in = new(Request)
	}
	in.Reset(r, body.bytes, body.form, rt.binding.names, params)
	if body.boundary != "" {
		in.form.parts(body.bytes, body.boundary)
	}
	reply := response{header: w.Header()}
	var out []byte
	var kind transcode.Body
	err := in.check(rt.binding)
	if err == nil {
		out, kind, err = rt.binding.method.CallHTTP(ctx, rt.caller, in, &reply)
	}
	in.Reset(nil, nil, false, nil, nil)
	g.requests.Put(in)
	switch {
	case err != nil:
		g.fail(w, r, err)
	case kind == transcode.NoBody:
		w.WriteHeader(reply.status)
	case kind == transcode.RawBody:
		media := w.Header().Get("Content-Type")
		if media == "" {
			media = "application/octet-stream"
		}
		write(w, reply.status, media, out)
	default:
		write(w, reply.status, "application/json", append(out, '\n'))
	}
}

// check refuses a query or form that cannot be read, if b needs it.
func (r *Request) check(b *binding) error {
	switch {
	case b.uses[transcode.InQuery] && !r.CheckQuery():
		return &transcode.PartError{Place: transcode.InQuery, Fault: r.query.fault("query")}
	case r.isForm && !r.CheckForm():
		return &failure{http.StatusBadRequest, r.form.fault("form").Detail}
	}
	return nil
}

// fault says why the query or form cannot be read.
func (v *values) fault(what string) *diag.Fault {
	if v.crowded {
		return diag.NewFault(diag.SizeLimit, -1, "the "+what+" has more than "+strconv.Itoa(maxPairs)+" pairs")
	}
	return diag.NewFault(diag.Syntax, -1, "the "+what+" cannot be read")
}

// requestBody is the body of a request.
type requestBody struct {
	bytes    []byte
	form     bool
	boundary string // of a form in several parts
}

// body reads the body if the arguments need it.
func (g *Gateway) body(w http.ResponseWriter, r *http.Request, b *binding) (body requestBody, err error) {
	typed := b == nil || b.uses[transcode.InBody] || b.uses[transcode.InForm]
	if !typed && !b.uses[transcode.InRawBody] {
		return body, nil
	}
	if body.bytes, err = g.readBody(w, r); err == nil && typed && len(body.bytes) > 0 {
		body.form, body.boundary, err = isForm(r, b)
	}
	return body, err
}

// readBody reads the whole body, of at most the limit. Memory grows with what
// arrives, not with what the request claims.
func (g *Gateway) readBody(w http.ResponseWriter, r *http.Request) ([]byte, error) {
	tooLarge := &failure{http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.FormatInt(g.options.maxBody, 10) + " bytes"}
	if r.ContentLength > g.options.maxBody {
		return nil, tooLarge
	}
	if r.Body == nil {
		return nil, nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, g.options.maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return nil, tooLarge
	case err != nil:
		return nil, &failure{http.StatusBadRequest, "the body cannot be read"}
	}
	return body, nil
}

// isForm checks the body's media type and reports whether it is a form. The
// boundary is that of a form in several parts, else empty.
func isForm(r *http.Request, b *binding) (form bool, boundary string, err error) {
	takes := b != nil && b.uses[transcode.InForm]
	text := r.Header.Get("Content-Type")
	media, params, err := mime.ParseMediaType(text)
	switch {
	case text == "" || err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")):
		return false, "", nil
	case err == nil && takes && media == "application/x-www-form-urlencoded":
		return true, "", nil
	case err == nil && takes && media == "multipart/form-data" && params["boundary"] != "":
		return true, params["boundary"], nil
	}
	want := "application/json"
	if takes {
		want += ", application/x-www-form-urlencoded or multipart/form-data"
	}
	return false, "", &failure{http.StatusUnsupportedMediaType, "the body must be " + want}
}

// fail answers with the problem document of err.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error) {
	p := problem(err, g.options.tell)
	p.Instance = r.URL.EscapedPath()
	g.options.report(r, p.Status, err)
	write(w, p.Status, ProblemType, render(p))
}

func write(w http.ResponseWriter, status int, media string, body []byte) {
	h := w.Header()
	h.Set("Content-Type", media)
	h.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(status)
	w.Write(body) // the client may be gone; nobody is left to tell
}
