package interp

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file decodes what the compact protocol writes in its own way; see
// compact_encode.go.

func (d *run) compactStruct(p *plan.Proc, base mem.Pointer, i, depth int) int {
	if depth <= 0 {
		return d.fail(diag.DepthLimit, i, "nested deeper than the limit")
	}
	b := d.b
	start := i
	next := 0 // the op that is expected
	var seen fieldSet
	last := 0
	ops := p.Ops
	for {
		if uint(i) >= uint(len(b)) {
			return d.eof(i, 1)
		}
		c := b[i]
		if c == 0 { // STOP
			i++
			break
		}
		if id := last + int(c>>4); c>>4 != 0 && uint(next) < uint(len(ops)) && int(ops[next].ID) == id && ops[next].Wire == d.types[c&15] {
			last = id
			i++
		} else {
			f, n := d.compact.ConsumeField(b[i:], int16(last))
			if n < 0 {
				return d.wire(n, i)
			}
			last = int(f.ID)
			next = p.Find(plan.HeadOf(f.Type, f.ID))
			if next < 0 {
				next = 0
				if i = d.compactUnknown(p, base, f, i, n, depth); i < 0 {
					return failed
				}
				continue
			}
			i += n
		}
		op := &ops[next]
		next++
		seen.add(op)
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&plan.Deref != 0 {
			at = d.box(op, at)
		}
		switch op.Code {
		case plan.Bool:
			mem.SetU8(at, bit(c&15 == 1))
			continue
		case plan.I64:
			v, n := compact.ConsumeI64(b[i:])
			if n < 0 {
				i = d.wire(n, i)
				break
			}
			mem.SetU64(at, uint64(v))
			i += n
			continue
		case plan.I32, plan.Enum64:
			v, n := compact.ConsumeI32(b[i:])
			if n < 0 {
				i = d.wire(n, i)
				break
			}
			if op.Code == plan.I32 {
				mem.SetU32(at, uint32(v))
			} else {
				mem.SetU64(at, uint64(int64(v)))
			}
			i += n
			continue
		case plan.Double:
			if len(b)-i < 8 {
				i = d.eof(i, 8)
				break
			}
			v := binary.LittleEndian.Uint64(b[i:])
			if d.compact == compact.FBThrift {
				v = bits.ReverseBytes64(v)
			}
			mem.SetU64(at, v)
			i += 8
			continue
		case plan.String:
			var s []byte
			if s, i = d.bytes(op, i); i >= 0 {
				mem.SetString(at, mem.StringOf(s))
			}
		case plan.Binary:
			var s []byte
			if s, i = d.bytes(op, i); i >= 0 {
				mem.SetBytes(at, s)
			}
		default:
			i = d.value(op, at, i, depth-1)
		}
		if i < 0 {
			d.fault.Field(op.Name)
			return failed
		}
	}
	return d.finish(p, &seen, start, i)
}

func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}

// compactUnknown steps over a field that no op reads. Its header is n bytes at i.
func (d *run) compactUnknown(p *plan.Proc, base mem.Pointer, f compact.Field, i, n, depth int) int {
	if d.opts.Strict {
		if op := p.FindID(f.ID); op != nil {
			d.mismatch(i, op.Wire, f.Type)
			d.fault.Field(op.Name)
			return failed
		}
	}
	end := i + n
	if f.Type != thriftwire.Bool {
		if end = d.skip(end, f.Type, depth-1); end < 0 {
			d.fault.Field(strconv.Itoa(int(f.ID)))
			return failed
		}
	}
	if p.Unknown >= 0 {
		// Kept in the binary protocol, so that either can write it again.
		at := mem.Add(base, uintptr(p.Unknown))
		kept, _ := d.compact.AppendFieldToBinary(mem.Bytes(at), d.b[i+n:end], f, depth)
		mem.SetBytes(at, kept)
	}
	return end
}

func (d *run) compactScalar(op *plan.Op, p mem.Pointer, i int) int {
	b := d.b[i:]
	var n int
	switch op.Code {
	case plan.Bool:
		var v bool
		v, n = compact.ConsumeBool(b)
		mem.SetU8(p, bit(v))
	case plan.I8:
		var v int8
		v, n = compact.ConsumeI8(b)
		mem.SetU8(p, uint8(v))
	case plan.I16:
		var v int16
		v, n = compact.ConsumeI16(b)
		mem.SetU16(p, uint16(v))
	case plan.I32:
		var v int32
		v, n = compact.ConsumeI32(b)
		mem.SetU32(p, uint32(v))
	case plan.Enum64:
		var v int32
		v, n = compact.ConsumeI32(b)
		mem.SetU64(p, uint64(int64(v)))
	case plan.I64:
		var v int64
		v, n = compact.ConsumeI64(b)
		mem.SetU64(p, uint64(v))
	case plan.Float:
		var v float32
		v, n = compact.ConsumeFloat(b)
		mem.SetU32(p, math.Float32bits(v))
	case plan.Double:
		var v float64
		v, n = d.compact.ConsumeDouble(b)
		mem.SetU64(p, math.Float64bits(v))
	default: // UUID
		var v [16]byte
		v, n = compact.ConsumeUUID(b)
		*mem.UUID(p) = v
	}
	if n < 0 {
		return d.wire(n, i)
	}
	return i + n
}

// compactNumbers reads n elements of fixed width in memory. The header has
// shown that n bytes at least are there.
func (d *run) compactNumbers(elem *plan.Op, p mem.Pointer, i, n int) int {
	size := int(elem.Code.Memory())
	have := d.capacity(i, n, uintptr(size))
	data := mem.Data(d.chunk.Take(have*size, min(size, 8)))
	for k := range n {
		if k == have { // more elements than their claimed number was worth
			have += min(have, n-have)
			more := d.chunk.Take(have*size, min(size, 8))
			copy(more, mem.View[byte](data, k*size))
			data = mem.Data(more)
		}
		if i = d.compactScalar(elem, mem.Add(data, uintptr(k*size)), i); i < 0 {
			d.fault.Index(k)
			return failed
		}
	}
	mem.SetSlice(p, data, n)
	return i
}
