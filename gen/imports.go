package gen

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
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
	var std, other []string
	for p, name := range f.imports {
		line := fmt.Sprintf("%q", p)
		if path.Base(p) != name {
			line = name + " " + line
		}
		if first, _, _ := strings.Cut(p, "/"); f.isGenerated(p) || strings.Contains(first, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	if len(std)+len(other) == 0 {
		return ""
	}
	slices.Sort(std)
	slices.Sort(other)
	if len(std) > 0 && len(other) > 0 {
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, other...), "\n") + "\n)"
}

func (f *goFile) isGenerated(importPath string) bool {
	return slices.ContainsFunc(f.packages, func(p *goPackage) bool { return p.importPath == importPath })
}

// checkImports reports packages that would import each other, which Go
// forbids, though no file of IDL includes itself.
func (g *generator) checkImports() {
	const (
		unseen = iota
		open
		closed
	)
	state := make(map[*goPackage]int)
	var trail []string
	var visit func(p *goPackage)
	visit = func(p *goPackage) {
		trail = append(trail, p.importPath)
		state[p] = open
		for _, q := range g.packages {
			switch {
			case !p.imports[q] || state[q] == closed:
			case state[q] == open:
				i := slices.Index(trail, q.importPath)
				g.report(diag.Span{}, "import-cycle",
					"Go packages would import each other: "+strings.Join(append(trail[i:len(trail):len(trail)], q.importPath), " → "),
					"give their files one namespace for go, or move what they share into a third")
			default:
				visit(q)
			}
		}
		state[p] = closed
		trail = trail[:len(trail)-1]
	}
	for _, p := range g.packages {
		if state[p] == unseen {
			visit(p)
		}
	}
}
