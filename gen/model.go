package gen

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

// generator holds the names of everything that the files can reach. Names
// depend on the files and the options alone, not on the order of rendering.
type generator struct {
	opts     options
	files    []*goFile // sorted by path of the IDL
	byFile   map[*schema.File]*goFile
	packages []*goPackage // sorted by import path
	structs  map[*schema.StructDef]*goStruct
	enums    map[*schema.EnumDef]*goEnum
	typedefs map[*schema.Typedef]*goTypedef
	services map[*schema.Service]*goService
	errs     diag.List
}

// goPackage is a Go package: the files that share a namespace.
type goPackage struct {
	dir        string // relative to the output
	importPath string
	name       string // in its package clause
	alias      string // under which all other packages import it
	files      []*goFile
	names      gofile.Scope // package-level names
	imports    map[*goPackage]bool
}

// ImportPath returns the path by which it is imported.
func (p *goPackage) ImportPath() string { return p.importPath }

// goFile is a file of IDL and the Go file made from it. The declarations hold
// it to ask for types and imports while they are rendered.
type goFile struct {
	*generator
	src      *schema.File
	pkg      *goPackage
	name     string // of the file, with .go
	imports  imports
	implied  int // values written that the IDL leaves out
	consts   []*goConst
	enums    []*goEnum
	typedefs []*goTypedef
	structs  []*goStruct
	services []*goService
}

type goConst struct {
	*goFile
	*schema.Const
	Name string
}

type goEnum struct {
	*goFile
	*schema.EnumDef
	Name, Ptr, FromString string
	Values                []goEnumValue
}

type goEnumValue struct {
	*schema.EnumValue
	Name  string
	IDL   string
	First bool // whether no value before it has the same number
}

type goTypedef struct {
	*goFile
	*schema.Typedef
	Name string
	New  string // the constructor's name, "" unless the target is a struct
}

type goStruct struct {
	*goFile
	*schema.StructDef
	Name, New string
	Fields    []*goField
	// Synthetic structs are those of arguments and results. They have tags and
	// InitDefault and no other methods.
	Synthetic bool
	argument  bool
}

type goField struct {
	*schema.Field
	owner           *goStruct
	Name            string
	Get, Set, IsSet string
	DefaultName     string // of the constant that holds a scalar default, or ""
}

type goService struct {
	*goFile
	*schema.Service
	Name, Client, NewClient, NewService, Pretouch string
	Unimplemented                                 string // "" if not asked for
	Methods                                       []*goMethod
	names                                         gofile.Scope // of the methods, inherited ones included
}

type goMethod struct {
	*goFile
	*schema.Method
	Name         string
	Args, Result *goStruct // Result is nil for a oneway method; both are for one that streams
	Params       []goParam

	Callback, Future, Reply, Outcome, FormsOf string // names for the other forms, if asked for

	Mode              string       // "Server", "Client" or "Bidi" for one that streams
	Request, Response *schema.Type // of one that streams: structs
	ReqName           string       // its parameter for the request
}

type goParam struct {
	Name  string
	Field *goField
}

// newGenerator gives out the names of all that root reaches.
func newGenerator(root *schema.File, opts options) *generator {
	g := &generator{
		opts:     opts,
		byFile:   make(map[*schema.File]*goFile),
		structs:  make(map[*schema.StructDef]*goStruct),
		enums:    make(map[*schema.EnumDef]*goEnum),
		typedefs: make(map[*schema.Typedef]*goTypedef),
		services: make(map[*schema.Service]*goService),
	}
	g.addFile(root)
	slices.SortStableFunc(g.files, func(a, b *goFile) int { return cmp.Compare(a.src.Path(), b.src.Path()) })
	g.addPackages()
	// What IDL declares has its names before what is derived from it.
	for _, f := range g.files {
		f.declare()
	}
	for _, f := range g.files {
		f.derive()
	}
	done := make(map[*goService]bool)
	for _, f := range g.files {
		for _, s := range f.services {
			g.addMethods(s, done)
		}
	}
	return g
}

func (g *generator) addFile(f *schema.File) {
	if g.byFile[f] != nil {
		return
	}
	gf := &goFile{generator: g, src: f}
	g.byFile[f] = gf
	g.files = append(g.files, gf)
	for _, inc := range f.Includes() {
		g.addFile(inc.File)
	}
}

