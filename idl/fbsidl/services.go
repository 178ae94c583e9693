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
	return schema.NewMessageMethod(spec, streams[mode], in, out)
}
