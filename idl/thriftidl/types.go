package thriftidl

import (
	"math"

	"github.com/thrum-rpc/thrum/idl/internal/report"
	"github.com/thrum-rpc/thrum/schema"
)

// Types, structs and what must hold between them.

var baseTypes = map[keyword]schema.Kind{
	kwBool: schema.Bool, kwByte: schema.I8, kwI8: schema.I8, kwI16: schema.I16, kwI32: schema.I32, kwI64: schema.I64,
	kwFloat: schema.Float, kwDouble: schema.Double, kwString: schema.String, kwBinary: schema.Binary, kwUUID: schema.UUID,
	kwSlist: schema.String,
}

// typeOf resolves the use of a type. It returns nil if that fails, which it
// has then reported.
func (r *resolver) typeOf(u *unit, n *typeNode) *schema.Type {
	t, _ := r.shapedType(u, n, 0)
	return t
}

// shapedType resolves a type and measures it. level counts the typedefs and
// containers around it.
func (r *resolver) shapedType(u *unit, n *typeNode, level int) (*schema.Type, shape) {
	if level > maxTypeDepth {
		r.errorf(u, n.pos, codeTypeTooLarge, "the type is nested more than %d levels deep, typedefs counted", maxTypeDepth)
		return nil, shape{}
	}
	var t *schema.Type
	s := shape{1, 1}
	switch n.kw {
	case kwList, kwSet:
		elem, es := r.shapedType(u, n.elem, level+1)
		if elem == nil {
			return nil, s
		}
		s = shape{es.depth + 1, es.size + 1}
		if t = schema.ListOf(elem); n.kw == kwSet {
			t = schema.SetOf(elem)
		}
	case kwMap:
		key, ks := r.shapedType(u, n.key, level+1)
		elem, es := r.shapedType(u, n.elem, level+1)
		if key == nil || elem == nil {
			return nil, s
		}
		s = shape{max(ks.depth, es.depth) + 1, ks.size + es.size + 1}
		t = schema.MapOf(key, elem)
	default:
		if t, s = r.namedType(u, n, level); t == nil {
			return nil, s
		}
	}
	if s.depth > maxTypeDepth || s.size > maxTypeSize {
		r.errorf(u, n.pos, codeTypeTooLarge, "the type has %d parts on %d levels, typedefs expanded", s.size, s.depth).
			Hint = "at most " + itoa(maxTypeSize) + " parts on " + itoa(maxTypeDepth) + " levels are allowed"
		return nil, s
	}
	return t.WithAnnotations(r.annotations(u, n.annots)), s
}

func (r *resolver) namedType(u *unit, n *typeNode, level int) (*schema.Type, shape) {
	one := shape{1, 1}
	// float, uuid and slist are no words of every dialect, so a declaration of
	// that name comes first.
	kind, basic := baseTypes[n.name.kw]
	if basic && n.name.kw != kwFloat && n.name.kw != kwUUID && n.name.kw != kwSlist {
		return schema.Basic(kind), one
	}
	if sym := r.lookupType(u, n.name); sym != nil {
		switch {
		case sym.strct != nil:
			return sym.strct.Type(), one
		case sym.enum != nil && r.longEnums:
			return sym.enum.LongType(), one
		case sym.enum != nil:
			return sym.enum.Type(), one
		}
		if !r.resolveTypedef(sym, level+1) {
			return nil, one
		}
		return sym.typedef.Type(), shape{sym.shape.depth + 1, sym.shape.size}
	}
	if basic {
		if n.name.kw == kwSlist {
			r.warnf(u, n.pos, codeDeprecatedSyntax, "slist is no longer Thrift, it is read as string")
		}
		return schema.Basic(kind), one
	}
	if n.name.kw == kwVoid {
		r.errorf(u, n.pos, codeVoidType, "void is no type for a value").Hint = "only a method can return void"
		return nil, one
	}
	r.unknownType(u, n)
	return nil, one
}

