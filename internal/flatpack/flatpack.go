// Package flatpack puts FlatBuffers together whose schema is known at run time
// only, field by field as they come: what a table refers to is written at
// once, and the table itself when all is known. Where the values come from is
// its users' business, JSON or Go values.
package flatpack

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// Packer holds the fields of tables that are not written yet, on a stack. Its
// zero value is ready with a Builder. It is for one goroutine at a time.
type Packer struct {
	Builder *flatbuf.Builder
	fields  []field
	structs []byte
	set     []uint64 // a bit for each slot of a table, for the table at hand last
	base    int      // where the bits of the table at hand begin
}

// Mark is where a table begins.
type Mark struct{ fields, base int }

type field struct {
	slot  int
	kind  kind
	size  int
	align int
	bits  uint64 // of a scalar, an offset, or where a struct begins in structs
}

type kind uint8

const (
	scalar kind = iota
	inline
	offset
	offset64
)

// Start begins a table; EndTable ends it. Tables that are begun inside are ended first.
func (p *Packer) Start() Mark {
	m := Mark{len(p.fields), p.base}
	p.base = len(p.set)
	return m
}

// Has tells whether Note was called for that slot of the table at hand.
func (p *Packer) Has(slot int) bool {
	i := p.base + slot/64
	return i < len(p.set) && p.set[i]>>(slot%64)&1 != 0
}

// Note notes that the table at hand has a field in that slot. All that adds
// a field does so; others note a field that is the default and left out.
func (p *Packer) Note(slot int) {
	i := p.base + slot/64
	for i >= len(p.set) {
		p.set = append(p.set, 0)
	}
	p.set[i] |= 1 << (slot % 64)
}

// Scalar adds a number, whose size bytes are the low ones of bits.
func (p *Packer) Scalar(slot int, bits uint64, size int) {
	p.Note(slot)
	p.fields = append(p.fields, field{slot: slot, kind: scalar, size: size, align: size, bits: bits})
}

// Struct adds a struct as it stands in messages.
func (p *Packer) Struct(slot int, data []byte, align int) {
	p.Note(slot)
	at := len(p.structs)
	p.structs = append(p.structs, data...)
	p.fields = append(p.fields, field{slot: slot, kind: inline, size: len(data), align: align, bits: uint64(at)})
}

// Offset adds a part that has been written; wide is for an offset of 64 bits.
func (p *Packer) Offset(slot int, off flatbuf.UOffsetT, wide bool) {
	p.Note(slot)
	f := field{slot: slot, kind: offset, size: 4, align: 4, bits: uint64(off)}
	if wide {
		f.kind, f.size, f.align = offset64, 8, 8
	}
	p.fields = append(p.fields, f)
}

// Number adds the number of a field, with its low bytes those of bits, unless it is the default.
func (p *Packer) Number(f *schema.Field, bits uint64) {
	size := f.Type().InlineSize()
	p.Note(int(f.ID()))
	if f.Requiredness() != schema.Optional && Low(bits, size) == Low(DefaultBits(f), size) {
		return
	}
	p.Scalar(int(f.ID()), bits, size)
}

// Missing returns a required field of d that the table at hand does not have, or nil.
func (p *Packer) Missing(d *schema.StructDef) *schema.Field {
	for _, f := range d.Fields() {
		if f.Requiredness() == schema.Required && !f.Deprecated() && !p.Has(int(f.ID())) {
			return f
		}
	}
	return nil
}

