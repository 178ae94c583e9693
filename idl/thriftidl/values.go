package thriftidl

import (
	"math"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/idl/internal/syntax"
	"github.com/thrum-rpc/thrum/schema"
)

// Constant values: literals and references, converted to the type that they
// stand for.

func (r *resolver) declareConst(u *unit, n declNode) {
	node, ok := n.(*constNode)
	if !ok {
		return
	}
	sym := u.scope.consts[node.name.name]
	if sym == nil || sym.node != node {
		return
	}
	t := r.typeOf(u, node.typ)
	if t == nil {
		sym.state = failed
		return
	}
	sym.c = schema.NewConst(r.declSpec(u, &node.declBase), t)
}

func (r *resolver) completeConst(u *unit, n declNode) {
	node, ok := n.(*constNode)
	if !ok {
		return
	}
	if sym := u.scope.consts[node.name.name]; sym != nil && sym.node == node {
		r.constValue(sym, 0)
	}
}

// constValue returns the value of a constant, nil if it has failed.
func (r *resolver) constValue(sym *constSym, level int) *schema.Value {
	switch sym.state {
	case resolved:
		return sym.value
	case failed:
		return nil
	case resolving:
		name := sym.node.name
		r.errorf(sym.unit, name.pos, codeConstantCycle, "the constant %s refers to itself", report.Clip(name.name))
		sym.state = failed
		return nil
	}
	sym.state = resolving
	e := evaluator{r: r, unit: sym.unit, what: "the constant " + report.Clip(sym.node.name.name)}
	v := e.eval(sym.node.value, sym.c.Type(), level)
	if v == nil || sym.state == failed {
		sym.state = failed
		return nil
	}
	sym.c.Complete(v)
	sym.value, sym.state, sym.size = v, resolved, e.size
	return v
}

// fill evaluates a default or a structured annotation in its place.
func (r *resolver) fill(p pendingValue) {
	e := evaluator{r: r, unit: p.unit, what: p.what}
	t := p.typ
	if t == nil {
		sym := r.lookupType(p.unit, p.node.name)
		if sym == nil {
			r.warnf(p.unit, p.node.name.pos, codeUnknownAnnotation, "the annotation's struct %s is not declared", report.Clip(p.node.name.name)).
				Hint = "its values are left out"
			return
		}
		t = r.symType(sym)
		if t == nil || t.Kind() != schema.Struct {
			r.errorf(p.unit, p.node.name.pos, codeAnnotationMismatch, "%s is no struct, so it cannot be an annotation", report.Clip(p.node.name.name))
			return
		}
	}
	if v := e.eval(p.node, t, 0); v != nil {
		*p.into = *v
	}
}

// symType returns the type that a symbol declares, nil if it has failed.
func (r *resolver) symType(sym *typeSym) *schema.Type {
	switch {
	case sym.strct != nil:
		return sym.strct.Type()
	case sym.enum != nil:
		return sym.enum.Type()
	case sym.state == resolved:
		return sym.typedef.Type()
	}
	return nil
}

// evaluator evaluates one constant, default or annotation of a file.
type evaluator struct {
	r    *resolver
	unit *unit
	what string // for messages
	size int    // parts so far, with references expanded
	over bool   // the limit has been reported
}

// spend counts n values. It reports, once, that there are too many.
func (e *evaluator) spend(n int, p pos) bool {
	e.size += n
	e.r.budget -= n
	if e.size <= maxValueSize && e.r.budget >= 0 {
		return true
	}
	if !e.over {
		e.over = true
		e.r.errorf(e.unit, p, codeConstantTooLarge, "%s is too large with its references expanded", e.what).
			Hint = "at most " + itoa(maxValueSize) + " parts are allowed"
	}
	return false
}

func (e *evaluator) errorf(p pos, code, format string, args ...any) *diag.Diagnostic {
	return e.r.errorf(e.unit, p, code, format, args...)
}

// mismatch reports that a value does not fit its type.
func (e *evaluator) mismatch(p pos, found string, t *schema.Type) *diag.Diagnostic {
	if e.r.rep.Full() {
		return e.errorf(p, codeTypeMismatch, "")
	}
	wanted := report.Clip(t.String())
	if td := t.Typedef(); td != nil {
		wanted = report.Clip(td.Name()) + " (" + wanted + ")"
	}
	return e.errorf(p, codeTypeMismatch, "expected a value of type %s, found %s", wanted, found)
}

