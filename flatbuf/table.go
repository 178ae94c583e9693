package flatbuf

import (
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the reading of tables, under Google's names. Whatever the
// bytes are, nothing is read outside of them: see the package's documentation.

// Table is a table in a buffer. Its methods read; several goroutines may call
// them as long as none changes the bytes.
type Table struct {
	Bytes []byte   // the whole buffer
	Pos   UOffsetT // where the table starts
}

// Struct is a struct in a buffer. It has no vtable: the getters that take
// positions read its fields.
type Struct struct {
	Table
}

// Offset returns where the field of that slot stands, from the start of the
// table, or 0 if it is absent. A slot is the place in the vtable: 4 for the first field, 6
// for the second.
func (t *Table) Offset(slot VOffsetT) VOffsetT {
	b := t.Bytes
	size, at := len(b), uint(t.Pos)
	if size < 4 || at > uint(size-4) {
		return 0
	}
	p := mem.Data(b)
	// On its way out of the buffer, whichever way, vtable becomes larger than it.
	vtable := at - uint(int32(mem.LE32(mem.Add(p, uintptr(at)))))
	if vtable > uint(size-2) || slot >= VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable)))) {
		return 0
	}
	vtable += uint(slot)
	if vtable > uint(size-2) {
		return 0
	}
	return VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable))))
}

// Indirect returns the position that the offset at off leads to.
func (t *Table) Indirect(off UOffsetT) UOffsetT { return off + t.GetUOffsetT(off) }

// String returns the string that the offset at the position off leads to, as a
// copy; see ByteVector.
func (t *Table) String(off UOffsetT) string { return string(t.ByteVector(off)) }

// ByteVector returns the bytes of the string or vector that the offset at the
// position off leads to, nil if they do not lie inside the buffer. The result
// aliases the buffer.
func (t *Table) ByteVector(off UOffsetT) []byte {
	b := t.Bytes
	// Sums of three 32-bit numbers: with 64 bits they cannot overflow.
	at := uint64(off) + uint64(load32(b, off)) + 4
	if at > uint64(len(b)) {
		return nil
	}
	end := at + uint64(mem.LE32(mem.Add(mem.Data(b), uintptr(at-4))))
	if end > uint64(len(b)) {
		return nil
	}
	return b[at:end:end]
}

// VectorLen returns the number of elements of the vector whose offset stands at
// off in the table.
func (t *Table) VectorLen(off UOffsetT) int {
	return int(load32(t.Bytes, t.Indirect(off+t.Pos)))
}

// Vector returns the position of the first element of the vector whose offset
// stands at off in the table.
func (t *Table) Vector(off UOffsetT) UOffsetT {
	return t.Indirect(off+t.Pos) + SizeUOffsetT
}

// Union makes t2 the table whose offset stands at off in the table.
func (t *Table) Union(t2 *Table, off UOffsetT) {
	t2.Pos = t.Indirect(off + t.Pos)
	t2.Bytes = t.Bytes
}

// ByteVector64 is ByteVector for an offset and a vector of 64 bits each where wide is
// true, and for an offset of 64 bits to an ordinary vector or string otherwise.
func (t *Table) ByteVector64(off UOffsetT, wide bool) []byte {
	at := flatwire.Follow64(t.Bytes, int(off))
	if wide {
		return flatwire.Bytes64(t.Bytes, at)
	}
	return flatwire.Bytes(t.Bytes, at)
}

// Vector64 returns the position of the first element and the number of elements of the
// vector whose offset of 64 bits stands at off in the table; wide says that
// its length has 64 bits too. Both are 0 if elements of size bytes do not lie
// inside the buffer, which must be shorter than 4 GiB.
func (t *Table) Vector64(off UOffsetT, size int, wide bool) (start UOffsetT, n int) {
	at := flatwire.Follow64(t.Bytes, int(off)+int(t.Pos))
	if at == 0 {
		return 0, 0
	}
	var pos int
	if wide {
		pos, n = flatwire.Vector64(t.Bytes, at, size)
	} else {
		pos, n = flatwire.Vector(t.Bytes, at, size)
	}
	return UOffsetT(pos), n
}

// The scalars in slots: d if absent, 0 outside of the buffer. Each is one function with Offset in it, so
// that accessors are nothing but a call: a table of hundreds of fields is read by little code, which the
// processor has at hand. As one generic function they take half as long again, and 1.2 to 1.8 times as long if they
// call Offset (bench's read/(f6|f286|m166|m326)).

