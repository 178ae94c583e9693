package flatbuf

// This file holds the types of offsets and their sizes, under Google's names.

type (
	// UOffsetT is an offset in a buffer, or a position in one, in bytes.
	UOffsetT uint32
	// SOffsetT is the offset from a table back to its vtable.
	SOffsetT int32
	// VOffsetT is an offset in a table, or in a vtable.
	VOffsetT uint16
)

// Sizes in bytes.
const (
	SizeUint8    = 1
	SizeUint16   = 2
	SizeUint32   = 4
	SizeUint64   = 8
	SizeInt8     = 1
	SizeInt16    = 2
	SizeInt32    = 4
	SizeInt64    = 8
	SizeFloat32  = 4
	SizeFloat64  = 8
	SizeByte     = 1
	SizeBool     = 1
	SizeSOffsetT = 4
	SizeUOffsetT = 4
	SizeVOffsetT = 2
)

// VtableMetadataFields is the number of entries before the fields of a vtable.
const VtableMetadataFields = 2

const (
	fileIdentifierLength = 4
	sizePrefixLength     = 4
	maxAlign             = 32
)

// FlatBuffer is what generated types of tables and structs implement.
type FlatBuffer interface {
	Table() Table
	Init(buf []byte, i UOffsetT)
}