// eval evaluates n as a value of type t. It returns nil if that fails, which it
// has then reported. level counts the literals and references around it.
func (e *evaluator) eval(n *valueNode, t *schema.Type, level int) *schema.Value {
	if level > maxValueDepth {
		e.errorf(n.pos, codeNestingDepth, "the value is nested more than %d levels deep, references counted", maxValueDepth)
		return nil
	}
	if !e.spend(1, n.pos) {
		return nil
	}
	var v *schema.Value
	switch n.form {
	case intForm:
		v = e.integer(n.num, n.pos, t)
	case boolForm:
		v = e.boolean(n.num != 0, n.pos, t)
	case floatForm:
		v = e.float(n.float, n.pos, t)
	case stringForm:
		v = e.str(n.str, n.pos, t)
	case nameForm:
		v = e.reference(n, t, level)
	case listForm:
		v = e.list(n, t, level)
	case mapForm:
		v = e.mapOrStruct(n, t, level)
	case structForm:
		v = e.namedStruct(n, t, level)
	}
	if v != nil {
		v.Span = e.unit.span(n.pos)
	}
	return v
}

func (e *evaluator) integer(i int64, p pos, t *schema.Type) *schema.Value {
	switch k := t.Kind(); k {
	case schema.Bool:
		if i != 0 && i != 1 {
			e.r.warnf(e.unit, p, codeBoolNumber, "the number %d is read as true", i).Hint = "write true or false"
		}
		return &schema.Value{Kind: schema.BoolValue, Bool: i != 0}
	case schema.I8, schema.I16, schema.I32, schema.I64:
		bits := uint(8) << (k - schema.I8)
		if low := int64(-1) << (bits - 1); i < low || i > ^low {
			e.errorf(p, codeOutOfRange, "the number %d does not fit in %s", i, k).
				Hint = "it holds " + formatInt(low) + " to " + formatInt(^low)
			return nil
		}
		return &schema.Value{Kind: schema.IntValue, Int: i}
	case schema.Float, schema.Double:
		return &schema.Value{Kind: schema.FloatValue, Float: float64(i)}
	case schema.Enum:
		named := t.Enum().ByValue(i)
		if named == nil {
			if i < math.MinInt32 || i > math.MaxInt32 {
				e.errorf(p, codeOutOfRange, "the number %d does not fit in an enum", i)
				return nil
			}
			e.r.warnf(e.unit, p, codeUnknownEnumValue, "the enum %s has no name for %d", report.Clip(t.Enum().Name()), i).
				Hint = "the Apache compiler refuses this"
		}
		return &schema.Value{Kind: schema.EnumeratorValue, Int: i, Enumerator: named}
	}
	e.mismatch(p, "a number", t)
	return nil
}

func (e *evaluator) boolean(b bool, p pos, t *schema.Type) *schema.Value {
	if t.Kind() == schema.Bool {
		return &schema.Value{Kind: schema.BoolValue, Bool: b}
	}
	if k := t.Kind(); k.IsInteger() || k == schema.Float || k == schema.Double {
		i := int64(0)
		if b {
			i = 1
		}
		e.r.warnf(e.unit, p, codeBoolNumber, "%t is read as the number %d", b, i).Hint = "write the number"
		return e.integer(i, p, t)
	}
	e.mismatch(p, "a bool", t)
	return nil
}

func (e *evaluator) float(f float64, p pos, t *schema.Type) *schema.Value {
	switch t.Kind() {
	case schema.Double:
		return &schema.Value{Kind: schema.FloatValue, Float: f}
	case schema.Float:
		if math.Abs(f) > math.MaxFloat32 {
			e.errorf(p, codeOutOfRange, "the number %g does not fit in float", f)
			return nil
		}
		return &schema.Value{Kind: schema.FloatValue, Float: f}
	}
	e.mismatch(p, "a number with a fraction", t)
	return nil
}

