package fbs

// What is to be written, with every Go name given out: packages, files and
// their declarations.

import (
	"cmp"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/schema"
)

// Options are those of package gen.
type Options struct {
	Prefix   string // import path of the output directory
	Package  string // of files that name none, "" for one for each namespace
	Includes bool   // whether included files are written too
	Services bool   // whether services are written
	Mocks    bool   // whether mocks of them are
	Forms    bool   // whether handlers may serve them by callbacks
	project  bool   // whether a project uses what services take and return
}

// File is one generated file.
type File struct {
	Path    string
	Content []byte
}

// generator holds the names of everything that the files can reach. Names
// depend on the files and the options alone, not on the order of rendering.
type generator struct {
	opts     Options
	roots    map[*schema.File]bool
	seen     map[*schema.File]bool
	units    []*unit // sorted by package and path of the schema
	packages []*goPackage
	messages map[*schema.StructDef]*message
	enums    map[*schema.EnumDef]*enum
	errs     diag.List
}

// goPackage is a Go package.
type goPackage struct {
	dir        string // relative to the output
	importPath string
	name       string // in its package clause
	units      []*unit
	names      gofile.Scope // package-level names
	mocks      gofile.Scope // the same of the package of its mocks
	imports    map[*goPackage]bool
	named      bool // by a file, or by the options
	global     bool // of a file without a namespace
}

// ImportPath returns the path by which it is imported.
func (p *goPackage) ImportPath() string { return p.importPath }

// unit is a Go file: what a file of the schema declares for one package. The
// declarations hold it to ask for types and imports while they are rendered.
type unit struct {
	*generator
	src      *schema.File
	pkg      *goPackage
	name     string // of the file, with .go
	imports  map[string]string
	enums    []*enum
	structs  []*message
	tables   []*message
	unions   []*message
	services []*service

	VerifiersName string
	aliases       []alias

	// Prefix64 says that the size before a buffer has 64 bits: the file, or one that it includes, has
	// offsets of 64 bits.
	Prefix64 bool
}

// alias is a second name for a type, and why it has one.
type alias struct{ Name, Of, Why string }

// enum is an enum, or the type of a union.
type enum struct {
	*unit
	Name, NamesMap, ValuesMap string
	Plain                     string // the name as Google's compiler has it
	IDL                       string
	Doc                       string
	Base                      schema.Kind
	Values                    []enumValue
	foreign                   bool
}

type enumValue struct {
	Name, IDL, Doc string
	Number         string // as Go writes it
	member         *field // of a union, nil for NONE
}

// message is a table, a struct or a union.
type message struct {
	*unit
	*schema.StructDef
	Name   string // of the accessor; of a union, of its type
	Plain  string // the same as Google's compiler has it
	Object string // of the object form
	Fields []*field

	names messageNames
	tag   *enum  // of a union
	index int    // of a table, in the layout of its file
	Key   *field // by which it is found, or nil

	foreign  bool // whether other packages need it
	compares bool // whether its objects are compared, as keys
}

// field is a field of a table or struct, or a member of a union.
type field struct {
	*schema.Field
	owner *message
	Kind  kind
	Slot  int    // in the vtable, from 0; of a union, of its value
	F     string // its name in Go
	Param string // the same with a small letter
	Store string // the field of the builder that holds it
	names fieldNames
}

// newGenerator gives out the names of all that the roots reach.
func newGenerator(roots []*schema.File, opts Options) *generator {
	g := &generator{
		opts: opts, roots: make(map[*schema.File]bool), seen: make(map[*schema.File]bool),
		messages: make(map[*schema.StructDef]*message), enums: make(map[*schema.EnumDef]*enum),
	}
	for _, f := range roots {
		g.roots[f] = true
	}
	for _, f := range roots {
		g.addFile(f)
	}
	slices.SortFunc(g.packages, func(a, b *goPackage) int { return cmp.Compare(a.dir, b.dir) })
	g.mergePackages()
	g.nameGlobals()
	g.markForeign()
	slices.SortStableFunc(g.units, func(a, b *unit) int {
		return cmp.Or(cmp.Compare(a.pkg.dir, b.pkg.dir), cmp.Compare(a.src.Path(), b.src.Path()))
	})
	for _, p := range g.packages {
		slices.SortStableFunc(p.units, func(a, b *unit) int { return cmp.Compare(a.src.Path(), b.src.Path()) })
	}
	for _, u := range g.units {
		u.nameFile()
	}
	// What the schema declares has its names before what is derived from it.
	for _, u := range g.units {
		u.declare()
	}
	for _, u := range g.units {
		u.derive()
	}
	for _, u := range g.units {
		u.nameAliases()
	}
	for _, u := range g.units {
		for i, m := range u.tables {
			m.index = i
			m.markKeys()
		}
		for _, m := range u.structs {
			m.markKeys()
		}
	}
	return g
}