// EndTable writes the table that began at mark.
func (p *Packer) EndTable(mark Mark) flatbuf.UOffsetT {
	fields := p.fields[mark.fields:]
	slots := 0
	for i := range fields {
		slots = max(slots, fields[i].slot+1)
	}
	// The widest first, so that nothing needs padding.
	slices.SortStableFunc(fields, func(a, b field) int {
		if c := cmp.Compare(a.align, b.align); c != 0 {
			return c
		}
		return cmp.Compare(b.slot, a.slot)
	})
	b := p.Builder
	b.StartObject(slots)
	first := len(p.structs)
	for i := range fields {
		f := &fields[i]
		switch f.kind {
		case scalar:
			prepend(b, f.bits, f.size)
		case inline:
			first = min(first, int(f.bits))
			Inline(b, p.structs[f.bits:int(f.bits)+f.size], f.align)
		case offset:
			b.PrependUOffsetT(flatbuf.UOffsetT(f.bits))
		case offset64:
			b.PrependUOffsetT64(flatbuf.UOffsetT(f.bits))
		}
		b.Slot(f.slot)
	}
	p.structs = p.structs[:first]
	p.fields = p.fields[:mark.fields]
	p.set, p.base = p.set[:p.base], mark.base
	return b.EndObject()
}

// Reset forgets tables that were begun, after a fault.
func (p *Packer) Reset() {
	p.fields, p.structs, p.set, p.base = p.fields[:0], p.structs[:0], p.set[:0], 0
}

func prepend(b *flatbuf.Builder, bits uint64, size int) {
	switch size {
	case 1:
		b.PrependUint8(uint8(bits))
	case 2:
		b.PrependUint16(uint16(bits))
	case 4:
		b.PrependUint32(uint32(bits))
	default:
		b.PrependUint64(bits)
	}
}

// Vector writes a vector of n elements of size bytes each, that stand in data
// as they do in messages. wide is for a length of 64 bits.
func Vector(b *flatbuf.Builder, data []byte, n, size, align int, wide bool) flatbuf.UOffsetT {
	if wide {
		b.StartVector64(size, n, align)
	} else {
		b.StartVector(size, n, align)
	}
	b.Pad(len(data))
	copy(b.Bytes[b.Head():], data)
	if wide {
		return b.EndVector64(n)
	}
	return b.EndVector(n)
}

// VectorAlign returns the alignment that a field asks of its vector's elements by force_align, 1 if
// it asks for none.
func VectorAlign(f *schema.Field) int {
	if n, err := strconv.Atoi(f.Annotations().Value("force_align")); err == nil && n > 0 && n <= flatwire.MaxAlign && n&(n-1) == 0 {
		return n
	}
	return 1
}

// MessageAlign returns an alignment that suits a message inside another of which only the bytes are known: what
// builders make its length a multiple of, and 8 at least. It may be more than the message needs, which only following all of
// its parts would tell; a builder knows it exactly.
func MessageAlign(message []byte) int {
	return max(8, min(len(message)&-len(message), flatwire.MaxAlign))
}

// Inline writes a struct, in a table or alone as a member of a union.
func Inline(b *flatbuf.Builder, data []byte, align int) flatbuf.UOffsetT {
	b.Prep(align, len(data))
	b.Pad(len(data))
	copy(b.Bytes[b.Head():], data)
	return b.Offset()
}

// Unions adds a vector of unions in a slot, with the vector of their types, of
// size bytes each, in the slot before. The offset of a union that is not set is 0.
func Unions(p *Packer, slot int, types []byte, size int, offsets []flatbuf.UOffsetT) {
	if len(offsets) > 0 && slices.Contains(offsets, 0) {
		p.Offset(slot, p.sparse(offsets), false)
	} else {
		p.Offset(slot, p.Builder.CreateVectorOfTables(offsets), false)
	}
	p.Offset(slot-1, Vector(p.Builder, types, len(offsets), size, size, false), false)
}

// sparse writes a vector of offsets some of which are 0.
func (p *Packer) sparse(offsets []flatbuf.UOffsetT) flatbuf.UOffsetT {
	b := p.Builder
	b.StartVector(flatbuf.SizeUOffsetT, len(offsets), flatbuf.SizeUOffsetT)
	for _, off := range slices.Backward(offsets) {
		if off == 0 {
			b.Pad(flatbuf.SizeUOffsetT)
		} else {
			b.PrependUOffsetT(off)
		}
	}
	return b.EndVector(len(offsets))
}
