package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the fastest way to write a table, for generated code: if all its fields
// are present, each has a place that is known beforehand, and the vtable is always the same.

// TableShape is a table with all its fields, as plain data. Size and Align are those that the
// fields have; a shape that contradicts itself makes a panic or a wrong message, and nothing worse.
type TableShape struct {
	Size   int    // bytes of the table, from the reference to its vtable to its last field
	Align  int    // the greatest alignment of its fields, a power of two from 4 to 32
	Vtable string // its bytes
}

// knownVtable is a vtable that the message has, of a table with all its fields.
type knownVtable struct {
	shape  *TableShape
	offset UOffsetT
}

// StartFullTable returns memory of shape.Size bytes for a table with all its fields, and the
// offset that it will have. The fields are to be written to their places, a reference as that offset
// less its place and the offset of what it refers to, and EndFullTable makes the table part of the
// message. Until then nothing else may be written, and nothing has changed if it is not called.
func (b *Builder) StartFullTable(shape *TableShape) (table []byte, offset UOffsetT) {
	start := fullTableAt(b.head, shape)
	if start < len(shape.Vtable) || b.nested {
		b.assertNotNested()
		b.room(shape.Size + shape.Align + len(shape.Vtable))
		start = fullTableAt(b.head, shape)
	}
	table = b.Bytes[start:b.head]
	if n := len(table); n >= 8 && shape.Align <= 8 { // more zeros than there is padding
		mem.PutLE64(mem.Data(table[n-8:]), 0)
	} else {
		clear(table[shape.Size:])
	}
	return table[:shape.Size], UOffsetT(len(b.Bytes) - start)
}

// fullTableAt returns where a table starts that is written before head: 4 bytes before a multiple
// of its alignment. It is less than 0 if there is no room.
func fullTableAt(head int, shape *TableShape) int {
	return (head-shape.Size+SizeSOffsetT)&^(shape.Align-1) - SizeSOffsetT
}

// EndFullTable ends the table of that shape and offset which StartFullTable started last, and returns
// the offset.
func (b *Builder) EndFullTable(shape *TableShape, offset UOffsetT) UOffsetT {
	start := len(b.Bytes) - int(offset)
	table := b.Bytes[start:b.head]
	if b.minalign < shape.Align {
		b.minalign = shape.Align
	}
	b.head = start
	for i := range b.known[:b.knowns] {
		if known := &b.known[i]; known.shape == shape {
			mem.PutLE32(mem.Data(table[:SizeSOffsetT]), uint32(known.offset-offset))
			return offset
		}
	}
	vtable := b.shareVtable(offset, mem.View[byte](mem.StringData(shape.Vtable), len(shape.Vtable)))
	if b.knowns == len(b.known) { // the last one is forgotten
		b.knowns--
	}
	b.known[b.knowns] = knownVtable{shape, vtable}
	b.knowns++
	return offset
}
