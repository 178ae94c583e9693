package thriftidl

import (
	"strconv"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Services and methods.

func itoa(n int) string { return strconv.Itoa(n) }

func (r *resolver) completeService(u *unit, n declNode) {
	node, ok := n.(*serviceNode)
	if !ok {
		return
	}
	if sym := u.scope.services[node.name.name]; sym != nil && sym.node == node {
		r.resolveService(sym, 0)
	}
}

// resolveService gives a service its parent, which is completed first, and its
// methods.
func (r *resolver) resolveService(sym *serviceSym, level int) bool {
	n := sym.node
	switch sym.state {
	case resolved:
		return true
	case failed:
		return false
	case resolving:
		r.errorf(sym.unit, n.name.pos, codeServiceCycle, "the service %s extends itself", report.Clip(n.name.name))
		sym.state = failed
		return false
	}
	if level > maxServiceDepth {
		r.errorf(sym.unit, n.name.pos, codeServiceDepth, "services extend each other more than %d levels deep", maxServiceDepth)
		return false
	}
	sym.state = resolving
	var parent *schema.Service
	if n.extends != nil {
		p := r.parent(sym)
		if p == nil || !r.resolveService(p, level+1) || sym.state == failed {
			sym.state = failed
			r.methods(sym.unit, n, nil)
			return false
		}
		if sym.depth = p.depth + 1; sym.depth > maxServiceDepth {
			r.errorf(sym.unit, n.extends.pos, codeServiceDepth, "services extend each other more than %d levels deep", maxServiceDepth)
			sym.state = failed
			return false
		}
		parent = p.s
	}
	sym.s.Complete(parent, r.methods(sym.unit, n, parent))
	sym.state = resolved
	return true
}

func (r *resolver) parent(sym *serviceSym) *serviceSym {
	name := *sym.node.extends
	p := r.lookupService(sym.unit, name)
	if p != nil {
		return p
	}
	if t := r.lookupType(sym.unit, name); t != nil {
		d := r.errorf(sym.unit, name.pos, codeUnknownService, "%s is not a service", report.Clip(name.name))
		d.Notes = append(d.Notes, report.Note(t.unit.span(t.node.base().name.pos), "it is declared here"))
		return nil
	}
	r.errorf(sym.unit, name.pos, codeUnknownService, "the service %s is not declared", report.Clip(name.name)).
		Hint = r.unknownHint(sym.unit, name.name, func(s *scope) []string {
		names := make([]string, 0, len(s.services))
		for n, other := range s.services {
			if other != sym {
				names = append(names, n)
			}
		}
		return names
	})
	return nil
}

func (r *resolver) methods(u *unit, n *serviceNode, parent *schema.Service) []*schema.Method {
	for _, p := range n.performs {
		r.warnf(u, p.pos, codeInteraction, "the interaction %s is left out", report.Clip(p.name)).
			Hint = "interactions are fbthrift's own and not supported"
	}
	methods := make([]*schema.Method, 0, len(n.methods))
	seen := make(map[string]*methodNode, len(n.methods))
	for _, m := range n.methods {
		if first := seen[m.name.name]; first != nil {
			d := r.errorf(u, m.name.pos, codeDuplicateMethod, "the service %s has two methods named %q", report.Clip(n.name.name), report.Clip(m.name.name))
			d.Notes = append(d.Notes, report.Note(u.span(first.name.pos), "first declared here"))
			continue
		}
		seen[m.name.name] = m
		if parent != nil {
			if inherited := parent.Method(m.name.name); inherited != nil {
				d := r.errorf(u, m.name.pos, codeDuplicateMethod, "the service %s inherits a method named %q", report.Clip(n.name.name), report.Clip(m.name.name))
				d.Notes = append(d.Notes, report.Note(inherited.Span(), "inherited from %s", report.Clip(inherited.Service().Name())))
				continue
			}
		}
		if method := r.method(u, n, m); method != nil {
			methods = append(methods, method)
		}
	}
	return methods
}

func (r *resolver) method(u *unit, s *serviceNode, m *methodNode) *schema.Method {
	if r.startsInteraction(u, m) {
		r.warnf(u, m.name.pos, codeInteraction, "the method %s starts an interaction and is left out", report.Clip(m.name.name)).
			Hint = "interactions are fbthrift's own and not supported"
		return nil
	}
	if m.interaction != nil {
		r.errorf(u, m.interaction.pos, codeStreamElement, "the method %s returns two types", report.Clip(m.name.name))
		return nil
	}
	spec := schema.MethodSpec{DeclSpec: r.declSpec(u, &m.declBase), Oneway: m.oneway}
	part := func(suffix string) schema.DeclSpec {
		return schema.DeclSpec{Name: m.name.name + suffix, File: u.file, Span: spec.Span}
	}
	spec.Args = schema.NewStruct(part("_args"), schema.PlainStruct)
	spec.Args.Complete(r.fields(u, m.args, fieldPlace{what: "the method " + report.Clip(m.name.name), args: true}))
	throws := r.fields(u, m.throws, fieldPlace{what: "the throws clause of " + report.Clip(m.name.name), throws: true})
	if m.oneway {
		r.checkOneway(u, m)
		r.messageStream(u, m, &spec)
		return schema.NewMethod(spec)
	}
	var fields []*schema.Field
	if m.result != nil {
		t := r.typeOf(u, m.result)
		if t == nil {
			return nil
		}
		if t.Kind() == schema.Struct && t.Struct().Flavor() == schema.Exception {
			r.warnf(u, m.result.pos, codeExceptionAsType, "the exception %s is used as the type of a value", t).
				Hint = "the Apache compiler allows exceptions in throws clauses only"
		}
		fields = append(fields, schema.NewField(schema.FieldSpec{
			ID: 0, Name: "success", Type: t, Requiredness: schema.Optional, Span: u.span(m.result.pos),
		}))
	}
	r.checkSuccess(u, m)
	spec.Result = schema.NewStruct(part("_result"), schema.PlainStruct)
	spec.Result.Complete(append(fields, throws...))
	if m.stream != nil {
		spec.Stream = r.stream(u, m)
	}
	r.messageStream(u, m, &spec)
	return schema.NewMethod(spec)
}

// checkSuccess checks that no exception takes the result's name or id.
func (r *resolver) checkSuccess(u *unit, m *methodNode) {
	for _, f := range m.throws {
		if m.result != nil && f.name.name == "success" {
			r.errorf(u, f.name.pos, codeDuplicateFieldName, "an exception must not be named \"success\" where the method returns a value").
				Hint = "the result itself travels under that name"
		}
		if f.id != nil && f.id.value == 0 {
			r.errorf(u, f.id.pos, codeDuplicateFieldID, "an exception must not have the id 0").
				Hint = "the result itself travels under that id"
		}
	}
}

func (r *resolver) checkOneway(u *unit, m *methodNode) {
	if m.result != nil {
		r.errorf(u, m.result.pos, codeOnewayResult, "the oneway method %s cannot return a value", report.Clip(m.name.name)).
			Hint = "nobody waits for a oneway call: return void, or leave out oneway"
	}
	if m.stream != nil {
		r.errorf(u, m.onewayPos, codeOnewayResult, "the oneway method %s cannot stream", report.Clip(m.name.name))
	}
	if len(m.throws) > 0 {
		r.errorf(u, m.throwsPos, codeOnewayThrows, "the oneway method %s cannot throw exceptions", report.Clip(m.name.name)).
			Hint = "nobody waits for a oneway call: leave out the exceptions, or oneway"
	}
}

// startsInteraction reports whether m returns an interaction.
func (r *resolver) startsInteraction(u *unit, m *methodNode) bool {
	t := m.interaction
	if t == nil {
		t = m.result
	}
	if t == nil || t.kw != kwNone {
		return false
	}
	return lookup(r, u, t.name, func(s *scope) map[string]*interactionNode { return s.interactions }) != nil
}
