package idl

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds where IDL comes from.

// Origin is where a Source finds IDL: [File], [Dir] or [Memory]. Files whose names
// end in .fbs are FlatBuffers, all others Thrift.
type Origin struct {
	roots func() ([]string, error) // the files to load, now
	opts  []LoadOption
}

// LoadOption changes how files are found. Those of fbsidl are of the same type.
type LoadOption = thriftidl.Option

// File is one file with what it includes.
func File(path string, opts ...LoadOption) Origin {
	return Origin{func() ([]string, error) { return []string{path}, nil }, slices.Clone(opts)}
}

// maxFiles bounds the files of a directory.
const maxFiles = 10_000

// Dir is every file below a directory whose name ends in .thrift or .fbs, with what
// these include. Includes are also searched in the directory itself. Files and
// directories whose name begins with a dot are left out, and symbolic links to
// directories below it are not followed. It is at most 10,000 files.
func Dir(path string, opts ...LoadOption) Origin {
	opts = append([]LoadOption{thriftidl.IncludeDirs(path)}, opts...)
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
		case !d.IsDir() && (strings.HasSuffix(d.Name(), ".thrift") || isFBS(d.Name())):
			if paths = append(paths, path); len(paths) > maxFiles {
				return fmt.Errorf("idl: more than %d files below %s", maxFiles, dir)
			}
		}
		return nil
	})
	if err == nil && len(paths) == 0 {
		err = fmt.Errorf("idl: no .thrift or .fbs file below %s", dir)
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
		[]LoadOption{thriftidl.Sources(files), thriftidl.MemoryOnly()}}
}

// load reads all. note gets each file that is read from the disk.
func (o Origin) load(note func(path string, text []byte)) (roots []string, files []*schema.File, list diag.List, err error) {
	if roots, err = o.roots(); err != nil {
		return nil, nil, nil, err
	}
	opts := append(slices.Clone(o.opts), thriftidl.OnRead(note))
	var thrift, fbs []string
	for _, path := range roots {
		if isFBS(path) {
			fbs = append(fbs, path)
		} else {
			thrift = append(thrift, path)
		}
	}
	byThrift, list := thriftidl.LoadAll(thrift, opts...)
	byFBS, more := fbsidl.LoadAll(fbs, opts...)
	list = append(list, more...)
	if list.Sort(); list.Err() != nil {
		return nil, nil, list, list.Err()
	}
	for _, path := range roots {
		from := &byThrift
		if isFBS(path) {
			from = &byFBS
		}
		files, *from = append(files, (*from)[0]), (*from)[1:]
	}
	return roots, files, list, nil
}

// isFBS reports whether the name of a file says that it is FlatBuffers IDL.
func isFBS(path string) bool { return strings.HasSuffix(path, ".fbs") }
