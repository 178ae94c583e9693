package flatbuf

import (
	"encoding/binary"
	"errors"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/flatbuf/flexbuf"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds verification: a message is followed through its layout, by
// the rules of Google's C++ verifier. Each function returns false when s.fault is
// set, and each level adds its step to the path on the way back.
//
// A position is inside the message until the place of a field is added to it; the sum may be
// 2^31 or more, which is below 0 where an int has 32 bits. As a uint it is what it should be.

// verification is the state of one call.
type verification struct {
	b       []byte // the buffer at hand, the message or one nested in it
	base    int    // where b starts in the message
	aligned bool   // check alignment
	depth   int    // of tables in b
	nesting int    // of buffers
	tables  int    // how many more may come
	visits  int
	config  *verifyConfig
	fault   *diag.Fault
}

func (s *verification) fail(code, pos int) bool {
	s.fault = fault(code, s.base+pos)
	return false
}

// buffer verifies s.b, whose root offset is at start.
func (s *verification) buffer(t *verifyTable, start int, id string) bool {
	root, code := flatwire.CheckRoot(s.b, start, id, s.aligned)
	if code < 0 {
		return s.fail(code, start)
	}
	return s.table(t, root)
}

// table verifies the table at pos.
func (s *verification) table(t *verifyTable, pos int) bool {
	vtable, size, code := flatwire.CheckTable(s.b, pos, s.aligned)
	if code < 0 {
		return s.fail(code, pos)
	}
	s.depth++
	s.tables--
	s.visits--
	switch {
	case s.depth > s.config.depth:
		return s.fail(errDepth, pos)
	case s.tables < 0:
		return s.fail(errTables, pos)
	case s.visits < 0:
		return s.fail(errVisits, pos)
	}
	b, ops := s.b, t.references
	slots := b[vtable : vtable+size]
	if !wholeScalars(t.scalars, b, slots, pos) {
		ops = t.ops // to find out which
	}
	for i := range ops {
		op := &ops[i]
		at := 0
		if int(op.at)+1 < len(slots) {
			at = int(binary.LittleEndian.Uint16(slots[op.at:]))
		}
		ok := true
		switch {
		case at == 0 && !op.required && op.union == nil:
		case at == 0 || op.wide:
			ok = s.reference(op, slots, pos, at)
		case op.kind == ScalarField:
			ok = s.scalar(op, pos+at)
		case op.kind == StringField:
			ok = wholeText(b, pos+at) || s.reference(op, slots, pos, at)
		case op.kind == TableVector:
			if start, n := wholeOffsets(b, pos+at); start > 0 {
				ok = s.references(op, start, n)
			} else {
				ok = s.reference(op, slots, pos, at)
			}
		default:
			ok = s.reference(op, slots, pos, at)
		}
		if !ok {
			s.fault.Field(op.name)
			return false
		}
	}
	s.depth--
	return true
}

// scalar verifies the scalar or struct at pos.
func (s *verification) scalar(op *verifyOp, pos int) bool {
	switch {
	case s.aligned && pos&int(op.mask) != 0:
		return s.fail(flatwire.ErrAlign, pos)
	case uint64(uint(pos))+uint64(op.size) > uint64(len(s.b)):
		return s.fail(flatwire.ErrRange, pos)
	}
	return true
}

// The quick ways for what most messages hold. They report only that a part is aligned and
// whole: where they say no, the functions above decide, and say why.

// wholeScalars looks at the scalars and structs of the table at pos.
func wholeScalars(runs []verifyRun, b, slots []byte, pos int) bool {
	vtable := mem.Data(slots)
	for i := range runs {
		r := &runs[i]
		low, last := 0, 0
		for at, end := int(r.from), min(int(r.to), len(slots)-1); at < end; at += 2 {
			if off := int(mem.LE16(mem.Add(vtable, uintptr(at)))); off != 0 {
				low |= pos + off
				last = max(last, off)
			}
		}
		if low&int(r.mask) != 0 || uint64(uint(pos+last))+uint64(r.size) > uint64(len(b)) && last != 0 {
			return false
		}
	}
	return true
}

// wholeOffsets returns where the elements of the vector of offsets begin to which the offset at
// the position at leads, and how many there are, or 0.
func wholeOffsets(b []byte, at int) (start, n int) {
	size := uint64(len(b))
	if at&3 != 0 || uint64(uint(at))+4 > size {
		return 0, 0
	}
	off := binary.LittleEndian.Uint32(b[at:])
	to := uint64(at) + uint64(off)
	if int32(off) <= 0 || to&3 != 0 || to+4 > size {
		return 0, 0
	}
	count := uint64(binary.LittleEndian.Uint32(b[to:]))
	if to+4+4*count > size {
		return 0, 0
	}
	return int(to + 4), int(count)
}

// wholeText looks at the string that the offset at the position at leads to.
func wholeText(b []byte, at int) bool {
	size := uint64(len(b)) // sums of three 32-bit numbers cannot overflow
	if at&3 != 0 || uint64(uint(at))+4 > size {
		return false
	}
	off := binary.LittleEndian.Uint32(b[at:])
	to := uint64(at) + uint64(off)
	if int32(off) <= 0 || to&3 != 0 || to+4 >= size {
		return false
	}
	end := to + 4 + uint64(binary.LittleEndian.Uint32(b[to:]))
	return end < size && b[end] == 0
}

// reference verifies a field that is no scalar, or absent: at is its place in
// the table at pos, or 0.
func (s *verification) reference(op *verifyOp, slots []byte, pos, at int) bool {
	if op.union != nil {
		return s.unionField(op, slots, pos, at)
	}
	if at == 0 {
		return !op.required || s.fail(errRequired, pos)
	}
	to, ok := s.follow(op, pos+at)
	if !ok {
		return false
	}
	switch op.kind {
	case StringField:
		return s.text(to)
	case TableField:
		return s.table(op.table, to)
	default:
		return s.vector(op, to)
	}
}

// follow verifies the offset at pos, and returns where it leads to.
func (s *verification) follow(op *verifyOp, pos int) (to int, ok bool) {
	code := 0
	if op.offset64 {
		to, code = flatwire.CheckOffset64(s.b, pos, s.aligned)
	} else {
		to, code = flatwire.CheckOffset(s.b, pos, s.aligned)
	}
	return to, code >= 0 || s.fail(code, pos)
}

// unionField is reference for a union or a vector of unions, whose type stands in the slot before.
func (s *verification) unionField(op *verifyOp, slots []byte, pos, at int) bool {
	slot := 0
	if int(op.at) <= len(slots) { // the type's slot ends where op's starts
		slot = int(binary.LittleEndian.Uint16(slots[op.at-2:]))
	}
	var kind uint64       // of a union
	types, typesN := 0, 0 // of a vector of unions
	if slot != 0 {
		var ok bool
		if op.kind == UnionField {
			kind, ok = s.unionType(op, pos+slot)
		} else {
			types, typesN, ok = s.unionTypes(op, pos+slot)
		}
		if !ok {
			return false
		}
	}
	if at == 0 {
		switch {
		case op.required:
			return s.fail(errRequired, pos)
		case op.kind == UnionVector && types != 0:
			return s.fail(errUnionVector, pos)
		case op.kind == UnionField:
			if m := op.union.member(kind); m != nil && m.kind == ScalarField {
				return s.fail(errUnion, pos)
			}
		}
		return true
	}
	to, ok := s.follow(op, pos+at)
	switch {
	case !ok:
		return false
	case op.kind == UnionField:
		return s.union(op.union, kind, to)
	}
	return s.unions(op, to, types, typesN)
}

func (s *verification) text(pos int) bool {
	if code := flatwire.CheckString(s.b, pos, s.aligned); code < 0 {
		return s.fail(code, pos)
	}
	return true
}

// vector verifies the vector at pos and what its elements refer to.
func (s *verification) vector(op *verifyOp, pos int) bool {
	size := 4
	switch op.kind {
	case ScalarVector:
		size = int(op.size)
	case NestedField, FlexField:
		size = 1
	}
	if op.vector64 {
		n, code := flatwire.CheckVector64(s.b, pos, size, s.aligned)
		if code < 0 {
			return s.fail(code, pos)
		}
		return op.kind != NestedField || s.nested(op, pos+8, n)
	}
	n, code := flatwire.CheckVector(s.b, pos, size, s.aligned)
	if code < 0 {
		return s.fail(code, pos)
	}
	switch op.kind {
	case NestedField:
		return s.nested(op, pos+4, n)
	case FlexField:
		return s.flex(pos+4, n)
	case StringVector, TableVector:
		return s.references(op, pos+4, n)
	}
	return true
}

// references verifies the n strings or tables of the vector with elements from pos on.
func (s *verification) references(op *verifyOp, pos, n int) bool {
	if s.visits -= n; s.visits < 0 {
		return s.fail(errVisits, pos)
	}
	s.visits += n * b2i(op.kind == TableVector) // a table counts itself
	for i := range n {
		at := pos + 4*i
		if op.kind == StringVector && wholeText(s.b, at) {
			continue
		}
		to, code := flatwire.CheckElement(s.b, at)
		ok := true
		switch {
		case code < 0:
			ok = s.fail(code, at)
		case op.kind == TableVector:
			ok = s.table(op.table, to)
		default:
			ok = s.text(to)
		}
		if !ok {
			s.fault.Index(i)
			return false
		}
	}
	return true
}

func b2i(v bool) int {
	if v {
		return 1
	}
	return 0
}

// nested verifies the buffer of n bytes at pos.
func (s *verification) nested(op *verifyOp, pos, n int) bool {
	if s.config.opaque {
		return true
	}
	if s.nesting >= s.config.depth {
		return s.fail(errDepth, pos)
	}
	outer, depth := s.b, s.depth
	s.b, s.base, s.depth = s.b[pos:pos+n], s.base+pos, 0
	s.nesting++
	ok := s.buffer(op.table, 0, "")
	s.nesting--
	s.b, s.base, s.depth = outer, s.base-pos, depth
	return ok
}

// flex verifies the FlexBuffer of n bytes at pos. Its work counts as a visit for
// each byte.
func (s *verification) flex(pos, n int) bool {
	if s.visits -= n; s.visits < 0 {
		return s.fail(errVisits, pos)
	}
	err := flexbuf.Verify(s.b[pos : pos+n])
	if err == nil {
		return true
	}
	var f *diag.Fault // not s.fault itself, whose address would send s to the heap
	if !errors.As(err, &f) {
		f = diag.NewFault(diag.InvalidData, 0, err.Error())
	}
	f.Offset += s.base + pos
	s.fault = f
	return false
}

// unionType verifies and reads the type of a union.
func (s *verification) unionType(op *verifyOp, pos int) (uint64, bool) {
	size := int(op.size)
	if code := flatwire.CheckScalar(s.b, pos, size, 1, s.aligned); code < 0 { // C++ asks for no alignment here
		return 0, s.fail(code, pos)
	}
	return readType(s.b, pos, size), true
}

// readType reads a type of size bytes. A signed one below 0 is no member's, as
// no unsigned one of that size can be.
func readType(b []byte, pos, size int) uint64 {
	switch size {
	case 1:
		return uint64(flatwire.U8(b, pos))
	case 2:
		return uint64(flatwire.U16(b, pos))
	case 4:
		return uint64(flatwire.U32(b, pos))
	default:
		return flatwire.U64(b, pos)
	}
}

// unionTypes verifies the vector of types of a vector of unions, whose offset
// is at pos.
func (s *verification) unionTypes(op *verifyOp, pos int) (start, n int, ok bool) {
	to, code := flatwire.CheckOffset(s.b, pos, s.aligned)
	if code < 0 {
		return 0, 0, s.fail(code, pos)
	}
	n, code = flatwire.CheckVector(s.b, to, int(op.size), s.aligned)
	if code < 0 {
		return 0, 0, s.fail(code, to)
	}
	return to + 4, n, true
}

// union verifies the value at pos of a union of that type.
func (s *verification) union(u *verifyUnion, typ uint64, pos int) bool {
	m := u.member(typ)
	if m == nil { // NONE, or of a newer schema: nobody can read it
		return true
	}
	ok := true
	switch m.kind {
	case TableField:
		ok = s.table(m.table, pos)
	case StringField:
		ok = s.text(pos)
	default:
		if code := flatwire.CheckScalar(s.b, pos, int(m.size), int(m.mask)+1, s.aligned); code < 0 {
			ok = s.fail(code, pos)
		}
	}
	if !ok {
		s.fault.Field(m.name)
	}
	return ok
}

// unions verifies the vector of unions at pos, whose types are from types on.
func (s *verification) unions(op *verifyOp, pos, types, typesN int) bool {
	n, code := flatwire.CheckVector(s.b, pos, 4, s.aligned)
	if code < 0 {
		return s.fail(code, pos)
	}
	if types == 0 || n != typesN {
		return s.fail(errUnionVector, pos)
	}
	if s.visits -= n; s.visits < 0 {
		return s.fail(errVisits, pos)
	}
	for i := range n {
		at := pos + 4 + 4*i
		typ := readType(s.b, types+i*int(op.size), int(op.size))
		to, code := flatwire.CheckElement(s.b, at)
		if op.union.member(typ) == nil { // whatever it refers to
			continue
		}
		if code < 0 {
			s.fail(code, at)
			s.fault.Index(i)
			return false
		}
		if !s.union(op.union, typ, to) {
			s.fault.Index(i)
			return false
		}
	}
	return true
}
