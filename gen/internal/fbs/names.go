package fbs

// Giving out names.

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/gen/internal/gofile"
	"github.com/thrum-rpc/thrum/schema"
)

// messageNames are the package-level names that belong to a table or struct.
type messageNames struct {
	GetRoot, GetSizedRoot, Finish, FinishSized    string
	Identifier, HasIdentifier, SizedHasIdentifier string
	Start, End, Create, KeyCompare                string
	Builder, NewBuilder, NewObject, Shape         string
	Verifier, Verify, Unmarshal, Vector           string
}

// fieldNames are the names that belong to a field or to a member of a union.
type fieldNames struct {
	Add, AddType, StartVector, StartTypeVector string // functions of the package
	Tag, Ref, Of                               string // of a member: its constant, and functions that make unions
	As                                         string // of a member: the method that returns it
}

// declare names what the file declares.
func (u *unit) declare() {
	for _, m := range u.all() {
		m.Name, m.Plain = u.declared(m.StructDef.Name(), m.Span())
	}
	for _, d := range u.src.Enums() {
		if e := u.generator.enums[d]; e.unit == u {
			e.Name, e.Plain = u.declared(e.IDL, d.Span())
			u.enums = append(u.enums, e)
		}
	}
}

// declared gives a type its name. Two types of one name are an error, for only
// one of them could have the names of Google's compiler.
// plain is the name that Google's compiler gives it, of which derived names are made.
func (u *unit) declared(idl string, at diag.Span) (name, plain string) {
	plain = escape(idl)
	if u.pkg.names[plain] && !slices.Contains(taken, plain) || u.pkg.hasAlias(plain) {
		u.report(at, "name-clash", "the Go package "+u.pkg.importPath+" has two types named "+plain,
			"give one of the files another go_package")
	}
	name = u.pkg.names.Add(plain)
	if slices.Contains(variables, plain) {
		u.aliases = append(u.aliases, alias{plain, name, "whose name is that of a variable in generated code"})
	}
	return name, plain
}

func (p *goPackage) hasAlias(name string) bool {
	return slices.ContainsFunc(p.units, func(u *unit) bool {
		return slices.ContainsFunc(u.aliases, func(a alias) bool { return a.Name == name })
	})
}

// all returns the structs, tables and unions.
func (u *unit) all() []*message { return slices.Concat(u.structs, u.tables, u.unions) }

// derive names what is made from the declarations.
func (u *unit) derive() {
	add := u.pkg.names.Add
	for _, m := range u.all() {
		m.Object = add(m.Plain + "T")
		m.addFields()
	}
	for _, m := range u.unions {
		m.deriveUnion()
	}
	for _, e := range u.enums {
		e.derive()
	}
	for _, m := range u.structs {
		m.names.Create, m.names.Vector = add("Create"+m.Plain), add(m.Plain+"Vector")
	}
	for _, m := range u.tables {
		m.deriveTable()
	}
	for _, s := range u.services {
		s.derive()
	}
	base := camel(stem(u.src.Path()), false)
	base = identifier(base)
	u.VerifiersName = add(base + "Verifiers")
}

// nameAliases gives a name with a capital letter to each type that has none, for other packages.
func (u *unit) nameAliases() {
	add := func(foreign bool, names ...string) {
		for _, name := range names {
			second := capital(name)
			switch {
			case second == name || u.pkg.names[second] && !foreign:
			case u.pkg.names[second]:
				u.report(diag.Span{}, "unexported", "other Go packages need "+name+" of "+u.pkg.importPath+", which has a "+second+" beside it",
					"rename one of them, or give the files one go_package")
			default:
				u.aliases = append(u.aliases, alias{u.pkg.names.Add(second), name, "for other packages"})
			}
		}
	}
	for _, m := range u.all() {
		add(m.foreign, m.Name, m.Object)
	}
	for _, e := range u.enums {
		add(e.foreign, e.Name)
	}
}

// identifier drops from a name what Go does not allow in one.
func identifier(name string) string {
	out := []byte{}
	for i := range len(name) {
		if c := name[i]; isLetter(c) || c == '_' || isDigit(c) && len(out) > 0 {
			out = append(out, c)
		}
	}
	if len(out) == 0 {
		return "file"
	}
	return string(out)
}

func (e *enum) derive() {
	add := e.pkg.names.Add
	e.NamesMap, e.ValuesMap = add("EnumNames"+e.IDL), add("EnumValues"+e.Plain)
	for i := range e.Values {
		v := &e.Values[i]
		v.Name = add(e.Plain + escape(v.IDL))
		if v.member != nil {
			v.member.names.Tag = v.Name
		}
	}
}

