package transcodesuite

import (
	"encoding/binary"
	"errors"
	"math"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// limit is the work on a shape written by hand; nil where it is not.
type limit struct {
	fromJSON, toJSON func(dst, in []byte) ([]byte, error)
}

func (l limit) contender(in []byte, do func(dst, in []byte) ([]byte, error)) contender {
	return contender{"limit", func() (op, error) {
		buf := make([]byte, 0, 4*len(in))
		return func() ([]byte, error) { return do(buf, in) }, nil
	}}
}

var errLimit = errors.New("not what was expected")

// The names of a Simple in the order in which it is written, with what stands
// before them.
const (
	nameByte   = `{"byteField":`
	nameI64    = `,"i64Field":`
	nameDouble = `,"doubleField":`
	nameI32    = `,"i32Field":`
	nameString = `,"stringField":`
	nameBinary = `,"binaryField":"`
)

// expect steps over word at p, or returns -1.
func expect(in []byte, p int, word string) int {
	if p < 0 || len(in)-p < len(word) || string(in[p:p+len(word)]) != word {
		return -1
	}
	return p + len(word)
}

// integer reads an integer of that width behind name.
func integer(in []byte, p int, name string, bits int) (int64, int) {
	if p = expect(in, p, name); p < 0 {
		return 0, p
	}
	return jsonwire.ConsumeIntAt(in, p, bits)
}

// simpleFromJSON takes a Simple whose members stand in order without white space.
func simpleFromJSON(dst, in []byte) ([]byte, error) {
	dst, p := readSimple(dst, in, 0)
	if p != len(in) {
		return nil, errLimit
	}
	return dst, nil
}

// readSimple reads the Simple at p and returns the position after it, or -1.
func readSimple(dst, in []byte, p int) ([]byte, int) {
	v, p := integer(in, p, nameByte, 8)
	dst = append(dst, 3, 0, 1, byte(v))
	v, p = integer(in, p, nameI64, 64)
	dst = binary.BigEndian.AppendUint64(append(dst, 10, 0, 2), uint64(v))
	if p = expect(in, p, nameDouble); p < 0 {
		return dst, p
	}
	f, p := jsonwire.ConsumeFloatAt(in, p, 64)
	dst = binary.BigEndian.AppendUint64(append(dst, 4, 0, 3), math.Float64bits(f))
	v, p = integer(in, p, nameI32, 32)
	dst = binary.BigEndian.AppendUint32(append(dst, 8, 0, 4), uint32(v))
	if p = expect(in, p, nameString); p < 0 {
		return dst, p
	}
	dst = append(dst, 11, 0, 5, 0, 0, 0, 0)
	head := len(dst)
	dst, p = jsonwire.AppendUnquotedAt(dst, in, p)
	binary.BigEndian.PutUint32(dst[head-4:], uint32(len(dst)-head))
	if p = expect(in, p, nameBinary); p < 0 {
		return dst, p
	}
	dst = append(dst, 11, 0, 6, 0, 0, 0, 0)
	head = len(dst)
	dst, p = jsonwire.ConsumeBase64At(dst, in, p-1, false)
	binary.BigEndian.PutUint32(dst[head-4:], uint32(len(dst)-head))
	return append(dst, 0), expect(in, p, "}")
}

// field checks for the header of a field and that size bytes stand behind it.
func field(in []byte, p int, wire thriftwire.Type, id byte, size int) int {
	if p < 0 || len(in)-p < 3+size || in[p] != byte(wire) || in[p+1] != 0 || in[p+2] != id {
		return -1
	}
	return p + 3
}

// simpleToJSON takes a Simple whose fields stand in the order of their ids.
func simpleToJSON(dst, in []byte) ([]byte, error) {
	dst, p := writeSimple(dst, in, 0)
	if p != len(in) {
		return nil, errLimit
	}
	return dst, nil
}

// writeSimple writes the Simple at p and returns the position after it, or -1.
func writeSimple(dst, in []byte, p int) ([]byte, int) {
	if p = field(in, p, thriftwire.I8, 1, 1); p < 0 {
		return dst, p
	}
	dst = jsonwire.AppendInt(append(dst, nameByte...), int64(int8(in[p])))
	if p = field(in, p+1, thriftwire.I64, 2, 8); p < 0 {
		return dst, -1
	}
	dst = jsonwire.AppendInt(append(dst, nameI64...), int64(binary.BigEndian.Uint64(in[p:])))
	if p = field(in, p+8, thriftwire.Double, 3, 8); p < 0 {
		return dst, -1
	}
	f := math.Float64frombits(binary.BigEndian.Uint64(in[p:]))
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return dst, -1
	}
	dst = jsonwire.AppendFloat(append(dst, nameDouble...), f, 64)
	if p = field(in, p+8, thriftwire.I32, 4, 4); p < 0 {
		return dst, -1
	}
	dst = jsonwire.AppendInt(append(dst, nameI32...), int64(int32(binary.BigEndian.Uint32(in[p:]))))
	if p = field(in, p+4, thriftwire.String, 5, 4); p < 0 {
		return dst, -1
	}
	b, n := thriftwire.ConsumeBytes(in[p:])
	if n < 0 {
		return dst, -1
	}
	dst, ok := jsonwire.AppendQuoted(append(dst, nameString...), b)
	if p = field(in, p+n, thriftwire.String, 6, 4); !ok || p < 0 {
		return dst, -1
	}
	if b, n = thriftwire.ConsumeBytes(in[p:]); n < 0 || p+n == len(in) || in[p+n] != 0 {
		return dst, -1
	}
	dst = jsonwire.AppendBase64(append(dst, nameBinary...), b)
	return append(dst, '"', '}'), p + n + 1
}
