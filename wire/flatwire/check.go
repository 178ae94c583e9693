package flatwire

// This file holds the checks, by the rules of Google's C++ verifier.
// Positions are those of parts that were found by checked offsets, but any are
// taken. The argument align turns the check of alignment off where false.

// CheckRange checks that n bytes at pos lie inside b. As in C++, a part never
// fills the whole buffer: it is reached by an offset, which lies inside too.
func CheckRange(b []byte, pos, n uint64) int {
	if size := uint64(len(b)); n >= size || pos > size-n {
		return ErrRange
	}
	return 0
}

// CheckScalar checks a scalar or struct of size bytes at pos that is to stand at
// a multiple of alignment, a power of two.
func CheckScalar(b []byte, pos, size, alignment int, align bool) int {
	if align && pos&(alignment-1) != 0 {
		return ErrAlign
	}
	return CheckRange(b, uint64(pos), uint64(size))
}

// CheckOffset checks the offset of 32 bits at pos and returns the position that
// it leads to, which lies inside b. What stands there is not checked.
func CheckOffset(b []byte, pos int, align bool) (target, code int) {
	if align && pos&3 != 0 {
		return 0, ErrAlign
	}
	if uint(pos) > uint(len(b)) || len(b)-pos < 4 || len(b) == 4 {
		return 0, ErrRange
	}
	off := U32(b, pos)
	if int32(off) <= 0 {
		return 0, ErrOffset
	}
	if uint64(off) >= uint64(len(b)-pos) {
		return 0, ErrRange
	}
	return pos + int(off), 0
}

// CheckOffset64 is CheckOffset for an offset of 64 bits.
func CheckOffset64(b []byte, pos int, align bool) (target, code int) {
	if align && pos&7 != 0 {
		return 0, ErrAlign
	}
	if uint(pos) > uint(len(b)) || len(b)-pos < 8 || len(b) == 8 {
		return 0, ErrRange
	}
	off := U64(b, pos)
	if int64(off) <= 0 {
		return 0, ErrOffset
	}
	if off >= uint64(len(b)-pos) {
		return 0, ErrRange
	}
	return pos + int(off), 0
}

// CheckElement returns the position that the 32-bit offset at pos leads to,
// where pos is that of an element of a checked vector. C++ does not check such
// an offset before what it leads to, and neither does this: only a position
// outside b is ErrRange.
func CheckElement(b []byte, pos int) (target, code int) {
	to := uint64(pos) + uint64(U32(b, pos))
	if to >= uint64(len(b)) {
		return 0, ErrRange
	}
	return int(to), 0
}

// CheckTable checks the start of the table at pos: its offset of the vtable and
// the vtable's place and size, which it returns. Fields are not checked.
func CheckTable(b []byte, pos int, align bool) (vtable, size, code int) {
	if align && pos&3 != 0 {
		return 0, 0, ErrAlign
	}
	if uint(pos) > uint(len(b)) || len(b)-pos < 4 || len(b) == 4 {
		return 0, 0, ErrRange
	}
	at := int64(pos) - int64(I32(b, pos))
	if align && at&1 != 0 {
		return 0, 0, ErrAlign
	}
	if at < 0 || at > int64(len(b)-2) {
		return 0, 0, ErrRange
	}
	size = int(U16(b, int(at)))
	if size&1 != 0 {
		return 0, 0, ErrVTable
	}
	if code := CheckRange(b, uint64(at), uint64(size)); code < 0 {
		return 0, 0, code
	}
	return int(at), size, 0
}

// CheckVector checks the vector at pos with elements of size bytes and returns
// their number. The elements, and their alignment, are not checked.
func CheckVector(b []byte, pos, size int, align bool) (n, code int) {
	if align && pos&3 != 0 {
		return 0, ErrAlign
	}
	if uint(pos) > uint(len(b)) || len(b)-pos < 4 || len(b) == 4 {
		return 0, ErrRange
	}
	l := uint64(U32(b, pos))
	if (l+1)*uint64(size) > MaxSize { // which says l >= MaxSize / size, without a division
		return 0, ErrLength
	}
	if code := CheckRange(b, uint64(pos), 4+l*uint64(size)); code < 0 {
		return 0, code
	}
	return int(l), 0
}

// CheckVector64 is CheckVector for a vector with a length of 64 bits.
func CheckVector64(b []byte, pos, size int, align bool) (n, code int) {
	if align && pos&7 != 0 {
		return 0, ErrAlign
	}
	if uint(pos) > uint(len(b)) || len(b)-pos < 8 || len(b) == 8 {
		return 0, ErrRange
	}
	l := U64(b, pos)
	if l >= uint64(MaxSize/size) {
		return 0, ErrLength
	}
	if code := CheckRange(b, uint64(pos), 8+l*uint64(size)); code < 0 {
		return 0, code
	}
	return int(l), 0
}

// CheckString checks the string at pos and the zero byte after it. Whether it
// is UTF-8 is not checked.
func CheckString(b []byte, pos int, align bool) int {
	n, code := CheckVector(b, pos, 1, align)
	if code < 0 {
		return code
	}
	end := pos + 4 + n
	if end >= len(b) {
		return ErrRange
	}
	if b[end] != 0 {
		return ErrTerminator
	}
	return 0
}

// CheckRoot checks the start of the buffer b, whose root offset stands at start:
// 0, or SizePrefix after a size. It returns the position of the root table. An
// identifier that is not empty must be the buffer's.
func CheckRoot(b []byte, start int, identifier string, align bool) (table, code int) {
	if len(b) < MinSize {
		return 0, ErrShort
	}
	if identifier != "" && !HasIdentifier(b, start, identifier) {
		return 0, ErrIdentifier
	}
	return CheckOffset(b, start, align)
}

// CheckPrefix checks the size of 32 bits before a size-prefixed buffer: b may be
// longer than it says.
func CheckPrefix(b []byte) int {
	if len(b) <= SizePrefix || uint64(U32(b, 0))+SizePrefix > uint64(len(b)) {
		return ErrRange
	}
	return 0
}

// CheckPrefix64 is CheckPrefix for a size of 64 bits.
func CheckPrefix64(b []byte) int {
	if len(b) <= SizePrefix64 || U64(b, 0) > uint64(len(b)-SizePrefix64) {
		return ErrRange
	}
	return 0
}
