// Package gofile has what every generator of Go files needs: names that stand once, comments,
// import declarations, and packages that would import each other. It knows no schema.
package gofile

import (
	"maps"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"
)

// unimportable matches what Go refuses in import paths before the first dot of an element: the
// devices of Windows, and what looks like its short names.
var unimportable = regexp.MustCompile(`(?i)^(con|prn|aux|nul|com[1-9]|lpt[1-9])$|~\d+$`)

// Directory returns name as an element of an import path that the go command takes.
func Directory(name string) string {
	if name != "" && strings.ContainsRune("-~", rune(name[0])) {
		name = "_" + name[1:]
	}
	if short, rest, dotted := strings.Cut(name, "."); unimportable.MatchString(short) {
		name = short + "_"
		if dotted {
			name += "." + rest
		}
	}
	return name
}

// Scope is a set of names in which each may stand once.
type Scope map[string]bool

// Add takes name, with as many underscores behind it as make it free.
func (s Scope) Add(name string) string {
	for s[name] {
		name += "_"
	}
	s[name] = true
	return name
}

// Reserve takes names whether they are free or not.
func (s Scope) Reserve(names ...string) {
	for _, n := range names {
		s[n] = true
	}
}

// Clone returns a set of the same names.
func (s Scope) Clone() Scope { return maps.Clone(s) }

// Comment returns a documentation comment as lines of Go, or "".
func Comment(doc string) string {
	doc = strings.TrimSpace(strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return r
		case r == unicode.ReplacementChar || r == '\uFEFF' || unicode.IsControl(r):
			return -1 // Go source may not contain some of these
		}
		return r
	}, doc))
	if doc == "" {
		return ""
	}
	var b strings.Builder
	for line := range strings.SplitSeq(doc, "\n") {
		b.WriteString(strings.TrimRight("// "+line, " \t") + "\n")
	}
	return b.String()
}

// Imports returns the import declarations of a file, those of the standard library first. names
// are the packages' by their paths; ours tells those that are generated, whose paths need no dot.
func Imports(names map[string]string, ours func(importPath string) bool) string {
	var std, other []string
	for p, name := range names {
		line := strconv.Quote(p)
		if path.Base(p) != name {
			line = name + " " + line
		}
		if first, _, _ := strings.Cut(p, "/"); ours(p) || strings.Contains(first, ".") {
			other = append(other, line)
		} else {
			std = append(std, line)
		}
	}
	slices.Sort(std)
	slices.Sort(other)
	switch {
	case len(std)+len(other) == 0:
		return ""
	case len(std) > 0 && len(other) > 0:
		std = append(std, "")
	}
	return "import (\n" + strings.Join(append(std, other...), "\n") + "\n)"
}

// Package is a package that imports others.
type Package interface {
	comparable
	ImportPath() string
}

// Cycles calls report for packages that would import each other, which Go forbids, with
// their paths from one of them around to itself.
func Cycles[P Package](packages []P, imports func(from, to P) bool, report func(paths string)) {
	const (
		unseen = iota
		open
		closed
	)
	state := make(map[P]int)
	var trail []string
	var visit func(p P)
	visit = func(p P) {
		trail = append(trail, p.ImportPath())
		state[p] = open
		for _, q := range packages {
			switch {
			case !imports(p, q) || state[q] == closed:
			case state[q] == open:
				i := slices.Index(trail, q.ImportPath())
				report(strings.Join(append(trail[i:len(trail):len(trail)], q.ImportPath()), " → "))
			default:
				visit(q)
			}
		}
		state[p] = closed
		trail = trail[:len(trail)-1]
	}
	for _, p := range packages {
		if state[p] == unseen {
			visit(p)
		}
	}
}
