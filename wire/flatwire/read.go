package flatwire

// This file holds what finds the parts of a message: 0 stands for nothing.

// Root returns the position of the root table of the buffer b, or 0.
func Root(b []byte) int { return Follow(b, 0) }

// SizePrefix is the length of the size before a size-prefixed buffer, and
// SizePrefix64 that of one with 64 bits.
const (
	SizePrefix   = 4
	SizePrefix64 = 8
)

// CutPrefix returns the buffer at the front of b, which starts with its size,
// and what follows it. ok is false if b does not hold it wholly. The buffer
// keeps its prefix, for alignment counts from there: its root offset is at
// SizePrefix, its identifier 4 bytes later.
func CutPrefix(b []byte) (buffer, rest []byte, ok bool) {
	n := uint64(U32(b, 0))
	if len(b) < SizePrefix || n > uint64(len(b)-SizePrefix) {
		return nil, b, false
	}
	end := SizePrefix + int(n)
	return b[:end:end], b[end:], true
}

// Identifier returns the four bytes at b[start+4:], where a buffer whose root
// offset stands at start has its file identifier if it has one, or nil.
func Identifier(b []byte, start int) []byte {
	if start < 0 || start > len(b) || len(b)-start < 8 {
		return nil
	}
	return b[start+4 : start+8 : start+8]
}

// HasIdentifier reports whether those bytes are id.
func HasIdentifier(b []byte, start int, id string) bool {
	return len(id) == 4 && string(Identifier(b, start)) == id
}

// VTable returns where the vtable of the table at table stands and its size in
// bytes, which is 0 if it does not lie wholly inside b.
func VTable(b []byte, table int) (pos, size int) {
	if uint(table) > uint(len(b)) || len(b)-table < 4 {
		return 0, 0
	}
	at := int64(table) - int64(I32(b, table))
	if at < 0 || at > int64(len(b)-2) {
		return 0, 0
	}
	pos = int(at)
	size = int(U16(b, pos))
	if size > len(b)-pos {
		return 0, 0
	}
	return pos, size
}

// Field returns where the field with that slot of the table at table stands, or
// 0 if it is absent. Slots count from 0, in the order of the schema's ids.
func Field(b []byte, table, slot int) int {
	pos, size := VTable(b, table)
	at := 4 + 2*slot
	if slot < 0 || slot > 1<<15 || at+2 > size {
		return 0
	}
	off := int(U16(b, pos+at))
	if off == 0 || off >= len(b)-table {
		return 0
	}
	return table + off
}

// Follow returns the position that the 32-bit offset at pos leads to, or 0.
func Follow(b []byte, pos int) int {
	off := uint64(U32(b, pos))
	if off == 0 || off >= uint64(len(b)-pos) {
		return 0
	}
	return pos + int(off)
}

// Follow64 is Follow for an offset of 64 bits.
func Follow64(b []byte, pos int) int {
	off := U64(b, pos)
	if off == 0 || off >= uint64(len(b)-pos) {
		return 0
	}
	return pos + int(off)
}

// Vector returns where the first element of the vector at pos stands and the
// number of its elements, of size bytes each. Both are 0 if the elements do not lie
// wholly inside b.
func Vector(b []byte, pos, size int) (start, n int) {
	if uint(pos) > uint(len(b)) || len(b)-pos < 4 || size <= 0 {
		return 0, 0
	}
	l := uint64(U32(b, pos))
	if l > uint64(len(b)-pos-4)/uint64(size) {
		return 0, 0
	}
	return pos + 4, int(l)
}

// Vector64 is Vector for a vector with a length of 64 bits.
func Vector64(b []byte, pos, size int) (start, n int) {
	if uint(pos) > uint(len(b)) || len(b)-pos < 8 || size <= 0 {
		return 0, 0
	}
	l := U64(b, pos)
	if l > uint64(len(b)-pos-8)/uint64(size) {
		return 0, 0
	}
	return pos + 8, int(l)
}

// Bytes returns the content of the string or vector of bytes at pos, without
// the zero byte that follows a string, or nil. The result aliases b.
func Bytes(b []byte, pos int) []byte {
	start, n := Vector(b, pos, 1)
	if start == 0 {
		return nil
	}
	return b[start : start+n : start+n]
}

// Bytes64 is Bytes for a vector with a length of 64 bits.
func Bytes64(b []byte, pos int) []byte {
	start, n := Vector64(b, pos, 1)
	if start == 0 {
		return nil
	}
	return b[start : start+n : start+n]
}
