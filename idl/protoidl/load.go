package protoidl

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"sync"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/reporter"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file finds files and has them compiled.

// Limits, so that no input can exhaust the stack or memory. They are far above
// what people write.
const (
	maxFileSize    = 4 << 20 // bytes of one file
	maxFiles       = 1 << 12 // files of one Load
	maxNesting     = 100     // braces, brackets and parentheses within each other
	maxDiagnostics = 100     // errors of one Load, and as many warnings
)

// Option changes how Load finds files.
type Option func(*config)

type config struct {
	dirs       []string
	sources    map[string][]byte
	memoryOnly bool
}

// IncludeDirs adds directories in which imports are searched, in order, before
// the directory of the file that is loaded.
func IncludeDirs(dirs ...string) Option {
	return func(c *config) { c.dirs = append(c.dirs, dirs...) }
}

// Sources adds IDL from memory: paths with slashes and their text. A path is
// looked up here before the disk, in each directory that is searched. The texts
// are kept without copying and must not be changed afterwards.
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

// MemoryOnly forbids the disk: only files given by [Sources] exist, and
// google/protobuf/*.proto.
func MemoryOnly() Option { return func(c *config) { c.memoryOnly = true } }

// Load reads the file at path with all that it imports. The files
// google/protobuf/*.proto need not be there: they are part of the package.
//
// The list holds what was found, errors and warnings, ordered by place. If
// list.Err() is not nil, the file is unusable and nil is returned. Otherwise
// the file and the files it imports are complete, immutable and safe for
// concurrent use.
//
// Limits: 4 MiB per file, 4096 files, 32 levels of nested messages, 100 of
// braces. Load itself is safe for concurrent use.
func Load(path string, opts ...Option) (*schema.File, diag.List) {
	var cfg config
	for _, o := range opts {
		o(&cfg)
	}
	l := &loader{cfg: cfg, root: path, sources: make(map[string]*diag.Source)}
	if l.source(path) == nil {
		l.rep.errorf(diag.Span{Source: diag.NewSource(path, nil)}, codeFileUnreadable, "cannot read the file: %s", l.why)
		return nil, l.rep.list
	}
	root := l.compile()
	var file *schema.File
	if root != nil && l.rep.errors == 0 {
		file = convert(root, l)
	}
	l.rep.list.Sort()
	if l.rep.errors > 0 {
		return nil, l.rep.list
	}
	return file, l.rep.list
}

// loader finds files for the compiler, which may ask from several goroutines.
type loader struct {
	cfg  config
	root string
	rep  findings

	mu      sync.Mutex
	sources map[string]*diag.Source // by the name under which a file is imported
	why     string                  // why source found nothing
}

// compile returns the linked file, or nil after an error.
func (l *loader) compile() protoreflect.FileDescriptor {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(protocompile.ResolverFunc(l.find)),
		Reporter:       compilerReporter{l},
		SourceInfoMode: protocompile.SourceInfoStandard,
		RetainASTs:     true,
		MaxParallelism: 1,
	}
	files, err := c.Compile(context.Background(), l.root)
	if err != nil {
		l.failed(err)
		return nil
	}
	return files[0]
}

// failed reports why the compiler gave up, unless it has reported that itself.
func (l *loader) failed(err error) {
	if l.rep.errors > 0 {
		return
	}
	at := diag.Span{Source: l.sources[l.root]}
	var placed reporter.ErrorWithPos
	if errors.As(err, &placed) {
		at, err = l.span(placed), placed.Unwrap()
	}
	l.rep.errorf(at, codeProtobuf, "%s", message(err))
}

// find is the compiler's way to a file.
func (l *loader) find(name string) (protocompile.SearchResult, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	src := l.source(name)
	if src == nil {
		return protocompile.SearchResult{}, errors.New(l.why)
	}
	if at, deep := tooDeep(src.Text); deep {
		l.rep.errorf(diag.Span{Source: src, Start: at, End: at + 1}, codeNestingDepth, "nested more than %d levels deep", maxNesting)
		return protocompile.SearchResult{Source: bytes.NewReader(nil)}, nil
	}
	return protocompile.SearchResult{Source: bytes.NewReader(src.Text)}, nil
}

// source returns the text of the file of that name: of the root, or as imports
// name it. It returns nil, and sets why, if there is none. The caller holds l.mu
// once the compiler runs.
func (l *loader) source(name string) *diag.Source {
	if s := l.sources[name]; s != nil {
		return s
	}
	if len(l.sources) >= maxFiles {
		l.why = fmt.Sprintf("there are more than %d files", maxFiles)
		return nil
	}
	candidates := []string{name}
	if name != l.root {
		candidates = candidates[:0]
		for _, dir := range l.cfg.dirs {
			candidates = append(candidates, joinPath(dir, name))
		}
		candidates = append(candidates, joinPath(path.Dir(cleanPath(l.root)), name), cleanPath(name))
	}
	l.why = ""
	for _, c := range candidates {
		text, why := l.read(c)
		if why == "" {
			s := diag.NewSource(c, text)
			l.sources[name] = s
			return s
		}
		if l.why == "" || why != noSuchFile {
			l.why = why
		}
	}
	return nil
}

const noSuchFile = "there is no such file"

// read returns the text of a file in memory or on disk, or why there is none.
func (l *loader) read(name string) (text []byte, why string) {
	text, ok := l.cfg.sources[cleanPath(name)]
	if !ok {
		if l.cfg.memoryOnly {
			return nil, noSuchFile
		}
		var err error
		if text, err = readFile(name); errors.Is(err, os.ErrNotExist) {
			return nil, noSuchFile
		} else if err != nil {
			return nil, err.Error()
		}
	}
	if len(text) > maxFileSize {
		return nil, fmt.Sprintf("the file is larger than %d MiB", maxFileSize>>20)
	}
	return text, ""
}

// readFile reads a regular file, at most one byte more than the limit.
func readFile(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() {
		return nil, errors.New("not a regular file")
	}
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxFileSize+1))
	if text == nil {
		text = []byte{}
	}
	return text, err
}

func joinPath(dir, name string) string { return path.Join(filepath.ToSlash(dir), name) }

func cleanPath(name string) string { return path.Clean(filepath.ToSlash(name)) }

// tooDeep looks for brackets nested deeper than the limit, which the compiler
// would follow by recursion, and returns the place of the first.
func tooDeep(text []byte) (at int, deep bool) {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch c := text[i]; c {
		case '{', '[', '(', '<':
			if depth++; depth > maxNesting {
				return i, true
			}
		case '}', ']', ')', '>':
			depth = max(depth-1, 0)
		case '"', '\'':
			for i++; i < len(text) && text[i] != c && text[i] != '\n'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		case '/':
			i = skipComment(text, i)
		}
	}
	return 0, false
}

// skipComment returns the last byte of the comment at i, or i if there is none.
func skipComment(text []byte, i int) int {
	end, found := len(text)-1, -1
	switch {
	case bytes.HasPrefix(text[i:], []byte("//")):
		if found = bytes.IndexByte(text[i:], '\n'); found >= 0 {
			end = i + found
		}
	case bytes.HasPrefix(text[i:], []byte("/*")):
		if found = bytes.Index(text[i+2:], []byte("*/")); found >= 0 {
			end = i + 2 + found + 1
		}
	default:
		return i
	}
	return end
}
