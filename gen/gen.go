package gen

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/thrum-rpc/thrum/schema"
)

// File is one generated file.
type File struct {
	Path    string // relative to the output directory, with slashes
	Content []byte
}

// Go returns the Go source for f and, unless [Includes] says otherwise, for
// the files that f includes, directly or not, in the order of their paths.
// The same schema and options give the same bytes.
//
// The error is a [diag.List] where the schema holds something that Go cannot
// express: a map whose keys are containers, packages that would import each
// other, an annotation that names no Go type, or defaults of structs within
// defaults that are too many.
//
// Go does not change f and may run concurrently with itself.
func Go(f *schema.File, opts ...Option) ([]File, error) {
	g := newGenerator(f, newOptions(opts))
	g.check()
	if err := g.errs.Err(); err != nil {
		return nil, err
	}
	var files []File
	for _, gf := range g.files {
		if !g.opts.includes && gf.src != f {
			continue
		}
		content, err := gf.render()
		if err != nil {
			return nil, err
		}
		files = append(files, File{Path: gf.pkg.dir + "/" + gf.name, Content: content})
		if !g.opts.mocks {
			continue
		}
		mocks, err := gf.renderMocks()
		if err != nil {
			return nil, err
		}
		files = append(files, mocks...)
	}
	g.checkImports()
	if err := g.errs.Err(); err != nil {
		return nil, err
	}
	return files, nil
}

// Write writes files below dir, making directories as needed. Existing files
// are replaced; others are left alone. It stops at the first error.
func Write(dir string, files []File) error {
	for _, f := range files {
		if !filepath.IsLocal(filepath.FromSlash(f.Path)) {
			return fmt.Errorf("gen: path %q leaves the output directory", f.Path)
		}
		name := filepath.Join(dir, filepath.FromSlash(f.Path))
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			return err
		}
		if err := os.WriteFile(name, f.Content, 0o666); err != nil {
			return err
		}
	}
	return nil
}
