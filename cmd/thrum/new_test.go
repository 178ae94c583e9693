package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// layouts are the ways in which schemas are spread over files and directories.
var layouts = []struct {
	name  string
	files map[string]string
	args  []string
	run   bool // the tests too, which takes longer than compiling
}{
	{"one file with two services", map[string]string{"greeter.fbs": `
		attribute "go_package=example.com/app/greet";
		namespace app.greet;
		struct At { x:int; }
		table Name { first:string; }
		union Mood { Name, At, Text: string }
		table Hello { name:Name (required); words:[string] (required); mood:Mood (required); at:At (required); }
		table Round { next:Round (required); }
		rpc_service Greeter {
			/// Says hello.
			say_hello(Name):Hello; Echo(Hello):Hello;
			Watch(Name):Hello (streaming: "server"); Load(Hello):Name (streaming: "client"); Chat(Hello):Hello (streaming: "bidi"); Never(Name):Round (streaming: "client"); }
		rpc_service Server { Echo(Hello):Name; Turn(Name):Round; }`},
		[]string{"--fbs", "greeter.fbs"}, true},
	{"one namespace beside each other", map[string]string{
		"root.fbs": `include "part.fbs"; namespace app; table Reply { part:Part; } rpc_service S { Get(Part):Reply; }`,
		"part.fbs": `namespace app; table Part { n:int; } rpc_service Parts { Get(Part):Part; }`},
		[]string{"root.fbs"}, true},
	{"namespaces in one directory", map[string]string{
		"root.fbs": `include "part.fbs"; namespace app; table Reply { part:part.Part; } rpc_service S { Get(app.part.Part):Reply; }`,
		"part.fbs": `namespace app.part; table Part { n:int; }`},
		[]string{"--fbs", "root.fbs"}, true},
	{"directories by relative paths", map[string]string{
		"api/root.fbs": `include "../lib/part.fbs"; namespace app; table Reply { part:Part; } rpc_service S { Get(Part):Reply; }`,
		"lib/part.fbs": `include "./more/leaf.fbs"; namespace app; table Part { leaf:Leaf; }`, "lib/more/leaf.fbs": `namespace app; table Leaf {}`},
		[]string{"--fbs", "api/root.fbs"}, true},
	{"directories that are searched", map[string]string{
		"api/root.fbs": `include "part.fbs"; namespace app; table Reply { part:Part; } rpc_service S { Get(Part):Reply; }`,
		"lib/part.fbs": `include "leaf.fbs"; namespace app; table Part { leaf:Leaf; }`, "lib/more/leaf.fbs": `namespace app; table Leaf {}`},
		[]string{"--fbs", "api/root.fbs", "--fbsdir", "lib", "--fbsdir", "lib/more"}, true},
	{"two files that share a part and a name", map[string]string{
		"a.fbs":    `include "part.fbs"; attribute "go_package=example.com/app/a"; namespace app; table Reply { part:Part; } rpc_service A { Get(Part):Reply; }`,
		"b.fbs":    `include "part.fbs"; attribute "go_package=example.com/app/b"; namespace app; table Reply { n:int; } rpc_service B { Get(Part):Reply; }`,
		"c.fbs":    `include "part.fbs"; namespace app; table Unserved {}`,
		"part.fbs": `attribute "go_package=example.com/app/part"; namespace app; table Part { n:int; } rpc_service Parts { Get(Part):Part; }`},
		[]string{"--fbs", "a.fbs", "--fbs", "c.fbs", "--fbs", "b.fbs"}, true},
	{"three Go packages and names qualified in part", map[string]string{
		"root.fbs": `include "a/base.fbs"; include "a/b/item.fbs"; attribute "go_package=example.com/app/shop"; namespace app.shop;
			table Order { items:[items.Item]; total:base.Money; } rpc_service Orders { Place(Order):base.Money; }`,
		"a/base.fbs":   `attribute "go_package=else.org/money/v2"; namespace app.base; table Money { units:long; }`,
		"a/b/item.fbs": `include "../base.fbs"; attribute "go_package=example.com/app/items"; namespace app.items; table Item { price:base.Money; }`},
		[]string{"--fbs", "root.fbs"}, true},
	{"names that projects use themselves", map[string]string{
		"root.fbs": `include "v1.fbs"; include "transport.fbs"; namespace log; table A { n:int; } rpc_service _S { Get(A):other.v1.B; }
			rpc_service Watcher {
				/// Shows what flatbuf. and studio. say.
				Watch(A):A (streaming: "server"); }
			rpc_service config { Get(A):A; }
			rpc_service Bodies { Get(other.transport.Schemas):A; }
			table low { a:A (required); l:[low]; }
			union held { low, A } table holder { h:held (required); }
			rpc_service lower { get(low):low; Client(low):holder; b(low):low (streaming: "bidi"); }
			namespace app.v1; table C { n:int; } rpc_service Old { Get(C):C; }`,
		"transport.fbs": `namespace other.transport; table Schemas { n:int; }`,
		"v1.fbs":        `namespace other.v1; table B { n:int; } rpc_service New { Get(B):B; }`},
		[]string{"--fbs", "root.fbs"}, false},
	{"required bytes that are messages themselves", map[string]string{
		"root.fbs": `namespace app; table A {} table R { b:[ubyte] (required, nested_flatbuffer: "A"); } table F { b:[ubyte] (required, flexbuffer); }
			rpc_service S { Nest(R):R; Nests(R):A (streaming: "bidi"); Flex(F):F; Get(A):A; }`},
		[]string{"--fbs", "root.fbs"}, true},
	{"directories that Go does not import, of Thrift", map[string]string{
		"root.thrift": `namespace go internal.a
			include "init.thrift"
			include "con.thrift"
			include "vendor.thrift"
			service S extends con.S { init.A get(1: init.A a) }
			service Init extends init.S {}`,
		"init.thrift":   "namespace go a.init\nstruct A { 1: i32 n }\nservice S { A set(1: A a) }",
		"con.thrift":    "namespace go con\ninclude \"init.thrift\"\nservice S { init.A put(1: init.A a) }\nservice Con { i32 n() }",
		"vendor.thrift": "service Vendor { i32 n() }"},
		[]string{"--thrift", "root.thrift"}, true},
	{"directories that Go does not import", map[string]string{
		"root.fbs": `include "aux.fbs"; include "dash.fbs"; namespace con; table A { a:lpt1.A; } rpc_service S { Get(A):lpt1.A; }`,
		"aux.fbs":  `attribute "go_package=example.com/app/aux.1/~1"; namespace lpt1; table A { n:int; } rpc_service S { Get(A):A; }`,
		"dash.fbs": `attribute "go_package=a/-x"; namespace dash; table A { n:int; } rpc_service S { Get(A):A; }`},
		[]string{"--fbs", "root.fbs"}, true},
	{"names that projects use themselves, of Thrift", map[string]string{
		"time.thrift": `namespace go time
			struct context { 1: i32 n }
			service _S { context get(1: context ctx, 2: i32 s, 3: string err) }
			service main { i32 main(1: i32 main) }`},
		[]string{"--thrift", "time.thrift"}, false},
	{"streams of Thrift, two services", map[string]string{
		"notes.thrift": `namespace go app.notes
			struct Note { 1: string text, 2: required Place at }
			struct Place { 1: i32 x }
			struct Round { 1: required Round next }
			service Base { Note echo(1: Note stream) (streaming.mode = "bidirectional") }
			service Notes extends Base {
				// Counts.
				Note count(1: Note note) (streaming.mode = "server")
				Note add(1: Note note) (streaming.mode = "client")
				Round never(1: Note note) (streaming.mode = "bidirectional")
				Note last(1: Note note)
				string name() }
			service Stream { Note echo(1: Note m) (streaming.mode = "bidirectional"), Note mock(1: Note t) }`},
		[]string{"--thrift", "notes.thrift"}, true},
	{"Thrift", map[string]string{
		"shop.thrift": `namespace go app.shop
			include "base.thrift"
			struct Book { 1: string title, 2: required base.Money price }
			union Key { 1: i64 id, 2: base.Money price }
			union Bare { 1: i64 id }
			service Shop extends base.Base { Book find(1: Key key), Bare bare(1: Bare b), oneway void note(1: string s), list<Book> all(1: set<i32> ids) }
			service Second { Book find(1: i32 n) }`,
		"base.thrift": `namespace go app.base
			struct Money { 1: i64 units }
			service Base { i32 ping() }`},
		[]string{"--thrift", "shop.thrift"}, true},
}

