package static

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// MaxDepth is the deepest nesting of structs and containers that is read and
// written, as in package codec.
const MaxDepth = 1024

// amplification bounds how many bytes are allocated ahead for each byte of
// input that remains.
const amplification = 16

// TooDeep reports nesting beyond the limit; offset is -1 where none is known.
func TooDeep(offset int) *diag.Fault {
	return diag.NewFault(diag.DepthLimit, offset, "nested deeper than the limit")
}

// Missing reports that a required field did not come.
func Missing(offset int, id int16, typ string) *diag.Fault {
	return diag.NewFault(diag.MissingRequired, offset, "missing required field "+strconv.Itoa(int(id))+" for type "+typ)
}

// eof reports that n bytes were expected at i.
func eof(b []byte, i, n int) *diag.Fault {
	short := n - (len(b) - i)
	unit := " bytes"
	if short == 1 {
		unit = " byte"
	}
	return diag.NewFault(diag.UnexpectedEOF, i, "unexpected EOF: "+strconv.Itoa(short)+unit+" short")
}

// wire converts a negative result of package thriftwire.
func wire(n, i int) *diag.Fault {
	switch n {
	case thriftwire.ErrEOF:
		return diag.NewFault(diag.UnexpectedEOF, i, "unexpected EOF")
	case thriftwire.ErrLength:
		return diag.NewFault(diag.InvalidLength, i, "a length is negative")
	case thriftwire.ErrDepth:
		return TooDeep(i)
	default:
		return diag.NewFault(diag.InvalidType, i, "unknown wire type")
	}
}

func mismatch(i int, want, got thriftwire.Type) *diag.Fault {
	return diag.NewFault(diag.TypeMismatch, i, "type mismatch: "+strconv.Itoa(int(want))+" expected, got "+strconv.Itoa(int(got)))
}

// Head reads the header of a field as a number, type<<16|id; one below 1<<16
// is the end of the struct, which takes one byte. The header takes three.
func Head(b []byte, i int) (uint32, *diag.Fault) {
	if len(b)-i >= 4 {
		return binary.BigEndian.Uint32(b[i:]) >> 8, nil
	}
	switch rest := b[i:]; {
	case len(rest) == 0:
		return 0, eof(b, i, 1)
	case rest[0] == 0:
		return 0, nil
	case !thriftwire.Type(rest[0]).Valid():
		return 0, wire(thriftwire.ErrType, i)
	case len(rest) < 3:
		return 0, eof(b, i, 3)
	default:
		return uint32(rest[0])<<16 | uint32(rest[1])<<8 | uint32(rest[2]), nil
	}
}

// Skip steps over the field at i, of a struct read at that depth, and returns
// the offset behind it.
func Skip(b []byte, i, depth int) (int, *diag.Fault) {
	t, id, n := thriftwire.ConsumeField(b[i:])
	if n < 0 {
		return i, wire(n, i)
	}
	end, code := thriftwire.SkipAt(b, i+n, t, depth-1)
	if code < 0 {
		return i, wire(code, end).Field(strconv.Itoa(int(id)))
	}
	return end, nil
}

// Bool reads a bool; every byte but 0 is true.
func Bool(b []byte, i int) (bool, int, *diag.Fault) {
	if i >= len(b) {
		return false, i, eof(b, i, 1)
	}
	return b[i] != 0, i + 1, nil
}

// I8 reads a byte.
func I8(b []byte, i int) (int8, int, *diag.Fault) {
	if i >= len(b) {
		return 0, i, eof(b, i, 1)
	}
	return int8(b[i]), i + 1, nil
}

// I16 reads an i16.
func I16(b []byte, i int) (int16, int, *diag.Fault) {
	if len(b)-i < 2 {
		return 0, i, eof(b, i, 2)
	}
	return int16(binary.BigEndian.Uint16(b[i:])), i + 2, nil
}

// I32 reads an i32 or the number of an enum.
func I32(b []byte, i int) (int32, int, *diag.Fault) {
	if len(b)-i < 4 {
		return 0, i, eof(b, i, 4)
	}
	return int32(binary.BigEndian.Uint32(b[i:])), i + 4, nil
}

// I64 reads an i64.
func I64(b []byte, i int) (int64, int, *diag.Fault) {
	if len(b)-i < 8 {
		return 0, i, eof(b, i, 8)
	}
	return int64(binary.BigEndian.Uint64(b[i:])), i + 8, nil
}

// Float reads fbthrift's 32-bit float.
func Float(b []byte, i int) (float32, int, *diag.Fault) {
	v, i, f := I32(b, i)
	return math.Float32frombits(uint32(v)), i, f
}

// Double reads a double.
func Double(b []byte, i int) (float64, int, *diag.Fault) {
	v, i, f := I64(b, i)
	return math.Float64frombits(uint64(v)), i, f
}

// UUID reads 16 bytes.
func UUID(b []byte, i int) (v [16]byte, next int, f *diag.Fault) {
	if len(b)-i < 16 {
		return v, i, eof(b, i, 16)
	}
	return [16]byte(b[i:]), i + 16, nil
}

// Bytes reads a string or binary. The result aliases b.
func Bytes(b []byte, i int) ([]byte, int, *diag.Fault) {
	if len(b)-i < 4 {
		return nil, i, eof(b, i, 4)
	}
	n := int(int32(binary.BigEndian.Uint32(b[i:])))
	i += 4
	if uint(n) > uint(len(b)-i) {
		if n < 0 {
			return nil, i, diag.NewFault(diag.InvalidLength, i-4, "a length is negative")
		}
		f := eof(b, i, n)
		f.Offset = i - 4 // where the length stands
		return nil, i, f
	}
	return b[i : i+n : i+n], i + n, nil
}

// List reads the header of a list or set and returns its length, for which
// the input is long enough.
func List(b []byte, i, depth int, elem thriftwire.Type) (n, next int, f *diag.Fault) {
	if depth <= 0 {
		return 0, i, TooDeep(i)
	}
	t, n, m := thriftwire.ConsumeList(b[i:])
	switch {
	case m < 0:
		return 0, i, wire(m, i)
	case n > 0 && t != elem:
		return 0, i, mismatch(i, elem, t)
	}
	return n, i + m, nil
}

// Map reads the header of a map.
func Map(b []byte, i, depth int, key, elem thriftwire.Type) (n, next int, f *diag.Fault) {
	if depth <= 0 {
		return 0, i, TooDeep(i)
	}
	kt, et, n, m := thriftwire.ConsumeMap(b[i:])
	switch {
	case m < 0:
		return 0, i, wire(m, i)
	case n > 0 && kt != key:
		return 0, i, mismatch(i, key, kt)
	case n > 0 && et != elem:
		return 0, i, mismatch(i, elem, et)
	}
	return n, i + m, nil
}

// Capacity returns how many of n values of size bytes may be allocated before
// they are read at i, in a container at that depth: a length that merely
// claims is not believed further. Each level of nesting may claim half of what
// the one around it may, so that a thousand of them cannot claim the same bytes each.
func Capacity(b []byte, i, depth, n, size int) int {
	level := min(max(0, MaxDepth-1-depth), 30)
	return max(1, min(n, max(smallest, (len(b)-i)*amplification>>level)/size))
}

// smallest is the number of bytes that any container may allocate ahead.
const smallest = 256
