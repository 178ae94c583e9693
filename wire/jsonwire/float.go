package jsonwire

import (
	"encoding/binary"
	"math"
	"math/bits"
	"strconv"
)

// This file reads floats: exactly and without loops for up to 19 digits, by
// the method of Eisel and Lemire as completed by Mushtak and Lemire ("Fast
// number parsing without fallback"), else by strconv.

// ConsumeFloat reads a number as the nearest float of 32 or 64 bits. What
// would become infinite is ErrRange; what is too small becomes zero.
func ConsumeFloat(b []byte, bits int) (float64, int) { return ConsumeFloatAt(b, 0, bits) }

// ConsumeFloatAt is ConsumeFloat of b[i:], but returns the index after the number.
func ConsumeFloatAt(b []byte, i, bits int) (v float64, end int) {
	first := i
	neg := i < len(b) && b[i] == '-'
	if neg {
		i++
	}
	start := i
	var m uint64
	if len(b)-i >= 8 && eight(binary.LittleEndian.Uint64(b[i:])^ones*'0') {
		m, i = digits(b, i, 0)
	} else {
		for ; i < len(b) && digit(b[i]); i++ {
			m = m*10 + uint64(b[i]-'0')
		}
	}
	n := i - start
	if n == 0 || n > 1 && b[start] == '0' {
		return consumeFloatSlow(b, first, bits)
	}
	exp := 0
	if i < len(b) && b[i] == '.' {
		i++
		point := i
		for range 2 {
			if len(b)-i < 8 {
				break
			}
			x := binary.LittleEndian.Uint64(b[i:]) ^ ones*'0'
			if !eight(x) {
				break
			}
			m = m*block + valueOf(x)
			i += 8
		}
		for ; i < len(b) && digit(b[i]); i++ {
			m = m*10 + uint64(b[i]-'0')
		}
		exp = point - i
		if n -= exp; exp == 0 {
			return consumeFloatSlow(b, first, bits)
		}
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		i++
		minus := i < len(b) && b[i] == '-'
		if minus || i < len(b) && b[i] == '+' {
			i++
		}
		e, from := 0, i
		for ; i < len(b) && digit(b[i]) && i < from+6; i++ {
			e = e*10 + int(b[i]-'0')
		}
		if i == from || i == from+6 {
			return consumeFloatSlow(b, first, bits)
		}
		if minus {
			e = -e
		}
		exp += e
	}
	if b[start] == '0' {
		n-- // the zero before the point is no digit that counts
	}
	if n > 19 || bits != 64 {
		return consumeFloatSlow(b, first, bits) // the grammar is checked, but digits were lost
	}
	v = decimalToFloat(m, exp)
	if v > math.MaxFloat64 {
		return 0, ErrRange
	}
	if neg {
		v = -v
	}
	return v, i
}

// consumeFloatSlow reads any number at i.
func consumeFloatSlow(b []byte, i, bits int) (float64, int) {
	n := SkipNumber(b[i:])
	if n < 0 {
		return 0, n
	}
	v, err := strconv.ParseFloat(string(b[i:i+n]), bits)
	if err != nil {
		return 0, ErrRange
	}
	return v, i + n
}

// exactPowers are the powers of ten that a float64 holds exactly.
var exactPowers = [...]float64{
	1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11,
	1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22,
}

const (
	minPower     = -342 // below, 19 digits are less than half the least float
	maxPower     = 324  // to write the least float; reading needs 308
	mantissaBits = 52
	exponentBias = 1023
)

// decimalToFloat returns the float64 nearest to m times ten to the exp, the
// even one of two.
func decimalToFloat(m uint64, exp int) float64 {
	if m>>(mantissaBits+1) == 0 && -22 <= exp && exp <= 22 {
		// Both numbers are exact, so one operation rounds correctly.
		if exp < 0 {
			return float64(m) / exactPowers[-exp]
		}
		return float64(m) * exactPowers[exp]
	}
	if m == 0 || exp < minPower {
		return 0
	}
	if exp > maxPower {
		return math.Inf(1)
	}
	zeros := bits.LeadingZeros64(m)
	m <<= zeros
	hi, lo := bits.Mul64(m, powers[exp-minPower][0])
	// Two bits more than the mantissa are kept, one for the place of the first
	// bit, one to round. Where the bits below are all ones, the product with
	// the low half of the power may carry into them.
	const below = 64 - mantissaBits - 3
	if hi&(1<<below-1) == 1<<below-1 {
		carry, _ := bits.Mul64(m, powers[exp-minPower][1])
		if lo += carry; lo < carry {
			hi++
		}
	}
	first := int(hi >> 63)
	shift := first + below
	v := hi >> shift
	// 217706/65536 is log2(10) for every exponent of the table.
	e := 217706*exp>>16 + 63 + first - zeros + exponentBias
	if e <= 0 { // subnormal
		v >>= uint(1 - e)
		v += v & 1
		return math.Float64frombits(v >> 1) // a carry into the exponent gives the least normal number
	}
	if lo <= 1 && -4 <= exp && exp <= 23 && v&3 == 1 && v<<shift == hi {
		v &^= 1 // exactly between two: to the even one
	}
	v += v & 1
	if v >>= 1; v == 2<<mantissaBits {
		v >>= 1
		e++
	}
	if e >= 2*exponentBias+1 {
		return math.Inf(1)
	}
	return math.Float64frombits(v&(1<<mantissaBits-1) | uint64(e)<<mantissaBits)
}
