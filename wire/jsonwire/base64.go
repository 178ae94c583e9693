package jsonwire

import (
	"encoding/binary"
	"slices"
)

// This file reads base64, in which JSON carries bytes. encoding/base64 writes it.

// notBase64 marks the bytes outside an alphabet; no value has its bits.
const notBase64 = 0xc0

// looseAlphabet is where the second alphabet stands in sextets.
const looseAlphabet = 256

// sextets has, by byte, the six bits that it stands for: in the standard
// alphabet, then in it and the URL alphabet.
var sextets = func() (t [2 * looseAlphabet]byte) {
	const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
	for i := range t {
		t[i] = notBase64
	}
	for i, c := range []byte(alphabet) {
		t[c], t[looseAlphabet+int(c)] = byte(i), byte(i)
	}
	t[looseAlphabet+'-'], t[looseAlphabet+'_'] = 62, 63
	return t
}()

// sextet looks c up in the alphabet that stands at base.
func sextet(base uint, c byte) byte { return sextets[(base|uint(c))%uint(len(sextets))] }

// AppendUnbase64 appends the bytes that text stands for: in the standard
// alphabet, padded, with no bits left over, or if loose is set in either
// alphabet, padded or not. If text is anything else it returns dst and false.
func AppendUnbase64(dst, text []byte, loose bool) ([]byte, bool) {
	size := len(text)
	for range 2 {
		if size > 0 && text[size-1] == '=' {
			size--
		}
	}
	base := uint(0)
	if loose {
		base = looseAlphabet
	} else if len(text)%4 != 0 {
		return dst, false
	}
	rest := size % 4
	if rest == 1 || rest == 0 && size != len(text) {
		return dst, false
	}
	text = text[:size]
	// Two bytes more than needed, since eight are stored for each six.
	out := slices.Grow(dst, size/4*3+4)
	n := len(dst)
	for ; len(text) >= 8; text = text[8:] {
		b := text[:8]
		s0, s1, s2, s3 := sextet(base, b[0]), sextet(base, b[1]), sextet(base, b[2]), sextet(base, b[3])
		s4, s5, s6, s7 := sextet(base, b[4]), sextet(base, b[5]), sextet(base, b[6]), sextet(base, b[7])
		if (s0|s1|s2|s3|s4|s5|s6|s7)&notBase64 != 0 {
			return dst, false
		}
		v := uint64(s0)<<58 | uint64(s1)<<52 | uint64(s2)<<46 | uint64(s3)<<40 |
			uint64(s4)<<34 | uint64(s5)<<28 | uint64(s6)<<22 | uint64(s7)<<16
		binary.BigEndian.PutUint64(out[n:n+8], v)
		n += 6
	}
	// At most seven are left: one group of four, then two or three.
	out = out[:n]
	var v uint32
	for i, c := range text {
		s := sextet(base, c)
		if s&notBase64 != 0 {
			return dst, false
		}
		if v = v<<6 | uint32(s); i == 3 {
			out = append(out, byte(v>>16), byte(v>>8), byte(v))
			v = 0
		}
	}
	switch rest {
	case 2:
		if !loose && v&0xf != 0 {
			return dst, false
		}
		out = append(out, byte(v>>4))
	case 3:
		if !loose && v&3 != 0 {
			return dst, false
		}
		out = append(out, byte(v>>10), byte(v>>2))
	}
	return out, true
}
