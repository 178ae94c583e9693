package thriftidl_test

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
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

func mustLoad(t *testing.T, path string, opts ...thriftidl.Option) *schema.File {
	t.Helper()
	f, list := thriftidl.Load(path, opts...)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// loadText loads one file from memory.
func loadText(text string) (*schema.File, diag.List) {
	return thriftidl.Load("t.thrift", thriftidl.Sources(map[string][]byte{"t.thrift": []byte(text)}), thriftidl.MemoryOnly())
}

// codes returns the codes of the errors in list.
func codes(list diag.List) string {
	var all []string
	for _, d := range list {
		if d.Severity == diag.Error {
			all = append(all, d.Code)
		}
	}
	return strings.Join(all, " ")
}

func TestIncludesAreSoughtBesideTheirFileFirst(t *testing.T) {
	dir := write(t, map[string]string{
		"main/a.thrift":   `include "x.thrift"  include "only.thrift"  struct A { 1: x.Near near, 2: only.Far far }`,
		"main/x.thrift":   `struct Near {}`,
		"first/x.thrift":  `struct Wrong {}`,
		"second/x.thrift": `struct Wrong {}`,
		"second/only.thrift": `include "sibling.thrift"
			struct Far { 1: sibling.S s }`,
		"second/sibling.thrift": `struct S {}`,
	})
	f := mustLoad(t, filepath.Join(dir, "main/a.thrift"),
		thriftidl.IncludeDirs(filepath.Join(dir, "first")), thriftidl.IncludeDirs(filepath.Join(dir, "second")))
	if n := len(f.Struct("A").Fields()); n != 2 {
		t.Errorf("A has %d fields", n)
	}
}

func TestSourcesComeBeforeTheDisk(t *testing.T) {
	dir := write(t, map[string]string{
		"a.thrift": `include "b.thrift"  struct A { 1: b.B b }`,
		"b.thrift": `struct Disk {}`,
	})
	root := filepath.Join(dir, "a.thrift")
	b := filepath.ToSlash(filepath.Join(dir, "b.thrift"))
	f := mustLoad(t, root, thriftidl.Sources(map[string][]byte{b: []byte(`struct B {}`)}))
	if f.Includes()[0].File.Struct("B") == nil {
		t.Error("b.thrift was read from the disk")
	}
}

func TestMemoryOnlyNeverReadsTheDisk(t *testing.T) {
	dir := write(t, map[string]string{"a.thrift": `struct A {}`})
	path := filepath.Join(dir, "a.thrift")
	if _, list := thriftidl.Load(path, thriftidl.MemoryOnly()); codes(list) != "file-unreadable" {
		t.Errorf("codes = %q", codes(list))
	}
	src := map[string][]byte{"m.thrift": []byte(`include "` + filepath.ToSlash(path) + `"`)}
	if _, list := thriftidl.Load("m.thrift", thriftidl.Sources(src), thriftidl.MemoryOnly()); codes(list) != "include-not-found" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestMemoryPathsAreRelativeToTheIncludingFile(t *testing.T) {
	f := mustLoad(t, "api/v1/a.thrift", thriftidl.MemoryOnly(), thriftidl.IncludeDirs("common"), thriftidl.Sources(map[string][]byte{
		"api/v1/a.thrift": []byte(`include "../base.thrift" include "c.thrift" struct A { 1: base.B b, 2: c.C c }`),
		"api/base.thrift": []byte(`struct B {}`),
		"common/c.thrift": []byte(`struct C {}`),
	}))
	if f.Struct("A").FieldByID(2) == nil {
		t.Error("A lacks a field")
	}
}

func TestADiamondOfIncludesIsReadOnce(t *testing.T) {
	dir := write(t, map[string]string{
		"a.thrift":         `include "left.thrift" include "sub/right.thrift" struct A { 1: left.L l, 2: right.R r }`,
		"left.thrift":      `include "base.thrift" struct L { 1: base.B b }`,
		"sub/right.thrift": `include "../base.thrift" struct R { 1: base.B b }`,
		"base.thrift":      `struct B {}`,
	})
	f := mustLoad(t, filepath.Join(dir, "a.thrift"))
	left := f.Struct("A").FieldByID(1).Type().Struct().FieldByID(1).Type().Struct()
	right := f.Struct("A").FieldByID(2).Type().Struct().FieldByID(1).Type().Struct()
	if left != right {
		t.Error("base.B is two different structs")
	}
}

func TestASymbolicLinkIsTheSameFile(t *testing.T) {
	dir := write(t, map[string]string{
		"a.thrift":    `include "base.thrift" include "link.thrift" struct A { 1: base.B b, 2: link.B c }`,
		"base.thrift": `struct B {}`,
	})
	if err := os.Symlink("base.thrift", filepath.Join(dir, "link.thrift")); err != nil {
		t.Skip(err)
	}
	f := mustLoad(t, filepath.Join(dir, "a.thrift"))
	if a := f.Struct("A"); a.FieldByID(1).Type().Struct() != a.FieldByID(2).Type().Struct() {
		t.Error("the link is another file")
	}
}

func TestAFileThatIsNotThereIsOneDiagnosticWithItsName(t *testing.T) {
	_, list := thriftidl.Load(filepath.Join(t.TempDir(), "no.thrift"))
	if len(list) != 1 || list[0].Code != "file-unreadable" || !strings.Contains(list[0].String(), "no.thrift: error: ") {
		t.Errorf("list = %v", list)
	}
}

func TestADirectoryIsNoFile(t *testing.T) {
	if _, list := thriftidl.Load(t.TempDir()); codes(list) != "file-unreadable" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestAByteOrderMarkIsSkipped(t *testing.T) {
	f, list := loadText("\uFEFFstruct A {}")
	if list.Err() != nil || f.Struct("A") == nil {
		t.Error(list)
	}
}

func TestEveryEndOfLineIsUnderstood(t *testing.T) {
	f, list := loadText("// a\rstruct A {}\r\n# b\r\nstruct B {}\n/// doc\r\n/// more\rstruct C {}")
	if list.Err() != nil || f.Struct("A") == nil || f.Struct("B") == nil {
		t.Fatal(list)
	}
	c := f.Struct("C")
	if c.Doc() != "doc\nmore" || c.Span().Position().Line != 7 {
		t.Errorf("C has doc %q at %s", c.Doc(), c.Span().Position())
	}
}

func TestEveryNodeHasItsPlace(t *testing.T) {
	f, list := loadText(`namespace go demo
const list<i32> L = [1, 2]
enum E { A, B = 3 }
struct S { 1: i32 x = 4 (note = "n") }
service V { E get(1: S arg) throws (1: X x) (api = "a") }
exception X {}
typedef S T`)
	if list.Err() != nil {
		t.Fatal(list)
	}
	field := f.Struct("S").FieldByID(1)
	method := f.Service("V").Method("get")
	for _, c := range []struct {
		span diag.Span
		want string
	}{
		{f.Const("L").Span(), "L"}, {f.Const("L").Value().Span, "[1, 2]"}, {f.Const("L").Value().List[1].Span, "2"},
		{f.Enum("E").Span(), "E"}, {f.Enum("E").ByName("B").Span, "B"},
		{f.Struct("S").Span(), "S"}, {field.Span(), "x"}, {field.Default().Span, "4"}, {field.Annotations()[0].Span, `note = "n"`},
		{f.Service("V").Span(), "V"}, {method.Span(), "get"}, {method.Args().Fields()[0].Span(), "arg"},
		{method.Throws()[0].Span(), "x"}, {method.Result().FieldByID(0).Span(), "E"}, {method.Annotations()[0].Span, `api = "a"`},
		{f.Typedef("T").Span(), "T"}, {f.Namespaces()[0].Span, "namespace go demo"},
	} {
		if got := string(c.span.Text()); got != c.want {
			t.Errorf("span %s holds %q, want %q", c.span.Position(), got, c.want)
		}
	}
}

func TestNamesComeFromTheFileItself(t *testing.T) {
	f, list := thriftidl.Load("a.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{
		"a.thrift": []byte(`include "b.thrift"  include "dotted.name.thrift"
			const i32 LIMIT = 1
			enum Color { RED = 7 }
			struct S {}
			struct Uses { 1: S mine, 2: b.S theirs, 3: a.S also_mine, 4: dotted.name.S dotted }
			const i32 A = LIMIT
			const i32 B = b.LIMIT
			const i32 C = Color.RED
			const i32 D = b.Color.RED
			const i32 E = dotted.name.Color.RED`),
		"b.thrift":           []byte(`const i32 LIMIT = 2  enum Color { RED = 8 }  struct S {}`),
		"dotted.name.thrift": []byte(`enum Color { RED = 9 }  struct S {}`),
	}))
	if list.Err() != nil {
		t.Fatal(list)
	}
	for name, want := range map[string]int64{"A": 1, "B": 2, "C": 7, "D": 8, "E": 9} {
		if got := f.Const(name).Value().Int; got != want {
			t.Errorf("%s = %d, want %d", name, got, want)
		}
	}
	uses := f.Struct("Uses")
	if uses.FieldByID(1).Type().Struct() != uses.FieldByID(3).Type().Struct() {
		t.Error("a.S is not S inside a.thrift")
	}
	if uses.FieldByID(1).Type().Struct() == uses.FieldByID(2).Type().Struct() {
		t.Error("b.S is S")
	}
}

func TestWhatAnIncludedFileIncludesIsNotVisible(t *testing.T) {
	_, list := thriftidl.Load("a.thrift", thriftidl.MemoryOnly(), thriftidl.Sources(map[string][]byte{
		"a.thrift": []byte(`include "b.thrift"  struct A { 1: c.C c, 2: b.c.C d }`),
		"b.thrift": []byte(`include "c.thrift"  struct B { 1: c.C c }`),
		"c.thrift": []byte(`struct C {}`),
	}))
	if codes(list) != "unknown-type unknown-type" {
		t.Errorf("codes = %q", codes(list))
	}
}

func TestLoadIsSafeForConcurrentUse(t *testing.T) {
	src := map[string][]byte{
		"a.thrift": []byte(`include "b.thrift"  struct A { 1: b.B b = {"x": b.X} }`),
		"b.thrift": []byte(`const i32 X = 3  struct B { 1: i32 x }`),
	}
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			if _, list := thriftidl.Load("a.thrift", thriftidl.Sources(src)); list.Err() != nil {
				t.Error(list)
			}
		})
	}
	wg.Wait()
}

