package compact

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the writing of values and headers, and their sizes.

// AppendBool appends a bool that is an element; for fields see AppendBoolField.
func AppendBool(b []byte, v bool) []byte { return append(b, boolCode(v)) }

func boolCode(v bool) byte {
	if v {
		return codeTrue
	}
	return codeFalse
}

func AppendI8(b []byte, v int8) []byte   { return append(b, byte(v)) }
func AppendI16(b []byte, v int16) []byte { return AppendI32(b, int32(v)) }
func AppendI32(b []byte, v int32) []byte { return appendVarint(b, uint64(zigzag32(v))) }
func AppendI64(b []byte, v int64) []byte { return appendVarint(b, zigzag64(v)) }

// AppendDouble appends 8 bytes in the order of the dialect.
func (d Dialect) AppendDouble(b []byte, v float64) []byte {
	if d == FBThrift {
		return binary.BigEndian.AppendUint64(b, math.Float64bits(v))
	}
	return binary.LittleEndian.AppendUint64(b, math.Float64bits(v))
}

// AppendFloat appends the 4 bytes of fbthrift's float, big-endian.
func AppendFloat(b []byte, v float32) []byte {
	return binary.BigEndian.AppendUint32(b, math.Float32bits(v))
}

// AppendUUID appends the 16 bytes as they stand.
func AppendUUID(b []byte, v [16]byte) []byte { return append(b, v[:]...) }

// AppendLength appends the length that stands before a string's or binary's bytes.
func AppendLength(b []byte, n int) []byte { return appendVarint(b, uint64(n)) }

// AppendString appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendString(b []byte, v string) []byte { return append(AppendLength(b, len(v)), v...) }

// AppendBytes appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendBytes(b []byte, v []byte) []byte { return append(AppendLength(b, len(v)), v...) }

// AppendField appends the header of a field whose type is not Bool and which
// d has. The id of the field before it is last, 0 for the first.
func (d Dialect) AppendField(b []byte, t thriftwire.Type, id, last int16) []byte {
	return appendField(b, d.code(t), id, last)
}

// AppendBoolField appends a bool field, which is all header.
func AppendBoolField(b []byte, v bool, id, last int16) []byte {
	return appendField(b, boolCode(v), id, last)
}

func appendField(b []byte, code byte, id, last int16) []byte {
	if delta := int(id) - int(last); delta >= 1 && delta <= 15 {
		return append(b, byte(delta)<<4|code)
	}
	return AppendI16(append(b, code), id)
}

// AppendStop appends the end of a struct.
func AppendStop(b []byte) []byte { return append(b, 0) }

// AppendList appends the header of a list or set of size elements of a type
// that d has.
func (d Dialect) AppendList(b []byte, elem thriftwire.Type, size int) []byte {
	if size < 15 {
		return append(b, byte(size)<<4|d.code(elem))
	}
	return appendVarint(append(b, 15<<4|d.code(elem)), uint64(size))
}

// AppendMap appends the header of a map of size entries of types that d has.
// An empty map does not say its types.
func (d Dialect) AppendMap(b []byte, key, elem thriftwire.Type, size int) []byte {
	if size == 0 {
		return append(b, 0)
	}
	return append(appendVarint(b, uint64(size)), d.code(key)<<4|d.code(elem))
}

// The SizeX functions return how many bytes AppendX appends, where that
// depends on the value.

func SizeI16(v int16) int { return sizeVarint(uint64(zigzag32(int32(v)))) }
func SizeI32(v int32) int { return sizeVarint(uint64(zigzag32(v))) }
func SizeI64(v int64) int { return sizeVarint(zigzag64(v)) }

// SizeBytes is the size of a string or binary of that length.
func SizeBytes(length int) int { return sizeVarint(uint64(length)) + length }

// SizeField is the size of the header of a field, of a bool field too.
func SizeField(id, last int16) int {
	if delta := int(id) - int(last); delta >= 1 && delta <= 15 {
		return 1
	}
	return 1 + SizeI16(id)
}

// SizeList is the size of the header of a list or set of that size.
func SizeList(size int) int {
	if size < 15 {
		return 1
	}
	return 1 + sizeVarint(uint64(size))
}

// SizeMap is the size of the header of a map of that size.
func SizeMap(size int) int {
	if size == 0 {
		return 1
	}
	return 1 + sizeVarint(uint64(size))
}
