package flatproto

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
)

// This file writes .proto files.

// AppendSchema appends a .proto file (proto3) with the services of a file, the tables, structs and
// enums that it declares, and all that these use. Its package is the namespace of the services, or else that
// of the first type; types of other namespaces, which a .proto file cannot hold, have the name of
// theirs in front, as in other_ns_Type. The names of enums stand before those of their values.
//
// Services of several namespaces are Unsupported, as is what [New] refuses. Names that differ in
// FlatBuffers and not in Protobuf are a [diag.List], with the places of both: fields a_b and aB, values Red and RED
// of one enum, a table a_b_T beside a T of the namespace a.b.
func AppendSchema(dst []byte, file *schema.File) ([]byte, error) {
	p := printer{pkg: packageOf(file), known: compiler{}, seen: map[any]bool{}, declared: names{}}
	for _, s := range file.Services() {
		if s.Package() != p.pkg {
			return dst, diag.NewFault(diag.Unsupported, -1, fmt.Sprintf("services of two namespaces, %q and %q: a .proto file has one package", p.pkg, s.Package()))
		}
		p.service(s)
	}
	for _, d := range file.Structs() {
		if d.Tag() == nil {
			p.use(d)
		}
	}
	for _, e := range file.Enums() {
		if isEnum(e.Type()) {
			p.useEnum(e)
		}
	}
	for i := 0; i < len(p.messages) && p.err == nil; i++ { // which grows
		p.message(p.messages[i])
	}
	for i := range p.enums {
		p.enum(p.enums[i])
	}
	if p.err != nil {
		return dst, p.err
	}
	if p.refused.Sort(); len(p.refused) > 0 {
		return dst, p.refused
	}
	dst = append(dst, "syntax = \"proto3\";\n"...)
	if p.pkg != "" {
		dst = append(append(append(dst, "\npackage "...), p.pkg...), ";\n"...)
	}
	return append(dst, p.out.String()...), nil
}

// packageOf returns the package of a file's messages.
func packageOf(file *schema.File) string {
	switch {
	case len(file.Services()) > 0:
		return file.Services()[0].Package()
	case file.Root() != nil:
		return file.Root().Package()
	case len(file.Structs()) > 0:
		return file.Structs()[0].Package()
	}
	return file.Package()
}

// printer writes one file.
type printer struct {
	pkg      string
	known    compiler
	seen     map[any]bool
	messages []*schema.StructDef // that are used, in the order in which they are written
	enums    []*schema.EnumDef
	declared names // of the package
	refused  diag.List
	out      strings.Builder
	err      error
}

// use returns the name of a table, struct or union, and sees to it that it is written.
func (p *printer) use(d *schema.StructDef) string {
	if !p.seen[d] {
		p.seen[d] = true
		p.messages = append(p.messages, d)
	}
	return p.name(d.Package(), d.Name())
}

// useEnum is use for an enum.
func (p *printer) useEnum(e *schema.EnumDef) string {
	if !p.seen[e] {
		p.seen[e] = true
		p.enums = append(p.enums, e)
	}
	return p.name(e.Package(), e.Name())
}

// name returns the name of a type in the file's package.
func (p *printer) name(pkg, name string) string {
	if pkg == p.pkg || pkg == "" {
		return name
	}
	return strings.ReplaceAll(pkg, ".", "_") + "_" + name
}

// doc writes a comment.
func (p *printer) doc(indent, text string) {
	for line := range strings.Lines(text) {
		fmt.Fprintf(&p.out, "%s//%s\n", indent, strings.TrimRight(" "+strings.TrimSpace(line), " "))
	}
}

// service writes a service.
func (p *printer) service(s *schema.Service) {
	p.declare(s.Name(), "the service "+s.FullName(), s.Span())
	p.out.WriteString("\n")
	p.doc("", s.Doc())
	fmt.Fprintf(&p.out, "service %s {\n", s.Name())
	for _, m := range s.AllMethods() {
		args := m.Args().Fields()
		if len(args) != 1 || args[0].Type().Struct() == nil || m.Returns() == nil || m.Returns().Struct() == nil {
			p.err = diag.NewFault(diag.Unsupported, -1, m.Name()+" is no method of FlatBuffers")
			return
		}
		request, reply := p.methodType(s, args[0].Type().Struct()), p.methodType(s, m.Returns().Struct())
		if stream := m.Stream(); stream != nil {
			if stream.Kind != schema.ServerStream {
				request = "stream " + request
			}
			if stream.Kind != schema.ClientStream {
				reply = "stream " + reply
			}
		}
		p.doc("  ", m.Doc())
		fmt.Fprintf(&p.out, "  rpc %s(%s) returns (%s);\n", m.Name(), request, reply)
	}
	p.out.WriteString("}\n")
}

// methodType returns how to write a type that a method takes or returns.
func (p *printer) methodType(s *schema.Service, d *schema.StructDef) string {
	name := p.use(d)
	if s.Method(name) != nil { // for which it would be taken
		return p.absolute(name)
	}
	return p.reference(name)
}

