package idl

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds where IDL comes from.

// Origin is where a Source finds IDL: [File], [Dir] or [Memory].
type Origin struct {
	roots func() ([]string, error) // the files to load, now
	opts  []thriftidl.Option
}

// File is one file with what it includes.
func File(path string, opts ...thriftidl.Option) Origin {
	return Origin{func() ([]string, error) { return []string{path}, nil }, slices.Clone(opts)}
}

// maxFiles bounds the files of a directory.
const maxFiles = 10_000

// Dir is every file below a directory whose name ends in .thrift, with what
// these include. Includes are also searched in the directory itself. Files and
// directories whose name begins with a dot are left out, and symbolic links to
// directories below it are not followed. It is at most 10,000 files.
func Dir(path string, opts ...thriftidl.Option) Origin {
	opts = append([]thriftidl.Option{thriftidl.IncludeDirs(path)}, opts...)
	return Origin{func() ([]string, error) { return below(path) }, opts}
}

func below(dir string) ([]string, error) {
	var paths []string
	top := dir + string(filepath.Separator) + "." // follows dir itself if it is a link
	err := filepath.WalkDir(top, func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case path != top && strings.HasPrefix(d.Name(), "."):
			if d.IsDir() {
				return filepath.SkipDir
			}
		case !d.IsDir() && strings.HasSuffix(d.Name(), ".thrift"):
			if paths = append(paths, path); len(paths) > maxFiles {
				return fmt.Errorf("idl: more than %d files below %s", maxFiles, dir)
			}
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("idl: no .thrift file below %s", dir)
	}
	return paths, err
}

// Memory is IDL that the program holds: paths with slashes and their texts,
// which must not be changed afterwards. All files are loaded; nothing is read from the disk.
func Memory(files map[string][]byte) Origin {
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	sort.Strings(paths)
	return Origin{func() ([]string, error) { return paths, nil },
		[]thriftidl.Option{thriftidl.Sources(files), thriftidl.MemoryOnly()}}
}

// load reads all. note gets each file that is read from the disk.
func (o Origin) load(note func(path string, text []byte)) (roots []string, files []*schema.File, list diag.List, err error) {
	if roots, err = o.roots(); err != nil {
		return nil, nil, nil, err
	}
	files, list = thriftidl.LoadAll(roots, append(slices.Clone(o.opts), thriftidl.OnRead(note))...)
	return roots, files, list, list.Err()
}
