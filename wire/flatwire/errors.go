package flatwire

import (
	"math"
	"strconv"
)

// This file holds the error codes and the limits.

// The negative results of the Check functions.
const (
	ErrRange      = -1 - iota // a part that does not lie inside the buffer
	ErrAlign                  // a part that does not stand at a multiple of its alignment
	ErrOffset                 // an offset that is 0, or too large to be one
	ErrVTable                 // a vtable of odd size
	ErrTerminator             // a string without a zero byte after it
	ErrLength                 // a vector whose length no buffer can hold
	ErrIdentifier             // another file identifier
	ErrShort                  // a buffer too short to hold a table
)

const (
	// MaxDepth is the deepest nesting of tables that callers follow unless told
	// otherwise, and MaxTables the number of tables.
	MaxDepth  = 64
	MaxTables = 1_000_000
	// MaxSize is the size in bytes that a buffer must stay below: offsets have
	// 31 bits. Only what 64-bit offsets lead to may lie beyond.
	MaxSize = math.MaxInt32
	// MaxAlign is the greatest alignment that a schema can ask for.
	MaxAlign = 32
	// MinSize is the size of the shortest buffer: a root offset, a table's offset
	// of its vtable, and the sizes in that.
	MinSize = 12
)

// wireError is an error code of a Check function.
type wireError int

// Error converts a negative result to an error, which can be compared with
// errors.Is to another one made by Error; it returns nil for n >= 0.
func Error(n int) error {
	if n >= 0 {
		return nil
	}
	return wireError(n)
}

// Error returns what the code means.
func (e wireError) Error() string {
	switch int(e) {
	case ErrRange:
		return "flatwire: outside the buffer"
	case ErrAlign:
		return "flatwire: not aligned"
	case ErrOffset:
		return "flatwire: an offset that leads nowhere"
	case ErrVTable:
		return "flatwire: a vtable of odd size"
	case ErrTerminator:
		return "flatwire: a string without a zero byte after it"
	case ErrLength:
		return "flatwire: a length that no buffer holds"
	case ErrIdentifier:
		return "flatwire: another file identifier"
	case ErrShort:
		return "flatwire: too short for a buffer"
	default:
		return "flatwire: error " + strconv.Itoa(int(e))
	}
}
