package main

import (
	"bytes"
	"context"
	"flag"
	"io/fs"
	"maps"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/examples/shop"
)

var rewrite = flag.Bool("rewrite", false, "write the golden files anew")

// golden compares got with the file of that name.
func golden(t *testing.T, name, got string) {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(testdata, name))
	if err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs, -rewrite accepts it; got:\n%s", path, got)
	}
}

// testdata is the directory as an absolute path, since some tests change
// theirs to the repository's root, where users type the commands.
var testdata, _ = filepath.Abs("testdata")

// atRoot changes to the repository's root.
func atRoot(t *testing.T) { t.Helper(); t.Chdir("../..") }

// thrum runs a command line.
func thrum(stdin string, args ...string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(context.Background(), args, strings.NewReader(stdin), &out, &errs)
	return code, out.String(), errs.String()
}

// expect runs a command line and checks its exit code.
func expect(t *testing.T, want int, args ...string) (stdout, stderr string) {
	t.Helper()
	code, stdout, stderr := thrum("", args...)
	if code != want {
		t.Fatalf("thrum %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, stdout, stderr)
	}
	return stdout, stderr
}

func TestHelpDescribesEveryCommand(t *testing.T) {
	overview, _ := expect(t, exitOK, "help")
	all := overview
	for _, c := range commands() {
		text, _ := expect(t, exitOK, "help", c.name)
		all += "\n# thrum help " + c.name + "\n\n" + text
		if again, _ := expect(t, exitOK, c.name, "--help"); again != text {
			t.Errorf("thrum %s --help says something else than thrum help %s", c.name, c.name)
		}
	}
	golden(t, "help.golden", all)
}

func TestExamplesOfTheHelpAreCommandLines(t *testing.T) {
	for _, c := range commands() {
		for _, line := range c.examples {
			words := shellWords(line)
			i := slices.Index(words, "thrum")
			if i < 0 || words[i+1] != c.name {
				t.Errorf("%s: an example of something else: %s", c.name, line)
				continue
			}
			fs := flag.NewFlagSet(c.name, flag.ContinueOnError)
			c.setup(fs)
			if _, err := parseFlags(fs, words[i+2:]); err != nil {
				t.Errorf("%s: %v", line, err)
			}
		}
	}
}

func TestMistypedNamesGetASuggestion(t *testing.T) {
	atRoot(t)
	idl := []string{"--idl", "examples/shop/shop.thrift"}
	golden(t, "mistyped.golden", transcript(t,
		[]string{"", "inpsect"},
		[]string{"", "hepl"},
		[]string{"", "something"},
		[]string{"", "help", "chekc"},
		[]string{"", "gen", "--prefxi", "x"},
		[]string{"", "check", "--strange"},
		append([]string{"", "convert", "--from", "json", "--to", "binary", "--type", "common.Mony"}, idl...),
		append([]string{"", "call", "localhost:1", "Shp.search"}, idl...),
		append([]string{"", "call", "localhost:1", "Shop.serach"}, idl...),
		append([]string{"", "call", "localhost:1", "Shop.everythingElse"}, idl...),
		append([]string{"", "call", "localhost:1", "search"}, idl...),
		append([]string{"", "call", "localhost:1", "serach"}, idl...),
		[]string{"", "call", "localhost:1", "search", "--idl", "examples/shop"},
		append([]string{"", "call", "localhost:1", "Shop.getBook", `{"id": "one"}`}, idl...),
		[]string{"", "call", "localhost:1", "Shop.getBook", "--idl", "examples/shop/shop.thrif"},
		[]string{"", "check", "examples/shop/shp.thrift"},
		[]string{"", "gen", "LICENSE", "-o", "out"},
		[]string{"", "gen", "x.proto", "-o", "out"},
		[]string{"", "convert", "--from", "jsn", "--to", "binary"},
		append([]string{"", "call", "localhost:1", "Shop.search", "--dialect", "ttheadre"}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.serach"}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.viewed"}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--json", `{"id": {{rnd 1 3}}}`}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--json", `{"id": {{rand 3}}}`}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--json", `{"id": {{rand 3 1}}}`}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--json", `{"id": {{seq}`}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--json", `{"ide": {{seq}}}`}, idl...),
		append([]string{"", "bench", "localhost:1", "--method", "Shop.getBook", "--dialect", "htpp"}, idl...),
	))
}

