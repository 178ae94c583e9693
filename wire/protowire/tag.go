package protowire

import "strconv"

// This file holds wire types and tags.

// Type is a wire type: how the value after a tag is delimited.
type Type uint8

const (
	Varint     Type = 0 // integers, bools, enums
	Fixed64    Type = 1 // 8 bytes: fixed64, sfixed64, double
	Bytes      Type = 2 // a length and as many bytes: strings, bytes, messages, packed lists
	StartGroup Type = 3 // fields up to the end of the group
	EndGroup   Type = 4
	Fixed32    Type = 5 // 4 bytes: fixed32, sfixed32, float
)

var typeNames = [...]string{"varint", "fixed64", "bytes", "start group", "end group", "fixed32"}

// Valid reports whether t exists.
func (t Type) Valid() bool { return int(t) < len(typeNames) }

// String returns the name of t, or its number.
func (t Type) String() string {
	if t.Valid() {
		return typeNames[t]
	}
	return "type " + strconv.Itoa(int(t))
}

// Tag returns the tag of a field, whose varint stands before its value.
func Tag(number int32, t Type) uint64 { return uint64(number)<<3 | uint64(t) }

// AppendTag appends the tag of a field, whose number lies between 1 and MaxNumber.
func AppendTag(b []byte, number int32, t Type) []byte { return AppendVarint(b, Tag(number, t)) }

// SizeTag returns the length of the tag of a field with that number.
func SizeTag(number int32) int { return SizeVarint(uint64(number) << 3) }

// ConsumeTag reads a tag.
func ConsumeTag(b []byte) (number int32, t Type, n int) {
	u, n := ConsumeVarint(b)
	if n < 0 {
		return 0, 0, n
	}
	if u>>3-1 >= MaxNumber {
		return 0, 0, ErrNumber
	}
	if t = Type(u & 7); !t.Valid() {
		return 0, 0, ErrType
	}
	return int32(u >> 3), t, n
}
