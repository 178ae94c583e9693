package archtest

// Who may import whom.

import (
	"slices"
	"strings"
)

// CheckRooms reports packages of the root module that no room describes.
func CheckRooms(t *Tree, r *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		if !p.Nested && r.room(p.Dir) == nil {
			out = append(out, Violation{Path: p.Dir, Text: "the package stands in no room: add it to House with the imports it may have"})
		}
	}
	return out
}

// CheckImports reports imports that the table does not allow.
func CheckImports(t *Tree, r *Rules) []Violation {
	var out []Violation
	for _, p := range t.Packages {
		room := r.room(p.Dir)
		if p.Nested || room == nil {
			continue
		}
		for _, f := range p.Files {
			for _, spec := range f.AST.Imports {
				imported := importPath(spec)
				if why := r.refuse(t, p.Dir, room, imported, f.Test); why != "" {
					out = append(out, t.at(spec, "%s", why))
				}
				if spec.Name != nil && spec.Name.Name == "_" && imported != "embed" && !f.Test {
					out = append(out, t.at(spec, "blank import of %s: an import must not register anything", imported))
				}
			}
		}
	}
	return out
}

// refuse returns why the import is not allowed, or "".
func (r *Rules) refuse(t *Tree, dir string, room *Room, imported string, test bool) string {
	if imported == "unsafe" {
		return "" // CheckUnsafe's
	}
	if local, ok := t.local(imported); ok {
		if test || local == dir || slices.Contains(room.Imports, anything) || matches(local, room.Imports) {
			return ""
		}
		return room.Dir + " may not import " + local
	}
	if strings.Contains(strings.SplitN(imported, "/", 2)[0], ".") {
		chosen := false
		for m, dirs := range r.Modules {
			if within(imported, m) {
				chosen = true
				if matches(dir, dirs) {
					return ""
				}
			}
		}
		switch isOracle := slices.ContainsFunc(r.Oracles, func(m string) bool { return within(imported, m) }); {
		case chosen && !(isOracle && test):
			return room.Dir + " may not import " + imported
		case !isOracle:
			return imported + " is no dependency of this module: the heavy ones belong in a nested module"
		case !test && !matches(dir, r.TestOnly):
			return imported + " is for tests only"
		}
		return ""
	}
	if dirs, ok := r.Restricted[imported]; ok && !test && !matches(dir, dirs) {
		return room.Dir + " may not import " + imported
	}
	return ""
}

// room returns the narrowest room that describes dir, or nil.
func (r *Rules) room(dir string) *Room {
	var best *Room
	for i := range r.Rooms {
		room := &r.Rooms[i]
		if matches(dir, []string{room.Dir}) && (best == nil || narrower(room.Dir, best.Dir)) {
			best = room
		}
	}
	return best
}

// narrower reports whether pattern a describes less than b, given that both
// match one directory.
func narrower(a, b string) bool {
	a, treeA := strings.CutSuffix(a, "/...")
	b, treeB := strings.CutSuffix(b, "/...")
	return len(a) > len(b) || len(a) == len(b) && !treeA && treeB
}
