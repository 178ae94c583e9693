package flatproto

import (
	"fmt"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/flatpack"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds what stands inside tables: numbers and structs. They are put together on a stack of bytes.

// number reads the number at the front of v, and returns its low bits as they stand in messages.
func (r *reader) number(t *schema.Type, v []byte, at int) (bits uint64, n int, fault *diag.Fault) {
	kind := flatpack.KindOf(t)
	switch wireOf(kind) {
	case protowire.Fixed32:
		x, n := protowire.ConsumeFixed32(v)
		bits, fault = uint64(x), numberFault(n, at)
		return bits, n, fault
	case protowire.Fixed64:
		bits, n = protowire.ConsumeFixed64(v)
		return bits, n, numberFault(n, at)
	}
	bits, n = protowire.ConsumeVarint(v)
	if n < 0 {
		return 0, n, faultOf(n, at)
	}
	low, high := int64(math.MinInt32), int64(math.MaxInt32)
	switch kind {
	case schema.Bool:
		if bits != 0 {
			bits = 1
		}
		return bits, n, nil
	case schema.I64, schema.U64:
		return bits, n, nil
	case schema.U32:
		return uint64(uint32(bits)), n, nil
	case schema.I8:
		low, high = math.MinInt8, math.MaxInt8
	case schema.I16:
		low, high = math.MinInt16, math.MaxInt16
	case schema.U8:
		low, high = 0, math.MaxUint8
	case schema.U16:
		low, high = 0, math.MaxUint16
	}
	x := int64(int32(bits))
	if kind.IsUnsigned() && t.Kind() != schema.Enum {
		x = int64(uint32(bits))
	}
	if x < low || x > high {
		return 0, n, diag.NewFault(diag.OutOfRange, at, fmt.Sprintf("%d is no %s", x, kind))
	}
	return uint64(x), n, nil
}

func numberFault(n, at int) *diag.Fault {
	if n < 0 {
		return faultOf(n, at)
	}
	return nil
}

// numbers reads the number in a field, or all in a packed one, and calls put for each.
func (r *reader) numbers(x *field, v []byte, t protowire.Type, at int, put func(bits uint64) *diag.Fault) *diag.Fault {
	for pos := 0; pos < len(v) || t != protowire.Bytes; {
		bits, n, fault := r.number(x.t, v[pos:], at+pos)
		if fault == nil {
			fault = put(bits)
		}
		if fault != nil || t != protowire.Bytes {
			return fault
		}
		pos += n
	}
	return nil
}

// inlineVector reads a vector of numbers or structs.
func (r *reader) inlineVector(x *field, b []byte, rows rows, base int) (flatbuf.UOffsetT, *diag.Fault) {
	start, size, n := len(r.bytes), x.t.InlineSize(), 0
	put := func(bits uint64) *diag.Fault {
		r.bytes = append(r.bytes, make([]byte, size)...)
		flatpack.Put(r.bytes[len(r.bytes)-size:], bits, size)
		n++
		return nil
	}
	fault := r.each(b, rows, base, func(v []byte, t protowire.Type, at int) *diag.Fault {
		var fault *diag.Fault
		if x.kind == number {
			fault = r.numbers(x, v, t, at, put)
		} else if fault = r.inlined(x.sub, v, at); fault == nil {
			n++
		}
		if fault == nil {
			fault = r.fits(len(r.bytes)-start, at)
		}
		if fault != nil {
			return fault.Index(n)
		}
		return nil
	})
	if fault != nil {
		return 0, fault
	}
	data := r.bytes[start:]
	flatpack.SortStructs(x.t, data)
	off := flatpack.Vector(r.p.Builder, data, n, size, x.t.InlineAlign(), x.f.Type().Encoding() == schema.Vector64)
	r.bytes = r.bytes[:start]
	return off, nil
}

// structField reads a struct of a table.
func (r *reader) structField(x *field, b []byte, rows rows, base int) *diag.Fault {
	v, at, fault := r.merged(x, b, rows, base)
	if fault != nil {
		return fault
	}
	start := len(r.bytes)
	if fault := r.inlined(x.sub, v, at); fault != nil {
		return fault
	}
	r.p.Struct(int(x.f.ID()), r.bytes[start:], x.t.InlineAlign())
	r.bytes = r.bytes[:start]
	return nil
}

// inlined reads a struct onto the stack of bytes.
func (r *reader) inlined(m *message, b []byte, base int) *diag.Fault {
	start := len(r.bytes)
	if fault := r.fits(start+m.def.Size(), base); fault != nil {
		return fault
	}
	r.bytes = append(r.bytes, make([]byte, m.def.Size())...)
	return r.into(m, b, base, r.bytes[start:])
}

// into reads a struct into dst, which holds what was read of it before.
func (r *reader) into(m *message, b []byte, base int, dst []byte) *diag.Fault {
	mark := len(r.counts)
	r.counts = append(r.counts, make([]int, len(m.fields))...)
	for pos := 0; pos < len(b); {
		i, t, n, fault := r.tag(m, b[pos:], base+pos)
		if fault != nil {
			return fault
		}
		size, fault := value(b[pos:], n, t, base+pos)
		if fault != nil {
			return fault
		}
		if i >= 0 {
			v, at := b[pos+n:pos+n+size], base+pos+n
			if t == protowire.Bytes {
				payload, _ := protowire.ConsumeBytes(v)
				at += len(v) - len(payload)
				v = payload
			}
			x := &m.fields[i]
			count := r.counts[mark+i]
			if count, fault = r.place(x, v, t, at, dst[x.f.Offset():][:x.f.Type().InlineSize()], count); fault != nil {
				return fault.Field(x.f.Name())
			}
			r.counts[mark+i] = count
		}
		pos += n + size
	}
	for i := range m.fields {
		if x := &m.fields[i]; x.listed && r.counts[mark+i] != 0 && r.counts[mark+i] != x.f.Type().Len() {
			return diag.NewFault(diag.InvalidLength, base, fmt.Sprintf("%d elements of %d", r.counts[mark+i], x.f.Type().Len())).Field(x.f.Name())
		}
	}
	r.counts = r.counts[:mark]
	return nil
}

// place reads one field of a struct into dst, which has room for it. count is how many elements of an array have been read.
func (r *reader) place(x *field, v []byte, t protowire.Type, at int, dst []byte, count int) (int, *diag.Fault) {
	size := x.t.InlineSize()
	tooMany := func() *diag.Fault {
		return diag.NewFault(diag.InvalidLength, at, fmt.Sprintf("more than %d elements", x.f.Type().Len()))
	}
	switch {
	case x.kind == blob:
		if len(v) != len(dst) && len(v) != 0 {
			return 0, diag.NewFault(diag.InvalidLength, at, fmt.Sprintf("%d bytes of %d", len(v), len(dst)))
		}
		clear(dst)
		copy(dst, v)
		return 0, nil
	case x.kind == number:
		fault := r.numbers(x, v, t, at, func(bits uint64) *diag.Fault {
			if !x.listed {
				flatpack.Put(dst, bits, size)
				return nil
			}
			if count == x.f.Type().Len() {
				return tooMany()
			}
			flatpack.Put(dst[count*size:], bits, size)
			count++
			return nil
		})
		return count, fault
	case !x.listed:
		return 0, r.into(x.sub, v, at, dst)
	case count == x.f.Type().Len():
		return count, tooMany()
	}
	return count + 1, r.into(x.sub, v, at, dst[count*size:(count+1)*size])
}
