package interop

// What flatc's Go back end writes, as the oracle for package gen: each exported
// name of its output is in ours, with the same signature.

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sort"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/gen"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/schema"
)

// declarations are the names of Go files with what they are, without packages.
type declarations map[string]string

// qualifier is what stands before a name of another package. Which package a
// type is in differs, as both write their own import paths.
var qualifier = regexp.MustCompile(`\b\w+\.`)

func (d declarations) add(name string, src any) bool {
	f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
	if err != nil {
		return false // flatc does not escape every keyword
	}
	show := func(e ast.Expr) string { return qualifier.ReplaceAllString(types.ExprString(e), "") }
	for _, decl := range f.Decls {
		switch n := decl.(type) {
		case *ast.FuncDecl:
			name := n.Name.Name
			if n.Recv != nil {
				name = strings.TrimPrefix(show(n.Recv.List[0].Type), "*") + "." + name
			}
			d[name] = signature(n.Type, show)
		case *ast.GenDecl:
			for _, s := range n.Specs {
				d.spec(s, show)
			}
		}
	}
	return true
}

// signature returns the types of parameters and results: their names are free.
func signature(f *ast.FuncType, show func(ast.Expr) string) string {
	list := func(l *ast.FieldList) (all []string) {
		if l == nil {
			return nil
		}
		for _, p := range l.List {
			for range max(1, len(p.Names)) {
				all = append(all, show(p.Type))
			}
		}
		return all
	}
	return fmt.Sprintf("func(%s) (%s)", strings.Join(list(f.Params), ", "), strings.Join(list(f.Results), ", "))
}

func (d declarations) spec(s ast.Spec, show func(ast.Expr) string) {
	switch s := s.(type) {
	case *ast.ValueSpec:
		for i, n := range s.Names {
			d[n.Name] = "value"
			if b, ok := s.Values[i].(*ast.BasicLit); ok {
				d[n.Name] = b.Value
			}
		}
	case *ast.TypeSpec:
		st, ok := s.Type.(*ast.StructType)
		if !ok {
			d[s.Name.Name] = show(s.Type)
			return
		}
		d[s.Name.Name] = "struct"
		for _, f := range st.Fields.List {
			for _, n := range f.Names {
				d[s.Name.Name+"."+n.Name] = show(f.Type)
			}
		}
	}
}

// module returns the files that make a directory a module of that name which uses this checkout.
func module(t *testing.T, name string) []gen.File {
	t.Helper()
	checkout, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	sums, err := os.ReadFile(filepath.Join(checkout, "go.sum"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(checkout, "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Replace(string(text), "module github.com/thrum-rpc/thrum", "module "+name, 1) +
		"\nrequire github.com/thrum-rpc/thrum v0.0.0\nreplace github.com/thrum-rpc/thrum => " + checkout + "\n"
	return []gen.File{{Path: "go.mod", Content: []byte(all)}, {Path: "go.sum", Content: sums}}
}

func TestGeneratedGoOfGooglesSchemasCompiles(t *testing.T) {
	root, paths := googleSchemas(t)
	dir := t.TempDir()
	files := module(t, "example.com/all")
	schemas := 0
	for i, path := range paths {
		f, list := fbsidl.Load(path, fbsidl.IncludeDirs(root, filepath.Join(root, "tests"), filepath.Join(root, "tests", "include_test")))
		if list.Err() != nil {
			continue // flatc refuses it too: another test
		}
		schemas++
		sub := fmt.Sprintf("s%d", i)
		out, err := gen.FlatBuffers([]*schema.File{f}, gen.ImportPrefix("example.com/all/"+sub))
		if err != nil {
			t.Errorf("%s: %v", path, err)
		}
		for _, g := range out {
			files = append(files, gen.File{Path: sub + "/" + g.Path, Content: g.Content})
		}
	}
	if schemas < 70 {
		t.Errorf("only %d schemas", schemas)
	}
	if err := gen.Write(dir, files); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("go", "vet", "-mod=mod", "-unreachable", "./...") // a check, so that it need not link
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GOWORK=off", "GOFLAGS=")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestGeneratedGoHasTheNamesAndSignaturesOfFlatc(t *testing.T) {
	compiler := flatc(t)
	root, paths := googleSchemas(t)
	own, err := filepath.Glob(filepath.Join("..", "..", "gen", "testdata", "fbs", "*.fbs"))
	if err != nil || len(own) == 0 {
		t.Fatal(own, err)
	}
	dirs := []string{root, filepath.Join(root, "tests"), filepath.Join(root, "tests", "include_test")}
	compared, names, missing := 0, 0, 0
	for _, path := range append(paths, own...) {
		theirs := flatcGo(t, compiler, dirs, path)
		f, list := fbsidl.Load(path, fbsidl.IncludeDirs(dirs...))
		if list.Err() != nil {
			continue // both refuse it: another test
		}
		files, err := gen.FlatBuffers([]*schema.File{f})
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		ours := declarations{}
		for _, g := range files {
			if !ours.add(g.Path, g.Content) {
				t.Errorf("%s: %s is no Go", path, g.Path)
			}
		}
		if len(theirs) > 0 {
			compared++
		}
		for _, name := range namesOf(theirs) {
			names++
			if got, ok := ours[name]; !ok {
				missing++
				t.Errorf("%s: %s %s is missing", path, name, theirs[name])
			} else if !strings.EqualFold(got, theirs[name]) { // flatc refers to class of another package; Class is what compiles
				t.Errorf("%s: %s is %s, flatc's is %s", path, name, got, theirs[name])
			}
		}
	}
	t.Logf("%d schemas, %d names", compared, names)
	if compared < 60 || names < 5000 {
		t.Errorf("only %d schemas with %d names were compared", compared, names)
	}
}

// flatcGo returns what flatc writes for a schema and what it includes, nothing if
// its back end refuses it.
func flatcGo(t *testing.T, compiler string, dirs []string, path string) declarations {
	t.Helper()
	out := t.TempDir()
	args := []string{"--go", "--gen-object-api", "--gen-all", "-o", out}
	for _, d := range dirs {
		args = append(args, "-I", d)
	}
	if exec.Command(compiler, append(args, path)...).Run() != nil {
		return nil
	}
	all := declarations{}
	err := filepath.WalkDir(out, func(path string, d fs.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			all.add(path, nil)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func namesOf(d declarations) []string {
	names := make([]string, 0, len(d))
	for n := range d {
		names = append(names, n)
	}
	sort.Strings(names)
	return names
}