// message writes a message.
func (p *printer) message(d *schema.StructDef) {
	m, err := p.known.message(d)
	if err != nil {
		p.err = err
		return
	}
	p.checkFields(m)
	name := p.use(d)
	p.declare(name, "the type "+d.FullName(), d.Span())
	p.out.WriteString("\n")
	p.doc("", d.Doc())
	fmt.Fprintf(&p.out, "message %s {\n", name)
	indent := "  "
	if d.Tag() != nil {
		fmt.Fprintf(&p.out, "  oneof %s {\n", oneofName(d))
		indent = "    "
	}
	for _, f := range d.Fields() {
		if f.Deprecated() && d.Tag() == nil && !d.Fixed() {
			fmt.Fprintf(&p.out, "  reserved %d; // %s\n", f.ID()+1, f.Name())
		}
	}
	for i := range m.fields {
		x := &m.fields[i]
		p.doc(indent, x.f.Doc())
		fmt.Fprintf(&p.out, "%s%s%s %s = %d;%s\n", indent, label(x), p.typeOf(x), x.f.Name(), x.number, note(x))
	}
	if d.Tag() != nil {
		p.out.WriteString("  }\n")
	}
	p.out.WriteString("}\n")
}

// oneofName returns a name for the members of a union that none of them has.
func oneofName(d *schema.StructDef) string {
	name := "value"
	for d.FieldByName(name) != nil {
		name += "_"
	}
	return name
}

// label returns what stands before the type of a field.
func label(x *field) string {
	switch {
	case x.listed:
		return "repeated "
	case x.present:
		return "optional "
	}
	return ""
}

// note returns what a reader of the file should know of a field.
func note(x *field) string {
	var notes []string
	switch d := x.f.Default(); {
	case x.kind == number && !x.listed && x.present && x.f.Requiredness() != schema.Optional:
		notes = append(notes, "absent: "+numberText(x.t, flatpack.DefaultBits(x.f)))
	case x.kind == text && d != nil && d.String != "":
		notes = append(notes, fmt.Sprintf("absent: %q", d.String))
	}
	if x.f.Requiredness() == schema.Required && !x.listed && x.kind != text && x.kind != blob {
		notes = append(notes, "required")
	}
	if x.f.Type().Kind() == schema.Array {
		notes = append(notes, fmt.Sprintf("%d elements or none", x.f.Type().Len()))
	}
	if n := x.f.Nested(); n != nil {
		notes = append(notes, "a FlatBuffers message "+n.Name())
	}
	if len(notes) == 0 {
		return ""
	}
	return " // " + strings.Join(notes, ", ")
}

// numberText returns a default as people write it.
func numberText(t *schema.Type, bits uint64) string {
	switch k := flatpack.KindOf(t); {
	case k == schema.Bool:
		return strconv.FormatBool(bits != 0)
	case k == schema.Float:
		return strconv.FormatFloat(float64(math.Float32frombits(uint32(bits))), 'g', -1, 32)
	case k == schema.Double:
		return strconv.FormatFloat(math.Float64frombits(bits), 'g', -1, 64)
	case k.IsUnsigned():
		return strconv.FormatUint(bits, 10)
	}
	return strconv.FormatInt(int64(bits), 10)
}

// typeOf returns the type of a field's values.
func (p *printer) typeOf(x *field) string {
	switch x.kind {
	case text:
		return "string"
	case blob:
		return "bytes"
	case number:
	default:
		return p.reference(p.use(x.t.Struct()))
	}
	if isEnum(x.t) {
		return p.reference(p.useEnum(x.t.Enum()))
	}
	switch flatpack.KindOf(x.t) {
	case schema.Bool:
		return "bool"
	case schema.Float:
		return "float"
	case schema.Double:
		return "double"
	case schema.I64:
		return "int64"
	case schema.U64:
		return "uint64"
	case schema.U8, schema.U16, schema.U32:
		return "uint32"
	}
	return "int32"
}

// enum writes an enum, whose first value must be 0.
func (p *printer) enum(e *schema.EnumDef) {
	p.out.WriteString("\n")
	p.doc("", e.Doc())
	name := p.useEnum(e)
	p.declare(name, "the enum "+e.FullName(), e.Span())
	p.checkValues(e)
	fmt.Fprintf(&p.out, "enum %s {\n", name)
	values := slices.Clone(e.Values())
	slices.SortStableFunc(values, func(a, b *schema.EnumValue) int {
		return cmp.Compare(min(uint64(a.Value), 1), min(uint64(b.Value), 1))
	})
	if len(values) == 0 || values[0].Value != 0 {
		zero := name + "_" + unspecified(e)
		p.declare(zero, "the zero of the enum "+e.FullName(), e.Span())
		fmt.Fprintf(&p.out, "  %s = 0;\n", zero)
	}
	for _, v := range values {
		p.declare(name+"_"+v.Name, "the value "+e.FullName()+"."+v.Name, v.Span)
		p.doc("  ", v.Doc)
		fmt.Fprintf(&p.out, "  %s_%s = %d;\n", name, v.Name, v.Value)
	}
	p.out.WriteString("}\n")
}
