package gateway

import (
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file says where a route's arguments come from. Package transcode compiles
// and runs it.

// binding is where all arguments of a route come from.
type binding struct {
	method *generic.Method
	uses   [transcode.InRawURI + 1]bool // parts of a request
	names  []string                     // of the path's parameters
}

// binder answers what transcode asks while it compiles one binding.
type binder struct {
	*binding
	pattern pattern
	body    bool // whether the HTTP method's parameters stand in the body
	errs    []error
}

// newBinding compiles the arguments of m for the route (verb, p).
func newBinding(m *schema.Method, verb string, p pattern, o *options) (*binding, error) {
	b := &binder{binding: &binding{names: p.names()}, pattern: p, body: true}
	switch verb {
	case "GET", "HEAD", "DELETE", "OPTIONS":
		b.body = false
	}
	var err error
	b.method, err = generic.NewMethod(m, generic.Conversion(o.conversion...), generic.HTTP(o.mapping...),
		generic.HTTP(transcode.RequestParts(b.parts), transcode.UsualParts(b.usual)))
	if err == nil {
		err = b.method.CompileHTTP()
	}
	return b.binding, errors.Join(append(b.errs, err)...)
}

// parts returns where the annotations of f look for it on this route.
func (b *binder) parts(f *schema.Field) []transcode.Part {
	all := transcode.AnnotatedParts(f)
	if all == nil {
		return nil
	}
	var here []transcode.Part
	for _, p := range all {
		if p.Place == transcode.InPath && b.pattern.index(p.Name) < 0 {
			continue // another route of the method has the parameter
		}
		if int(p.Place) < len(b.uses) {
			b.uses[p.Place] = true
		}
		here = append(here, p)
	}
	if here == nil {
		b.errs = append(b.errs, fmt.Errorf("%s comes from the path, but %s has no parameter %s", f.Name(), b.pattern.text, all[0].Name))
		return all
	}
	return here
}

// usual returns where a field without annotations comes from.
func (b *binder) usual(f *schema.Field) []transcode.Part {
	p := transcode.Part{Place: transcode.InQuery, Name: f.Name()}
	switch {
	case b.pattern.index(f.Name()) >= 0:
		p.Place = transcode.InPath
	case b.body:
		p.Place = transcode.InBody
	}
	b.uses[p.Place] = true
	return []transcode.Part{p}
}
