// Package files finds the files of IDL: in memory and on the disk, beside the
// file that includes them and in the directories that are searched. It knows no
// language.
package files

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
)

// MaxSize bounds the bytes of one file. A larger one is read in part, one byte
// beyond the limit.
const MaxSize = 16 << 20

// Option changes where files are found.
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

// Sources adds files from memory: paths with slashes and their text. A path is
// looked up here before the disk. The texts are kept without copying.
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

// MemoryOnly forbids the disk.
func MemoryOnly() Option { return func(c *config) { c.memoryOnly = true } }

// OnRead calls f with the absolute path and the text of each file that is read
// from the disk.
func OnRead(f func(path string, text []byte)) Option { return func(c *config) { c.onRead = f } }

// EnumsAsI64 is for Thrift alone, see there; others ignore it. It stands here because
// all options are of one type.
func EnumsAsI64() Option { return func(c *config) { c.longEnums = true } }

// LongEnums reports whether [EnumsAsI64] was given.
func (f *Finder) LongEnums() bool { return f.cfg.longEnums }

// File is a file that was found. There is one for each text, however it is
// found.
type File struct {
	Path     string // by which it was found first
	Src      *diag.Source
	inMemory bool
}

// TooLarge reports whether f is larger than [MaxSize].
func (f *File) TooLarge() bool { return len(f.Src.Text) > MaxSize }

// Dir returns the directory of f.
func (f *File) Dir() string {
	if f.inMemory {
		return path.Dir(cleanPath(f.Path))
	}
	return filepath.Dir(f.Path)
}

// Finder finds files and reads each once.
type Finder struct {
	cfg   config
	found map[string]*File // by what identifies them
}

// NewFinder returns a Finder with these options.
func NewFinder(opts ...Option) *Finder {
	f := &Finder{found: make(map[string]*File)}
	for _, o := range opts {
		o(&f.cfg)
	}
	return f
}

// errNone is why there is no file, if nothing else is wrong.
var errNone = errors.New("there is no such file")

// Open finds the file at name and reads it.
func (f *Finder) Open(name string) (*File, error) {
	clean := cleanPath(name)
	if text, ok := f.cfg.sources[clean]; ok {
		return f.add("mem:"+clean, name, true, text), nil
	}
	if f.cfg.memoryOnly {
		return nil, errNone
	}
	abs, err := filepath.Abs(name)
	real := abs
	if err == nil {
		real, err = filepath.EvalSymlinks(abs)
	}
	if errors.Is(err, os.ErrNotExist) {
		return nil, errNone
	}
	if err != nil {
		return nil, err
	}
	if known := f.found["disk:"+real]; known != nil {
		return known, nil
	}
	text, err := readFile(real)
	if err != nil {
		return nil, err
	}
	if f.cfg.onRead != nil {
		f.cfg.onRead(abs, text)
	}
	return f.add("disk:"+real, name, false, text), nil
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
	return io.ReadAll(io.LimitReader(f, MaxSize+1))
}

func (f *Finder) add(key, name string, inMemory bool, text []byte) *File {
	file := f.found[key]
	if file == nil {
		file = &File{Path: name, Src: diag.NewSource(name, text), inMemory: inMemory}
		f.found[key] = file
	}
	return file
}

// NotFound is why an included file was not found.
type NotFound struct {
	Why   error
	Tried []string // the directories that were searched; none for an absolute path
}

func (e *NotFound) Error() string { return e.Why.Error() }

// Include finds a file that from includes as name: in from's directory, then in
// those of [IncludeDirs], then in the others given.
func (f *Finder) Include(from *File, name string, others ...string) (*File, *NotFound) {
	if path.IsAbs(name) || filepath.IsAbs(name) {
		file, err := f.Open(name)
		if err != nil {
			return nil, &NotFound{Why: err}
		}
		return file, nil
	}
	dirs := append(append([]string{from.Dir()}, f.cfg.dirs...), others...)
	missing := &NotFound{}
	for _, dir := range dirs {
		file, err := f.Open(joinPath(dir, name))
		if err == nil {
			return file, nil
		}
		if missing.Why == nil || err != errNone {
			missing.Why = err
		}
		if !slices.Contains(missing.Tried, dir) {
			missing.Tried = append(missing.Tried, dir)
		}
	}
	return nil, missing
}

func joinPath(dir, name string) string {
	if dir == "." || dir == "" {
		return path.Clean(name)
	}
	return filepath.Join(dir, filepath.FromSlash(name))
}

func cleanPath(name string) string { return path.Clean(filepath.ToSlash(name)) }

// ProgramName returns the name of a file without its directory and its last
// extension.
func ProgramName(name string) string {
	base := path.Base(filepath.ToSlash(name))
	ext := path.Ext(base)
	if ext == base {
		return base
	}
	return base[:len(base)-len(ext)]
}
