package fbs

// Services as projects begin with them.

import (
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/gen/internal/skeleton"
	"github.com/thrum-rpc/thrum/schema"
)

// Skeletons describes the services of the files, and of those that they include, as the
// project in path sees them, where some may have a handler by their full names.
func Skeletons(roots []*schema.File, path string, there map[string]skeleton.Handler, opts Options) ([]*skeleton.Service, error) {
	opts.project = true
	g := newGenerator(roots, opts)
	if err := g.errs.Err(); err != nil {
		return nil, err
	}
	var full []string
	for _, u := range g.units {
		for _, s := range u.services {
			full = append(full, s.FullName())
		}
	}
	names := skeleton.NewNames(full, there)
	var all []*skeleton.Service
	outside := g.outside(path)
	for _, u := range g.units {
		for _, s := range u.services {
			all = append(all, s.skeleton(outside, names))
		}
	}
	return all, nil
}

// outside returns a file of the project, to ask for types as it has to write them.
func (g *generator) outside(path string) *unit {
	pkg := &goPackage{importPath: path, name: "main", names: gofile.Scope{}, imports: make(map[*goPackage]bool)}
	pkg.names.Reserve(taken...)
	pkg.names.Reserve(skeleton.Taken()...)
	return &unit{generator: g, pkg: pkg, imports: map[string]string{}}
}

// skeleton describes the service as outside, which all services share, sees it.
func (s *service) skeleton(outside *unit, names *skeleton.Names) *skeleton.Service {
	out := &skeleton.Service{
		Full:  s.FullName(),
		Embed: outside.qualified(s.unit, s.names.Unimplemented), New: outside.qualified(s.unit, s.names.New),
		NewClient: outside.qualified(s.unit, s.names.NewObjectClient),
	}
	out.Type, out.File = names.Add(s.Service.Name(), s.FullName())
	outside.Use("context")
	outside.Use("github.com/thrum-rpc/thrum/flatbuf")
	outside.Use("github.com/thrum-rpc/thrum/rpc/flatrpc")
	for _, m := range s.Methods {
		out.Methods = append(out.Methods, s.method(m, outside))
	}
	if s.opts.Mocks {
		s.mockSkeleton(out, outside)
	}
	all := skeleton.Imports(outside.imports) // of which each file takes what it uses
	out.Handler, out.Client = all, all
	return out
}

// method describes a method, whose handler answers with empty messages, and reads
// streams to their end.
func (s *service) method(m *method, outside *unit) *skeleton.Method {
	inHandler := *m // with types as the project writes them
	inHandler.service = &service{unit: outside, Service: s.Service}
	out := &skeleton.Method{Name: m.Name, Doc: comment(m.Doc()), Call: "-", Signature: m.Name + inHandler.Handler()}
	req, sendable := outside.sample(m.Req, 0)
	reply, ok := outside.sample(m.Rep, 0)
	kind := m.Kind()
	if (kind == "unary" || kind == "client") && !ok {
		out.Body = []string{"return s." + s.names.Unimplemented + "." + m.Name + "(ctx, " + map[string]string{"unary": "req", "client": "in"}[kind] + ")"}
		return out
	}
	finish := outside.qualified(m.Rep.unit, m.Rep.names.Finish)
	send := []string{"b := out.NewBuilder()", "reply := " + reply, finish + "(b, reply.Pack(b))"}
	switch {
	case kind == "bidi":
		outside.Use("io")
		out.Body = []string{"for {", "if _, err := in.Recv(); err == io.EOF {", "return nil", "} else if err != nil {", "return err", "}"}
		if ok {
			out.Body = append(append(out.Body, send...), "if err := out.Send(b); err != nil {", "return err", "}")
		}
		out.Body = append(out.Body, "}")
	case kind == "server" && ok:
		out.Body = append(send, "return out.Send(b)")
	case kind == "server":
		out.Body = []string{"return nil"}
	case kind == "client":
		outside.Use("io")
		out.Body = []string{"for {", "if _, err := in.Recv(); err == io.EOF {", "break", "} else if err != nil {", "return nil, err", "}", "}"}
		fallthrough
	default:
		out.Body = append(out.Body, "b := flatrpc.NewBuilder(ctx)", "reply := "+reply, finish+"(b, reply.Pack(b))", "return b, nil")
	}
	switch {
	case kind == "unary" && sendable:
		out.Value, out.Call = true, ", "+req
		if !slices.ContainsFunc(m.Req.Fields, (*field).IsRequired) {
			out.Path = m.Path
		}
	case kind == "server" && sendable:
		out.Call, out.Each = ", "+req, "*"+outside.qualified(m.Rep.unit, m.Rep.Object)
	case kind == "client":
		outside.Use("io")
		out.Value, out.Call = true, ", func() (*"+outside.qualified(m.Req.unit, m.Req.Object)+", error) { return nil, io.EOF }"
	case kind == "bidi" && sendable:
		out.Stream, out.Call, out.Request, out.Finish = kind, "", req, outside.qualified(m.Req.unit, m.Req.names.Finish)
	}
	return out
}

// maxSample bounds the nesting of tables in samples.
const maxSample = 8

// sample returns an expression for the emptiest object of m that makes a valid message,
// and whether there is one.
func (u *unit) sample(m *message, depth int) (string, bool) {
	if depth == maxSample {
		return "", false
	}
	var set []string
	for _, f := range m.Fields {
		if !f.IsRequired() || f.Kind == kindString {
			continue
		}
		value, ok := u.sampleField(f, depth)
		if !ok || !f.Exported() {
			return "", false
		}
		set = append(set, f.F+": "+value)
	}
	return "&" + u.qualified(m.unit, m.Object) + "{" + strings.Join(set, ", ") + "}", true
}

func (u *unit) sampleField(f *field, depth int) (string, bool) {
	asSeen := *f // with types as u writes them
	owner := *f.owner
	owner.unit = u
	asSeen.owner = &owner
	switch {
	case f.flex():
		return "[]byte{0, 0, 1}", true // null
	case f.Nested() != nil:
		return "", false // a message, which must be built
	}
	switch f.Kind {
	case kindTable:
		return u.sample(f.target(), depth+1)
	case kindStruct:
		return "&" + asSeen.ObjectT() + "{}", true
	case kindUnion:
		for _, member := range f.target().Fields {
			switch member.Kind {
			case kindString:
				return u.sampleUnion(member, `""`), true
			case kindStruct:
				return u.sampleUnion(member, "&"+u.qualified(member.target().unit, member.target().Object)+"{}"), true
			}
			if value, ok := u.sample(member.target(), depth+1); ok {
				return u.sampleUnion(member, value), true
			}
		}
		return "", false
	}
	return asSeen.Native() + "{}", true
}

// sampleUnion is a union that holds value, which is that member.
func (u *unit) sampleUnion(member *field, value string) string {
	union := member.owner
	if of := member.names.Of; capital(of) == of {
		return u.qualified(union.unit, of) + "(" + value + ")"
	}
	i := slices.IndexFunc(union.tag.Values, func(v enumValue) bool { return v.member == member })
	return "&" + u.qualified(union.unit, union.Object) + "{Type: " + union.tag.Values[i].Number + ", Value: " + value + "}"
}
