package gen

import (
	"path"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
)

// imports are those that a file has used so far, by path.
type imports map[string]string // path → name in the file

// Use imports a package that generated code relies on, by its import path, and
// returns its name.
func (f *goFile) Use(importPath string) string {
	name := path.Base(importPath)
	f.imports[importPath] = name
	return name
}

// RPC imports package rpc and returns its name.
func (f *goFile) RPC() string {
	f.imports["github.com/thrum-rpc/thrum/rpc"] = "rpc"
	return "rpc"
}

// Codec imports package codec and returns its name.
func (f *goFile) Codec() string {
	f.imports["github.com/thrum-rpc/thrum/codec"] = "codec"
	return "codec"
}

// qualified returns a name of package p as f has to write it.
func (f *goFile) qualified(p *goPackage, name string) string {
	if p == f.pkg {
		return name
	}
	f.imports[p.importPath] = p.alias
	f.pkg.imports[p] = true
	return p.alias + "." + name
}

// Imports returns the import declarations, those of the standard library first.
func (f *goFile) Imports() string {
	return gofile.Imports(f.imports, f.isGenerated)
}

func (f *goFile) isGenerated(importPath string) bool {
	return slices.ContainsFunc(f.packages, func(p *goPackage) bool { return p.importPath == importPath })
}

// checkImports reports packages that would import each other, which Go
// forbids, though no file of IDL includes itself.
func (g *generator) checkImports() {
	gofile.Cycles(g.packages, func(p, q *goPackage) bool { return p.imports[q] }, func(paths string) {
		g.report(diag.Span{}, "import-cycle", "Go packages would import each other: "+paths,
			"give their files one namespace for go, or move what they share into a third")
	})
}