func (r *resolver) unknownType(u *unit, n *typeNode) {
	name := n.name.name
	other := ""
	switch {
	case u.scope.services[name] != nil:
		other = "a service"
	case u.scope.consts[name] != nil:
		other = "a constant"
	case u.scope.interactions[name] != nil:
		other = "an interaction"
	case n.name.kw == kwList || n.name.kw == kwSet || n.name.kw == kwMap:
		r.errorf(u, n.name.pos, codeUnknownType, "%s lacks the type of what it holds", name).
			Hint = "write " + map[keyword]string{kwList: "list<T>", kwSet: "set<T>", kwMap: "map<K, V>"}[n.name.kw]
		return
	default:
		r.errorf(u, n.name.pos, codeUnknownType, "the type %s is not declared", report.Clip(name)).
			Hint = r.unknownTypeHint(u, name)
		return
	}
	r.errorf(u, n.name.pos, codeNotAType, "%s is %s, not a type", report.Clip(name), other)
}

// foreignTypes are names that other languages have for Thrift's types.
var foreignTypes = map[string]string{
	"int": "i32 or i64", "int8": "i8", "int16": "i16", "int32": "i32", "int64": "i64", "integer": "i32",
	"long": "i64", "short": "i16", "uint8": "i8", "uint16": "i16 or i32", "uint32": "i32 or i64", "uint64": "i64",
	"u8": "i8", "u16": "i16 or i32", "u32": "i32 or i64", "u64": "i64", "float32": "double", "float64": "double",
	"boolean": "bool", "str": "string", "text": "string", "bytes": "binary", "char": "i8", "array": "list", "vector": "list",
	"dict": "map", "String": "string", "Map": "map", "List": "list", "Set": "set", "Int": "i32", "Long": "i64",
}

var typeWords = []string{"bool", "byte", "i8", "i16", "i32", "i64", "double", "float", "string", "binary", "uuid"}

func (r *resolver) unknownTypeHint(u *unit, name string) string {
	if thrift := foreignTypes[name]; thrift != "" {
		return "in Thrift this is " + thrift
	}
	return r.unknownHint(u, name, func(s *scope) []string {
		names := make([]string, 0, len(s.types)+len(typeWords))
		for n := range s.types {
			names = append(names, n)
		}
		if s == &u.scope {
			names = append(names, typeWords...)
		}
		return names
	})
}

// resolveTypedef gives a typedef its target, after those that it names.
func (r *resolver) resolveTypedef(sym *typeSym, level int) bool {
	n := sym.node.(*typedefNode)
	switch sym.state {
	case resolved:
		return true
	case failed:
		return false
	case resolving:
		r.errorf(sym.unit, n.name.pos, codeRecursiveTypedef, "the typedef %s refers to itself", report.Clip(n.name.name)).
			Hint = "only structs, unions and exceptions can contain themselves"
		sym.state = failed
		return false
	}
	sym.state = resolving
	t, s := r.shapedType(sym.unit, n.target, level)
	if t == nil || sym.state == failed {
		sym.state = failed
		return false
	}
	sym.typedef.Complete(t)
	sym.state, sym.shape = resolved, s
	return true
}

// completeStruct gives a declared struct, union or exception its fields.
func (r *resolver) completeStruct(u *unit, n declNode) {
	node, ok := n.(*structNode)
	if !ok {
		return
	}
	sym := u.scope.types[node.name.name]
	if sym == nil || sym.node != n {
		return // a second declaration of the name
	}
	place := fieldPlace{what: node.kw.String() + " " + report.Clip(node.name.name), union: node.kw == kwUnion}
	sym.strct.Complete(r.fields(u, node.fields, place))
}

// fieldPlace says what a list of fields belongs to.
type fieldPlace struct {
	what                string
	union, args, throws bool
}

// fields resolves a list of fields. Those that fail are left out; the schema
// is not used then.
func (r *resolver) fields(u *unit, nodes []*fieldDecl, place fieldPlace) []*schema.Field {
	fields := make([]*schema.Field, 0, len(nodes))
	ids := make(map[int64]*fieldDecl, len(nodes))
	names := make(map[string]*fieldDecl, len(nodes))
	var defaulted *fieldDecl
	auto := int64(-1)
	for _, n := range nodes {
		id, idPos := r.fieldID(u, n, &auto)
		if first := ids[id]; first != nil {
			r.duplicateID(u, first, id, idPos, place, nodes)
			continue
		}
		ids[id] = n
		if first := names[n.name.name]; first != nil {
			d := r.errorf(u, n.name.pos, codeDuplicateFieldName, "%s has two fields named %q", place.what, report.Clip(n.name.name))
			d.Notes = append(d.Notes, report.Note(u.span(first.name.pos), "first used here"))
			continue
		}
		names[n.name.name] = n
		t := r.typeOf(u, n.typ)
		if t == nil {
			continue
		}
		r.checkException(u, n, t, place)
		if place.union && n.value != nil {
			if defaulted != nil {
				d := r.errorf(u, n.name.pos, codeUnionDefaults, "%s has a second default value", place.what)
				d.Notes = append(d.Notes, report.Note(u.span(defaulted.name.pos), "the first is here"))
			}
			defaulted = n
		}
		spec := schema.FieldSpec{
			ID: int32(id), Name: n.name.name, Type: t, Requiredness: r.requiredness(u, n, place), Doc: n.doc,
			Annotations: r.annotations(u, n.annots), Span: u.span(n.name.pos),
		}
		if n.value != nil {
			spec.Default = &schema.Value{}
			r.values = append(r.values, pendingValue{unit: u, node: n.value, typ: t, into: spec.Default, what: "the field " + report.Clip(n.name.name)})
		}
		fields = append(fields, schema.NewField(spec))
	}
	return fields
}

