package thriftidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/files"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// scope holds what a file declares, by name. Types and services share names,
// constants have their own.
type scope struct {
	types        map[string]*typeSym
	consts       map[string]*constSym
	services     map[string]*serviceSym
	interactions map[string]*interactionNode
}

// typeSym is a declared struct, union, exception, enum or typedef.
type typeSym struct {
	unit    *unit
	node    declNode
	strct   *schema.StructDef
	enum    *schema.EnumDef
	typedef *schema.Typedef
	// Of typedefs: how far the target is resolved, and how large it is.
	state resolveState
	shape shape
}

// shape measures a type with its typedefs expanded.
type shape struct{ depth, size int }

type resolveState uint8

const (
	unresolved resolveState = iota
	resolving
	resolved
	failed
)

type constSym struct {
	unit  *unit
	node  *constNode
	c     *schema.Const
	state resolveState
	value *schema.Value
	size  int // parts of value, references expanded
}

type serviceSym struct {
	unit  *unit
	node  *serviceNode
	s     *schema.Service
	state resolveState
	depth int
}

// splitName cuts a name at its last dot.
func splitName(name string) (qualifier, last string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}

// lookup finds name in the file itself or, if it has a qualifier, in the file
// included under it. Where several files are included under one name, the last
// that has it counts, as for the Apache compiler.
func lookup[S any](r *resolver, u *unit, name ident, table func(*scope) map[string]*S) *S {
	qualifier, last := splitName(name.name)
	if qualifier == "" {
		return table(&u.scope)[last]
	}
	var found *S
	for _, inc := range u.aliases[qualifier] {
		if s := table(&inc.scope)[last]; s != nil {
			if found != nil && found != s {
				r.rep.Warnf(u.span(name.pos), codeAmbiguousName, "%s is declared in several files included as %s", report.Clip(name.name), report.Clip(qualifier)).
					Hint = "the last one counts; rename one of the files"
			}
			found = s
		}
	}
	// A file may name its own declarations with its own name in front.
	if found == nil && files.ProgramName(u.path) == qualifier {
		found = table(&u.scope)[last]
	}
	return found
}

func (s *scope) typeTable() map[string]*typeSym { return s.types }

func (r *resolver) lookupType(u *unit, name ident) *typeSym {
	return lookup(r, u, name, (*scope).typeTable)
}

func (r *resolver) lookupConst(u *unit, name ident) *constSym {
	return lookup(r, u, name, func(s *scope) map[string]*constSym { return s.consts })
}

func (r *resolver) lookupService(u *unit, name ident) *serviceSym {
	return lookup(r, u, name, func(s *scope) map[string]*serviceSym { return s.services })
}

// unknownHint tells what a name that is not declared may have been meant to
// be. names lists what could stand in its place in a file.
func (r *resolver) unknownHint(u *unit, name string, names func(*scope) []string) string {
	if r.rep.Full() {
		return ""
	}
	qualifier, last := splitName(name)
	if qualifier == "" {
		candidates := names(&u.scope)
		for _, inc := range u.includes {
			for _, n := range names(&inc.unit.scope) {
				if n == last {
					return "did you mean " + inc.alias + "." + n + "?"
				}
			}
		}
		return report.DidYouMean("", last, candidates)
	}
	var aliases []string
	for _, inc := range u.includes {
		if inc.alias == qualifier {
			return report.DidYouMean(report.Clip(qualifier)+".", last, names(&inc.unit.scope))
		}
		aliases = append(aliases, inc.alias)
	}
	if near := diag.Nearest(qualifier, aliases); near != "" {
		return "did you mean " + near + "." + report.Clip(last) + "?"
	}
	if first, _, _ := strings.Cut(qualifier, "."); u.scope.types[first] != nil {
		return ""
	}
	return "no file is included as " + report.Clip(qualifier)
}

// resolver builds the schema of all files together. It works in passes: all
// names are declared first, then typedefs, constants' types, fields and methods
// are resolved, and values last, when every field exists.
type resolver struct {
	rep    *report.Reporter
	units  []*unit
	values []pendingValue
	budget int // values that may still be made
	keys   int // bytes of keys that may still be compared

	longEnums bool // see EnumsAsI64
}

// pendingValue is a default or an annotation that is evaluated last, into the
// place that the schema already refers to.
type pendingValue struct {
	unit *unit
	node *valueNode
	typ  *schema.Type // nil for an annotation, whose struct node names
	into *schema.Value
	what string
}

// resolve turns the trees of units, each after those it includes, into schema.
func resolve(units []*unit, rep *report.Reporter, longEnums bool) {
	r := &resolver{rep: rep, units: units, budget: spareValues, keys: spareKeys, longEnums: longEnums}
	for _, u := range units {
		r.budget += len(u.src.Text)
		r.keys += 4 * len(u.src.Text)
	}
	for _, u := range units {
		r.declare(u)
	}
	for _, u := range units {
		r.eachDecl(u, func(n declNode) {
			if sym := u.scope.types[n.base().name.name]; sym != nil && sym.node == n && sym.typedef != nil {
				r.resolveTypedef(sym, 0)
			}
		})
	}
	for _, u := range units {
		r.eachDecl(u, func(n declNode) { r.declareConst(u, n) })
	}
	for _, u := range units {
		r.eachDecl(u, func(n declNode) { r.completeStruct(u, n) })
	}
	for _, u := range units {
		r.eachDecl(u, func(n declNode) { r.completeService(u, n) })
	}
	for _, u := range units {
		r.eachDecl(u, func(n declNode) { r.completeConst(u, n) })
	}
	for _, v := range r.values {
		r.fill(v)
	}
	r.checkImpossible()
	if rep.Errors > 0 {
		return
	}
	for _, u := range units {
		r.completeFile(u)
	}
}

func (r *resolver) eachDecl(u *unit, f func(declNode)) {
	for _, n := range u.tree.decls {
		f(n)
	}
}

func (r *resolver) errorf(u *unit, p pos, code, format string, args ...any) *diag.Diagnostic {
	return r.rep.Errorf(u.span(p), code, format, args...)
}

func (r *resolver) warnf(u *unit, p pos, code, format string, args ...any) *diag.Diagnostic {
	return r.rep.Warnf(u.span(p), code, format, args...)
}
