package evolution

import (
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// Structs, unions, enums and their parts.

func (c *checker) compareStructs(old, new *schema.StructDef) {
	name := new.FullName()
	if o, n := kindOf(old), kindOf(new); o != n {
		c.errorf(codeKindChanged, new.Span(), old.Span(), "%s was a %s and is a %s", name, o, n)
		return
	}
	if old.Tag() != nil && old.Tag().Kind() != new.Tag().Kind() {
		c.errorf(codeBaseChanged, new.Span(), old.Span(), "the type of the union %s was %s and is %s", name, old.Tag(), new.Tag())
	}
	if new.Fixed() {
		c.layout(old, new)
		return
	}
	c.compareFields(old, new, name)
}

func kindOf(s *schema.StructDef) string {
	if s.Fixed() {
		return "struct of a fixed layout"
	}
	return s.Flavor().String()
}

// layout compares structs that have no ids: everything must stay in its place.
func (c *checker) layout(old, new *schema.StructDef) {
	for i, o := range old.Fields() {
		if i == len(new.Fields()) {
			c.errorf(codeLayoutChanged, new.Span(), o.Span(), "the field %s of the struct %s is gone", o.Name(), new.FullName())
			return
		}
		n := new.Fields()[i]
		if o.Offset() != n.Offset() || c.compareTypes(o.Type(), n.Type()) != equal {
			c.errorf(codeLayoutChanged, n.Span(), o.Span(), "the struct %s had %s %s here and has %s %s", new.FullName(), o.Type(), o.Name(), n.Type(), n.Name()).
				Hint = "structs of a fixed layout never change; declare another one"
			return
		}
		if named := new.FieldByName(o.Name()); named != nil && named != n {
			c.errorf(codeLayoutChanged, named.Span(), o.Span(), "%s of the struct %s stood at byte %d and stands at byte %d", o.Name(), new.FullName(), o.Offset(), named.Offset())
		} else if named == nil {
			c.renamed(o, n)
		}
	}
	if old.Size() != new.Size() || old.Align() != new.Align() {
		c.errorf(codeLayoutChanged, new.Span(), old.Span(), "the struct %s had %d bytes, aligned to %d, and has %d, aligned to %d",
			new.FullName(), old.Size(), old.Align(), new.Size(), new.Align())
	}
}

// compareFields compares the fields of a struct, a union, arguments or a result.
func (c *checker) compareFields(old, new *schema.StructDef, where string) {
	for _, o := range old.Fields() {
		n, named := new.FieldByID(o.ID()), new.FieldByName(o.Name())
		if named != nil && named.ID() != o.ID() {
			code := codeFieldMoved
			if new.Flavor() == schema.Union {
				code = codeValueMoved
			}
			c.errorf(code, named.Span(), o.Span(), "%s of %s had the id %d and has %d", o.Name(), where, o.ID(), named.ID())
			continue
		}
		if n == nil {
			c.deleted(o, new, where)
			continue
		}
		if c.field(o, n, where); o.Name() != n.Name() {
			c.renamed(o, n)
		}
	}
	for _, n := range new.Fields() {
		if n.Requiredness() == schema.Required && old.FieldByID(n.ID()) == nil {
			c.errorf(codeFieldRequired, n.Span(), old.Span(), "the new field %s of %s is required, which older messages do not have", n.Name(), where)
		}
	}
}

// deleted reports a field that is gone, if that matters.
func (c *checker) deleted(o *schema.Field, new *schema.StructDef, where string) {
	switch {
	case new.Flavor() == schema.Union:
		c.warnf(codeValueDeleted, new.Span(), o.Span(), "%s of the union %s is gone", o.Name(), where)
	case c.format == FlatBuffers:
		c.errorf(codeFieldDeleted, new.Span(), o.Span(), "the field %s of %s is gone", o.Name(), where).
			Hint = "keep it as deprecated: its slot must stay taken"
	case o.Requiredness() == schema.Required:
		c.errorf(codeFieldDeleted, new.Span(), o.Span(), "the required field %s of %s is gone, which older readers need", o.Name(), where)
	}
}

func (c *checker) renamed(o, n *schema.Field) {
	c.warnf(codeFieldRenamed, n.Span(), o.Span(), "the field %s is called %s now", o.Name(), n.Name()).
		Hint = "its bytes stay the same, its JSON and generated code do not"
}

// field compares two fields of one id.
func (c *checker) field(o, n *schema.Field, where string) {
	switch c.compareTypes(o.Type(), n.Type()) {
	case different:
		c.errorf(codeTypeChanged, n.Span(), o.Span(), "%s of %s had the type %s and has %s", n.Name(), where, typeName(o.Type()), typeName(n.Type()))
		return
	case sameBytes:
		c.warnf(codeTypeNameChanged, n.Span(), o.Span(), "%s of %s had the type %s and has %s, which has the same bytes", n.Name(), where, typeName(o.Type()), typeName(n.Type()))
	}
	switch was, is := o.Requiredness() == schema.Required, n.Requiredness() == schema.Required; {
	case is && !was:
		c.errorf(codeFieldRequired, n.Span(), o.Span(), "%s of %s is required now, and older messages may lack it", n.Name(), where)
	case was && !is:
		c.warnf(codeFieldOptional, n.Span(), o.Span(), "%s of %s is no longer required, and older readers refuse messages without it", n.Name(), where)
	}
	if o.Key() != n.Key() {
		c.warnf(codeKeyChanged, n.Span(), o.Span(), "%s of %s %s the key, by which vectors are sorted", n.Name(), where, map[bool]string{true: "is now", false: "is no longer"}[n.Key()])
	}
	c.defaults(o, n, where)
}

// defaults compares what an absent field is read as.
func (c *checker) defaults(o, n *schema.Field, where string) {
	was, is := c.defaultOf(o), c.defaultOf(n)
	if was == is {
		return
	}
	severity := diag.Warning
	if c.format == FlatBuffers {
		severity = diag.Error // what has its default is left out
	}
	c.add(severity, codeDefaultChanged, n.Span(), o.Span(), "the default of %s of %s was %s and is %s", n.Name(), where, was, is)
}

// defaultOf renders a default. What is absent from a FlatBuffer is its zero, or
// null.
func (c *checker) defaultOf(f *schema.Field) string {
	v := f.Default()
	zero := c.format == FlatBuffers && f.Type().InlineSize() > 0 && f.Type().Kind() != schema.Struct
	switch {
	case v == nil && zero && f.Requiredness() != schema.Optional:
		return "0"
	case v == nil:
		return "none"
	case zero:
		return number(v)
	}
	return render(v)
}

func number(v *schema.Value) string {
	switch {
	case v.Kind == schema.BoolValue && v.Bool:
		return "1"
	case v.Kind == schema.FloatValue && v.Float != 0:
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	}
	return strconv.FormatInt(v.Int, 10)
}

// render renders a value, so that equal values have equal text.
func render(v *schema.Value) string {
	list := func(open, end string, n int, part func(i int) string) string {
		text := open
		for i := range n {
			if i > 0 {
				text += ", "
			}
			if len(text) > maxRendered {
				return text + "…" + end
			}
			text += part(i)
		}
		return text + end
	}
	switch v.Kind {
	case schema.BoolValue:
		return strconv.FormatBool(v.Bool)
	case schema.FloatValue:
		if math.IsNaN(v.Float) {
			return "nan"
		}
		return strconv.FormatFloat(v.Float, 'g', -1, 64)
	case schema.StringValue:
		return strconv.Quote(v.String)
	case schema.ListValue:
		return list("[", "]", len(v.List), func(i int) string { return render(v.List[i]) })
	case schema.MapValue:
		return list("{", "}", len(v.Map), func(i int) string { return render(v.Map[i].Key) + ": " + render(v.Map[i].Value) })
	case schema.StructValue:
		return list("{", "}", len(v.Fields), func(i int) string { return v.Fields[i].Field.Name() + ": " + render(v.Fields[i].Value) })
	}
	return strconv.FormatInt(v.Int, 10)
}

// maxRendered bounds the text of a default; defaults that differ only behind it
// count as equal.
const maxRendered = 4096

func (c *checker) compareEnums(old, new *schema.EnumDef) {
	name := new.FullName()
	if old.Base() != new.Base() {
		c.errorf(codeBaseChanged, new.Span(), old.Span(), "the values of the enum %s were %s and are %s", name, old.Base(), new.Base())
	}
	for _, o := range old.Values() {
		named := new.ByName(o.Name)
		switch n := new.ByValue(o.Value); {
		case named != nil && named.Value != o.Value:
			c.errorf(codeValueMoved, named.Span, o.Span, "%s of the enum %s was %d and is %d", o.Name, name, o.Value, named.Value)
		case named != nil:
		case n != nil:
			c.warnf(codeValueRenamed, n.Span, o.Span, "%d of the enum %s was called %s and is called %s", o.Value, name, o.Name, n.Name)
		default:
			c.warnf(codeValueDeleted, new.Span(), o.Span, "%s of the enum %s is gone, and older messages may hold it", o.Name, name)
		}
	}
}

// likeness is how alike two types are.
type likeness uint8

const (
	equal     likeness = iota
	sameBytes          // they are written alike
	different
)

// compareTypes compares types, structs and enums by name.
func (c *checker) compareTypes(o, n *schema.Type) likeness {
	if o.Encoding() != n.Encoding() {
		return different
	}
	if o.Kind() != n.Kind() {
		if c.format != FlatBuffers && likeBytes(o.Kind(), n.Kind()) {
			return sameBytes
		}
		return different
	}
	switch o.Kind() {
	case schema.List, schema.Set:
		return c.compareTypes(o.Elem(), n.Elem())
	case schema.Map:
		return max(c.compareTypes(o.Key(), n.Key()), c.compareTypes(o.Elem(), n.Elem()))
	case schema.Array:
		if o.Len() != n.Len() {
			return different
		}
		return c.compareTypes(o.Elem(), n.Elem())
	case schema.Struct:
		if o.Struct().FullName() != n.Struct().FullName() {
			return different
		}
	case schema.Enum:
		switch {
		case o.Enum().FullName() == n.Enum().FullName():
		case c.format == FlatBuffers:
			return different
		default:
			return sameBytes
		}
	}
	return equal
}

// likeBytes reports whether Thrift and Protobuf write two kinds alike.
func likeBytes(a, b schema.Kind) bool {
	pair := func(x, y schema.Kind) bool { return a == x && b == y || a == y && b == x }
	return pair(schema.Enum, schema.I32) || pair(schema.String, schema.Binary)
}

// typeName renders a type with the full names of what it is made of.
func typeName(t *schema.Type) string {
	switch t.Kind() {
	case schema.Struct:
		return t.Struct().FullName()
	case schema.Enum:
		return t.Enum().FullName()
	}
	text := t.String()
	if e := t.Encoding(); e != schema.StandardEncoding {
		text += " (" + e.String() + ")"
	}
	return text
}
