package frugal

import (
	"io"
	"reflect"

	"github.com/thrum-rpc/thrum/codec"
)

// NocopyWriter takes large strings and binaries from EncodeObject. Values of
// the types of this name in Frugal, gopkg and Kitex are such writers.
type NocopyWriter = codec.NocopyWriter

// EncodedSize returns the exact number of bytes of the encoding of val, a
// tagged struct or a pointer to one; a nil pointer is an empty struct. For what
// cannot be encoded it returns 0.
func EncodedSize(val any) int {
	n, err := codec.Size(val)
	switch {
	case err == nil:
		return n
	case isNilStruct(val):
		return 1
	}
	return 0
}

// EncodeObject writes the encoding of val, a tagged struct or a pointer to
// one (nil is an empty struct), in the binary protocol to the start of buf and returns the number of bytes written.
// EncodedSize(val) bytes suffice; fewer are an error.
//
// If w is not nil, strings and binaries of at least codec.DirectSize bytes are
// handed to w instead and count neither in the result nor towards it; calling
// w.MallocAck is left to the caller.
func EncodeObject(buf []byte, w NocopyWriter, val any) (int, error) {
	n, err := codec.EncodeInto(buf, w, val)
	if err != nil && isNilStruct(val) {
		if len(buf) == 0 {
			return 0, io.ErrShortBuffer
		}
		buf[0] = 0 // the stop of a struct without fields
		return 1, nil
	}
	return n, err
}

// isNilStruct reports whether val is a nil pointer to a struct that could be
// encoded.
func isNilStruct(val any) bool {
	v := reflect.ValueOf(val)
	if v.Kind() != reflect.Pointer || !v.IsNil() {
		return false
	}
	_, err := codec.Default().Aliases(val) // any question about the type fails if it cannot be encoded
	return err == nil
}

// DecodeObject fills the struct that val points to from the start of buf and
// returns the number of bytes that it took; bytes behind the struct are left
// alone. The result does not alias buf, but for fields tagged nocopy.
func DecodeObject(buf []byte, val any) (int, error) {
	return codec.Unmarshal(buf, val)
}

// Pretouch compiles a type, and all types that it reaches, ahead of their first use. vt is
// a tagged struct, a pointer to one, or the reflect.Type of either.
func Pretouch(vt any, _ ...Option) error {
	return codec.Pretouch(vt)
}
