package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Attributes: those that the language has, and those that a file declares.

var builtins = map[string]bool{
	"deprecated": true, "required": true, "key": true, "shared": true, "hash": true, "id": true, "force_align": true,
	"bit_flags": true, "original_order": true, "nested_flatbuffer": true, "csharp_partial": true, "streaming": true,
	"idempotent": true, "cpp_type": true, "cpp_ptr_type": true, "cpp_ptr_type_get": true, "cpp_str_type": true,
	"cpp_str_flex_ctor": true, "native_inline": true, "native_custom_alloc": true, "native_type": true,
	"native_type_pack_name": true, "native_default": true, "flexbuffer": true, "private": true, "offset64": true, "vector64": true,
}

// goPackage begins the attribute that names the Go package of a file.
const goPackage = "go_package="

// attribute declares an attribute, or the Go package.
func (r *resolver) attribute(n *attributeNode) {
	r.attrs[n.text] = append(r.attrs[n.text], r.unit)
	path, ok := strings.CutPrefix(n.text, goPackage)
	if !ok {
		return
	}
	if path = strings.TrimSpace(path); path == "" || strings.ContainsAny(path, " \t\\\"'`") {
		r.errorf(n.pos, codeGoPackage, "%q is no import path of Go", report.Clip(path)).
			Hint = `write attribute "go_package=example.com/shop/v1";`
		return
	}
	spec := &r.unit.headers
	if len(spec.Namespaces) == 0 {
		spec.Namespaces = []schema.Namespace{{Language: "go", Name: path, Span: r.unit.span(n.pos)}}
		return
	}
	if first := spec.Namespaces[0]; first.Name != path {
		d := r.errorf(n.pos, codeGoPackage, "the file has a second go_package")
		d.Notes = append(d.Notes, report.Note(first.Span, "the first is here"))
		d.Hint = "a file belongs to one Go package; several files may share a namespace"
	}
}

// meta is the attributes of one declaration, by name.
type meta map[string]*attribute

// checkMeta checks that attributes are declared and have values that
// attributes can have. Of several with one name the first counts.
func (r *resolver) checkMeta(list []*attribute) meta {
	if len(list) == 0 {
		return nil
	}
	m := make(meta, len(list))
	for _, a := range list {
		name := a.name.name
		if !builtins[name] && r.attrs.get(name, r.seesUnit) == nil {
			d := r.errorf(a.name.pos, codeUnknownAttribute, "the attribute %s is not declared", report.Clip(name))
			if !r.rep.Full() {
				r.unknownAttribute(d, name)
			}
		}
		if a.value != nil {
			a.value = r.attributeValue(a)
		}
		if m[name] != nil {
			r.warnf(a.name.pos, codeDuplicateAttribute, "the attribute %s is given twice, the first counts", report.Clip(name))
			continue
		}
		m[name] = a
	}
	return m
}

func (r *resolver) unknownAttribute(d *diag.Diagnostic, name string) {
	var names []string
	for b := range builtins {
		names = append(names, b)
	}
	for a, units := range r.attrs {
		if len(units) > 0 && r.seesUnit(units[0]) {
			names = append(names, a)
		}
	}
	if d.Hint = report.DidYouMean("", name, names); d.Hint == "" {
		d.Hint = "declare it before: attribute " + report.Clip(name) + ";"
	}
}

// attributeValue returns the value of an attribute, numbers in plain decimal, or
// nil if it is none: a string or an integer of 32 bits.
func (r *resolver) attributeValue(a *attribute) *valueNode {
	switch v := a.value; v.form {
	case stringForm:
		return v
	case intForm:
		n, ok := r.number(v, btInt)
		if ok {
			return &valueNode{form: intForm, text: formatInt(n), pos: v.pos}
		}
	default:
		r.errorf(v.pos, codeTypeMismatch, "the value of an attribute is a string or an integer").
			Hint = "put it in quotes"
	}
	return nil
}

// has reports whether an attribute is given.
func (m meta) has(name string) bool { return m[name] != nil }

// text returns the value of an attribute, "0" if it has none.
func (a *attribute) text() string {
	if a.value == nil {
		return "0"
	}
	return a.value.text
}

// annotations returns attributes as they stand in the schema.
func annotations(u *unit, list []*attribute) schema.Annotations {
	if len(list) == 0 {
		return nil
	}
	all := make(schema.Annotations, len(list))
	for i, a := range list {
		all[i] = schema.Annotation{Name: a.name.name, HasValue: a.value != nil, Span: u.span(a.pos)}
		if a.value != nil {
			all[i].Value = a.value.text
		}
	}
	return all
}
