package plan

import (
	"math/bits"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// Code says what an op's value is in memory and on the wire.
type Code uint8

const (
	Bool    Code = iota + 1 // 1 byte, 0 or 1
	I8                      // 1 byte
	I16                     // 2 bytes
	I32                     // 4 bytes
	I64                     // 8 bytes
	Enum64                  // 8 bytes in memory, i32 on the wire
	Float                   // 4 bytes
	Double                  // 8 bytes
	UUID                    // 16 bytes
	String                  // string header
	Binary                  // slice header of bytes
	Struct                  // a struct that lies at the offset; A is its procedure
	Pointer                 // a pointer to a struct; A is its procedure, Slot allocates it
	List                    // a slice; A is the element's procedure, Size the stride, Slot allocates
	Map                     // a map; A and B are the procedures of key and value, Slot makes and iterates it
	codes
)

var codeNames = [codes]string{
	Bool: "bool", I8: "i8", I16: "i16", I32: "i32", I64: "i64", Enum64: "enum64", Float: "float", Double: "double",
	UUID: "uuid", String: "string", Binary: "binary", Struct: "struct", Pointer: "pointer", List: "list", Map: "map",
}

// String returns the name of c in the text form.
func (c Code) String() string {
	if c < codes && codeNames[c] != "" {
		return codeNames[c]
	}
	return "invalid"
}

// widths has the bytes that a value takes in the binary protocol, 0 if they vary.
var widths = [codes]uint8{Bool: 1, I8: 1, I16: 2, I32: 4, I64: 8, Enum64: 4, Float: 4, Double: 8, UUID: 16}

// Width returns the number of bytes that every value of c takes in the binary
// protocol, 0 if it varies.
func (c Code) Width() int { return int(widths[c]) }

// word is the size of a pointer. Programs hold offsets and sizes of the
// machine they were lowered on.
const word = bits.UintSize / 8

// memory has the bytes that a value takes in memory, 0 for a struct, whose
// procedure knows.
var memory = [codes]uint64{Bool: 1, I8: 1, I16: 2, I32: 4, I64: 8, Enum64: 8, Float: 4, Double: 8, UUID: 16,
	String: 2 * word, Binary: 3 * word, Pointer: word, List: 3 * word, Map: word}

// Memory returns the number of bytes that a value of c takes in memory, 0 for
// Struct, whose procedure knows.
func (c Code) Memory() uint64 { return memory[c] }

// wires has the wire types of c, of which an op has one.
var wires = [codes][2]thriftwire.Type{
	Bool: {thriftwire.Bool}, I8: {thriftwire.I8}, I16: {thriftwire.I16}, I32: {thriftwire.I32}, I64: {thriftwire.I64},
	Enum64: {thriftwire.I32}, Float: {thriftwire.Float}, Double: {thriftwire.Double}, UUID: {thriftwire.UUID},
	String: {thriftwire.String}, Binary: {thriftwire.String}, Struct: {thriftwire.Struct}, Pointer: {thriftwire.Struct},
	List: {thriftwire.List, thriftwire.Set}, Map: {thriftwire.Map},
}

// Flags change how an op finds and treats its value.
type Flags uint8

const (
	// Header: the op is a field and has a header.
	Header Flags = 1 << iota
	// Deref: the offset holds a pointer to the value. Encode skips nil; decode
	// allocates by Slot, or from a chunk where Slot is negative.
	Deref
	// Optional: encode skips the op when the pointer at the offset (of a
	// pointer, slice or map) is nil.
	Optional
	// Default: encode skips the op when the value equals Program.Defaults[B].
	Default
	// Required: decode reports the field if it is absent.
	Required
	// Alias: decode lets a string or binary point into the input.
	Alias
	// Unique: a set, whose elements are checked where an option asks for it.
	Unique
	// PointerFree: a list whose elements stand in pointer-free memory.
	PointerFree
)

var flagNames = [...]string{"header", "deref", "optional", "default", "required", "alias", "unique", "pointerfree"}

// Op is one field or element.
type Op struct {
	Code  Code
	Flags Flags
	Wire  thriftwire.Type // of the value
	// Fixed is the number of bytes that the op writes whatever its value is in
	// the binary protocol: its header, and the value or its length.
	Fixed uint8
	ID    int16  // with Header
	Off   uint32 // of the memory from the base
	Size  uint32 // List: the stride of elements in memory
	A, B  int32  // procedures; B is the default with Default
	Slot  int32  // in the binding, -1 for none
	// Head is the field header of the binary protocol as a number, Wire<<16|ID. It
	// follows from Wire and ID and is kept because decode compares it.
	Head uint32
	// Bit is the op's place among the required fields of its procedure.
	Bit int32
	// Name is the field's name, for paths and messages.
	Name string
}

// HeadOf returns the field header of the binary protocol as a number.
func HeadOf(t thriftwire.Type, id int16) uint32 { return uint32(t)<<16 | uint32(uint16(id)) }
