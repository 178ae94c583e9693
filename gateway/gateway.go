package gateway

import (
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
)

// This file serves requests.

// Gateway is an http.Handler that calls Thrift services. It is safe for
// concurrent use.
type Gateway struct {
	options options
	backend rpc.Caller
	// A request takes the table once, so that it sees one table throughout.
	table atomic.Pointer[table]
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
		g.fail(w, r, err, nil)
		return
	}
	t := g.table.Load()
	path := r.URL.EscapedPath()
	rt, params, allowed := t.lookup(r.Method, path)
	switch {
	case rt != nil:
		g.call(w, r, rt, params)
	case path == "/" && (r.Method == http.MethodGet || r.Method == http.MethodHead):
		write(w, http.StatusOK, "application/json", t.index)
	case len(allowed) == 0:
		g.fail(w, r, &failure{http.StatusNotFound, "no route has this path; GET / lists the routes"}, nil)
	default:
		w.Header().Set("Allow", strings.Join(allowed, ", "))
		if r.Method == http.MethodOptions {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		g.fail(w, r, &failure{http.StatusMethodNotAllowed, "the path takes " + strings.Join(allowed, ", ")}, nil)
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
	in := &input{request: r, params: params}
	args, err := g.arguments(w, rt, in)
	if err != nil {
		g.fail(w, r, err, in)
		return
	}
	ctx := r.Context()
	if g.options.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, g.options.timeout)
		defer cancel()
	}
	result, err := rt.method.CallJSON(ctx, rt.caller, args)
	switch {
	case err != nil:
		g.fail(w, r, err, in)
	case result == nil:
		w.WriteHeader(rt.status)
	default:
		write(w, rt.status, "application/json", append(result, '\n'))
	}
}

// arguments reads what rt needs of the request and returns the arguments as JSON.
func (g *Gateway) arguments(w http.ResponseWriter, rt *route, in *input) ([]byte, error) {
	b := rt.binding
	if b == nil || b.uses[inBody] || b.uses[inForm] || b.uses[inRawBody] {
		if err := g.readBody(w, in); err != nil {
			return nil, err
		}
	}
	if len(in.body) > 0 && (b == nil || b.uses[inBody] || b.uses[inForm]) {
		if err := in.checkType(b); err != nil {
			return nil, err
		}
	}
	if b == nil {
		return in.body, nil
	}
	if err := b.assemble(in); err != nil {
		return nil, err
	}
	return in.out, nil
}

// readBody reads the whole body, of at most the limit. Memory grows with what
// arrives, not with what the request claims.
func (g *Gateway) readBody(w http.ResponseWriter, in *input) error {
	tooLarge := &failure{http.StatusRequestEntityTooLarge, "the body is larger than " + strconv.FormatInt(g.options.maxBody, 10) + " bytes"}
	if in.request.ContentLength > g.options.maxBody {
		return tooLarge
	}
	if in.request.Body == nil {
		return nil
	}
	body, err := io.ReadAll(http.MaxBytesReader(w, in.request.Body, g.options.maxBody))
	var limit *http.MaxBytesError
	switch {
	case errors.As(err, &limit):
		return tooLarge
	case err != nil:
		return &failure{http.StatusBadRequest, "the body cannot be read"}
	}
	in.body = body
	return nil
}

// checkType checks the body's media type and parses a form.
func (in *input) checkType(b *binding) error {
	form := b != nil && b.uses[inForm]
	text := in.request.Header.Get("Content-Type")
	media, _, err := mime.ParseMediaType(text)
	switch {
	case text == "" || err == nil && (media == "application/json" || strings.HasSuffix(media, "+json")):
		return nil
	case err == nil && form && media == "application/x-www-form-urlencoded":
		if in.form, err = url.ParseQuery(string(in.body)); err != nil {
			return &failure{http.StatusBadRequest, "the form cannot be read"}
		}
		return nil
	}
	want := "application/json"
	if form {
		want += " or application/x-www-form-urlencoded"
	}
	return &failure{http.StatusUnsupportedMediaType, "the body must be " + want}
}

// fail answers with the problem document of err.
func (g *Gateway) fail(w http.ResponseWriter, r *http.Request, err error, in *input) {
	p := problem(err, in, g.options.tell)
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
