package protowire

import (
	"math"
	"strconv"
)

// This file holds the error codes and the limits.

// The negative results of the Consume and Skip functions. Only ErrEOF can be
// cured by more input: a prefix of something valid gives ErrEOF and nothing
// else.
const (
	ErrEOF    = -1 - iota // the input ends before the value does, or cannot hold the length that it claims
	ErrLength             // a length above the limit
	ErrType               // a wire type that does not exist
	ErrDepth              // nested deeper than the limit
	ErrNumber             // a field number that is 0 or too large
	ErrGroup              // the end of a group that has not begun, or of another one
	ErrData               // a varint of more than 10 bytes or 64 bits
)

const (
	// MaxDepth is the deepest nesting of messages and groups that callers
	// follow unless told otherwise, as in Google's implementations.
	MaxDepth = 100
	// MaxLength is the greatest length of bytes and of a message.
	MaxLength = math.MaxInt32
	// MaxNumber is the greatest number of a field; the least is 1.
	MaxNumber = 1<<29 - 1
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
func (e wireError) Error() string { return "protowire: " + Describe(int(e)) }

// Describe says in a few words what the negative result n means.
func Describe(n int) string {
	switch n {
	case ErrEOF:
		return "unexpected EOF"
	case ErrLength:
		return "length above the limit"
	case ErrType:
		return "unknown wire type"
	case ErrDepth:
		return "nested too deeply"
	case ErrNumber:
		return "field number out of range"
	case ErrGroup:
		return "mismatching end of a group"
	case ErrData:
		return "varint of more than 64 bits"
	default:
		return "error " + strconv.Itoa(n)
	}
}
