package flatbuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the writing of Go structs. A builder that has made such messages
// has the memory for the next one, so that one pass writes it; where memory is
// lacking, a pass before finds how many bytes the message takes at most. Each function
// returns false when s.fault is set, and each level adds its step to the path on
// the way back.

// writer is what a Builder keeps for the writing of Go structs.
type writer struct {
	b     *Builder
	depth int // how many more tables may nest
	fault *diag.Fault
	// vtables has the offset of the vtable of each table of the layout with all
	// its fields, 0 until one is written.
	vtables []UOffsetT
	sized   bool // memory was made for all
	lacking bool // the fault is that there is none
}

func (s *writer) fail(code diag.Code, detail string) bool {
	s.fault = diag.NewFault(code, -1, detail)
	return false
}

// room reports whether there are n bytes before the head. A message whose memory
// was sized has them, unless another goroutine changes the struct meanwhile.
func (s *writer) room(n int) bool {
	if s.b.head >= n && n >= 0 {
		return true
	}
	if !s.sized {
		s.lacking = true
		return s.fail(diag.SizeLimit, "no memory")
	}
	s.b.room(n)
	return true
}

// table writes what the struct at v refers to, then its table.
func (s *writer) table(p *tableProgram, v mem.Pointer) (UOffsetT, bool) {
	switch {
	case p.leaf != nil && s.depth > 0:
		if off := s.b.leaf(p, v, nil); off != 0 {
			return off, true
		}
	case p.rich != nil:
		if off := s.rich(p, v); off != 0 {
			return off, true
		}
	}
	if s.depth--; s.depth < 0 {
		return 0, s.fail(diag.DepthLimit, "tables are nested too deeply")
	}
	var few [8]UOffsetT
	results := few[:]
	if p.results > len(few) {
		results = s.b.PushOffsets(p.results)
	}
	for i := range p.writes {
		r := &p.writes[i]
		at := mem.Add(v, r.off)
		var ok bool
		switch r.kind {
		case refTexts:
			ok = s.texts(results[r.result:r.result+r.n], mem.View[string](at, r.n), false)
		case refStrings, refTables, refTablesV:
			results[r.result], ok = s.offsetsOf(r, at)
		default:
			ok = s.ref(r, at, results)
		}
		if r.required && ok && results[r.result] == 0 {
			ok = s.fail(diag.MissingRequired, "a required field is absent")
		}
		if !ok {
			s.fault.Field(r.name)
			return 0, false
		}
	}
	if s.b.head < p.bound && !s.room(p.bound) {
		return 0, false
	}
	off := s.full(p, v, results)
	if off == 0 {
		off = s.b.inlines(p, v, results)
	}
	if p.results > len(few) {
		s.b.PopOffsets(p.results)
	}
	s.depth++
	return off, true
}

// full writes the table itself if all fields are present: each has its place,
// and the vtable is always the same. It returns 0 if a field is absent, and has then
// written nothing that counts.
func (s *writer) full(p *tableProgram, v mem.Pointer, results []UOffsetT) UOffsetT {
	b := s.b
	start := p.start(b.head)
	t := b.Bytes[start:b.head]
	object := UOffsetT(len(b.Bytes) - start)
	table := mem.Data(t) // of size bytes, within which arrange has put every field
	if n := p.refsEnd - p.refsFrom; n > 0 {
		at := uint32(p.refsAt)
		for _, off := range results[:n] {
			if off == 0 {
				return 0
			}
			mem.PutLE32(mem.Add(table, uintptr(at)), uint32(object)-at-uint32(off))
			at += SizeUOffsetT
		}
	}
	if !putScalars(p.scalars, table, v) {
		return 0
	}
	for i := range p.others {
		if op := &p.others[i]; !op.put(t[op.at:], mem.Add(v, op.off), results) {
			return 0
		}
	}
	for i := SizeSOffsetT + p.inline; i < len(t); i++ {
		t[i] = 0
	}
	return b.endFull(p, table, start)
}

// start returns where a table with all its fields starts that is written before head.
func (p *tableProgram) start(head int) int { return (head-p.inline)&^(p.align-1) - SizeSOffsetT }

