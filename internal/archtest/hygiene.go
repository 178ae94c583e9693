package archtest

// What readers need in every package, and what must not be committed.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/doc"
	"regexp"
	"slices"
	"strings"
)

// maxLines is the length beyond which a file wants to be two.
const maxLines = 700

// CheckPackageDoc reports packages without a package comment.
func CheckPackageDoc(t *Tree, _ *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		source := p.source()
		if len(source) == 0 {
			continue
		}
		documented := slices.ContainsFunc(source, func(f *File) bool {
			want := "Package " + f.AST.Name.Name + " "
			return f.AST.Doc != nil && (p.isMain() || f.generated() || strings.HasPrefix(f.AST.Doc.Text(), want))
		})
		if !documented {
			out = append(out, Violation{Path: p.Dir, Text: "no package comment: say what it is and what it must not know"})
		}
	}
	return out
}

// CheckExamples reports public packages without an Example whose output is
// checked.
func CheckExamples(t *Tree, _ *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if !p.isPublic() || len(p.source()) == 0 {
			continue
		}
		var tests []*ast.File
		for _, f := range p.Files {
			if f.Test {
				tests = append(tests, f.AST)
			}
		}
		runs := slices.ContainsFunc(doc.Examples(tests...), func(e *doc.Example) bool { return e.Output != "" || e.EmptyOutput })
		if !runs {
			out = append(out, Violation{Path: p.Dir, Text: "no Example with an Output comment: show the package at work"})
		}
	}
	return out
}

// CheckDocs reports exported types, functions and methods of public packages
// without a comment. Functions on one line and the methods that everybody
// knows are free: a row of accessors reads better without.
func CheckDocs(t *Tree, _ *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if !p.isPublic() {
			continue
		}
		for _, f := range p.source() {
			if f.generated() {
				continue
			}
			for _, decl := range f.AST.Decls {
				out = append(out, t.undocumented(decl)...)
			}
		}
	}
	return out
}

func (t *Tree) undocumented(decl ast.Decl) []Violation {
	var out []Violation
	switch d := decl.(type) {
	case *ast.FuncDecl:
		familiar := slices.Contains([]string{"String", "Error", "Unwrap", "Is"}, d.Name.Name)
		oneLine := t.fset.Position(d.Pos()).Line == t.fset.Position(d.End()).Line
		if d.Doc == nil && !familiar && !oneLine && d.Name.IsExported() && (d.Recv == nil || receiver(d).IsExported()) {
			out = append(out, t.at(d, "%s has no comment", d.Name.Name))
		}
	case *ast.GenDecl:
		for _, spec := range d.Specs {
			s, ok := spec.(*ast.TypeSpec)
			if ok && d.Doc == nil && s.Doc == nil && s.Comment == nil && s.Name.IsExported() {
				out = append(out, t.at(s, "%s has no comment", s.Name.Name))
			}
		}
	}
	return out
}

// receiver returns the name of the type that d is a method of.
func receiver(d *ast.FuncDecl) *ast.Ident {
	expr := d.Recv.List[0].Type
	for {
		switch x := expr.(type) {
		case *ast.Ident:
			return x
		case *ast.StarExpr:
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.IndexListExpr:
			expr = x.X
		case *ast.ParenExpr:
			expr = x.X
		default:
			return ast.NewIdent("_")
		}
	}
}

var (
	unfinished   = regexp.MustCompile(`\b(TO` + `DO|FIX` + `ME|X` + `XX)\b`)
	buildMachine = regexp.MustCompile(`(^|[^\w./-])/(wo` + `rk|tmp/te` + `am|ro` + `ot)/`)
)

// CheckText reports words that stand for unfinished work, and paths of the
// machine something was written on.
func CheckText(t *Tree, _ *Rules) []Violation {
	var out []Violation
	for _, f := range t.Texts {
		for i, line := range bytes.Split(f.Content, []byte("\n")) {
			if m := unfinished.Find(line); m != nil {
				out = append(out, Violation{f.Path, i + 1, fmt.Sprintf("%s: finish it, or file an issue", m)})
			}
			if m := buildMachine.Find(line); m != nil {
				out = append(out, Violation{f.Path, i + 1, fmt.Sprintf("%s is a path of one machine", bytes.TrimSpace(m))})
			}
		}
	}
	return out
}

// CheckLength reports Go files that are longer than maxLines, unless they are
// generated or the table says why.
func CheckLength(t *Tree, r *Rules) []Violation {
	var out []Violation
	used := map[string]bool{}
	for _, p := range t.Packages {
		for _, f := range p.Files {
			lines := bytes.Count(f.Content, []byte("\n"))
			if lines <= maxLines || f.generated() {
				continue
			}
			used[f.Path] = true
			if r.Long[f.Path] == "" {
				out = append(out, Violation{Path: f.Path, Text: fmt.Sprintf("%d lines: a file beyond %d wants to be two", lines, maxLines)})
			}
		}
	}
	for name := range r.Long {
		if !used[name] {
			out = append(out, Violation{Path: name, Text: "the allowance for its length is no longer needed"})
		}
	}
	return out
}

// CheckLicense reports a repository without the licence it claims.
func CheckLicense(t *Tree, _ *Rules) []Violation {
	if slices.ContainsFunc(t.Texts, func(f *Text) bool {
		return f.Path == "LICENSE" && bytes.Contains(f.Content, []byte("Apache License"))
	}) {
		return nil
	}
	return []Violation{{Path: "LICENSE", Text: "the text of the Apache License 2.0 is missing"}}
}
