package fbs

import (
	"path"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
)

// Use imports a package that generated code relies on and returns its name.
func (u *unit) Use(importPath string) string {
	u.imports[importPath] = path.Base(importPath)
	return path.Base(importPath)
}

// Flex imports package flexbuf and returns its name.
func (u *unit) Flex() string { return u.Use("github.com/thrum-rpc/thrum/flatbuf/flexbuf") }

// qualified returns a name of the package of file o as u has to write it.
func (u *unit) qualified(o *unit, name string) string {
	if o.pkg == u.pkg {
		return name
	}
	name = capital(name)
	alias := u.imports[o.pkg.importPath]
	if alias == "" {
		alias = o.pkg.name
		for n := 2; u.pkg.names[alias] || u.imported(alias) || slices.Contains(locals, alias); n++ {
			alias = o.pkg.name + strconv.Itoa(n)
		}
		u.imports[o.pkg.importPath] = alias
		u.pkg.imports[o.pkg] = true
	}
	return alias + "." + name
}

// capital returns the name under which other packages know a type.
func capital(name string) string {
	switch c := name[0]; {
	case isLower(c):
		return string(toUpper(c)) + name[1:]
	case !isUpper(c):
		return "X" + name
	}
	return name
}

func (u *unit) imported(alias string) bool {
	for _, a := range u.imports {
		if a == alias {
			return true
		}
	}
	return false
}

// Imports returns the import declarations, those of the standard library first.
func (u *unit) Imports() string {
	return gofile.Imports(u.imports, u.isGenerated)
}

func (u *unit) isGenerated(importPath string) bool {
	return slices.ContainsFunc(u.packages, func(p *goPackage) bool { return p.importPath == importPath })
}

// checkImports reports packages that would import each other, which Go
// forbids: namespaces may refer to each other as they like.
func (g *generator) checkImports() {
	gofile.Cycles(g.packages, func(p, q *goPackage) bool { return p.imports[q] }, func(paths string) {
		g.report(diag.Span{}, "import-cycle", "Go packages would import each other: "+paths,
			"give their files one go_package")
	})
}

// report adds an error, unless the same stands there already.
func (g *generator) report(at diag.Span, code, message, hint string) {
	for _, d := range g.errs {
		if d.Span == at && d.Code == code && d.Message == message {
			return
		}
	}
	g.errs = append(g.errs, &diag.Diagnostic{Code: code, Span: at, Message: message, Hint: hint})
}