func (e *evaluator) str(s string, p pos, t *schema.Type) *schema.Value {
	switch t.Kind() {
	case schema.String, schema.Binary:
		return &schema.Value{Kind: schema.StringValue, String: s}
	case schema.UUID:
		id, ok := canonicalUUID(s)
		if !ok {
			e.errorf(p, codeBadUUID, "%q is no UUID", report.Clip(s)).
				Hint = "a UUID looks like 01234567-89ab-cdef-0123-456789abcdef"
			return nil
		}
		return &schema.Value{Kind: schema.StringValue, String: id}
	case schema.Enum:
		d := e.mismatch(p, "a string", t)
		_, last := splitName(s)
		if v := t.Enum().ByName(last); v != nil {
			d.Hint = "write " + e.qualified(t.Enum()) + "." + v.Name
		}
		return nil
	}
	e.mismatch(p, "a string", t)
	return nil
}

// canonicalUUID returns a UUID in lower case without braces.
func canonicalUUID(s string) (string, bool) {
	if len(s) == 38 && s[0] == '{' && s[37] == '}' {
		s = s[1:37]
	}
	if len(s) != 36 {
		return "", false
	}
	for i := range len(s) {
		c := s[i]
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if c != '-' {
				return "", false
			}
		} else if !syntax.IsDigit(c) && (c|0x20 < 'a' || c|0x20 > 'f') {
			return "", false
		}
	}
	return strings.ToLower(s), true
}

func (e *evaluator) list(n *valueNode, t *schema.Type, level int) *schema.Value {
	if k := t.Kind(); len(n.list) == 0 && k == schema.Map {
		return &schema.Value{Kind: schema.MapValue}
	} else if k != schema.List && k != schema.Set {
		d := e.mismatch(n.pos, "a list", t)
		if k == schema.Map || k == schema.Struct {
			d.Hint = "write {key: value, …}"
		}
		return nil
	}
	v := &schema.Value{Kind: schema.ListValue, List: make([]*schema.Value, 0, len(n.list))}
	failed := false
	for _, elem := range n.list {
		x := e.eval(elem, t.Elem(), level+1)
		if failed = failed || x == nil; x != nil {
			v.List = append(v.List, x)
		}
	}
	if failed {
		return nil
	}
	if t.Kind() == schema.Set && !e.unique(v, n.pos, n.list) {
		return nil
	}
	return v
}

// unique removes the elements of a set that stand in it already, with a warning
// where nodes tells their places. It fails if there is too much to compare.
func (e *evaluator) unique(set *schema.Value, p pos, nodes []*valueNode) bool {
	seen := make(map[string]bool, len(set.List))
	kept := make([]*schema.Value, 0, len(set.List))
	for i, x := range set.List {
		key, ok := e.key(x, p)
		if !ok {
			return false
		}
		if seen[key] {
			if nodes != nil {
				e.r.warnf(e.unit, nodes[i].pos, codeDuplicateKey, "the element stands in the set already")
			}
			continue
		}
		seen[key] = true
		kept = append(kept, x)
	}
	set.List = kept
	return true
}

func (e *evaluator) mapOrStruct(n *valueNode, t *schema.Type, level int) *schema.Value {
	switch t.Kind() {
	case schema.Struct:
		return e.structFromMap(n, t, level)
	case schema.Map:
		return e.mapping(n, t, level)
	case schema.List, schema.Set:
		if len(n.pairs) == 0 {
			return &schema.Value{Kind: schema.ListValue}
		}
		e.mismatch(n.pos, "a map", t).Hint = "write [a, b, …]"
		return nil
	}
	e.mismatch(n.pos, "a map", t)
	return nil
}

func (e *evaluator) mapping(n *valueNode, t *schema.Type, level int) *schema.Value {
	v := &schema.Value{Kind: schema.MapValue, Map: make([]schema.MapEntry, 0, len(n.pairs))}
	at := make(map[string]int, len(n.pairs))
	failed := false
	for _, pair := range n.pairs {
		key := e.eval(pair.key, t.Key(), level+1)
		val := e.eval(pair.value, t.Elem(), level+1)
		if key == nil || val == nil {
			failed = true
			continue
		}
		text, ok := e.key(key, pair.key.pos)
		if !ok {
			return nil
		}
		if i, ok := at[text]; ok {
			d := e.r.warnf(e.unit, pair.key.pos, codeDuplicateKey, "the key stands in the map already, the last value counts")
			d.Notes = append(d.Notes, report.Note(v.Map[i].Key.Span, "it stands here"))
			v.Map[i].Value = val
			continue
		}
		at[text] = len(v.Map)
		v.Map = append(v.Map, schema.MapEntry{Key: key, Value: val})
	}
	if failed {
		return nil
	}
	return v
}

