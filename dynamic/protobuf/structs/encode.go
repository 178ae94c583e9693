package structs

import (
	"math"
	"reflect"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file writes structs as messages.

// maxDepth is the deepest nesting that is written or read.
const maxDepth = 1024

func tooDeep() *diag.Fault {
	return diag.NewFault(diag.DepthLimit, -1, "nested deeper than the limit of "+strconv.Itoa(maxDepth))
}

// append writes the fields of the struct v.
func (m *message) append(dst []byte, v reflect.Value, depth int) ([]byte, *diag.Fault) {
	if depth == 0 {
		return dst, tooDeep()
	}
	for _, f := range m.fields {
		if f.lacking(v.Field(f.index)) {
			return dst, m.missing(f)
		}
		var fault *diag.Fault
		if dst, fault = f.append(dst, v.Field(f.index), depth-1); fault != nil {
			return dst, fault.Field(f.name)
		}
	}
	if m.unknown >= 0 {
		b := v.Field(m.unknown).Bytes()
		if err := checkFields(b); err != nil {
			return dst, err.Field("XXX_unrecognized")
		}
		dst = append(dst, b...)
	}
	return dst, nil
}

// append writes the record or records of a field that holds v.
func (f *field) append(dst []byte, v reflect.Value, depth int) ([]byte, *diag.Fault) {
	switch f.shape {
	case list:
		return f.appendList(dst, v, depth)
	case mapping:
		return f.appendMap(dst, v, depth)
	}
	v, ok := f.held(v)
	if !ok {
		return dst, nil
	}
	return f.value.appendRecord(dst, f.number, v, depth)
}

// lacking reports whether a required field is absent.
func (f *field) lacking(v reflect.Value) bool {
	if !f.required || f.shape != single {
		return false
	}
	_, ok := f.held(v)
	return !ok
}

func (m *message) missing(f *field) *diag.Fault {
	return diag.NewFault(diag.MissingRequired, -1, "required field "+strconv.Quote(f.name)+" of "+m.def.Name()+" is missing")
}

// held returns what a field that is no list and no map holds, and whether it is
// to be written.
func (f *field) held(v reflect.Value) (reflect.Value, bool) {
	if f.wrapper != nil {
		if v.IsNil() || v.Elem().Type() != reflect.PointerTo(f.wrapper) || v.Elem().IsNil() {
			return v, false
		}
		v = v.Elem().Elem().Field(0)
		if f.pointer && v.IsNil() {
			return v, false
		}
	}
	switch {
	case f.pointer:
		if v.IsNil() {
			return v, false
		}
		return v.Elem(), true
	case f.wrapper != nil:
		return v, true
	case f.value.msg != nil:
		return v, !f.value.ptr || !v.IsNil()
	case f.presence:
		return v, !v.IsNil()
	}
	return v, f.required || !isZero(v)
}

// isZero reports whether a number or text is what an absent field means. -0 is
// not.
func isZero(v reflect.Value) bool {
	switch {
	case v.CanFloat():
		return math.Float64bits(v.Float()) == 0
	case v.Kind() == reflect.Slice:
		return v.Len() == 0
	}
	return v.IsZero()
}

func (f *field) appendList(dst []byte, v reflect.Value, depth int) ([]byte, *diag.Fault) {
	n := v.Len()
	if f.packed {
		if n == 0 {
			return dst, nil
		}
		dst = protowire.AppendTag(dst, f.number, protowire.Bytes)
		return lengthened(dst, func(dst []byte) ([]byte, *diag.Fault) {
			for i := range n {
				dst = f.value.appendNumber(dst, v.Index(i))
			}
			return dst, nil
		})
	}
	for i := range n {
		var fault *diag.Fault
		if dst, fault = f.value.appendRecord(dst, f.number, v.Index(i), depth); fault != nil {
			return dst, fault.Index(i)
		}
	}
	return dst, nil
}

func (f *field) appendMap(dst []byte, v reflect.Value, depth int) ([]byte, *diag.Fault) {
	if depth == 0 && v.Len() > 0 {
		return dst, tooDeep()
	}
	for it := v.MapRange(); it.Next(); {
		dst = protowire.AppendTag(dst, f.number, protowire.Bytes)
		var fault *diag.Fault
		dst, fault = lengthened(dst, func(dst []byte) ([]byte, *diag.Fault) {
			dst, _ = f.key.appendRecord(dst, 1, it.Key(), depth-1)
			return f.value.appendRecord(dst, 2, it.Value(), depth-1)
		})
		if fault != nil {
			return dst, fault.Key(keyText(it.Key()))
		}
	}
	return dst, nil
}

// keyText renders a key for the path of a fault.
func keyText(k reflect.Value) string {
	switch {
	case k.Kind() == reflect.String:
		return strconv.Quote(k.String())
	case k.Kind() == reflect.Bool:
		return strconv.FormatBool(k.Bool())
	case k.CanInt():
		return strconv.FormatInt(k.Int(), 10)
	default:
		return strconv.FormatUint(k.Uint(), 10)
	}
}

// lengthened puts the length of what write appends before it.
func lengthened(dst []byte, write func([]byte) ([]byte, *diag.Fault)) ([]byte, *diag.Fault) {
	at := len(dst)
	dst, fault := write(append(dst, 0))
	size := len(dst) - at - 1
	if size > protowire.MaxLength {
		return dst, diag.NewFault(diag.SizeLimit, -1, "longer than bytes can be")
	}
	if n := protowire.SizeVarint(uint64(size)); n > 1 {
		dst = append(dst, make([]byte, n-1)...)
		copy(dst[at+n:], dst[at+1:at+1+size])
	}
	protowire.AppendVarint(dst[:at], uint64(size))
	return dst, fault
}

// appendRecord writes v behind a tag.
func (t *value) appendRecord(dst []byte, number int32, v reflect.Value, depth int) ([]byte, *diag.Fault) {
	dst = protowire.AppendTag(dst, number, t.wire)
	switch t.kind {
	case schema.Struct:
		if t.ptr {
			if v.IsNil() { // an element, which cannot be absent
				v = reflect.New(t.typ)
			}
			v = v.Elem()
		}
		if t.wire == protowire.StartGroup {
			dst, fault := t.msg.append(dst, v, depth)
			return protowire.AppendTag(dst, number, protowire.EndGroup), fault
		}
		return lengthened(dst, func(dst []byte) ([]byte, *diag.Fault) { return t.msg.append(dst, v, depth) })
	case schema.String:
		if v.Len() > protowire.MaxLength {
			return dst, diag.NewFault(diag.SizeLimit, -1, "longer than bytes can be")
		}
		return protowire.AppendString(dst, v.String()), nil
	case schema.Binary:
		if v.Len() > protowire.MaxLength {
			return dst, diag.NewFault(diag.SizeLimit, -1, "longer than bytes can be")
		}
		return protowire.AppendBytes(dst, v.Bytes()), nil
	}
	return t.appendNumber(dst, v), nil
}

// appendNumber writes a number or bool without a tag.
func (t *value) appendNumber(dst []byte, v reflect.Value) []byte {
	var bits uint64
	switch t.kind {
	case schema.Bool:
		if v.Bool() {
			bits = 1
		}
	case schema.Float:
		bits = uint64(math.Float32bits(float32(v.Float())))
	case schema.Double:
		bits = math.Float64bits(v.Float())
	case schema.U32, schema.U64:
		bits = v.Uint()
	default:
		if bits = uint64(v.Int()); t.zigzag {
			bits = protowire.ZigZag(v.Int())
		}
	}
	switch t.wire {
	case protowire.Fixed32:
		return protowire.AppendFixed32(dst, uint32(bits))
	case protowire.Fixed64:
		return protowire.AppendFixed64(dst, bits)
	}
	return protowire.AppendVarint(dst, bits)
}
