package fbsidl

import (
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Tables, structs and what must hold for their fields.

// fieldSym is a field. A union, and a vector of unions, has a second field in
// front of it, of which node is nil: its type.
type fieldSym struct {
	owner    *structSym
	node     *fieldNode
	name     string
	typ      typeRef
	meta     meta
	def      constant
	id       int
	explicit bool // the id was given
	required bool
	optional bool
	nested   *structSym
	sibling  *fieldSym // of a union's field its type, and the reverse
}

func (r *resolver) structDecl(n *structNode) {
	s := r.declareStruct(n)
	if s == nil {
		s = &structSym{unit: r.unit, ns: r.ns, name: n.name.name, node: n, fixed: n.fixed, byName: make(map[string]*fieldSym), align: 1}
	} else {
		r.unit.symbols = append(r.unit.symbols, s)
	}
	m := r.checkMeta(n.meta)
	for _, f := range n.fields {
		r.field(s, f)
	}
	if s.fixed {
		r.finishStruct(s, m)
	} else {
		r.numberFields(s)
	}
	r.checkClashes(s)
	s.complete = true
}

// finishStruct checks a struct as a whole.
func (r *resolver) finishStruct(s *structSym, m meta) {
	if a := m["force_align"]; a != nil {
		v, ok, fits := parseInt(a.text(), false)
		if !ok || !fits || v < int64(s.align) || v > 32 || v&(v-1) != 0 {
			r.errorf(a.pos, codeForceAlign, "force_align must be a power of two from %d, the struct's natural alignment, to 32", s.align)
		} else {
			s.align = int(v)
		}
	}
	s.size = (s.size + s.align - 1) &^ (s.align - 1)
	for i, f := range s.fields {
		f.id = i
	}
	switch {
	case len(s.node.fields) == 0:
		r.errorf(s.node.name.pos, codeEmptyStruct, "the struct %s has no field", report.Clip(s.name)).Hint = "only a table can be empty"
	case s.size > maxStructSize:
		r.errorf(s.node.name.pos, codeStructTooLarge, "the struct %s takes more than %d bytes", report.Clip(s.name), maxStructSize).
			Hint = "use a table with vectors"
	}
}

func (r *resolver) field(s *structSym, n *fieldNode) {
	if other := r.lookupStruct(n.name.name); other != nil && !r.inFull {
		d := r.errorf(n.name.pos, codeFieldNamedAsType, "the field %s has the name of a type", report.Clip(n.name.name))
		if other.node != nil {
			d.Notes = append(d.Notes, report.Note(other.unit.span(other.node.name.pos), "declared here"))
		}
	}
	f := &fieldSym{owner: s, node: n, name: n.name.name}
	typ, ok := r.fieldType(s, n.typ)
	f.typ = typ
	f.meta = r.checkMeta(n.meta)
	if !ok {
		s.byName[f.name] = f
		return
	}
	if typ.base == btUnion || typ.base == btVector && typ.elem == btUnion {
		kind := &fieldSym{owner: s, name: f.name + "_type", sibling: f, typ: typeRef{base: btUType, enum: typ.enum}}
		if typ.base == btVector {
			kind.typ.base, kind.typ.elem = btVector, btUType
		}
		f.sibling = kind
		if !r.addField(s, kind, n) {
			return
		}
	}
	if !r.addField(s, f, n) {
		return
	}
	if f.def, ok = r.defaultOf(n, typ); !ok {
		return
	}
	if s.fixed && (f.def.int != 0 || f.def.float != 0 || f.def.null) {
		r.errorf(n.value.pos, codeStructDefault, "a field of a struct has no default").Hint = "structs hold all their fields; use a table"
	}
	r.checkAttributes(f)
}

// addField adds f, which n declares.
func (r *resolver) addField(s *structSym, f *fieldSym, n *fieldNode) bool {
	if first := s.byName[f.name]; first != nil {
		d := r.errorf(n.name.pos, codeDuplicateField, "the %s %s has two fields named %q", s.what(), report.Clip(s.name), report.Clip(f.name))
		place := first
		if first.node == nil {
			place = first.sibling
		}
		d.Notes = append(d.Notes, report.Note(r.unit.span(place.node.name.pos), "first used here"))
		if f.node == nil || first.node == nil {
			d.Hint = "a union has a second field for its type, with _type behind its name"
		}
		return false
	}
	s.byName[f.name] = f
	s.fields = append(s.fields, f)
	if s.fixed {
		size, align := f.typ.inline()
		s.align = max(s.align, align)
		s.size = min((s.size+align-1)&^(align-1)+size, 2*maxStructSize)
	}
	return true
}

// fieldType resolves the type of a field, and checks that it may stand there.
func (r *resolver) fieldType(s *structSym, n *typeNode) (typeRef, bool) {
	t, ok := r.typeOf(n)
	if !ok || !s.fixed {
		if ok && t.base == btArray {
			r.errorf(n.pos, codeArrayInTable, "an array stands in a table").Hint = "put it in a struct, or use a vector without the length"
			return t, false
		}
		return t, ok
	}
	elem := t
	if t.base == btArray {
		elem = t.element()
	}
	switch {
	case elem.base.isScalar():
		return t, true
	case elem.base == btObj && elem.strct.node == nil:
		r.later = append(r.later, r.incomplete(n, elem.strct))
	case elem.base == btObj && elem.strct.fixed && !elem.strct.complete:
		r.errorf(n.pos, codeIncompleteType, "the struct %s contains itself", report.Clip(s.name)).Hint = "only tables can"
	case elem.base == btObj && elem.strct.fixed:
		return t, true
	default:
		d := r.errorf(n.pos, codeStructField, "a struct cannot hold %s", structCannotHold(t))
		d.Hint = "it holds scalars, structs and arrays of these; use a table for the rest"
	}
	return t, false
}

func structCannotHold(t typeRef) string {
	switch t.base {
	case btObj:
		return "a table"
	case btArray:
		return "an array of " + structCannotHold(t.element()) + "s"
	}
	return strings.TrimPrefix("a "+typeName(t.base), "a a ")
}

// incomplete reports, when all is declared, that a struct holds something that
// was not when it was used.
func (r *resolver) incomplete(n *typeNode, s *structSym) func() {
	unit := r.unit
	return func() {
		s := s.actual()
		if s.node == nil {
			return // which has been reported
		}
		d := r.rep.Errorf(unit.span(n.pos), codeIncompleteType, "%s is used in a struct before it is declared", report.Clip(n.name.name))
		d.Notes = append(d.Notes, report.Note(s.unit.span(s.node.name.pos), "declared here"))
		d.Hint = "move its declaration up"
	}
}

// typeOf resolves the use of a type.
func (r *resolver) typeOf(n *typeNode) (typeRef, bool) {
	t := r.named(n.name)
	if !n.series {
		return t, true
	}
	series := typeRef{base: btVector, elem: t.base, strct: t.strct, enum: t.enum}
	if n.length == nil {
		return series, true
	}
	length, ok, fits := parseInt(n.length.text, false)
	if !ok || !fits || length < 1 || length > 65535 {
		r.errorf(n.length.pos, codeArrayLength, "an array cannot have the length %s", report.Clip(n.length.text)).Hint = "it has 1 to 65535 elements"
		return series, false
	}
	series.base, series.length = btArray, uint16(length)
	return series, true
}

// named finds a type by its name.
func (r *resolver) named(name ident) typeRef {
	if b, ok := typeWords[name.name]; ok {
		return typeRef{base: b}
	}
	if e := r.lookupEnum(name.name); e != nil {
		if e.node.union {
			return typeRef{base: btUnion, enum: e}
		}
		return typeRef{base: e.base, enum: e}
	}
	return typeRef{base: btObj, strct: r.useStruct(name)}
}

// numberFields gives the fields of a table their ids, and orders them by these.
func (r *resolver) numberFields(s *structSym) {
	given, bad := 0, false
	for i, f := range s.fields {
		f.id = i
		if f.node == nil {
			f = f.sibling
		}
		a := f.meta["id"]
		if a == nil {
			continue
		}
		given++
		v, ok, fits := parseInt(a.text(), false)
		if !ok || !fits || v < 0 || v > 65535 {
			if s.fields[i].node != nil {
				r.errorf(a.pos, codeFieldID, "%q is no field id", report.Clip(a.text())).Hint = "ids are numbers from 0"
			}
			bad = true
			continue
		}
		if s.fields[i].node == nil {
			if v == 0 {
				r.errorf(a.pos, codeFieldID, "the union %s cannot have the id 0", report.Clip(f.name)).
					Hint = "a union takes two ids: the one before its own is that of its type"
				bad = true
			}
			v--
		}
		s.fields[i].id, s.fields[i].explicit = int(v), true
	}
	switch {
	case len(s.fields) > maxFields:
		r.errorf(s.node.name.pos, codeTooManyFields, "the table %s has %d fields, at most %d are possible", report.Clip(s.name), len(s.fields), maxFields)
	case given == 0 || bad:
	case given < len(s.fields):
		r.missingIDs(s)
	default:
		r.sortFields(s)
	}
}

func (r *resolver) missingIDs(s *structSym) {
	var without, with *fieldSym
	for _, f := range s.fields {
		switch {
		case f.explicit && with == nil:
			with = f
		case !f.explicit && without == nil && f.node != nil:
			without = f
		}
	}
	if without == nil || with == nil {
		return
	}
	if with.node == nil {
		with = with.sibling
	}
	d := r.errorf(without.node.name.pos, codeFieldID, "the field %s has no id", report.Clip(without.name))
	d.Hint = "either all fields of a table have one or none"
	d.Notes = append(d.Notes, report.Note(r.unit.span(with.node.name.pos), "this one has an id"))
}

// sortFields orders the fields by their ids, which must leave no gap.
func (r *resolver) sortFields(s *structSym) {
	sorted := make([]*fieldSym, len(s.fields))
	for _, f := range s.fields {
		place := f
		if f.node == nil {
			place = f.sibling
		}
		switch {
		case f.id >= len(sorted):
			d := r.errorf(place.meta["id"].pos, codeFieldID, "the id %d of %s leaves a gap", f.id, report.Clip(f.name))
			d.Hint = "the ids are 0 to " + formatInt(int64(len(sorted)-1)) + "; keep a removed field as deprecated"
			return
		case sorted[f.id] != nil:
			d := r.errorf(place.meta["id"].pos, codeFieldID, "the id %d is used twice", f.id)
			first := sorted[f.id]
			if first.node == nil {
				first = first.sibling
			}
			d.Notes = append(d.Notes, report.Note(r.unit.span(first.node.name.pos), "first used by %s here", report.Clip(sorted[f.id].name)))
			if f.sibling != nil || first.sibling != nil {
				d.Hint = "a union takes two ids: its own and the one before, for its type"
			}
			return
		}
		sorted[f.id] = f
	}
	s.fields = sorted
}

// clashes are what code generators make of fields of a type.
var clashes = []struct {
	suffix string
	base   baseType
}{
	{"_type", btUnion}, {"Type", btUnion}, {"_length", btVector}, {"Length", btVector}, {"_byte_vector", btString}, {"ByteVector", btString},
}

// checkClashes reports fields that have the name of what is generated for others.
func (r *resolver) checkClashes(s *structSym) {
	for _, f := range s.fields {
		for _, c := range clashes {
			stem, ok := strings.CutSuffix(f.name, c.suffix)
			if !ok || stem == "" || f.typ.base == btUType {
				continue
			}
			if other := s.byName[stem]; other != nil && other.typ.base == c.base && f.node != nil {
				d := r.errorf(f.node.name.pos, codeNameClash, "the field %s clashes with what is generated for %s", report.Clip(f.name), report.Clip(stem))
				if other.node != nil {
					d.Notes = append(d.Notes, report.Note(r.unit.span(other.node.name.pos), "declared here"))
				}
			}
		}
	}
}

func (s *structSym) makeDef() {
	spec := s.node.spec(s.unit, s.ns)
	if s.fixed {
		s.def = schema.NewFixedStruct(spec, s.align)
		return
	}
	s.def = schema.NewStruct(spec, schema.PlainStruct)
}

// makeFields completes the definition. The types of unions are part of the
// fields whose types they are.
func (s *structSym) makeFields() {
	if s.made {
		return
	}
	s.made = true
	for _, f := range s.fields {
		if s.fixed && f.typ.strct != nil {
			f.typ.strct.makeFields() // which may stand in a later file of a binary schema
		}
	}
	fields := make([]*schema.Field, 0, len(s.fields))
	for _, f := range s.fields {
		if f.node == nil {
			continue
		}
		spec := schema.FieldSpec{
			ID: int32(f.id), Name: f.name, Type: f.schemaType(), Default: f.value(), Doc: f.node.doc, Deprecated: f.meta.has("deprecated"),
			Key: f.meta.has("key"), Annotations: annotations(s.unit, f.node.meta), Span: s.unit.span(f.node.name.pos),
		}
		switch {
		case f.required:
			spec.Requiredness = schema.Required
		case f.optional:
			spec.Requiredness = schema.Optional
		}
		if f.nested != nil {
			spec.Nested = f.nested.actual().def
		}
		spec.Flex = f.meta["flexbuffer"] != nil
		fields = append(fields, schema.NewField(spec))
	}
	s.def.Complete(fields)
}

func (f *fieldSym) schemaType() *schema.Type {
	t := f.typ.schemaType()
	if f.meta.has("offset64") && f.typ.base != btVector64 {
		return t.WithEncoding(schema.Offset64)
	}
	return t
}

// attributeError reports that an attribute cannot stand where it does.
func (r *resolver) attributeError(a *attribute, format string, args ...any) *diag.Diagnostic {
	return r.errorf(a.pos, codeAttribute, format, args...)
}
