package compact

import "github.com/thrum-rpc/thrum/wire/thriftwire"

// This file holds the dialects and their type codes.

// Dialect is a variant of the protocol. Its number is the version that
// messages carry.
type Dialect uint8

const (
	Apache   Dialect = 1 // doubles little-endian, code 13 is uuid
	FBThrift Dialect = 2 // doubles big-endian, code 13 is float
)

// Valid reports whether d is one of the two dialects.
func (d Dialect) Valid() bool { return d == Apache || d == FBThrift }

// String returns the name of d.
func (d Dialect) String() string {
	switch d {
	case Apache:
		return "apache"
	case FBThrift:
		return "fbthrift"
	default:
		return "unknown dialect"
	}
}

// Has reports whether values of type t exist in d: Apache has no float,
// fbthrift no uuid.
func (d Dialect) Has(t thriftwire.Type) bool { return d.code(t) != noCode }

// Codes of types. Those of fields and elements are the same, but that a bool
// field has its value for a code.
const (
	codeTrue   = 1
	codeFalse  = 2
	codeI8     = 3
	codeI16    = 4
	codeI32    = 5
	codeI64    = 6
	codeDouble = 7
	codeString = 8
	// noCode is written for a type that the dialect does not have. No reader
	// accepts it.
	noCode = 15
)

var codes = [32]byte{
	thriftwire.Bool: codeTrue, thriftwire.I8: codeI8, thriftwire.I16: codeI16, thriftwire.I32: codeI32, thriftwire.I64: codeI64,
	thriftwire.Double: codeDouble, thriftwire.String: codeString, thriftwire.List: 9, thriftwire.Set: 10, thriftwire.Map: 11,
	thriftwire.Struct: 12, thriftwire.UUID: 13, thriftwire.Float: 13,
}

// types is codes the other way round, by dialect.
var types = func() (t [3][16]thriftwire.Type) {
	for typ, code := range codes {
		for _, d := range []Dialect{Apache, FBThrift} {
			if code != 0 && thriftwire.Type(typ) != d.foreign() {
				t[d][code] = thriftwire.Type(typ)
			}
		}
	}
	t[Apache][codeFalse], t[FBThrift][codeFalse] = thriftwire.Bool, thriftwire.Bool
	return t
}()

// foreign returns the type that only the other dialect has.
func (d Dialect) foreign() thriftwire.Type {
	if d == FBThrift {
		return thriftwire.UUID
	}
	return thriftwire.Float
}

func (d Dialect) code(t thriftwire.Type) byte {
	if c := codes[t&31]; c != 0 && t < 32 && t != d.foreign() {
		return c
	}
	return noCode
}

// typeOf returns the type that a code stands for, Stop if there is none.
func (d Dialect) typeOf(code byte) thriftwire.Type {
	if d > FBThrift {
		return thriftwire.Stop
	}
	return types[d][code&15]
}

// widths has the size of a type's fixed encoding as an element: 0 for types
// that do not exist, varies for those whose size does.
var widths = [256]int8{
	thriftwire.Bool: 1, thriftwire.I8: 1, thriftwire.Double: 8, thriftwire.UUID: 16, thriftwire.Float: 4,
	thriftwire.I16: varies, thriftwire.I32: varies, thriftwire.I64: varies, thriftwire.String: varies,
	thriftwire.Struct: varies, thriftwire.Map: varies, thriftwire.Set: varies, thriftwire.List: varies,
}

const varies = -1

// FixedSize returns the number of bytes that every element of type t takes,
// 0 if they differ or t is not valid. A bool field takes none.
func FixedSize(t thriftwire.Type) int { return max(0, int(widths[t])) }

// MinSize returns the number of bytes that an element of type t takes at
// least, 1 if t is not valid.
func MinSize(t thriftwire.Type) int { return max(1, int(widths[t])) }