// fieldID returns the id of n. Fields without one count down from -1, as the
// Apache compiler has it.
func (r *resolver) fieldID(u *unit, n *fieldDecl, auto *int64) (int64, pos) {
	if n.id == nil {
		id := *auto
		*auto--
		r.warnf(u, n.name.pos, codeMissingFieldID, "the field %q has no id and gets %d", report.Clip(n.name.name), id).
			Hint = "write one: it would change with the order of fields, and thriftgo counts up from 1 instead"
		if id < math.MinInt16 {
			r.errorf(u, n.name.pos, codeFieldIDRange, "the field id %d does not fit in 16 bits", id)
		}
		return id, n.name.pos
	}
	id := n.id.value
	switch {
	case id < math.MinInt16 || id > math.MaxInt16:
		r.errorf(u, n.id.pos, codeFieldIDRange, "the field id %d does not fit in 16 bits", id).
			Hint = "field ids are numbers from 1 to 32767"
	case id <= 0:
		r.warnf(u, n.id.pos, codeNonPositiveFieldID, "the field id %d is not positive", id).
			Hint = "the Apache compiler renumbers such fields unless it runs with -allow-neg-keys"
		*auto = id - 1
	}
	return id, n.id.pos
}

func (r *resolver) duplicateID(u *unit, first *fieldDecl, id int64, place pos, where fieldPlace, all []*fieldDecl) {
	d := r.errorf(u, place, codeDuplicateFieldID, "%s uses the field id %d twice", where.what, id)
	d.Notes = append(d.Notes, report.Note(u.span(first.name.pos), "first used by %s here", report.Clip(first.name.name)))
	if r.rep.Full() {
		return
	}
	top := int64(0)
	for _, f := range all {
		if f.id != nil {
			top = max(top, f.id.value)
		}
	}
	if top < math.MaxInt16 {
		d.Hint = "the next free id is " + itoa(int(top)+1)
	}
}

// checkException checks that exceptions stand in throws clauses, and nothing
// else does.
func (r *resolver) checkException(u *unit, n *fieldDecl, t *schema.Type, place fieldPlace) {
	exception := t.Kind() == schema.Struct && t.Struct().Flavor() == schema.Exception
	switch {
	case place.throws && !exception:
		r.errorf(u, n.typ.pos, codeNotAnException, "%s is not an exception", t).
			Hint = "only what is declared with the word exception can be thrown"
	case !place.throws && exception:
		r.warnf(u, n.typ.pos, codeExceptionAsType, "the exception %s is used as the type of a value", t).
			Hint = "the Apache compiler allows exceptions in throws clauses only"
	}
}

func (r *resolver) requiredness(u *unit, n *fieldDecl, place fieldPlace) schema.Requiredness {
	switch {
	case place.union:
		if n.req == kwRequired {
			r.warnf(u, n.reqPos, codeUnionRequiredness, "a union's field cannot be required, it is read as optional")
		}
		return schema.Optional
	case place.throws:
		if n.req == kwRequired {
			r.warnf(u, n.reqPos, codeThrowsRequiredness, "an exception cannot be required, the word is ignored")
		}
		return schema.Optional
	case place.args && n.req == kwOptional:
		r.warnf(u, n.reqPos, codeArgRequiredness, "an argument cannot be optional, the word is ignored")
		return schema.Default
	case n.req == kwRequired:
		return schema.Required
	case n.req == kwOptional:
		return schema.Optional
	}
	return schema.Default
}
