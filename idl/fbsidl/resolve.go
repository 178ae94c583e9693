package fbsidl

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/files"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// resolver finds out what names mean and whether the rules hold. What a name
// means depends on what has been declared before it, so it goes through the
// statements once, in the order in which flatc reads them: the files that a file
// includes first. The schema is built when all have been seen.
type resolver struct {
	rep      *report.Reporter
	structs  symbols[*structSym]
	enums    symbols[*enumSym]
	services symbols[*serviceSym]
	attrs    symbols[*unit] // the files that declare an attribute
	units    []*unit        // all, in the order in which they were resolved
	inFull   bool           // all names stand in full, as in what a binary schema says

	files   map[*unit]bool // that the file being loaded sees: itself and what it includes
	unit    *unit          // being resolved
	ns      namespace      // at the present place
	waiting []*structSym   // used, perhaps not declared yet
	later   []func()       // what can be checked when all is declared
}

func newResolver(rep *report.Reporter) *resolver {
	return &resolver{
		rep: rep, structs: make(symbols[*structSym]), enums: make(symbols[*enumSym]), services: make(symbols[*serviceSym]),
		attrs: make(symbols[*unit]),
	}
}

// resolve goes through the files that root includes and that have not been
// seen, and then root.
func (r *resolver) resolve(root *unit, units []*unit) {
	r.files = closure(root)
	r.checkOldNames(root, units)
	for _, u := range units {
		r.unit, r.ns = u, ""
		r.units = append(r.units, u)
		r.native()
		for _, n := range u.tree.decls {
			r.statement(n)
		}
	}
	r.settle()
	for _, check := range r.later {
		check()
	}
	r.later = nil
}

// checkOldNames reports what is declared twice in files that were resolved
// before, for others that included them one by one.
func (r *resolver) checkOldNames(root *unit, units []*unit) {
	if len(r.files) == len(units) {
		return
	}
	places := make(map[string]diag.Span)
	for _, u := range r.units {
		if !r.files[u] {
			continue
		}
		for _, sym := range u.symbols {
			name, span := "", diag.Span{}
			switch s := sym.(type) {
			case *structSym:
				name, span = s.fullName(), u.span(s.node.name.pos)
			case *enumSym:
				name, span = s.fullName(), u.span(s.node.name.pos)
			default:
				continue
			}
			if first, ok := places[name]; ok && first != span {
				d := r.rep.Errorf(span, codeDuplicateName, "%q is declared twice in what %s includes", report.Clip(name), report.Clip(root.path))
				d.Notes = append(d.Notes, report.Note(first, "first declared here"))
			}
			places[name] = span
		}
	}
}

func (r *resolver) statement(n declNode) {
	switch n := n.(type) {
	case *namespaceNode:
		r.ns = namespace(n.name)
	case *attributeNode:
		r.attribute(n)
	case *structNode:
		r.structDecl(n)
	case *enumNode:
		r.enumDecl(n)
	case *serviceNode:
		r.serviceDecl(n)
	case *rootNode:
		r.rootType(n)
	case *identifierNode:
		if len(n.text) != 4 {
			r.errorf(n.pos, codeFileIdentifier, "the file identifier has %d bytes", len(n.text)).Hint = "it must have exactly 4"
		}
		r.unit.headers.Identifier = n.text
	case *extensionNode:
		r.unit.headers.Extension = n.text
	}
}

func (r *resolver) errorf(p pos, code, format string, args ...any) *diag.Diagnostic {
	return r.rep.Errorf(r.unit.span(p), code, format, args...)
}

func (r *resolver) warnf(p pos, code, format string, args ...any) *diag.Diagnostic {
	return r.rep.Warnf(r.unit.span(p), code, format, args...)
}

// native keeps the native_include statements as annotations of the file.
func (r *resolver) native() {
	for _, n := range r.unit.tree.natives {
		r.unit.headers.Annotations = append(r.unit.headers.Annotations,
			schema.Annotation{Name: wordNativeInclude, Value: n.text, HasValue: true, Span: r.unit.span(n.pos)})
	}
}

// rootType looks the name up as flatc does: in full, or in the namespace.
func (r *resolver) rootType(n *rootNode) {
	s := r.structs.get(n.name, r.seesStruct)
	if s == nil {
		s = r.structs.get(r.ns.qualify(n.name), r.seesStruct)
	}
	if s == nil {
		d := r.errorf(n.pos, codeRootType, "the root type %s is not declared", report.Clip(n.name))
		if !r.rep.Full() {
			d.Hint = "it must stand after its table, and in full unless the namespace is the same"
		}
		return
	}
	r.unit.root = s
	unit, span := r.unit, r.unit.span(n.pos)
	r.later = append(r.later, func() {
		if s := s.actual(); s.fixed {
			d := r.rep.Errorf(span, codeRootType, "the root type %s is a struct, it must be a table", report.Clip(s.name))
			d.Notes = append(d.Notes, report.Note(s.unit.span(s.node.name.pos), "declared here"))
			unit.root = nil
		}
	})
}

// build makes the schema of all files. Nothing is wrong with them.
func (r *resolver) build() {
	for _, u := range r.units {
		u.file = schema.NewFile(u.path)
		for _, sym := range u.symbols {
			switch s := sym.(type) {
			case *structSym:
				s.makeDef()
			case *enumSym:
				s.makeDef()
			}
		}
	}
	// Structs hold structs that were declared before them.
	for _, u := range r.units {
		for _, sym := range u.symbols {
			if s, ok := sym.(*structSym); ok {
				s.makeFields()
			}
		}
	}
	for _, u := range r.units {
		r.buildFile(u)
	}
}

func (r *resolver) buildFile(u *unit) {
	spec := &u.headers
	for _, sym := range u.symbols {
		switch s := sym.(type) {
		case *structSym:
			spec.Structs = append(spec.Structs, s.def)
		case *enumSym:
			if s.union != nil {
				s.makeMembers()
				spec.Structs = append(spec.Structs, s.union)
			} else {
				spec.Enums = append(spec.Enums, s.enum)
			}
		case *serviceSym:
			spec.Services = append(spec.Services, s.make())
		}
	}
	for _, i := range u.includes {
		if !i.back {
			spec.Includes = append(spec.Includes, schema.Include{
				Path: i.node.path, Alias: files.ProgramName(i.node.path), File: i.unit.file, Span: u.span(i.node.pos),
			})
		}
	}
	if u.root != nil {
		spec.Root = u.root.actual().def
	}
	u.file.Complete(*spec)
}

func (b *declBase) spec(u *unit, ns namespace) schema.DeclSpec {
	return schema.DeclSpec{
		Name: b.name.name, File: u.file, Package: string(ns), Doc: b.doc, Annotations: annotations(u, b.meta), Span: u.span(b.name.pos),
	}
}
