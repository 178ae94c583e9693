package inspect

import (
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file gives the protocols one face.

// protocol reads the parts of values. A negative length is an error of package
// thriftwire.
type protocol interface {
	// field reads the header of a field after the one with the id last.
	field(b []byte, last int16) (f compact.Field, n int)
	list(b []byte) (elem thriftwire.Type, size, n int)
	mapping(b []byte) (key, elem thriftwire.Type, size, n int)
	text(b []byte) (v []byte, n int)
	boolean(b []byte) (v bool, n int)
	integer(b []byte, t thriftwire.Type) (v int64, n int)
	double(b []byte) (v float64, n int)
	// boolHeader reports whether bool fields have their value in the header.
	boolHeader() bool
}

type binaryProtocol struct{}

func (binaryProtocol) field(b []byte, last int16) (f compact.Field, n int) {
	f.Type, f.ID, n = thriftwire.ConsumeField(b)
	return f, n
}

func (binaryProtocol) list(b []byte) (thriftwire.Type, int, int) { return thriftwire.ConsumeList(b) }
func (binaryProtocol) mapping(b []byte) (thriftwire.Type, thriftwire.Type, int, int) {
	return thriftwire.ConsumeMap(b)
}
func (binaryProtocol) text(b []byte) ([]byte, int)    { return thriftwire.ConsumeBytes(b) }
func (binaryProtocol) boolean(b []byte) (bool, int)   { return thriftwire.ConsumeBool(b) }
func (binaryProtocol) double(b []byte) (float64, int) { return thriftwire.ConsumeDouble(b) }
func (binaryProtocol) boolHeader() bool               { return false }

func (binaryProtocol) integer(b []byte, t thriftwire.Type) (int64, int) {
	switch t {
	case thriftwire.I8:
		v, n := thriftwire.ConsumeI8(b)
		return int64(v), n
	case thriftwire.I16:
		v, n := thriftwire.ConsumeI16(b)
		return int64(v), n
	case thriftwire.I32:
		v, n := thriftwire.ConsumeI32(b)
		return int64(v), n
	default:
		return thriftwire.ConsumeI64(b)
	}
}

type compactProtocol struct{ dialect compact.Dialect }

func (c compactProtocol) field(b []byte, last int16) (compact.Field, int) {
	return c.dialect.ConsumeField(b, last)
}

func (c compactProtocol) list(b []byte) (thriftwire.Type, int, int) { return c.dialect.ConsumeList(b) }
func (c compactProtocol) mapping(b []byte) (thriftwire.Type, thriftwire.Type, int, int) {
	return c.dialect.ConsumeMap(b)
}
func (compactProtocol) text(b []byte) ([]byte, int)      { return compact.ConsumeBytes(b) }
func (compactProtocol) boolean(b []byte) (bool, int)     { return compact.ConsumeBool(b) }
func (c compactProtocol) double(b []byte) (float64, int) { return c.dialect.ConsumeDouble(b) }
func (compactProtocol) boolHeader() bool                 { return true }

func (compactProtocol) integer(b []byte, t thriftwire.Type) (int64, int) {
	switch t {
	case thriftwire.I8:
		v, n := compact.ConsumeI8(b)
		return int64(v), n
	case thriftwire.I16:
		v, n := compact.ConsumeI16(b)
		return int64(v), n
	case thriftwire.I32:
		v, n := compact.ConsumeI32(b)
		return int64(v), n
	default:
		return compact.ConsumeI64(b)
	}
}
