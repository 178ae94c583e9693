package flatbuffers

import (
	"cmp"
	"math"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds numbers of any type of the schema and of Go.

// number is an integer of 64 bits, signed or not, or a float.
type number struct {
	bits  uint64 // of an integer
	sign  bool   // bits are those of an int64 below zero
	float bool
	f     float64
}

func signed(n int64) number    { return number{bits: uint64(n), sign: n < 0} }
func unsigned(n uint64) number { return number{bits: n} }
func floating(f float64) number {
	return number{float: true, f: f}
}

// numberOf returns a number of Go.
func numberOf(x any) (number, bool) {
	switch x := x.(type) {
	case int:
		return signed(int64(x)), true
	case int8:
		return signed(int64(x)), true
	case int16:
		return signed(int64(x)), true
	case int32:
		return signed(int64(x)), true
	case int64:
		return signed(x), true
	case uint:
		return unsigned(uint64(x)), true
	case uint8:
		return unsigned(uint64(x)), true
	case uint16:
		return unsigned(uint64(x)), true
	case uint32:
		return unsigned(uint64(x)), true
	case uint64:
		return unsigned(x), true
	case float32:
		return floating(float64(x)), true
	case float64:
		return floating(x), true
	}
	return number{}, false
}

// fromBits is the other way than bitsOf.
func fromBits(bits uint64, kind schema.Kind) number {
	switch {
	case kind == schema.Float:
		return floating(float64(math.Float32frombits(uint32(bits))))
	case kind == schema.Double:
		return floating(math.Float64frombits(bits))
	case kind.IsUnsigned() || kind == schema.Bool:
		return unsigned(bits)
	}
	return signed(int64(bits))
}

// value returns n as a float.
func (n number) value() float64 {
	switch {
	case n.float:
		return n.f
	case n.sign:
		return float64(int64(n.bits))
	}
	return float64(n.bits)
}

// compare orders numbers by their value.
func (n number) compare(m number) int {
	switch {
	case n.float || m.float:
		return cmp.Compare(n.value(), m.value())
	case n.sign != m.sign:
		if n.sign {
			return -1
		}
		return 1
	}
	return cmp.Compare(n.bits, m.bits)
}

// bitsOf returns n as a number of that kind in the low bytes of the result. It
// reports false if the kind cannot hold n.
func bitsOf(n number, kind schema.Kind, size int) (uint64, bool) {
	switch {
	case kind == schema.Double:
		return math.Float64bits(n.value()), true
	case kind == schema.Float:
		f := float32(n.value())
		return uint64(math.Float32bits(f)), !math.IsInf(float64(f), 0) || math.IsInf(n.value(), 0)
	case n.float:
		if n.f != math.Trunc(n.f) || n.f < -1<<63 || n.f >= 1<<64 {
			return 0, false
		}
		if n.f < 0 {
			return bitsOf(signed(int64(n.f)), kind, size)
		}
		return bitsOf(unsigned(uint64(n.f)), kind, size)
	case kind == schema.Bool:
		return n.bits, n.bits <= 1
	case kind.IsUnsigned():
		return n.bits, !n.sign && n.bits>>(8*size-1)>>1 == 0
	case n.sign:
		return n.bits, int64(n.bits)>>(8*size-1) == -1
	}
	return n.bits, n.bits>>(8*size-1) == 0
}
