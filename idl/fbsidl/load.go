package fbsidl

import (
	"crypto/sha256"
	"path"
	"path/filepath"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/files"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Option changes how Load finds files. It is the same type for all front ends
// that read files by themselves.
type Option = files.Option

// IncludeDirs adds directories in which included files are searched, in order,
// after the directory of the file that includes them, and before that of the file
// that is loaded.
func IncludeDirs(dirs ...string) Option { return files.IncludeDirs(dirs...) }

// Sources adds IDL from memory: paths with slashes and their text. A path is
// looked up here before the disk. The texts are kept without copying and must
// not be changed afterwards.
func Sources(texts map[string][]byte) Option { return files.Sources(texts) }

// MemoryOnly forbids the disk: only files given by [Sources] exist.
func MemoryOnly() Option { return files.MemoryOnly() }

// OnRead calls f with each file that is read from the disk: the absolute path by
// which it was found first, and its text, which f must not change. Of a file larger than
// the limit the text is cut. f is called while Load runs, also for files that turn out to be wrong.
func OnRead(f func(path string, text []byte)) Option { return files.OnRead(f) }

// Load reads the file at path with all that it includes.
//
// The list holds what was found, errors and warnings, ordered by place. If
// list.Err() is not nil, the file is unusable and nil is returned. Otherwise
// the file and the files it includes are complete, immutable and safe for
// concurrent use. A file that is included in several ways is read once.
//
// Limits: 16 MiB per file, 128 levels of includes, 1024 bytes per name.
// Load itself is safe for concurrent use.
func Load(path string, opts ...Option) (*schema.File, diag.List) {
	loaded, list := LoadAll([]string{path}, opts...)
	if loaded == nil {
		return nil, list
	}
	return loaded[0], list
}

// LoadAll is Load for several files, which come back in the order of paths. What
// they include in common is read once, and its types are the same for all. Files of
// which none includes the other may declare the same name. If anything is
// wrong with one of them, none is returned.
func LoadAll(paths []string, opts ...Option) ([]*schema.File, diag.List) {
	l := &loader{finder: files.NewFinder(opts...), units: make(map[*files.File]*unit)}
	r := newResolver(&l.rep)
	roots := make([]*unit, 0, len(paths))
	for _, path := range paths {
		file, err := l.finder.Open(path)
		if err != nil {
			nowhere := diag.Span{Source: diag.NewSource(path, nil)}
			l.rep.Errorf(nowhere, codeFileUnreadable, "cannot read the file: %s", err)
			continue
		}
		root := l.unit(file)
		l.order, l.root, l.twins = nil, root, make(map[twin]*unit)
		if root.state == unread {
			l.read(root, 0)
		}
		roots = append(roots, root)
		r.resolve(root, l.order)
	}
	if l.rep.Errors == 0 {
		r.build()
	}
	l.rep.List.Sort()
	if l.rep.Errors > 0 {
		return nil, l.rep.List
	}
	all := make([]*schema.File, len(roots))
	for i, root := range roots {
		all[i] = root.file
	}
	return all, l.rep.List
}

// unit is one file, first as text, then as a tree, then as part of the schema.
type unit struct {
	path     string // as found
	src      *diag.Source
	found    *files.File
	tree     *fileNode
	includes []include
	state    loadState
	file     *schema.File
	root     *structSym
	headers  schema.FileSpec // of the statements other than declarations
	symbols  []any           // *structSym, *enumSym and *serviceSym in their order
}

// include is another file that a file includes.
type include struct {
	node *includeNode
	unit *unit
	back bool // unit includes the file in turn
}

type loadState uint8

const (
	unread loadState = iota
	reading
	loaded
)

func (u *unit) span(p pos) diag.Span { return u.tree.span(p) }

// loader reads files and what they include.
type loader struct {
	finder *files.Finder
	rep    report.Reporter
	units  map[*files.File]*unit
	// Of the file being loaded:
	root  *unit
	order []*unit // what was read, every file after those that it includes
	twins map[twin]*unit
}

// twin identifies files that flatc takes for one: those with the same name and
// text, wherever they are.
type twin struct {
	name string
	text [sha256.Size]byte
}

func (l *loader) unit(f *files.File) *unit {
	u := l.units[f]
	if u == nil {
		u = &unit{path: f.Path, src: f.Src, found: f}
		l.units[f] = u
	}
	return u
}

// read parses u and reads what it includes. A file that includes itself, perhaps
// through others, is not read again: tables may be used before they are declared.
func (l *loader) read(u *unit, depth int) {
	u.state = reading
	defer func() {
		u.state = loaded
		l.order = append(l.order, u)
	}()
	if u.found.TooLarge() {
		u.tree = &fileNode{src: u.src}
		l.rep.Errorf(diag.Span{Source: diag.NewSource(u.path, nil)}, codeFileTooLarge, "the file is larger than %d MiB", files.MaxSize>>20)
		return
	}
	u.tree = parse(u.src, &l.rep)
	seen := make(map[*unit]bool)
	for _, node := range u.tree.includes {
		target := l.find(u, node)
		if target == nil || seen[target] {
			continue
		}
		seen[target] = true
		back := target.state == reading
		switch {
		case target.state == unread && depth >= maxIncludeDepth:
			l.rep.Errorf(u.span(node.pos), codeIncludeDepth, "files include each other more than %d levels deep", maxIncludeDepth)
			continue
		case target.state == unread:
			l.read(target, depth+1)
		case target == u:
			l.rep.Warnf(u.span(node.pos), codeIncludeCycle, "the file includes itself").Hint = "leave the include out"
			continue
		case back:
			l.rep.Warnf(u.span(node.pos), codeIncludeCycle, "%s includes this file in turn", report.Clip(target.path)).
				Hint = "it is not read again here: of what it declares only tables can be used, as they may be declared later"
		}
		u.includes = append(u.includes, include{node, target, back})
	}
}

// find looks for an included file: in the directory of the file that includes
// it, in the directories of IncludeDirs, then in that of the file being loaded.
func (l *loader) find(from *unit, node *includeNode) *unit {
	if node.path == "" {
		l.rep.Errorf(from.span(node.pos), codeIncludeNotFound, "the include has no path")
		return nil
	}
	file, missing := l.finder.Include(from.found, node.path, l.root.found.Dir())
	if missing != nil {
		d := l.rep.Errorf(from.span(node.pos), codeIncludeNotFound, "cannot include %s: %s", report.Clip(node.path), missing.Why)
		if len(missing.Tried) > 0 {
			d.Hint = "searched in " + strings.Join(missing.Tried, ", ")
		}
		return nil
	}
	u := l.unit(file)
	key := twin{path.Base(filepath.ToSlash(file.Path)), sha256.Sum256(file.Src.Text)}
	if other := l.twins[key]; other != nil {
		return other
	}
	l.twins[key] = u
	return u
}

// closure returns u with all that it includes.
func closure(u *unit) map[*unit]bool {
	all := map[*unit]bool{u: true}
	for todo := []*unit{u}; len(todo) > 0; {
		last := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		for _, i := range last.includes {
			if !all[i.unit] {
				all[i.unit] = true
				todo = append(todo, i.unit)
			}
		}
	}
	return all
}
