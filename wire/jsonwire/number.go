package jsonwire

import (
	"encoding/binary"
	"math"
	"slices"
)

// This file steps over numbers, and reads and writes integers.

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
func ConsumeInt(b []byte, bits int) (int64, int) { return ConsumeIntAt(b, 0, bits) }

// ConsumeIntAt is ConsumeInt of b[i:], but returns the index after the number.
func ConsumeIntAt(b []byte, i, bits int) (v int64, end int) {
	first := i
	neg := i < len(b) && b[i] == '-'
	if neg {
		i++
	}
	start := i
	var u uint64
	if len(b)-i >= 8 {
		if x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0'; eight(x) {
			u = valueOf(x)
			if i += 8; len(b)-i >= 8 {
				if x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0'; eight(x) {
					u = u*block + valueOf(x)
					i += 8
				}
			}
		}
	}
	for ; i < len(b) && digit(b[i]); i++ {
		u = u*10 + uint64(b[i]-'0')
	}
	// Up to 19 digits cannot overflow; what is longer or not a plain integer
	// takes the long way.
	n := i - start
	if n == 0 || n > 19 || (n > 1 && b[start] == '0') || (i < len(b) && (b[i] == '.' || b[i]|0x20 == 'e')) {
		return consumeIntSlow(b, first, bits)
	}
	return signed(u, neg, bits, i)
}

// digits reads the decimal digits from i on as what follows v in a number,
// modulo 1<<64, and returns where they end. It takes eight at a time where it
// can. Then it goes on byte by byte, for the processor guesses how often: a
// length that is computed would have to be waited for.
func digits(b []byte, i int, v uint64) (uint64, int) {
	for len(b)-i >= 8 {
		x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0'
		if !eight(x) {
			break
		}
		v = v*block + valueOf(x)
		i += 8
	}
	for i < len(b) && digit(b[i]) {
		v = v*10 + uint64(b[i]-'0')
		i++
	}
	return v, i
}

// eight reports whether the bytes of x are eight digits, from 0 to 9: they have
// no high half, and none after adding 6.
func eight(x uint64) bool { return (x|(x+ones*6))&(ones*0xf0) == 0 }

// valueOf returns the number whose eight decimal digits, from 0 to 9, stand in
// the bytes of x, the first digit in the lowest.
func valueOf(x uint64) uint64 {
	x = x*10 + x>>8 // pairs of digits, in every other byte
	return (x&0x000000ff000000ff*(100+1000000<<32) + x>>16&0x000000ff000000ff*(1+10000<<32)) >> 32
}

// signed gives v its sign and checks its range; n is where it ends.
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

