package fbsidl

import (
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Services.

// streams are the values of the attribute streaming.
var streams = map[string]schema.StreamKind{
	"none": 0, "client": schema.ClientStream, "server": schema.ServerStream, "bidi": schema.BidirectionalStream,
}

func (r *resolver) serviceDecl(n *serviceNode) {
	s := &serviceSym{unit: r.unit, ns: r.ns, node: n}
	full := r.ns.qualify(n.name.name)
	if other := r.services.get(full, r.seesService); other != nil {
		r.duplicateName(n.name, full, other.unit.span(other.node.name.pos))
	} else {
		r.services[full] = append(r.services[full], s)
		r.unit.symbols = append(r.unit.symbols, s)
	}
	r.checkMeta(n.meta)
	byName := make(map[string]*methodNode, len(n.methods))
	for _, m := range n.methods {
		if first := byName[m.name.name]; first != nil {
			d := r.errorf(m.name.pos, codeDuplicateMethod, "the service %s has two methods named %q", report.Clip(n.name.name), report.Clip(m.name.name))
			d.Notes = append(d.Notes, report.Note(r.unit.span(first.name.pos), "first used here"))
			continue
		}
		byName[m.name.name] = m
		r.method(s, m)
	}
}

func (r *resolver) method(s *serviceSym, m *methodNode) {
	sym := &methodSym{node: m, request: r.messageType(m.request), response: r.messageType(m.response)}
	if a := r.checkMeta(m.meta)["streaming"]; a != nil {
		if _, ok := streams[a.text()]; !ok {
			r.errorf(a.pos, codeStreaming, "%q is no mode of streaming", report.Clip(a.text())).
				Hint = "write client, server, bidi or none; flatc reads all others as none"
		}
	}
	s.methods = append(s.methods, sym)
}

// messageType finds the table of a request or a response.
func (r *resolver) messageType(name ident) *structSym {
	if e := r.lookupEnum(name.name); e != nil {
		r.errorf(name.pos, codeMethodType, "%s is of kind %s, a method takes and returns tables", report.Clip(name.name), e.what())
		return nil
	}
	s, unit := r.useStruct(name), r.unit
	r.later = append(r.later, func() {
		if s := s.actual(); s.fixed {
			r.rep.Errorf(unit.span(name.pos), codeMethodType, "%s is a struct, a method takes and returns tables", report.Clip(name.name)).
				Hint = "put it in a table"
		}
	})
	return s
}

func (s *serviceSym) make() *schema.Service {
	s.service = schema.NewService(s.node.spec(s.unit, s.ns))
	methods := make([]*schema.Method, len(s.methods))
	for i, m := range s.methods {
		methods[i] = s.makeMethod(m)
	}
	s.service.Complete(nil, methods)
	return s.service
}

func (s *serviceSym) makeMethod(m *methodSym) *schema.Method {
	in, out := m.request.actual().def.Type(), m.response.actual().def.Type()
	spec := schema.MethodSpec{DeclSpec: m.node.spec(s.unit, s.ns)}
	mode := spec.Annotations.Value("streaming")
	return schema.NewMethod(methodSpec(spec, in, out, streams[mode]))
}

// methodSpec completes what a method with these tables is made of.
func methodSpec(spec schema.MethodSpec, in, out *schema.Type, stream schema.StreamKind) schema.MethodSpec {
	part := func(suffix string, field schema.FieldSpec) *schema.StructDef {
		field.Span = spec.Span
		d := schema.NewStruct(schema.DeclSpec{Name: spec.Name + suffix, File: spec.File, Package: spec.Package, Span: spec.Span}, schema.PlainStruct)
		d.Complete([]*schema.Field{schema.NewField(field)})
		return d
	}
	spec.Args = part("_args", schema.FieldSpec{ID: 1, Name: "request", Type: in})
	spec.Result = part("_result", schema.FieldSpec{ID: 0, Name: "success", Type: out, Requiredness: schema.Optional})
	switch stream {
	case schema.BidirectionalStream:
		spec.Stream = &schema.Stream{Kind: stream, Client: in, Server: out}
	case schema.ClientStream:
		spec.Stream = &schema.Stream{Kind: stream, Client: in, Final: out}
	case schema.ServerStream:
		spec.Stream = &schema.Stream{Kind: stream, Server: out}
	}
	return spec
}