func TestTheVersionIsWhatOneAsksForByHabit(t *testing.T) {
	want, _ := expect(t, exitOK, "version")
	for _, flag := range []string{"-v", "-version", "--version"} {
		if got, _ := expect(t, exitOK, flag); got != want {
			t.Errorf("%s: got %q, want %q", flag, got, want)
		}
	}
}

func TestCallAsksWhetherAServerRuns(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l.Close()
	dir := t.TempDir()
	placeFile(t, filepath.Join(dir, "a.fbs"), "table A {} rpc_service S { Get(A):A; }")
	for _, args := range [][]string{{"Shop.ping", "--idl", shopIDL}, {"S.Get", "--idl", filepath.Join(dir, "a.fbs")}} {
		_, stderr := expect(t, exitFailed, append([]string{"call", l.Addr().String()}, args...)...)
		if !strings.Contains(stderr, "hint: is a server running at "+l.Addr().String()) {
			t.Errorf("%v: got %q", args, stderr)
		}
	}
}

func TestCheckReadsDirectories(t *testing.T) {
	dir := t.TempDir()
	placeFile(t, filepath.Join(dir, "a.thrift"), `include "sub/b.thrift"`)
	placeFile(t, filepath.Join(dir, "sub", "b.thrift"), `include "a2.thrift"`) // found in the directory
	placeFile(t, filepath.Join(dir, "a2.thrift"), "struct S {}")
	placeFile(t, filepath.Join(dir, "c.fbs"), "table T { n: int; }")
	placeFile(t, filepath.Join(dir, ".hidden", "d.fbs"), "wrong")
	placeFile(t, filepath.Join(dir, "e.txt"), "wrong")
	out, _ := expect(t, exitOK, "check", dir)
	if out != "4 files checked: 0 errors, 0 warnings\n" {
		t.Errorf("got %q", out)
	}
	placeFile(t, filepath.Join(dir, "f.proto"), "wrong")
	if out, _ := expect(t, exitFailed, "check", dir); !strings.Contains(out, "f.proto:1:") {
		t.Errorf("got %q", out)
	}
	if _, stderr := expect(t, exitFailed, "check", t.TempDir()); !strings.Contains(stderr, "no .thrift, .fbs or .proto file below") {
		t.Errorf("got %q", stderr)
	}
}

