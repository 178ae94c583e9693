package transcode

import (
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file prepares what is written for absent fields of messages.

// absentFields renders what stands for absent fields and arms the checks.
func (k *protoCompiler) absentFields() error {
	for _, d := range k.order {
		m := k.messages[d]
		if m.form == formPlain {
			for i, f := range d.Fields() {
				if err := k.absentField(&m.fields[i], f); err != nil {
					return err.Field(f.Name()).Field(d.Name())
				}
			}
		}
	}
	for _, m := range k.messages {
		for i := range m.fields {
			if m.fields[i].absentJSON != nil {
				m.fill[i/64] |= 1 << (i % 64)
				m.needed[i/64] &^= 1 << (i % 64)
			}
		}
		for i := range m.fill {
			m.needs = m.needs || m.fill[i]|m.needed[i] != 0
		}
	}
	return nil
}

func (k *protoCompiler) absentField(out *protoField, f *schema.Field) *diag.Fault {
	o := &k.conv.opts
	switch value := f.Default(); {
	case value != nil && o.writeDefaults && out.shape == single && out.typ.message == nil && out.oneof == 0:
		constant := appendProtoConstant(nil, &out.typ, value)
		var w protoToJSON
		w.start(k.conv, nil, constant)
		json, p := w.value(append([]byte(nil), out.quoted...), constant, 0, &out.typ)
		if p < 0 {
			return w.fault
		}
		out.absentProto, out.absentJSON = append(append([]byte(nil), out.head...), constant...), json
	case value != nil || !o.writeZeros:
	case out.shape == repeated:
		out.absentJSON = append(append([]byte(nil), out.quoted...), '[', ']')
	case out.shape == mapped:
		out.absentJSON = append(append([]byte(nil), out.quoted...), '{', '}')
	case out.implicit:
		var w protoToJSON
		w.start(k.conv, nil, nil)
		out.absentJSON, _ = w.zero(append([]byte(nil), out.quoted...), 0, &out.typ)
	}
	return nil
}

// appendProtoConstant appends v, which has no parts, as a value of type t.
func appendProtoConstant(dst []byte, t *protoTyp, v *schema.Value) []byte {
	switch t.kind {
	case protoBool:
		return protowire.AppendBool(dst, v.Bool)
	case protoFloat:
		return protowire.AppendFixed32(dst, math.Float32bits(float32(v.Float)))
	case protoDouble:
		return protowire.AppendFixed64(dst, math.Float64bits(v.Float))
	case protoString, protoBytes:
		return protowire.AppendString(dst, v.String)
	}
	return appendProtoInteger(dst, v.Int, t.kind)
}

// appendProtoInteger appends an integer or enum; v holds the bits of an
// unsigned one.
func appendProtoInteger(dst []byte, v int64, kind protoKind) []byte {
	switch kind {
	case protoSint32, protoSint64:
		return protowire.AppendVarint(dst, protowire.ZigZag(v))
	case protoSfixed32, protoFixed32:
		return protowire.AppendFixed32(dst, uint32(v))
	case protoSfixed64, protoFixed64:
		return protowire.AppendFixed64(dst, uint64(v))
	default:
		return protowire.AppendVarint(dst, uint64(v))
	}
}