func (t *Table) slot8(slot VOffsetT, d uint8) uint8 {
	b, pos := t.Bytes, uint(t.Pos)
	size := uint(len(b))
	if size < 4 || pos > size-4 {
		return d
	}
	p := mem.Data(b)
	vtable := pos - uint(int32(mem.LE32(mem.Add(p, uintptr(pos))))) // as in Offset
	if vtable > size-2 || slot >= VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable)))) {
		return d
	}
	vtable += uint(slot)
	if vtable > size-2 {
		return d
	}
	off := uint(mem.LE16(mem.Add(p, uintptr(vtable))))
	if off == 0 {
		return d
	}
	if pos += off; uint64(pos)+1 > uint64(size) {
		return 0
	}
	return mem.U8(mem.Add(p, uintptr(pos)))
}

func (t *Table) slot16(slot VOffsetT, d uint16) uint16 {
	b, pos := t.Bytes, uint(t.Pos)
	size := uint(len(b))
	if size < 4 || pos > size-4 {
		return d
	}
	p := mem.Data(b)
	vtable := pos - uint(int32(mem.LE32(mem.Add(p, uintptr(pos))))) // as in Offset
	if vtable > size-2 || slot >= VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable)))) {
		return d
	}
	vtable += uint(slot)
	if vtable > size-2 {
		return d
	}
	off := uint(mem.LE16(mem.Add(p, uintptr(vtable))))
	if off == 0 {
		return d
	}
	if pos += off; uint64(pos)+2 > uint64(size) {
		return 0
	}
	return mem.LE16(mem.Add(p, uintptr(pos)))
}

func (t *Table) slot32(slot VOffsetT, d uint32) uint32 {
	b, pos := t.Bytes, uint(t.Pos)
	size := uint(len(b))
	if size < 4 || pos > size-4 {
		return d
	}
	p := mem.Data(b)
	vtable := pos - uint(int32(mem.LE32(mem.Add(p, uintptr(pos))))) // as in Offset
	if vtable > size-2 || slot >= VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable)))) {
		return d
	}
	vtable += uint(slot)
	if vtable > size-2 {
		return d
	}
	off := uint(mem.LE16(mem.Add(p, uintptr(vtable))))
	if off == 0 {
		return d
	}
	if pos += off; uint64(pos)+4 > uint64(size) {
		return 0
	}
	return mem.LE32(mem.Add(p, uintptr(pos)))
}

func (t *Table) slot64(slot VOffsetT, d uint64) uint64 {
	b, pos := t.Bytes, uint(t.Pos)
	size := uint(len(b))
	if size < 4 || pos > size-4 {
		return d
	}
	p := mem.Data(b)
	vtable := pos - uint(int32(mem.LE32(mem.Add(p, uintptr(pos))))) // as in Offset
	if vtable > size-2 || slot >= VOffsetT(mem.LE16(mem.Add(p, uintptr(vtable)))) {
		return d
	}
	vtable += uint(slot)
	if vtable > size-2 {
		return d
	}
	off := uint(mem.LE16(mem.Add(p, uintptr(vtable))))
	if off == 0 {
		return d
	}
	if pos += off; uint64(pos)+8 > uint64(size) {
		return 0
	}
	return mem.LE64(mem.Add(p, uintptr(pos)))
}

// The loads: 0 outside of b.

func load8(b []byte, pos UOffsetT) uint8 {
	if uint64(pos) >= uint64(len(b)) {
		return 0
	}
	return b[pos]
}

func load16(b []byte, pos UOffsetT) uint16 {
	if uint64(pos)+2 > uint64(len(b)) {
		return 0
	}
	return mem.LE16(mem.Add(mem.Data(b), uintptr(pos)))
}

func load32(b []byte, pos UOffsetT) uint32 {
	if uint64(pos)+4 > uint64(len(b)) {
		return 0
	}
	return mem.LE32(mem.Add(mem.Data(b), uintptr(pos)))
}

func load64(b []byte, pos UOffsetT) uint64 {
	if uint64(pos)+8 > uint64(len(b)) {
		return 0
	}
	return mem.LE64(mem.Add(mem.Data(b), uintptr(pos)))
}

// The stores: nothing outside of b.

func store8(b []byte, pos UOffsetT, v uint8) bool {
	if uint64(pos) >= uint64(len(b)) {
		return false
	}
	b[pos] = v
	return true
}

func store16(b []byte, pos UOffsetT, v uint16) bool {
	if uint64(pos)+2 > uint64(len(b)) {
		return false
	}
	mem.PutLE16(mem.Add(mem.Data(b), uintptr(pos)), v)
	return true
}

func store32(b []byte, pos UOffsetT, v uint32) bool {
	if uint64(pos)+4 > uint64(len(b)) {
		return false
	}
	mem.PutLE32(mem.Add(mem.Data(b), uintptr(pos)), v)
	return true
}

func store64(b []byte, pos UOffsetT, v uint64) bool {
	if uint64(pos)+8 > uint64(len(b)) {
		return false
	}
	mem.PutLE64(mem.Add(mem.Data(b), uintptr(pos)), v)
	return true
}

// bit is a bool as FlatBuffers writes it.
func bit(v bool) uint8 {
	if v {
		return 1
	}
	return 0
}
