package protoidl_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the golden files in testdata")

// compareGolden compares got with the golden file at path.
func compareGolden(t *testing.T, path string, got []byte) {
	t.Helper()
	if *rewrite {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s differs (run with -rewrite and look at the change)\ngot:\n%s", path, got)
	}
}

// eachFile runs f on the .proto files of a directory, with the path of the golden.
func eachFile(t *testing.T, dir string, f func(t *testing.T, path, golden string)) {
	files, err := filepath.Glob(filepath.Join(dir, "*.proto"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no files in %s: %v", dir, err)
	}
	for _, path := range files {
		t.Run(filepath.Base(path), func(t *testing.T) {
			f(t, filepath.ToSlash(path), strings.TrimSuffix(path, ".proto")+".golden")
		})
	}
}

func TestDiagnosticsAreRenderedAsTheGoldensShow(t *testing.T) {
	eachFile(t, "testdata/diagnostics", func(t *testing.T, path, golden string) {
		file, list := protoidl.Load(path)
		if (file == nil) != (list.Err() != nil) {
			t.Errorf("file = %v with the error %v", file, list.Err())
		}
		var b bytes.Buffer
		if err := list.Render(&b); err != nil {
			t.Fatal(err)
		}
		compareGolden(t, golden, b.Bytes())
	})
}

func TestAcceptedFilesHaveTheSchemaOfTheGoldens(t *testing.T) {
	eachFile(t, "testdata/accepted", func(t *testing.T, path, golden string) {
		file, list := protoidl.Load(path)
		if err := list.Err(); err != nil {
			t.Fatal(err)
		}
		var d dumper
		d.file(file)
		for _, w := range list {
			d.line("%s", w)
		}
		compareGolden(t, golden, []byte(d.String()))
	})
}

// dumper writes a schema as text, with everything that a file declares.
type dumper struct{ strings.Builder }

func (d *dumper) line(format string, args ...any) { fmt.Fprintf(d, format+"\n", args...) }

func (d *dumper) file(f *schema.File) {
	d.line("file %s package %s%s", f.Path(), f.Package(), annotations(f.Annotations()))
	for _, n := range f.Namespaces() {
		d.line("namespace %s %s", n.Language, n.Name)
	}
	for _, i := range f.Includes() {
		d.line("include %s as %s%s", i.Path, i.Alias, place(i.Span))
	}
	for _, e := range f.Enums() {
		d.line("enum %s = %s closed=%t%s%s", e.Name(), e.FullName(), e.Closed(), annotations(e.Annotations()), about(e.Doc(), e.Span()))
		for _, v := range e.Values() {
			d.line("  %s = %d%s%s", v.Name, v.Value, annotations(v.Annotations), about(v.Doc, v.Span))
		}
	}
	for _, s := range f.Structs() {
		d.structure(s)
	}
	for _, s := range f.Services() {
		d.line("service %s = %s%s%s", s.Name(), s.FullName(), annotations(s.Annotations()), about(s.Doc(), s.Span()))
		for _, m := range s.Methods() {
			d.line("  %s(%v) %s%s%s", m.Name(), m.Args().Fields()[0], m.Returns(), annotations(m.Annotations()), about(m.Doc(), m.Span()))
			if st := m.Stream(); st != nil {
				d.line("    stream %d client %v server %v final %v", st.Kind, st.Client, st.Server, st.Final)
			}
		}
	}
}

func (d *dumper) structure(s *schema.StructDef) {
	d.line("struct %s = %s%s%s", s.Name(), s.FullName(), annotations(s.Annotations()), about(s.Doc(), s.Span()))
	for _, o := range s.Oneofs() {
		d.line("  oneof %s of %d%s", o.Name(), len(o.Fields()), about(o.Doc(), o.Span()))
	}
	for _, f := range s.Fields() {
		extra := encodings(f.Type())
		if f.Packed() {
			extra += " packed"
		}
		if f.Oneof() != nil {
			extra += " in " + f.Oneof().Name()
		}
		if f.JSONName() != f.Name() {
			extra += " json " + f.JSONName()
		}
		if f.Default() != nil {
			extra += " = " + value(f.Default())
		}
		d.line("  %v%s%s%s", f, extra, annotations(f.Annotations()), about(f.Doc(), f.Span()))
	}
}

// encodings writes those of a type and its parts that are not the standard one.
func encodings(t *schema.Type) string {
	if t == nil {
		return ""
	}
	s := ""
	if t.Encoding() != schema.StandardEncoding {
		s = " " + t.Encoding().String()
	}
	return s + encodings(t.Key()) + encodings(t.Elem())
}

func annotations(list schema.Annotations) string {
	s := ""
	for _, a := range list {
		if a.Structured != nil {
			s += " @" + a.Name + value(a.Structured)
		} else {
			s += fmt.Sprintf(" @%s=%q", a.Name, a.Value)
		}
	}
	return s
}

func value(v *schema.Value) string {
	s := ""
	switch v.Kind {
	case schema.BoolValue:
		return fmt.Sprint(v.Bool)
	case schema.IntValue:
		return fmt.Sprint(v.Int)
	case schema.FloatValue:
		return fmt.Sprint(v.Float)
	case schema.StringValue:
		return fmt.Sprintf("%q", v.String)
	case schema.EnumeratorValue:
		return v.Enumerator.Name
	case schema.ListValue:
		for _, e := range v.List {
			s += value(e) + ","
		}
		return "[" + s + "]"
	case schema.MapValue:
		for _, e := range v.Map {
			s += value(e.Key) + ":" + value(e.Value) + ","
		}
		return "{" + s + "}"
	case schema.StructValue:
		for _, f := range v.Fields {
			s += f.Field.Name() + ":" + value(f.Value) + ","
		}
		return "{" + s + "}"
	}
	return "?"
}

func about(doc string, at diag.Span) string {
	if doc != "" {
		return fmt.Sprintf(" %q", doc) + place(at)
	}
	return place(at)
}

// place writes where a name stands, and that name, so that a wrong place shows.
func place(s diag.Span) string {
	p := s.Position()
	return fmt.Sprintf(" (%d:%d %s)", p.Line, p.Column, s.Text())
}
