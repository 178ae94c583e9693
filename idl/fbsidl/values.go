package fbsidl

import (
	"math"
	"strings"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
	"github.com/thrum-rpc/thrum/schema"
)

// Defaults.

// constant is the default of a field.
type constant struct {
	set   bool // a default was given
	null  bool // the scalar is optional
	int   int64
	float float64
	str   string
}

// counts reports whether the constant is other than flatc's "0", which it takes
// for no default at all.
func (c *constant) counts() bool { return c.set && c.str != "0" }

// typeName returns a type's name in the language.
func typeName(b baseType) string {
	names := [...]string{
		btNone: "nothing", btUType: "ubyte", btBool: "bool", btByte: "byte", btUByte: "ubyte", btShort: "short", btUShort: "ushort",
		btInt: "int", btUInt: "uint", btLong: "long", btULong: "ulong", btFloat: "float", btDouble: "double", btString: "string",
		btVector: "a vector", btObj: "a table or struct", btUnion: "a union", btArray: "an array", btVector64: "a vector",
	}
	return names[b]
}

// describe says what a value is.
func (v *valueNode) describe() string {
	switch v.form {
	case identForm:
		return report.Clip(v.text)
	case stringForm:
		return "a string"
	case intForm, floatForm:
		return "the number " + report.Clip(v.text)
	case emptyForm:
		return "[]"
	}
	return "the function " + report.Clip(v.text)
}

// defaultOf evaluates the default of a field.
func (r *resolver) defaultOf(f *fieldNode, t typeRef) (constant, bool) {
	c := constant{set: true}
	v := f.value
	switch {
	case v == nil:
		return constant{}, true
	case v.bad:
		return c, false
	case v.form == callForm && !t.base.isFloat():
		r.errorf(v.pos, codeTypeMismatch, "a function is no value of type %s", typeName(t.base)).
			Hint = "functions are for float and double"
		return c, false
	case t.base.isScalar():
		return r.scalarDefault(v, t)
	case t.base == btString && v.form == stringForm:
		c.str = v.text
		if c.str == "0" {
			r.warnf(v.pos, codeZeroString, `flatc takes the default "0" of a string for none`)
		}
		return c, true
	case t.base.isVector() && v.form == emptyForm:
		return c, true
	}
	d := r.errorf(v.pos, codeTypeMismatch, "%s is no default of %s", v.describe(), typeName(t.base))
	switch {
	case t.base == btString:
		d.Hint = "write it in quotes"
	case t.base.isVector():
		d.Code, d.Hint = codeVectorDefault, "a vector's default can only be []"
	case t.base == btUnion:
		d.Hint = "a union that is not set is NONE"
	default:
		d.Code, d.Hint = codeStructDefault, "only scalars, strings and vectors have defaults"
	}
	return c, false
}

// scalarDefault evaluates the default of a number, a bool or an enum.
func (r *resolver) scalarDefault(v *valueNode, t typeRef) (c constant, ok bool) {
	c.set = true
	named := v.form == identForm || v.form == stringForm
	switch {
	case v.form == emptyForm, v.form == floatForm && !t.base.isFloat():
		r.errorf(v.pos, codeTypeMismatch, "%s is no value of type %s", v.describe(), typeName(t.base))
		return c, false
	case v.form == stringForm && !v.plain:
		r.errorf(v.pos, codeTypeMismatch, "a number's string must be ASCII without escapes")
		return c, false
	case named && t.base == btBool && (v.text == "true" || v.text == "false"):
		if v.text == "true" {
			c.int = 1
		}
		return c, true
	case named && v.text == "null":
		c.null = true
		return c, true
	case named && t.base.isInteger() && t.base != btBool && v.text != "" && syntax.IsLetter(v.text[0]):
		c.int, ok = r.enumerators(v, t)
		return c, ok
	case t.base.isFloat():
		if c.float, ok = r.float(v); ok {
			r.checkInfinite(v, t, c.float)
		}
		return c, ok
	}
	if v.form == stringForm {
		v.text = strings.TrimRight(v.text, " ")
	}
	c.int, ok = r.number(v, t.base)
	if ok && t.base == btBool && c.int > 1 {
		r.warnf(v.pos, codeBoolNumber, "the number %d is read as true", c.int).Hint = "write true or false"
	}
	return c, ok
}

// checkInfinite warns of a number that is too large for its type.
func (r *resolver) checkInfinite(v *valueNode, t typeRef, f float64) {
	large := math.IsInf(f, 0) || t.base == btFloat && !math.IsNaN(f) && math.IsInf(float64(float32(f)), 0)
	if large && !strings.Contains(strings.ToLower(v.text), "inf") {
		r.warnf(v.pos, codeInfiniteFloat, "the number %s is infinite as a %s", report.Clip(v.text), typeName(t.base))
	}
}

// enumerators returns the number of a name of the type's enum, or of several
// that stand in a string with blanks between them. For a plain integer
// each has its enum's name in front, which only a string can hold.
func (r *resolver) enumerators(v *valueNode, t typeRef) (int64, bool) {
	var bits int64
	for _, word := range strings.Split(v.text, " ") {
		e, name := t.enum, word
		if e == nil {
			qualifier, last, dot := strings.Cut(word, ".")
			if !dot {
				r.errorf(v.pos, codeTypeMismatch, "expected a value of type %s, found %s", typeName(t.base), report.Clip(word)).
					Hint = `a name of an enum is written in quotes, as "Color.Red"`
				return 0, false
			}
			if e, name = r.lookupEnum(qualifier), last; e == nil {
				r.errorf(v.pos, codeUnknownEnumerator, "the enum %s is not declared", report.Clip(qualifier))
				return 0, false
			}
		}
		val := e.byName[name]
		if val == nil {
			r.unknownEnumerator(v, e, name)
			return 0, false
		}
		bits |= val.value
	}
	if !t.base.inRange(bits) {
		r.errorf(v.pos, codeOutOfRange, "%s does not fit in %s", report.Clip(v.text), typeName(t.base))
		return 0, false
	}
	return bits, true
}

func (r *resolver) unknownEnumerator(v *valueNode, e *enumSym, name string) {
	d := r.errorf(v.pos, codeUnknownEnumerator, "the %s %s has no value %s", e.what(), report.Clip(e.node.name.name), report.Clip(name))
	if r.rep.Full() {
		return
	}
	names := make([]string, 0, len(e.vals))
	for _, val := range e.vals {
		names = append(names, val.name)
	}
	if _, last := splitName(name); e.byName[last] != nil {
		d.Hint = "write " + report.Clip(last)
		return
	}
	d.Hint = report.DidYouMean("", name, names)
}

// value returns the default in the schema, nil if there is none.
func (f *fieldSym) value() *schema.Value {
	c := &f.def
	if !c.set || c.null {
		return nil
	}
	v := &schema.Value{Span: f.owner.unit.span(f.node.value.pos)}
	switch t := f.typ; {
	case t.base == btString:
		v.Kind, v.String = schema.StringValue, c.str
	case t.base.isVector():
		v.Kind = schema.ListValue
	case t.base.isFloat():
		v.Kind, v.Float = schema.FloatValue, c.float
	case t.enum != nil:
		v.Kind, v.Int, v.Enumerator = schema.EnumeratorValue, c.int, t.enum.enum.ByValue(c.int)
	case t.base == btBool:
		v.Kind, v.Bool = schema.BoolValue, c.int != 0
	default:
		v.Kind, v.Int = schema.IntValue, c.int
	}
	return v
}
