package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the fast way to write a table, for generated code: its fields
// are written upwards, in the order of falling alignment, into memory that is
// reserved at once. No field needs padding, and its place in the table is known
// as it is written.

// StartTable starts a table of which at most inline bytes are fields, with the
// given number of slots. align is the greatest alignment of its fields, a power
// of two from 4 to 32. The fields are put into table by the
// PutX functions, those with the greatest alignment first and from position 4
// on, and EndTable ends the table. Both slices are valid until then.
func (b *Builder) StartTable(slots, inline, align int) (table []byte, vtable []uint16) {
	b.assertNotNested()
	b.nested = true
	b.minalign = max(b.minalign, align)
	// The table starts 4 bytes before a multiple of align.
	size := SizeSOffsetT + inline
	size += -(len(b.Bytes) - b.head + size - SizeSOffsetT) & (align - 1)
	b.room(size + SizeVOffsetT*(VtableMetadataFields+slots))
	n := VtableMetadataFields + slots
	if cap(b.plain) < n {
		b.plain = make([]uint16, max(n, 16))
	}
	if n <= 16 {
		*(*[16]uint16)(b.plain[:16]) = [16]uint16{}
	} else {
		clear(b.plain[:n])
	}
	vtable = b.plain[:n]
	return b.Bytes[b.head-size : b.head : b.head], vtable
}

// EndTable ends the table that StartTable started and returns its offset. end
// is where the last field in it ends. From refStart to refEnd there are
// references only: each holds the offset of what it refers to.
func (b *Builder) EndTable(table []byte, vtable []uint16, align, end, refStart, refEnd int) UOffsetT {
	table = b.closeTable(table, align, end)
	object := b.Offset()
	if refStart < refEnd {
		refs := table[refStart:refEnd]
		for at := 0; at+SizeUOffsetT <= len(refs); at += SizeUOffsetT {
			p := mem.Data(refs[at : at+SizeUOffsetT])
			mem.PutLE32(p, uint32(object)-uint32(refStart+at)-mem.LE32(p))
		}
	}
	return b.endVtable(object, vtable, end)
}

// EndTable64 is EndTable for a table that has references of 64 bits too, from
// wideStart to refStart.
func (b *Builder) EndTable64(table []byte, vtable []uint16, align, end, wideStart, refStart, refEnd int) UOffsetT {
	table = b.closeTable(table, align, end)
	object := b.Offset()
	for at := wideStart; at < refStart; at += 8 {
		p := mem.Data(table[at : at+8])
		mem.PutLE64(p, uint64(object)-uint64(at)-mem.LE64(p))
	}
	for at := refStart; at < refEnd; at += SizeUOffsetT {
		p := mem.Data(table[at : at+SizeUOffsetT])
		mem.PutLE32(p, uint32(object)-uint32(at)-mem.LE32(p))
	}
	return b.endVtable(object, vtable, end)
}

// closeTable makes the first end bytes of table, with zeros after them, part of the
// message and returns them.
func (b *Builder) closeTable(table []byte, align, end int) []byte {
	b.assertNested()
	b.nested = false
	if slack := len(table) - end; slack >= align { // absent fields
		move := slack &^ (align - 1)
		copy(table[move:], table[:end])
		table = table[move:]
	}
	for i := end; i < len(table); i++ {
		table[i] = 0
	}
	b.head -= len(table)
	return table
}

// endVtable completes the vtable of the table with that offset, whose fields
// end at end, and lets the table refer to it.
func (b *Builder) endVtable(object UOffsetT, vtable []uint16, end int) UOffsetT {
	n := len(vtable)
	for n > VtableMetadataFields && vtable[n-1] == 0 {
		n--
	}
	size := n * SizeVOffsetT
	if end > 1<<16-1 || size > 1<<16-1 {
		panic("flatbuf: a table of more than 64 KiB")
	}
	vtable[0], vtable[1] = uint16(size), uint16(end)
	written := mem.View[byte](mem.Data(vtable), size)
	mem.ToLE(written, SizeVOffsetT)
	b.shareVtable(object, written)
	return object
}

// PutUint8 puts a field into the table at position at and returns where it ends.
func PutUint8(table []byte, vtable []uint16, slot, at int, v uint8) int {
	table[at] = v
	vtable[slot+VtableMetadataFields] = uint16(at)
	return at + 1
}

// PutUint16 is PutUint8 for two bytes.
func PutUint16(table []byte, vtable []uint16, slot, at int, v uint16) int {
	mem.PutLE16(mem.Data(table[at:at+2]), v)
	vtable[slot+VtableMetadataFields] = uint16(at)
	return at + 2
}

// PutUint32 is PutUint8 for four bytes: a number, the bits of a float32, or the
// offset of what the field refers to.
func PutUint32(table []byte, vtable []uint16, slot, at int, v uint32) int {
	mem.PutLE32(mem.Data(table[at:at+4]), v)
	vtable[slot+VtableMetadataFields] = uint16(at)
	return at + 4
}

// PutUint64 is PutUint8 for eight bytes.
func PutUint64(table []byte, vtable []uint16, slot, at int, v uint64) int {
	mem.PutLE64(mem.Data(table[at:at+8]), v)
	vtable[slot+VtableMetadataFields] = uint16(at)
	return at + 8
}

// PutBool is PutUint8 for a bool.
func PutBool(table []byte, vtable []uint16, slot, at int, v bool) int {
	return PutUint8(table, vtable, slot, at, bit(v))
}

// PutStruct reserves a struct of size bytes, which are to be written to
// table[at:at+size], and returns where it ends.
func PutStruct(vtable []uint16, slot, at, size int) int {
	vtable[slot+VtableMetadataFields] = uint16(at)
	return at + size
}
