package flatbuf

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the writing of Go structs: a pass that finds how many bytes
// they take at most, and one that writes them. Each function returns false when
// s.fault is set, and each level adds its step to the path on the way back.

// writer is the state of one call.
type writer struct {
	b       *Builder
	offsets []UOffsetT // of what the tables at hand refer to, a stack
	depth   int        // how many more tables may nest
	fault   *diag.Fault
	// vtables has the offset of the vtable of each table of the layout with all
	// its fields, 0 until one is written.
	vtables []UOffsetT
}

func (s *writer) fail(code diag.Code, detail string) bool {
	s.fault = diag.NewFault(code, -1, detail)
	return false
}

// build writes the struct at v and returns its offset. tables is the number of
// tables in the layout.
func (s *writer) build(b *Builder, p *tableProgram, v mem.Pointer, depth, tables int) (UOffsetT, error) {
	s.b, s.depth, s.offsets, s.fault = b, depth, s.offsets[:0], nil
	n := 0
	if !s.bound(p, v, &n) {
		return 0, s.fault
	}
	s.depth = depth
	if s.vtables == nil {
		s.vtables = make([]UOffsetT, tables)
	}
	clear(s.vtables)
	b.assertNotNested()
	b.room(n)
	off, ok := s.table(p, v)
	if !ok {
		return 0, s.fault
	}
	return off, nil
}

// padding is what a part takes at most beside its content: a length, zero
// bytes, alignment.
const padding = 4 + 1 + maxAlign

