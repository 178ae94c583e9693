package flatproto

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file sees to it that no two things in a .proto file have one name. Services, types and,
// other than in FlatBuffers, the values of all enums share the names of a package. JSON's names
// of fields and enum values, which come of the others, must differ too.

// named is what has a name.
type named struct {
	what string
	span diag.Span
}

// names are the names of one scope.
type names map[string]named

// take notes that what stands at span has a name, and reports whether something else has it already.
func (p *printer) take(in names, name, what, text string, span diag.Span) {
	first, taken := in[name]
	if !taken {
		in[name] = named{text, span}
		return
	}
	p.refused = append(p.refused, &diag.Diagnostic{
		Code: "proto-name", Span: span,
		Message: fmt.Sprintf("%s and %s have one %s in Protobuf: %s", first.what, text, what, name),
		Hint:    "rename one of them",
		Notes:   []diag.Note{{Span: first.span, Message: first.what + " is declared here"}},
	})
}

// declare takes a name of the package.
func (p *printer) declare(name, what string, span diag.Span) {
	p.take(p.declared, name, "name", what, span)
}

// checkFields refuses fields of one name in JSON, which protoc does even where json_name says otherwise.
func (p *printer) checkFields(m *message) {
	inJSON := names{}
	for i := range m.fields {
		f := m.fields[i].f
		p.take(inJSON, jsonName(f.Name()), "name in JSON", "the field "+m.def.Name()+"."+f.Name(), f.Span())
	}
}

// jsonName returns the name of a field in JSON, as protoc makes it.
func jsonName(name string) string {
	var b strings.Builder
	for i := range len(name) {
		switch c := name[i]; {
		case c == '_':
		case i > 0 && name[i-1] == '_':
			b.WriteString(strings.ToUpper(name[i : i+1]))
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}

// checkValues refuses values of an enum that differ in nothing but case and underscores, as protoc does.
func (p *printer) checkValues(e *schema.EnumDef) {
	inJSON := names{}
	for _, v := range e.Values() {
		p.take(inJSON, enumName(e, v.Name), "name without case", "the value "+e.Name()+"."+v.Name, v.Span)
	}
}

// enumName returns what protoc compares of the names of an enum's values. Their enum's name, which stands
// in front of them in the file, does not count.
func enumName(e *schema.EnumDef, name string) string {
	if strings.Trim(name, "_") == "" {
		name = e.Name() // which counts where nothing else is left
	}
	var b strings.Builder
	for part := range strings.SplitSeq(name, "_") {
		if part != "" {
			b.WriteString(strings.ToUpper(part[:1]) + strings.ToLower(part[1:]))
		}
	}
	return b.String()
}

// unspecified returns a name for the value 0 of an enum that has none.
func unspecified(e *schema.EnumDef) string {
	name := "UNSPECIFIED"
	for slices.ContainsFunc(e.Values(), func(v *schema.EnumValue) bool { return enumName(e, v.Name) == enumName(e, name) }) {
		name += "0"
	}
	return name
}

// reference returns how to write the name of a type where one is used. A word of the language
// is taken for itself there, unless the package stands in front.
func (p *printer) reference(name string) string {
	if !slices.Contains(words, name) {
		return name
	}
	return p.absolute(name)
}

// absolute returns the name of a type with the package in front.
func (p *printer) absolute(name string) string {
	if p.pkg == "" {
		return "." + name
	}
	return "." + p.pkg + "." + name
}

// words may begin or stand in front of a field or an argument.
var words = []string{
	"bool", "bytes", "double", "enum", "export", "extend", "extensions", "fixed32", "fixed64", "float", "group", "int32", "int64",
	"local", "map", "message", "oneof", "option", "optional", "repeated", "required", "reserved", "sfixed32", "sfixed64",
	"sint32", "sint64", "stream", "string", "uint32", "uint64",
}
