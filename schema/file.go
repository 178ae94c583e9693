package schema

import "github.com/thrum-rpc/thrum/diag"

// File is one file of IDL with everything that it declares.
type File struct {
	path string
	spec FileSpec
	done bool

	// Types, constants and services may share names, so each has its table.
	types    map[string]any
	consts   map[string]*Const
	services map[string]*Service
}

// FileSpec is what a file holds; each list is in its declared order.
type FileSpec struct {
	Doc         string
	Package     string // of the package statement of fbthrift or Protobuf, or ""
	Namespaces  []Namespace
	Includes    []Include
	Annotations Annotations  // of fbthrift's package statement
	Structs     []*StructDef // structs, unions and exceptions
	Enums       []*EnumDef
	Typedefs    []*Typedef
	Consts      []*Const
	Services    []*Service
	// Of FlatBuffers: the table that buffers begin with, the four bytes that tell
	// what they hold, and how the names of files with them end; nil or empty if
	// the file says nothing.
	Root       *StructDef
	Identifier string
	Extension  string
}

// Namespace is one namespace statement.
type Namespace struct {
	Language    string // such as "go" or "*"
	Name        string
	Annotations Annotations
	Span        diag.Span // of the statement
}

// Include is one include statement.
type Include struct {
	Path  string // as written
	Alias string // the name that qualifies what it declares
	File  *File
	Span  diag.Span // of the path
}

// NewFile declares a file; Complete gives it its contents.
func NewFile(path string) *File { return &File{path: path} }

// Complete sets the contents. It must be called once.
func (f *File) Complete(spec FileSpec) {
	if f.done {
		panic("schema: file " + f.path + " completed twice")
	}
	f.done, f.spec = true, spec
	f.types = make(map[string]any)
	for _, d := range spec.Structs {
		enter(f.types, &d.spec, any(d))
	}
	for _, d := range spec.Enums {
		enter(f.types, &d.spec, any(d))
	}
	for _, d := range spec.Typedefs {
		enter(f.types, &d.spec, any(d))
	}
	f.consts = make(map[string]*Const)
	for _, d := range spec.Consts {
		enter(f.consts, &d.spec, d)
	}
	f.services = make(map[string]*Service)
	for _, d := range spec.Services {
		enter(f.services, &d.spec, d)
	}
}

// enter adds d to a table of names: under its name, where no other has it, and
// under its full name, if it has a package of its own.
func enter[D any](table map[string]D, spec *DeclSpec, d D) {
	if spec.Package != "" {
		table[spec.fullName()] = d
		if _, taken := table[spec.Name]; taken {
			return
		}
	}
	table[spec.Name] = d
}

// Path returns the path by which the file was found.
func (f *File) Path() string { return f.path }

func (f *File) Doc() string              { return f.spec.Doc }
func (f *File) Package() string          { return f.spec.Package }
func (f *File) Namespaces() []Namespace  { return f.spec.Namespaces }
func (f *File) Includes() []Include      { return f.spec.Includes }
func (f *File) Annotations() Annotations { return f.spec.Annotations }
func (f *File) Structs() []*StructDef    { return f.spec.Structs }
func (f *File) Enums() []*EnumDef        { return f.spec.Enums }
func (f *File) Typedefs() []*Typedef     { return f.spec.Typedefs }
func (f *File) Consts() []*Const         { return f.spec.Consts }
func (f *File) Services() []*Service     { return f.spec.Services }

func (f *File) Root() *StructDef   { return f.spec.Root }
func (f *File) Identifier() string { return f.spec.Identifier }
func (f *File) Extension() string  { return f.spec.Extension }

// WithIncludes returns the file and what it includes, directly or not, each once: the file first, and what is
// nearer before what is farther.
func (f *File) WithIncludes() []*File {
	files, seen := []*File{f}, map[*File]bool{f: true}
	for i := 0; i < len(files); i++ {
		for _, inc := range files[i].Includes() {
			if !seen[inc.File] {
				seen[inc.File] = true
				files = append(files, inc.File)
			}
		}
	}
	return files
}

// Namespace returns the namespace for that language, else the one for "*",
// else "".
func (f *File) Namespace(language string) string {
	any := ""
	for _, n := range f.spec.Namespaces {
		if n.Language == language {
			return n.Name
		}
		if n.Language == "*" {
			any = n.Name
		}
	}
	return any
}

// Struct returns the struct, union or exception of that name in this file, or
// nil. Where a file holds several packages, a name with its package finds its
// declaration, and one without the one outside of all packages, else the first.
// So it is for the other kinds of declarations.
func (f *File) Struct(name string) *StructDef { d, _ := f.types[name].(*StructDef); return d }

// Enum returns the enum of that name in this file, or nil.
func (f *File) Enum(name string) *EnumDef { d, _ := f.types[name].(*EnumDef); return d }

// Typedef returns the typedef of that name in this file, or nil.
func (f *File) Typedef(name string) *Typedef { d, _ := f.types[name].(*Typedef); return d }

// Const returns the constant of that name in this file, or nil.
func (f *File) Const(name string) *Const { return f.consts[name] }

// Service returns the service of that name in this file, or nil.
func (f *File) Service(name string) *Service { return f.services[name] }
