package thriftwire

import "strconv"

// This file holds the types of values and of messages.

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

// widths has the size of a type's fixed encoding: 0 for types that do not
// exist, varies for those whose size does.
var widths = [256]int8{
	Bool: 1, I8: 1, Double: 8, I16: 2, I32: 4, I64: 8, UUID: 16, Float: 4,
	String: varies, Struct: varies, Map: varies, Set: varies, List: varies,
}

const varies = -1

// minSizes has MinSize.
var minSizes = func() (m [256]int8) {
	for t, w := range widths {
		m[t] = max(1, w)
	}
	m[String], m[List], m[Set], m[Map] = 4, 5, 5, 6
	return m
}()

var typeNames = [...]string{
	Stop: "stop", Bool: "bool", I8: "i8", Double: "double", I16: "i16", I32: "i32", I64: "i64", String: "string",
	Struct: "struct", Map: "map", Set: "set", List: "list", UUID: "uuid", Float: "float",
}

// Valid reports whether a value of type t exists; Stop has none.
func (t Type) Valid() bool { return widths[t] != 0 }

// FixedSize returns the number of bytes that every value of type t takes in
// the binary protocol, 0 if they differ or t is not valid.
func (t Type) FixedSize() int { return max(0, int(widths[t])) }

// MinSize returns the number of bytes that a value of type t takes at least in
// the binary protocol, 1 if t is not valid: a count of elements times MinSize
// that exceeds the remaining input cannot be true.
func (t Type) MinSize() int { return int(minSizes[t]) }

// String returns the name of t, or its number.
func (t Type) String() string {
	if int(t) < len(typeNames) && typeNames[t] != "" {
		return typeNames[t]
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

// Valid reports whether m is one of the four kinds.
func (m MessageType) Valid() bool { return m >= Call && m <= Oneway }

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
