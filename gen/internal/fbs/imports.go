package fbs

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
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
		for n := 2; u.pkg.names[alias] || u.imported(alias); n++ {
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
	var std, other []string
	for p, name := range u.imports {
		line := strconv.Quote(p)
		if path.Base(p) != name {
			line = name + " " + line
		}
		if u.isGenerated(p) || strings.Contains(p, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	slices.Sort(std)
	slices.SortFunc(other, func(a, b string) int {
		return strings.Compare(a[strings.IndexByte(a, '"'):], b[strings.IndexByte(b, '"'):])
	})
	switch {
	case len(std)+len(other) == 0:
		return ""
	case len(std) > 0 && len(other) > 0:
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, other...), "\n") + "\n)"
}

func (u *unit) isGenerated(importPath string) bool {
	return slices.ContainsFunc(u.packages, func(p *goPackage) bool { return p.importPath == importPath })
}

// checkImports reports packages that would import each other, which Go
// forbids: namespaces may refer to each other as they like.
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
					"give their files one go_package")
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

// report adds an error, unless the same stands there already.
func (g *generator) report(at diag.Span, code, message, hint string) {
	for _, d := range g.errs {
		if d.Span == at && d.Code == code && d.Message == message {
			return
		}
	}
	g.errs = append(g.errs, &diag.Diagnostic{Code: code, Span: at, Message: message, Hint: hint})
}
