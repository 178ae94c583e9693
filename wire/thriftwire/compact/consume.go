package compact

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the reading of values and headers.

// ConsumeBool reads a bool that is an element; the value of a bool field
// stands in its header. False is 2, or 0 as some writers have it.
func ConsumeBool(b []byte) (bool, int) {
	if len(b) < 1 {
		return false, thriftwire.ErrEOF
	}
	if b[0] > codeFalse {
		return false, thriftwire.ErrData
	}
	return b[0] == codeTrue, 1
}

// ConsumeI8 reads one byte.
func ConsumeI8(b []byte) (int8, int) {
	if len(b) < 1 {
		return 0, thriftwire.ErrEOF
	}
	return int8(b[0]), 1
}

// ConsumeI16 reads a varint. One that does not fit 16 bits is ErrData.
func ConsumeI16(b []byte) (int16, int) {
	u, n := consumeVarint32(b)
	if u > math.MaxUint16 {
		return 0, thriftwire.ErrData
	}
	return int16(zagzig32(u)), n
}

// ConsumeI32 reads a varint. One that does not fit 32 bits is ErrData.
func ConsumeI32(b []byte) (int32, int) {
	u, n := consumeVarint32(b)
	return zagzig32(u), n
}

// ConsumeI64 reads a varint. One that does not fit 64 bits is ErrData.
func ConsumeI64(b []byte) (int64, int) {
	u, n := consumeVarint64(b)
	return zagzig64(u), n
}

// ConsumeDouble reads 8 bytes in the order of the dialect.
func (d Dialect) ConsumeDouble(b []byte) (float64, int) {
	if len(b) < 8 {
		return 0, thriftwire.ErrEOF
	}
	if d == FBThrift {
		return math.Float64frombits(binary.BigEndian.Uint64(b)), 8
	}
	return math.Float64frombits(binary.LittleEndian.Uint64(b)), 8
}

// ConsumeFloat reads the 4 bytes of fbthrift's float.
func ConsumeFloat(b []byte) (float32, int) {
	if len(b) < 4 {
		return 0, thriftwire.ErrEOF
	}
	return math.Float32frombits(binary.BigEndian.Uint32(b)), 4
}

// ConsumeUUID reads 16 bytes.
func ConsumeUUID(b []byte) (v [16]byte, n int) {
	if len(b) < 16 {
		return v, thriftwire.ErrEOF
	}
	return [16]byte(b), 16
}

// ConsumeBytes reads a string or binary. The result aliases b.
func ConsumeBytes(b []byte) ([]byte, int) {
	l, n := consumeLength(b)
	if n < 0 {
		return nil, n
	}
	if l > len(b)-n {
		return nil, thriftwire.ErrEOF
	}
	end := n + l
	return b[n:end:end], end
}

// Field is the header of a field.
type Field struct {
	Type thriftwire.Type // Stop at the end of a struct
	ID   int16
	True bool // the value, if Type is Bool: no bytes follow then
}

// ConsumeField reads the header of a field. The id of the field before it is
// last, 0 for the first; an id that would exceed 32767 is ErrData.
func (d Dialect) ConsumeField(b []byte, last int16) (Field, int) {
	if len(b) < 1 {
		return Field{}, thriftwire.ErrEOF
	}
	c := b[0]
	if c == 0 {
		return Field{}, 1
	}
	t := d.typeOf(c)
	if t == thriftwire.Stop {
		return Field{}, thriftwire.ErrType
	}
	f := Field{Type: t, True: c&15 == codeTrue}
	if delta := int(c >> 4); delta > 0 {
		if int(last)+delta > math.MaxInt16 {
			return Field{}, thriftwire.ErrData
		}
		f.ID = last + int16(delta)
		return f, 1
	}
	id, n := ConsumeI16(b[1:])
	if n < 0 {
		return Field{}, n
	}
	f.ID = id
	return f, 1 + n
}

// ConsumeList reads the header of a list or set. A size that the remaining
// bytes cannot hold is ErrEOF, so size elements of MinSize(elem) bytes are
// there when it succeeds; what an element takes in memory is the caller's to
// weigh. An empty list may have an element type that does not exist, which is
// read as Stop.
func (d Dialect) ConsumeList(b []byte) (elem thriftwire.Type, size, n int) {
	if len(b) < 1 {
		return 0, 0, thriftwire.ErrEOF
	}
	elem, size, n = d.typeOf(b[0]), int(b[0]>>4), 1
	if size == 15 {
		l, m := consumeLength(b[1:])
		if m < 0 {
			return 0, 0, m
		}
		size, n = l, 1+m
	}
	switch {
	case size == 0:
		return elem, 0, n
	case elem == thriftwire.Stop:
		return 0, 0, thriftwire.ErrType
	case size > (len(b)-n)/MinSize(elem):
		return 0, 0, thriftwire.ErrEOF
	}
	return elem, size, n
}

// ConsumeMap reads the header of a map. A size that the remaining bytes cannot
// hold is ErrEOF, as in ConsumeList. The types of an empty map are Stop.
func (d Dialect) ConsumeMap(b []byte) (key, elem thriftwire.Type, size, n int) {
	size, n = consumeLength(b)
	if n < 0 || size == 0 {
		return 0, 0, 0, n
	}
	if len(b) == n {
		return 0, 0, 0, thriftwire.ErrEOF
	}
	key, elem = d.typeOf(b[n]>>4), d.typeOf(b[n])
	n++
	switch {
	case key == thriftwire.Stop || elem == thriftwire.Stop:
		return 0, 0, 0, thriftwire.ErrType
	case size > (len(b)-n)/(MinSize(key)+MinSize(elem)):
		return 0, 0, 0, thriftwire.ErrEOF
	}
	return key, elem, size, n
}
