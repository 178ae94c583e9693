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

// compactScalar reads a number into p, which stays as it is after a fault.
func (d *run) compactScalar(op *plan.Op, p mem.Pointer, i int) int {
	b := d.b[i:]
	var u uint64
	var n int
	switch op.Code {
	case plan.Bool:
		var v bool
		v, n = compact.ConsumeBool(b)
		u = uint64(bit(v))
	case plan.I8:
		var v int8
		v, n = compact.ConsumeI8(b)
		u = uint64(v)
	case plan.I16:
		var v int16
		v, n = compact.ConsumeI16(b)
		u = uint64(v)
	case plan.I32, plan.Enum64:
		var v int32
		v, n = compact.ConsumeI32(b)
		u = uint64(v)
	case plan.I64:
		var v int64
		v, n = compact.ConsumeI64(b)
		u = uint64(v)
	case plan.Float:
		var v float32
		v, n = compact.ConsumeFloat(b)
		u = uint64(math.Float32bits(v))
	case plan.Double:
		if len(b) < 8 {
			return d.eof(i, 8)
		}
		var v float64
		v, n = d.compact.ConsumeDouble(b)
		u = math.Float64bits(v)
	default: // UUID
		var v [16]byte
		if v, n = compact.ConsumeUUID(b); n >= 0 {
			*mem.UUID(p) = v
		}
	}
	if n < 0 {
		return d.wire(n, i)
	}
	if op.Code != plan.UUID {
		storeNumber(op.Code, p, u)
	}
	return i + n
}

// storeNumber stores the low bytes of u as a number of code c.
func storeNumber(c plan.Code, p mem.Pointer, u uint64) {
	switch c.Memory() {
	case 1:
		mem.SetU8(p, uint8(u))
	case 2:
		mem.SetU16(p, uint16(u))
	case 4:
		mem.SetU32(p, uint32(u))
	default:
		mem.SetU64(p, u)
	}
}

// compactNumbers reads n elements of fixed width in memory. The header has
// shown that n bytes at least are there, and all of those that have one size.
func (d *run) compactNumbers(elem *plan.Op, p mem.Pointer, i, n int) int {
	switch elem.Code {
	case plan.I8, plan.UUID, plan.Float: // as in the binary protocol
		return d.numbers(elem, p, i, n)
	case plan.Double:
		if d.compact == compact.FBThrift {
			return d.numbers(elem, p, i, n)
		}
		dst := d.chunk.Take(n*8, 8)
		mem.CopyLE(dst, d.b[i:i+n*8], 8)
		mem.SetSlice(p, mem.Data(dst), n)
		return i + n*8
	}
	size := int(elem.Code.Memory())
	have := d.capacity(i, n, uintptr(size))
	data := mem.Data(d.chunk.Take(have*size, min(size, 8)))
	for k := 0; k < n; k++ {
		if k == have { // more elements than their claimed number was worth
			have += min(have, n-have)
			more := d.chunk.Take(have*size, min(size, 8))
			copy(more, mem.View[byte](data, k*size))
			data = mem.Data(more)
		}
		at := mem.Add(data, uintptr(k*size))
		if rest := have - k; d.bulk.Varints != nil && rest >= varintsFrom && elem.Code != plan.Bool {
			if read, taken := d.bulk.Varints(elem.Code, at, mem.Data(d.b[i:]), rest, len(d.b)-i); read > 0 {
				k, i = k+read-1, i+taken
				continue
			}
		}
		if i = d.compactScalar(elem, at, i); i < 0 {
			d.fault.Index(k)
			return failed
		}
	}
	mem.SetSlice(p, data, n)
	return i
}
