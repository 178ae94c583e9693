package static

import (
	"encoding/binary"
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// tooLong reports a length that Thrift cannot express.
func tooLong(offset int) *diag.Fault {
	return diag.NewFault(diag.SizeLimit, offset, "longer than Thrift's 2 GiB")
}

// AppendString appends a string.
func AppendString(b []byte, s string) ([]byte, *diag.Fault) {
	if len(s) > math.MaxInt32 {
		return b, tooLong(len(b))
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...), nil
}

// AppendBinary appends a binary.
func AppendBinary(b, s []byte) ([]byte, *diag.Fault) {
	if len(s) > math.MaxInt32 {
		return b, tooLong(len(b))
	}
	return append(binary.BigEndian.AppendUint32(b, uint32(len(s))), s...), nil
}

// AppendEnum appends the number of an enum.
func AppendEnum(b []byte, v int64) ([]byte, *diag.Fault) {
	if v < math.MinInt32 || v > math.MaxInt32 {
		return b, diag.NewFault(diag.OutOfRange, len(b), "an enum value does not fit into 32 bits")
	}
	return binary.BigEndian.AppendUint32(b, uint32(v)), nil
}

// AppendList appends the header of a list or set of n elements.
func AppendList(b []byte, elem thriftwire.Type, n, depth int) ([]byte, *diag.Fault) {
	if depth <= 0 {
		return b, TooDeep(len(b))
	}
	if n > math.MaxInt32 {
		return b, tooLong(len(b))
	}
	return thriftwire.AppendList(b, elem, n), nil
}

// AppendMap appends the header of a map of n entries.
func AppendMap(b []byte, key, elem thriftwire.Type, n, depth int) ([]byte, *diag.Fault) {
	if depth <= 0 {
		return b, TooDeep(len(b))
	}
	if n > math.MaxInt32 {
		return b, tooLong(len(b))
	}
	return thriftwire.AppendMap(b, key, elem, n), nil
}

// KeyString renders a string key for a path.
func KeyString(k string) string { return strconv.Quote(k) }

// KeyInt renders an integer or enum key for a path.
func KeyInt(k int64) string { return strconv.FormatInt(k, 10) }

// KeyDouble renders a double key for a path.
func KeyDouble(k float64) string { return strconv.FormatFloat(k, 'g', -1, 64) }

// KeyBool renders a bool key for a path.
func KeyBool(k bool) string { return strconv.FormatBool(k) }