func TestCommandLinesThatMakeNoSenseExitWith2(t *testing.T) {
	for _, args := range [][]string{
		{}, {"nothing"}, {"help", "nothing"}, {"demo", "now"}, {"demo", "--port", "1"}, {"version", "please"},
		{"call"}, {"call", "localhost:1"}, {"call", "localhost:1", "Shop.get"}, {"call", "a", "b.c", "{}", "{}"},
		{"check"}, {"gen", "a.thrift"}, {"gen", "-o", "x"}, {"gen", "a.thrift", "-o", "x", "--prefix", "a b"}, {"convert"}, {"convert", "xml"}, {"convert", "a", "b", "c"}, {"convert", "--from", "json", "--to", "xml"},
		{"convert", "--from", "json", "--to", "binary"}, {"convert", "--from", "binary", "--to", "protobuf", "--idl", "testdata/shared.thrift", "--type", "Author"},
		{"convert", "--from", "json", "--to", "protobuf", "--idl", "testdata/shared.thrift", "--type", "Author"},
		{"convert", "--from", "binary", "--to", "compact", "--max-size", "0"},
		{"call", "localhost:1", "noservice", "--idl", "testdata/shared.thrift"},
		{"call", "localhost:1", "Shop.get", "--timeout", "soon", "--idl", "testdata/shared.thrift"},
		{"call", "localhost:1", "Base.ping", "--dialect", "theadre", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost:1", "Base.ping", "--protocol", "json", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost:1", "Base.ping", "--compress", "zlib", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost:1", "Base.ping", "--compress", "gzip", "--dialect", "theader", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost:1", "Base.ping", "--dialect", "ttheader-framed", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost:1", "Base.ping", "--dialect", "http", "--path", "x", "--idl", "../../examples/shop/common.thrift"},
		{"call", "localhost", "Base.ping", "--idl", "../../examples/shop/common.thrift"},
		{"bench"}, {"bench", "localhost:1"}, {"bench", "localhost:1", "--method", "Base.ping"}, {"bench", "localhost", "--method", "Base.ping", "--idl", "x"},
		{"bench", "a:1", "b:1", "--method", "Base.ping"}, {"bench", "a:1", "--json", "{}", "--method", "Base.ping"},
		{"bench", "a:1", "--method", "Base.ping", "--weight", "0"}, {"bench", "a:1", "--method", "Base.ping", "--weight", "2x"},
		{"bench", "a:1", "--method", "Base.ping", "--poisson"}, {"bench", "a:1", "--method", "Base.ping", "--rate", "-1"},
		{"bench", "a:1", "--method", "Base.ping", "--duration", "0s"}, {"bench", "a:1", "--method", "Base.ping", "--variants", "0"},
		{"bench", "a:1", "--method", "Base.ping", "--header", "a=b"}, {"bench", "a:1", "--method", "Base.ping", "--header", "a", "--dialect", "http"},
		{"bench", "a:1", "--method", "Base.ping", "--connections", "0"}, {"bench", "a:1", "--method", "Base.ping", "--compress", "zstd"},
		{"bench", "a:1", "--method", "Base.ping", "--json-out", "x", "--chart", "x"},
		{"bench", "a:1", "--method", "Base.ping", "--tls-ca", "x"},
	} {
		if stdout, stderr := expect(t, exitUsage, args...); stdout != "" || stderr == "" {
			t.Errorf("thrum %s: printed %q, and %q to stderr", strings.Join(args, " "), stdout, stderr)
		}
	}
}

func TestFlagsStandAnywhere(t *testing.T) {
	parse := func(args ...string) (string, string) {
		fs := flag.NewFlagSet("x", flag.ContinueOnError)
		dirs := includeFlag(fs)
		positional, err := parseFlags(fs, args)
		if err != nil {
			t.Fatal(err)
		}
		return strings.Join(positional, " "), dirs.String()
	}
	for _, args := range [][]string{
		{"-I", "d", "-I", "e", "a", "b"}, {"a", "-I", "d", "b", "-I=e"}, {"a", "b", "--I", "d", "--I=e"},
	} {
		if positional, dirs := parse(args...); positional != "a b" || dirs != "d, e" {
			t.Errorf("%q: positional %q, directories %q", args, positional, dirs)
		}
	}
	if positional, dirs := parse("a", "-I", "d", "--", "-I", "e"); positional != "a -I e" || dirs != "d" {
		t.Errorf("after --: positional %q, directories %q", positional, dirs)
	}
}

func TestVersionNamesTheGoVersion(t *testing.T) {
	if out, _ := expect(t, exitOK, "version"); !strings.HasPrefix(out, "thrum ") || !strings.Contains(out, " go1.") {
		t.Errorf("got %q", out)
	}
}

func TestCheckShowsWhatIsWrong(t *testing.T) {
	out, stderr := expect(t, exitFailed, "check", "testdata/broken.thrift", "testdata/shared.thrift")
	if stderr != "" {
		t.Errorf("stderr: %q", stderr)
	}
	golden(t, "check.golden", out)
}

func TestCheckPassesTheExamples(t *testing.T) {
	atRoot(t)
	out, _ := expect(t, exitOK, "check", "examples/shop/shop.thrift", "examples/shop/parcels.thrift")
	if want := "2 files checked: 0 errors, 0 warnings\n"; out != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

func TestCheckReadsProtobufByItsExtension(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.proto")
	if err := os.WriteFile(path, []byte("syntax = \"proto3\";\nmessage A { B b = 1; }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := expect(t, exitFailed, "check", path)
	if !strings.Contains(out, "a.proto:2:13: error: field A.b: unknown type B [protobuf]\n") {
		t.Errorf("got %q", out)
	}
}

func TestCheckReadsFlatBuffersByItsExtension(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.fbs")
	if err := os.WriteFile(path, []byte("table A { b:B; }\nroot_type A;\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	out, _ := expect(t, exitFailed, "check", path)
	if !strings.Contains(out, "a.fbs:1:13: error: the type B is not declared [unknown-type]\n") {
		t.Errorf("got %q", out)
	}
	binary := filepath.Join(filepath.Dir(path), "a.bfbs")
	if err := os.WriteFile(binary, []byte("BFBS"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ := expect(t, exitFailed, "check", binary); !strings.Contains(out, "a.bfbs: error: the binary schema is broken") {
		t.Errorf("got %q", out)
	}
	if _, stderr := expect(t, exitUsage, "gateway", "127.0.0.1:1", "--idl", path); !strings.Contains(stderr, "a.fbs is FlatBuffers IDL") {
		t.Errorf("thrum gateway: %q", stderr)
	}
}

func TestGenWritesProtobufsFilesForFlatBuffers(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"shop.fbs": "namespace shop; table A { n:int = 3; } rpc_service S { M(A):A; }", "one.thrift": "struct A {}",
		"two.fbs": "namespace a; table T {} rpc_service S { M(T):T; } namespace b; rpc_service S2 { M(a.T):a.T; }",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := expect(t, exitOK, "gen", "shop.fbs", "-o", "out", "--proto")
	text, err := os.ReadFile(filepath.Join("out", "shop.proto"))
	if out != filepath.FromSlash("out/shop.proto\n") || err != nil || !strings.Contains(string(text), "rpc M(A) returns (A);") {
		t.Errorf("wrote %q: %s, %v", out, text, err)
	}
	if _, stderr := expect(t, exitFailed, "gen", "two.fbs", "-o", "out", "--proto"); !strings.Contains(stderr, "services of two namespaces") {
		t.Errorf("got %q", stderr)
	}
	expect(t, exitUsage, "gen", "one.thrift", "-o", "out", "--proto")
	if err := os.WriteFile("names.fbs", []byte("table T { a_b: int; aB: int; }"), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, stderr := expect(t, exitFailed, "gen", "names.fbs", "-o", "out", "--proto"); !strings.Contains(stderr, "names.fbs:1:21: error") || !strings.Contains(stderr, "names.fbs:1:11: note") {
		t.Errorf("one name: %s", stderr)
	}
	if err := os.Mkdir("other", 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("other/shop.fbs", []byte("table Other {}"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, stderr := expect(t, exitUsage, "gen", "shop.fbs", "other/shop.fbs", "-o", "out", "--proto")
	if !strings.Contains(stderr, "shop.fbs and other/shop.fbs would both be written to shop.proto") {
		t.Errorf("two files of one name: %s", stderr)
	}
}

func TestGenWritesGoForFlatBuffers(t *testing.T) {
	t.Chdir(t.TempDir())
	for name, text := range map[string]string{
		"a.fbs":      "include 'b.fbs'; namespace x.y; table A { b:B; }",
		"b.fbs":      "namespace x.y; table B { n:int; }",
		"c.fbs":      "table C { n:int; }",
		"wrong.fbs":  "table A { b:B; }",
		"cycle.fbs":  "include 'cycle2.fbs'; attribute 'go_package=p/q'; table A { b:B; }",
		"cycle2.fbs": "include 'cycle.fbs'; attribute 'go_package=p/r'; table B { a:A; }",
		"one.thrift": "struct A {}",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := expect(t, exitOK, "gen", "a.fbs", "c.fbs", "-o", "out", "--prefix", "example.com/m", "--go-package", "example.com/m/all")
	if want := filepath.FromSlash("out/all/a.go\nout/all/b.go\nout/all/c.go\n"); out != want {
		t.Errorf("wrote %q", out)
	}
	out, _ = expect(t, exitOK, "gen", "a.fbs", "-o", "out", "--includes=false")
	if want := filepath.FromSlash("out/x/y/a.go\n"); out != want {
		t.Errorf("wrote %q", out)
	}
	_, stderr := expect(t, exitFailed, "gen", "wrong.fbs", "-o", "out")
	if !strings.Contains(stderr, "wrong.fbs:1:13: error: the type B is not declared [unknown-type]\n") {
		t.Errorf("got %q", stderr)
	}
	if _, stderr = expect(t, exitFailed, "gen", "cycle.fbs", "-o", "out"); !strings.Contains(stderr, "[import-cycle]") {
		t.Errorf("got %q", stderr)
	}
	expect(t, exitUsage, "gen", "a.fbs", "one.thrift", "-o", "out")
	expect(t, exitUsage, "gen", "one.thrift", "a.fbs", "-o", "out")
}

func TestCheckAgainstAnOlderFileShowsWhatBreaks(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	for name, text := range map[string]string{
		"old.fbs":    "table A { a:int; b:int = 1; }\n",
		"new.fbs":    "table A { a:int; c:int = 2; }\n",
		"old.thrift": "struct A { 1: i32 a }\n",
		"new.thrift": "struct A { 1: i32 a, 2: i32 b }\n",
	} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := expect(t, exitFailed, "check", "--against", "old.fbs", "new.fbs")
	for _, want := range []string{
		"new.fbs:1:18: error: the default of c of A was 1 and is 2 [default-changed]\n",
		"new.fbs:1:18: warning: the field b is called c now [field-renamed]\n",
		"new.fbs checked against old.fbs: 1 error, 1 warning\n",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in %q", want, out)
		}
	}
	if out, _ := expect(t, exitOK, "check", "new.thrift", "--against", "old.thrift"); out != "new.thrift checked against old.thrift: 0 errors, 0 warnings\n" {
		t.Errorf("got %q", out)
	}
	expect(t, exitUsage, "check", "new.thrift", "--against", "old.fbs")
	expect(t, exitUsage, "check", "new.thrift", "old.thrift", "--against", "old.thrift")
}

func TestCheckFindsIncludesInDirectories(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "a.thrift")
	if err := os.WriteFile(path, []byte("include \"shared.thrift\"\nstruct A { 1: shared.Author a }\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	expect(t, exitFailed, "check", path)
	expect(t, exitOK, "check", path, "-I", "testdata")
}

func TestGeneratedCodeOfTheExamplesIsUpToDate(t *testing.T) {
	atRoot(t)
	dir := t.TempDir()
	for _, line := range strings.Split(generateLines(t), "\n") {
		args := strings.Fields(strings.NewReplacer("-o ..", "-o "+dir, " shop.thrift", " examples/shop/shop.thrift",
			" parcels.thrift", " examples/shop/parcels.thrift").Replace(line))
		expect(t, exitOK, args...)
	}
	for _, name := range []string{"shop/shop.go", "shop/common/common.go", "shop/parcels/parcels.go"} {
		fresh, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		committed, err := os.ReadFile(filepath.Join("examples", filepath.FromSlash(name)))
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(fresh, committed) {
			t.Errorf("examples/%s is out of date; go generate ./examples/shop writes it anew", name)
		}
	}
}

// generateLines returns the arguments of the go:generate lines of the example.
func generateLines(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("examples/shop/idl.go")
	if err != nil {
		t.Fatal(err)
	}
	var lines []string
	for _, l := range strings.Split(string(text), "\n") {
		if rest, ok := strings.CutPrefix(l, "//go:generate go run ../../cmd/thrum "); ok {
			lines = append(lines, rest)
		}
	}
	return strings.Join(lines, "\n")
}

func TestExampleEmbedsItsIDL(t *testing.T) {
	for name, text := range shop.IDL() {
		disk, err := os.ReadFile(filepath.Join("../../examples/shop", name))
		if err != nil || !bytes.Equal(text, disk) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if n := len(shop.IDL()); n != 3 {
		t.Errorf("%d files", n)
	}
}

func TestGenSwitchesChangeWhatIsWritten(t *testing.T) {
	write := func(args ...string) string {
		dir := t.TempDir()
		expect(t, exitOK, append([]string{"gen", "../../examples/shop/shop.thrift", "-o", dir}, args...)...)
		var all strings.Builder
		err := fs.WalkDir(os.DirFS(dir), "shop", func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				all.WriteString(name + "\n" + fileText(t, filepath.Join(dir, name)))
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return all.String()
	}
	usual := write()
	for _, s := range genSwitches() {
		if s.name == "services" { // of .fbs
			continue
		}
		value := "=true"
		if s.on {
			value = "=false"
		}
		if write("--"+s.name+value) == usual {
			t.Errorf("--%s%s changes nothing", s.name, value)
		}
	}
}

func TestGenShowsWhereGoCannotExpressTheIDL(t *testing.T) {
	path := filepath.Join(t.TempDir(), "keys.thrift")
	if err := os.WriteFile(path, []byte("struct S {\n  1: map<list<i32>, string> m\n}\n"), 0o666); err != nil {
		t.Fatal(err)
	}
	_, stderr := expect(t, exitFailed, "gen", path, "-o", t.TempDir())
	if !strings.Contains(stderr, "keys.thrift:2:29: error: Go has no maps with keys of type list<i32>") || !strings.Contains(stderr, "^") {
		t.Errorf("stderr:\n%s", stderr)
	}
}

func TestGenWritesBinarySchemas(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("shop.fbs", []byte("namespace shop; table A { n:int = 3; } root_type A; rpc_service S { M(A):A; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if out, _ := expect(t, exitOK, "gen", "shop.fbs", "-o", "out", "--bfbs"); out != filepath.FromSlash("out/shop.bfbs\n") {
		t.Errorf("wrote %q", out)
	}
	// What is written is taken wherever the text is.
	if out, _ := expect(t, exitOK, "check", "--against", "shop.fbs", "out/shop.bfbs"); !strings.Contains(out, "0 errors, 0 warnings") {
		t.Errorf("got %s", out)
	}
	if out, _ := expect(t, exitOK, "gen", "out/shop.bfbs", "-o", "go"); out != filepath.FromSlash("go/shop/shop.go\n") {
		t.Errorf("wrote %q", out)
	}
	expect(t, exitUsage, "gen", "shop.fbs", "-o", "out", "--bfbs", "--proto")
	if _, stderr := expect(t, exitFailed, "gen", "out/shp.bfbs", "-o", "go"); !strings.Contains(stderr, "there is no such file") || !strings.Contains(stderr, "did you mean "+filepath.FromSlash("out/shop.bfbs")+"?") {
		t.Errorf("a file that is not there: %s", stderr)
	}
}

func TestWhatIsReadIsNotWrittenOver(t *testing.T) {
	t.Chdir(t.TempDir())
	const text, more = "include \"more.fbs\"; table A { n:int = 3; b:B; } rpc_service S { M(A):A; }", "table B { n:int = 4; }"
	for name, text := range map[string]string{"shop.fbs": text, "more.fbs": more, "in.json": "{}", "shop.thrift": "struct T {} service S { T m() }"} {
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	expect(t, exitOK, "gen", "shop.fbs", "-o", ".", "--bfbs")
	if err := os.Symlink("shop.bfbs", "other.bfbs"); err != nil {
		t.Fatal(err)
	}
	// A schema may include a file whatever its name is.
	if err := os.WriteFile("base.fbs", []byte("include \"base.proto\"; table A { b:B; }"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile("base.proto", []byte(more), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{
		"gen shop.bfbs -o . --bfbs",
		"gen other.bfbs -o . --bfbs",
		"gen base.fbs -o . --proto",
		"convert in.json shop.fbs --to flatbuffers --idl shop.fbs --type A",
		"bench 127.0.0.1:1 --idl shop.thrift --method S.m --chart shop.thrift",
		"bench 127.0.0.1:1 --idl shop.thrift --method S.m --json @in.json --json-out ./in.json",
	} {
		before := contents(t)
		if _, stderr := expect(t, exitFailed, strings.Fields(args)...); !strings.Contains(stderr, "would be written over, and it is an input") {
			t.Errorf("thrum %s: %q", args, stderr)
		}
		if after := contents(t); !maps.Equal(after, before) {
			t.Errorf("thrum %s: before %q, after %q", args, before, after)
		}
	}
	expect(t, exitOK, "gen", "shop.bfbs", "-o", "out", "--bfbs")
	expect(t, exitOK, "gen", "shop.fbs", "-o", ".", "--bfbs") // a file of an earlier run
}

// contents returns the text of the files in the current directory.
func contents(t *testing.T) map[string]string {
	t.Helper()
	all := make(map[string]string)
	names, err := filepath.Glob("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		if b, err := os.ReadFile(name); err == nil {
			all[name] = string(b)
		}
	}
	return all
}