// bound adds to n what the table at v takes at most.
func (s *writer) bound(p *tableProgram, v mem.Pointer, n *int) bool {
	if s.depth--; s.depth < 0 {
		return s.fail(diag.DepthLimit, "tables are nested too deeply")
	}
	*n += p.bound
	for i := range p.refs {
		r := &p.refs[i]
		if r.kind == refString {
			*n += padding + len(mem.String(mem.Add(v, r.off)))
			continue
		}
		if !s.boundRef(r, mem.Add(v, r.off), n) {
			s.fault.Field(r.name)
			return false
		}
	}
	s.depth++
	if *n > maxMessage-(1<<16) {
		return s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	return true
}

func (s *writer) boundRef(r *refOp, at mem.Pointer, n *int) bool {
	switch r.kind {
	case refStringP:
		if q := mem.Ptr(at); q != nil {
			*n += padding + len(textAt(q))
		}
	case refScalars, refStructs:
		_, l := sliceAt(at)
		*n += padding + r.elem.size*l
	case refStrings:
		data, l := sliceAt(at)
		*n += padding + 4*l
		for _, text := range mem.View[string](data, l) {
			*n += padding + len(text)
		}
	case refTable:
		if q := mem.Ptr(at); q != nil {
			return s.bound(r.table, q, n)
		}
	case refTableV:
		return s.bound(r.table, at, n)
	case refTables, refTablesV:
		return s.boundTables(r, at, n)
	case refUnion:
		if q := mem.Ptr(at); q != nil {
			return s.boundUnion(r.union, q, n)
		}
	case refUnionV:
		return s.boundUnion(r.union, at, n)
	case refUnions:
		data, l := sliceAt(at)
		*n += 2*padding + 5*l
		for i := range l {
			if !s.boundUnion(r.union, mem.Add(data, uintptr(i)*r.union.typ.Size()), n) {
				s.fault.Index(i)
				return false
			}
		}
	}
	return true
}

func (s *writer) boundTables(r *refOp, at mem.Pointer, n *int) bool {
	data, l := sliceAt(at)
	*n += padding + 4*l
	for i := range l {
		if q := r.element(data, i); q != nil && !s.bound(r.table, q, n) {
			s.fault.Index(i)
			return false
		}
	}
	return true
}

// element returns the i-th table of a vector, nil for a nil pointer.
func (r *refOp) element(data mem.Pointer, i int) mem.Pointer {
	if r.kind == refTables {
		return mem.View[mem.Pointer](data, i+1)[i]
	}
	return mem.Add(data, uintptr(i)*r.table.size)
}

func (s *writer) boundUnion(u *unionProgram, v mem.Pointer, n *int) bool {
	for i := range u.members {
		m := &u.members[i]
		q := mem.Ptr(mem.Add(v, m.off))
		switch {
		case q == nil:
		case m.table != nil:
			if !s.bound(m.table, q, n) {
				s.fault.Field(m.name)
				return false
			}
		case m.fixed != nil:
			*n += padding + m.fixed.size
		default:
			*n += padding + len(textAt(q))
		}
	}
	return true
}

// table writes what the struct at v refers to, then its table.
func (s *writer) table(p *tableProgram, v mem.Pointer) (UOffsetT, bool) {
	if s.depth--; s.depth < 0 {
		return 0, s.fail(diag.DepthLimit, "tables are nested too deeply")
	}
	base := len(s.offsets)
	for range p.results {
		s.offsets = append(s.offsets, 0)
	}
	for i := range p.refs {
		r := &p.refs[i]
		at := mem.Add(v, r.off)
		if r.kind == refString {
			if text := textAt(at); text != "" || r.required {
				s.offsets[base+r.result] = s.b.CreateString(text)
			}
			continue
		}
		off, other, ok := s.ref(r, at)
		if ok && off == 0 && r.required {
			ok = s.fail(diag.MissingRequired, "a required field is absent")
		}
		if !ok {
			s.fault.Field(r.name)
			return 0, false
		}
		s.offsets[base+r.result] = off
		if r.union != nil {
			s.offsets[base+r.result+1] = other
		}
	}
	off := s.full(p, v, s.offsets[base:])
	if off == 0 {
		off = s.inlines(p, v, s.offsets[base:])
	}
	s.offsets = s.offsets[:base]
	s.depth++
	return off, true
}

// full writes the table itself if all fields are present: each has its place,
// and the vtable is always the same. It returns 0 if a field is absent, and has then
// written nothing that counts.
func (s *writer) full(p *tableProgram, v mem.Pointer, results []UOffsetT) UOffsetT {
	b := s.b
	end := SizeSOffsetT + p.inline
	size := end + -(len(b.Bytes)-b.head+end-SizeSOffsetT)&(p.align-1)
	b.room(size + len(p.vtable))
	start := b.head - size
	t := b.Bytes[start:b.head]
	object := UOffsetT(len(b.Bytes) - start)
	for i := range p.inlines {
		op := &p.inlines[i]
		src := mem.Add(v, op.off)
		switch op.kind {
		case inlineRef:
			off := results[op.result]
			if off == 0 {
				return 0
			}
			mem.PutLE32(mem.Data(t[op.at:op.at+SizeUOffsetT]), uint32(object)-uint32(op.at)-uint32(off))
			continue
		case inlineRun:
			data := mem.View[byte](src, op.n*int(op.width))
			if !noneZero(data, int(op.width)) {
				return 0
			}
			mem.CopyLE(t[op.at:op.at+len(data)], data, int(op.width))
			continue
		case inlineType:
			if results[op.result] == 0 {
				return 0
			}
			t[op.at] = uint8(results[op.result])
			continue
		case inlineOptional, inlineStructP:
			if src = mem.Ptr(src); src == nil {
				return 0
			}
		}
		if op.fixed != nil {
			op.fixed.write(t[op.at:op.at+op.fixed.size], src)
			continue
		}
		bits := loadBits(src, op.width)
		if bits == op.def && op.kind == inlineScalar {
			return 0
		}
		storeLE(t[op.at:op.at+int(op.width)], bits)
	}
	for i := end; i < size; i++ {
		t[i] = 0
	}
	b.minalign = max(b.minalign, p.align)
	b.head = start
	if vtable := s.vtables[p.index]; vtable != 0 {
		mem.PutLE32(mem.Data(t[:SizeSOffsetT]), uint32(vtable-object))
	} else {
		s.vtables[p.index] = b.shareVtable(object, p.vtable)
	}
	return object
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
	for len(b) >= 8 {
		x := mem.U64(mem.Data(b))
		if (x-one)&^x&high != 0 {
			return false
		}
		b = b[8:]
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

// ref writes what a field refers to. other is the type of a union, or the
// offset of a vector of types.
func (s *writer) ref(r *refOp, at mem.Pointer) (off, other UOffsetT, ok bool) {
	switch r.kind {
	case refStringP:
		if q := mem.Ptr(at); q != nil {
			return s.b.CreateString(textAt(q)), 0, true
		}
	case refTable:
		if q := mem.Ptr(at); q != nil {
			off, ok = s.table(r.table, q)
			return off, 0, ok
		}
	case refTableV:
		off, ok = s.table(r.table, at)
		return off, 0, ok
	case refUnion:
		if q := mem.Ptr(at); q != nil {
			return s.union(r.union, q)
		}
	case refUnionV:
		return s.union(r.union, at)
	case refUnions:
		return s.unions(r, at)
	default:
		off, ok = s.vector(r, at)
		return off, 0, ok
	}
	return 0, 0, true
}

// vector writes the slice at at: nil is absent.
func (s *writer) vector(r *refOp, at mem.Pointer) (UOffsetT, bool) {
	data, n := sliceAt(at)
	if data == nil {
		if !r.required {
			return 0, true
		}
		n = 0
	}
	switch r.kind {
	case refScalars, refStructs:
		b := s.b
		b.startVector(SizeUOffsetT, r.elem.size, n, r.elem.align)
		start := b.head - n*r.elem.size
		dst := b.Bytes[start:b.head]
		if r.elem.fixed == nil {
			mem.CopyLE(dst, mem.View[byte](data, len(dst)), r.elem.size)
		} else {
			stride := r.elem.fixed.typ.Size()
			for i := range n {
				r.elem.fixed.write(dst[i*r.elem.size:(i+1)*r.elem.size], mem.Add(data, uintptr(i)*stride))
			}
		}
		b.head = start
		return b.EndVector(n), true
	case refStrings:
		base := len(s.offsets)
		for _, text := range mem.View[string](data, n) {
			s.offsets = append(s.offsets, s.b.CreateString(text))
		}
		return s.endOffsets(base), true
	}
	base := len(s.offsets)
	for i := range n {
		q := r.element(data, i)
		if q == nil {
			s.fail(diag.InvalidValue, "a vector has no place for a nil pointer")
			s.fault.Index(i)
			return 0, false
		}
		off, ok := s.table(r.table, q)
		if !ok {
			s.fault.Index(i)
			return 0, false
		}
		s.offsets = append(s.offsets, off)
	}
	return s.endOffsets(base), true
}

// endOffsets writes the offsets on the stack from base on as a vector.
func (s *writer) endOffsets(base int) UOffsetT {
	off := s.b.CreateVectorOfTables(s.offsets[base:])
	s.offsets = s.offsets[:base]
	return off
}

// union writes the member that is set and returns its offset and type.
func (s *writer) union(u *unionProgram, v mem.Pointer) (off, typ UOffsetT, ok bool) {
	for i := range u.members {
		m := &u.members[i]
		q := mem.Ptr(mem.Add(v, m.off))
		if q == nil {
			continue
		}
		if typ != 0 {
			return 0, 0, s.fail(diag.InvalidUnion, fmt.Sprintf("a union with more than one member, %s among them", m.name))
		}
		typ = UOffsetT(m.typ)
		switch {
		case m.table != nil:
			if off, ok = s.table(m.table, q); !ok {
				s.fault.Field(m.name)
				return 0, 0, false
			}
		case m.fixed != nil:
			s.b.Prep(m.fixed.align, m.fixed.size-m.fixed.align) // of whose sum Prep makes room
			s.b.head -= m.fixed.size
			m.fixed.write(s.b.Bytes[s.b.head:s.b.head+m.fixed.size], q)
			off = s.b.Offset()
		default:
			off = s.b.CreateString(textAt(q))
		}
	}
	return off, typ, true
}

// unions writes a vector of unions and that of their types.
func (s *writer) unions(r *refOp, at mem.Pointer) (off, types UOffsetT, ok bool) {
	data, n := sliceAt(at)
	if data == nil && !r.required {
		return 0, 0, true
	}
	base := len(s.offsets)
	for i := range n {
		off, typ, ok := s.union(r.union, mem.Add(data, uintptr(i)*r.union.typ.Size()))
		if !ok {
			s.fault.Index(i)
			return 0, 0, false
		}
		s.offsets = append(s.offsets, off, typ)
	}
	b := s.b
	pairs := s.offsets[base:]
	b.startVector(SizeUOffsetT, 1, n, 1)
	for i := n - 1; i >= 0; i-- {
		b.place8(uint8(pairs[2*i+1]))
	}
	types = b.EndVector(n)
	b.startVector(SizeUOffsetT, SizeUOffsetT, n, SizeUOffsetT)
	for i := n - 1; i >= 0; i-- {
		if pairs[2*i] == 0 {
			b.place32(0) // NONE refers to nothing
		} else {
			b.PrependUOffsetT(pairs[2*i])
		}
	}
	off = b.EndVector(n)
	s.offsets = s.offsets[:base]
	return off, types, true
}
