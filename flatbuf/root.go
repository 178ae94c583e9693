package flatbuf

import "github.com/thrum-rpc/thrum/wire/flatwire"

// This file holds the start of a buffer: root, size prefix, file identifier.

// GetRootAs makes fb the root of the buffer that starts at buf[offset:].
func GetRootAs(buf []byte, offset UOffsetT, fb FlatBuffer) {
	fb.Init(buf, GetIndirectOffset(buf, offset))
}

// GetSizePrefixedRootAs is GetRootAs for a buffer with its size before it.
func GetSizePrefixedRootAs(buf []byte, offset UOffsetT, fb FlatBuffer) {
	fb.Init(buf, GetIndirectOffset(buf, offset+sizePrefixLength))
}

// GetSizePrefix returns the size that stands before the buffer at buf[offset:].
func GetSizePrefix(buf []byte, offset UOffsetT) uint32 { return load32(buf, offset) }

// GetIndirectOffset returns the position that the offset at buf[offset:] leads to.
func GetIndirectOffset(buf []byte, offset UOffsetT) UOffsetT {
	return offset + UOffsetT(load32(buf, offset))
}

// GetBufferIdentifier returns the file identifier, or "" for a buffer that is
// too short to have one.
func GetBufferIdentifier(buf []byte) string { return string(flatwire.Identifier(buf, 0)) }

// GetSizePrefixedBufferIdentifier is GetBufferIdentifier for a buffer with its
// size before it.
func GetSizePrefixedBufferIdentifier(buf []byte) string {
	return string(flatwire.Identifier(buf, sizePrefixLength))
}

// BufferHasIdentifier reports whether buf has that file identifier.
func BufferHasIdentifier(buf []byte, identifier string) bool {
	return flatwire.HasIdentifier(buf, 0, identifier)
}

// SizePrefixedBufferHasIdentifier is BufferHasIdentifier for a buffer with its
// size before it.
func SizePrefixedBufferHasIdentifier(buf []byte, identifier string) bool {
	return flatwire.HasIdentifier(buf, sizePrefixLength, identifier)
}

// Search looks for a table or struct in a vector that is sorted by its key.
// compare is given the position of an element and says how its key compares
// with the one looked for: negative, 0 or positive. vector is the position of
// the first element, after the length. size is that of a struct in bytes, or 0 for tables,
// of which the vector holds offsets. It returns the position of the
// element; in a vector that is not sorted it may miss it.
func Search(buf []byte, vector UOffsetT, size int, compare func(pos UOffsetT) int) (pos UOffsetT, ok bool) {
	if vector < SizeUOffsetT {
		return 0, false
	}
	stride := size
	if size <= 0 {
		stride = SizeUOffsetT // tables
	}
	start, n := flatwire.Vector(buf, int(vector-SizeUOffsetT), stride)
	for low, high := 0, n; low < high; {
		middle := int(uint(low+high) / 2)
		at := UOffsetT(start + middle*stride)
		if size <= 0 {
			at = GetIndirectOffset(buf, at)
		}
		switch c := compare(at); {
		case c == 0:
			return at, true
		case c < 0:
			low = middle + 1
		default:
			high = middle
		}
	}
	return 0, false
}

// SizePrefixed64BufferHasIdentifier is BufferHasIdentifier for a buffer with its size before it
// in 64 bits.
func SizePrefixed64BufferHasIdentifier(buf []byte, identifier string) bool {
	return flatwire.HasIdentifier(buf, flatwire.SizePrefix64, identifier)
}
