package structs

import (
	"math"
	"reflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads messages into structs. They have been checked before, so that
// nothing can be wrong with them, unless they change meanwhile.

// checkFields reports what is wrong with the records in b.
func checkFields(b []byte) *diag.Fault {
	f, _ := protobuf.NewMessage(b).Check().(*diag.Fault)
	return f
}

// check reports what is wrong with b as a message of m's type.
func (m *message) check(b []byte) error {
	return protobuf.NewValue(m.def.Type(), b).Check()
}

// reader reads one message. failed is set if the message cannot be read after all.
type reader struct{ failed bool }

// message reads the records of b from pos on into the struct v, up to the end of
// the group if that is not 0, and returns where they end. seen, if not nil, gets the
// indices of the Go fields that stand there.
func (r *reader) message(m *message, v reflect.Value, b []byte, pos int, group int32, seen map[int]bool, depth int) int {
	for pos < len(b) && !r.failed && depth > 0 {
		number, wire, n := protowire.ConsumeTag(b[pos:])
		if n < 0 {
			break
		}
		start := pos
		pos += n
		if wire == protowire.EndGroup {
			r.failed = r.failed || number != group
			return pos
		}
		f := m.byNumber[number]
		if f == nil || !f.fits(wire) {
			end, code := protowire.SkipAt(b, pos, number, wire, maxDepth)
			if r.failed = code < 0; !r.failed && m.unknown >= 0 {
				kept := v.Field(m.unknown)
				kept.SetBytes(append(kept.Bytes(), b[start:end]...))
				note(seen, m.unknown)
			}
			pos = end
			continue
		}
		note(seen, f.index)
		pos = r.field(f, v.Field(f.index), b, pos, wire, depth-1)
	}
	r.failed = r.failed || pos < len(b) || group != 0
	return pos
}

func note(seen map[int]bool, i int) {
	if seen != nil {
		seen[i] = true
	}
}

// fits reports whether a record of that wire type holds a value of f.
func (f *field) fits(wire protowire.Type) bool {
	switch f.shape {
	case mapping:
		return wire == protowire.Bytes
	case list:
		return wire == f.value.wire || wire == protowire.Bytes && packable(f.value.wire)
	}
	return wire == f.value.wire
}

// field reads the value at pos into v and returns where it ends.
func (r *reader) field(f *field, v reflect.Value, b []byte, pos int, wire protowire.Type, depth int) int {
	switch {
	case f.shape == mapping:
		return r.entry(f, v, b, pos, depth)
	case f.shape == list && wire != f.value.wire:
		packed, n := protowire.ConsumeBytes(b[pos:])
		if n < 0 {
			return r.fail(pos)
		}
		for at := 0; at < len(packed) && !r.failed; {
			v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
			at = r.value(&f.value, v.Index(v.Len()-1), packed, at, f.number, depth)
		}
		return pos + n
	case f.shape == list:
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		return r.value(&f.value, v.Index(v.Len()-1), b, pos, f.number, depth)
	}
	if f.wrapper != nil {
		if v.IsNil() || v.Elem().Type() != reflect.PointerTo(f.wrapper) {
			v.Set(reflect.New(f.wrapper))
		}
		v = v.Elem().Elem().Field(0)
	}
	if f.pointer {
		if v.IsNil() {
			v.Set(reflect.New(f.value.typ))
		}
		v = v.Elem()
	}
	return r.value(&f.value, v, b, pos, f.number, depth)
}

func (r *reader) fail(pos int) int {
	r.failed = true
	return pos
}

// entry reads the entry of a map.
func (r *reader) entry(f *field, v reflect.Value, b []byte, pos, depth int) int {
	entry, n := protowire.ConsumeBytes(b[pos:])
	if n < 0 || depth == 0 {
		return r.fail(pos)
	}
	key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
	if f.value.ptr {
		val.Set(reflect.New(f.value.typ))
	}
	for at := 0; at < len(entry) && !r.failed; {
		number, wire, n := protowire.ConsumeTag(entry[at:])
		if n < 0 {
			return r.fail(pos)
		}
		at += n
		switch {
		case number == 1 && wire == f.key.wire:
			at = r.value(f.key, key, entry, at, 1, depth-1)
		case number == 2 && wire == f.value.wire:
			at = r.value(&f.value, val, entry, at, 2, depth-1)
		default:
			var code int
			if at, code = protowire.SkipAt(entry, at, number, wire, maxDepth); code < 0 {
				return r.fail(pos)
			}
		}
	}
	if v.IsNil() {
		v.Set(reflect.MakeMap(v.Type()))
	}
	if f.value.kind == schema.Binary && val.IsNil() {
		val.SetBytes([]byte{})
	}
	v.SetMapIndex(key, val)
	return pos + n
}

// value reads the value at pos into v, which holds what stood before it if it is
// a message.
func (r *reader) value(t *value, v reflect.Value, b []byte, pos int, number int32, depth int) int {
	switch t.kind {
	case schema.Struct:
		if t.ptr {
			if v.IsNil() {
				v.Set(reflect.New(t.typ))
			}
			v = v.Elem()
		}
		if t.wire == protowire.StartGroup {
			return r.message(t.msg, v, b, pos, number, nil, depth)
		}
		part, n := protowire.ConsumeBytes(b[pos:])
		if n < 0 {
			return r.fail(pos)
		}
		r.message(t.msg, v, part, 0, 0, nil, depth)
		return pos + n
	case schema.String, schema.Binary:
		text, n := protowire.ConsumeBytes(b[pos:])
		if n < 0 {
			return r.fail(pos)
		}
		if t.kind == schema.String {
			v.SetString(string(text))
		} else {
			v.SetBytes(append([]byte{}, text...))
		}
		return pos + n
	}
	var bits uint64
	var n int
	switch t.wire {
	case protowire.Fixed32:
		var u uint32
		u, n = protowire.ConsumeFixed32(b[pos:])
		bits = uint64(u)
	case protowire.Fixed64:
		bits, n = protowire.ConsumeFixed64(b[pos:])
	default:
		bits, n = protowire.ConsumeVarint(b[pos:])
	}
	if n < 0 {
		return r.fail(pos)
	}
	t.set(v, bits)
	return pos + n
}

// set gives v the number that has these bits on the wire.
func (t *value) set(v reflect.Value, bits uint64) {
	switch t.kind {
	case schema.Bool:
		v.SetBool(bits != 0)
	case schema.Float:
		v.SetFloat(float64(math.Float32frombits(uint32(bits))))
	case schema.Double:
		v.SetFloat(math.Float64frombits(bits))
	case schema.U32:
		v.SetUint(uint64(uint32(bits)))
	case schema.U64:
		v.SetUint(bits)
	case schema.I64:
		if t.zigzag {
			bits = uint64(protowire.ZagZig(bits))
		}
		v.SetInt(int64(bits))
	default:
		if t.zigzag {
			bits = uint64(protowire.ZagZig(uint64(uint32(bits))))
		}
		v.SetInt(int64(int32(bits)))
	}
}

// complete reports the first required field that v, or a struct in it, lacks.
func (m *message) complete(v reflect.Value) *diag.Fault {
	for _, f := range m.fields {
		if f.lacking(v.Field(f.index)) {
			return m.missing(f)
		}
		if fault := f.complete(v.Field(f.index)); fault != nil {
			return fault.Field(f.name)
		}
	}
	return nil
}

// complete is message.complete for what a field holds.
func (f *field) complete(v reflect.Value) *diag.Fault {
	msg := f.value.msg
	switch {
	case f.shape == list && msg != nil:
		for i := range v.Len() {
			if fault := msg.complete(reflect.Indirect(v.Index(i))); fault != nil {
				return fault.Index(i)
			}
		}
		return nil
	case f.shape == mapping && msg != nil:
		for it := v.MapRange(); it.Next(); {
			if fault := msg.complete(reflect.Indirect(it.Value())); fault != nil {
				return fault.Key(keyText(it.Key()))
			}
		}
		return nil
	case f.shape != single:
		return nil
	}
	if v, ok := f.held(v); ok && msg != nil {
		return msg.complete(reflect.Indirect(v))
	}
	return nil
}
