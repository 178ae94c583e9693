package jsonwire

import "strconv"

// The negative results of the Consume and Skip functions.
const (
	ErrEOF     = -1 - iota // the input ends inside the value
	ErrSyntax              // a byte that the grammar does not allow there
	ErrControl             // a control character inside a string
	ErrEscape              // a backslash sequence that does not exist, or half a surrogate pair
	ErrUTF8                // bytes that are not UTF-8
	ErrNumber              // a number that the grammar does not allow, such as 01 or 1.
	ErrRange               // a number that the type cannot hold
	ErrInteger             // a number with a fraction where an integer is due
	ErrDepth               // nested deeper than the limit
)

// jsonError is an error number of a Consume or Skip function.
type jsonError int

// Error converts a negative result to an error, which can be compared with
// errors.Is to another one made by Error; it returns nil for n >= 0.
func Error(n int) error {
	if n >= 0 {
		return nil
	}
	return jsonError(n)
}

func (e jsonError) Error() string { return "jsonwire: " + Describe(int(e)) }

// Describe says in a few words what the negative result n means.
func Describe(n int) string {
	switch n {
	case ErrEOF:
		return "the text ends inside a value"
	case ErrSyntax:
		return "invalid syntax"
	case ErrControl:
		return "a control character in a string must be escaped"
	case ErrEscape:
		return "invalid escape sequence"
	case ErrUTF8:
		return "invalid UTF-8"
	case ErrNumber:
		return "invalid number"
	case ErrRange:
		return "the number is out of range"
	case ErrInteger:
		return "the number is not an integer"
	case ErrDepth:
		return "nested too deeply"
	default:
		return "error " + strconv.Itoa(n)
	}
}
