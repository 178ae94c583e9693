package archtest

// What only a few places may hold, and what none may.

import (
	"fmt"
	"go/ast"
	"go/token"
	"path"
	"slices"
	"strconv"
	"strings"
)

// CheckUnsafe reports imports of unsafe outside of the fences, tests included.
func CheckUnsafe(t *Tree, r *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if p.Nested || matches(p.Dir, r.Unsafe) {
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				if importPath(spec) == "unsafe" {
					out = append(out, t.at(spec, "unsafe stays within %s", strings.Join(r.Unsafe, ", ")))
				}
			}
		}
	}
	return out
}

// CheckInvariants reports fences whose package comment does not number the
// invariants on which their unsafe code rests, and numbers without a test
// named after them.
func CheckInvariants(t *Tree, r *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if !matches(p.Dir, r.Unsafe) {
			continue
		}
		numbered := 0
		for _, f := range p.source() {
			for f.AST.Doc != nil && strings.Contains(f.AST.Doc.Text(), fmt.Sprintf("\n %d. ", numbered+1)) {
				numbered++
			}
		}
		if numbered == 0 {
			out = append(out, Violation{Path: p.Dir, Text: "a fence whose package comment numbers no invariants"})
		}
		for n := 1; n <= numbered; n++ {
			if !p.hasTest("TestInvariant" + strconv.Itoa(n)) {
				out = append(out, Violation{Path: p.Dir, Text: fmt.Sprintf("no test is named TestInvariant%d…", n)})
			}
		}
	}
	return out
}

// hasTest reports whether p has a test whose name is prefix followed by no digit.
func (p *Package) hasTest(prefix string) bool {
	for _, f := range p.Files {
		for _, decl := range f.AST.Decls {
			d, ok := decl.(*ast.FuncDecl)
			if !ok || !f.Test {
				continue
			}
			rest, ok := strings.CutPrefix(d.Name.Name, prefix)
			if ok && (rest == "" || rest[0] < '0' || rest[0] > '9') {
				return true
			}
		}
	}
	return false
}

// CheckAssembly reports assembly, C and object files outside of the fences.
func CheckAssembly(t *Tree, r *Rules) []Violation {
	var out []Violation
	for _, f := range t.Texts {
		switch path.Ext(f.Path) {
		case ".s", ".S":
			if !matches(path.Dir(f.Path), r.Assembly) {
				out = append(out, Violation{Path: f.Path, Text: "assembly stays within " + strings.Join(r.Assembly, ", ")})
			}
		case ".c", ".cc", ".h", ".syso":
			if !matches(path.Dir(f.Path), r.Programs) {
				out = append(out, Violation{Path: f.Path, Text: "no C: the module builds with CGO_ENABLED=0"})
			}
		}
	}
	return out
}

// CheckLinkname reports go:linkname directives anywhere: in tests and in
// nested modules too. Private symbols of the runtime change with each release.
func CheckLinkname(t *Tree, _ *Rules) []Violation {
	const directive = "//go:" + "linkname"
	var out []Violation
	for _, p := range t.Packages {
		for _, f := range p.Files {
			for _, group := range f.AST.Comments {
				for _, c := range group.List {
					if strings.HasPrefix(c.Text, directive) {
						out = append(out, t.at(c, "%s is not used here", directive))
					}
				}
			}
		}
	}
	return out
}

// CheckInit reports code that runs because a package is imported: func init,
// and blank variables whose value is a call.
func CheckInit(t *Tree, _ *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if p.Nested {
			continue
		}
		info := p.resolve(t)
		for _, f := range p.source() {
			for _, decl := range f.AST.Decls {
				switch d := decl.(type) {
				case *ast.FuncDecl:
					if d.Recv == nil && d.Name.Name == "init" {
						out = append(out, t.at(d, "no func init: nothing happens because a package is imported"))
					}
				case *ast.GenDecl:
					for _, value := range blankValues(d) {
						if call, ok := ast.Unparen(value).(*ast.CallExpr); ok && !info.Types[call.Fun].IsType() {
							out = append(out, t.at(value, "no call for its effect at package level"))
						}
					}
				}
			}
		}
	}
	return out
}

// blankValues returns the values of the declaration's variables named _.
func blankValues(d *ast.GenDecl) []ast.Expr {
	var out []ast.Expr
	for _, spec := range d.Specs {
		v, ok := spec.(*ast.ValueSpec)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for i, name := range v.Names {
			if name.Name == "_" && len(v.Values) > 0 {
				out = append(out, v.Values[min(i, len(v.Values)-1)])
			}
		}
	}
	return out
}

// CheckEnv reports reads and writes of environment variables. A library's
// behaviour comes from its options.
func CheckEnv(t *Tree, r *Rules) []Violation {
	functions := []string{"Getenv", "LookupEnv", "Environ", "ExpandEnv", "Setenv", "Unsetenv", "Clearenv"}
	var out []Violation
	for _, p := range t.Packages {
		if p.Nested || matches(p.Dir, r.Env) {
			continue
		}
		for _, f := range p.source() {
			names := importNames(f.AST, "os", "syscall")
			ast.Inspect(f.AST, func(n ast.Node) bool {
				sel, ok := n.(*ast.SelectorExpr)
				if !ok {
					return true
				}
				if x, ok := sel.X.(*ast.Ident); ok && slices.Contains(names, x.Name) && slices.Contains(functions, sel.Sel.Name) {
					out = append(out, t.at(sel, "%s.%s: behaviour is chosen by options, not by the environment", x.Name, sel.Sel.Name))
				}
				return true
			})
		}
	}
	return out
}

// importNames returns the names under which f imports the given paths.
func importNames(f *ast.File, paths ...string) []string {
	var out []string
	for _, spec := range f.Imports {
		p, err := strconv.Unquote(spec.Path.Value)
		if err != nil || !slices.Contains(paths, p) {
			continue
		}
		if spec.Name != nil {
			out = append(out, spec.Name.Name)
		} else {
			out = append(out, path.Base(p))
		}
	}
	return out
}
