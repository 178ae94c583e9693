package flatwire

import (
	"encoding/binary"
	"math"
)

// This file holds the loads of scalars. Each returns 0 where its bytes do not
// lie inside b, for any pos.

// U8 returns the byte at b[pos].
func U8(b []byte, pos int) uint8 {
	if uint(pos) >= uint(len(b)) {
		return 0
	}
	return b[pos]
}

// U16 returns the two bytes at b[pos:] as a number.
func U16(b []byte, pos int) uint16 {
	if uint(pos) > uint(len(b)) || len(b)-pos < 2 {
		return 0
	}
	return binary.LittleEndian.Uint16(b[pos:])
}

// U32 returns the four bytes at b[pos:] as a number.
func U32(b []byte, pos int) uint32 {
	if uint(pos) > uint(len(b)) || len(b)-pos < 4 {
		return 0
	}
	return binary.LittleEndian.Uint32(b[pos:])
}

// U64 returns the eight bytes at b[pos:] as a number.
func U64(b []byte, pos int) uint64 {
	if uint(pos) > uint(len(b)) || len(b)-pos < 8 {
		return 0
	}
	return binary.LittleEndian.Uint64(b[pos:])
}

func I8(b []byte, pos int) int8     { return int8(U8(b, pos)) }
func I16(b []byte, pos int) int16   { return int16(U16(b, pos)) }
func I32(b []byte, pos int) int32   { return int32(U32(b, pos)) }
func I64(b []byte, pos int) int64   { return int64(U64(b, pos)) }
func F32(b []byte, pos int) float32 { return math.Float32frombits(U32(b, pos)) }
func F64(b []byte, pos int) float64 { return math.Float64frombits(U64(b, pos)) }
func Bool(b []byte, pos int) bool   { return U8(b, pos) != 0 }
