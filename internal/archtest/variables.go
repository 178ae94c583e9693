package archtest

// Package variables do not change.

import (
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
)

// CheckVariables reports package variables that change after initialization,
// and those whose type is made to change (locks, pools, atomics, channels).
// Tests may do as they please, and so may flag and golden variables in them.
//
// The check sees names and the types of the package itself, not those of other
// packages. So a method of a foreign type that mutates its receiver is found
// only for the types of sync and sync/atomic.
func CheckVariables(t *Tree, r *Rules) []Violation {
	var out []Violation
	used := map[int]bool{}
	for _, p := range t.Packages {
		if p.Nested || len(p.source()) == 0 {
			continue
		}
		v := &variables{tree: t, info: p.resolve(t)}
		for _, f := range p.source() {
			v.declarations(f)
			ast.Inspect(f.AST, v.visit)
		}
		for _, found := range v.found {
			i := slices.IndexFunc(r.Variables, func(m Variable) bool { return m.Dir == p.Dir && m.Name == found.name })
			if i >= 0 {
				used[i] = true
				continue
			}
			out = append(out, found.violation)
		}
	}
	for i, m := range r.Variables {
		if !used[i] {
			out = append(out, Violation{Path: m.Dir, Text: "the allowance for the variable " + m.Name + " is no longer needed"})
		}
	}
	return out
}

// resolve type-checks p as far as its own source goes. Imports resolve to
// empty packages, so the errors are expected and dropped.
func (p *Package) resolve(t *Tree) *types.Info {
	info := &types.Info{
		Types:      map[ast.Expr]types.TypeAndValue{},
		Defs:       map[*ast.Ident]types.Object{},
		Uses:       map[*ast.Ident]types.Object{},
		Selections: map[*ast.SelectorExpr]*types.Selection{},
	}
	files := make([]*ast.File, 0, len(p.Files))
	for _, f := range p.source() {
		files = append(files, f.AST)
	}
	config := types.Config{
		Importer: emptyImporter{},
		Error:    func(error) {},
	}
	_, _ = config.Check(p.Dir, t.fset, files, info)
	return info
}

type emptyImporter struct{}

func (emptyImporter) Import(importPath string) (*types.Package, error) {
	p := types.NewPackage(importPath, path.Base(importPath))
	p.MarkComplete()
	return p, nil
}

type variables struct {
	tree  *Tree
	info  *types.Info
	found []mutation
}

type mutation struct {
	name      string
	violation Violation
}

func (v *variables) report(n ast.Node, name, what string) {
	v.found = append(v.found, mutation{name, v.tree.at(n, "package variable %s %s: state belongs in a value that the caller owns", name, what)})
}

// declarations reports variables whose type exists to be changed.
func (v *variables) declarations(f *File) {
	stateful := append(importNames(f.AST, "sync"), importNames(f.AST, "sync/atomic")...)
	for _, decl := range f.AST.Decls {
		d, ok := decl.(*ast.GenDecl)
		if !ok || d.Tok != token.VAR {
			continue
		}
		for _, spec := range d.Specs {
			value := spec.(*ast.ValueSpec)
			if what := stateIn(value, stateful); what != "" {
				for _, name := range value.Names {
					v.report(name, name.Name, "holds "+what)
				}
			}
		}
	}
}

// stateIn returns the name of the first type of sync or sync/atomic, or of a
// channel, in a variable's declaration. Function literals are not searched:
// what they make is theirs.
func stateIn(spec *ast.ValueSpec, packages []string) string {
	what := ""
	look := func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.FuncLit, *ast.FuncType:
			return false
		case *ast.ChanType:
			what = "a channel"
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok && slices.Contains(packages, x.Name) {
				what = x.Name + "." + n.Sel.Name
			}
		}
		return what == ""
	}
	if spec.Type != nil {
		ast.Inspect(spec.Type, look)
	}
	for _, value := range spec.Values {
		ast.Inspect(value, look)
	}
	return what
}

func (v *variables) visit(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.AssignStmt:
		for _, lhs := range n.Lhs {
			v.changed(lhs, "is assigned to")
		}
	case *ast.IncDecStmt:
		v.changed(n.X, "is counted up or down")
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			v.changed(n.Key, "is assigned to")
			v.changed(n.Value, "is assigned to")
		}
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			v.changed(n.X, "has its address taken")
		}
	case *ast.SendStmt:
		v.changed(n.Chan, "is sent to")
	case *ast.CallExpr:
		v.call(n)
	}
	return true
}

// call reports delete, clear and copy into a package variable, and methods
// with a pointer receiver called on one.
func (v *variables) call(n *ast.CallExpr) {
	switch fun := ast.Unparen(n.Fun).(type) {
	case *ast.Ident:
		if b, ok := v.info.Uses[fun].(*types.Builtin); ok && len(n.Args) > 0 && slices.Contains([]string{"delete", "clear", "copy"}, b.Name()) {
			v.changed(n.Args[0], "is changed by "+b.Name())
		}
	case *ast.SelectorExpr:
		s := v.info.Selections[fun]
		if s == nil || s.Kind() != types.MethodVal {
			return
		}
		signature := s.Obj().Type().(*types.Signature)
		if signature.Recv() == nil {
			return
		}
		_, wantsPointer := signature.Recv().Type().(*types.Pointer)
		_, isPointer := s.Recv().(*types.Pointer)
		if wantsPointer && !isPointer {
			v.changed(fun.X, "has its address taken by "+fun.Sel.Name)
		}
	}
}

// changed reports expr if it is a package variable or a part of one.
func (v *variables) changed(expr ast.Expr, how string) {
	for expr != nil {
		switch x := ast.Unparen(expr).(type) {
		case *ast.Ident:
			if obj, ok := v.info.Uses[x].(*types.Var); ok && obj.Parent() == obj.Pkg().Scope() {
				v.report(x, x.Name, how)
			}
			return
		case *ast.SelectorExpr:
			if id, ok := x.X.(*ast.Ident); ok {
				if _, foreign := v.info.Uses[id].(*types.PkgName); foreign {
					v.report(x, id.Name+"."+x.Sel.Name, how)
					return
				}
			}
			expr = x.X
		case *ast.IndexExpr:
			expr = x.X
		case *ast.SliceExpr:
			expr = x.X
		case *ast.StarExpr:
			expr = x.X
		default:
			return
		}
	}
}