func TestFilesLoadedTogetherShareWhatTheyInclude(t *testing.T) {
	dir := write(t, map[string]string{
		"a.thrift":    `include "base.thrift" struct A { 1: base.B b }`,
		"b.thrift":    `include "base.thrift" include "a.thrift" struct C { 1: base.B b, 2: a.A a }`,
		"base.thrift": `struct B {}`,
	})
	at := func(name string) string { return filepath.Join(dir, name) }
	files, list := thriftidl.LoadAll([]string{at("b.thrift"), at("a.thrift"), at("b.thrift")})
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	if len(files) != 3 || files[0] != files[2] || files[1].Struct("A") == nil {
		t.Fatalf("%d files in another order", len(files))
	}
	c := files[0].Struct("C")
	if c.FieldByID(2).Type().Struct() != files[1].Struct("A") || c.FieldByID(1).Type() != files[1].Struct("A").FieldByID(1).Type() {
		t.Error("a type is there twice")
	}
	files, list = thriftidl.LoadAll([]string{at("a.thrift"), at("none.thrift"), at("gone.thrift")})
	if files != nil || codes(list) != "file-unreadable file-unreadable" {
		t.Errorf("%v, %v", files, list)
	}
	if files, list = thriftidl.LoadAll(nil); len(files) != 0 || list.Err() != nil {
		t.Errorf("%v, %v", files, list)
	}
}