// deriveUnion gives the type of a union its values, and names what goes with its
// members.
func (m *message) deriveUnion() {
	m.tag = &enum{unit: m.unit, Name: m.Name, Plain: m.Plain, IDL: m.StructDef.Name(), Doc: m.Doc(), Base: tagBase(m.StructDef)}
	m.tag.Values = append(m.tag.Values, enumValue{IDL: "NONE", Number: "0"})
	methods := gofile.Scope{}
	methods.Reserve("Type", "Value", "Pack", "UnPack", "UnPackIn")
	for _, f := range m.Fields {
		m.tag.Values = append(m.tag.Values, enumValue{IDL: f.Field.Name(), Doc: f.Doc(), Number: number(int64(f.ID()), m.tag.Base), member: f})
	}
	slices.SortStableFunc(m.tag.Values, func(a, b enumValue) int {
		switch {
		case a.member == nil || b.member == nil && a.member != nil:
			return btoi(b.member == nil) - btoi(a.member == nil)
		default:
			return int(a.member.ID()) - int(b.member.ID())
		}
	})
	m.tag.derive()
	for _, f := range m.Fields {
		f.names.As = methods.Add("As" + f.F)
		f.names.Ref = m.pkg.names.Add(m.Plain + f.F + "Ref")
		f.names.Of = m.pkg.names.Add(m.Plain + "Of" + f.F)
	}
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func tagBase(d *schema.StructDef) schema.Kind {
	if d.Tag().Kind() == schema.Enum {
		return d.Tag().Enum().Base()
	}
	return d.Tag().Kind()
}

func (m *message) deriveTable() {
	add, n := m.pkg.names.Add, &m.names
	n.GetRoot, n.GetSizedRoot = add("GetRootAs"+m.Plain), add("GetSizePrefixedRootAs"+m.Plain)
	n.Finish, n.FinishSized = add("Finish"+m.Plain+"Buffer"), add("FinishSizePrefixed"+m.Plain+"Buffer")
	if m.FileIdentifier() != "" {
		n.Identifier = add(m.Plain + "Identifier")
		n.HasIdentifier, n.SizedHasIdentifier = add(m.Plain+"BufferHasIdentifier"), add("SizePrefixed"+m.Plain+"BufferHasIdentifier")
	}
	n.Start, n.End = add(m.Plain+"Start"), add(m.Plain+"End")
	for _, f := range m.Fields {
		f.names.Add = add(m.Plain + "Add" + f.F)
		switch f.Kind {
		case kindUnion:
			f.names.AddType = add(m.Plain + "Add" + f.F + "Type")
		case kindUnions:
			f.names.AddType = add(m.Plain + "Add" + f.F + "Type")
			f.names.StartTypeVector = add(m.Plain + "Start" + f.F + "TypeVector")
		}
		if f.Type().Kind() == schema.List {
			f.names.StartVector = add(m.Plain + "Start" + f.F + "Vector")
		}
		if f.Key() {
			n.KeyCompare = add(m.Plain + "KeyCompare")
		}
	}
	n.Builder, n.NewBuilder, n.NewObject = add(m.Plain+"Builder"), add("New"+m.Plain+"Builder"), add("New"+m.Object)
	n.Shape = add("shapeOf" + m.Plain)
	n.Verifier, n.Verify, n.Unmarshal = add("VerifierOf"+m.Plain), add("Verify"+m.Plain), add("Unmarshal"+m.Plain)
	params := gofile.Scope{}
	params.Reserve(taken...)
	params.Reserve(n.Builder)
	for _, f := range m.Fields {
		f.Param = params.Add(escape(camel(f.Name(), false)))
	}
}

// addFields names the fields. A name whose accessors would have names that
// others have already gets an underscore.
func (m *message) addFields() {
	methods := gofile.Scope{}
	methods.Reserve("_", "Init", "Table", "UnPack", "UnPackTo", "UnPackIn", "LookupByKey", "Pack", "Put", "Compare", "End")
	for _, d := range m.StructDef.Fields() {
		if d.Deprecated() {
			continue
		}
		f := &field{Field: d, owner: m, Slot: int(d.ID()), Kind: kindOf(d)}
		f.F = escape(camel(d.Name(), true))
		for taken := true; taken; {
			taken = false
			for _, name := range f.methods() {
				taken = taken || methods[name]
			}
			if taken {
				f.F += "_"
			}
		}
		methods.Reserve(f.methods()...)
		f.Store = "f" + number(int64(len(m.Fields)), schema.I32)
		m.Fields = append(m.Fields, f)
		if d.Key() {
			m.Key = f
		}
	}
}

// methods returns the names of the accessors of a field.
func (f *field) methods() []string {
	all := []string{f.F}
	more := func(names ...string) { all = append(all, names...) }
	switch f.Kind {
	case kindScalar:
		more("Mutate" + f.F)
	case kindScalars, kindStrings, kindStructs, kindTables, kindArray:
		more("Mutate"+f.F, f.F+"Length", f.F+"Bytes", f.F+"ByKey")
	case kindUnion:
		more(f.F+"Type", "Mutate"+f.F+"Type")
	case kindUnions:
		more(f.F+"Type", "Mutate"+f.F+"Type", f.F+"Length", f.F+"TypeLength", f.F+"TypeBytes")
	}
	if f.Nested() != nil {
		more(f.F + "NestedRoot")
	}
	if f.flex() {
		more(f.F + "FlexRoot")
	}
	return all
}

// FileIdentifier returns the identifier of buffers whose root is m, or "".
func (m *message) FileIdentifier() string {
	if m.src.Root() == m.StructDef {
		return m.src.Identifier()
	}
	return ""
}
