package thriftidl

import (
	"math"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// The first pass: every name gets its symbol and, where that needs no other
// name, its part of the schema.

func (r *resolver) declare(u *unit) {
	u.file = schema.NewFile(u.path)
	u.headers = r.headers(u)
	u.scope = scope{
		types:        make(map[string]*typeSym),
		consts:       make(map[string]*constSym),
		services:     make(map[string]*serviceSym),
		interactions: make(map[string]*interactionNode),
	}
	// The first declaration of each name in the two tables of names.
	named, consts := make(map[string]declNode), make(map[string]declNode)
	for _, n := range u.tree.decls {
		b := n.base()
		table := named
		if _, ok := n.(*constNode); ok {
			table = consts
		}
		if first := table[b.name.name]; first != nil {
			d := r.errorf(u, b.name.pos, codeDuplicateName, "%q is declared twice", report.Clip(b.name.name))
			d.Notes = append(d.Notes, report.Note(u.span(first.base().name.pos), "first declared here"))
			continue
		}
		table[b.name.name] = n
		r.declareOne(u, n)
	}
	for _, n := range u.tree.decls {
		name := n.base().name
		if other := named[name.name]; consts[name.name] == n && other != nil {
			d := r.warnf(u, name.pos, codeSharedName, "the constant %q has the name of a type or service", report.Clip(name.name))
			d.Notes = append(d.Notes, report.Note(u.span(other.base().name.pos), "which is declared here"))
			d.Hint = "thriftgo refuses this, and generated code may not compile"
		}
	}
}

func (r *resolver) declareOne(u *unit, n declNode) {
	name := n.base().name.name
	switch n := n.(type) {
	case *structNode:
		flavor := map[keyword]schema.Flavor{kwUnion: schema.Union, kwException: schema.Exception}[n.kw]
		u.scope.types[name] = &typeSym{unit: u, node: n, strct: schema.NewStruct(r.declSpec(u, &n.declBase), flavor)}
	case *enumNode:
		u.scope.types[name] = &typeSym{unit: u, node: n, enum: r.enum(u, n)}
	case *typedefNode:
		u.scope.types[name] = &typeSym{unit: u, node: n, typedef: schema.NewTypedef(r.declSpec(u, &n.declBase))}
	case *constNode:
		u.scope.consts[name] = &constSym{unit: u, node: n}
	case *serviceNode:
		u.scope.services[name] = &serviceSym{unit: u, node: n, s: schema.NewService(r.declSpec(u, &n.declBase))}
	case *interactionNode:
		u.scope.interactions[name] = n
		r.warnf(u, n.name.pos, codeInteraction, "the interaction %s is left out", report.Clip(name)).
			Hint = "interactions are fbthrift's own and not supported"
	}
}

func (r *resolver) declSpec(u *unit, b *declBase) schema.DeclSpec {
	return schema.DeclSpec{
		Name: b.name.name, File: u.file, Doc: b.doc, Annotations: r.annotations(u, b.annots), Span: u.span(b.name.pos),
	}
}

// annotations converts annotations; the values of structured ones are filled
// in by the last pass.
func (r *resolver) annotations(u *unit, nodes []*annotNode) schema.Annotations {
	if len(nodes) == 0 {
		return nil
	}
	list := make(schema.Annotations, len(nodes))
	for i, n := range nodes {
		list[i] = schema.Annotation{Name: n.name.name, Value: n.value, HasValue: n.hasValue, Span: u.span(n.pos)}
		if n.literal != nil {
			v := &schema.Value{Kind: schema.StructValue, Span: list[i].Span}
			list[i].Structured = v
			r.values = append(r.values, pendingValue{unit: u, node: n.literal, into: v})
		}
	}
	return list
}

// enum numbers the names of an enum: one more than the name before, from 0.
func (r *resolver) enum(u *unit, n *enumNode) *schema.EnumDef {
	values := make([]*schema.EnumValue, 0, len(n.values))
	byName := make(map[string]*enumValueNode, len(n.values))
	byNumber := make(map[int64]*enumValueNode, len(n.values))
	next := int64(0)
	for _, v := range n.values {
		place := v.name.pos
		if v.value != nil {
			next, place = v.value.value, v.value.pos
		}
		fits := next >= math.MinInt32 && next <= math.MaxInt32
		if !fits {
			r.errorf(u, place, codeEnumValueRange, "the number %d of %s does not fit in 32 bits", next, report.Clip(v.name.name)).
				Hint = "enums travel as i32; use constants of type i64 for larger numbers"
			next = 0
		}
		if first := byName[v.name.name]; first != nil {
			d := r.errorf(u, v.name.pos, codeDuplicateEnumerator, "%q stands twice in the enum %s", report.Clip(v.name.name), report.Clip(n.name.name))
			d.Notes = append(d.Notes, report.Note(u.span(first.name.pos), "first used here"))
			next++
			continue
		}
		byName[v.name.name] = v
		if first := byNumber[next]; first != nil && fits {
			d := r.warnf(u, place, codeDuplicateEnumValue, "%s and %s have the same number %d", report.Clip(first.name.name), report.Clip(v.name.name), next)
			d.Notes = append(d.Notes, report.Note(u.span(first.name.pos), "first used here"))
			d.Hint = "the first name is the one that is shown; thriftgo refuses this"
		} else if fits {
			byNumber[next] = v
		}
		values = append(values, &schema.EnumValue{
			Name: v.name.name, Value: next, Doc: v.doc, Annotations: r.annotations(u, v.annots), Span: u.span(v.name.pos),
		})
		next++
	}
	return schema.NewEnum(r.declSpec(u, &n.declBase), values)
}

// headers resolves what stands before the declarations.
func (r *resolver) headers(u *unit) schema.FileSpec {
	spec := schema.FileSpec{Doc: u.tree.doc}
	if p := u.tree.pkg; p != nil {
		spec.Package, spec.Annotations = p.name, r.annotations(u, p.annots)
	}
	at := make(map[string]int)
	for _, n := range u.tree.namespaces {
		ns := schema.Namespace{Language: n.language.name, Name: n.name, Annotations: r.annotations(u, n.annots), Span: u.span(n.pos)}
		if i, ok := at[ns.Language]; ok {
			r.warnf(u, n.pos, codeDuplicateNamespace, "the namespace for %s is given twice, the last one counts", report.Clip(ns.Language))
			spec.Namespaces[i] = ns
			continue
		}
		at[ns.Language] = len(spec.Namespaces)
		spec.Namespaces = append(spec.Namespaces, ns)
	}
	return spec
}

// completeFile puts together what u declares; nothing has failed.
func (r *resolver) completeFile(u *unit) {
	spec := u.headers
	for _, i := range u.includes {
		spec.Includes = append(spec.Includes, schema.Include{Path: i.node.path, Alias: i.alias, File: i.unit.file, Span: u.span(i.node.pos)})
	}
	for _, n := range u.tree.decls {
		name := n.base().name.name
		switch n.(type) {
		case *structNode:
			spec.Structs = append(spec.Structs, u.scope.types[name].strct)
		case *enumNode:
			spec.Enums = append(spec.Enums, u.scope.types[name].enum)
		case *typedefNode:
			spec.Typedefs = append(spec.Typedefs, u.scope.types[name].typedef)
		case *constNode:
			spec.Consts = append(spec.Consts, u.scope.consts[name].c)
		case *serviceNode:
			spec.Services = append(spec.Services, u.scope.services[name].s)
		}
	}
	u.file.Complete(spec)
}
