package thriftwire

import (
	"encoding/binary"
	"math"
)

// This file holds the binary protocol: fixed-width big-endian numbers,
// length-prefixed bytes.

// AppendBool appends 1 or 0.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func AppendI8(b []byte, v int8) []byte   { return append(b, byte(v)) }
func AppendI16(b []byte, v int16) []byte { return binary.BigEndian.AppendUint16(b, uint16(v)) }
func AppendI32(b []byte, v int32) []byte { return binary.BigEndian.AppendUint32(b, uint32(v)) }
func AppendI64(b []byte, v int64) []byte { return binary.BigEndian.AppendUint64(b, uint64(v)) }

// AppendFloat appends fbthrift's 32-bit float.
func AppendFloat(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
}

// AppendDouble appends a double as the bits of an i64.
func AppendDouble(b []byte, v float64) []byte {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendUUID appends the 16 bytes as they stand.
func AppendUUID(b []byte, v [16]byte) []byte { return append(b, v[:]...) }

// AppendString appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendString(b []byte, v string) []byte { return append(AppendI32(b, int32(len(v))), v...) }

// AppendBytes appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendBytes(b []byte, v []byte) []byte { return append(AppendI32(b, int32(len(v))), v...) }

// AppendField appends the header of a field.
func AppendField(b []byte, t Type, id int16) []byte {
	return append(b, byte(t), byte(uint16(id)>>8), byte(id))
}

// AppendStop appends the end of a struct.
func AppendStop(b []byte) []byte { return append(b, byte(Stop)) }

// AppendList appends the header of a list or set.
func AppendList(b []byte, elem Type, size int) []byte {
	return AppendI32(append(b, byte(elem)), int32(size))
}

// AppendMap appends the header of a map.
func AppendMap(b []byte, key, elem Type, size int) []byte {
	return AppendI32(append(b, byte(key), byte(elem)), int32(size))
}

// ConsumeBool reads a bool; every byte but 0 is true.
func ConsumeBool(b []byte) (bool, int) {
	if len(b) < 1 {
		return false, ErrEOF
	}
	return b[0] != 0, 1
}

// ConsumeI8 reads a byte as a signed integer.
func ConsumeI8(b []byte) (int8, int) {
	if len(b) < 1 {
		return 0, ErrEOF
	}
	return int8(b[0]), 1
}

// ConsumeI16 reads two bytes, the high one first.
func ConsumeI16(b []byte) (int16, int) {
	if len(b) < 2 {
		return 0, ErrEOF
	}
	return int16(binary.BigEndian.Uint16(b)), 2
}

// ConsumeI32 reads four bytes, the high one first.
func ConsumeI32(b []byte) (int32, int) {
	if len(b) < 4 {
		return 0, ErrEOF
	}
	return int32(binary.BigEndian.Uint32(b)), 4
}

// ConsumeI64 reads eight bytes, the high one first.
func ConsumeI64(b []byte) (int64, int) {
	if len(b) < 8 {
		return 0, ErrEOF
	}
	return int64(binary.BigEndian.Uint64(b)), 8
}

// ConsumeFloat reads fbthrift's 32-bit float.
func ConsumeFloat(b []byte) (float32, int) {
	v, n := ConsumeI32(b)
	return math.Float32frombits(uint32(v)), n
}

// ConsumeDouble reads a double as the bits of an i64.
func ConsumeDouble(b []byte) (float64, int) {
	v, n := ConsumeI64(b)
	return math.Float64frombits(uint64(v)), n
}

// ConsumeUUID reads 16 bytes as they stand.
func ConsumeUUID(b []byte) (v [16]byte, n int) {
	if len(b) < 16 {
		return v, ErrEOF
	}
	return [16]byte(b), 16
}

// ConsumeBytes reads a string or binary. The result aliases b.
func ConsumeBytes(b []byte) ([]byte, int) {
	if len(b) < 4 {
		return nil, ErrEOF
	}
	l := int32(binary.BigEndian.Uint32(b))
	if l < 0 {
		return nil, ErrLength
	}
	if int(l) > len(b)-4 {
		return nil, ErrEOF
	}
	end := 4 + int(l)
	return b[4:end:end], end
}

// ConsumeField reads the header of a field. For Stop it takes one byte and
// the id is 0.
func ConsumeField(b []byte) (t Type, id int16, n int) {
	if len(b) < 1 {
		return 0, 0, ErrEOF
	}
	t = Type(b[0])
	if t == Stop {
		return Stop, 0, 1
	}
	if !t.Valid() {
		return 0, 0, ErrType
	}
	if len(b) < 3 {
		return 0, 0, ErrEOF
	}
	return t, int16(binary.BigEndian.Uint16(b[1:])), 3
}

// ConsumeList reads the header of a list or set. A size that the remaining
// bytes cannot hold is ErrEOF, so size elements of elem.MinSize() bytes are
// there when it succeeds; what an element takes in memory is the caller's to
// weigh. An empty list may have an element type that does not exist.
func ConsumeList(b []byte) (elem Type, size, n int) {
	if len(b) < 5 {
		return 0, 0, ErrEOF
	}
	elem = Type(b[0])
	l := int32(binary.BigEndian.Uint32(b[1:]))
	switch {
	case l < 0:
		return 0, 0, ErrLength
	case l == 0: // some writers name no element type then
		return elem, 0, 5
	case !elem.Valid():
		return 0, 0, ErrType
	case uint64(l)*uint64(elem.MinSize()) > uint64(len(b)-5):
		return 0, 0, ErrEOF
	}
	return elem, int(l), 5
}

// ConsumeMap reads the header of a map. A size that the remaining bytes cannot
// hold is ErrEOF, as in ConsumeList. An empty map may have types that do not exist.
func ConsumeMap(b []byte) (key, elem Type, size, n int) {
	if len(b) < 6 {
		return 0, 0, 0, ErrEOF
	}
	key, elem = Type(b[0]), Type(b[1])
	l := int32(binary.BigEndian.Uint32(b[2:]))
	switch {
	case l < 0:
		return 0, 0, 0, ErrLength
	case l == 0:
		return key, elem, 0, 6
	case !key.Valid() || !elem.Valid():
		return 0, 0, 0, ErrType
	case uint64(l)*uint64(key.MinSize()+elem.MinSize()) > uint64(len(b)-6):
		return 0, 0, 0, ErrEOF
	}
	return key, elem, int(l), 6
}
