package fbsidl

import (
	"path"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// DecodeBinary reads a binary schema (.bfbs), with or without a size before it,
// as flatc and [AppendBinary] write it. name is shown in diagnostics.
//
// The result is what Load would make of the files that the schema was made of, but
// for what the format does not have: Go packages and native includes are missing, the default of a
// string is empty, and attributes of the language are known only if
// flatc ran with --bfbs-builtins. Files have their names from the schema, or are one
// file called name. The text that diagnostics and spans show is the schema
// in the words of the language.
//
// b is not kept. Limits are those of Load, for b and for that text.
func DecodeBinary(name string, b []byte) (*schema.File, diag.List) {
	nowhere := diag.Span{Source: diag.NewSource(name, nil)}
	if len(b) > maxBinaryText {
		return nil, diag.List{{Code: codeFileTooLarge, Span: nowhere, Message: "the file is too large"}}
	}
	read, err := readBinary(b)
	if err != nil {
		return nil, diag.List{{Code: codeBinary, Span: nowhere, Message: err.Error()}}
	}
	l := &loader{}
	src := diag.NewSource(name, []byte(read.text.String()))
	u := &unit{path: name, src: src, tree: parse(src, &l.rep), state: loaded}
	r := newResolver(&l.rep)
	r.inFull = true
	r.resolve(u, []*unit{u})
	if l.rep.Errors > 0 {
		l.rep.List.Sort()
		return nil, l.rep.List
	}
	root := r.distribute(u, read)
	r.build()
	l.rep.List.Sort()
	return root.file, l.rep.List
}

// distribute gives what u declares to the files that the schema names, and
// returns the one that includes all others.
func (r *resolver) distribute(u *unit, read *binaryText) *unit {
	units := make(map[string]*unit)
	home := func(name string) *unit {
		f := units[name]
		if f == nil {
			shown := path.Clean(strings.TrimPrefix(name, "//"))
			if name == "" {
				shown = u.path
			}
			f = &unit{path: shown, src: u.src, tree: u.tree, state: unread}
			units[name] = f
		}
		return f
	}
	included := make(map[string]bool)
	for _, name := range sortedKeys(read.list) {
		home(name)
		for _, other := range read.list[name] {
			included[other] = included[other] || other != name && other != ""
		}
	}
	for _, sym := range u.symbols {
		switch s := sym.(type) {
		case *structSym:
			s.unit = home(read.files[s.what()+" "+s.fullName()])
			s.unit.symbols = append(s.unit.symbols, s)
		case *enumSym:
			s.unit = home(read.files[s.what()+" "+s.fullName()])
			s.unit.symbols = append(s.unit.symbols, s)
		case *serviceSym:
			s.unit = home(read.files[wordService+" "+s.ns.qualify(s.node.name.name)])
			s.unit.symbols = append(s.unit.symbols, s)
		}
	}
	names := sortedKeys(units)
	top := rootFile(names, included)
	root := home(top)
	r.units = nil
	r.order(root, top, read, home)
	for _, name := range names { // what nobody includes
		if f := units[name]; f.state == unread {
			root.includes = append(root.includes, include{&includeNode{path: name}, f, false})
			r.order(f, name, read, home)
		}
	}
	root.root, root.headers.Identifier, root.headers.Extension = u.root, u.headers.Identifier, u.headers.Extension
	return root
}

// rootFile returns the file that the schema was made of. Paths are relative to its
// directory, and no other file includes it unless files include each other.
func rootFile(names []string, included map[string]bool) string {
	best, rank := "", -1
	for _, name := range names {
		r := 0
		if !strings.Contains(strings.TrimPrefix(name, "//"), "/") {
			r += 2
		}
		if !included[name] {
			r++
		}
		if r > rank {
			best, rank = name, r
		}
	}
	return best
}

// order adds the file of that name and all that it includes to the units, and
// leaves out includes that would close a circle.
func (r *resolver) order(f *unit, name string, read *binaryText, home func(string) *unit) {
	f.state = reading
	for _, other := range slices.Compact(slices.Sorted(slices.Values(read.list[name]))) {
		if other == "" || read.list[other] == nil {
			continue
		}
		target := home(other)
		if target.state == reading {
			continue
		}
		f.includes = append(f.includes, include{&includeNode{path: strings.TrimPrefix(other, "//")}, target, false})
		if target.state == unread {
			r.order(target, other, read, home)
		}
	}
	f.state = loaded
	r.units = append(r.units, f)
}
