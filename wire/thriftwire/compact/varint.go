package compact

import (
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

func sizeVarint(u uint64) int { return (bits.Len64(u|1) + 6) / 7 }

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