// addPackages groups the files by namespace and names packages and files.
func (g *generator) addPackages() {
	byDir := make(map[string]*goPackage)
	for _, f := range g.files {
		stem := strings.TrimSuffix(path.Base(strings.ReplaceAll(f.src.Path(), "\\", "/")), ".thrift")
		parts := pathParts(f.src.Namespace("go"))
		if len(parts) == 0 {
			parts = []string{fileStem(stem)}
		}
		for i, p := range parts {
			if p == "vendor" || p == "internal" && g.opts.project {
				parts[i] += "_" // to be imported at all, and by what lies beside stub/
			}
		}
		dir := path.Join(parts...)
		p := byDir[dir]
		if p == nil {
			p = &goPackage{
				dir: dir, importPath: path.Join(g.opts.prefix, dir), name: packageName(parts[len(parts)-1]),
				names: gofile.Scope{}, imports: make(map[*goPackage]bool),
			}
			byDir[dir] = p
			g.packages = append(g.packages, p)
		}
		f.pkg, f.name = p, fileStem(stem)
		for n := 2; slices.ContainsFunc(p.files, func(o *goFile) bool { return strings.EqualFold(o.name, f.name+".go") }); n++ {
			f.name = fileStem(stem) + "_" + strconv.Itoa(n)
		}
		f.name += ".go"
		p.files = append(p.files, f)
	}
	slices.SortFunc(g.packages, func(a, b *goPackage) int { return cmp.Compare(a.importPath, b.importPath) })
	g.nameAliases()
}

// nameAliases decides under which name packages import each other: none of those in also.
func (g *generator) nameAliases(also ...string) {
	aliases := gofile.Scope{}
	aliases.Reserve(taken...)
	aliases.Reserve(also...)
	for _, p := range g.packages {
		p.alias = p.name
		for n := 2; aliases[p.alias] || local.MatchString(p.alias); n++ {
			p.alias = p.name + "_" + strconv.Itoa(n)
		}
		aliases.Reserve(p.alias)
	}
}

// declare names what the file declares.
func (f *goFile) declare() {
	names := f.pkg.names
	for _, d := range f.src.Services() {
		s := &goService{goFile: f, Service: d, Name: names.Add(f.goName(d))}
		f.services = append(f.services, s)
		f.generator.services[d] = s
	}
	for _, d := range f.src.Structs() {
		s := &goStruct{goFile: f, StructDef: d, Name: names.Add(f.goName(d))}
		f.structs = append(f.structs, s)
		f.generator.structs[d] = s
	}
	for _, d := range f.src.Enums() {
		e := &goEnum{goFile: f, EnumDef: d, Name: names.Add(f.goName(d))}
		f.enums = append(f.enums, e)
		f.generator.enums[d] = e
	}
	for _, d := range f.src.Typedefs() {
		t := &goTypedef{goFile: f, Typedef: d, Name: names.Add(f.goName(d))}
		f.typedefs = append(f.typedefs, t)
		f.generator.typedefs[d] = t
	}
	for _, d := range f.src.Consts() {
		f.consts = append(f.consts, &goConst{f, d, names.Add(f.goName(d))})
	}
}

// derive names what is made from the declarations, but for methods.
func (f *goFile) derive() {
	names := f.pkg.names
	for _, s := range f.structs {
		s.New = names.Add("New" + s.Name)
		s.addFields()
	}
	for _, e := range f.enums {
		e.Ptr = names.Add(e.Name + "Ptr")
		e.FromString = names.Add(e.Name + "FromString")
		for _, v := range e.EnumDef.Values() {
			name := names.Add(e.Name + "_" + identifyValue(v.Name))
			e.Values = append(e.Values, goEnumValue{v, name, v.Name, e.ByValue(v.Value) == v})
		}
	}
	for _, t := range f.typedefs {
		if t.Type().Kind() == schema.Struct {
			t.New = names.Add("New" + t.Name)
		}
	}
	for _, s := range f.services {
		s.Client = names.Add(s.Name + "Client")
		s.NewClient = names.Add("New" + s.Client)
		s.NewService = names.Add("New" + s.Name + "Service")
		s.Pretouch = names.Add("Pretouch" + s.Name)
		if f.generator.opts.forms {
			s.Unimplemented = names.Add("Unimplemented" + s.Name)
		}
	}
}