// consumeIntSlow reads any number at i that has the value of an integer.
func consumeIntSlow(b []byte, i, bits int) (int64, int) {
	n := SkipNumber(b[i:])
	if n < 0 {
		return 0, n
	}
	end := i + n
	b = b[i:end]
	d := split(b)
	if d.count == 0 {
		return 0, end // zero, whatever its exponent
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
	return signed(v, b[0] == '-', bits, end)
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
	n := len(dst)
	if cap(dst)-n < MaxInt {
		dst = roomForInt(dst)
	}
	return dst[:n+PutInt((*[MaxInt]byte)(dst[n:n+MaxInt]), v)]
}

// roomForInt is apart so that AppendInt stays small.
//
//go:noinline
func roomForInt(dst []byte) []byte { return slices.Grow(dst, MaxInt) }

// MaxInt is the room that PutInt takes: a sign and three words of digits.
const MaxInt = 25

// PutInt writes v to the front of b and returns its length. It may write to
// what follows it in b.
func PutInt(b *[MaxInt]byte, v int64) int {
	if v >= 0 {
		return putUint((*[24]byte)(b[:24]), uint64(v))
	}
	b[0] = '-'
	return 1 + putUint((*[24]byte)(b[1:]), -uint64(v))
}

// block is eight digits.
const block = 100000000

// putUint writes the digits of u to the front of b and returns how many there
// are. It may write to what follows them. The length comes from comparisons,
// which the processor guesses; if it came from the digits, all that is written
// next would have to wait for it.
func putUint(b *[24]byte, u uint64) int {
	switch {
	case u < 10:
		b[0] = byte('0' + u)
		return 1
	case u < 100:
		b[0], b[1] = pairs[u*2], pairs[u*2+1]
		return 2
	case u < block:
		return putHead(b, u)
	case u < 100*block: // such as the largest of 32 bits
		q := u / block
		low := eightDigits(u - q*block)
		if q < 10 {
			b[0] = byte('0' + q)
			binary.LittleEndian.PutUint64(b[1:9], low)
			return 9
		}
		b[0], b[1] = pairs[q*2], pairs[q*2+1]
		binary.LittleEndian.PutUint64(b[2:10], low)
		return 10
	case u < block*block:
		return putLong(b, u)
	}
	q := u / block
	head := q / block // at most 1844
	high, low := eightDigits(q-head*block), eightDigits(u-q*block)
	var n int
	switch {
	case head < 10:
		b[0] = byte('0' + head)
		n = 1
	case head < 100:
		b[0], b[1] = pairs[head*2], pairs[head*2+1]
		n = 2
	case head < 1000:
		q := head / 100
		r := (head - q*100) * 2
		b[0], b[1], b[2] = byte('0'+q), pairs[r], pairs[r+1]
		n = 3
	default:
		q := head / 100
		r := (head - q*100) * 2
		b[0], b[1], b[2], b[3] = pairs[q*2], pairs[q*2+1], pairs[r], pairs[r+1]
		n = 4
	}
	rest := (*[16]byte)(b[n : n+16])
	binary.LittleEndian.PutUint64(rest[:8], high)
	binary.LittleEndian.PutUint64(rest[8:], low)
	return n + 16
}

// putLong is putUint for eleven to sixteen digits.
func putLong(b *[24]byte, u uint64) int {
	q := u / block
	n := putHead(b, q)
	binary.LittleEndian.PutUint64(b[n:n+8], eightDigits(u-q*block))
	return n + 8
}

// pairs has the digits of the numbers below 100.
const pairs = "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596979899"

// putHead writes the digits of u, which is below 1e8, without leading zeros.
func putHead(b *[24]byte, u uint64) int {
	switch {
	case u < 10:
		b[0] = byte('0' + u)
		return 1
	case u < 100:
		b[0], b[1] = pairs[u*2], pairs[u*2+1]
		return 2
	case u < 1000:
		q := u / 100
		b[0], b[1], b[2] = byte('0'+q), pairs[(u-q*100)*2], pairs[(u-q*100)*2+1]
		return 3
	case u < 10000:
		q := u / 100
		b[0], b[1], b[2], b[3] = pairs[q*2], pairs[q*2+1], pairs[(u-q*100)*2], pairs[(u-q*100)*2+1]
		return 4
	}
	x := eightDigits(u)
	switch {
	case u < 100000:
		binary.LittleEndian.PutUint64(b[:], x>>24)
		return 5
	case u < 1000000:
		binary.LittleEndian.PutUint64(b[:], x>>16)
		return 6
	case u < 10000000:
		binary.LittleEndian.PutUint64(b[:], x>>8)
		return 7
	}
	binary.LittleEndian.PutUint64(b[:], x)
	return 8
}

// eightDigits returns the decimal digits of u, which is below 1e8, as text in the
// bytes of a word, the first digit in the lowest.
func eightDigits(u uint64) uint64 {
	// Halves of four digits, quarters of two, bytes of one: each step divides
	// in all lanes at once by multiplying with a rounded inverse, and puts the
	// rest a lane higher: q + (u-q*d)<<k is u<<k - q*(d<<k-1).
	q := u * 109951163 >> 40 // by 10000
	u = u<<32 - q*(10000<<32-1)
	q = u * 5243 >> 19 & 0x0000007f0000007f // by 100
	u = u<<16 - q*(100<<16-1)
	q = u * 103 >> 10 & 0x000f000f000f000f // by 10
	return u<<8 - q*(10<<8-1) + ones*'0'
}
