package fbs

// Namespaces may refer to each other as they like, Go packages may not import each
// other. So packages that were made for namespaces, and would do so, become one.

import (
	"slices"

	"github.com/thrum-rpc/thrum/schema"
)

// mergePackages makes one package of those that need each other: the one that a
// file names, else the one with the most declarations. Two packages that files
// name are left alone, and reported later.
func (g *generator) mergePackages() {
	needs := make(map[*goPackage]map[*goPackage]bool)
	for _, p := range g.packages {
		needs[p] = make(map[*goPackage]bool)
		for _, u := range p.units {
			for _, m := range u.all() {
				for _, f := range m.StructDef.Fields() {
					g.need(needs[p], element(f.Type()), f.Nested())
				}
			}
			for _, s := range u.services {
				for _, m := range s.messages() {
					needs[p][m.pkg] = true
				}
			}
		}
		delete(needs[p], p)
	}
	reach := make(map[*goPackage]map[*goPackage]bool)
	for _, p := range g.packages {
		reach[p] = make(map[*goPackage]bool)
		todo := []*goPackage{p}
		for len(todo) > 0 {
			q := todo[len(todo)-1]
			todo = todo[:len(todo)-1]
			for r := range needs[q] {
				if !reach[p][r] {
					reach[p][r] = true
					todo = append(todo, r)
				}
			}
		}
	}
	gone := make(map[*goPackage]bool)
	for _, p := range g.packages {
		if gone[p] || !reach[p][p] {
			continue
		}
		group := []*goPackage{}
		for _, q := range g.packages {
			if !gone[q] && (q == p || reach[p][q] && reach[q][p]) {
				group = append(group, q)
			}
		}
		into := group[0]
		for _, q := range group[1:] {
			if q.named && !into.named || q.named == into.named && q.size() > into.size() {
				into = q
			}
		}
		for _, q := range group {
			if q != into && !q.named {
				g.moveTo(into, q)
				gone[q] = true
			}
		}
	}
	g.packages = slices.DeleteFunc(g.packages, func(p *goPackage) bool { return gone[p] })
}

// nameGlobals tells packages of files without a namespace apart from those of
// namespaces.
func (g *generator) nameGlobals() {
	for _, p := range g.packages {
		for p.global && slices.ContainsFunc(g.packages, func(o *goPackage) bool { return o != p && o.importPath == p.importPath }) {
			p.dir, p.importPath, p.name = p.dir+"_", p.importPath+"_", p.name+"_"
		}
	}
}

// markForeign finds the types without a capital letter that other packages need:
// they get a second name.
func (g *generator) markForeign() {
	for _, u := range g.units {
		for _, m := range u.all() {
			for _, f := range m.StructDef.Fields() {
				t := element(f.Type())
				if d := t.Struct(); d != nil && g.messages[d].pkg != u.pkg {
					g.messages[d].foreign = true
				}
				if e := t.Enum(); e != nil && g.enums[e].pkg != u.pkg {
					g.enums[e].foreign = true
				}
				if n := g.messages[f.Nested()]; n != nil && n.pkg != u.pkg {
					n.foreign = true
				}
			}
		}
		for _, s := range u.services {
			for _, d := range s.messages() {
				if d.pkg != u.pkg || g.opts.project || g.opts.Mocks && g.opts.Services {
					d.foreign = true
				}
			}
		}
	}
}

// need notes the packages of the types that a field has.
func (g *generator) need(set map[*goPackage]bool, t *schema.Type, nested *schema.StructDef) {
	switch t.Kind() {
	case schema.Struct:
		set[g.messages[t.Struct()].pkg] = true
	case schema.Enum:
		set[g.enums[t.Enum()].pkg] = true
	}
	if nested != nil && g.messages[nested] != nil {
		set[g.messages[nested].pkg] = true
	}
}

// size returns the number of types of a package.
func (p *goPackage) size() (n int) {
	for _, u := range p.units {
		n += len(u.all())
	}
	return n
}

// moveTo moves the files of q into p.
func (g *generator) moveTo(p, q *goPackage) {
	for _, u := range q.units {
		u.pkg = p
		i := slices.IndexFunc(p.units, func(o *unit) bool { return o.src == u.src })
		if i < 0 {
			p.units = append(p.units, u)
			continue
		}
		to := p.units[i]
		for _, m := range u.all() {
			m.unit = to
		}
		for _, d := range u.src.Enums() {
			if e := g.enums[d]; e.unit == u {
				e.unit = to
			}
		}
		for _, s := range u.services {
			s.unit = to
		}
		to.structs, to.tables, to.unions = append(to.structs, u.structs...), append(to.tables, u.tables...), append(to.unions, u.unions...)
		to.services = append(to.services, u.services...)
		g.units = slices.DeleteFunc(g.units, func(o *unit) bool { return o == u })
	}
}