// endFull makes the table at start part of the message, a table with all its fields, and returns its offset.
func (b *Builder) endFull(p *tableProgram, table mem.Pointer, start int) UOffsetT {
	if b.minalign < p.align {
		b.minalign = p.align
	}
	b.head = start
	object := UOffsetT(len(b.Bytes) - start)
	known := &b.structs.vtables[p.index]
	if *known == 0 {
		*known = b.shareVtable(object, p.vtable)
	} else {
		mem.PutLE32(table, uint32(*known-object))
	}
	return object
}

// leastTable is the size of a table from which on pad writes its padding.
const leastTable = 8

// pad writes eight zeros before head, of which the fields of a table with no great alignment overwrite what is not padding.
func pad(base mem.Pointer, head int) { mem.PutLE64(mem.Add(base, uintptr(head-leastTable)), 0) }

// putRefs writes references to these places one after another from at in the table that starts at start. It
// returns false if one of them is absent.
func putRefs(table mem.Pointer, start, at int, places []UOffsetT) bool {
	for _, place := range places {
		if place == 0 {
			return false
		}
		mem.PutLE32(mem.Add(table, uintptr(at)), uint32(place)-uint32(start+at))
		at += SizeUOffsetT
	}
	return true
}

// partly writes the table of what has these places, 0 for what is absent.
func (b *Builder) partly(p *tableProgram, v mem.Pointer, places []UOffsetT) UOffsetT {
	for i, at := range places {
		if at != 0 {
			places[i] = UOffsetT(len(b.Bytes)) - at
		}
	}
	return b.inlines(p, v, places)
}

// put writes a field that is neither an offset nor a scalar by value to its place
// dst, unless it is absent.
func (op *inlineOp) put(dst []byte, src mem.Pointer, results []UOffsetT) bool {
	switch op.kind {
	case inlineType:
		dst[0] = uint8(results[op.result])
		return dst[0] != 0
	case inlineOptional, inlineStructP:
		if src = mem.Ptr(src); src == nil {
			return false
		}
	}
	if op.fixed != nil {
		op.fixed.write(dst[:op.fixed.size], src)
		return true
	}
	putScalar(mem.Data(dst[:op.width]), op.width, loadBits(src, op.width))
	return true
}

// inlines writes the table itself, of fields that may be absent.
func (b *Builder) inlines(p *tableProgram, v mem.Pointer, results []UOffsetT) UOffsetT {
	t, vt := b.StartTable(p.slots, p.inline, p.align)
	at := SizeSOffsetT
	refs, refsEnd := at, at
	for i := range p.inlines {
		op := &p.inlines[i]
		if i == p.refsFrom {
			refs, refsEnd = at, at
		}
		src := mem.Add(v, op.off)
		switch op.kind {
		case inlineRun:
			at = putRun(op, t, vt, at, src)
		case inlineRef:
			if off := results[op.result]; off != 0 {
				at = PutUint32(t, vt, op.slot, at, uint32(off))
			}
			refsEnd = at
		case inlineScalar:
			if bits := loadBits(src, op.width); bits != op.def {
				at = putBits(t, vt, op.slot, at, op.width, bits)
			}
		case inlineOptional:
			if q := mem.Ptr(src); q != nil {
				at = putBits(t, vt, op.slot, at, op.width, loadBits(q, op.width))
			}
		case inlineStructP, inlineStruct:
			if op.kind == inlineStructP {
				if src = mem.Ptr(src); src == nil {
					continue
				}
			}
			op.fixed.write(t[at:at+op.fixed.size], src)
			at = PutStruct(vt, op.slot, at, op.fixed.size)
		case inlineType:
			if typ := results[op.result]; typ != 0 {
				at = PutUint8(t, vt, op.slot, at, uint8(typ))
			}
		}
	}
	return b.EndTable(t, vt, p.align, at, refs, refsEnd)
}

// sliceAt and textAt load a slice or string. Where another goroutine changes it, the
// parts may not belong together: a length without memory is none.

func sliceAt(p mem.Pointer) (data mem.Pointer, n int) {
	if data, n = mem.Slice(p); data == nil {
		n = 0
	}
	return data, n
}

func textAt(p mem.Pointer) string {
	text := mem.String(p)
	if mem.StringData(text) == nil {
		return ""
	}
	return text
}

// write writes the struct at v to dst, with zeros for padding.
func (p *fixedProgram) write(dst []byte, v mem.Pointer) {
	clear(dst)
	for _, c := range p.copies {
		n := c.width * c.n
		mem.CopyLE(dst[c.dst:int(c.dst)+n], mem.View[byte](mem.Add(v, c.src), n), c.width)
	}
}
