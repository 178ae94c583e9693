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

// build writes the struct at v and returns its offset. tables is the number of
// tables in the layout.
func (s *writer) build(b *Builder, p *tableProgram, v mem.Pointer, depth, tables int) (UOffsetT, error) {
	b.assertNotNested()
	start := b.state()
	s.begin(b, depth, tables)
	off, ok := s.table(p, v)
	if !ok && s.lacking {
		b.rewind(start)
		s.fault = nil
		s.begin(b, depth, tables)
		n := 0
		if ok = s.bound(p, v, &n); ok {
			b.room(n)
			s.depth, s.sized = depth, true
			off, ok = s.table(p, v)
		}
	}
	if ok {
		return off, nil
	}
	b.offsets = b.offsets[:start.offsets]
	f := s.fault
	s.fault = nil
	return 0, f
}

func (s *writer) begin(b *Builder, depth, tables int) {
	if s.b != b {
		s.b = b
	}
	s.depth, s.sized, s.lacking = depth, false, false
	if cap(s.vtables) < tables {
		s.vtables = make([]UOffsetT, tables)
	} else {
		s.vtables = s.vtables[:tables]
		clear(s.vtables)
	}
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
		off = s.inlines(p, v, results)
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
	buf, head := b.Bytes, b.head
	end := SizeSOffsetT + p.inline
	start := (head-p.inline)&^(p.align-1) - SizeSOffsetT
	t := buf[start:head]
	object := UOffsetT(len(buf) - start)
	base := mem.Data(t) // of size bytes, within which arrange has put every field
	if n := p.refsEnd - p.refsFrom; n > 0 {
		at := uint32(p.refsAt)
		for _, off := range results[:n] {
			if off == 0 {
				return 0
			}
			mem.PutLE32(mem.Add(base, uintptr(at)), uint32(object)-at-uint32(off))
			at += SizeUOffsetT
		}
	}
	for i := range p.values {
		op := &p.values[i]
		src, dst := mem.Add(v, op.off), mem.Add(base, uintptr(op.at))
		var bits uint64
		switch op.plain {
		case 4:
			bits = uint64(mem.U32(src))
			mem.PutLE32(dst, uint32(bits))
		case 8:
			bits = mem.U64(src)
			mem.PutLE64(dst, bits)
		case 1:
			bits = uint64(mem.U8(src))
			mem.SetU8(dst, uint8(bits))
		case 2:
			bits = uint64(mem.U16(src))
			mem.PutLE16(dst, uint16(bits))
		default:
			if !op.put(t[op.at:], src, results) {
				return 0
			}
			continue
		}
		if bits == op.def {
			return 0
		}
	}
	for i := end; i < len(t); i++ {
		t[i] = 0
	}
	if b.minalign < p.align {
		b.minalign = p.align
	}
	b.head = start
	if vtable := s.vtables[p.index]; vtable != 0 {
		mem.PutLE32(mem.Data(t[:SizeSOffsetT]), uint32(vtable-object))
	} else {
		s.vtables[p.index] = b.shareVtable(object, p.vtable)
	}
	return object
}

// put writes a field that is neither an offset nor a plain scalar to its place
// dst, unless it is absent.
func (op *inlineOp) put(dst []byte, src mem.Pointer, results []UOffsetT) bool {
	switch op.kind {
	case inlineRun:
		data := mem.View[byte](src, op.n*int(op.width))
		if !noneZero(data, int(op.width)) {
			return false
		}
		mem.CopyLE(dst[:len(data)], data, int(op.width))
		return true
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
	storeLE(dst[:op.width], loadBits(src, op.width))
	return true
}

// storeLE writes a number of 1, 2, 4 or 8 bytes.
func storeLE(b []byte, bits uint64) {
	switch len(b) {
	case 1:
		b[0] = uint8(bits)
	case 2:
		mem.PutLE16(mem.Data(b), uint16(bits))
	case 4:
		mem.PutLE32(mem.Data(b), uint32(bits))
	default:
		mem.PutLE64(mem.Data(b), bits)
	}
}

// inlines writes the table itself, of fields that may be absent.
func (s *writer) inlines(p *tableProgram, v mem.Pointer, results []UOffsetT) UOffsetT {
	t, vt := s.b.StartTable(p.slots, p.inline, p.align)
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
	return s.b.EndTable(t, vt, p.align, at, refs, refsEnd)
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

// putRun puts scalars that lie one after another, at once if none of them is 0.
func putRun(op *inlineOp, t []byte, vt []uint16, at int, src mem.Pointer) int {
	w := int(op.width)
	data := mem.View[byte](src, op.n*w)
	if !noneZero(data, w) {
		for i := range op.n {
			if bits := loadBits(mem.Add(src, uintptr(i*w)), op.width); bits != 0 {
				at = putBits(t, vt, op.slot+i, at, op.width, bits)
			}
		}
		return at
	}
	mem.CopyLE(t[at:at+len(data)], data, w)
	slots := vt[op.slot+VtableMetadataFields:][:op.n]
	for i := range slots {
		slots[i] = uint16(at)
		at += w
	}
	return at
}

// noneZero reports whether none of the numbers of w bytes in b is 0. It looks
// at eight bytes at a time: taking 1 from each number borrows into its highest
// bit only if the number is 0, or had that bit already, or one below it was 0.
func noneZero(b []byte, w int) bool {
	one := [9]uint64{1: 0x0101010101010101, 2: 0x0001000100010001, 4: 0x0000000100000001, 8: 1}[w]
	high := one << (8*w - 1)
	for len(b) >= 16 {
		x, y := mem.U64(mem.Data(b)), mem.U64(mem.Data(b[8:]))
		if ((x-one)&^x|(y-one)&^y)&high != 0 {
			return false
		}
		b = b[16:]
	}
	for len(b) >= w {
		if loadBits(mem.Data(b), uint8(w)) == 0 {
			return false
		}
		b = b[w:]
	}
	return true
}

func loadBits(p mem.Pointer, w uint8) uint64 {
	switch w {
	case 1:
		return uint64(mem.U8(p))
	case 2:
		return uint64(mem.U16(p))
	case 4:
		return uint64(mem.U32(p))
	default:
		return mem.U64(p)
	}
}

func putBits(t []byte, vt []uint16, slot, at int, w uint8, bits uint64) int {
	switch w {
	case 1:
		return PutUint8(t, vt, slot, at, uint8(bits))
	case 2:
		return PutUint16(t, vt, slot, at, uint16(bits))
	case 4:
		return PutUint32(t, vt, slot, at, uint32(bits))
	default:
		return PutUint64(t, vt, slot, at, bits)
	}
}

// write writes the struct at v to dst, with zeros for padding.
func (p *fixedProgram) write(dst []byte, v mem.Pointer) {
	clear(dst)
	for _, c := range p.copies {
		n := c.width * c.n
		mem.CopyLE(dst[c.dst:int(c.dst)+n], mem.View[byte](mem.Add(v, c.src), n), c.width)
	}
}