func TestNewProjectsBuildAndPassTheirTests(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds programs")
	}
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	t.Chdir(dir)
	work, tests := "go 1.25.0\n", []string{"test", "-ldflags=-s -w"} // which links sooner
	for i, l := range layouts {
		root := string(rune('a' + i))
		mod := "example.com/app" + root
		for name, text := range l.files {
			placeFile(t, filepath.Join(root, name), strings.ReplaceAll(text, "example.com/app/", mod+"/"))
		}
		var args []string
		for _, a := range l.args {
			if !strings.HasPrefix(a, "--") {
				a = filepath.Join(root, filepath.FromSlash(a))
			}
			args = append(args, a)
		}
		out := filepath.Join("out", root)
		stdout, _ := expect(t, exitOK, append([]string{"new", "-o", out, "--mod", mod}, args...)...)
		if want := "go.mod takes Thrum from " + checkout; !strings.Contains(stdout, want) || !strings.Contains(stdout, "cd "+out+" && go test") {
			t.Errorf("%s: the output does not say what is next: %s", l.name, stdout)
		}
		if i == 0 { // what JSON cannot say is shown nevertheless
			placeFile(t, filepath.Join(out, "cmd", "client", "main_test.go"),
				"package main\n\nfunc Example_show() {\n\tshow(\"Get\", map[[1]int]int{{1}: 2})\n\t// Output: Get: map[[1]:2]\n}\n")
		}
		if !l.run {
			runGo(t, out, "GOWORK=off", "vet", "./...")
			continue
		}
		work += "use ./" + root + "\n"
		tests = append(tests, "./"+root+"/...")
	}
	// Modules beside each other are loaded once and linked two at a time.
	placeFile(t, filepath.Join("out", "go.work"), work)
	runGo(t, "out", "GOWORK="+filepath.Join(dir, "out", "go.work"), tests...)
}

