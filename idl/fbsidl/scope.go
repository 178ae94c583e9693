package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Names. A declaration is known under its namespace and name, to all files that
// are read after it. Tables alone may be used before they are declared.

// namespace is a name with dots; it is empty for the global one.
type namespace string

func (n namespace) qualify(name string) string {
	if n == "" {
		return name
	}
	return string(n) + "." + name
}

// outer returns the namespace around n, the global one for the outermost.
func (n namespace) outer() namespace { return n[:max(0, strings.LastIndexByte(string(n), '.'))] }

// structSym is a table or a struct: declared, or only used so far.
type structSym struct {
	unit *unit // that declares it, or uses it first
	ns   namespace
	name string      // without its namespace; as it is used, until it is declared
	node *structNode // nil until it is declared
	same *structSym  // the symbol that turned out to be meant
	used pos         // where it is used first, before it is declared

	fixed       bool
	complete    bool // the fields are known
	size, align int  // of a struct
	hasKey      bool
	fields      []*fieldSym
	byName      map[string]*fieldSym
	def         *schema.StructDef
	made        bool // def has its fields
}

func (s *structSym) declared() bool { return s.actual().node != nil }

// actual returns the symbol that is meant.
func (s *structSym) actual() *structSym {
	for s.same != nil {
		s = s.same
	}
	return s
}

func (s *structSym) fullName() string { return s.ns.qualify(s.name) }

// what returns "table" or "struct".
func (s *structSym) what() string {
	if s.fixed {
		return wordStruct
	}
	return wordTable
}

// enumSym is an enum or a union.
type enumSym struct {
	unit   *unit
	ns     namespace
	node   *enumNode
	base   baseType
	flags  bool
	vals   []*enumVal
	byName map[string]*enumVal
	byNum  map[int64]*enumVal
	enum   *schema.EnumDef   // of an enum
	union  *schema.StructDef // of a union
}

func (e *enumSym) fullName() string { return e.ns.qualify(e.node.name.name) }

func (e *enumSym) what() string {
	if e.node.union {
		return wordUnion
	}
	return wordEnum
}

// enumVal is a name of an enum, or a member of a union.
type enumVal struct {
	name  string
	value int64 // of a ulong the int64 with the same bits
	typ   typeRef
	node  *enumValNode // nil for a NONE that stands nowhere
}

type serviceSym struct {
	unit    *unit
	ns      namespace
	node    *serviceNode
	methods []*methodSym
	service *schema.Service
}

type methodSym struct {
	node              *methodNode
	request, response *structSym
}

// symbols is a table of names. Several files may declare a name, if none that is
// loaded includes both.
type symbols[S any] map[string][]S

// get returns the symbol of that name among those that visible lets pass.
func (s symbols[S]) get(name string, visible func(S) bool) (found S) {
	for _, sym := range s[name] {
		if visible(sym) {
			return sym
		}
	}
	return found
}

// walk looks for name in the namespace, without its last skip parts, and in
// those around it, the global one last.
func walk[S comparable](table symbols[S], name string, ns namespace, skip int, visible func(S) bool) (found S) {
	for ; skip > 0; skip-- {
		if ns == "" {
			return found
		}
		ns = ns.outer()
	}
	for {
		if sym := table.get(ns.qualify(name), visible); sym != found || ns == "" {
			return sym
		}
		ns = ns.outer()
	}
}

func (r *resolver) seesStruct(s *structSym) bool   { return s.same == nil && r.files[s.unit] }
func (r *resolver) seesEnum(e *enumSym) bool       { return r.files[e.unit] }
func (r *resolver) seesService(s *serviceSym) bool { return r.files[s.unit] }
func (r *resolver) seesUnit(u *unit) bool          { return r.files[u] }

// lookupEnum finds an enum or a union that has been declared.
func (r *resolver) lookupEnum(name string) *enumSym {
	if r.inFull {
		return r.enums.get(name, r.seesEnum)
	}
	return walk(r.enums, name, r.ns, 0, r.seesEnum)
}

// lookupStruct finds a table or a struct, which may only have been used so far.
func (r *resolver) lookupStruct(name string) *structSym {
	if r.inFull {
		return r.structs.get(name, r.seesStruct)
	}
	if s := r.structs.get(name, r.seesStruct); s != nil && s.node == nil {
		return s
	}
	if s := r.structs.get(r.ns.qualify(name), r.seesStruct); s != nil {
		return s
	}
	return walk(r.structs, name, r.ns, 1, r.seesStruct)
}

// useStruct finds a table or a struct, or notes that it has to be declared later.
func (r *resolver) useStruct(name ident) *structSym {
	if s := r.lookupStruct(name.name); s != nil {
		return s
	}
	s := &structSym{unit: r.unit, ns: r.ns, name: name.name, used: name.pos}
	if r.inFull {
		s.ns = ""
	}
	r.structs[name.name] = append(r.structs[name.name], s)
	r.waiting = append(r.waiting, s)
	return s
}

