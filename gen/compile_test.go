package gen_test

// Output for awkward IDL is checked as a Go compiler would, without building
// it: packages rpc and codec are stood in for by the declarations that it needs.

import (
	"fmt"
	"go/ast"
	"go/format"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

const rpcStandIn = `package rpc
import (
	"context"
	"github.com/thrum-rpc/thrum/rpc/stream"
)
type Caller interface { Invoke() }
type MessageCaller interface { InvokeMessage() }
type Service struct { Name string; Methods []Method }
type Method struct{}
type ApplicationException struct { Message string; Type int32 }
func (*ApplicationException) Error() string { return "" }
const MissingResult int32 = 5
func Unary[A, R any](name string, fn func(ctx context.Context, args *A, result *R) error) Method { return Method{} }
func Oneway[A any](name string, fn func(ctx context.Context, args *A) error) Method { return Method{} }
func Call[A, R any](ctx context.Context, c Caller, name string, args *A, result *R) error { return nil }
func Send[A any](ctx context.Context, c Caller, name string, args *A) error { return nil }
func ServerStreaming[Q, R any](name string, fn func(ctx context.Context, req *Q, s stream.ServerStreamingServer[R]) error) Method { return Method{} }
func ClientStreaming[Q, R any](name string, fn func(ctx context.Context, s stream.ClientStreamingServer[Q, R]) error) Method { return Method{} }
func BidiStreaming[Q, R any](name string, fn func(ctx context.Context, s stream.BidiStreamingServer[Q, R]) error) Method { return Method{} }
func OpenServerStream[Q, R any](ctx context.Context, c Caller, service, method string, req *Q) (s stream.ServerStreamingClient[R], err error) { return }
func OpenClientStream[Q, R any](ctx context.Context, c Caller, service, method string) (s stream.ClientStreamingClient[Q, R], err error) { return }
func OpenBidiStream[Q, R any](ctx context.Context, c Caller, service, method string) (s stream.BidiStreamingClient[Q, R], err error) { return }
`

const streamStandIn = `package stream
type ServerStreamingServer[R any] interface { Send(*R) error }
type ClientStreamingServer[Q, R any] interface { Recv() (*Q, error) }
type BidiStreamingServer[Q, R any] interface { Recv() (*Q, error) }
type ServerStreamingClient[R any] interface { Recv() (*R, error) }
type ClientStreamingClient[Q, R any] interface { Send(*Q) error }
type BidiStreamingClient[Q, R any] interface { Send(*Q) error }
`

const rpctestStandIn = `package rpctest
import (
	"github.com/thrum-rpc/thrum/rpc"
	"testing"
)
type Calls[A any] struct{}
func (*Calls[A]) Record(a A) {}
func Unset(tb testing.TB, function string) error { return nil }
func StartStreams(tb testing.TB, services ...*rpc.Service) rpc.Caller { return nil }
func StartMessages(tb testing.TB, services ...*rpc.Service) rpc.MessageCaller { return nil }
`

const codecStandIn = `package codec
type Codec[T any] struct{}
func For[T any](opts ...int) (*Codec[T], error) { return nil, nil }
`

const compilePrefix = "example.com/app"

// house resolves the imports of generated packages.
type house struct {
	fset   *token.FileSet
	source map[string]map[string]string // import path → file → text
	done   map[string]*types.Package
	std    types.Importer
}

// standard imports the standard library, once for all tests.
var standard = sync.OnceValue(importer.Default)

func newHouse(files []gen.File) *house {
	h := &house{
		fset: token.NewFileSet(), done: make(map[string]*types.Package), std: standard(),
		source: map[string]map[string]string{
			"github.com/thrum-rpc/thrum/rpc":         {"rpc.go": rpcStandIn},
			"github.com/thrum-rpc/thrum/codec":       {"codec.go": codecStandIn},
			"github.com/thrum-rpc/thrum/rpc/stream":  {"stream.go": streamStandIn},
			"github.com/thrum-rpc/thrum/rpc/rpctest": {"rpctest.go": rpctestStandIn},
		},
	}
	for _, f := range files {
		p := path.Join(compilePrefix, path.Dir(f.Path))
		if h.source[p] == nil {
			h.source[p] = make(map[string]string)
		}
		h.source[p][f.Path] = string(f.Content)
	}
	return h
}

func (h *house) Import(importPath string) (*types.Package, error) {
	if p := h.done[importPath]; p != nil {
		return p, nil
	}
	texts := h.source[importPath]
	if dir, own := strings.CutPrefix(importPath, "github.com/thrum-rpc/thrum/"); own && texts == nil {
		texts = sources(filepath.Join("..", filepath.FromSlash(dir)))
	}
	if texts == nil {
		return h.std.Import(importPath)
	}
	var files []*ast.File
	for name, text := range texts {
		f, err := parser.ParseFile(h.fset, name, text, parser.SkipObjectResolution)
		if err != nil {
			return nil, err
		}
		files = append(files, f)
	}
	p, err := (&types.Config{Importer: h}).Check(importPath, h.fset, files, nil)
	h.done[importPath] = p
	return p, err
}

// sources returns the Go files of a directory, without its tests.
func sources(dir string) map[string]string {
	texts := make(map[string]string)
	names, _ := filepath.Glob(filepath.Join(dir, "*.go"))
	for _, name := range names {
		if text, err := os.ReadFile(name); err == nil && !strings.HasSuffix(name, "_test.go") {
			texts[name] = string(text)
		}
	}
	return texts
}

// loadText loads the IDL texts, of which main.thrift is the root.
func loadText(t *testing.T, idl map[string]string) *schema.File {
	t.Helper()
	sources := make(map[string][]byte)
	for name, text := range idl {
		sources[name] = []byte(text)
	}
	f, list := thriftidl.Load("main.thrift", thriftidl.Sources(sources))
	if err := list.Err(); err != nil {
		t.Fatal(err)
	}
	return f
}

// compiles generates the IDL and checks the output.
func compiles(t *testing.T, idl map[string]string, opts ...gen.Option) []gen.File {
	t.Helper()
	files, err := gen.Go(loadText(t, idl), append([]gen.Option{gen.ImportPrefix(compilePrefix)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	h := newHouse(files)
	for p := range h.source {
		if _, err := h.Import(p); err != nil {
			t.Errorf("%s: %v", p, err)
		}
	}
	for _, f := range files {
		if again, err := format.Source(f.Content); err != nil || string(again) != string(f.Content) {
			t.Errorf("%s is not formatted: %v", f.Path, err)
		}
		if t.Failed() {
			t.Logf("%s:\n%s", f.Path, f.Content)
		}
	}
	return files
}

// everyOption is what a user may ask for, the default first.
var everyOption = map[string][]gen.Option{
	"default": nil,
	"bare":    {gen.Getters(false), gen.JSONTags(false), gen.ThriftTags(false)},
	"all": {gen.Setters(true), gen.DeepEqual(true), gen.EnumInt32(true), gen.StructValues(true), gen.FrugalTags(false),
		gen.EnumText(true), gen.KeepUnknownFields(true), gen.Pretouch(true), gen.Static(true), gen.Mocks(true)},
}

// awkward are names that Go, its library or the generator use themselves.
var awkward = strings.Fields(`
	break chan default func go goto interface package range select type var fallthrough
	any bool error string int64 nil true iota append len make new copy panic cap close init main
	bytes context errors fmt maps math rpc slices schema
	p v r c h s n o ctx err args result caller client server self x0 y0
	Read Write String Error GoString Format InitDefault DeepEqual CarryingUnknownFields PretouchSvc AppendThrift SizeThrift UnmarshalThrift Get Set IsSet get_x set_x x is_set_x
	Success success New NewX X_args Client Service Args Result A A_ a a_ _a __a a__b a_1 a_B
	CountSetFieldsX Svc SvcClient NewSvc x_DEFAULT FromString Ptr
`)

func TestAwkwardNamesCompileEverywhere(t *testing.T) {
	var b strings.Builder
	b.WriteString("namespace go type.main.fmt\n")
	decl := func(format string, args ...any) { fmt.Fprintf(&b, format+"\n", args...) }
	fields := func(req, typ string) (s string) {
		for i, n := range awkward {
			if n != "required" {
				s += fmt.Sprintf("%d: %s %s %s, ", i+1, req, typ, n)
			}
		}
		return s
	}
	reserved := map[string]bool{"void": true}
	for _, n := range awkward {
		if !reserved[n] {
			decl("struct %s { 1: optional string %s = 'd', 2: optional i32 other, 3: list<i64> %s_ }", n, n, n)
		}
	}
	decl("enum E { %s }", strings.Join(awkward, ", "))
	decl("struct F { %s }", fields("", "string"))
	decl("struct O { %s }", fields("optional", "string"))
	decl("union U { %s }", fields("", "F"))
	decl("exception T { %s }", fields("required", "E"))
	for _, n := range awkward {
		decl("const i32 k_%s = 1", n)
	}
	decl("service Base_ {")
	for _, n := range awkward {
		decl("F %s(%s) throws (1: T t)", n, fields("", "U"))
	}
	decl("}\nservice Derived extends Base_ { oneway void derived(1: i32 args) }")
	for name, opts := range everyOption {
		t.Run(name, func(t *testing.T) { compiles(t, map[string]string{"main.thrift": b.String()}, opts...) })
	}
}

func TestStaticCodeDeclaresNoVariableInVain(t *testing.T) {
	compiles(t, map[string]string{"main.thrift": "struct S { 1: optional i32 ref; 2: optional bool f } union U { 1: i64 of } exception X { 1: optional list<S> if }"}, gen.Static(true))
	compiles(t, map[string]string{"main.thrift": "struct S { 1: optional i32 ref }"}, everyOption["all"]...)
}

func TestPackagesWithLikeNamesAreToldApart(t *testing.T) {
	idl := map[string]string{
		"main.thrift": `include "a/x.thrift"
			include "b/x.thrift"
			include "fmt.thrift"
			include "string.thrift"
			include "none_test.thrift"
			namespace go main
			struct S { 1: fmt.S f, 2: string.S s, 3: none_test.S n }
			service Main extends fmt.Fmt { void y(1: fmt.S fmt, 2: string.S string2, 3: i32 x2, 4: i32 rpc) }`,
		"a/x.thrift":       "namespace go a.x\nstruct S {}",
		"b/x.thrift":       "namespace go b.x\nstruct S {}",
		"fmt.thrift":       "include 'a/x.thrift'\nnamespace go std.fmt\nstruct S { 1: x.S s }\nservice Fmt { x.S x(1: x.S x) }",
		"string.thrift":    "include 'b/x.thrift'\nnamespace go my.string\nstruct S { 1: x.S s }",
		"none_test.thrift": "struct S {}",
	}
	// Packages named like variables of generated methods.
	var includes, fields strings.Builder
	for i, n := range []string{"b", "p", "f", "i", "v1", "x0", "head", "ctx", "block1"} {
		idl[n+".thrift"] = "namespace go local." + n + "\nstruct S { 1: list<S> s }"
		fmt.Fprintf(&includes, "include '%s.thrift'\n", n)
		fmt.Fprintf(&fields, "%d: list<%s.S> f_%s, ", i+10, n, n)
	}
	idl["main.thrift"] = includes.String() + strings.Replace(idl["main.thrift"], "struct S { ", "struct S { "+fields.String(), 1)
	for name, opts := range everyOption {
		t.Run(name, func(t *testing.T) { compiles(t, idl, opts...) })
	}
}

func TestFilesOfOneNamespaceShareAPackage(t *testing.T) {
	files := compiles(t, map[string]string{
		"main.thrift":   "include 'a/main.thrift'\ninclude 'b/Main.thrift'\nnamespace go one\nstruct S { 1: list<main.S> a }",
		"a/main.thrift": "namespace go one\nstruct S {}\nenum E { A }",
		"b/Main.thrift": "namespace go one\nstruct S_ {}\nconst i32 E = 1",
	})
	var paths []string
	for _, f := range files {
		paths = append(paths, f.Path)
	}
	if got := strings.Join(paths, " "); got != "one/main.go one/Main_2.go one/main_3.go" {
		t.Errorf("files: %s", got)
	}
}

func TestStreamsAreLeftOutAndSaySo(t *testing.T) {
	files := compiles(t, map[string]string{"main.thrift": "service S { i32 a()\n i32, stream<i32> b(1: i32 n)\n}"})
	if !strings.Contains(string(files[0].Content), "// Left out, since they stream: b.") {
		t.Errorf("the interface does not say what it lacks:\n%s", files[0].Content)
	}
}

func TestWhatGoCannotExpressIsReported(t *testing.T) {
	for _, c := range []struct{ name, code, at, text string }{
		{"map key", "map-key", "main.thrift:1:38", "struct S { 1: map<list<i32>, string> m }"},
		{"go.tag", "go-tag", "main.thrift:1:19", "struct S { 1: i32 a (go.tag = 'json') }"},
		{"go.name", "go-name", "main.thrift:1:19", "struct S { 1: i32 a (go.name = 'b') }"},
		{"go.type of a struct", "go-type", "main.thrift:1:17", "struct S { 1: S a (go.type = 'x.Y') }"},
		{"go.type", "go-type", "main.thrift:1:19", "struct S { 1: i32 a (go.type = 'func()') }"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := gen.Go(loadText(t, map[string]string{"main.thrift": c.text}))
			list, ok := err.(diag.List)
			if !ok || len(list) != 1 || list[0].Code != c.code || list[0].Span.Position().String() != c.at {
				t.Errorf("got %v, want one %s at %s", err, c.code, c.at)
			}
		})
	}
}

func TestDefaultsThatDoubleEndInAnError(t *testing.T) {
	text := "struct S0 { 1: i32 a = 1 }"
	for i := range 40 {
		text += fmt.Sprintf("\nstruct S%[2]d { 1: S%[1]d a = {}, 2: S%[1]d b = {} }", i, i+1)
	}
	_, err := gen.Go(loadText(t, map[string]string{"main.thrift": text}), everyOption["all"]...)
	if list, ok := err.(diag.List); !ok || list[0].Code != "too-many-values" {
		t.Errorf("got %v", err)
	}
}

func TestTypesThatThriftDoesNotHaveAreReported(t *testing.T) {
	s := schema.NewStruct(schema.DeclSpec{Name: "S"}, schema.PlainStruct)
	s.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{ID: 1, Name: "a", Type: schema.ListOf(schema.Basic(schema.U64))})})
	f := schema.NewFile("main.proto")
	f.Complete(schema.FileSpec{Structs: []*schema.StructDef{s}})
	_, err := gen.Go(f)
	if list, ok := err.(diag.List); !ok || list[0].Code != "unsigned" {
		t.Errorf("got %v", err)
	}
}

func TestPackagesThatWouldImportEachOtherAreReported(t *testing.T) {
	_, err := gen.Go(loadText(t, map[string]string{
		"main.thrift": "include 'b.thrift'\nnamespace go x\nstruct S { 1: b.S s }",
		"b.thrift":    "include 'c.thrift'\nnamespace go y\nstruct S { 1: c.S s }",
		"c.thrift":    "namespace go x\nstruct S {}",
	}))
	if err == nil || !strings.Contains(err.Error(), "x → y → x") {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTheRootIsWrittenOnRequest(t *testing.T) {
	f := loadText(t, map[string]string{
		"main.thrift": "include 'b.thrift'\nnamespace go x\nstruct S { 1: b.S s }",
		"b.thrift":    "namespace go y\nstruct S {}",
	})
	all, err := gen.Go(f)
	if err != nil || len(all) != 2 {
		t.Fatal(len(all), err)
	}
	one, err := gen.Go(f, gen.Includes(false))
	if err != nil || len(one) != 1 || one[0].Path != "x/main.go" || string(one[0].Content) != string(all[1].Content) {
		t.Errorf("%d files, %v", len(one), err)
	}
}
