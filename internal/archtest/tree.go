package archtest

// The source tree: what the rules look at.

import (
	"bytes"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// Tree is the source of one repository: the root module and the modules nested
// in it. Paths are slash-separated and relative to the root.
type Tree struct {
	Module   string // import path of the root module
	Packages []*Package
	Texts    []*Text

	fset *token.FileSet
}

// Package is one directory with Go files.
type Package struct {
	Dir    string // "." for the root
	Nested bool   // belongs to a module other than the root's
	Files  []*File
}

// File is one Go file.
type File struct {
	*Text
	AST  *ast.File
	Test bool
}

// Text is one text file of any kind.
type Text struct {
	Path    string
	Content []byte
}

// Violation is one place where a rule is broken.
type Violation struct {
	Path string
	Line int // 0 when the whole file or directory is meant
	Text string
}

// String renders v as path:line: text.
func (v Violation) String() string {
	if v.Line == 0 {
		return v.Path + ": " + v.Text
	}
	return v.Path + ":" + strconv.Itoa(v.Line) + ": " + v.Text
}

// Load reads the tree at root. It leaves out testdata, hidden directories
// other than .ci, and files that are not text.
func Load(root string) (*Tree, error) {
	t := &Tree{fset: token.NewFileSet()}
	packages := map[string]*Package{}
	var nested []string // directories of nested modules
	err := filepath.WalkDir(root, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(root, name)
		if err != nil {
			return err
		}
		rel = filepath.ToSlash(rel)
		if d.IsDir() {
			if skipDir(rel, d.Name()) {
				return filepath.SkipDir
			}
			return nil
		}
		if !d.Type().IsRegular() || rel == ".git" { // a worktree's .git is a file
			return nil
		}
		content, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		if bytes.IndexByte(content, 0) >= 0 {
			return nil
		}
		text := &Text{Path: rel, Content: content}
		t.Texts = append(t.Texts, text)
		switch {
		case rel == "go.mod":
			t.Module = modulePath(content)
		case path.Base(rel) == "go.mod":
			nested = append(nested, path.Dir(rel))
		case path.Ext(rel) == ".go":
			return t.addFile(packages, text)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	if t.Module == "" {
		return nil, fmt.Errorf("archtest: no go.mod with a module line in %s", root)
	}
	for _, p := range packages {
		p.Nested = slices.ContainsFunc(nested, func(dir string) bool { return within(p.Dir, dir) })
		t.Packages = append(t.Packages, p)
	}
	slices.SortFunc(t.Packages, func(a, b *Package) int { return strings.Compare(a.Dir, b.Dir) })
	return t, nil
}

func (t *Tree) addFile(packages map[string]*Package, text *Text) error {
	syntax, err := parser.ParseFile(t.fset, text.Path, text.Content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(text.Path)
	if packages[dir] == nil {
		packages[dir] = &Package{Dir: dir}
	}
	packages[dir].Files = append(packages[dir].Files, &File{
		Text: text,
		AST:  syntax,
		Test: strings.HasSuffix(text.Path, "_test.go"),
	})
	return nil
}

func skipDir(rel, name string) bool {
	switch {
	case rel == "." || rel == ".ci":
		return false
	case name == "testdata", name == "node_modules":
		return true
	}
	return strings.HasPrefix(name, ".") || strings.HasPrefix(name, "_")
}

var moduleLine = regexp.MustCompile(`(?m)^module\s+(\S+)`)

func modulePath(goMod []byte) string {
	m := moduleLine.FindSubmatch(goMod)
	if m == nil {
		return ""
	}
	return string(m[1])
}

// within reports whether dir is root or lies below it.
func within(dir, root string) bool {
	return root == "." || dir == root || strings.HasPrefix(dir, root+"/")
}

// matches reports whether dir fits one of the patterns: a directory, or a
// directory followed by /... for it and everything below.
func matches(dir string, patterns []string) bool {
	return slices.ContainsFunc(patterns, func(pattern string) bool {
		if root, ok := strings.CutSuffix(pattern, "/..."); ok {
			return within(dir, root)
		}
		return dir == pattern
	})
}

// at makes a violation at a node of one of the tree's files.
func (t *Tree) at(n ast.Node, format string, args ...any) Violation {
	pos := t.fset.Position(n.Pos())
	return Violation{Path: pos.Filename, Line: pos.Line, Text: fmt.Sprintf(format, args...)}
}

// local turns the import path of a package of the root module into its
// directory; ok is false for every other import.
func (t *Tree) local(importPath string) (dir string, ok bool) {
	if importPath == t.Module {
		return ".", true
	}
	return strings.CutPrefix(importPath, t.Module+"/")
}

// source returns the files of p that are not tests.
func (p *Package) source() []*File {
	var out []*File
	for _, f := range p.Files {
		if !f.Test {
			out = append(out, f)
		}
	}
	return out
}

func (p *Package) isMain() bool {
	source := p.source()
	return len(source) > 0 && source[0].AST.Name.Name == "main"
}

// isPublic reports whether p is part of the library that others import.
func (p *Package) isPublic() bool {
	internal := slices.Contains(strings.Split(p.Dir, "/"), "internal")
	return !p.Nested && !p.isMain() && !internal && !within(p.Dir, "examples")
}

func (f *File) generated() bool { return ast.IsGenerated(f.AST) }

func importPath(spec *ast.ImportSpec) string {
	p, err := strconv.Unquote(spec.Path.Value)
	if err != nil {
		return spec.Path.Value
	}
	return p
}
