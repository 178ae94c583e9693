package transcode

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file prepares what is written for absent fields.

// defaults renders what stands for absent fields, then arms the checks of all
// structs. Until then structs without their required fields convert, as
// constants may be such.
func (k *compiler) defaults() error {
	for _, d := range k.order {
		s := k.structs[d]
		if s.union {
			continue
		}
		for i, f := range d.Fields() {
			if err := k.absent(s, i, f); err != nil {
				return err.Field(f.Name()).Field(d.Name())
			}
		}
	}
	for _, s := range k.structs {
		for i := range s.fields {
			if s.fields[i].absentThrift != nil {
				s.fill[i/64] |= 1 << (i % 64)
				s.required[i/64] &^= 1 << (i % 64)
			}
		}
		for i := range s.fill {
			s.needs = s.needs || s.fill[i]|s.required[i] != 0
		}
	}
	return nil
}

// absent prepares field i of s, which f declares.
func (k *compiler) absent(s *structTable, i int, f *schema.Field) *diag.Fault {
	o := &k.conv.opts
	out := &s.fields[i]
	value := f.Default()
	switch {
	case o.absent[f.Requiredness()] && (value != nil || !hasRequired(f.Type())):
	case value != nil:
		if !o.writeDefaults {
			return nil
		}
	case !o.writeZeros || f.Requiredness() == schema.Optional || out.typ.plainKind() == schema.Struct ||
		s.required[i/64]>>(i%64)&1 != 0:
		return nil
	}
	thrift := k.appendConstant(nil, &out.typ, value)
	var w toJSON
	w.start(k.conv, nil, thrift)
	json, p := w.value(append([]byte(nil), out.quoted...), 0, &out.typ)
	if p < 0 {
		return w.fault
	}
	out.absentThrift, out.absentJSON = append(out.head[:], thrift...), json
	return nil
}

// appendConstant appends v, or the zero value of t if v is nil. Of a struct
// only the given fields are written: its reader knows its defaults.
func (k *compiler) appendConstant(dst []byte, t *typ, v *schema.Value) []byte {
	if v == nil {
		v = &schema.Value{}
	}
	switch t.kind {
	case kindSpecial:
		return k.appendConstant(dst, &t.special.plain, v)
	case schema.Bool:
		return thriftwire.AppendBool(dst, v.Bool)
	case schema.I8, schema.I16, schema.I32, schema.I64:
		return appendInteger(dst, v.Int, t.kind)
	case schema.Enum:
		return thriftwire.AppendI32(dst, int32(v.Int))
	case schema.Float, schema.Double:
		return appendFloating(dst, v.Float, t.kind)
	case schema.String, schema.Binary:
		return thriftwire.AppendString(dst, v.String)
	case schema.UUID:
		id, _ := parseUUID([]byte(v.String)) // the front end has checked it; no text is the zero value
		return thriftwire.AppendUUID(dst, id)
	case schema.Map:
		dst = thriftwire.AppendMap(dst, t.key.wire, t.elem.wire, len(v.Map))
		for _, e := range v.Map {
			dst = k.appendConstant(k.appendConstant(dst, t.key, e.Key), t.elem, e.Value)
		}
		return dst
	case schema.Struct:
		for _, fv := range v.Fields {
			f := &t.strct.fields[fv.Field.Index()]
			dst = k.appendConstant(append(dst, f.head[:]...), &f.typ, fv.Value)
		}
		return thriftwire.AppendStop(dst)
	default:
		dst = thriftwire.AppendList(dst, t.elem.wire, len(v.List))
		for _, e := range v.List {
			dst = k.appendConstant(dst, t.elem, e)
		}
		return dst
	}
}

// hasRequired reports whether t is a struct that must have a field.
func hasRequired(t *schema.Type) bool {
	return t.Kind() == schema.Struct && (t.Struct().Flavor() == schema.Union || slices.ContainsFunc(t.Struct().Fields(), func(f *schema.Field) bool {
		return f.Requiredness() == schema.Required
	}))
}
