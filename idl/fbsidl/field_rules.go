package fbsidl

import (
	"github.com/thrum-rpc/thrum/idl/internal/report"
)

// What must hold between a field's type, its default and its attributes.

func (r *resolver) checkAttributes(f *fieldSym) {
	r.checkHash(f)
	r.checkOffset64(f)
	r.checkPresence(f)
	r.checkKey(f)
	r.checkEnumDefault(f)
	r.checkNative(f)
	r.checkNested(f)
}

// hashes are the algorithms for integers of so many bytes.
var hashes = map[int][]string{2: {"fnv1_16", "fnv1a_16"}, 4: {"fnv1_32", "fnv1a_32"}, 8: {"fnv1_64", "fnv1a_64"}}

func (r *resolver) checkHash(f *fieldSym) {
	a := f.meta["hash"]
	if a == nil {
		return
	}
	b := f.typ.base
	if b.isVector() {
		b = f.typ.elem
	}
	if b < btShort || b > btULong {
		r.attributeError(a, "hash is for short, int, long and their unsigned kin, not for %s", typeName(b))
		return
	}
	known := hashes[b.size()]
	for _, name := range known {
		if name == a.text() {
			return
		}
	}
	r.attributeError(a, "there is no hash %q of %d bytes", report.Clip(a.text()), b.size()).Hint = "there are " + known[0] + " and " + known[1]
}

// checkOffset64 checks, and applies, what makes offsets and lengths 64 bits wide.
func (r *resolver) checkOffset64(f *fieldSym) {
	a := f.meta["offset64"]
	if v := f.meta["vector64"]; v != nil {
		if !f.typ.base.isVector() {
			r.attributeError(v, "vector64 is for vectors")
			return
		}
		f.typ.base, a = btVector64, v
	}
	if a == nil {
		return
	}
	elem := f.typ.element()
	switch {
	case f.typ.base == btString:
	case !f.typ.base.isVector():
		r.attributeError(a, "offset64 is for strings and vectors")
	case !(elem.base.isScalar() && elem.enum == nil) && !elem.isStruct():
		r.attributeError(a, "%s is for vectors of scalars and structs", report.Clip(a.name.name)).
			Hint = "flatc has it for no other elements"
	}
}

// checkPresence finds out whether the field may be absent.
func (r *resolver) checkPresence(f *fieldSym) {
	a := f.meta["required"]
	if f.owner.fixed {
		if a == nil {
			a = f.meta["optional"]
		}
		if a != nil {
			r.attributeError(a, "a field of a struct is always there")
		}
		if d := f.meta["deprecated"]; d != nil {
			r.attributeError(d, "a field of a struct cannot be deprecated").Hint = "structs never change; declare another one"
		}
		return
	}
	scalar := f.typ.base.isScalar()
	f.required = a != nil || f.typ.base == btString && f.meta.has("key")
	if scalar {
		f.optional = f.def.null
	} else {
		f.optional = !f.required && !f.def.counts()
	}
	if a != nil && scalar {
		r.attributeError(a, "a scalar cannot be required").Hint = "it has a default; = null makes it optional"
	}
	if !f.def.null {
		return
	}
	if e := f.typ.enum; e != nil && e.byName["null"] != nil {
		r.errorf(f.node.value.pos, codeNullEnumerator, "null may be the value of %s or say that the field is optional", report.Clip(e.node.name.name)).
			Hint = "rename the value"
	}
}

func (r *resolver) checkKey(f *fieldSym) {
	a := f.meta["key"]
	if a == nil {
		return
	}
	if f.owner.hasKey {
		r.errorf(a.pos, codeKey, "the %s %s has a second key", f.owner.what(), report.Clip(f.owner.name))
	}
	f.owner.hasKey = true
	t := f.typ
	if t.base == btArray {
		t = t.element()
	}
	switch {
	case f.def.null:
		r.errorf(a.pos, codeKey, "an optional scalar cannot be the key")
	case t.base.isScalar() || t.base == btString || t.isStruct():
	default:
		r.errorf(a.pos, codeKey, "%s cannot be the key", typeName(t.base)).Hint = "a key is a scalar, a string, a struct or an array"
	}
}

// checkEnumDefault checks that the default of an enum is one of its values.
func (r *resolver) checkEnumDefault(f *fieldSym) {
	e := f.typ.enum
	scalar := f.typ.base.isScalar() || f.typ.base == btArray && f.typ.elem.isScalar()
	if e == nil || !scalar || f.optional || e.flags || e.byNum[f.def.int] != nil {
		return
	}
	name := report.Clip(e.node.name.name)
	if f.def.set {
		r.errorf(f.node.value.pos, codeEnumDefault, "%d is no value of the enum %s", f.def.int, name)
		return
	}
	d := r.errorf(f.node.name.pos, codeEnumDefault, "the field %s lacks a default, as 0 is no value of the enum %s", report.Clip(f.name), name)
	switch {
	case f.owner.fixed:
		d.Hint = "give the enum a value 0"
	case len(e.vals) > 0:
		d.Hint = "write = " + report.Clip(e.vals[0].name) + ", for example, or = null"
	}
}

// checkNative checks what generators of other languages ask for.
func (r *resolver) checkNative(f *fieldSym) {
	if a := f.meta["cpp_type"]; a != nil && !f.meta.has("hash") {
		r.attributeError(a, "cpp_type is only for fields with a hash")
	}
	if a := f.meta["shared"]; a != nil && f.typ.base != btString {
		r.attributeError(a, "shared is only for strings")
	}
	if a := f.meta["native_custom_alloc"]; a != nil {
		r.attributeError(a, "native_custom_alloc is only for tables and structs, not for fields")
	}
	if a := f.meta["native_inline"]; a != nil {
		if !f.typ.isStruct() && !(f.typ.base.isVector() && f.typ.elem == btObj) {
			r.attributeError(a, "native_inline is only for structs and vectors of structs or tables")
		}
	}
}

// checkNested checks bytes that hold another buffer.
func (r *resolver) checkNested(f *fieldSym) {
	isBytes := f.typ.base.isVector() && f.typ.elem == btUByte
	if a := f.meta["nested_flatbuffer"]; a != nil {
		switch {
		case a.value == nil || a.value.form != stringForm:
			r.attributeError(a, "nested_flatbuffer lacks the name of a table").Hint = `write nested_flatbuffer: "Monster"`
		case !isBytes:
			r.attributeError(a, "nested_flatbuffer is only for [ubyte]")
		default:
			r.nestedRoot(f, a)
		}
	}
	if a := f.meta["flexbuffer"]; a != nil && (!isBytes || f.typ.base != btVector) {
		r.attributeError(a, "flexbuffer is only for [ubyte]")
	}
}

// nestedRoot finds the table that the bytes of f hold.
func (r *resolver) nestedRoot(f *fieldSym, a *attribute) {
	if a.value.text == "" {
		r.attributeError(a, "nested_flatbuffer lacks the name of a table")
		return
	}
	if r.inFull {
		// The value of an attribute stands as it was written.
		f.nested = &structSym{unit: r.unit, ns: r.ns, name: a.value.text, used: a.value.pos}
		r.waiting = append(r.waiting, f.nested)
	} else {
		f.nested = r.useStruct(ident{a.value.text, a.value.pos})
	}
	unit := r.unit
	r.later = append(r.later, func() {
		if s := f.nested.actual(); s.fixed {
			r.rep.Errorf(unit.span(a.value.pos), codeAttribute, "%s is a struct, a buffer begins with a table", report.Clip(a.value.text))
		}
	})
}
