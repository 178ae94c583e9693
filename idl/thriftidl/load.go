package thriftidl

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// Option changes how Load finds files.
type Option func(*config)

type config struct {
	dirs       []string
	sources    map[string][]byte
	memoryOnly bool
	onRead     func(path string, text []byte)
	longEnums  bool
}

// IncludeDirs adds directories in which included files are searched, in order,
// after the directory of the file that includes them.
func IncludeDirs(dirs ...string) Option {
	return func(c *config) { c.dirs = append(c.dirs, dirs...) }
}

// Sources adds IDL from memory: paths with slashes and their text. A path is
// looked up here before the disk. The texts are kept without copying and must
// not be changed afterwards.
func Sources(files map[string][]byte) Option {
	return func(c *config) {
		if c.sources == nil {
			c.sources = make(map[string][]byte, len(files))
		}
		for name, text := range files {
			if text == nil {
				text = []byte{} // a file without text, rather than a file that is not there
			}
			c.sources[cleanPath(name)] = text
		}
	}
}

// MemoryOnly forbids the disk: only files given by [Sources] exist.
func MemoryOnly() Option { return func(c *config) { c.memoryOnly = true } }

// EnumsAsI64 makes every use of an enum an i64, for services whose messages have enums in
// 64 bits, where Thrift has 32. Enumerators still name values in the IDL; whoever uses
// the schema sees numbers.
func EnumsAsI64() Option { return func(c *config) { c.longEnums = true } }

// OnRead calls f with each file that is read from the disk: the absolute path by
// which it was found first, and its text, which f must not change. Of a file larger than
// the limit the text is cut. f is called while Load runs, also for files that turn out to be wrong.
func OnRead(f func(path string, text []byte)) Option { return func(c *config) { c.onRead = f } }

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
	files, list := LoadAll([]string{path}, opts...)
	if files == nil {
		return nil, list
	}
	return files[0], list
}

// LoadAll is Load for several files, which come back in the order of paths. What
// they include in common is read once, and its types are the same for all. If anything is
// wrong with one of them, none is returned.
func LoadAll(paths []string, opts ...Option) ([]*schema.File, diag.List) {
	var cfg config
	for _, o := range opts {
		o(&cfg)
	}
	l := &loader{cfg: cfg, units: make(map[string]*unit)}
	roots := make([]*unit, 0, len(paths))
	for _, path := range paths {
		root := l.open(path)
		if root == nil {
			nowhere := diag.Span{Source: diag.NewSource(path, nil)}
			l.rep.errorf(nowhere, codeFileUnreadable, "cannot read the file: %s", l.why)
			continue
		}
		if root.state == unread {
			l.read(root, 0)
		}
		roots = append(roots, root)
	}
	if l.rep.errors == 0 {
		resolve(l.order, &l.rep, l.cfg.longEnums)
	}
	l.rep.list.Sort()
	if l.rep.errors > 0 {
		return nil, l.rep.list
	}
	files := make([]*schema.File, len(roots))
	for i, root := range roots {
		files[i] = root.file
	}
	return files, l.rep.list
}

// unit is one file, first as text, then as a tree, then as part of the schema.
type unit struct {
	key      string // identifies the file, however it was found
	path     string // as found
	inMemory bool
	src      *diag.Source
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
	cfg   config
	rep   reporter
	units map[string]*unit
	order []*unit // every file after those that it includes
	stack []*unit // the files being read, each included by the one before
	why   string  // why open failed
}