// declareStruct returns the symbol of a table or struct that is declared here,
// nil if the name is taken. A use of the name before, in any namespace, was
// one of this declaration.
func (r *resolver) declareStruct(n *structNode) *structSym {
	full := r.ns.qualify(n.name.name)
	s := r.structs.get(n.name.name, r.seesStruct)
	if s == nil || s.node != nil || r.inFull {
		s = r.structs.get(full, r.seesStruct)
	}
	switch {
	case s == nil:
		s = &structSym{}
	case s.node != nil:
		r.duplicateName(n.name, full, s.unit.span(s.node.name.pos))
		return nil
	case s.ns.qualify(s.name) != full && s.name != full:
		r.rep.Warnf(s.unit.span(s.used), codeOtherNamespace, "%s is taken to be %s, which is declared later", report.Clip(s.name), report.Clip(full)).
			Hint = "write " + report.Clip(full)
	}
	r.forget(s)
	r.structs[full] = append(r.structs[full], s)
	s.unit, s.ns, s.name, s.node = r.unit, r.ns, n.name.name, n
	s.fixed, s.byName, s.align = n.fixed, make(map[string]*fieldSym, len(n.fields)), 1
	if e := r.enums.get(full, r.seesEnum); e != nil {
		r.duplicateName(n.name, full, e.unit.span(e.node.name.pos))
	}
	return s
}

// forget takes a symbol that was only used out of the table.
func (r *resolver) forget(s *structSym) {
	list := r.structs[s.name]
	for i := range list {
		if list[i] == s {
			r.structs[s.name] = append(list[:i:i], list[i+1:]...)
			return
		}
	}
}

func (r *resolver) duplicateName(name ident, full string, first diag.Span) {
	d := r.errorf(name.pos, codeDuplicateName, "%q is declared twice", report.Clip(full))
	d.Notes = append(d.Notes, report.Note(first, "first declared here"))
}

// settle finds what the names mean that were used and not declared afterwards
// under that name.
func (r *resolver) settle() {
	for _, s := range r.waiting {
		if s.node != nil {
			continue
		}
		isDeclared := func(o *structSym) bool { return o.node != nil && r.seesStruct(o) }
		if found := walk(r.structs, s.name, s.ns, 0, isDeclared); found != nil {
			if s.same = found; !r.inFull {
				r.rep.Warnf(s.unit.span(s.used), codeForwardName, "%s is declared later, as %s", report.Clip(s.name), report.Clip(found.fullName())).
					Hint = "flatc refuses this; write " + report.Clip(found.fullName())
			}
			continue
		}
		r.unknownType(s)
	}
	r.waiting = nil
}

// unknownType reports a name that is not declared, and what it may mean.
func (r *resolver) unknownType(s *structSym) {
	d := r.rep.Errorf(s.unit.span(s.used), codeUnknownType, "the type %s is not declared", report.Clip(s.name))
	if r.rep.Full() {
		return
	}
	if e := walk(r.enums, s.name, s.ns, 0, r.seesEnum); e != nil {
		d.Message = "the " + e.what() + " " + report.Clip(s.name) + " is used before it is declared"
		d.Hint = "only tables may be used before: move the " + e.what() + " up"
		d.Notes = append(d.Notes, report.Note(e.unit.span(e.node.name.pos), "declared here"))
		return
	}
	if word := foreignTypes[s.name]; word != "" {
		d.Hint = "in FlatBuffers this is " + word
		return
	}
	var names []string
	for word := range typeWords {
		names = append(names, word)
	}
	_, last := splitName(s.name)
	for full, list := range r.structs {
		names = s.candidate(names, full, last, len(list) > 0 && list[0].node != nil && r.seesStruct(list[0]), d)
	}
	for full, list := range r.enums {
		names = s.candidate(names, full, last, r.seesEnum(list[0]), d)
	}
	if d.Hint == "" {
		d.Hint = report.DidYouMean("", s.name, names)
	}
}

// candidate adds the name that a declaration goes by where s is used to names,
// and gives a hint if it has the wanted name in another namespace.
func (s *structSym) candidate(names []string, full, wanted string, seen bool, d *diag.Diagnostic) []string {
	if !seen {
		return names
	}
	qualifier, last := splitName(full)
	if last == wanted {
		if hint := "did you mean " + report.Clip(full) + "?"; d.Hint == "" || hint < d.Hint {
			d.Hint = hint
		}
	}
	if qualifier == string(s.ns) {
		return append(names, last)
	}
	return append(names, full)
}

// splitName cuts a name at its last dot.
func splitName(name string) (qualifier, last string) {
	if i := strings.LastIndexByte(name, '.'); i >= 0 {
		return name[:i], name[i+1:]
	}
	return "", name
}
