package thriftidl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// FuzzParse feeds arbitrary text to Load: it must neither panic nor hang, must
// say why it refuses, and what it accepts must be a complete graph.
func FuzzParse(f *testing.F) {
	for _, dir := range []string{"testdata/accepted", "testdata/diagnostics", "testdata/accepted/lib"} {
		files, _ := filepath.Glob(filepath.Join(dir, "*.thrift"))
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, []byte("struct Amount { 1: i64 units }\nconst i64 LIMIT = 1\n"))
		}
	}
	f.Add([]byte("include \"t.thrift\""), []byte("include \"money.thrift\""))
	f.Fuzz(func(t *testing.T, text, other []byte) {
		file, list := thriftidl.Load("t.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{
			"t.thrift": text, "lib/money.thrift": other, "lib/shared.thrift": other, "other.thrift": other,
		}))
		if (file == nil) != (list.Err() != nil) {
			t.Fatalf("file %v, errors %v", file, list)
		}
		for _, d := range list {
			checkSpan(t, d.Span)
			for _, n := range d.Notes {
				checkSpan(t, n.Span)
			}
			if d.Message == "" || d.Code == "" {
				t.Fatalf("a diagnostic without words: %+v", d)
			}
		}
		if err := list.Render(discard{}); err != nil {
			t.Fatal(err)
		}
		if file != nil {
			walk(t, file)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }

func checkSpan(t *testing.T, s diag.Span) {
	if s.Source == nil || s.Start < 0 || s.Start > s.End || s.End > len(s.Source.Text) {
		t.Fatalf("span %d to %d of %v", s.Start, s.End, s.Source)
	}
}

// walk asks every node for what a user of the schema would ask.
func walk(t *testing.T, f *schema.File) {
	fields := func(list []*schema.Field) {
		for _, fd := range list {
			if fd.Type() == nil || fd.Type().Kind() == schema.Invalid || fd.Struct().FieldByName(fd.Name()) != fd {
				t.Fatalf("field %v", fd.Name())
			}
			if d := fd.Default(); d != nil && d.Kind == 0 {
				t.Fatalf("field %s has an empty default", fd.Name())
			}
		}
	}
	for _, s := range f.Structs() {
		fields(s.Fields())
	}
	for _, c := range f.Consts() {
		if c.Value() == nil || c.Value().Kind == 0 {
			t.Fatalf("const %s has no value", c.Name())
		}
	}
	for _, d := range f.Typedefs() {
		_ = d.Type().String()
	}
	for _, s := range f.Services() {
		for _, m := range s.AllMethods() {
			fields(m.Args().Fields())
			if (m.Result() == nil) != m.Oneway() {
				t.Fatalf("method %s", m.Name())
			}
			if m.Result() != nil {
				fields(m.Result().Fields())
			}
		}
	}
}
