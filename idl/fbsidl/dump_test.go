package fbsidl_test

import (
	"fmt"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/schema"
)

// dumper prints a schema, all that it says.
type dumper struct {
	strings.Builder
	indent string
	binary bool // only what a binary schema says
}

func dump(f *schema.File) string {
	var d dumper
	d.file(f, map[*schema.File]bool{})
	return d.String()
}

func (d *dumper) line(format string, args ...any) {
	fmt.Fprintf(d, d.indent+format+"\n", args...)
}

func (d *dumper) in(f func()) {
	old := d.indent
	d.indent += "  "
	f()
	d.indent = old
}

func (d *dumper) file(f *schema.File, seen map[*schema.File]bool) {
	if seen[f] {
		return
	}
	seen[f] = true
	d.line("file %s%s", f.Path(), d.annotations(f.Annotations()))
	for _, n := range f.Namespaces() {
		d.line("namespace %s %s", n.Language, n.Name)
	}
	for _, i := range f.Includes() {
		d.line("include %s as %s", i.Path, i.Alias)
	}
	if f.Root() != nil {
		d.line("root %s", f.Root().FullName())
	}
	d.line("identifier %q extension %q", f.Identifier(), f.Extension())
	for _, e := range f.Enums() {
		d.enum(e)
	}
	for _, s := range f.Structs() {
		d.strct(s)
	}
	for _, s := range f.Services() {
		d.service(s)
	}
	for _, i := range f.Includes() {
		d.file(i.File, seen)
	}
}

func (d *dumper) doc(text string) {
	if text != "" {
		d.line("doc %q", text)
	}
}

// annotations prints attributes; of a binary schema they are in another order,
// without those that are given twice, and 0 may be no value.
func (d *dumper) annotations(list schema.Annotations) string {
	var all []string
	seen := map[string]bool{}
	for _, a := range list {
		text := " @" + a.Name
		if a.HasValue && !(d.binary && a.Value == "0") {
			text += fmt.Sprintf("=%q", a.Value)
		}
		if d.binary && (seen[a.Name] || a.Name == "cpp_ptr_type") {
			continue
		}
		seen[a.Name] = true
		all = append(all, text)
	}
	if d.binary {
		slices.Sort(all)
	}
	return strings.Join(all, "")
}

func (d *dumper) enum(e *schema.EnumDef) {
	d.line("enum %s : %s flags=%t%s", e.FullName(), e.Base(), e.Flags(), d.annotations(e.Annotations()))
	d.in(func() {
		d.doc(e.Doc())
		for _, v := range e.Values() {
			d.line("%s = %d%s", v.Name, v.Value, d.annotations(v.Annotations))
			d.in(func() { d.doc(v.Doc) })
		}
	})
}

func (d *dumper) strct(s *schema.StructDef) {
	switch {
	case s.Tag() != nil:
		d.line("union %s : %s%s", s.FullName(), s.Tag(), d.annotations(s.Annotations()))
	case s.Fixed():
		d.line("struct %s size=%d align=%d%s", s.FullName(), s.Size(), s.Align(), d.annotations(s.Annotations()))
	default:
		d.line("table %s%s", s.FullName(), d.annotations(s.Annotations()))
	}
	d.in(func() {
		d.doc(s.Doc())
		for _, f := range s.Fields() {
			d.field(f)
		}
	})
}

func typeText(t *schema.Type) string {
	text := t.String()
	if e := t.Encoding(); e != schema.StandardEncoding {
		text += "/" + e.String()
	}
	return text
}

func (d *dumper) field(f *schema.Field) {
	text := fmt.Sprintf("%d: %s %s %s", f.ID(), f.Requiredness(), typeText(f.Type()), f.Name())
	if f.Struct().Fixed() {
		text += fmt.Sprintf(" at %d+%d", f.Offset(), f.Padding())
	}
	if v := f.Default(); v != nil && !(d.binary && (valueText(v) == zeroOf(v) || v.Kind == schema.StringValue && f.Requiredness() != schema.Default)) {
		text += " = " + valueText(v)
	}
	if f.Key() {
		text += " key"
	}
	if f.Deprecated() {
		text += " deprecated"
	}
	if n := f.Nested(); n != nil {
		text += " nested " + n.FullName()
	}
	if f.Flex() {
		text += " flex"
	}
	d.line("%s%s", text, d.annotations(f.Annotations()))
	d.in(func() { d.doc(f.Doc()) })
}

// zeroOf returns how the default of all that has none is printed.
func zeroOf(v *schema.Value) string {
	switch v.Kind {
	case schema.BoolValue:
		return "false"
	case schema.EnumeratorValue:
		if v.Int == 0 {
			return valueText(v)
		}
	}
	return "0"
}

func valueText(v *schema.Value) string {
	switch v.Kind {
	case schema.BoolValue:
		return fmt.Sprint(v.Bool)
	case schema.FloatValue:
		return fmt.Sprint(v.Float)
	case schema.StringValue:
		return fmt.Sprintf("%q", v.String)
	case schema.ListValue:
		return "[]"
	case schema.EnumeratorValue:
		name := "?"
		if v.Enumerator != nil {
			name = v.Enumerator.Name
		}
		return fmt.Sprintf("%d (%s)", v.Int, name)
	}
	return fmt.Sprint(v.Int)
}

func (d *dumper) service(s *schema.Service) {
	d.line("service %s%s", s.FullName(), d.annotations(s.Annotations()))
	d.in(func() {
		d.doc(s.Doc())
		for _, m := range s.Methods() {
			text := ""
			if st := m.Stream(); st != nil {
				text = fmt.Sprintf(" stream %d", st.Kind)
			}
			d.line("%s(%s) %s%s%s", m.Name(), m.Args().Fields()[0].Type(), m.Returns(), text, d.annotations(m.Annotations()))
			d.in(func() { d.doc(m.Doc()) })
		}
	})
}
