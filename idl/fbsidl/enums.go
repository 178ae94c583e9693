package fbsidl

import (
	"cmp"
	"math"
	"slices"
	"strings"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Enums and unions.

func (r *resolver) enumDecl(n *enumNode) {
	e := &enumSym{unit: r.unit, ns: r.ns, node: n, base: btInt, byName: make(map[string]*enumVal, len(n.vals)), byNum: make(map[int64]*enumVal, len(n.vals))}
	if n.union {
		e.base = btUType
	}
	full := e.fullName()
	switch other, s := r.enums.get(full, r.seesEnum), r.structs.get(full, r.seesStruct); {
	case other != nil:
		r.duplicateName(n.name, full, other.unit.span(other.node.name.pos))
	case s != nil && s.node != nil:
		r.duplicateName(n.name, full, s.unit.span(s.node.name.pos))
	default:
		r.enums[full] = append(r.enums[full], e)
		r.unit.symbols = append(r.unit.symbols, e)
	}
	if n.base != nil {
		r.enumBase(e)
	}
	m := r.checkMeta(n.meta)
	if a := m["force_align"]; a != nil {
		r.attributeError(a, "force_align is only for structs")
	}
	if n.union || len(n.vals) == 0 {
		r.addVal(e, &enumVal{name: "NONE"})
	}
	for _, v := range n.vals {
		r.enumVal(e, v)
	}
	if a := m["bit_flags"]; a != nil {
		r.bitFlags(e, a)
	}
	r.checkUnique(e)
	slices.SortStableFunc(e.vals, func(a, b *enumVal) int {
		if e.base == btULong {
			return cmp.Compare(uint64(a.value), uint64(b.value))
		}
		return cmp.Compare(a.value, b.value)
	})
}

// enumBase resolves the type of an enum's values: an integer, or another enum,
// whose type it shares.
func (r *resolver) enumBase(e *enumSym) {
	t, ok := r.typeOf(e.node.base)
	switch {
	case !ok:
	case t.base.isInteger() && t.base != btBool:
		e.base = t.base
	default:
		r.errorf(e.node.base.pos, codeBadBaseType, "the values of the %s %s must be integers", e.what(), report.Clip(e.node.name.name)).
			Hint = "write byte, ubyte, short, ushort, int, uint, long or ulong"
	}
}

// enumVal gives a name its number: one more than the name before.
func (r *resolver) enumVal(e *enumSym, n *enumValNode) {
	v := &enumVal{name: n.name.name, node: n}
	if e.node.union {
		v.name = strings.ReplaceAll(v.name, ".", "_")
		r.member(v)
	}
	place := n.name.pos
	low, high := e.base.limits()
	switch last := len(e.vals) - 1; {
	case n.value != nil:
		place = n.value.pos
		var ok bool
		if v.value, ok = r.number(n.value, e.base); !ok {
			v.value = 0
			e.byName[v.name] = v
			return
		}
	case last >= 0:
		prev := e.vals[last].value
		if uint64(prev) == high && (prev >= 0 || e.base == btULong) {
			r.errorf(place, codeOutOfRange, "%s does not fit in %s", report.Clip(v.name), typeName(e.base)).
				Hint = "the value before is the greatest; the least is " + formatInt(low)
			return
		}
		v.value = prev + 1
	}
	if e.node.union && (v.value > math.MaxInt32 || v.value < math.MinInt32) {
		r.errorf(place, codeOutOfRange, "the number of a union's member must fit in 32 bits")
		return
	}
	r.checkMeta(n.meta)
	r.addVal(e, v)
}

func (r *resolver) addVal(e *enumSym, v *enumVal) {
	if first := e.byName[v.name]; first != nil {
		d := r.errorf(v.node.name.pos, codeDuplicateEnumerator, "%q stands twice in the %s %s", report.Clip(v.name), e.what(), report.Clip(e.node.name.name))
		if first.node != nil {
			d.Notes = append(d.Notes, report.Note(r.unit.span(first.node.name.pos), "first used here"))
		} else {
			d.Hint = "every union has a NONE, which says that it is not set"
		}
		return
	}
	e.byName[v.name] = v
	e.vals = append(e.vals, v)
}

// member resolves the type of a union's member: a table, a struct or string. Without an
// alias its name is that of its type.
func (r *resolver) member(v *enumVal) {
	n := v.node
	if n.typ == nil {
		v.typ = typeRef{base: btObj, strct: r.useStruct(n.name)}
		return
	}
	t, ok := r.typeOf(n.typ)
	if ok && t.base != btObj && t.base != btString {
		r.errorf(n.typ.pos, codeUnionMember, "a member of a union is a table, a struct or a string, not %s", typeName(t.base)).
			Hint = "put it in a table"
	}
	v.typ = t
}

// bitFlags turns the positions of bits into numbers.
func (r *resolver) bitFlags(e *enumSym, a *attribute) {
	if e.node.union {
		r.errorf(a.pos, codeBitFlags, "a union cannot have bit_flags")
		return
	}
	e.flags = true
	if !e.base.isUnsigned() {
		r.warnf(a.pos, codeSignedFlags, "the base type of bit_flags should be unsigned")
	}
	width := int64(8 * e.base.size())
	for _, v := range e.vals {
		if v.value < 0 || v.value >= width || !e.base.isUnsigned() && v.value == width-1 {
			place := e.node.name.pos
			if v.node != nil {
				place = v.node.name.pos
			}
			r.errorf(place, codeBitFlags, "%s has no bit %d", typeName(e.base), v.value).
				Hint = "the values of bit_flags are positions of bits, from 0"
			return
		}
		v.value = 1 << v.value
	}
}

// checkUnique checks that no two names have one number.
func (r *resolver) checkUnique(e *enumSym) {
	for _, v := range e.vals {
		first := e.byNum[v.value]
		if first == nil {
			e.byNum[v.value] = v
			continue
		}
		d := r.errorf(v.node.name.pos, codeDuplicateEnumValue, "%s and %s have the same number %d", report.Clip(first.name), report.Clip(v.name), v.value)
		if first.node != nil {
			d.Notes = append(d.Notes, report.Note(r.unit.span(first.node.name.pos), "first used here"))
		} else {
			d.Hint = "the number 0 is that of NONE"
		}
	}
}

// makeDef makes an enum, or a union without its members.
func (e *enumSym) makeDef() {
	spec := e.node.spec(e.unit, e.ns)
	if e.node.union {
		e.union = schema.NewTaggedUnion(spec, schema.Basic(kinds[e.base]))
		return
	}
	values := make([]*schema.EnumValue, len(e.vals))
	for i, v := range e.vals {
		values[i] = &schema.EnumValue{Name: v.name, Value: v.value, Span: spec.Span}
		if n := v.node; n != nil {
			values[i].Doc, values[i].Annotations, values[i].Span = n.doc, annotations(e.unit, n.meta), e.unit.span(n.name.pos)
		}
	}
	e.enum = schema.NewEnumOf(spec, values, kinds[e.base], e.flags)
}

// makeMembers completes a union.
func (e *enumSym) makeMembers() {
	fields := make([]*schema.Field, 0, len(e.vals))
	for _, v := range e.vals {
		if v.node == nil {
			continue // NONE
		}
		fields = append(fields, schema.NewField(schema.FieldSpec{
			ID: int32(v.value), Name: v.name, Type: v.typ.schemaType(), Doc: v.node.doc,
			Annotations: annotations(e.unit, v.node.meta), Span: e.unit.span(v.node.name.pos),
		}))
	}
	e.union.Complete(fields)
}
