package flatproto

import (
	"fmt"
	"math"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the way from FlatBuffers to Protobuf.

// maxDepth is the deepest nesting of tables.
const maxDepth = flatwire.MaxDepth

// writer writes one message.
type writer struct {
	out   []byte
	limit int // of out
}

// full refuses more than there may be.
func (w *writer) full() *diag.Fault {
	if len(w.out) > w.limit {
		return diag.NewFault(diag.SizeLimit, -1, "the Protobuf of the message exceeds the limit")
	}
	return nil
}

// table writes the fields of a table.
func (w *writer) table(m *message, v flatbuffers.Value, depth int) *diag.Fault {
	if depth > maxDepth {
		return diag.NewFault(diag.DepthLimit, -1, fmt.Sprintf("tables nest deeper than %d levels", maxDepth))
	}
	for i := range m.fields {
		x := &m.fields[i]
		value := v.FieldOf(x.f)
		if !value.Exists() {
			if fault := flatpack.NoMember(x.t, v.UnionTag(x.f)); fault != nil {
				return fault.Field(x.f.Name())
			}
			continue
		}
		if fault := w.field(x, value, depth); fault != nil {
			return fault.Field(x.f.Name())
		}
	}
	return w.full()
}

// field writes one field of a table or struct.
func (w *writer) field(x *field, v flatbuffers.Value, depth int) *diag.Fault {
	switch {
	case !x.listed:
		return w.single(x, v, x.number, x.present, depth)
	case x.kind == number:
		return w.packed(x, v)
	}
	for i := range v.Len() {
		value := v.Index(i)
		if !value.Exists() {
			if fault := flatpack.NoMember(x.t, v.ElementTag(i)); fault != nil {
				return fault.Index(i)
			}
		}
		if fault := w.single(x, value, x.number, true, depth); fault != nil {
			return fault.Index(i)
		}
		if fault := w.full(); fault != nil {
			return fault
		}
	}
	return nil
}

// single writes one value, unless it is nothing and need not be told.
func (w *writer) single(x *field, v flatbuffers.Value, n int32, always bool, depth int) *diag.Fault {
	switch x.kind {
	case number:
		if bits := bitsOf(x.t, v); bits != 0 || always {
			w.out = appendNumber(protowire.AppendTag(w.out, n, x.wire), x.wire, bits)
		}
		return nil
	case text, blob:
		b, _ := v.Bytes()
		if len(b) == 0 && !always || len(b) == 0 && !v.Written() && !x.listed {
			return nil
		}
		if x.kind == text && !utf8.Valid(b) {
			return diag.NewFault(diag.InvalidData, -1, "the text is not UTF-8")
		}
		w.out = protowire.AppendBytes(protowire.AppendTag(w.out, n, protowire.Bytes), b)
		return nil
	}
	w.out = protowire.AppendTag(w.out, n, protowire.Bytes)
	start := len(w.out)
	var fault *diag.Fault
	switch {
	case x.kind == union && v.Exists():
		fault = w.member(x.sub, v, depth)
	case x.kind == union: // NONE in a vector
	case x.kind == inlined:
		fault = w.inlined(x.sub, v)
	default:
		fault = w.table(x.sub, v, depth+1)
	}
	if fault == nil {
		w.close(start)
	}
	return fault
}

// close puts the length of what stands behind start before it.
func (w *writer) close(start int) {
	size := len(w.out) - start
	n := protowire.SizeVarint(uint64(size))
	for range n {
		w.out = append(w.out, 0)
	}
	copy(w.out[start+n:], w.out[start:start+size])
	protowire.AppendVarint(w.out[:start], uint64(size))
}

// member writes the member of a union that is set.
func (w *writer) member(m *message, v flatbuffers.Value, depth int) *diag.Fault {
	i, ok := m.byNumber[int32(v.Member().ID())]
	if !ok { // deprecated
		return nil
	}
	x := &m.fields[i]
	if fault := w.single(x, v, x.number, true, depth); fault != nil {
		return fault.Field(x.f.Name())
	}
	return nil
}

// inlined writes the fields of a struct.
func (w *writer) inlined(m *message, v flatbuffers.Value) *diag.Fault {
	for i := range m.fields {
		x := &m.fields[i]
		value := v.FieldOf(x.f)
		if !x.listed && x.kind == blob {
			if b, _ := value.Bytes(); allZero(b) {
				continue
			}
		}
		if !x.listed && x.kind == inlined {
			if b, _ := value.Bytes(); allZero(b) {
				continue
			}
		}
		if fault := w.field(x, value, 0); fault != nil {
			return fault.Field(x.f.Name())
		}
	}
	return nil
}

func allZero(b []byte) bool {
	for _, c := range b {
		if c != 0 {
			return false
		}
	}
	return true
}

// packed writes a vector or array of numbers.
func (w *writer) packed(x *field, v flatbuffers.Value) *diag.Fault {
	if v.Len() == 0 {
		return nil
	}
	w.out = protowire.AppendTag(w.out, x.number, protowire.Bytes)
	start := len(w.out)
	for i := range v.Len() {
		w.out = appendNumber(w.out, x.wire, bitsOf(x.t, v.Index(i)))
		if len(w.out) > w.limit {
			return w.full()
		}
	}
	w.close(start)
	return nil
}

// bitsOf returns a number, integers extended to 64 bits with their sign.
func bitsOf(t *schema.Type, v flatbuffers.Value) uint64 {
	switch k := flatpack.KindOf(t); {
	case k == schema.Bool:
		if b, _ := v.Bool(); b {
			return 1
		}
		return 0
	case k == schema.Float:
		f, _ := v.Float()
		return uint64(math.Float32bits(float32(f)))
	case k == schema.Double:
		f, _ := v.Float()
		return math.Float64bits(f)
	case k.IsUnsigned():
		n, _ := v.Uint()
		return n
	}
	n, _ := v.Int()
	return uint64(n)
}

// appendNumber appends a number in its wire type.
func appendNumber(b []byte, wire protowire.Type, bits uint64) []byte {
	switch wire {
	case protowire.Fixed32:
		return protowire.AppendFixed32(b, uint32(bits))
	case protowire.Fixed64:
		return protowire.AppendFixed64(b, bits)
	}
	return protowire.AppendVarint(b, bits)
}
