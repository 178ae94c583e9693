package mem

import (
	"encoding/binary"
	"math/bits"
	"runtime"
	"slices"
)

// This file holds numbers whose order of bytes is given.

// plain reports whether this machine has the low byte first, and loads and stores at any address. The functions of
// encoding/binary become the same instructions, with an empty one for each level of calls that Go inlines: those were a
// twentieth of the time of writing a message.
const plain = runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64"

// The little-endian and big-endian stores and loads of N bytes at any alignment. The caller has
// shown that the N bytes lie inside the buffer that p points into (invariant 8).

func PutLE16(p Pointer, v uint16) {
	if plain {
		*(*uint16)(p) = v
	} else {
		binary.LittleEndian.PutUint16((*[2]byte)(p)[:], v)
	}
}

func PutLE32(p Pointer, v uint32) {
	if plain {
		*(*uint32)(p) = v
	} else {
		binary.LittleEndian.PutUint32((*[4]byte)(p)[:], v)
	}
}

func PutLE64(p Pointer, v uint64) {
	if plain {
		*(*uint64)(p) = v
	} else {
		binary.LittleEndian.PutUint64((*[8]byte)(p)[:], v)
	}
}

func LE16(p Pointer) uint16 {
	if plain {
		return *(*uint16)(p)
	}
	return binary.LittleEndian.Uint16((*[2]byte)(p)[:])
}

func LE32(p Pointer) uint32 {
	if plain {
		return *(*uint32)(p)
	}
	return binary.LittleEndian.Uint32((*[4]byte)(p)[:])
}

func LE64(p Pointer) uint64 {
	if plain {
		return *(*uint64)(p)
	}
	return binary.LittleEndian.Uint64((*[8]byte)(p)[:])
}

func PutBE16(p Pointer, v uint16) {
	if plain {
		*(*uint16)(p) = bits.ReverseBytes16(v)
	} else {
		binary.BigEndian.PutUint16((*[2]byte)(p)[:], v)
	}
}

func PutBE32(p Pointer, v uint32) {
	if plain {
		*(*uint32)(p) = bits.ReverseBytes32(v)
	} else {
		binary.BigEndian.PutUint32((*[4]byte)(p)[:], v)
	}
}

func PutBE64(p Pointer, v uint64) {
	if plain {
		*(*uint64)(p) = bits.ReverseBytes64(v)
	} else {
		binary.BigEndian.PutUint64((*[8]byte)(p)[:], v)
	}
}

func BE16(p Pointer) uint16 {
	if plain {
		return bits.ReverseBytes16(*(*uint16)(p))
	}
	return binary.BigEndian.Uint16((*[2]byte)(p)[:])
}

func BE32(p Pointer) uint32 {
	if plain {
		return bits.ReverseBytes32(*(*uint32)(p))
	}
	return binary.BigEndian.Uint32((*[4]byte)(p)[:])
}

func BE64(p Pointer) uint64 {
	if plain {
		return bits.ReverseBytes64(*(*uint64)(p))
	}
	return binary.BigEndian.Uint64((*[8]byte)(p)[:])
}

// littleEndian reports whether this machine has the low byte first.
func littleEndian() bool { return binary.NativeEndian.Uint16([]byte{1, 0}) == 1 }

// CopyLE copies numbers of size bytes each from src, where they lie as Go holds
// them, to dst, where they lie with the low byte first, or back. Both have one length.
func CopyLE(dst, src []byte, size int) {
	copy(dst, src)
	ToLE(dst, size)
}

// ToLE changes numbers of size bytes each from the order in which Go holds them
// to the low byte first, or back.
func ToLE(b []byte, size int) {
	if !littleEndian() {
		for ; len(b) >= size; b = b[size:] {
			slices.Reverse(b[:size])
		}
	}
}
