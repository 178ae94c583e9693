package thriftidl

import (
	"strconv"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// References from values to constants and enumerators.

func formatInt(i int64) string { return strconv.FormatInt(i, 10) }

// reference evaluates a name: a constant, an enumerator as Enum.NAME or, where
// an enum is wanted, NAME alone; each perhaps with an included file in front.
func (e *evaluator) reference(n *valueNode, t *schema.Type, level int) *schema.Value {
	if sym := e.r.lookupConst(e.unit, n.name); sym != nil {
		v := e.constant(sym, n, t, level)
		if v != nil {
			v.Const = sym.c
		}
		return v
	}
	enum, value, known := e.enumerator(n, t)
	switch {
	case value != nil:
		return e.enumValue(enum, value, n, t)
	case known:
		return nil
	}
	e.unknownConstant(n, t)
	return nil
}

// enumerator looks for the enumerator that n names. known is set if the name
// was understood, even though it has no such enumerator.
func (e *evaluator) enumerator(n *valueNode, t *schema.Type) (enum *schema.EnumDef, v *schema.EnumValue, known bool) {
	qualifier, last := splitName(n.name.name)
	var named *schema.EnumDef
	if qualifier != "" {
		if sym := e.r.lookupType(e.unit, ident{name: qualifier, pos: n.name.pos}); sym != nil {
			if st := e.r.symType(sym); st != nil {
				named = st.Enum()
			}
		}
	}
	if named != nil && named.ByName(last) != nil {
		return named, named.ByName(last), true
	}
	// The Apache compiler looks at the last part only where an enum is wanted.
	if t.Enum() != nil {
		if v := t.Enum().ByName(last); v != nil {
			e.r.warnf(e.unit, n.pos, codeUnqualifiedEnum, "%s is read as %s.%s", report.Clip(n.name.name), report.Clip(t.Enum().Name()), report.Clip(last)).
				Hint = "write " + e.qualified(t.Enum()) + "." + last
			return t.Enum(), v, true
		}
	}
	if named == nil {
		return nil, nil, false
	}
	if e.r.rep.Full() {
		e.errorf(n.pos, codeUnknownConstant, "")
		return named, nil, true
	}
	names := make([]string, 0, len(named.Values()))
	for _, v := range named.Values() {
		names = append(names, v.Name)
	}
	e.errorf(n.pos, codeUnknownConstant, "the enum %s has no %s", report.Clip(qualifier), report.Clip(last)).Hint = report.DidYouMean(report.Clip(qualifier)+".", last, names)
	return named, nil, true
}

// qualified returns the name of an enum as this file has to write it.
func (e *evaluator) qualified(enum *schema.EnumDef) string {
	for _, inc := range e.unit.includes {
		if enum.File() == inc.unit.file && enum.File() != e.unit.file {
			return inc.alias + "." + enum.Name()
		}
	}
	return enum.Name()
}

// enumValue converts an enumerator to t: its enum, or a number.
func (e *evaluator) enumValue(enum *schema.EnumDef, v *schema.EnumValue, n *valueNode, t *schema.Type) *schema.Value {
	switch k := t.Kind(); {
	case k == schema.Enum && t.Enum() == enum:
		return &schema.Value{Kind: schema.EnumeratorValue, Int: v.Value, Enumerator: v}
	case t.Enum() != nil && t.Enum() != enum:
		e.mismatch(n.pos, "one of the enum "+report.Clip(enum.Name()), t)
		return nil
	case k.IsInteger() || k == schema.Double || k == schema.Float:
		return e.integer(v.Value, n.pos, t)
	}
	e.mismatch(n.pos, "one of the enum "+report.Clip(enum.Name()), t)
	return nil
}

func (e *evaluator) unknownConstant(n *valueNode, t *schema.Type) {
	d := e.errorf(n.pos, codeUnknownConstant, "the constant %s is not declared", report.Clip(n.name.name))
	if e.r.rep.Full() {
		return
	}
	switch name := n.name.name; {
	case t.Kind() == schema.Bool && (name == "True" || name == "TRUE" || name == "yes"):
		d.Hint = "did you mean true?"
	case t.Kind() == schema.Bool && (name == "False" || name == "FALSE" || name == "no"):
		d.Hint = "did you mean false?"
	case t.Kind() == schema.Enum && isSimple(name):
		names := make([]string, 0, len(t.Enum().Values()))
		for _, v := range t.Enum().Values() {
			names = append(names, v.Name)
		}
		d.Hint = report.DidYouMean(e.qualified(t.Enum())+".", name, names)
	case t.Kind() == schema.String && isSimple(name):
		d.Hint = "a string stands in quotes"
	default:
		d.Hint = e.r.unknownHint(e.unit, name, func(s *scope) []string {
			names := make([]string, 0, len(s.consts))
			for n := range s.consts {
				names = append(names, n)
			}
			return names
		})
	}
}

// isSimple reports whether name has no dots.
func isSimple(name string) bool {
	qualifier, _ := splitName(name)
	return qualifier == ""
}

// constant returns the value of a constant as a value of type t.
func (e *evaluator) constant(sym *constSym, n *valueNode, t *schema.Type, level int) *schema.Value {
	if sym.state == unresolved && level >= maxValueDepth {
		e.errorf(n.pos, codeNestingDepth, "the value is nested more than %d levels deep, references counted", maxValueDepth)
		return nil
	}
	v := e.r.constValue(sym, level+1)
	if v == nil {
		return nil
	}
	if sameType(sym.c.Type(), t) {
		// The parts are shared: values never change.
		if e.size += sym.size; e.size > maxValueSize {
			e.spend(0, n.pos)
			return nil
		}
		c := *v
		return &c
	}
	return e.convert(v, sym.c.Type(), n, t)
}

// sameType reports whether the values of two types look the same. Types are
// bounded in size, so the recursion is.
func sameType(a, b *schema.Type) bool {
	if a.Kind() != b.Kind() || a.Struct() != b.Struct() || a.Enum() != b.Enum() {
		return false
	}
	if a.Key() != nil && !sameType(a.Key(), b.Key()) {
		return false
	}
	return a.Elem() == nil || sameType(a.Elem(), b.Elem())
}

// convert converts a constant's value of type from to type t, in the place n.
func (e *evaluator) convert(v *schema.Value, from *schema.Type, n *valueNode, t *schema.Type) *schema.Value {
	if !e.spend(1, n.pos) {
		return nil
	}
	k := t.Kind()
	switch v.Kind {
	case schema.BoolValue:
		return e.boolean(v.Bool, n.pos, t)
	case schema.IntValue:
		return e.integer(v.Int, n.pos, t)
	case schema.FloatValue:
		return e.float(v.Float, n.pos, t)
	case schema.StringValue:
		return e.str(v.String, n.pos, t)
	case schema.EnumeratorValue:
		if v.Enumerator != nil {
			return e.enumValue(from.Enum(), v.Enumerator, n, t)
		}
		if k != schema.Enum {
			return e.integer(v.Int, n.pos, t)
		}
	case schema.ListValue:
		if k == schema.List || k == schema.Set {
			return e.convertList(v, from, n, t)
		}
	case schema.MapValue:
		if k == schema.Map {
			return e.convertMap(v, from, n, t)
		}
	}
	e.mismatch(n.pos, "one of type "+report.Clip(from.String()), t)
	return nil
}

func (e *evaluator) convertList(v *schema.Value, from *schema.Type, n *valueNode, t *schema.Type) *schema.Value {
	out := &schema.Value{Kind: schema.ListValue, List: make([]*schema.Value, 0, len(v.List))}
	for _, x := range v.List {
		c := e.convert(x, from.Elem(), n, t.Elem())
		if c == nil {
			return nil
		}
		c.Span = x.Span
		out.List = append(out.List, c)
	}
	if t.Kind() == schema.Set && !e.unique(out, n.pos, nil) {
		return nil
	}
	return out
}

func (e *evaluator) convertMap(v *schema.Value, from *schema.Type, n *valueNode, t *schema.Type) *schema.Value {
	out := &schema.Value{Kind: schema.MapValue, Map: make([]schema.MapEntry, 0, len(v.Map))}
	for _, x := range v.Map {
		key := e.convert(x.Key, from.Key(), n, t.Key())
		val := e.convert(x.Value, from.Elem(), n, t.Elem())
		if key == nil || val == nil {
			return nil
		}
		key.Span, val.Span = x.Key.Span, x.Value.Span
		out.Map = append(out.Map, schema.MapEntry{Key: key, Value: val})
	}
	return out
}
