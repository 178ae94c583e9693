package gateway

import (
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sort"
	"strings"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file compiles the schema to the table of routes. A table is immutable.

// route is one way to reach a method.
type route struct {
	verb    string // an HTTP method, or anyMethod
	pattern pattern
	method  *generic.Method
	service *schema.Service // the one that was asked for, which may inherit the method
	caller  rpc.Caller      // that calls the method as one of service
	binding *binding        // nil: the body is the arguments
	status  int             // of success, if the body is the arguments
}

func (r *route) String() string {
	if r.verb == anyMethod {
		return "ANY " + r.pattern.text
	}
	return r.verb + " " + r.pattern.text
}

// target names the method that r reaches.
func (r *route) target() string { return r.service.Name() + "." + r.method.Schema().Name() }

type table struct {
	root   node
	routes []*route // in the order of the schema
	index  []byte   // the answer to GET /
}

// verbs are the annotations that make routes.
var verbs = [...]struct{ annotation, verb string }{
	{"api.get", http.MethodGet}, {"api.post", http.MethodPost}, {"api.put", http.MethodPut},
	{"api.delete", http.MethodDelete}, {"api.patch", http.MethodPatch}, {"api.head", http.MethodHead},
	{"api.options", http.MethodOptions}, {"api.any", anyMethod},
}

// newTable compiles the services of files. The error joins all that is wrong.
func newTable(files []*schema.File, backend rpc.Caller, o *options) (*table, error) {
	t := new(table)
	var errs []error
	seen := make(map[string]*schema.Service)
	for _, f := range files {
		for _, s := range f.Services() {
			switch other := seen[s.Name()]; {
			case other == s:
				continue
			case other != nil:
				errs = append(errs, fmt.Errorf("%s: service %s stands in %s already", s.Span().Position(), s.Name(), other.Span().Position()))
				continue
			}
			seen[s.Name()] = s
			caller := backend
			if o.multiplexed {
				caller = rpc.Multiplexed(backend, s.Name())
			}
			for _, m := range s.AllMethods() {
				if m.Stream() == nil {
					errs = append(errs, t.addMethod(s, m, caller, o)...)
				}
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	t.index = t.describe()
	return t, nil
}

// addMethod adds the routes of m as a method of s.
func (t *table) addMethod(s *schema.Service, m *schema.Method, caller rpc.Caller, o *options) (errs []error) {
	said := make(map[string]bool) // each route finds what is wrong with the method anew
	fail := func(err error) {
		if text := err.Error(); !said[text] {
			said[text] = true
			errs = append(errs, fmt.Errorf("%s: %s.%s: %w", m.Span().Position(), s.Name(), m.Name(), err))
		}
	}
	method, err := generic.NewMethod(m, generic.Conversion(o.conversion...))
	if err == nil {
		err = method.CompileJSON()
	}
	if err != nil {
		fail(err)
		return errs
	}
	status, err := transcode.SuccessStatus(m)
	if err != nil {
		fail(err)
	}
	for _, f := range m.Throws() {
		if _, err := transcode.ExceptionStatus(f); err != nil {
			fail(err)
		}
	}
	direct := "/" + s.Name() + "/" + m.Name()
	t.add(&route{
		verb: http.MethodPost, method: method, service: s, caller: caller, status: status,
		pattern: pattern{direct, []segment{{literal, s.Name()}, {literal, m.Name()}}},
	}, fail)
	for _, a := range m.Annotations() {
		i := slices.IndexFunc(verbs[:], func(v struct{ annotation, verb string }) bool { return v.annotation == a.Name })
		if i < 0 {
			continue
		}
		p, err := parsePattern(a.Value)
		if err != nil {
			fail(fmt.Errorf("%s: %w", a.Name, err))
			continue
		}
		b, err := newBinding(m, verbs[i].verb, p, o)
		if err != nil {
			fail(err)
			continue
		}
		t.add(&route{verb: verbs[i].verb, pattern: p, method: method, service: s, caller: caller, binding: b, status: status}, fail)
	}
	return errs
}

func (t *table) add(r *route, fail func(error)) {
	if taken := t.root.add(r); taken != nil {
		if taken.method.Schema() == r.method.Schema() {
			return // inherited from the same service, which answers for all
		}
		fail(fmt.Errorf("the route %s is taken by %s of %s", r, taken, taken.target()))
		return
	}
	t.routes = append(t.routes, r)
}

// lookup returns the route for a request and its parameters, or nil and the
// HTTP methods that its path has.
func (t *table) lookup(verb, escapedPath string) (r *route, params, allowed []string) {
	rest, ok := strings.CutPrefix(escapedPath, "/")
	if !ok {
		return nil, nil, nil
	}
	m := matcher{verb: verb}
	if r = m.match(&t.root, rest); r != nil {
		return r, m.params, nil
	}
	if slices.Contains(m.allowed, http.MethodGet) && !slices.Contains(m.allowed, http.MethodHead) {
		m.allowed = append(m.allowed, http.MethodHead)
	}
	sort.Strings(m.allowed)
	return nil, nil, m.allowed
}