func TestEveryFileFromTheDiskIsTold(t *testing.T) {
	dir := write(t, map[string]string{
		"a.thrift": `include "b.thrift" include "m.thrift" struct A {`, "b.thrift": `include "a.thrift" struct B {}`,
	})
	read := map[string]string{}
	_, list := thriftidl.Load(filepath.Join(dir, "a.thrift"), thriftidl.OnRead(func(path string, text []byte) {
		read[filepath.Base(path)] += string(text)
	}), thriftidl.Sources(map[string][]byte{filepath.ToSlash(filepath.Join(dir, "m.thrift")): {}}))
	if list.Err() == nil {
		t.Fatal("a file that is wrong was loaded")
	}
	if len(read) != 2 || !strings.HasPrefix(read["a.thrift"], "include") || strings.Count(read["b.thrift"], "struct") != 1 {
		t.Errorf("%v", read)
	}
}

func TestEnumsAsI64AreNumbersOf64Bits(t *testing.T) {
	const idl = `
enum Color { RED = 1, GREEN = 2 }
enum Size { S = 7 }
typedef Color Shade
const Color best = Color.GREEN
struct S {
  1: Color a = Color.RED, 2: Shade b = Shade.GREEN, 3: list<Color> c = [RED, best], 4: map<Color, Shade> d = {1: GREEN}
  5: i32 e = Color.GREEN, 6: Color f = 4294967296, 7: string g (note = "x")
}
service T { Color paint(1: Shade s) }`
	load := func(text string) (*schema.File, diag.List) {
		return thriftidl.Load("e.thrift", thriftidl.Sources(map[string][]byte{"e.thrift": []byte(text)}), thriftidl.MemoryOnly(), thriftidl.EnumsAsI64())
	}
	file, list := load(idl)
	if list.Err() != nil {
		t.Fatal(list)
	}
	s := file.Struct("S")
	for i, want := range []string{"i64", "i64", "list<i64>", "map<i64, i64>", "i32", "i64", "string"} {
		if got := s.Fields()[i].Type().String(); got != want {
			t.Errorf("field %d is of type %s, want %s", i+1, got, want)
		}
	}
	for i, want := range []int64{1, 2} {
		if v := s.Fields()[i].Default(); v.Kind != schema.IntValue || v.Int != want {
			t.Errorf("the default of field %d is %v", i+1, v)
		}
	}
	if c := s.Fields()[2].Default().List; len(c) != 2 || c[0].Int != 1 || c[1].Int != 2 {
		t.Errorf("the list is %v", c)
	}
	if m := file.Service("T").Methods()[0]; m.Returns().Kind() != schema.I64 || m.Returns().Enum() != file.Enum("Color") {
		t.Errorf("paint returns %s", m.Returns())
	}
	if s.Fields()[1].Type().Typedef().Name() != "Shade" {
		t.Error("the typedef is gone")
	}
	if _, list := load(idl + ` struct Bad { 1: Color c = Size.S }`); list.Err() == nil {
		t.Error("one enum took a value of another")
	}
}
