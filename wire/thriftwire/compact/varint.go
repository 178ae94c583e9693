package compact

import (
	"encoding/binary"
	"math/bits"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds varints: seven bits a byte, the least significant first, the
// top bit set on all but the last. Signed numbers are zigzagged, so that small
// negative ones stay short.

func zigzag32(v int32) uint32 { return uint32(v<<1) ^ uint32(v>>31) }
func zigzag64(v int64) uint64 { return uint64(v<<1) ^ uint64(v>>63) }
func zagzig32(u uint32) int32 { return int32(u>>1) ^ -int32(u&1) }
func zagzig64(u uint64) int64 { return int64(u>>1) ^ -int64(u&1) }

// sizeVarint is the number of bits divided by 7, rounded up, without the division.
func sizeVarint(u uint64) int { return (9*bits.Len64(u|1) + 64) >> 6 }

func appendVarint(b []byte, u uint64) []byte {
	for u >= 0x80 {
		b = append(b, byte(u)|0x80)
		u >>= 7
	}
	return append(b, byte(u))
}

// consumeVarint32 reads a varint of up to 32 bits.
func consumeVarint32(b []byte) (uint32, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint32(b[0]), 1
	}
	u, n := consumeVarint(b, 5)
	if u > 1<<32-1 {
		return 0, thriftwire.ErrData
	}
	return uint32(u), n
}

// consumeVarint64 reads a varint of up to 64 bits.
func consumeVarint64(b []byte) (uint64, int) {
	if len(b) > 0 && b[0] < 0x80 {
		return uint64(b[0]), 1
	}
	return consumeVarint(b, 10)
}

// consumeVarint reads a varint of at most limit bytes, which is 5 or 10.
func consumeVarint(b []byte, limit int) (uint64, int) {
	if len(b) < 10 {
		return consumeVarintSlow(b, limit)
	}
	w := binary.LittleEndian.Uint64(b)
	ends := ^w & tops
	if ends == 0 { // 9 or 10 bytes, or too many
		u := gather(w) | uint64(b[8]&0x7f)<<56
		switch {
		case limit < 10:
			return 0, thriftwire.ErrData
		case b[8] < 0x80:
			return u, 9
		case b[9] > 1:
			return 0, thriftwire.ErrData
		default:
			return u | uint64(b[9])<<63, 10
		}
	}
	n := bits.TrailingZeros64(ends)>>3 + 1
	if n > limit {
		return 0, thriftwire.ErrData
	}
	return gather(w & (ends ^ (ends - 1))), n
}

const tops = 0x8080808080808080 // the top bit of each byte

// gather puts the lower seven bits of the eight bytes of w together.
func gather(w uint64) uint64 {
	w = w&0x007f007f007f007f | w&0x7f007f007f007f00>>1
	w = w&0x00003fff00003fff | w&0x3fff00003fff0000>>2
	return w&0x0fffffff | w&0x0fffffff00000000>>4
}

// consumeVarintSlow is consumeVarint near the end of b.
func consumeVarintSlow(b []byte, limit int) (uint64, int) {
	var u uint64
	for i, c := range b[:min(limit, len(b))] {
		u |= uint64(c&0x7f) << (7 * i)
		if c < 0x80 {
			if i == 9 && c > 1 {
				return 0, thriftwire.ErrData // more than 64 bits
			}
			return u, i + 1
		}
	}
	if len(b) >= limit {
		return 0, thriftwire.ErrData
	}
	return 0, thriftwire.ErrEOF
}

// consumeLength reads a length or size.
func consumeLength(b []byte) (int, int) {
	u, n := consumeVarint32(b)
	if u > thriftwire.MaxLength {
		return 0, thriftwire.ErrLength
	}
	return int(u), n
}
