package thriftwire

import "strconv"

// Type is a wire type of the binary protocol.
type Type uint8

const (
	Stop   Type = 0
	Bool   Type = 2
	I8     Type = 3
	Double Type = 4
	I16    Type = 6
	I32    Type = 8
	I64    Type = 10
	String Type = 11 // strings and binaries
	Struct Type = 12
	Map    Type = 13
	Set    Type = 14
	List   Type = 15
	UUID   Type = 16 // Apache Thrift
	Float  Type = 19 // fbthrift
)

// info has, by type, its name and the size of its fixed encoding: 0 for types
// that do not exist, -1 for those whose size varies.
var info = [256]struct {
	name string
	size int8
}{
	Bool: {"bool", 1}, I8: {"i8", 1}, Double: {"double", 8}, I16: {"i16", 2}, I32: {"i32", 4}, I64: {"i64", 8},
	String: {"string", -1}, Struct: {"struct", -1}, Map: {"map", -1}, Set: {"set", -1}, List: {"list", -1},
	UUID: {"uuid", 16}, Float: {"float", 4},
}

// Valid reports whether a value of type t exists; Stop has none.
func (t Type) Valid() bool { return info[t].size != 0 }

// FixedSize returns the number of bytes that every value of type t takes in
// the binary protocol, 0 if they differ or t is not valid.
func (t Type) FixedSize() int { return max(0, int(info[t].size)) }

// MinSize returns the number of bytes that a value of type t takes at least in
// the binary protocol, 1 if t is not valid: a count of elements times MinSize
// that exceeds the remaining input cannot be true.
func (t Type) MinSize() int {
	switch t {
	case String:
		return 4
	case List, Set:
		return 5
	case Map:
		return 6
	default:
		return max(1, int(info[t].size))
	}
}

// String returns the name of t, or its number.
func (t Type) String() string {
	if t == Stop {
		return "stop"
	}
	if n := info[t].name; n != "" {
		return n
	}
	return "type " + strconv.Itoa(int(t))
}

// MessageType is the kind of a message.
type MessageType uint8

const (
	Call      MessageType = 1
	Reply     MessageType = 2
	Exception MessageType = 3
	Oneway    MessageType = 4
)

// String returns the name of m, or its number.
func (m MessageType) String() string {
	switch m {
	case Call:
		return "call"
	case Reply:
		return "reply"
	case Exception:
		return "exception"
	case Oneway:
		return "oneway"
	default:
		return "message type " + strconv.Itoa(int(m))
	}
}

// The negative results of the Consume and Skip functions.
const (
	ErrEOF     = -1 - iota // the input ends inside the value
	ErrLength              // a length is negative or exceeds what remains
	ErrType                // a wire type that does not exist
	ErrDepth               // nested deeper than MaxDepth
	ErrVersion             // an envelope of another protocol
)

// MaxDepth is the deepest nesting of structs and containers that the Skip functions follow
// unless told otherwise.
const MaxDepth = 64

// wireError is an error number of a Consume or Skip function.
type wireError int

// Error converts a negative result to an error, which can be compared with
// errors.Is to another one made by Error; it returns nil for n >= 0.
func Error(n int) error {
	if n >= 0 {
		return nil
	}
	return wireError(n)
}

func (e wireError) Error() string {
	switch int(e) {
	case ErrEOF:
		return "thriftwire: unexpected EOF"
	case ErrLength:
		return "thriftwire: length is negative or exceeds the input"
	case ErrType:
		return "thriftwire: unknown wire type"
	case ErrDepth:
		return "thriftwire: nested too deeply"
	case ErrVersion:
		return "thriftwire: not a message of this protocol"
	default:
		return "thriftwire: error " + strconv.Itoa(int(e))
	}
}
