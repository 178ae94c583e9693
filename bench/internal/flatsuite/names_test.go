package flatsuite

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"go/types"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// exported returns what the package in dir exports: names with their types, those of parameters
// without names.
func exported(t *testing.T, dir string) map[string]string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join(dir, "*.go"))
	if err != nil || len(paths) == 0 {
		t.Fatal(dir, err)
	}
	all := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			switch d := decl.(type) {
			case *ast.FuncDecl:
				name := d.Name.Name
				if d.Recv != nil {
					name = strings.TrimPrefix(types.ExprString(d.Recv.List[0].Type), "*") + "." + name
				}
				if d.Name.IsExported() {
					all[name] = fmt.Sprint(typesOf(d.Type.Params), typesOf(d.Type.Results))
				}
			case *ast.GenDecl:
				for _, s := range d.Specs {
					switch s := s.(type) {
					case *ast.ValueSpec:
						for _, n := range s.Names {
							all[n.Name] = d.Tok.String()
						}
					case *ast.TypeSpec:
						addType(all, s)
					}
				}
			}
		}
	}
	return all
}

func addType(all map[string]string, s *ast.TypeSpec) {
	switch u := s.Type.(type) {
	case *ast.StructType:
		all[s.Name.Name] = "struct"
		for _, f := range u.Fields.List {
			for _, n := range f.Names {
				all[s.Name.Name+"."+n.Name] = types.ExprString(f.Type)
			}
		}
	case *ast.InterfaceType:
		all[s.Name.Name] = "interface"
		for _, m := range u.Methods.List {
			if f, ok := m.Type.(*ast.FuncType); ok {
				all[s.Name.Name+"."+m.Names[0].Name] = fmt.Sprint(typesOf(f.Params), typesOf(f.Results))
			}
		}
	case *ast.FuncType:
		all[s.Name.Name] = fmt.Sprint(typesOf(u.Params), typesOf(u.Results))
	default:
		all[s.Name.Name] = types.ExprString(s.Type)
	}
}

func typesOf(l *ast.FieldList) (list []string) {
	if l == nil {
		return nil
	}
	for _, p := range l.List {
		for range max(1, len(p.Names)) {
			list = append(list, types.ExprString(p.Type))
		}
	}
	return list
}

// Code that is written for Google's runtime compiles with ours.
func TestOurRuntimeHasGooglesNames(t *testing.T) {
	dir, err := exec.Command("go", "list", "-f", "{{.Dir}}", "github.com/google/flatbuffers/go").Output()
	if err != nil {
		t.Fatal(err)
	}
	ours, theirs := exported(t, filepath.Join("..", "..", "..", "flatbuf")), exported(t, strings.TrimSpace(string(dir)))
	if len(theirs) < 150 {
		t.Errorf("only %d names", len(theirs))
	}
	for name, is := range theirs {
		parts := strings.Split(name, ".")
		if !ast.IsExported(parts[0]) || !ast.IsExported(parts[len(parts)-1]) || name == "Codec" { // flatbuf's documentation says what stands for Codec
			continue
		}
		if got, ok := ours[name]; !ok {
			t.Errorf("%s %s is missing", name, is)
		} else if got != is {
			t.Errorf("%s is %s, Google's is %s", name, got, is)
		}
	}
}
