package fbsidl_test

import (
	"os"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// FuzzParse feeds arbitrary text to Load: it must neither panic nor hang, must
// say why it refuses, and what it accepts must be a complete graph.
func FuzzParse(f *testing.F) {
	for _, r := range rules(f) {
		other := []byte("table Other {}")
		for path, text := range r.files {
			if path != "main.fbs" {
				other = text
			}
		}
		f.Add(r.files["main.fbs"], other)
	}
	for _, dir := range []string{"testdata/accepted", "testdata/diagnostics", "testdata/accepted/lib"} {
		for _, path := range fbsFiles(f, dir) {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, []byte("include \"main.fbs\"; namespace b; table B { a:int; }"))
		}
	}
	f.Fuzz(func(t *testing.T, text, other []byte) {
		file, list := fbsidl.Load("main.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{
			"main.fbs": text, "b.fbs": other, "lib/money.fbs": other,
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
		render(t, list)
		if file != nil {
			walk(t, file, map[*schema.File]bool{})
			dump(file)
		}
	})
}

func checkSpan(t *testing.T, s diag.Span) {
	if s.Source == nil || s.Start < 0 || s.Start > s.End || s.End > len(s.Source.Text) {
		t.Fatalf("span %d to %d of %v", s.Start, s.End, s.Source)
	}
}

// walk asks every node for what a user of the schema would ask.
func walk(t *testing.T, f *schema.File, seen map[*schema.File]bool) {
	if seen[f] {
		return
	}
	seen[f] = true
	for _, s := range f.Structs() {
		for i, fd := range s.Fields() {
			if fd.Type() == nil || fd.Type().Kind() == schema.Invalid || s.FieldByName(fd.Name()) != fd || s.FieldByID(fd.ID()) != fd {
				t.Fatalf("field %s", fd.Name())
			}
			if s.Fixed() && (fd.Type().InlineSize() == 0 || fd.Offset()+fd.Type().InlineSize() > s.Size() || int(fd.ID()) != i) {
				t.Fatalf("field %s at %d of a struct of %d bytes", fd.Name(), fd.Offset(), s.Size())
			}
			if d := fd.Default(); d != nil && d.Kind == 0 {
				t.Fatalf("field %s has an empty default", fd.Name())
			}
		}
	}
	for _, s := range f.Services() {
		for _, m := range s.Methods() {
			if m.Returns().Kind() != schema.Struct || m.Args().Fields()[0].Type().Kind() != schema.Struct {
				t.Fatalf("method %s", m.Name())
			}
		}
	}
	for _, i := range f.Includes() {
		walk(t, i.File, seen)
	}
}
