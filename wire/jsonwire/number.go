package jsonwire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// This file reads integers, steps over numbers and writes both kinds.

func digit(c byte) bool { return c-'0' <= 9 }

// SkipNumber returns the length of the number at the front of b. What follows
// it is not looked at, but for bytes that would belong to it.
func SkipNumber(b []byte) int {
	i := 0
	if i < len(b) && b[i] == '-' {
		i++
	}
	switch {
	case i == len(b):
		return ErrEOF
	case b[i] == '0':
		if i++; i < len(b) && digit(b[i]) {
			return ErrNumber
		}
	case digit(b[i]):
		i = skipDigits(b, i)
	case i > 0:
		return ErrNumber
	default:
		return ErrSyntax
	}
	if i < len(b) && b[i] == '.' {
		j := skipDigits(b, i+1)
		if j == i+1 {
			return missingDigit(b, j)
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		if i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		j := skipDigits(b, i)
		if j == i {
			return missingDigit(b, j)
		}
		i = j
	}
	return i
}

func skipDigits(b []byte, i int) int {
	for i < len(b) && digit(b[i]) {
		i++
	}
	return i
}

func missingDigit(b []byte, i int) int {
	if i == len(b) {
		return ErrEOF
	}
	return ErrNumber
}

// ConsumeInt reads a number as a signed integer of 8, 16, 32 or 64 bits. It is
// exact: 1.0 and 1e3 are integers, 1.5 is ErrInteger, what the type cannot
// hold is ErrRange.
func ConsumeInt(b []byte, bits int) (int64, int) {
	start := 0
	neg := len(b) > 0 && b[0] == '-'
	if neg {
		start = 1
	}
	v, i := digits(b, start, 0)
	// Up to 19 digits cannot overflow; what is longer or not a plain integer
	// takes the long way.
	n := i - start
	if n == 0 || n > 19 || (n > 1 && b[start] == '0') || (i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e')) {
		return consumeIntSlow(b, bits)
	}
	return signed(v, neg, bits, i)
}

// digits reads the decimal digits from i on as what follows v in a number,
// modulo 1<<64, and returns where they end. It takes eight at a time where it can.
func digits(b []byte, i int, v uint64) (uint64, int) {
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0'
		// A digit is a byte from 0 to 9 now: no high half, and none after adding 6.
		if (x|(x+ones*6))&(ones*0xf0) != 0 {
			break
		}
		x = x*10 + x>>8 // pairs of digits, in every other byte
		x = (x&0x000000ff000000ff*(100+1000000<<32) + x>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
		v = v*100000000 + x
		i += 8
	}
	for i < len(b) && digit(b[i]) {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	return v, i
}

// signed gives v its sign and checks its range; n is the length read.
func signed(v uint64, neg bool, bits, n int) (int64, int) {
	limit := uint64(1) << (bits - 1)
	if neg {
		if v > limit {
			return 0, ErrRange
		}
		return -int64(v), n
	}
	if v >= limit {
		return 0, ErrRange
	}
	return int64(v), n
}

// consumeIntSlow reads any number that has the value of an integer.
func consumeIntSlow(b []byte, bits int) (int64, int) {
	n := SkipNumber(b)
	if n < 0 {
		return 0, n
	}
	d := split(b[:n])
	if d.count == 0 {
		return 0, n // zero, whatever its exponent
	}
	if d.exponent < 0 {
		return 0, ErrInteger
	}
	if d.count+d.exponent > 19 {
		return 0, ErrRange
	}
	var v uint64
	for _, c := range b[d.first : d.last+1] {
		if c != '.' {
			v = v*10 + uint64(c-'0')
		}
	}
	for range d.exponent {
		v *= 10
	}
	return signed(v, b[0] == '-', bits, n)
}

// decimal is a number as the digits from first to last, which may hold a point
// that does not count, times ten to the exponent. Neither the first nor the
// last digit is zero; count is the number of digits, 0 for the number zero.
type decimal struct{ first, last, count, exponent int }

// maxExponent bounds what split makes of an exponent, so that sums of it and
// of lengths cannot overflow. No length reaches it.
const maxExponent = math.MaxInt32 / 2

// split takes a number of valid grammar apart.
func split(b []byte) decimal {
	d := decimal{first: -1}
	point := -1
	end := len(b)
	exp := 0
	for i, c := range b {
		switch {
		case digit(c):
			if c != '0' {
				if d.first < 0 {
					d.first = i
				}
				d.last = i
			}
		case c == '.':
			point = i
		case c|0x20 == 'e':
			end = i
			exp = exponent(b[i+1:])
		}
		if end < len(b) {
			break
		}
	}
	if d.first < 0 {
		return decimal{}
	}
	if point < 0 {
		point = end
	}
	d.count = d.last - d.first + 1
	if d.first < point && point < d.last {
		d.count--
	}
	// The place of the last digit: 0 just before the point, -1 just after it.
	place := point - 1 - d.last
	if d.last > point {
		place = point - d.last
	}
	d.exponent = exp + place
	return d
}

// exponent reads an exponent of valid grammar, limited to maxExponent.
func exponent(b []byte) int {
	neg := b[0] == '-'
	e := 0
	for _, c := range b {
		if digit(c) {
			e = min(e*10+int(c-'0'), maxExponent)
		}
	}
	if neg {
		return -e
	}
	return e
}

// AppendInt appends v.
func AppendInt(dst []byte, v int64) []byte {
	u := uint64(v)
	if v < 0 {
		dst = append(dst, '-')
		u = -u
	}
	if u < 10 {
		return append(dst, byte('0'+u))
	}
	const block = 100000000 // eight digits
	n := len(dst)
	b := slices.Grow(dst, 24)[:n+24]
	var rest [2]uint64 // blocks after the first, the last one first
	blocks := 0
	for u >= block {
		rest[blocks] = u % block
		u /= block
		blocks++
	}
	// The first block without its leading zeros, the others whole.
	x := eightDigits(u)
	zeros := bits.TrailingZeros64(x) &^ 7
	binary.LittleEndian.PutUint64(b[n:], (x|ones*'0')>>zeros)
	n += 8 - zeros>>3
	for blocks > 0 {
		blocks--
		binary.LittleEndian.PutUint64(b[n:], eightDigits(rest[blocks])|ones*'0')
		n += 8
	}
	return b[:n]
}

// eightDigits returns the decimal digits of u, which is below 1e8, in the
// bytes of a word, the first digit in the lowest.
func eightDigits(u uint64) uint64 {
	// Halves of four digits, quarters of two, bytes of one: each step divides
	// in all lanes at once by multiplying with a rounded inverse.
	u = u/10000 | u%10000<<32
	q := u * 5243 >> 19 & 0x0000007f0000007f // by 100
	u = q | (u-q*100)<<16
	q = u * 103 >> 10 & 0x000f000f000f000f // by 10
	return q | (u-q*10)<<8
}

// AppendFloat appends the shortest number that reads back as v, which is a
// float of 32 or 64 bits and must be finite. The form is that of ECMAScript: an exponent
// is used below 1e-6 and from 1e21 on.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	abs := math.Abs(v)
	if abs < 1e15 && v == math.Trunc(v) && (v != 0 || !math.Signbit(v)) && (bits == 64 || abs < 1<<24) {
		return AppendInt(dst, int64(v))
	}
	if abs != 0 && (bits == 64 && (abs < 1e-6 || abs >= 1e21) || bits == 32 && (float32(abs) < 1e-6 || float32(abs) >= 1e21)) {
		dst = strconv.AppendFloat(dst, v, 'e', -1, bits)
		// strconv writes at least two digits of exponent: e-09 becomes e-9.
		if n := len(dst); n >= 4 && dst[n-4] == 'e' && dst[n-2] == '0' {
			dst[n-2] = dst[n-1]
			dst = dst[:n-1]
		}
		return dst
	}
	return strconv.AppendFloat(dst, v, 'f', -1, bits)
}
