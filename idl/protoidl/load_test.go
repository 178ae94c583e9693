package protoidl_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
)

func memory(files map[string]string) []protoidl.Option {
	m := make(map[string][]byte, len(files))
	for name, text := range files {
		m[name] = []byte(text)
	}
	return []protoidl.Option{protoidl.MemoryOnly(), protoidl.Sources(m)}
}

func mustLoad(t *testing.T, path string, opts ...protoidl.Option) *schema.File {
	t.Helper()
	f, list := protoidl.Load(path, opts...)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

const header = "syntax = \"proto3\";\n"

func TestImportsAreFoundInOrder(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"root/a/main.proto": header + `import "b.proto"; message A { B b = 1; }`,
		"root/a/b.proto":    header + `message B { int32 beside = 1; }`,
		"other/b.proto":     header + `message B { int32 included = 1; }`,
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	main := filepath.Join(dir, "root", "a", "main.proto")
	for field, opts := range map[string][]protoidl.Option{
		"beside":   nil,
		"included": {protoidl.IncludeDirs(filepath.Join(dir, "nowhere"), filepath.Join(dir, "other"))},
		"inMemory": {protoidl.Sources(map[string][]byte{filepath.Join(dir, "root", "a", "b.proto"): []byte(header + `message B { int32 inMemory = 1; }`)})},
	} {
		f := mustLoad(t, main, opts...)
		if b := f.Struct("A").FieldByName("b").Type().Struct(); b.FieldByName(field) == nil {
			t.Errorf("%s: found %v", field, b.Fields())
		}
		if b := f.Includes()[0]; b.Path != "b.proto" || b.File.Struct("B") == nil {
			t.Errorf("the import is %+v", b)
		}
	}
	if f, list := protoidl.Load(main, protoidl.MemoryOnly()); f != nil || !strings.Contains(list.Error(), "[file-unreadable]") {
		t.Errorf("without the disk: %v", list)
	}
	if f, list := protoidl.Load(dir); f != nil || !strings.Contains(list.Error(), "not a regular file") {
		t.Errorf("a directory: %v", list)
	}
}

func TestWellKnownTypesNeedNoFile(t *testing.T) {
	f := mustLoad(t, "m.proto", memory(map[string]string{"m.proto": header + `
		import "google/protobuf/timestamp.proto"; import "google/protobuf/struct.proto";
		message M { google.protobuf.Timestamp t = 1; google.protobuf.Value v = 2; }`})...)
	ts := f.Struct("M").FieldByName("t").Type().Struct()
	if ts.FullName() != "google.protobuf.Timestamp" || ts.FieldByID(1).Type().Kind() != schema.I64 || !ts.Span().IsZero() {
		t.Errorf("%s with %v", ts.FullName(), ts.Fields())
	}
	if v := f.Struct("M").FieldByName("v").Type().Struct(); v.Oneofs()[0].Name() != "kind" || v.FieldByName("list_value").Type().Struct() == nil {
		t.Error("Value is not what it is")
	}
}

func TestPublicImportsAndFilesImportedTwiceAreOne(t *testing.T) {
	f := mustLoad(t, "a.proto", memory(map[string]string{
		"a.proto": header + `import "b.proto"; import "d.proto"; message A { C c = 1; C again = 2; D d = 3; }`,
		"b.proto": header + `import public "c.proto";`,
		"c.proto": header + `message C {}`,
		"d.proto": header + `import "c.proto"; message D { C c = 1; }`,
	})...)
	a := f.Struct("A")
	if c := a.FieldByID(1).Type().Struct(); c != a.FieldByID(2).Type().Struct() || c != a.FieldByID(3).Type().Struct().FieldByID(1).Type().Struct() {
		t.Error("one message is two")
	}
}

func TestMessagesMayContainThemselves(t *testing.T) {
	f := mustLoad(t, "m.proto", memory(map[string]string{"m.proto": header + `message A { B b = 1; map<string, A> m = 2; } message B { repeated A a = 1; }`})...)
	a := f.Struct("A")
	if a.FieldByID(1).Type().Struct().FieldByID(1).Type().Elem().Struct() != a || a.FieldByID(2).Type().Elem().Struct() != a {
		t.Error("the cycle is not closed")
	}
}

func TestLimitsAreErrors(t *testing.T) {
	many := header
	for i := range 300 {
		many += fmt.Sprintf("message M%d { Nothing a = 1; }\n", i)
	}
	for name, c := range map[string]struct{ text, code string }{
		"deep option":   {header + "option (x) = " + strings.Repeat("{a:", 200_000) + strings.Repeat("}", 200_000) + ";", "nesting-depth"},
		"deep messages": {header + strings.Repeat("message M {", 50) + strings.Repeat("}", 50), "protobuf"},
		"deeper":        {header + strings.Repeat("message M {", 300_000), "nesting-depth"},
		"large":         {header + strings.Repeat(" ", 5<<20), "file-unreadable"},
		"many errors":   {many, "too-many-diagnostics"},
	} {
		f, list := protoidl.Load("m.proto", memory(map[string]string{"m.proto": c.text})...)
		if f != nil || len(list) == 0 || len(list) > 200 {
			t.Errorf("%s: %d diagnostics", name, len(list))
			continue
		}
		found := false
		for _, d := range list {
			found = found || d.Code == c.code
		}
		if !found {
			t.Errorf("%s: %v", name, list[0])
		}
	}
}

func TestBracketsInTextAndCommentsDoNotNest(t *testing.T) {
	brackets := strings.Repeat("{[(", 1000)
	mustLoad(t, "m.proto", memory(map[string]string{"m.proto": "syntax = \"proto2\"; // " + brackets + "\n/* " + brackets +
		" */ message M { optional string s = 1 [default = \"" + brackets + "\\\"" + brackets + "\"]; optional string t = 2 [default = '" + brackets + "']; }"})...)
}

func TestFilesMayBeLoadedAtOnce(t *testing.T) {
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, list := protoidl.Load("testdata/accepted/proto2.proto"); list.Err() != nil {
				t.Error(list)
			}
		})
	}
	wg.Wait()
}

// FuzzLoad feeds arbitrary text to Load: it must neither panic nor hang, must
// say why it refuses, and what it accepts must be a complete graph.
func FuzzLoad(f *testing.F) {
	for _, pattern := range []string{"testdata/*/*.proto", "testdata/*/lib/*.proto"} {
		files, _ := filepath.Glob(pattern)
		for _, path := range files {
			text, err := os.ReadFile(path)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(text, []byte(header+"message B {}"))
		}
	}
	f.Fuzz(func(t *testing.T, text, other []byte) {
		file, list := protoidl.Load("t.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{
			"t.proto": text, "missing.proto": other, "lib/money.proto": other, "lib/api.proto": other,
		}))
		if (file == nil) != (list.Err() != nil) {
			t.Fatalf("file %v, errors %v", file, list)
		}
		for _, d := range list {
			if s := d.Span; d.Message == "" || d.Code == "" || s.Start < 0 || s.Start > s.End || s.Source != nil && s.End > len(s.Source.Text) {
				t.Fatalf("a diagnostic without words or place: %+v", d)
			}
		}
		if err := list.Render(discard{}); err != nil {
			t.Fatal(err)
		}
		if file != nil {
			var d dumper
			d.file(file)
		}
	})
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
