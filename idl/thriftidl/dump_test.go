package thriftidl_test

import (
	"fmt"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

func TestAcceptedFilesHaveTheSchemaOfTheGoldens(t *testing.T) {
	for _, path := range thriftFiles(t, "testdata/accepted") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			file, list := thriftidl.Load(filepath.ToSlash(path))
			if err := list.Err(); err != nil {
				t.Fatalf("refused:\n%s", render(t, list))
			}
			d := &dumper{}
			d.file(file)
			for _, w := range list {
				d.line("%s", w)
			}
			compareGolden(t, strings.TrimSuffix(path, ".thrift")+".golden", []byte(d.String()))
		})
	}
}

// dumper writes a schema as text, with everything that a file declares.
type dumper struct {
	strings.Builder
	indent string
}

func (d *dumper) line(format string, args ...any) {
	d.WriteString(d.indent)
	fmt.Fprintf(d, format, args...)
	d.WriteByte('\n')
}

func (d *dumper) in(f func()) {
	d.indent += "  "
	f()
	d.indent = d.indent[2:]
}

func (d *dumper) doc(text string) {
	if text != "" {
		d.line("doc %q", text)
	}
}

func annotations(list schema.Annotations) string {
	var b strings.Builder
	for _, a := range list {
		switch {
		case a.Structured != nil:
			fmt.Fprintf(&b, " @%s%s", a.Name, value(a.Structured))
		case a.HasValue:
			fmt.Fprintf(&b, " (%s = %q)", a.Name, a.Value)
		default:
			fmt.Fprintf(&b, " (%s)", a.Name)
		}
	}
	return b.String()
}

func typeText(t *schema.Type) string {
	s := t.String()
	if t.Typedef() != nil {
		s = t.Typedef().Name() + "=" + s
	}
	return s + annotations(t.Annotations())
}

func value(v *schema.Value) string {
	s := ""
	if v.Const != nil {
		s = v.Const.Name() + "="
	}
	var parts []string
	switch v.Kind {
	case schema.BoolValue:
		return s + strconv.FormatBool(v.Bool)
	case schema.IntValue:
		return s + strconv.FormatInt(v.Int, 10)
	case schema.FloatValue:
		return s + strconv.FormatFloat(v.Float, 'g', -1, 64) + "f"
	case schema.StringValue:
		return s + strconv.Quote(v.String)
	case schema.EnumeratorValue:
		name := "?"
		if v.Enumerator != nil {
			name = v.Enumerator.Name
		}
		return fmt.Sprintf("%s%s(%d)", s, name, v.Int)
	case schema.ListValue:
		for _, x := range v.List {
			parts = append(parts, value(x))
		}
		return s + "[" + strings.Join(parts, ", ") + "]"
	case schema.MapValue:
		for _, x := range v.Map {
			parts = append(parts, value(x.Key)+": "+value(x.Value))
		}
	case schema.StructValue:
		for _, x := range v.Fields {
			parts = append(parts, x.Field.Name()+" = "+value(x.Value))
		}
	}
	return s + "{" + strings.Join(parts, ", ") + "}"
}

func (d *dumper) file(f *schema.File) {
	d.line("file %s", f.Path())
	d.doc(f.Doc())
	if f.Package() != "" {
		d.line("package %s%s", f.Package(), annotations(f.Annotations()))
	}
	for _, n := range f.Namespaces() {
		d.line("namespace %s %s%s", n.Language, n.Name, annotations(n.Annotations))
	}
	for _, i := range f.Includes() {
		d.line("include %s as %s: %s", i.Path, i.Alias, i.File.Path())
	}
	for _, t := range f.Typedefs() {
		d.line("typedef %s = %s at %s", t.Name(), typeText(t.Type()), t.Span().Position())
		d.in(func() { d.doc(t.Doc()) })
	}
	for _, e := range f.Enums() {
		d.line("enum %s%s at %s", e.Name(), annotations(e.Annotations()), e.Span().Position())
		d.in(func() {
			d.doc(e.Doc())
			for _, v := range e.Values() {
				d.line("%s = %d%s", v.Name, v.Value, annotations(v.Annotations))
				d.in(func() { d.doc(v.Doc) })
			}
		})
	}
	for _, c := range f.Consts() {
		d.line("const %s %s = %s%s", typeText(c.Type()), c.Name(), value(c.Value()), annotations(c.Annotations()))
		d.in(func() { d.doc(c.Doc()) })
	}
	for _, s := range f.Structs() {
		d.line("%s %s%s at %s", s.Flavor(), s.Name(), annotations(s.Annotations()), s.Span().Position())
		d.in(func() { d.doc(s.Doc()); d.fields(s.Fields()) })
	}
	for _, s := range f.Services() {
		d.service(s)
	}
}

func (d *dumper) fields(fields []*schema.Field) {
	for _, f := range fields {
		def := ""
		if f.Default() != nil {
			def = " = " + value(f.Default())
		}
		d.line("%d: %s %s %s%s%s", f.ID(), f.Requiredness(), typeText(f.Type()), f.Name(), def, annotations(f.Annotations()))
		d.in(func() { d.doc(f.Doc()) })
	}
}

func (d *dumper) service(s *schema.Service) {
	parent := ""
	if s.Extends() != nil {
		parent = " extends " + s.Extends().Name()
	}
	d.line("service %s%s%s at %s", s.Name(), parent, annotations(s.Annotations()), s.Span().Position())
	d.in(func() {
		d.doc(s.Doc())
		for _, m := range s.Methods() {
			d.line("%s %s%s oneway=%t", typeText(m.Returns()), m.Name(), annotations(m.Annotations()), m.Oneway())
			d.in(func() { d.method(m) })
		}
	})
}

func (d *dumper) method(m *schema.Method) {
	d.doc(m.Doc())
	d.fields(m.Args().Fields())
	if len(m.Throws()) > 0 {
		d.line("throws")
		d.in(func() { d.fields(m.Throws()) })
	}
	s := m.Stream()
	if s == nil {
		return
	}
	part := func(name string, t *schema.Type, throws []*schema.Field) {
		if t != nil {
			d.line("%s %s", name, typeText(t))
		}
		d.in(func() { d.fields(throws) })
	}
	d.line("stream kind %d after a call %t", s.Kind, s.InitialReply)
	part("client", s.Client, s.ClientThrows)
	part("final", s.Final, nil)
	part("server", s.Server, s.Throws)
}
