package jsonwire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"slices"
	"strconv"
)

// This file writes floats: those of 64 bits by the method of Giulietti ("The
// Schubfach way to render doubles"), those of 32 bits by strconv.

// AppendFloat appends the shortest number that reads back as v, which is a
// float of 32 or 64 bits and must be finite. The form is that of ECMAScript: an exponent
// is used below 1e-6 and from 1e21 on.
func AppendFloat(dst []byte, v float64, bits int) []byte {
	if bits != 64 {
		if i := int64(v); math.Abs(v) < 1<<24 && float64(i) == v && (i != 0 || !math.Signbit(v)) {
			return AppendInt(dst, i)
		}
		return appendFloatSlow(dst, v, bits)
	}
	n := len(dst)
	if cap(dst)-n < MaxFloat {
		dst = slices.Grow(dst, MaxFloat)
	}
	return dst[:n+PutFloat((*[MaxFloat]byte)(dst[n:n+MaxFloat]), v)]
}

// MaxFloat is the room that PutFloat takes.
const MaxFloat = 48

// PutFloat is AppendFloat for 64 bits: it writes v to the front of b and returns
// its length. It may write to what follows it in b.
func PutFloat(b *[MaxFloat]byte, v float64) int {
	if math.Abs(v) < 1<<53 {
		if i := int64(v); float64(i) == v {
			if i == 0 && math.Signbit(v) {
				b[0], b[1] = '-', '0'
				return 2
			}
			return PutInt((*[MaxInt]byte)(b[:MaxInt]), i)
		}
	}
	m, exp := shortest(math.Float64bits(v) &^ (1 << 63))
	if v >= 0 {
		return putDecimal((*[maxDecimal]byte)(b[:maxDecimal]), m, exp)
	}
	b[0] = '-'
	return 1 + putDecimal((*[maxDecimal]byte)(b[1:]), m, exp)
}

// appendFloatSlow is AppendFloat for both sizes.
func appendFloatSlow(dst []byte, v float64, bits int) []byte {
	abs := math.Abs(v)
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

// shortest returns the shortest decimal m times ten to the exp in the interval
// of numbers that round to v, the nearest to v of several; v is the bits of a
// positive finite float64. m has at most 17 digits and may end with zeros.
func shortest(v uint64) (m uint64, exp int) {
	fraction, e := v&(1<<mantissaBits-1), int(v>>mantissaBits)
	c, q := fraction, 1-exponentBias-mantissaBits
	if e != 0 {
		c, q = fraction|1<<mantissaBits, e-exponentBias-mantissaBits
	}
	// The interval is [4c-2, 4c+2], or [4c-1, 4c+2] above a power of two, times
	// 2^(q-2); its ends belong to it if c is even. k is such that it holds one
	// or more multiples of 10^k, but at most one of 10^(k+1).
	below, closer := 4*c-2, 0
	if fraction == 0 && e > 1 {
		below, closer = 4*c-1, 524031 // log10(4/3) times 2^22
	}
	k := (q*1262611 - closer) >> 22 // 1262611/2^22 is log10(2)
	h := uint(q+(-k*1741647)>>19+1) & 63
	// As two words: an array would be written to memory by halves and then read
	// as a whole, which has to wait.
	hi, lo := powers[-k-minPower][0], powers[-k-minPower][1]
	if k > 27 || k < -55 { // where the table is neither exact nor rounded up
		var carry uint64
		lo, carry = bits.Add64(lo, 1, 0)
		hi += carry
	}
	lower, at, upper := timesPower(hi, lo, below<<h), timesPower(hi, lo, 4*c<<h), timesPower(hi, lo, (4*c+2)<<h)
	odd := c & 1
	lower, upper = lower+odd, upper-odd
	s := at / 4
	if s >= 10 {
		ten := s / 10
		down, up := lower <= 40*ten, 40*ten+40 <= upper
		if down != up {
			if up {
				ten++
			}
			return ten, k + 1
		}
	}
	down, up := lower <= 4*s, 4*s+4 <= upper
	if down == up { // both or none: to the nearest, the even one of two
		up = at > 4*s+2 || at == 4*s+2 && s&1 != 0
	}
	if up {
		s++
	}
	return s, k
}

// timesPower returns the upper third of the product of a number of 128 bits and
// c. The lowest bit is set if anything but zeros is cut off.
func timesPower(hi, lo, c uint64) uint64 {
	low, _ := bits.Mul64(lo, c)
	top, mid := bits.Mul64(hi, c)
	mid, carry := bits.Add64(mid, low, 0)
	top += carry
	if mid > 1 {
		top |= 1
	}
	return top
}

// maxDecimal is the room that putDecimal takes.
const maxDecimal = MaxFloat - 1

// putDecimal writes m, which is not 0, times ten to the exp to the front of b and
// returns the length.
func putDecimal(b *[maxDecimal]byte, m uint64, exp int) int {
	// The digits stand from the second byte on, so that there is room for a
	// point before the last of them.
	n := putUint((*[24]byte)(b[1:25]), m)
	point := n + exp // how many digits stand before the point
	if n > 8 && binary.LittleEndian.Uint64(b[n-7:]) == ones*'0' {
		n -= 8
	}
	for b[n] == '0' {
		n--
	}
	switch {
	case point > 21 || point < -5:
		return putExponent(b, n, point-1)
	case point <= 0:
		const zeros = "0.00000"
		lead := 2 - point
		copy(b[lead:], b[1:n+1])
		copy(b[:lead], zeros)
		return lead + n
	case point < n:
		copy(b[:], b[1:point+1])
		b[point] = '.'
		return n + 1
	}
	copy(b[:], b[1:n+1])
	for ; n < point; n++ {
		b[n] = '0'
	}
	return n
}

// putExponent makes a number with an exponent of the n digits that stand from
// the second byte of b on.
func putExponent(b *[maxDecimal]byte, n, exp int) int {
	b[0] = b[1]
	if n > 1 {
		b[1] = '.'
		n++
	}
	b[n] = 'e'
	b[n+1] = '+'
	if exp < 0 {
		b[n+1] = '-'
		exp = -exp
	}
	return n + 2 + putHead((*[24]byte)(b[n+2:n+26]), uint64(exp))
}
