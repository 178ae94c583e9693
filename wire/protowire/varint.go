package protowire

import (
	"encoding/binary"
	"math/bits"
)

// This file holds varints: seven bits a byte, the least significant first, the
// top bit set on all but the last.

// ZigZag maps signed numbers to unsigned ones, so that small negative ones
// stay short: 0, -1, 1, -2 become 0, 1, 2, 3.
func ZigZag(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }

// ZagZig is the inverse of ZigZag.
func ZagZig(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// SizeVarint returns the length of u as a varint.
func SizeVarint(u uint64) int {
	// The number of bits divided by 7, rounded up, without the division.
	return (9*bits.Len64(u|1) + 64) >> 6
}

// maxVarint is the length of the longest varint.
const maxVarint = 10

// AppendVarint appends u.
func AppendVarint(b []byte, u uint64) []byte {
	if u < 0x80 {
		return append(b, byte(u))
	}
	return appendLongVarint(b, u)
}

// appendLongVarint writes no byte beyond the varint, so that AppendVarint(b[:i], u)
// may fill a gap.
func appendLongVarint(b []byte, u uint64) []byte {
	switch {
	case u < 1<<14:
		return append(b, byte(u)|0x80, byte(u>>7))
	case u < 1<<21:
		return append(b, byte(u)|0x80, byte(u>>7)|0x80, byte(u>>14))
	case u < 1<<28:
		return append(b, byte(u)|0x80, byte(u>>7)|0x80, byte(u>>14)|0x80, byte(u>>21))
	}
	var w [maxVarint]byte
	size := SizeVarint(u)
	binary.LittleEndian.PutUint64(w[:], spread(u)|tops)
	w[8], w[9] = byte(u>>56)|0x80, byte(u>>63)
	w[size-1] &= 0x7f
	return append(b, w[:size]...)
}

const tops = 0x8080808080808080 // the top bit of each byte

// spread puts the lower 56 bits of u into the lower seven bits of eight bytes.
func spread(u uint64) uint64 {
	u = u&0x0fffffff | u&0x00fffffff0000000<<4
	u = u&0x00003fff00003fff | u&0x0fffc0000fffc000<<2
	return u&0x007f007f007f007f | u&0x3f803f803f803f80<<1
}

// gather is the inverse of spread.
func gather(w uint64) uint64 {
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x0fffffff | w&0x0fffffff00000000>>4
}

// ConsumeVarint reads a varint of up to 64 bits.
func ConsumeVarint(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return ConsumeLongVarint(b)
}

// ConsumeLongVarint is ConsumeVarint for those who have seen that the first
// byte is not the last one, or that there is none.
func ConsumeLongVarint(b []byte) (uint64, int) {
	if len(b) < maxVarint {
		return consumeCutVarint(b)
	}
	w := binary.LittleEndian.Uint64(b)
	if ends := ^w & tops; ends != 0 {
		return gather(w & (ends ^ (ends - 1))), bits.TrailingZeros64(ends)>>3 + 1
	}
	u := gather(w) | uint64(b[8]&0x7f)<<56
	switch {
	case b[8] < 0x80:
		return u, 9
	case b[9] > 1:
		return 0, ErrData
	default:
		return u | uint64(b[9])<<63, 10
	}
}

// consumeCutVarint is ConsumeLongVarint near the end of b, which has fewer
// than 10 bytes.
func consumeCutVarint(b []byte) (uint64, int) {
	var u uint64
	for i, c := range b {
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			return u, i + 1
		}
	}
	return 0, ErrEOF
}