// addFields names the fields and the methods that belong to them. Names of
// methods come first, and setters take theirs whether they are written or not,
// so that an option does not change the name of a field.
func (s *goStruct) addFields() {
	names := gofile.Scope{}
	names.Reserve("AppendThrift", "AppendThriftAt", "SizeThrift", "SizeThriftAt", "UnmarshalThrift", "ReadThriftAt")
	if !s.Synthetic {
		names.Reserve("Read", "Write", "String", "InitDefault", "DeepEqual", "CarryingUnknownFields")
		switch s.Flavor() {
		case schema.Union:
			names.Reserve("CountSetFields" + s.Name)
		case schema.Exception:
			names.Reserve("Error")
		}
	}
	for _, d := range s.StructDef.Fields() {
		f := &goField{Field: d, owner: s}
		if id := s.goName(d); !s.Synthetic {
			f.Get, f.Set = names.Add("Get"+id), names.Add("Set"+id)
			if f.optional() || d.Type().Kind() == schema.Struct {
				f.IsSet = names.Add("IsSet" + id)
			}
		}
		s.Fields = append(s.Fields, f)
	}
	for _, f := range s.Fields {
		f.Name = names.Add(s.goName(f.Field))
		if f.hasDefaultName() {
			f.DefaultName = s.pkg.names.Add(s.Name + "_" + f.Name + "_DEFAULT")
		}
	}
}

// addMethods names the methods of s, after those of its ancestors.
func (g *generator) addMethods(s *goService, done map[*goService]bool) {
	if done[s] {
		return
	}
	done[s] = true
	s.names = gofile.Scope{}
	if s.Extends() != nil {
		parent := g.services[s.Extends()]
		g.addMethods(parent, done)
		s.names = parent.names.Clone()
	}
	for _, d := range s.Service.Methods() {
		if streamsAfterCall(d) {
			continue // fbthrift's streams, which package rpc has not; the interface says so
		}
		m := &goMethod{goFile: s.goFile, Method: d, Name: s.names.Add(s.goName(d))}
		if stream := d.Stream(); stream != nil {
			m.Mode = streamModes[stream.Kind]
			g.addStream(m)
			s.Methods = append(s.Methods, m)
			continue
		}
		base := s.Name + strings.TrimSuffix(s.goName(d), "_")
		m.Args = s.synthesize(d.Args(), base+"Args", true)
		if d.Result() != nil {
			m.Result = s.synthesize(d.Result(), base+"Result", false)
		}
		params := g.params()
		for _, f := range m.Args.Fields {
			m.Params = append(m.Params, goParam{params.Add(lowerFirst(f.Name)), f})
		}
		if g.opts.forms {
			m.addForms(base)
		}
		s.Methods = append(s.Methods, m)
	}
}

// params returns the scope of a method's parameters.
func (g *generator) params() gofile.Scope {
	params := gofile.Scope{}
	params.Reserve(taken...)
	for _, p := range g.packages {
		params.Reserve(p.alias)
	}
	return params
}

// addForms names what the other forms of a method need.
func (m *goMethod) addForms(base string) {
	names := m.pkg.names
	m.Callback, m.Future = names.Add(base+"Callback"), names.Add(base+"Future")
	m.FormsOf = names.Add(lowerFirst(base) + "Forms")
	if m.Result != nil {
		m.Reply, m.Outcome = names.Add(base+"Reply"), names.Add(lowerFirst(base)+"Outcome")
	}
}

func (s *goService) synthesize(d *schema.StructDef, name string, argument bool) *goStruct {
	st := &goStruct{goFile: s.goFile, StructDef: d, Name: s.pkg.names.Add(name), Synthetic: true, argument: argument}
	st.addFields()
	return st
}

// identifyValue returns the part of an enum constant's name that stands for
// the value: its name as it is, but for what Go does not allow.
func identifyValue(name string) string {
	return strings.NewReplacer(".", "_", "-", "_").Replace(name)
}