// addFile distributes what f declares to packages.
func (g *generator) addFile(f *schema.File) {
	if g.seen[f] {
		return
	}
	g.seen[f] = true
	for _, d := range f.Structs() {
		u := g.unit(f, d.Package())
		m := &message{unit: u, StructDef: d}
		g.messages[d] = m
		switch {
		case d.Fixed():
			u.structs = append(u.structs, m)
		case d.Flavor() == schema.Union:
			u.unions = append(u.unions, m)
		default:
			u.tables = append(u.tables, m)
		}
	}
	for _, d := range f.Enums() {
		u := g.unit(f, d.Package())
		e := &enum{unit: u, IDL: d.Name(), Doc: d.Doc(), Base: d.Base()}
		for _, v := range d.Values() {
			e.Values = append(e.Values, enumValue{IDL: v.Name, Doc: v.Doc, Number: number(v.Value, d.Base())})
		}
		g.enums[d] = e
	}
	for _, d := range f.Services() {
		u := g.unit(f, d.Package())
		u.services = append(u.services, &service{unit: u, Service: d})
	}
	for _, inc := range f.Includes() {
		g.addFile(inc.File)
	}
}

// unit returns the Go file for what f declares in that namespace.
func (g *generator) unit(f *schema.File, namespace string) *unit {
	p := g.packageOf(f, namespace)
	for _, u := range p.units {
		if u.src == f {
			return u
		}
	}
	u := &unit{generator: g, src: f, pkg: p, Prefix64: hasWide(f, map[*schema.File]bool{})}
	p.units = append(p.units, u)
	g.units = append(g.units, u)
	return u
}

// packageOf returns the package that f names, else the one of the options, else that
// of the namespace, else one named after the file.
func (g *generator) packageOf(f *schema.File, namespace string) *goPackage {
	dir := f.Namespace("go")
	named := dir != ""
	switch {
	case named:
	case g.opts.Package != "":
		dir, named = g.opts.Package, true
	case namespace != "":
		dir = strings.ReplaceAll(namespace, ".", "/")
	default:
		dir = stem(f.Path())
	}
	parts := pathParts(dir)
	if len(parts) == 0 {
		parts = []string{"main_"}
	}
	for i, p := range parts {
		if (p == "internal" || p == "vendor") && !strings.HasPrefix(dir, g.opts.Prefix+"/") {
			parts[i] += "_" // to be imported from anywhere
		}
	}
	dir = strings.Join(parts, "/")
	importPath := path.Join(g.opts.Prefix, dir)
	if rest, below := strings.CutPrefix(dir, g.opts.Prefix+"/"); named && below && g.opts.Prefix != "" {
		dir, importPath = rest, g.opts.Prefix+"/"+rest
	} else if named && !g.opts.Includes && !g.roots[f] {
		importPath = dir // written by somebody else, where its path says
	}
	global := !named && namespace == ""
	for _, p := range g.packages {
		if p.importPath == importPath && p.global == global {
			return p
		}
	}
	p := &goPackage{
		dir: dir, importPath: importPath, name: packageName(parts[len(parts)-1]),
		names: gofile.Scope{}, mocks: gofile.Scope{}, imports: make(map[*goPackage]bool), named: named, global: global,
	}
	p.names.Reserve(taken...)
	g.packages = append(g.packages, p)
	return p
}

// stem returns the name of a file without its directory and ending.
func stem(path_ string) string {
	name := path.Base(strings.ReplaceAll(path_, "\\", "/"))
	return strings.TrimSuffix(strings.TrimSuffix(name, ".fbs"), ".bfbs")
}

// platforms are the endings of file names that the go tool takes as constraints.
var platforms = strings.Fields(`
	test
	aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos
	386 amd64 amd64p32 arm arm64 arm64be armbe loong64 mips mips64 mips64le mips64p32 mips64p32le mipsle
	ppc ppc64 ppc64le riscv riscv64 s390 s390x sparc sparc64 wasm
`)

// nameFile names the Go file, such that the go tool builds it everywhere.
func (u *unit) nameFile() {
	name := strings.Map(func(r rune) rune {
		if r == '_' || r < 0x80 && (isLetter(byte(r)) || isDigit(byte(r))) {
			return r
		}
		return '_'
	}, stem(u.src.Path()))
	if strings.Trim(name, "_") == "" || name[0] == '_' {
		name = "x" + name
	}
	if i := strings.LastIndexByte(name, '_'); i >= 0 && slices.Contains(platforms, name[i+1:]) {
		name += "_fbs"
	}
	base := name
	for n := 2; slices.ContainsFunc(u.pkg.units, func(o *unit) bool { return o != u && strings.EqualFold(o.name, name+".go") }); n++ {
		name = base + "_" + strconv.Itoa(n)
	}
	u.name = name + ".go"
}
