package interp

import (
	"encoding/binary"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file decodes the binary protocol: structs and their fields. Functions
// take the offset at which to read and return the offset behind, or failed.

type decoder struct {
	prog  *plan.Program
	slots []engine.Slot
	cells []*cell // by slot
	opts  engine.DecodeOptions
	// compact is the dialect of the compact protocol, 0 for the binary one.
	compact compact.Dialect
	types   [16]thriftwire.Type // of the compact protocol, by code; Stop for those that it does not have
	assists []*Assist           // by procedure, or nil
	bulk    Bulk
}

// failed is the offset that a function returns once run.fault is set.
const failed = -1

// run is the state of one Decode. Between decodes it rests in a pool or an arena,
// with all but its memory cleared.
type run struct {
	*decoder
	b     []byte
	chunk *mem.Chunk
	arena *engine.Part // or nil for the heap
	fault *diag.Fault

	// expected is the number of bytes that what the containers around the value at
	// hand have announced, and is still to come, takes at least: more than an int of 32 bits may hold.
	expected int64

	spare  []*batch // not in use
	window *Window  // or nil before its first use

	// Places with an address for values that are about to be returned.
	slice   []byte
	pointer mem.Pointer
}

func (d *decoder) Decode(b []byte, v mem.Pointer, a *engine.Arena) (int, error) {
	if a != nil {
		part := a.Part(d, d.slots)
		r, ok := part.Run.(*run)
		if !ok {
			r = &run{decoder: d, chunk: &a.Chunk, arena: part}
		}
		part.Run = nil // should setting a default panic, it is lost as one from the pool is
		n, err := r.decode(b, v)
		part.Run = r
		return n, err
	}
	s := d.opts.Pool.Get()
	r, ok := s.Run.(*run)
	if !ok {
		r = &run{chunk: &s.Chunk}
		s.Run = r
	}
	if r.decoder != d {
		r.decoder = d
	}
	n, err := r.decode(b, v)
	d.opts.Pool.Put(s)
	return n, err
}

// decode fills the value at v from the front of b.
func (d *run) decode(b []byte, v mem.Pointer) (int, error) {
	d.b = b[:min(len(b), d.opts.MaxBytes)]
	n := d.structure(0, v, 0, d.opts.MaxDepth)
	if n >= 0 {
		d.b = nil // the other places are clear again, and each store that is saved saves a write barrier
		return n, nil
	}
	fault := d.fault
	*d = run{decoder: d.decoder, chunk: d.chunk, arena: d.arena, spare: d.spare, window: d.window}
	if fault.Code == diag.UnexpectedEOF && len(b) > d.opts.MaxBytes {
		fault.Code, fault.Detail = diag.SizeLimit, "longer than the limit of "+plural(d.opts.MaxBytes, "byte")
	}
	return 0, fault
}

// fail sets the fault and returns failed.
func (d *run) fail(c diag.Code, i int, detail string) int {
	d.fault = diag.NewFault(c, i, detail)
	return failed
}

// eof reports that n bytes were expected at i.
func (d *run) eof(i, n int) int {
	return d.fail(diag.UnexpectedEOF, i, "unexpected EOF: "+plural(n-(len(d.b)-i), "byte")+" short")
}

// wire converts a negative result of package thriftwire.
func (d *run) wire(n, i int) int {
	switch n {
	case thriftwire.ErrEOF:
		return d.fail(diag.UnexpectedEOF, i, "unexpected EOF")
	case thriftwire.ErrLength:
		return d.fail(diag.InvalidLength, i, "a length is negative")
	case thriftwire.ErrDepth:
		return d.fail(diag.DepthLimit, i, "nested deeper than the limit")
	case thriftwire.ErrData:
		return d.fail(diag.InvalidData, i, "bytes that no value of the type has")
	default:
		return d.fail(diag.InvalidType, i, "unknown wire type")
	}
}

func (d *run) mismatch(i int, want, got thriftwire.Type) int {
	return d.fail(diag.TypeMismatch, i, "type mismatch: "+strconv.Itoa(int(want))+" expected, got "+strconv.Itoa(int(got)))
}

func plural(n int, noun string) string {
	s := strconv.Itoa(n) + " "
	switch {
	case n == 1:
		return s + noun
	case noun[len(noun)-1] == 'y':
		return s + noun[:len(noun)-1] + "ies"
	default:
		return s + noun + "s"
	}
}

// structure reads the struct of a procedure into base.
func (d *run) structure(proc int32, base mem.Pointer, i, depth int) int {
	p := d.prog.Procs[proc]
	if d.assists != nil {
		if a := d.assists[proc]; a != nil && depth > 1 {
			return d.assisted(p, a, base, i, depth)
		}
	}
	if d.compact != 0 {
		return d.compactStruct(p, base, i, depth)
	}
	if depth <= 0 {
		return d.fail(diag.DepthLimit, i, "nested deeper than the limit")
	}
	// The input is o[:size]; a load stands behind a comparison of size-i with
	// its length.
	o, size := mem.Data(d.b), len(d.b)
	start := i
	next := 0 // the op that is expected
	var seen fieldSet
	ops := p.Ops
	for {
		var head uint32
		if size-i >= 4 { // always, but for the end of a message
			head = mem.BE32(mem.Add(o, uintptr(i))) >> 8
		} else if head = d.shortHead(i); d.fault != nil {
			return failed
		}
		if head < 1<<16 { // STOP
			i++
			break
		}
		if uint(next) >= uint(len(ops)) || ops[next].Head != head {
			next = p.Find(head)
			if next < 0 {
				next = 0
				if i = d.unknown(p, base, i, depth); i < 0 {
					return failed
				}
				continue
			}
		}
		op := &ops[next]
		next++
		seen.count++
		i += 3
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&(plan.Deref|plan.Required) != 0 {
			if op.Bit >= 0 {
				seen.mark(op.Bit)
			}
			if op.Flags&plan.Deref != 0 {
				at = d.box(op, at)
			}
		}
		left := size - i
		switch op.Code {
		case plan.I64, plan.Double:
			if left >= 8 {
				mem.SetU64(at, mem.BE64(mem.Add(o, uintptr(i))))
				i += 8
				continue
			}
		case plan.I32, plan.Float:
			if left >= 4 {
				mem.SetU32(at, mem.BE32(mem.Add(o, uintptr(i))))
				i += 4
				continue
			}
		case plan.Enum64:
			if left >= 4 {
				mem.SetU64(at, uint64(int64(int32(mem.BE32(mem.Add(o, uintptr(i)))))))
				i += 4
				continue
			}
		case plan.I8:
			if left >= 1 {
				mem.SetU8(at, mem.U8(mem.Add(o, uintptr(i))))
				i++
				continue
			}
		case plan.String, plan.Binary:
			if left < 4 {
				break
			}
			n := int(int32(mem.BE32(mem.Add(o, uintptr(i)))))
			if uint(n) > uint(left-4) {
				break
			}
			s := d.b[i+4 : i+4+n : i+4+n]
			if op.Flags&plan.Alias == 0 && !d.opts.Alias {
				s = d.chunk.Copy(s)
			}
			if op.Code == plan.String {
				mem.SetString(at, mem.StringOf(s))
			} else {
				mem.SetBytes(at, s)
			}
			i += 4 + n
			continue
		}
		if i = d.value(op, at, i, depth-1); i < 0 { // what is too short ends here too
			d.fault.Field(op.Name)
			return failed
		}
	}
	return d.finish(p, &seen, start, i)
}

// shortHead reads a field header where fewer than 4 bytes are left.
func (d *run) shortHead(i int) uint32 {
	switch rest := d.b[i:]; {
	case len(rest) == 0:
		d.eof(i, 1)
	case rest[0] == 0:
	case !thriftwire.Type(rest[0]).Valid():
		d.wire(thriftwire.ErrType, i)
	case len(rest) < 3:
		d.eof(i, 3)
	default:
		return uint32(rest[0])<<16 | uint32(rest[1])<<8 | uint32(rest[2])
	}
	return 0
}

// box allocates what the pointer field at p points to and returns its address.
func (d *run) box(op *plan.Op, p mem.Pointer) mem.Pointer {
	var v mem.Pointer
	if op.Slot >= 0 {
		v = d.alloc(op.Slot)
	} else {
		n := int(op.Code.Memory())
		v = mem.Data(d.chunk.Take(n, min(n, 8)))
	}
	mem.SetPtr(p, v)
	return v
}

// alloc returns a zero value of the slot's type.
func (d *run) alloc(slot int32) mem.Pointer {
	if d.arena != nil {
		return d.arena.Values(slot, 1)
	}
	return d.slots[slot].New()
}

// unknown steps over the field at i that no op reads, and keeps it where the
// struct has a place for it.
func (d *run) unknown(p *plan.Proc, base mem.Pointer, i, depth int) int {
	t, id, n := thriftwire.ConsumeField(d.b[i:])
	if n < 0 {
		return d.wire(n, i)
	}
	if d.opts.Strict {
		if op := p.FindID(id); op != nil {
			d.mismatch(i, op.Wire, t)
			d.fault.Field(op.Name)
			return failed
		}
	}
	end := d.skip(i+n, t, depth-1)
	if end < 0 {
		d.fault.Field(strconv.Itoa(int(id)))
		return failed
	}
	if p.Unknown >= 0 {
		at := mem.Add(base, uintptr(p.Unknown))
		mem.SetBytes(at, append(mem.Bytes(at), d.b[i:end]...))
	}
	return end
}

// skip steps over a value of type t.
func (d *run) skip(i int, t thriftwire.Type, depth int) int {
	var code int
	if d.compact != 0 {
		i, code = d.compact.SkipAt(d.b, i, t, depth)
	} else {
		i, code = thriftwire.SkipAt(d.b, i, t, depth)
	}
	if code < 0 {
		return d.wire(code, i)
	}
	return i
}

// fieldSet counts the fields of a struct that were read and marks the required ones.
type fieldSet struct {
	count int
	first uint64   // the first 64 required fields
	more  []uint64 // those behind, made when one is read
}

func (s *fieldSet) add(op *plan.Op) {
	s.count++
	if op.Bit >= 0 {
		s.mark(op.Bit)
	}
}

func (s *fieldSet) mark(bit int32) {
	if bit < 64 {
		s.first |= 1 << bit
		return
	}
	word := int(bit/64) - 1
	for len(s.more) <= word {
		s.more = append(s.more, 0)
	}
	s.more[word] |= 1 << (bit % 64)
}

func (s *fieldSet) has(bit int32) bool {
	if bit < 64 {
		return s.first>>bit&1 != 0
	}
	word := int(bit/64) - 1
	return word < len(s.more) && s.more[word]>>(bit%64)&1 != 0
}

// finish checks a struct that stands from start to end.
func (d *run) finish(p *plan.Proc, seen *fieldSet, start, end int) int {
	if p.Required > 0 && (p.Required > 64 || seen.first != ^uint64(0)>>(64-p.Required)) {
		for k := range p.Ops {
			if op := &p.Ops[k]; op.Bit >= 0 && !seen.has(op.Bit) {
				return d.fail(diag.MissingRequired, end-1, "missing required field "+strconv.Itoa(int(op.ID))+" for type "+p.Name)
			}
		}
	}
	if p.Union && d.opts.CheckUnion && seen.count != 1 {
		return d.fail(diag.InvalidUnion, start, "union "+p.Name+" has "+plural(seen.count, "field")+" set, not 1")
	}
	return end
}

// bytes reads a string or binary.
func (d *run) bytes(op *plan.Op, i int) ([]byte, int) {
	b := d.b
	if d.compact != 0 {
		if len(b)-i > 2 { // most lengths have one or two bytes
			n, at := int(b[i]), i+1
			if n >= 0x80 {
				n, at = n&0x7f|int(b[i+1])<<7, i+2
			}
			if n < 1<<14 && n <= len(b)-at {
				return d.keep(op, b[at:at+n:at+n]), at + n
			}
		}
		s, n := compact.ConsumeBytes(b[i:])
		if n < 0 {
			return nil, d.wire(n, i)
		}
		return d.keep(op, s), i + n
	}
	if len(b)-i < 4 {
		return nil, d.eof(i, 4)
	}
	n := int(int32(binary.BigEndian.Uint32(b[i:])))
	i += 4
	if uint(n) > uint(len(b)-i) {
		if n < 0 {
			return nil, d.fail(diag.InvalidLength, i-4, "a length is negative")
		}
		d.eof(i, n)
		d.fault.Offset = i - 4 // where the length stands
		return nil, failed
	}
	return d.keep(op, b[i:i+n:i+n]), i + n
}

// keep returns s as the value holds it.
func (d *run) keep(op *plan.Op, s []byte) []byte {
	if op.Flags&plan.Alias != 0 || d.opts.Alias {
		return s
	}
	return d.chunk.Copy(s)
}

// value reads one value without a header into p.
func (d *run) value(op *plan.Op, p mem.Pointer, i, depth int) int {
	b := d.b
	if w := op.Code.Width(); w > 0 {
		if d.compact != 0 {
			return d.compactScalar(op, p, i)
		}
		if len(b)-i < w {
			return d.eof(i, w)
		}
		switch op.Code {
		case plan.Bool:
			v := b[i]
			if v != 0 {
				v = 1
			}
			mem.SetU8(p, v)
		case plan.I8:
			mem.SetU8(p, b[i])
		case plan.I16:
			mem.SetU16(p, binary.BigEndian.Uint16(b[i:]))
		case plan.I32, plan.Float:
			mem.SetU32(p, binary.BigEndian.Uint32(b[i:]))
		case plan.I64, plan.Double:
			mem.SetU64(p, binary.BigEndian.Uint64(b[i:]))
		case plan.Enum64:
			mem.SetU64(p, uint64(int64(int32(binary.BigEndian.Uint32(b[i:])))))
		case plan.UUID:
			copy(mem.UUID(p)[:], b[i:])
		}
		return i + w
	}
	switch op.Code {
	case plan.String:
		s, n := d.bytes(op, i)
		if n >= 0 {
			mem.SetString(p, mem.StringOf(s))
		}
		return n
	case plan.Binary:
		s, n := d.bytes(op, i)
		if n >= 0 {
			mem.SetBytes(p, s)
		}
		return n
	case plan.Struct:
		d.init(op, p)
		return d.structure(op.A, p, i, depth)
	case plan.Pointer:
		v := d.alloc(op.Slot)
		d.init(op, v)
		mem.SetPtr(p, v)
		return d.structure(op.A, v, i, depth)
	case plan.List:
		return d.list(op, p, i, depth)
	default: // Map
		return d.mapping(op, p, i, depth)
	}
}

// init sets the defaults of the struct at v, which op reads.
func (d *run) init(op *plan.Op, v mem.Pointer) {
	if s := d.prog.Procs[op.A].Init; s >= 0 {
		d.slots[s].Init(v)
	}
}
