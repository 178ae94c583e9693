package flatbuf

import (
	"reflect"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the reading of messages into Go structs. The message has been
// verified, or its author is trusted: what is not where it should be reads as
// absent, and nothing else goes wrong.

// reader is the state of one call.
type reader struct {
	b      []byte
	chunk  mem.Chunk
	budget int // bytes of text and vectors that may still be copied
	tables int // that may still be read
	depth  int
	strict bool // slots that the Go struct does not have are a fault
	fault  *diag.Fault
}

func (s *reader) fail(code diag.Code, pos int, detail string) bool {
	s.fault = diag.NewFault(code, pos, detail)
	return false
}

// spend takes n bytes from the budget.
func (s *reader) spend(n, pos int) bool {
	if s.budget -= n; s.budget < 0 {
		return s.fail(diag.SizeLimit, pos, "parts are referred to too many times")
	}
	return true
}

// table fills the struct at v with the table at pos, or as an absent one where
// that is 0.
func (s *reader) table(p *tableProgram, pos int, v mem.Pointer) bool {
	if s.depth--; s.depth < 0 {
		return s.fail(diag.DepthLimit, pos, "tables are nested too deeply")
	}
	var slots []byte
	if pos != 0 {
		if s.tables--; s.tables < 0 {
			return s.fail(diag.SizeLimit, pos, "parts are referred to too many times")
		}
		vtable, size := flatwire.VTable(s.b, pos)
		slots = s.b[vtable : vtable+size]
	}
	if s.strict && !s.known(p, slots, pos) {
		return false
	}
	for i := range p.inlines {
		op := &p.inlines[i]
		dst := mem.Add(v, op.off)
		switch op.kind {
		case inlineRun:
			s.run(op, slots, pos, dst)
		case inlineScalar, inlineOptional, inlineStruct, inlineStructP:
			s.inline(op, s.field(slots, pos, op.slot, op.size()), dst)
		}
	}
	for i := range p.refs {
		r := &p.refs[i]
		at := s.field(slots, pos, r.slot, SizeUOffsetT)
		if at != 0 {
			at = flatwire.Follow(s.b, at)
		}
		if !s.ref(r, slots, pos, at, mem.Add(v, r.off)) {
			s.fault.Field(r.name)
			return false
		}
	}
	s.depth++
	return true
}

// size returns the bytes of one field.
func (op *inlineOp) size() int {
	if op.fixed != nil {
		return op.fixed.size
	}
	return int(op.width)
}

// field returns the position of a field of n bytes in the table at pos, or 0.
func (s *reader) field(slots []byte, pos, slot, n int) int {
	at := SizeVOffsetT * (VtableMetadataFields + slot)
	if at+SizeVOffsetT > len(slots) {
		return 0
	}
	off := int(mem.LE16(mem.Data(slots[at : at+SizeVOffsetT])))
	if off == 0 || uint(pos+off+n) > uint(len(s.b)) { // the sum fits a uint of 32 bits, and not an int
		return 0
	}
	return pos + off
}

// known fails for a table with fields that p does not have.
func (s *reader) known(p *tableProgram, slots []byte, pos int) bool {
	has := make([]bool, p.slots)
	for i := range p.inlines {
		for j := range p.inlines[i].n {
			has[p.inlines[i].slot+j] = true
		}
	}
	for slot := 0; SizeVOffsetT*(VtableMetadataFields+slot) < len(slots); slot++ {
		if s.field(slots, pos, slot, 1) != 0 && (slot >= len(has) || !has[slot]) {
			return s.fail(diag.UnknownField, pos, "the Go struct has not all fields of the message")
		}
	}
	return true
}

// inline reads a scalar or struct from at, or what stands for an absent one if
// that is 0.
func (s *reader) inline(op *inlineOp, at int, dst mem.Pointer) {
	switch op.kind {
	case inlineScalar:
		bits := op.def
		if at != 0 {
			bits = s.bits(at, op.width, op.isBool)
		}
		storeBits(dst, op.width, bits)
	case inlineOptional:
		mem.SetPtr(dst, nil)
		if at != 0 {
			q := reflect.New(op.alloc).UnsafePointer()
			storeBits(q, op.width, s.bits(at, op.width, op.isBool))
			mem.SetPtr(dst, q)
		}
	case inlineStruct:
		op.fixed.read(s.b, at, dst)
	case inlineStructP:
		mem.SetPtr(dst, nil)
		if at != 0 {
			q := reflect.New(op.alloc).UnsafePointer()
			op.fixed.read(s.b, at, q)
			mem.SetPtr(dst, q)
		}
	}
}

// run reads scalars whose places follow each other in Go: at once if they do so
// in the table too.
func (s *reader) run(op *inlineOp, slots []byte, pos int, dst mem.Pointer) {
	w := int(op.width)
	first := s.field(slots, pos, op.slot, w*op.n)
	if from := SizeVOffsetT * (VtableMetadataFields + op.slot); first != 0 && from+SizeVOffsetT*op.n <= len(slots) && rising(slots[from:], op.n, w) {
		mem.CopyLE(mem.View[byte](dst, w*op.n), s.b[first:first+w*op.n], w)
		return
	}
	for i := range op.n {
		bits := uint64(0)
		if at := s.field(slots, pos, op.slot+i, w); at != 0 {
			bits = s.bits(at, op.width, false)
		}
		storeBits(mem.Add(dst, uintptr(i*w)), op.width, bits)
	}
}

// rising reports whether n slots are the places of values of w bytes one after
// another.
func rising(slots []byte, n, w int) bool {
	next := int(slots[0]) | int(slots[1])<<8
	for range n - 1 {
		slots = slots[SizeVOffsetT:]
		next += w
		if int(mem.LE16(mem.Data(slots[:SizeVOffsetT]))) != next {
			return false
		}
	}
	return true
}

func (s *reader) bits(at int, w uint8, isBool bool) uint64 {
	v := readType(s.b, at, int(w))
	if isBool && v != 0 {
		return 1
	}
	return v
}

func storeBits(p mem.Pointer, w uint8, bits uint64) {
	switch w {
	case 1:
		mem.SetU8(p, uint8(bits))
	case 2:
		mem.SetU16(p, uint16(bits))
	case 4:
		mem.SetU32(p, uint32(bits))
	default:
		mem.SetU64(p, bits)
	}
}

// read fills the struct at v from b[at:], or with zeros if at is 0.
func (p *fixedProgram) read(b []byte, at int, v mem.Pointer) {
	for _, c := range p.copies {
		n := c.width * c.n
		dst := mem.View[byte](mem.Add(v, c.src), n)
		if at == 0 || uint(at+p.size) > uint(len(b)) {
			clear(dst)
			continue
		}
		src := b[at+int(c.dst):][:n]
		if c.isBool {
			copyBools(dst, src)
		} else {
			mem.CopyLE(dst, src, c.width)
		}
	}
}

// copyBools makes every byte 0 or 1: Go has no other bools.
func copyBools(dst, src []byte) {
	for i, v := range src {
		dst[i] = bit(v != 0)
	}
}

// ref reads what stands at at, 0 if the field is absent.
func (s *reader) ref(r *refOp, slots []byte, pos, at int, dst mem.Pointer) bool {
	switch r.kind {
	case refTexts, refText, refStringP:
		return s.text(r, at, dst)
	case refTable:
		mem.SetPtr(dst, nil)
		if at == 0 {
			return true
		}
		q := reflect.New(r.table.typ).UnsafePointer()
		mem.SetPtr(dst, q)
		return s.table(r.table, at, q)
	case refTableV:
		return s.table(r.table, at, dst)
	case refUnion, refUnionV:
		typ := uint8(0)
		if f := s.field(slots, pos, r.slot-1, 1); f != 0 {
			typ = s.b[f]
		}
		if r.kind == refUnionV {
			return s.union(r.union, typ, at, dst)
		}
		mem.SetPtr(dst, nil)
		if typ == 0 || at == 0 {
			return true
		}
		q := reflect.New(r.union.typ).UnsafePointer()
		mem.SetPtr(dst, q)
		return s.union(r.union, typ, at, q)
	case refUnions:
		types := 0
		if f := s.field(slots, pos, r.slot-1, SizeUOffsetT); f != 0 {
			types = flatwire.Follow(s.b, f)
		}
		return s.unions(r, types, at, dst)
	case refMap:
		return s.mapFrom(r, at, dst)
	default:
		return s.vector(r, at, dst)
	}
}

// copyText returns the string at at as a copy.
func (s *reader) copyText(at int) (string, bool) {
	text := flatwire.Bytes(s.b, at)
	if !s.spend(len(text), at) {
		return "", false
	}
	return mem.StringOf(s.chunk.Copy(text)), true
}

func (s *reader) text(r *refOp, at int, dst mem.Pointer) bool {
	text := ""
	if at != 0 {
		var ok bool
		if text, ok = s.copyText(at); !ok {
			return false
		}
	}
	if r.kind != refStringP {
		mem.SetString(dst, text)
		return true
	}
	mem.SetPtr(dst, nil)
	if at != 0 {
		q := reflect.New(r.elem.slice).UnsafePointer()
		mem.SetString(q, text)
		mem.SetPtr(dst, q)
	}
	return true
}

// vector reads a slice; an absent vector is a nil one.
func (s *reader) vector(r *refOp, at int, dst mem.Pointer) bool {
	mem.SetBytes(dst, nil)
	if at == 0 {
		return true
	}
	size := SizeUOffsetT
	if r.elem.size > 0 {
		size = r.elem.size
	}
	start, n := flatwire.Vector(s.b, at, size)
	if !s.spend(n*size, at) {
		return false
	}
	switch r.kind {
	case refScalars:
		if n == 0 {
			mem.SetBytes(dst, []byte{})
			return true
		}
		data := s.chunk.Take(n*size, size)
		if r.elem.isBool {
			copyBools(data, s.b[start:start+n*size])
		} else {
			mem.CopyLE(data, s.b[start:start+n*size], size)
		}
		mem.SetSlice(dst, mem.Data(data), n)
		return true
	case refStrings:
		texts := make([]string, n)
		mem.SetSlice(dst, mem.Data(texts), n)
		for i := range texts {
			var ok bool
			if texts[i], ok = s.copyText(s.element(start, i)); !ok {
				s.fault.Index(i)
				return false
			}
		}
		return true
	case refStructs:
		stride := r.elem.fixed.typ.Size()
		data := reflect.MakeSlice(r.elem.slice, n, n).UnsafePointer()
		for i := range n {
			r.elem.fixed.read(s.b, start+i*size, mem.Add(data, uintptr(i)*stride))
		}
		mem.SetSlice(dst, data, n)
		return true
	}
	data := reflect.MakeSlice(r.table.slice, n, n).UnsafePointer()
	if r.kind == refTables {
		rows := make([]mem.Pointer, n)
		for i := range rows {
			rows[i] = mem.Add(data, uintptr(i)*r.table.size)
		}
		mem.SetSlice(dst, mem.Data(rows), n)
	} else {
		mem.SetSlice(dst, data, n)
	}
	for i := range n {
		if !s.table(r.table, s.element(start, i), mem.Add(data, uintptr(i)*r.table.size)) {
			s.fault.Index(i)
			return false
		}
	}
	return true
}

// element returns where the i-th offset of the vector from start on leads to.
func (s *reader) element(start, i int) int { return flatwire.Follow(s.b, start+SizeUOffsetT*i) }

// union fills the union at v: the member of that type, all others nil.
func (s *reader) union(u *unionProgram, typ uint8, at int, v mem.Pointer) bool {
	for i := range u.members {
		m := &u.members[i]
		dst := mem.Add(v, m.off)
		mem.SetPtr(dst, nil)
		if m.typ != typ || at == 0 {
			continue
		}
		q := reflect.New(m.alloc).UnsafePointer()
		mem.SetPtr(dst, q)
		ok := true
		switch {
		case m.table != nil:
			ok = s.table(m.table, at, q)
		case m.fixed != nil:
			m.fixed.read(s.b, at, q)
		default:
			var text string
			text, ok = s.copyText(at)
			mem.SetString(q, text)
		}
		if !ok {
			s.fault.Field(m.name)
			return false
		}
	}
	return true
}

func (s *reader) unions(r *refOp, types, at int, dst mem.Pointer) bool {
	mem.SetBytes(dst, nil)
	if at == 0 {
		return true
	}
	start, n := flatwire.Vector(s.b, at, SizeUOffsetT)
	tags := flatwire.Bytes(s.b, types)
	n = min(n, len(tags))
	if !s.spend(n*SizeUOffsetT, at) {
		return false
	}
	data := reflect.MakeSlice(r.union.slice, n, n).UnsafePointer()
	mem.SetSlice(dst, data, n)
	for i := range n {
		if !s.union(r.union, tags[i], s.element(start, i), mem.Add(data, uintptr(i)*r.union.typ.Size())) {
			s.fault.Index(i)
			return false
		}
	}
	return true
}
