package thriftwire

import (
	"math"
	"strconv"
)

// This file holds the error codes and the limits.

// The negative results of the Consume and Skip functions. Only ErrEOF can be
// cured by more input: a prefix of something valid gives ErrEOF and nothing
// else, so a reader of a stream may wait for more and try again, up to a limit
// of its own.
const (
	ErrEOF     = -1 - iota // the input ends before the value does, or cannot hold the size that it claims
	ErrLength              // a length is negative or above a limit
	ErrType                // a wire type that does not exist
	ErrDepth               // nested deeper than the limit
	ErrVersion             // an envelope of another protocol
	ErrData                // bytes that no value of the type has
)

const (
	// MaxDepth is the deepest nesting of structs and containers that callers
	// follow unless told otherwise.
	MaxDepth = 64
	// MaxLength is the greatest length of a string and size of a container.
	MaxLength = math.MaxInt32
	// MaxNameLength bounds the method name of a message, in bytes.
	MaxNameLength = 64 << 10
)

// wireError is an error code of a Consume or Skip function.
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
	case ErrEOF:
		return "thriftwire: unexpected EOF"
	case ErrLength:
		return "thriftwire: length is negative or above the limit"
	case ErrType:
		return "thriftwire: unknown wire type"
	case ErrDepth:
		return "thriftwire: nested too deeply"
	case ErrVersion:
		return "thriftwire: not a message of this protocol"
	case ErrData:
		return "thriftwire: bytes that no value of the type has"
	default:
		return "thriftwire: error " + strconv.Itoa(int(e))
	}
}
