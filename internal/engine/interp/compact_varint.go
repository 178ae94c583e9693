package interp

import (
	"math/bits"

	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file holds the varints of the compact protocol as words: their seven-bit
// groups are spread and stored together, which takes no branch per byte.

// compactRoom is what compactHeader and a varint store at most: 4 bytes and 10.
const compactRoom = 16

func zigzag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// zigzag32 gives the same varint as zigzag of the number with its sign extended.
func zigzag32(v uint32) uint64 { return uint64(v<<1 ^ uint32(int32(v)>>31)) }

// varintSize is the number of bits of u divided by 7, rounded up.
func varintSize(u uint64) int { return (9*bits.Len64(u|1) + 64) >> 6 }

// lengthSize is varintSize of the length of a string. Most are short, so that
// branches serve better here.
func lengthSize(n int) int {
	if n < 1<<7 {
		return 1
	}
	if n < 1<<14 {
		return 2
	}
	return varintSize(uint64(n))
}

// spread puts each seven of the lower 56 bits of u into a byte of their own.
func spread(u uint64) uint64 {
	u = u&0x0fffffff | u<<4&0x0fffffff00000000
	u = u&0x00003fff00003fff | u<<2&0x3fff00003fff0000
	return u&0x007f007f007f007f | u<<1&0x7f007f007f007f00
}

// putVarint stores u, which has 56 bits at most, at w and returns its length. It
// stores 8 bytes whatever the length is.
func putVarint(w mem.Pointer, u uint64) int {
	n := varintSize(u)
	mem.PutLE64(w, spread(u)|0x0080808080808080>>(uint(64-8*n)&63))
	return n
}

// putLong stores u, which has more than 56 bits, at w and returns its length.
func putLong(w mem.Pointer, u uint64) int {
	mem.PutLE64(w, spread(u)|0x8080808080808080)
	top := u >> 56
	mem.PutLE16(mem.Add(w, 8), uint16(top|top>>7<<8)) // the second byte stands if the first has its top bit
	return 9 + int(top>>7)
}

// putVarint64 stores u at w and returns its length. It stores 10 bytes at most.
func putVarint64(w mem.Pointer, u uint64) int {
	if u < 1<<56 {
		return putVarint(w, u)
	}
	return putLong(w, u)
}

// appendVarint appends u.
func appendVarint(b []byte, u uint64) []byte {
	i := len(b)
	if cap(b)-i >= compactRoom {
		return b[:i+putVarint64(mem.Add(mem.Data(b), uintptr(i)), u)]
	}
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// putLength stores the length of a string at w and returns the length of that, as lengthSize does.
func putLength(w mem.Pointer, n int) int {
	if n < 1<<7 {
		mem.SetU8(w, byte(n))
		return 1
	}
	return putLongLength(w, n)
}

func putLongLength(w mem.Pointer, n int) int {
	if n < 1<<14 {
		mem.PutLE16(w, uint16(n&0x7f|0x80|n>>7<<8))
		return 2
	}
	return putVarint(w, uint64(n))
}

// compactHeader stores a field header at w and returns its length. It stores 9 bytes at most.
func compactHeader(w mem.Pointer, code byte, id int16, last int) int {
	if delta := int(id) - last; uint(delta-1) < 15 {
		mem.SetU8(w, byte(delta)<<4|code)
		return 1
	}
	mem.SetU8(w, code)
	return 1 + putVarint(mem.Add(w, 1), zigzag(int64(id)))
}

// numberSize returns the length of op's value at the address.
func numberSize(op *plan.Op, at mem.Pointer) int {
	switch op.Code {
	case plan.I16:
		return varintSize(zigzag(int64(int16(mem.U16(at)))))
	case plan.I32, plan.Enum64:
		return varintSize(zigzag32(mem.U32(at)))
	case plan.I64:
		return varintSize(zigzag(int64(mem.U64(at))))
	default:
		return op.Code.Width()
	}
}
