package fbsidl_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// write makes files below a new directory and returns it.
func write(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func mustLoad(t *testing.T, path string, opts ...fbsidl.Option) *schema.File {
	t.Helper()
	f, list := fbsidl.Load(path, opts...)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestIncludesAreSoughtBesideTheirFileThenInTheDirectoriesThenBesideTheRoot(t *testing.T) {
	dir := write(t, map[string]string{
		"main/a.fbs":         `include "x.fbs"; include "sub/s.fbs"; table A { near:Near; far:Far; root:Root; }`,
		"main/x.fbs":         `table Near {}`,
		"main/root.fbs":      `table Root {}`,
		"main/only.fbs":      `table Wrong {}`,
		"main/sub/s.fbs":     `include "only.fbs"; include "root.fbs"; table S { f:Far; r:Root; }`,
		"first/x.fbs":        `table Wrong {}`,
		"second/only.fbs":    `include "sibling.fbs"; table Far { s:Sibling; }`,
		"second/sibling.fbs": `table Sibling {}`,
	})
	f := mustLoad(t, filepath.Join(dir, "main/a.fbs"),
		fbsidl.IncludeDirs(filepath.Join(dir, "first")), fbsidl.IncludeDirs(filepath.Join(dir, "second")))
	if n := len(f.Struct("A").Fields()); n != 3 {
		t.Errorf("A has %d fields", n)
	}
}

func TestAFileThatIsNotThereIsReported(t *testing.T) {
	f, list := fbsidl.Load(filepath.Join(t.TempDir(), "none.fbs"))
	if f != nil || codes(list) != "file-unreadable" {
		t.Errorf("codes = %q", codes(list))
	}
	dir := write(t, map[string]string{"a.fbs": `table A {}`})
	if _, list := fbsidl.Load(filepath.Join(dir, "a.fbs"), fbsidl.MemoryOnly()); codes(list) != "file-unreadable" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestWhatIsReadFromTheDiskIsToldOnce(t *testing.T) {
	dir := write(t, map[string]string{"a.fbs": `include "b.fbs"; include "./b.fbs"; table A { b:B; }`, "b.fbs": `table B {}`})
	read := map[string]int{}
	mustLoad(t, filepath.Join(dir, "a.fbs"), fbsidl.OnRead(func(path string, text []byte) { read[filepath.Base(path)]++ }))
	if len(read) != 2 || read["a.fbs"] != 1 || read["b.fbs"] != 1 {
		t.Errorf("read %v", read)
	}
}

func TestFilesLoadedTogetherShareWhatTheyInclude(t *testing.T) {
	files, list := fbsidl.LoadAll([]string{"a.fbs", "b.fbs", "common.fbs"}, fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{
		"a.fbs":      []byte(`include "common.fbs"; table Item { c:Common; }`),
		"b.fbs":      []byte(`include "common.fbs"; table Item { c:Common; }`),
		"common.fbs": []byte(`table Common {}`),
	}))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	a, b, common := files[0].Struct("Item"), files[1].Struct("Item"), files[2].Struct("Common")
	if a == b || a.Fields()[0].Type().Struct() != common || b.Fields()[0].Type().Struct() != common {
		t.Error("the files do not share what they include, or share what they do not")
	}
}

func TestAFileThatIncludesTwoDeclarationsOfANameIsRefusedThoughOthersWereNot(t *testing.T) {
	src := map[string][]byte{
		"a.fbs":    []byte(`table Item {}`),
		"b.fbs":    []byte(`table Item {}`),
		"both.fbs": []byte(`include "a.fbs"; include "b.fbs"; table X {}`),
	}
	if _, list := fbsidl.LoadAll([]string{"a.fbs", "b.fbs"}, fbsidl.MemoryOnly(), fbsidl.Sources(src)); list.Err() != nil {
		t.Error(list)
	}
	if _, list := fbsidl.LoadAll([]string{"a.fbs", "b.fbs", "both.fbs"}, fbsidl.MemoryOnly(), fbsidl.Sources(src)); codes(list) != "duplicate-name" {
		// b.fbs has another text, or it would count as the same file.
		t.Errorf("codes = %q", codes(list))
	}
}

func TestAFileSeesOnlyWhatItIncludes(t *testing.T) {
	_, list := fbsidl.LoadAll([]string{"a.fbs", "b.fbs"}, fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{
		"a.fbs": []byte(`attribute mine; table Item {} enum E : byte { A }`),
		"b.fbs": []byte(`table Other { i:Item; e:E; x:int (mine); }`),
	}))
	if codes(list) != "unknown-type unknown-type unknown-attribute" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestFilesThatIncludeEachOtherHaveNoCycleInTheSchema(t *testing.T) {
	f := mustLoad(t, "a.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{
		"a.fbs": []byte(`include "b.fbs"; table A { b:B; }`),
		"b.fbs": []byte(`include "a.fbs"; table B { a:A; }`),
	}))
	b := f.Includes()[0].File
	if len(b.Includes()) != 0 || b.Struct("B").Fields()[0].Type().Struct() != f.Struct("A") {
		t.Error("b.fbs includes a.fbs, or does not use its table")
	}
}

func TestSeveralNamespacesAndGoPackagesMix(t *testing.T) {
	f := mustLoad(t, "a.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{
		"a.fbs": []byte(`include "b.fbs"; include "c.fbs"; attribute "go_package=example.com/a"; namespace shop; table A { b:B; c:stock.C; } namespace x.y; table D { a:shop.A; }`),
		"b.fbs": []byte(`attribute "go_package=example.com/b"; namespace shop; table B {}`),
		"c.fbs": []byte(`attribute "go_package=example.com/b"; namespace shop.stock; table C { b:B; } namespace; table G {}`),
	}))
	b, c := f.Includes()[0].File, f.Includes()[1].File
	if f.Namespace("go") != "example.com/a" || b.Namespace("go") != "example.com/b" || c.Namespace("go") != "example.com/b" {
		t.Error("a Go package is wrong")
	}
	for _, full := range []string{"shop.A", "x.y.D"} {
		if s := f.Struct(full); s == nil || s.FullName() != full {
			t.Errorf("no %s", full)
		}
	}
	if c.Struct("G").FullName() != "G" || c.Struct("shop.stock.C").Fields()[0].Type().Struct() != b.Struct("shop.B") {
		t.Error("a name is wrong")
	}
}
