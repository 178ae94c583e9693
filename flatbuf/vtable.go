package flatbuf

import (
	"bytes"
	"hash/maphash"

	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the vtables of a Builder. Tables with the same fields at the same
// places share one.

// vtableSet finds vtables that the message holds already: few by comparing, many
// by their hashes.
type vtableSet struct {
	offsets []UOffsetT // from the end of the message, in the order of writing
	index   []uint32   // open addressing by hash: 1 + position in offsets; used beyond fewVtables
	seed    maphash.Seed
	seeded  bool
}

// fewVtables is the number up to which comparing with each is as fast as hashing.
const fewVtables = 6

func (s *vtableSet) reset() { s.offsets = s.offsets[:0] }

// truncate forgets all but the first n vtables of the message in buf.
func (s *vtableSet) truncate(buf []byte, n int) {
	if n == len(s.offsets) {
		return
	}
	s.offsets = s.offsets[:n]
	if n > fewVtables {
		s.reindex(buf)
	}
}

// find returns the offset of the vtable in buf that equals vtable, or 0.
func (s *vtableSet) find(buf, vtable []byte) UOffsetT {
	n := len(s.offsets)
	if n <= fewVtables {
		for i := n - 1; i >= 0; i-- {
			if same(buf, s.offsets[i], vtable) {
				return s.offsets[i]
			}
		}
		return 0
	}
	if last := s.offsets[n-1]; same(buf, last, vtable) { // as the rows of a vector
		return last
	}
	mask := len(s.index) - 1
	for i := int(maphash.Bytes(s.seed, vtable)) & mask; s.index[i] != 0; i = (i + 1) & mask {
		if off := s.offsets[s.index[i]-1]; same(buf, off, vtable) {
			return off
		}
	}
	return 0
}

// same reports whether the vtable at the offset off from the end of buf is
// vtable.
func same(buf []byte, off UOffsetT, vtable []byte) bool {
	other := buf[len(buf)-int(off):]
	if len(other) < len(vtable) || mem.LE32(mem.Data(other)) != mem.LE32(mem.Data(vtable[:4])) { // both sizes
		return false
	}
	if len(vtable) == 8 { // two fields: the entries of maps
		return mem.LE32(mem.Data(other[4:8])) == mem.LE32(mem.Data(vtable[4:8]))
	}
	return bytes.Equal(other[:len(vtable)], vtable)
}

// add notes the vtable at the offset off from the end of buf.
func (s *vtableSet) add(buf []byte, off UOffsetT) {
	s.offsets = append(s.offsets, off)
	n := len(s.offsets)
	switch {
	case n <= fewVtables:
	case n == fewVtables+1 || n*2 > len(s.index): // the first that needs the index, or too many for it
		s.reindex(buf)
	default:
		s.enter(buf, n-1)
	}
}

func (s *vtableSet) reindex(buf []byte) {
	if !s.seeded {
		s.seed, s.seeded = maphash.MakeSeed(), true
	}
	if size := len(s.index); size < 4*len(s.offsets) {
		s.index = make([]uint32, max(2*size, 64))
	} else {
		clear(s.index)
	}
	for i := range s.offsets {
		s.enter(buf, i)
	}
}

func (s *vtableSet) enter(buf []byte, n int) {
	start := len(buf) - int(s.offsets[n])
	size := int(mem.LE16(mem.Data(buf[start : start+2])))
	mask := len(s.index) - 1
	i := int(maphash.Bytes(s.seed, buf[start:start+size])) & mask
	for s.index[i] != 0 {
		i = (i + 1) & mask
	}
	s.index[i] = uint32(n + 1)
}

// StartObject starts a table with numfields slots. Its fields are written
// next, in any order.
func (b *Builder) StartObject(numfields int) {
	b.assertNotNested()
	b.nested = true
	if cap(b.vtable) < numfields {
		b.vtable = make([]UOffsetT, numfields)
	} else {
		b.vtable = b.vtable[:numfields]
		clear(b.vtable)
	}
	b.objectEnd = b.Offset()
}

// EndObject ends the table and returns its offset.
func (b *Builder) EndObject() UOffsetT {
	b.assertNested()
	n := b.WriteVtable()
	b.nested = false
	return n
}

// WriteVtable writes the start of the table at hand, and its vtable unless the message
// has an equal one. EndObject calls it.
func (b *Builder) WriteVtable() UOffsetT {
	b.Prep(SizeSOffsetT, 0)
	b.place32(0)
	object := b.Offset()
	n := len(b.vtable)
	for n > 0 && b.vtable[n-1] == 0 {
		n--
	}
	size := SizeVOffsetT * (VtableMetadataFields + n)
	b.room(size)
	vtable := b.Bytes[b.head-size : b.head]
	if object-b.objectEnd > 1<<16-1 || size > 1<<16-1 {
		panic("flatbuf: a table of more than 64 KiB")
	}
	mem.PutLE32(mem.Data(vtable), uint32(size)|uint32(object-b.objectEnd)<<16)
	fields := vtable[SizeVOffsetT*VtableMetadataFields:]
	for i, off := range b.vtable[:n] {
		if off != 0 {
			off = object - off
		}
		fields[2*i], fields[2*i+1] = byte(off), byte(off>>8)
	}
	b.vtable = b.vtable[:0]
	b.shareVtable(object, vtable)
	return object
}

// shareVtable makes the table with that offset refer to its vtable, which is
// written if the message has no equal one, and returns the vtable's offset.
// vtable may already lie where it would be written, right before the head.
func (b *Builder) shareVtable(object UOffsetT, vtable []byte) UOffsetT {
	off := UOffsetT(0)
	if len(b.vtables.offsets) > 0 {
		off = b.vtables.find(b.Bytes, vtable)
	}
	if off == 0 {
		b.room(len(vtable))
		at := b.head - len(vtable)
		dst := b.Bytes[at:b.head]
		if n := len(dst); n >= 8 && n <= 24 { // of no more than ten fields, without a call
			first, last := mem.LE64(mem.Data(vtable)), mem.LE64(mem.Data(vtable[n-8:]))
			if n > 16 {
				mem.PutLE64(mem.Data(dst[8:]), mem.LE64(mem.Data(vtable[8:])))
			}
			mem.PutLE64(mem.Data(dst[n-8:]), last)
			mem.PutLE64(mem.Data(dst), first)
		} else {
			copy(dst, vtable)
		}
		b.head = at
		off = UOffsetT(len(b.Bytes) - at)
		b.vtables.add(b.Bytes, off)
	}
	table := len(b.Bytes) - int(object)
	mem.PutLE32(mem.Data(b.Bytes[table:table+SizeSOffsetT]), uint32(off-object))
	return off
}