// structFromMap evaluates {"field": value}.
func (e *evaluator) structFromMap(n *valueNode, t *schema.Type, level int) *schema.Value {
	inits := make([]fieldInit, 0, len(n.pairs))
	for _, pair := range n.pairs {
		switch {
		case pair.key.form == nameForm && isSimple(pair.key.name.name):
			e.r.warnf(e.unit, pair.key.pos, codeBareFieldName, "the field's name stands without quotes").
				Hint = "the Apache compiler wants \"" + report.Clip(pair.key.name.name) + "\""
			inits = append(inits, fieldInit{name: pair.key.name, value: pair.value})
			continue
		case pair.key.form != stringForm:
			e.errorf(pair.key.pos, codeTypeMismatch, "a field of %s must be named by a string", report.Clip(t.String())).
				Hint = `write {"field": value}`
			return nil
		}
		inits = append(inits, fieldInit{name: ident{name: pair.key.str, pos: pair.key.pos}, value: pair.value})
	}
	return e.structValue(n, inits, t, level)
}

// namedStruct evaluates Name{field = value}.
func (e *evaluator) namedStruct(n *valueNode, t *schema.Type, level int) *schema.Value {
	sym := e.r.lookupType(e.unit, n.name)
	if sym == nil {
		e.errorf(n.name.pos, codeUnknownType, "the type %s is not declared", report.Clip(n.name.name)).
			Hint = e.r.unknownTypeHint(e.unit, n.name.name)
		return nil
	}
	named := e.r.symType(sym)
	if named == nil {
		return nil
	}
	if named.Kind() != schema.Struct || t.Kind() != schema.Struct || named.Struct() != t.Struct() {
		e.mismatch(n.pos, "a "+report.Clip(n.name.name), t)
		return nil
	}
	return e.structValue(n, n.fields, t, level)
}

func (e *evaluator) structValue(n *valueNode, inits []fieldInit, t *schema.Type, level int) *schema.Value {
	def := t.Struct()
	v := &schema.Value{Kind: schema.StructValue, Fields: make([]schema.FieldValue, 0, len(inits))}
	seen := make(map[*schema.Field]bool, len(inits))
	failed := false
	for _, init := range inits {
		f := def.FieldByName(init.name.name)
		if f == nil {
			d := e.errorf(init.name.pos, codeUnknownField, "%s has no field %q", report.Clip(def.Name()), report.Clip(init.name.name))
			if !e.r.rep.Full() {
				d.Hint = report.DidYouMean("", init.name.name, fieldNames(def))
			}
			failed = true
			continue
		}
		if seen[f] {
			e.errorf(init.name.pos, codeDuplicateFieldName, "the field %q is given twice", report.Clip(init.name.name))
			failed = true
			continue
		}
		seen[f] = true
		if x := e.eval(init.value, f.Type(), level+1); x != nil {
			v.Fields = append(v.Fields, schema.FieldValue{Field: f, Value: x})
		} else {
			failed = true
		}
	}
	switch {
	case failed:
		return nil
	case def.Flavor() == schema.Union && len(v.Fields) > 1:
		e.errorf(n.pos, codeUnionValue, "the union %s can hold one field only, %d are given", report.Clip(def.Name()), len(v.Fields))
		return nil
	}
	for _, f := range def.Fields() {
		if f.Requiredness() == schema.Required && f.Default() == nil && !seen[f] {
			e.r.warnf(e.unit, n.pos, codeMissingRequired, "the required field %q is not given", report.Clip(f.Name()))
		}
	}
	return v
}

func fieldNames(s *schema.StructDef) []string {
	names := make([]string, 0, len(s.Fields()))
	for _, f := range s.Fields() {
		names = append(names, f.Name())
	}
	return names
}
