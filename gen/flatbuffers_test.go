package gen_test

import (
	"fmt"
	"go/types"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// What generated services need of packages rpc and flatrpc.
const (
	flatRPCStandIn = `package rpc
type Caller interface { Invoke() }
type MessageCaller interface { InvokeMessage() }
type Service struct { Name string; Methods []Method }
type Method struct{}
type ApplicationException struct { Message string; Type int32 }
func (*ApplicationException) Error() string { return "" }
const UnknownMethod int32 = 1
`
	flatrpcStandIn = `package flatrpc
import "context"
import "github.com/thrum-rpc/thrum/flatbuf"
import "github.com/thrum-rpc/thrum/rpc"
type Option interface{}
type Table[T any] interface { *T; flatbuf.FlatBuffer }
func Unary[T any, P Table[T]](name string, v *flatbuf.Verifier, h func(ctx context.Context, req P) (*flatbuf.Builder, error), opts ...Option) rpc.Method { return rpc.Method{} }
func Call[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier) (P, error) { return nil, nil }
func View[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier, read func(reply P) error) error { return nil }
func NewBuilder(ctx context.Context) *flatbuf.Builder { return nil }
type Receiver[P any] struct{}
func (r *Receiver[P]) Recv() (p P, err error) { return }
type Sender struct{}
func (s *Sender) NewBuilder() *flatbuf.Builder { return nil }
func (s *Sender) Send(b *flatbuf.Builder) error { return nil }
type Duplex[P any] struct { Receiver[P]; Sender }
type Download[P any] struct { Receiver[P] }
func (d *Download[P]) Close() {}
type Upload[P any] struct { Sender }
func (u *Upload[P]) CloseAndRecv() (p P, err error) { return }
func (u *Upload[P]) Close() {}
func ServerStream[T any, P Table[T]](name string, v *flatbuf.Verifier, h func(ctx context.Context, req P, out *Sender) error, opts ...Option) rpc.Method { return rpc.Method{} }
func ClientStream[T any, P Table[T]](name string, v *flatbuf.Verifier, h func(ctx context.Context, in *Receiver[P]) (*flatbuf.Builder, error), opts ...Option) rpc.Method { return rpc.Method{} }
func Bidi[T any, P Table[T]](name string, v *flatbuf.Verifier, h func(ctx context.Context, in *Receiver[P], out *Sender) error, opts ...Option) rpc.Method { return rpc.Method{} }
func OpenBidi[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, v *flatbuf.Verifier) (*Duplex[P], error) { return nil, nil }
func OpenServerStream[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier) (*Download[P], error) { return nil, nil }
func OpenClientStream[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, v *flatbuf.Verifier) (*Upload[P], error) { return nil, nil }
`
)

// flatPackages are the packages that generated code imports, checked once.
var flatPackages = sync.OnceValue(func() map[string]*types.Package {
	h := newHouse(nil)
	h.source["github.com/thrum-rpc/thrum/rpc"] = map[string]string{"rpc.go": flatRPCStandIn}
	h.source["github.com/thrum-rpc/thrum/rpc/flatrpc"] = map[string]string{"flatrpc.go": flatrpcStandIn}
	for _, p := range []string{"flatbuf", "flatbuf/flexbuf", "rpc", "rpc/flatrpc", "rpc/rpctest"} {
		if _, err := h.Import("github.com/thrum-rpc/thrum/" + p); err != nil {
			panic(err)
		}
	}
	return h.done
})

// newFlatHouse is newHouse for the output of FlatBuffers.
func newFlatHouse(files []gen.File) *house {
	h := newHouse(files)
	maps.Copy(h.done, flatPackages())
	return h
}

// flatGoldens are the roots whose output lies below internal/golden/flat.
var flatGoldens = []string{"kinds.fbs", "names.fbs", "same/root.fbs", "other/root.fbs", "pkg/shop.fbs"}

func loadFlat(t testing.TB, path string, opts ...fbsidl.Option) *schema.File {
	t.Helper()
	f, list := fbsidl.Load(path, opts...)
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

func TestOutputOfFlatBuffersIsTheGoldenPackages(t *testing.T) {
	const dir = "internal/golden/flat"
	for _, path := range flatGoldens {
		files, err := gen.FlatBuffers([]*schema.File{loadFlat(t, "testdata/fbs/"+path)}, gen.ImportPrefix(goldenPrefix+"golden/flat"), gen.Mocks(path == "pkg/shop.fbs"), gen.Forms(path == "pkg/shop.fbs"))
		if err != nil {
			t.Fatal(err)
		}
		if *rewrite {
			if err := gen.Write(dir, files); err != nil {
				t.Fatal(err)
			}
		}
		compareFiles(t, dir, files)
	}
}

// flatCompiles generates schemas, of which main.fbs is the root, and checks the output.
func flatCompiles(t *testing.T, texts map[string]string, opts ...gen.Option) []gen.File {
	t.Helper()
	files, err := gen.FlatBuffers([]*schema.File{loadFlatTexts(t, texts)}, append([]gen.Option{gen.ImportPrefix(compilePrefix)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	h := newFlatHouse(files)
	for p := range h.source {
		if _, err := h.Import(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	return files
}

func loadFlatTexts(t *testing.T, texts map[string]string) *schema.File {
	t.Helper()
	sources := make(map[string][]byte)
	for name, text := range texts {
		sources[name] = []byte(text)
	}
	return loadFlat(t, "main.fbs", fbsidl.Sources(sources), fbsidl.MemoryOnly())
}

func TestAcceptedSchemasCompile(t *testing.T) {
	paths, err := filepath.Glob("../idl/fbsidl/testdata/accepted/*.fbs")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		files, err := gen.FlatBuffers([]*schema.File{loadFlat(t, path, fbsidl.IncludeDirs(filepath.Dir(path), filepath.Join(filepath.Dir(path), "lib")))}, gen.ImportPrefix(compilePrefix), gen.Mocks(true))
		if err != nil {
			t.Errorf("%s: %v\n%s", path, err, text)
			continue
		}
		h := newFlatHouse(files)
		for p := range h.source {
			if _, err := h.Import(p); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
}

func TestAwkwardNamesOfFlatBuffersCompileEverywhere(t *testing.T) {
	var b strings.Builder
	b.WriteString("namespace type.main;\n")
	decl := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	names := append(strings.Fields("rcv obj builder flatbuf math x j u t vt refs end wide table off offset key Table Init UnPack UnPackTo Pack End Put x_y x_Y xY XY Mutate MutateX"), awkward...)
	seen := map[string]bool{}
	var fields, values []string
	for _, n := range names {
		if n = strings.Trim(n, "_"); !seen[n] && n != "NONE" {
			seen[n] = true
			fields = append(fields, n)
			values = append(values, n)
		}
	}
	for i, n := range fields {
		decl("enum E%s : ubyte { %s }", n, strings.Join(values, ", "))
		decl("struct S%s { f%s:int; p%d:[E%s:2]; }", n, n, i, n)
	}
	decl("struct all_ { %s:Sfunc; }", strings.Join(fields, ":Sfunc; "))
	decl("table Scalars_ { %s:int; }", strings.Join(fields, ":int; "))
	decl("table Vectors_ { %s:[all_]; }", strings.Join(fields, ":[all_]; "))
	decl("table Others_ { %s:[string]; }", strings.Join(fields, ":[string]; "))
	decl("union any_ { %s: Vectors_ }", strings.Join(fields, ": Vectors_, "))
	decl("table Unions_ { %s:any_; }", strings.Join(fields, ":any_; "))
	flatCompiles(t, map[string]string{"main.fbs": b.String()})
	b.Reset()
	for _, n := range fields { // as types
		decl("table %s { qq:[%s]; qk:string (key); }", n, n)
	}
	decl("union all_types { %s }", strings.Join(fields, ", "))
	for i, n := range fields { // as services and methods
		if n == "Client" || seen[strings.ToUpper(n[:1])+n[1:]] != (n[0] < 'a') { // two methods, or two types, of one name for other packages
			continue
		}
		decl("rpc_service sv_%[1]s { %[1]s(%[1]s):%[1]s (streaming: %[2]q); Client(%[1]s):%[1]s; MessageClient(%[1]s):%[1]s; }", n, []string{"none", "client", "server", "bidi"}[i%4])
	}
	decl("rpc_service a { F(Table):Table; FFunc(Table):Table; } rpc_service aHandler { F(Table):Table; }")
	flatCompiles(t, map[string]string{"main.fbs": b.String()}, gen.Mocks(true))
	_, err := gen.FlatBuffers([]*schema.File{loadFlatTexts(t, map[string]string{"main.fbs": "table low {} table Low {} rpc_service S { F(low):Low; }"})}, gen.Mocks(true))
	if list, ok := err.(diag.List); !ok || list[0].Code != "unexported" {
		t.Errorf("got %v", err)
	}
}

// The name _ is one in FlatBuffers, and Go has no use for what bears it.
func TestTheBlankNameIsNoneOfGo(t *testing.T) {
	for _, text := range []string{
		"struct _ { n:int; } table T { a:_; b:[_]; }",
		"struct S { _:int; a:[int:2]; } enum E:int { _ } table T { _:[string] (required); s:[S]; e:E; }",
		"enum _:int { a } table T { a:_; b:_ = null; c:[_]; }",
		"table _ { e:int; } union U { _:_ } table T { u:U; b:[U]; c:[_]; } rpc_service S { _(_):_; }",
		"table T { _:int (key); } union _ { T } table V { t:[T]; u:_; } rpc_service _ { _(T):T; }",
		"table A { n:int; } union U { A } table T { _:U; } table V { _:[U]; }",
		`table T { _:[ubyte] (flexbuffer); } table V { _:[ubyte] (nested_flatbuffer:"T"); }`,
	} {
		flatCompiles(t, map[string]string{"main.fbs": text})
	}
}

func TestParametersAndPackagesDoNotHideWhatIsNeeded(t *testing.T) {
	flatCompiles(t, map[string]string{"main.fbs": "table foo { fooBuilder:string (required); n:int = 3; }"})
	flatCompiles(t, map[string]string{"main.fbs": "table uint { n:int; } struct S { a:[int:2]; } table T { s:[S]; l:[long]; u:[uint]; }"})
	for _, name := range []string{"each", "in", "next", "recv", "reply", "send", "uint"} {
		flatCompiles(t, map[string]string{
			"lib.fbs": "namespace " + name + "; table P { n:int; }",
			"main.fbs": strings.ReplaceAll(`include "lib.fbs"; namespace main; struct S { a:[int:2]; } table T { p:x.P; s:[S]; }
				rpc_service R { A(x.P):x.P; B(x.P):x.P (streaming: "client"); C(x.P):x.P (streaming: "server"); D(x.P):x.P (streaming: "bidi"); }`, "x.", name+"."),
		}, gen.Mocks(true))
	}
}

// Types may have the names of the variables beside which generated code refers to them.
func TestVariablesDoNotHideTypes(t *testing.T) {
	var tables, structs strings.Builder
	fields := "kk:string (key);"
	for i := range 65 { // more than one function writes
		fields += fmt.Sprintf(" f%d:int;", i)
	}
	for _, name := range strings.Fields("each full in next o1 o2 obj1 obj2 recv reply send vectorLocation") {
		fmt.Fprintf(&tables, `table %[1]s { %[2]s }
			rpc_service S%[1]s { B(%[1]s):%[1]s (streaming: "client"); C(%[1]s):%[1]s (streaming: "server"); D(%[1]s):%[1]s (streaming: "bidi"); }
		`, name, fields)
		fmt.Fprintf(&structs, "struct %[1]s { kk:int (key); } table T%[1]s { ss:[%[1]s]; }\n", name)
	}
	flatCompiles(t, map[string]string{"main.fbs": tables.String()}, gen.Mocks(true))
	flatCompiles(t, map[string]string{"main.fbs": structs.String()})
}

// A project can set no field whose name begins with an underscore, as the samples of servers and tests would.
func TestProjectsSetNoFieldsThatTheyCannotName(t *testing.T) {
	root := loadFlatTexts(t, map[string]string{"main.fbs": `table R { _hidden:[int] (required); } table T { r:R (required); }
		rpc_service S { A(T):T; B(T):T (streaming: "server"); C(T):T (streaming: "client"); D(T):T (streaming: "bidi"); }`})
	files, err := gen.FlatBuffersProject([]*schema.File{root}, gen.Project{Name: "p", Path: compilePrefix})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		if strings.Contains(string(f.Content), "RT{_Hidden:") {
			t.Errorf("%s sets the field _Hidden", f.Path)
		}
	}
}

func TestNamespacesInCirclesShareAPackage(t *testing.T) {
	files := flatCompiles(t, map[string]string{"main.fbs": `
		namespace a; table A { b:b.B; }
		namespace b; table B { a:a.A; c:c.C; } table B2 {}
		namespace c; struct low { n:int; } table C { l:[low]; }
		namespace d; table D { a:a.A; l:c.low; ls:[c.low]; }`})
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "b/main.go c/main.go d/main.go" {
		t.Errorf("files: %s", got)
	}
}

func TestGoPackageNamesWhereFilesGo(t *testing.T) {
	files := flatCompiles(t, map[string]string{
		"main.fbs":  `include "lib.fbs"; include "plain.fbs"; attribute "go_package=example.com/app/one"; namespace x.y; table A { b:z.B; c:C; }`,
		"lib.fbs":   `attribute "go_package=else.org/two"; namespace z; table B { n:int; }`,
		"plain.fbs": `table C { n:int; }`,
	})
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "else.org/two/lib.go one/main.go plain/plain.go" {
		t.Errorf("files: %s", got)
	}
}

func TestServicesAreLeftOutOnRequest(t *testing.T) {
	files := flatCompiles(t, map[string]string{"main.fbs": "table A {} rpc_service S { Get(A):A; }"}, gen.Services(false))
	if text := string(files[0].Content); strings.Contains(text, "thrum/rpc") || !strings.Contains(text, "type A struct") {
		t.Error(text)
	}
}

func TestWhatGoCannotExpressOfFlatBuffersIsReported(t *testing.T) {
	for _, c := range []struct {
		code  string
		texts map[string]string
	}{
		{"name-clash", map[string]string{"main.fbs": `attribute "go_package=p"; namespace a; table T {} namespace b; table T {}`}},
		{"name-clash", map[string]string{"main.fbs": `attribute "go_package=p"; namespace a; table t {} namespace b; table t {}`}},
		{"unexported", map[string]string{"main.fbs": `namespace a; table low {} table Low {} namespace b; table B { l:a.low; }`}},
		{"import-cycle", map[string]string{
			"main.fbs": `include "b.fbs"; attribute "go_package=p/q"; table A { b:B; }`,
			"b.fbs":    `include "main.fbs"; attribute "go_package=p/r"; table B { a:A; }`,
		}},
	} {
		_, err := gen.FlatBuffers([]*schema.File{loadFlatTexts(t, c.texts)})
		if list, ok := err.(diag.List); !ok || len(list) == 0 || list[0].Code != c.code {
			t.Errorf("%s: %v", c.code, err)
		}
	}
}

// FuzzFlatBuffers generates whatever schema the front end accepts: the output compiles, or
// the error says what Go cannot express.
func FuzzFlatBuffers(f *testing.F) {
	for _, path := range append(flatGoldens, "../../../idl/fbsidl/testdata/accepted/everything.fbs") {
		text, err := os.ReadFile(filepath.Join("testdata/fbs", path))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(text)
	}
	f.Add([]byte("table t { _:int; }"))
	f.Add([]byte("namespace a; struct s { k:[ubyte:3] (key); } table t { a:[s]; u:[U] (required); } union U:long { t = 5, s, string }"))
	flatPackages()
	f.Fuzz(func(t *testing.T, text []byte) {
		file, list := fbsidl.Load("main.fbs", fbsidl.Sources(map[string][]byte{"main.fbs": text}), fbsidl.MemoryOnly())
		if list.Err() != nil {
			return
		}
		files, err := gen.FlatBuffers([]*schema.File{file}, gen.ImportPrefix(compilePrefix))
		if err != nil {
			if _, ok := err.(diag.List); !ok {
				t.Fatal(err)
			}
			return
		}
		h := newFlatHouse(files)
		for p := range h.source {
			if _, err := h.Import(p); err != nil {
				t.Fatalf("%s: %v", p, err)
			}
		}
	})
}

// A type whose name generated code needs for a variable keeps all names that flatc gives it.
func TestTypesNamedAsVariablesKeepGooglesNames(t *testing.T) {
	text := `struct key { a:int (key); } enum at : byte { here } union ok { pos } table pos { k:key; at:at; b:[key]; ok:ok; } root_type pos;`
	files := flatCompiles(t, map[string]string{"main.fbs": text})
	for _, want := range []string{
		"type pos = pos_\n", "type key = key_\n", "type at = at_\n", "type ok = ok_\n", "func GetRootAspos(buf []byte, offset flatbuf.UOffsetT) *pos_ {", "func posStart(",
		"func posAddK(", "func Createkey(", "athere at_ = 0", "type posT struct", "func FinishposBuffer(", "func (rcv *pos_) K(obj *key_) *key_ {", "okpos ok_ = 1",
	} {
		if !strings.Contains(strings.Join(strings.Fields(string(files[0].Content)), " "), strings.Join(strings.Fields(want), " ")) {
			t.Errorf("not there: %s", want)
		}
	}
	var all strings.Builder
	for _, name := range strings.Fields("a at b buf builder c code ctx d end err h i j k key m n o obj off offset ok opts out p pos rcv req rsp refs s start t table u v vt wide x") {
		fmt.Fprintf(&all, "table %[1]s { one:%[1]s; more:[%[1]s]; by:string (key); ints:[int]; far:[ubyte] (vector64); } table %[1]s2 { one:%[1]s (required); } rpc_service R%[1]s { A(%[1]s):%[1]s2; }\n", name)
	}
	flatCompiles(t, map[string]string{"main.fbs": all.String()}, gen.Mocks(true))
}
