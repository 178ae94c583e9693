package protowire

import "encoding/binary"

// This file holds the values other than varints. Floats are the bits of a
// fixed number, as math.Float32bits and math.Float64bits give them.

// AppendBool appends the varint 1 or 0.
func AppendBool(b []byte, v bool) []byte {
	if v {
		return append(b, 1)
	}
	return append(b, 0)
}

func AppendFixed32(b []byte, v uint32) []byte { return binary.LittleEndian.AppendUint32(b, v) }
func AppendFixed64(b []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(b, v) }

// AppendBytes appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendBytes(b []byte, v []byte) []byte { return append(AppendVarint(b, uint64(len(v))), v...) }

// AppendString appends the length and bytes of v, which must be shorter than 2 GiB.
func AppendString(b []byte, v string) []byte { return append(AppendVarint(b, uint64(len(v))), v...) }

// SizeBytes returns what a length and n bytes take.
func SizeBytes(n int) int { return SizeVarint(uint64(n)) + n }

// ConsumeFixed32 reads four bytes, the low one first.
func ConsumeFixed32(b []byte) (uint32, int) {
	if len(b) < 4 {
		return 0, ErrEOF
	}
	return binary.LittleEndian.Uint32(b), 4
}

// ConsumeFixed64 reads eight bytes, the low one first.
func ConsumeFixed64(b []byte) (uint64, int) {
	if len(b) < 8 {
		return 0, ErrEOF
	}
	return binary.LittleEndian.Uint64(b), 8
}

// ConsumeLength reads the length of bytes that follow it, all of which are there.
func ConsumeLength(b []byte) (length, n int) {
	u, n := ConsumeVarint(b)
	switch {
	case n < 0:
		return 0, n
	case u > MaxLength:
		return 0, ErrLength
	case int(u) > len(b)-n:
		return 0, ErrEOF
	}
	return int(u), n
}

// ConsumeBytes reads a length and as many bytes. The result aliases b.
func ConsumeBytes(b []byte) ([]byte, int) {
	l, n := ConsumeLength(b)
	if n < 0 {
		return nil, n
	}
	return b[n : n+l : n+l], n + l
}
