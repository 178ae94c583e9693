package flexbuf

import "strconv"

// This file holds the types of values.

// Kind is the type of a value, by its number in the format.
type Kind uint8

const (
	Null          Kind = 0
	Int           Kind = 1
	Uint          Kind = 2
	Float         Kind = 3
	Key           Kind = 4 // text that ends with a zero byte
	String        Kind = 5
	IndirectInt   Kind = 6 // a number at another place, so that it does not widen its vector
	IndirectUint  Kind = 7
	IndirectFloat Kind = 8
	Map           Kind = 9
	Vector        Kind = 10 // of values of any kind
	VectorInt     Kind = 11 // of numbers of one kind
	VectorUint    Kind = 12
	VectorFloat   Kind = 13
	VectorKey     Kind = 14
	VectorString  Kind = 15 // deprecated: read as keys
	VectorInt2    Kind = 16 // of two numbers, without its length; up to VectorFloat4
	VectorFloat4  Kind = 24
	Blob          Kind = 25
	Bool          Kind = 26
	VectorBool    Kind = 36
)

var kindNames = map[Kind]string{
	Null: "null", Int: "int", Uint: "uint", Float: "float", Key: "key", String: "string",
	IndirectInt: "indirect int", IndirectUint: "indirect uint", IndirectFloat: "indirect float",
	Map: "map", Vector: "vector", VectorInt: "vector of int", VectorUint: "vector of uint", VectorFloat: "vector of float",
	VectorKey: "vector of key", VectorString: "vector of string", Blob: "blob", Bool: "bool", VectorBool: "vector of bool",
}

// String returns the kind's name.
func (k Kind) String() string {
	if n := k.fixedLen(); n > 0 {
		return strconv.Itoa(n) + " of " + k.elem().String()
	}
	if name := kindNames[k]; name != "" {
		return name
	}
	return "kind " + strconv.Itoa(int(k))
}

// valid reports whether the format has k.
func (k Kind) valid() bool { return k <= Bool || k == VectorBool }

// inline reports whether values of kind k stand in their vector themselves.
func (k Kind) inline() bool { return k <= Float || k == Bool }

// typed reports whether k is a vector of one kind.
func (k Kind) typed() bool { return k >= VectorInt && k <= VectorFloat4 || k == VectorBool }

// fixedLen returns the length of vectors that do not tell it, else 0.
func (k Kind) fixedLen() int {
	if k < VectorInt2 || k > VectorFloat4 {
		return 0
	}
	return int(k-VectorInt2)/3 + 2
}

// elem returns the kind of the elements of a typed vector.
func (k Kind) elem() Kind {
	switch {
	case k == VectorBool:
		return Bool
	case k == VectorString:
		return Key
	case k.fixedLen() > 0:
		return Int + (k-VectorInt2)%3
	default:
		return k - VectorInt + Int
	}
}
