package gateway

import (
	"fmt"
	"net/textproto"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
)

// This file compiles where a route's arguments come from. assemble.go runs
// what is compiled here.

// place is a part of a request. The order is that in which a field with
// several looks for its value.
type place uint8

const (
	inPath place = iota
	inQuery
	inHeader
	inCookie
	inForm
	inBody
	inRawBody
	inRawURI
)

var placeNames = [...]string{
	inPath: "path", inQuery: "query", inHeader: "header", inCookie: "cookie", inForm: "form",
	inBody: "body", inRawBody: "raw_body", inRawURI: "raw_uri",
}

func (p place) String() string { return placeNames[p] }

// source is a place and the name that a value has there.
type source struct {
	place place
	name  string // "" in inBody: the whole body
	param int    // in inPath: which of the route's parameters
}

// member is one field of the arguments, or of a request struct among them.
type member struct {
	field   *schema.Field
	key     []byte   // the field's name as a JSON member: "name":
	sources []source // in the order of place
	fields  []member // of a request struct, which has no sources of its own
}

// binding is where all arguments of a route come from.
type binding struct {
	members []member
	uses    [inRawURI + 1]bool
	keys    map[string]bool // keys of the body's object that members take
	// Other keys of the body go into the struct that the body stands for, so
	// that the conversion can judge them, unless they name one of its fields,
	// which then come from elsewhere or may not be set at all.
	fields map[string]bool
	rest   *schema.Field // the only argument, if the body stands for it; else nil
}

// binder compiles one binding.
type binder struct {
	binding
	pattern pattern
	body    bool // whether the HTTP method's parameters stand in the body
	open    []*schema.StructDef
}

// newBinding compiles the arguments of m for the route (verb, p).
func newBinding(m *schema.Method, verb string, p pattern) (*binding, error) {
	b := &binder{pattern: p, body: true}
	switch verb {
	case "GET", "HEAD", "DELETE", "OPTIONS":
		b.body = false
	}
	args := m.Args().Fields()
	var err error
	root := m.Args()
	if len(args) == 1 && bindable(args[0]) && !annotated(args[0].Annotations()) {
		b.rest, root = args[0], args[0].Type().Struct()
		var fields []member
		if fields, err = b.structFields(root); err == nil {
			b.members = []member{{field: args[0], key: jsonKey(args[0].Name()), fields: fields}}
		}
	} else {
		b.members, err = b.structFields(root)
	}
	if err != nil {
		return nil, err
	}
	b.note(b.members, root)
	return &b.binding, nil
}

// bindable reports whether f can be a request struct: a union's value is one
// field, which only a body can name.
func bindable(f *schema.Field) bool {
	t := f.Type()
	return t.Kind() == schema.Struct && t.Struct().Flavor() == schema.PlainStruct
}

var placeAnnotations = [...]struct {
	name  string
	place place
}{
	{"api.path", inPath}, {"api.query", inQuery}, {"api.header", inHeader}, {"api.cookie", inCookie},
	{"api.form", inForm}, {"api.body", inBody}, {"api.raw_body", inRawBody}, {"api.raw_uri", inRawURI},
}

// annotated reports whether a says where a value comes from.
func annotated(a schema.Annotations) bool {
	for _, p := range placeAnnotations {
		if a.Has(p.name) {
			return true
		}
	}
	return a.Has("api.none")
}

func (b *binder) structFields(def *schema.StructDef) ([]member, error) {
	b.open = append(b.open, def)
	defer func() { b.open = b.open[:len(b.open)-1] }()
	var members []member
	for _, f := range def.Fields() {
		m, ok, err := b.member(f)
		if err != nil {
			return nil, err
		}
		if ok {
			members = append(members, m)
		}
	}
	return members, nil
}

// member compiles f; ok is false if f is left out of requests.
func (b *binder) member(f *schema.Field) (m member, ok bool, err error) {
	m = member{field: f, key: jsonKey(f.Name())}
	a := f.Annotations()
	if a.Has("api.none") {
		return m, false, nil
	}
	if !annotated(a) {
		if b.isRequest(f) {
			m.fields, err = b.structFields(f.Type().Struct())
			return m, true, err
		}
		m.sources = []source{b.usual(f)}
		return m, true, nil
	}
	for _, p := range placeAnnotations {
		v, has := a.Get(p.name)
		if !has {
			continue
		}
		s, err := b.source(f, p.place, v.Value)
		if err != nil {
			return m, false, err
		}
		if s.place == inPath && s.param < 0 {
			continue // another route of the method has the parameter
		}
		m.sources = append(m.sources, s)
	}
	if len(m.sources) == 0 {
		return m, false, fmt.Errorf("%s comes from the path, but %s has no parameter %s",
			f.Name(), b.pattern.text, a.Value("api.path"))
	}
	return m, true, nil
}

// source compiles one annotation of f.
func (b *binder) source(f *schema.Field, p place, name string) (source, error) {
	s := source{place: p, name: name}
	if name == "" && p != inBody {
		s.name = f.Name()
	}
	switch p {
	case inPath:
		s.param = b.pattern.index(s.name)
	case inHeader:
		s.name = textproto.CanonicalMIMEHeaderKey(s.name)
	case inRawBody, inRawURI:
		if k := f.Type().Kind(); k != schema.String && (k != schema.Binary || p == inRawURI) {
			return s, fmt.Errorf("%s is %s, but api.%s needs a string", f.Name(), f.Type(), p)
		}
	}
	return s, nil
}

// isRequest reports whether f, which says nothing itself, is a request struct
// because one of its fields says where it comes from.
func (b *binder) isRequest(f *schema.Field) bool {
	if !bindable(f) || slices.Contains(b.open, f.Type().Struct()) {
		return false
	}
	return slices.ContainsFunc(f.Type().Struct().Fields(), func(f *schema.Field) bool {
		return annotated(f.Annotations())
	})
}

// usual returns where a field without annotations comes from.
func (b *binder) usual(f *schema.Field) source {
	if i := b.pattern.index(f.Name()); i >= 0 {
		return source{place: inPath, name: f.Name(), param: i}
	}
	if b.body {
		return source{place: inBody, name: f.Name()}
	}
	return source{place: inQuery, name: f.Name()}
}

// note sums up what members use; root is the struct that the body's object
// stands for.
func (b *binder) note(members []member, root *schema.StructDef) {
	b.keys, b.fields = make(map[string]bool), make(map[string]bool)
	b.sum(members)
	for _, f := range root.Fields() {
		b.fields[f.Name()] = true
	}
}

func (b *binder) sum(members []member) {
	for _, m := range members {
		b.sum(m.fields)
		for _, s := range m.sources {
			b.uses[s.place] = true
			if s.place == inBody && s.name != "" {
				b.keys[s.name] = true
			}
		}
	}
}

// jsonKey renders name, an identifier, as the start of a JSON member.
func jsonKey(name string) []byte {
	return append(strconv.AppendQuote(nil, name), ':')
}