// open finds the file at name and reads its text. It returns nil, and sets
// why, if there is none.
func (l *loader) open(name string) *unit {
	clean := cleanPath(name)
	if text, ok := l.cfg.sources[clean]; ok {
		return l.add("mem:"+clean, name, true, text)
	}
	l.why = "there is no such file"
	if l.cfg.memoryOnly {
		return nil
	}
	abs, err := filepath.Abs(name)
	real := abs
	if err == nil {
		real, err = filepath.EvalSymlinks(abs)
	}
	if err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			l.why = err.Error()
		}
		return nil
	}
	if u := l.units["disk:"+real]; u != nil {
		return u
	}
	text, err := readFile(real)
	if err != nil {
		l.why = err.Error()
		return nil
	}
	if l.cfg.onRead != nil {
		l.cfg.onRead(abs, text)
	}
	return l.add("disk:"+real, name, false, text)
}

// readFile reads a regular file, at most one byte more than the limit.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, maxFileSize+1))
}

func (l *loader) add(key, name string, inMemory bool, text []byte) *unit {
	u := l.units[key]
	if u == nil {
		u = &unit{key: key, path: name, inMemory: inMemory, src: diag.NewSource(name, text)}
		l.units[key] = u
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
	if len(u.src.Text) > maxFileSize {
		u.tree = &fileNode{src: u.src}
		l.rep.errorf(diag.Span{Source: diag.NewSource(u.path, nil)}, codeFileTooLarge, "the file is larger than %d MiB", maxFileSize>>20)
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
			alias = programName(node.path)
		}
		if first := seen[includedAs{target, alias}]; first != nil {
			d := l.rep.warnf(u.span(node.pos), codeDuplicateInclude, "%q is included twice", clip(node.path))
			d.Notes = append(d.Notes, note(u.span(first.pos), "first included here"))
			continue
		}
		seen[includedAs{target, alias}] = node
		switch {
		case target.state == reading:
			l.cycle(u, node, target)
			continue
		case target.state == unread && depth >= maxIncludeDepth:
			l.rep.errorf(u.span(node.pos), codeIncludeDepth, "files include each other more than %d levels deep", maxIncludeDepth)
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
	name := node.path
	if name == "" {
		l.rep.errorf(from.span(node.pos), codeIncludeNotFound, "the include has no path")
		return nil
	}
	if path.IsAbs(name) || filepath.IsAbs(name) {
		if u := l.open(name); u != nil {
			return u
		}
		l.rep.errorf(from.span(node.pos), codeIncludeNotFound, "cannot include %s: %s", clip(name), l.why)
		return nil
	}
	tried := make([]string, 0, 1+len(l.cfg.dirs))
	why := ""
	for i := -1; i < len(l.cfg.dirs); i++ {
		dir := dirOf(from)
		if i >= 0 {
			dir = l.cfg.dirs[i]
		}
		if u := l.open(joinPath(dir, name)); u != nil {
			return u
		}
		if why == "" || l.why != "there is no such file" {
			why = l.why
		}
		tried = append(tried, dir)
	}
	l.rep.errorf(from.span(node.pos), codeIncludeNotFound, "cannot include %s: %s", clip(name), why).
		Hint = "searched in " + strings.Join(tried, ", ")
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
	d := l.rep.errorf(u.span(node.pos), codeIncludeCycle, "files include each other: %s → %s",
		strings.Join(chain, " → "), target.path)
	for i := from + 1; i < len(l.stack); i++ {
		includer, included := l.stack[i-1], l.stack[i]
		d.Notes = append(d.Notes, note(includer.span(included.via.pos), "%s includes %s here", includer.path, included.path))
	}
	d.Hint = "move what both need to a third file"
}

func dirOf(u *unit) string {
	if u.inMemory {
		return path.Dir(cleanPath(u.path))
	}
	return filepath.Dir(u.path)
}

func joinPath(dir, name string) string {
	if dir == "." || dir == "" {
		return path.Clean(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func cleanPath(name string) string { return path.Clean(filepath.ToSlash(name)) }

// programName is the name under which a file is included: its base name
// without the last extension.
func programName(name string) string {
	base := path.Base(filepath.ToSlash(name))
	if i := strings.LastIndexByte(base, '.'); i > 0 {
		base = base[:i]
	}
	return base
}
