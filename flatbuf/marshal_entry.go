package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the writing of vectors of entries: tables of a string and a scalar, as schemas
// have them in the place of maps. Nearly all of many messages are such.

// entryProgram writes an entry.
type entryProgram struct {
	text, value     uintptr // in the Go struct
	textAt, valueAt int     // in the table
	width           uint8   // of the scalar
	def             uint64
}

// entryOf returns the program of p, nil if p is no entry.
func entryOf(p *tableProgram) *entryProgram {
	l := p.leaf
	if l == nil || l.count != 1 || len(p.scalars) != 1 || l.refs[0].kind == vectorOfTexts || p.scalars[0].width == 0 {
		return nil
	}
	r, v := &l.refs[0], &p.scalars[0]
	return &entryProgram{
		text: r.off, value: v.off, textAt: p.refsAt, valueAt: v.at, width: v.width, def: v.def,
	}
}

// fewEntries is how many entries have the place of their offset on Go's stack.
const fewEntries = 8

// entries writes as many vectors of entries as places has room for, from src on, before head. It returns the new
// head, less than 0 if it gives up.
func (s *writer) entries(r *richRef, src mem.Pointer, head int, places []UOffsetT) int {
	var few [fewEntries]UOffsetT
	for i := range places {
		data, n := sliceAt(mem.Add(src, uintptr(i*mem.Size[[]byte]())))
		if data == nil && !r.required {
			places[i] = 0
			continue
		}
		if n <= len(few) {
			head = s.entryTables(r, data, head, few[:n])
		} else if n <= maxMessage/SizeUOffsetT {
			head = s.entryTables(r, data, head, s.b.PushOffsets(n))
			s.b.PopOffsets(n)
		} else {
			return -1
		}
		if head < 0 {
			return -1
		}
		places[i] = UOffsetT(head)
	}
	return head
}

// entryTables writes as many entries from data on as offsets has places, and the vector of them.
func (s *writer) entryTables(r *richRef, data mem.Pointer, head int, offsets []UOffsetT) int {
	b, p, e := s.b, r.entry, r.entry.entry
	base, end := mem.Data(b.Bytes), len(b.Bytes)
	vtable, stride := s.vtables[p.index], r.stride
	for i := range offsets {
		if i > 0 {
			data = mem.Add(data, stride)
		}
		row := data
		if r.pointers {
			if row = mem.Ptr(row); row == nil {
				return -1
			}
		}
		text := mem.String(mem.Add(row, e.text))
		bits := loadBits(mem.Add(row, e.value), e.width)
		n, from := len(text), mem.StringData(text)
		pos := textPos(head, n)
		start := (pos-p.inline)&^(p.align-1) - SizeSOffsetT
		if start < 0 || n == 0 || from == nil || bits == e.def || vtable == 0 {
			b.head = head
			off := b.leaf(p, row, nil)
			if off == 0 {
				return -1
			}
			head, offsets[i], vtable = b.head, off, s.vtables[p.index]
			continue
		}
		to := beginText(base, head, pos, n)
		switch { // as in CreateString: a call takes as long as the copy
		case n > 32 || n < 4:
			mem.PutString(to, text)
		case n >= 8:
			putWords(to, from, uintptr(n-8))
		default:
			putHalves(to, from, uintptr(n-4))
		}
		object := UOffsetT(end - start)
		offsets[i] = object
		table := mem.Add(base, uintptr(start))
		mem.PutLE64(mem.Add(base, uintptr(pos-8)), 0) // of which the fields leave what is padding
		mem.PutLE32(table, uint32(vtable-object))
		mem.PutLE32(mem.Add(table, uintptr(e.textAt)), uint32(pos-start-e.textAt))
		putScalar(mem.Add(table, uintptr(e.valueAt)), e.width, bits)
		head = start
	}
	return putVector(base, head, end, offsets)
}

// putVector writes a vector of references to what has these offsets, in the memory at base, and returns where it
// is, less than 0 if there is no room.
func putVector(base mem.Pointer, head, end int, offsets []UOffsetT) int {
	at := head - (len(offsets)+1)*SizeUOffsetT
	if at < 0 || at&(SizeUOffsetT-1) != 0 {
		return -1
	}
	p, above := mem.Add(base, uintptr(at)), uint32(end-at)
	mem.PutLE32(p, uint32(len(offsets)))
	for _, off := range offsets {
		p = mem.Add(p, SizeUOffsetT)
		above -= SizeUOffsetT
		mem.PutLE32(p, above-uint32(off))
	}
	return at
}
