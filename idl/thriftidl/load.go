package thriftidl

import (
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
// after the directory of the file that includes them.
func IncludeDirs(dirs ...string) Option { return files.IncludeDirs(dirs...) }

// Sources adds IDL from memory: paths with slashes and their text. A path is
// looked up here before the disk. The texts are kept without copying and must
// not be changed afterwards.
func Sources(texts map[string][]byte) Option { return files.Sources(texts) }

// MemoryOnly forbids the disk: only files given by [Sources] exist.
func MemoryOnly() Option { return files.MemoryOnly() }

// EnumsAsI64 makes every use of an enum an i64, for services whose messages have enums in
// 64 bits, where Thrift has 32. Enumerators still name values in the IDL; whoever uses
// the schema sees numbers.
func EnumsAsI64() Option { return files.EnumsAsI64() }

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
// Limits: 16 MiB per file, 128 levels of includes, 64 levels of nested types
// and values. Load itself is safe for concurrent use.
func Load(path string, opts ...Option) (*schema.File, diag.List) {
	loaded, list := LoadAll([]string{path}, opts...)
	if loaded == nil {
		return nil, list
	}
	return loaded[0], list
}

// LoadAll is Load for several files, which come back in the order of paths. What
// they include in common is read once, and its types are the same for all. If anything is
// wrong with one of them, none is returned.
func LoadAll(paths []string, opts ...Option) ([]*schema.File, diag.List) {
	l := &loader{finder: files.NewFinder(opts...), units: make(map[*files.File]*unit)}
	roots := make([]*unit, 0, len(paths))
	for _, path := range paths {
		file, err := l.finder.Open(path)
		if err != nil {
			nowhere := diag.Span{Source: diag.NewSource(path, nil)}
			l.rep.Errorf(nowhere, codeFileUnreadable, "cannot read the file: %s", err)
			continue
		}
		root := l.unit(file)
		if root.state == unread {
			l.read(root, 0)
		}
		roots = append(roots, root)
	}
	if l.rep.Errors == 0 {
		resolve(l.order, &l.rep, l.finder.LongEnums())
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
	aliases  map[string][]*unit // the same by name
	file     *schema.File
	state    loadState
	via      *includeNode // the include by which it was reached first
	scope    scope
	headers  schema.FileSpec // of the file's statements other than declarations
}

type include struct {
	node  *includeNode
	alias string
	unit  *unit
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
	order  []*unit // every file after those that it includes
	stack  []*unit // the files being read, each included by the one before
}

func (l *loader) unit(f *files.File) *unit {
	u := l.units[f]
	if u == nil {
		u = &unit{path: f.Path, src: f.Src, found: f}
		l.units[f] = u
	}
	return u
}

// read parses u and reads what it includes.
func (l *loader) read(u *unit, depth int) {
	u.state = reading
	l.stack = append(l.stack, u)
	defer func() {
		l.stack = l.stack[:len(l.stack)-1]
		u.state = loaded
		l.order = append(l.order, u)
	}()
	if u.found.TooLarge() {
		u.tree = &fileNode{src: u.src}
		l.rep.Errorf(diag.Span{Source: diag.NewSource(u.path, nil)}, codeFileTooLarge, "the file is larger than %d MiB", files.MaxSize>>20)
		return
	}
	u.tree = parse(u.src, &l.rep)
	u.aliases = make(map[string][]*unit)
	type includedAs struct {
		unit  *unit
		alias string
	}
	seen := make(map[includedAs]*includeNode)
	for _, node := range u.tree.includes {
		target := l.find(u, node)
		if target == nil {
			continue
		}
		alias := node.alias
		if alias == "" {
			alias = files.ProgramName(node.path)
		}
		if first := seen[includedAs{target, alias}]; first != nil {
			d := l.rep.Warnf(u.span(node.pos), codeDuplicateInclude, "%q is included twice", report.Clip(node.path))
			d.Notes = append(d.Notes, report.Note(u.span(first.pos), "first included here"))
			continue
		}
		seen[includedAs{target, alias}] = node
		switch {
		case target.state == reading:
			l.cycle(u, node, target)
			continue
		case target.state == unread && depth >= maxIncludeDepth:
			l.rep.Errorf(u.span(node.pos), codeIncludeDepth, "files include each other more than %d levels deep", maxIncludeDepth)
			continue
		case target.state == unread:
			target.via = node
			l.read(target, depth+1)
		}
		u.includes = append(u.includes, include{node: node, alias: alias, unit: target})
		u.aliases[alias] = append(u.aliases[alias], target)
	}
}

// find looks for an included file: in the directory of the file that includes
// it, then in the directories of IncludeDirs.
func (l *loader) find(from *unit, node *includeNode) *unit {
	if node.path == "" {
		l.rep.Errorf(from.span(node.pos), codeIncludeNotFound, "the include has no path")
		return nil
	}
	file, missing := l.finder.Include(from.found, node.path)
	if missing == nil {
		return l.unit(file)
	}
	d := l.rep.Errorf(from.span(node.pos), codeIncludeNotFound, "cannot include %s: %s", report.Clip(node.path), missing.Why)
	if len(missing.Tried) > 0 {
		d.Hint = "searched in " + strings.Join(missing.Tried, ", ")
	}
	return nil
}

// cycle reports that node includes target, which is being read.
func (l *loader) cycle(u *unit, node *includeNode, target *unit) {
	from := len(l.stack) - 1
	for l.stack[from] != target {
		from--
	}
	var chain []string
	for _, s := range l.stack[from:] {
		chain = append(chain, s.path)
	}
	d := l.rep.Errorf(u.span(node.pos), codeIncludeCycle, "files include each other: %s → %s",
		strings.Join(chain, " → "), target.path)
	for i := from + 1; i < len(l.stack); i++ {
		includer, included := l.stack[i-1], l.stack[i]
		d.Notes = append(d.Notes, report.Note(includer.span(included.via.pos), "%s includes %s here", includer.path, included.path))
	}
	d.Hint = "move what both need to a third file"
}
