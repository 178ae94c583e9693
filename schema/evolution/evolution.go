package evolution

import (
	"fmt"
	"path"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// Format is what messages of a schema are written in, as far as that decides
// which changes are harmless.
type Format uint8

const (
	Thrift      Format = iota // fields have ids and types; all that is set is written
	Protobuf                  // fields have ids; what has its default may be left out
	FlatBuffers               // fields have slots without gaps; what has its default is left out
)

// The codes of all findings. They are stable: tools may compare them.
const (
	codeKindChanged     = "kind-changed"
	codeFieldMoved      = "field-moved"
	codeFieldDeleted    = "field-deleted"
	codeFieldRenamed    = "field-renamed" // warning
	codeFieldRequired   = "field-required"
	codeFieldOptional   = "field-no-longer-required" // warning
	codeTypeChanged     = "type-changed"
	codeTypeNameChanged = "type-name-changed" // warning
	codeDefaultChanged  = "default-changed"
	codeKeyChanged      = "key-changed" // warning
	codeLayoutChanged   = "layout-changed"
	codeBaseChanged     = "base-type-changed"
	codeValueMoved      = "value-moved"
	codeValueDeleted    = "value-deleted" // warning
	codeValueRenamed    = "value-renamed" // warning
	codeServiceDeleted  = "service-deleted"
	codeMethodDeleted   = "method-deleted"
	codeMethodChanged   = "method-changed"
	codeRootChanged     = "root-changed"
)

// Check compares a file, with all that it includes, to an older form of it. The
// list is ordered by place; places are those of the new schema, or of the old one
// where something is gone. It is empty if nothing matters.
//
// Declarations are compared with those of the same full name. A type that is gone is no
// finding by itself: who used it has changed. Nothing is modified; Check is safe
// for concurrent use.
func Check(format Format, old, new *schema.File) diag.List {
	c := &checker{format: format, old: gather(old), new: gather(new)}
	c.root(old, new)
	for _, s := range c.old.structs {
		if n := c.new.strct(s); n != nil {
			c.compareStructs(s, n)
		}
	}
	for _, e := range c.old.enums {
		if n := c.new.enum(e); n != nil {
			c.compareEnums(e, n)
		}
	}
	for _, s := range c.old.services {
		c.service(s)
	}
	c.list.Sort()
	return c.list
}

// world is what a file declares with all that it includes.
type world struct {
	top      *schema.File
	structs  []*schema.StructDef
	enums    []*schema.EnumDef
	services []*schema.Service
	byName   map[string][]*schema.StructDef
	enumsBy  map[string][]*schema.EnumDef
	service  map[string]*schema.Service
}

func gather(f *schema.File) *world {
	w := &world{top: f, byName: make(map[string][]*schema.StructDef), enumsBy: make(map[string][]*schema.EnumDef), service: make(map[string]*schema.Service)}
	seen := make(map[*schema.File]bool)
	var visit func(f *schema.File)
	visit = func(f *schema.File) {
		if seen[f] {
			return
		}
		seen[f] = true
		w.structs = append(w.structs, f.Structs()...)
		w.enums = append(w.enums, f.Enums()...)
		w.services = append(w.services, f.Services()...)
		for _, i := range f.Includes() {
			visit(i.File)
		}
	}
	visit(f)
	for _, s := range w.structs {
		w.byName[s.FullName()] = append(w.byName[s.FullName()], s)
	}
	for _, e := range w.enums {
		w.enumsBy[e.FullName()] = append(w.enumsBy[e.FullName()], e)
	}
	for _, s := range w.services {
		if w.service[s.FullName()] == nil {
			w.service[s.FullName()] = s
		}
	}
	return w
}

// strct returns the struct of the same name as old. Where several files declare the
// name, it is the one in the file of the same name, or in the top file.
func (w *world) strct(old *schema.StructDef) *schema.StructDef {
	return choose(w, w.byName[old.FullName()], old.File(), (*schema.StructDef).File)
}

func (w *world) enum(old *schema.EnumDef) *schema.EnumDef {
	return choose(w, w.enumsBy[old.FullName()], old.File(), (*schema.EnumDef).File)
}

func choose[D any](w *world, list []D, old *schema.File, file func(D) *schema.File) (best D) {
	if len(list) == 1 || old == nil {
		return append(list, best)[0]
	}
	for _, d := range list {
		if f := file(d); f != nil && path.Base(f.Path()) == path.Base(old.Path()) {
			return d
		}
	}
	for _, d := range list {
		if file(d) == w.top {
			return d
		}
	}
	return best
}

type checker struct {
	format   Format
	old, new *world
	list     diag.List
}

// add adds a finding at a place of the new schema with a note at the old one.
func (c *checker) add(severity diag.Severity, code string, at, old diag.Span, format string, args ...any) *diag.Diagnostic {
	d := &diag.Diagnostic{Severity: severity, Code: code, Span: at, Message: fmt.Sprintf(format, args...)}
	if !old.IsZero() && old != at {
		d.Notes = append(d.Notes, diag.Note{Span: old, Message: "it was declared here"})
	}
	c.list = append(c.list, d)
	return d
}

func (c *checker) errorf(code string, at, old diag.Span, format string, args ...any) *diag.Diagnostic {
	return c.add(diag.Error, code, at, old, format, args...)
}

func (c *checker) warnf(code string, at, old diag.Span, format string, args ...any) *diag.Diagnostic {
	return c.add(diag.Warning, code, at, old, format, args...)
}

// root compares what buffers begin with.
func (c *checker) root(old, new *schema.File) {
	switch o, n := old.Root(), new.Root(); {
	case o == nil:
	case n == nil:
		c.errorf(codeRootChanged, o.Span(), diag.Span{}, "the root type was %s, now there is none", o.FullName())
	case n.FullName() != o.FullName():
		c.errorf(codeRootChanged, n.Span(), o.Span(), "the root type was %s and is %s", o.FullName(), n.FullName())
	}
	if o, n := old.Identifier(), new.Identifier(); o != "" && o != n {
		at := diag.Span{}
		if new.Root() != nil {
			at = new.Root().Span()
		}
		c.errorf(codeRootChanged, at, diag.Span{}, "the file identifier was %q and is %q", o, n)
	}
}

// service compares a service of the old schema.
func (c *checker) service(old *schema.Service) {
	s := c.new.service[old.FullName()]
	if s == nil {
		c.errorf(codeServiceDeleted, old.Span(), diag.Span{}, "the service %s is gone", old.FullName())
		return
	}
	for _, o := range old.AllMethods() {
		m := s.Method(o.Name())
		if m == nil {
			c.errorf(codeMethodDeleted, o.Span(), diag.Span{}, "the method %s.%s is gone", old.Name(), o.Name())
			continue
		}
		c.method(o, m)
	}
}

func (c *checker) method(old, new *schema.Method) {
	name := new.Service().Name() + "." + new.Name()
	if old.Oneway() != new.Oneway() {
		c.errorf(codeMethodChanged, new.Span(), old.Span(), "the method %s %s", name, map[bool]string{true: "is oneway now", false: "is no longer oneway"}[new.Oneway()])
		return
	}
	if o, n := streamOf(old), streamOf(new); o != n {
		c.errorf(codeMethodChanged, new.Span(), old.Span(), "the method %s had %s and has %s", name, o, n)
	}
	c.compareFields(old.Args(), new.Args(), "the method "+name)
	if old.Result() == nil {
		return
	}
	if o, n := old.Result().FieldByID(0), new.Result().FieldByID(0); (o == nil) != (n == nil) {
		c.errorf(codeMethodChanged, new.Span(), old.Span(), "the method %s returned %s and returns %s", name, old.Returns(), new.Returns())
		return
	}
	c.compareFields(old.Result(), new.Result(), "the result of "+name)
}

func streamOf(m *schema.Method) string {
	s := m.Stream()
	if s == nil {
		return "no stream"
	}
	part := func(what string, t *schema.Type) string {
		if t == nil {
			return ""
		}
		return " " + what + " " + t.String()
	}
	text := map[schema.StreamKind]string{
		schema.ServerStream: "a stream of the server", schema.ClientStream: "a stream of the client", schema.BidirectionalStream: "a stream of both",
	}[s.Kind]
	if s.InitialReply {
		text += " after a call"
	}
	return text + strings.Join([]string{part("sending", s.Server), part("taking", s.Client), part("ending with", s.Final)}, "")
}
