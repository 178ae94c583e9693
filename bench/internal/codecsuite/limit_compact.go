package codecsuite

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thrum-rpc/thrum/bench/internal/gen/kitex/shapes"
)

// This file holds "limit" in the compact protocol: a leaf measured, then stored
// with its numbers as words.

func leafCompactSize(l *shapes.Leaf) int {
	return 7 + 1 + 8 + 1 + varintSize(zigzag(l.Id)) + varintSize(zigzag(int64(l.Count))) + varintSize(zigzag(int64(l.Kind))) +
		varintSize(uint64(len(l.Label))) + len(l.Label) + varintSize(uint64(len(l.Payload))) + len(l.Payload)
}

func putCompactLeaf(b []byte, l *shapes.Leaf) int {
	const i8, i32, i64, double, text = 1<<4 | 3, 1<<4 | 5, 1<<4 | 6, 1<<4 | 7, 1<<4 | 8
	b[0], b[1], b[2] = i8, byte(l.Level), i64
	n := 3 + putVarint(b[3:], zigzag(l.Id))
	b[n] = double
	binary.LittleEndian.PutUint64(b[n+1:], math.Float64bits(l.Weight))
	b[n+9] = i32
	n += 10
	n += putVarint(b[n:], zigzag(int64(l.Count)))
	b[n] = text
	n++
	n += putVarintLoop(b[n:], uint64(len(l.Label)))
	n += copy(b[n:], l.Label)
	b[n] = text
	n++
	n += putVarintLoop(b[n:], uint64(len(l.Payload)))
	n += copy(b[n:], l.Payload)
	b[n] = i32
	n++
	n += putVarint(b[n:], zigzag(int64(l.Kind)))
	b[n] = 0
	return n + 1
}

func zigzag(v int64) uint64   { return uint64(v<<1) ^ uint64(v>>63) }
func varintSize(u uint64) int { return (9*bits.Len64(u|1) + 64) >> 6 }

func putVarint(b []byte, u uint64) int {
	if len(b) < 8 || u >= 1<<56 {
		return putVarintLoop(b, u)
	}
	n := varintSize(u)
	u = u&0x0fffffff | u<<4&0x0fffffff00000000
	u = u&0x00003fff00003fff | u<<2&0x3fff00003fff0000
	u = u&0x007f007f007f007f | u<<1&0x7f007f007f007f00
	binary.LittleEndian.PutUint64(b, u|0x0080808080808080>>(64-8*n))
	return n
}

func putVarintLoop(b []byte, u uint64) int {
	n := 0
	for u >= 0x80 {
		b[n] = byte(u) | 0x80
		n++
		u >>= 7
	}
	b[n] = byte(u)
	return n + 1
}
