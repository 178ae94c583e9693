package jsonwire

import "math/bits"

// This file reads and writes unsigned integers.

// ConsumeUint reads a number as an unsigned integer of 8, 16, 32 or 64 bits. It
// is exact in the manner of [ConsumeInt]; below zero is ErrRange.
func ConsumeUint(b []byte, width int) (uint64, int) {
	v, n := digits(b, 0, 0)
	// Up to 19 digits cannot overflow; what is longer or not a plain integer
	// takes the long way.
	if n == 0 || n > 19 || (n > 1 && b[0] == '0') || (n < len(b) && (b[n] == '.' || b[n]|0x20 == 'e')) {
		return consumeUintSlow(b, width)
	}
	return unsigned(v, width, n)
}

// unsigned checks the range of v; n is the length read.
func unsigned(v uint64, width, n int) (uint64, int) {
	if width < 64 && v>>width != 0 {
		return 0, ErrRange
	}
	return v, n
}

// consumeUintSlow reads any number that has the value of an unsigned integer.
func consumeUintSlow(b []byte, width int) (uint64, int) {
	n := SkipNumber(b)
	if n < 0 {
		return 0, n
	}
	d := split(b[:n])
	switch {
	case d.count == 0:
		return 0, n // zero, whatever its sign and exponent
	case d.exponent < 0:
		return 0, ErrInteger
	case b[0] == '-' || d.count+d.exponent > 20:
		return 0, ErrRange
	}
	v, fits := uint64(0), true
	next := func(digit uint64) {
		high, low := bits.Mul64(v, 10)
		sum, carry := bits.Add64(low, digit, 0)
		fits = fits && high == 0 && carry == 0
		v = sum
	}
	for _, c := range b[d.first : d.last+1] {
		if c != '.' {
			next(uint64(c - '0'))
		}
	}
	for range d.exponent {
		next(0)
	}
	if !fits {
		return 0, ErrRange
	}
	return unsigned(v, width, n)
}

// AppendUint appends v.
func AppendUint(dst []byte, v uint64) []byte {
	if v < 1<<63 {
		return AppendInt(dst, int64(v))
	}
	// The last digit apart leaves a number that an int64 holds.
	return append(AppendInt(dst, int64(v/10)), byte('0'+v%10))
}