// runGo runs the go command, which must not fail, in a directory.
func runGo(t *testing.T, dir, work string, args ...string) {
	t.Helper()
	cmd := exec.Command("go", args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), work, "GOFLAGS=", "GOPROXY=off")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("go %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

func placeFile(t *testing.T, name, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
		t.Fatal(err)
	}
}

func fileText(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func TestNewAgainKeepsWhatTheUserWrote(t *testing.T) {
	t.Chdir(t.TempDir())
	schema := func(methods string) {
		placeFile(t, "a.fbs", "namespace x; table A { n:int; } "+methods)
	}
	placeFile(t, "go.mod", "module example.com/found\n")
	schema("rpc_service One { Get(A):A; }")
	stdout, _ := expect(t, exitOK, "new", "--fbs", "a.fbs", "-o", "srv")
	if want := "go mod edit -require github.com/thrum-rpc/thrum@v0.0.0 -replace github.com/thrum-rpc/thrum="; !strings.Contains(stdout, want) {
		t.Errorf("what go.mod lacks is not said: %s", stdout)
	}
	placeFile(t, "go.mod", "module example.com/found\n\nrequire github.com/thrum-rpc/thrum v0.0.0\n")
	if _, err := os.Stat(filepath.Join("srv", "go.mod")); err == nil {
		t.Error("a go.mod in a module")
	}
	if text := fileText(t, "srv/one.go"); !strings.Contains(text, `x2 "example.com/found/srv/stub/x"`) || !strings.Contains(text, "return x2.NewOneService(&One{}, bodies(\"x.One\"))") {
		t.Errorf("the handler's file: %s", text)
	}
	if text := fileText(t, "srv/one_test.go"); !strings.Contains(text, "func TestOne_json(") {
		t.Errorf("no test calls with JSON: %s", text)
	}
	mine := "package main // mine\n\nfunc (o One) Get() {}\n"
	kept := []string{"main.go", "config.go", "config.json", "one.go", "one_test.go", "server_test.go", "cmd/client/main.go"}
	for _, name := range kept {
		placeFile(t, filepath.Join("srv", name), mine)
	}
	schema("rpc_service One { Get(A):A; Put(A):A; } rpc_service Two { Get(A):A; }")
	out, _ := expect(t, exitOK, "new", "--fbs", "a.fbs", "-o", "srv")
	for _, name := range kept {
		if fileText(t, filepath.Join("srv", name)) != mine {
			t.Errorf("%s is overwritten", name)
		}
		if !strings.Contains(out, "kept  "+filepath.Join("srv", filepath.FromSlash(name))) {
			t.Errorf("%s is not said to be kept:\n%s", name, out)
		}
	}
	if want := "  func (s *One) Put(ctx context.Context, req *x2.A) (*flatbuf.Builder, error)\n"; !strings.Contains(out, want) || strings.Contains(out, "Next:") {
		t.Errorf("what the handler lacks is not said: %s", out)
	}
	if text := fileText(t, "srv/services.go"); !strings.Contains(text, "newTwo()") {
		t.Errorf("the new service is missing: %s", text)
	}
	if text := fileText(t, "srv/two.go"); !strings.Contains(text, "func (s *Two) Get(") {
		t.Errorf("the new handler: %s", text)
	}
	if text := fileText(t, "srv/stub/x/a.go"); !strings.Contains(text, "Put(") {
		t.Error("the stubs are old")
	}
}

func TestNewReadsEveryFormOfGoMod(t *testing.T) {
	for text, want := range map[string]string{
		"module example.com/x // of mine\n": "example.com/x", "// module no\n\tmodule\texample.com/x\r\ngo 1.25\n": "example.com/x",
		"module \"example.com/x\" // y": "example.com/x", "module `example.com/x`\n": "example.com/x",
		"go 1.25\nmodule (\n\t// the path\n\texample.com/x // y\n)\n": "example.com/x",
		"go 1.25\nrequire module.org/x v1.0.0\n":                      "", "": "", "module\n": "",
	} {
		if got := moduleName(text); got != want {
			t.Errorf("%q is the go.mod of %q, want %q", text, got, want)
		}
	}
}

func TestNewTakesThrumFromADirectoryWithASpace(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.fbs", "namespace x; table A { n:int; } rpc_service One { Get(A):A; }")
	placeFile(t, "my thrum/go.mod", "module "+thrumModule+"\n\ngo 1.25\n")
	placeFile(t, "my thrum/go.sum", "")
	out, _ := expect(t, exitOK, "new", "a.fbs", "-o", "it's", "--mod", "example.com/one", "--replace", "my thrum")
	if want := `cd 'it'\''s' && go test`; !strings.Contains(out, want) {
		t.Errorf("%q lacks %q", out, want)
	}
	runGo(t, "it's", "GOWORK=off", "mod", "edit", "-json") // which reads it
}

func TestAGoModThatCannotBeCompletedIsNotLeft(t *testing.T) {
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	t.Chdir(t.TempDir())
	t.Setenv("GOPROXY", "off")
	placeFile(t, "a.fbs", "namespace x; table A { n:int; } rpc_service One { Get(A):A; }")
	args := []string{"new", "a.fbs", "-o", "srv", "--mod", "example.com/srv"}
	if _, stderr := expect(t, exitFailed, append(args, "--replace=")...); !strings.Contains(stderr, "again with --replace") {
		t.Errorf("got %q", stderr)
	}
	if _, err := os.Stat("srv/go.mod"); !os.IsNotExist(err) {
		t.Errorf("go.mod: %v", err)
	}
	expect(t, exitOK, append(args, "--replace", checkout)...)
	if text := fileText(t, "srv/go.mod"); !strings.Contains(text, "=> "+checkout) {
		t.Errorf("go.mod: %s", text)
	}
}

func TestHandlersMayBeMovedToAnotherFile(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.fbs", "namespace x; table A { n:int; } rpc_service One { Get(A):A; } rpc_service Two { Get(A):A; }")
	expect(t, exitOK, "new", "a.fbs", "-o", "srv", "--mod", "example.com/srv")
	one, two := fileText(t, "srv/one.go"), fileText(t, "srv/two.go")
	_, two, _ = strings.Cut(two, ")\n") // without its imports
	placeFile(t, "srv/handlers.go", one+two)
	for _, name := range []string{"srv/one.go", "srv/two.go"} {
		if err := os.Remove(name); err != nil {
			t.Fatal(err)
		}
	}
	out, _ := expect(t, exitOK, "new", "a.fbs", "-o", "srv")
	if want := "kept  " + filepath.Join("srv", "handlers.go"); strings.Count(out, want) != 2 || strings.Contains(out, "lack") {
		t.Errorf("got %s", out)
	}
	runGo(t, "srv", "GOWORK=off", "vet", ".")
}

func TestHandlersStayThoseOfTheirServices(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.fbs", "namespace v2; table A { n:int; } rpc_service Orders { Get(A):A; }")
	expect(t, exitOK, "new", "a.fbs", "-o", "srv", "--mod", "example.com/srv")
	placeFile(t, "old.fbs", "namespace v1; table A { n:int; } rpc_service Orders { Get(A):A; }")
	placeFile(t, "a.fbs", "include \"old.fbs\"; namespace v2; table A { n:int; } rpc_service Orders { Get(A):A; }")
	expect(t, exitOK, "new", "a.fbs", "-o", "srv")
	for name, want := range map[string]string{
		"srv/orders.go": `v2.NewOrdersService(&Orders{}, bodies("v2.Orders"))`, "srv/orders_service.go": `v1.NewOrdersService(&Orders_{}, bodies("v1.Orders"))`,
		"srv/services.go": "newOrders_(),\n\t\tnewOrders(),",
	} {
		if text := fileText(t, name); !strings.Contains(text, want) {
			t.Errorf("%s lacks %s: %s", name, want, text)
		}
	}
	// A service that is called another name keeps no handler: what it is served by must be said.
	placeFile(t, "a.fbs", "namespace v3; table A { n:int; } rpc_service Orders { Get(A):A; }")
	if out, _ := expect(t, exitOK, "new", "a.fbs", "-o", "srv"); !strings.Contains(out, "kept  "+filepath.Join("srv", "orders.go")) {
		t.Errorf("got %s", out)
	}
}

// The test of a mock counts calls when one has returned, which says nothing of a oneway one.
func TestTheExampleOfAMockIsNoOnewayMethod(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.thrift", "namespace go x\nservice One { oneway void tell(1: string s), i32 find(1: i32 n) }")
	expect(t, exitOK, "new", "--thrift", "a.thrift", "-o", "srv", "--mod", "example.com/one")
	if text := fileText(t, "srv/one_test.go"); !strings.Contains(text, "m.FindFunc = ") || strings.Contains(text, "TellFunc") {
		t.Errorf("the handler's tests: %s", text)
	}
}

func TestNewOverwritesNothingThatItHasNotWritten(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.fbs", "namespace x; table A { n:int; } rpc_service One { Get(A):A; }")
	placeFile(t, "srv/go.mod", "module (\n\texample.com/mine\n)\n")
	expect(t, exitUsage, "new", "--fbs", "a.fbs", "-o", "srv", "--mod", "example.com/other")
	for _, name := range []string{"services.go", "stub/x/a.go", "stub/schema.bfbs"} {
		dir := filepath.Join("srv", filepath.Base(name))
		mine := "package mine\n"
		placeFile(t, filepath.Join(dir, "go.mod"), "module example.com/mine\n")
		placeFile(t, filepath.Join(dir, name), mine)
		if _, stderr := expect(t, exitFailed, "new", "--fbs", "a.fbs", "-o", dir); !strings.Contains(stderr, "overwritten") {
			t.Errorf("got %q", stderr)
		}
		if fileText(t, filepath.Join(dir, name)) != mine {
			t.Errorf("%s is overwritten", name)
		}
		if _, err := os.Stat(filepath.Join(dir, "main.go")); err == nil {
			t.Error("a project is begun and not ended")
		}
	}
	expect(t, exitOK, "gen", "a.fbs", "-o", "again/stub", "--bfbs")
	if err := os.Rename("again/stub/a.bfbs", "again/stub/schema.bfbs"); err != nil {
		t.Fatal(err)
	}
	if _, stderr := expect(t, exitFailed, "new", "again/stub/schema.bfbs", "-o", "again", "--mod", "example.com/again"); !strings.Contains(stderr, "it is an input") {
		t.Errorf("got %q", stderr)
	}
}

func TestNewSaysWhatIsMissing(t *testing.T) {
	t.Chdir(t.TempDir())
	placeFile(t, "a.fbs", "namespace x; table A { n:int; } rpc_service One { Get(A):A; }")
	placeFile(t, "none.fbs", "table A { n:int; }")
	placeFile(t, "a.thrift", "service S {}")
	for _, args := range [][]string{
		{"--fbs", "a.fbs"}, {"-o", "x"}, {"--fbs", "a.fbs", "--thrift", "a.thrift", "-o", "x"}, {"--fbs", "a.thrift", "-o", "x", "--mod", "m"},
		{"a.fbs", "-o", "x", "--mod", "a/CON.b"}, {"a.fbs", "-o", "x", "--mod", "a/vendor/b"}, {"a.fbs", "-o", "x", "--mod", "a~1/b"}, {"a.fbs", "-o", "x", "--mod", "a/-b"},
		{"a.fbs", "-o", "x", "--mod", "fmt"}, {"a.fbs", "-o", "x", "--mod", "cmd/x"}, {"a.fbs", "-o", "x", "--mod", thrumModule},
		{"--fbs", "a.fbs", "-o", "x", "--mod", "m", "rest.thrift"}, {"a.proto", "-o", "x", "--mod", "m"}, {"a.fbs", "-o", "x", "--mod", "a b"}, {"a.fbs", "-o", "x", "--mod", "../x"}, {"a.fbs", "-o", "x", "--mod", "/x"}, {"--thrift", "a.thrift", "--thrift", "a.thrift", "-o", "x"},
	} {
		expect(t, exitUsage, append([]string{"new"}, args...)...)
	}
	if module, _ := findModule(t.TempDir()); module == "" { // the machine may have a go.mod somewhere above
		expect(t, exitUsage, "new", "--fbs", "a.fbs", "-o", "x")
	}
	if _, stderr := expect(t, exitFailed, "new", "--fbs", "none.fbs", "-o", "x", "--mod", "m"); !strings.Contains(stderr, "no service") {
		t.Errorf("got %q", stderr)
	}
	if _, stderr := expect(t, exitFailed, "new", "--fbs", "a.fbs", "-o", "x", "--mod", "m", "--replace", "."); !strings.Contains(stderr, "--replace") {
		t.Errorf("got %q", stderr)
	}
	placeFile(t, "mod/go.mod", "module example.com/other\n")
	expect(t, exitUsage, "new", "--fbs", "a.fbs", "-o", "mod", "--mod", "m")
	out, _ := expect(t, exitOK, "new", "--fbs", "none.fbs", "--rpconly", "-o", "mod")
	if want := "wrote " + filepath.FromSlash("mod/stub/none/none.go") + "\n\nNext:\n  go mod edit"; !strings.HasPrefix(out, want) {
		t.Errorf("got %q", out)
	}
}
