package jsonwire

import (
	"encoding/binary"
	"slices"
)

// This file reads and writes base64, in which JSON carries bytes.

// notBase64 marks the bytes outside an alphabet; no value has its bits.
const notBase64 = 0xc0

// looseAlphabet is where the second alphabet stands in sextets.
const looseAlphabet = 256

// sextets has, by byte, the six bits that it stands for: in the standard
// alphabet, then in it and the URL alphabet.
var sextets = func() (t [2 * looseAlphabet]byte) {
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
	// Four bytes more than needed, since the groups are stored as more.
	out := slices.Grow(dst, size/4*3+6)
	n := len(dst)
	if m := decodeSome(out[n:cap(out)], text); m > 0 {
		text = text[m:]
		n += m / 4 * 3
	}
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
	if len(text) >= 4 {
		s0, s1, s2, s3 := sextet(base, text[0]), sextet(base, text[1]), sextet(base, text[2]), sextet(base, text[3])
		if (s0|s1|s2|s3)&notBase64 != 0 {
			return dst, false
		}
		binary.BigEndian.PutUint32(out[n:n+4], uint32(s0)<<26|uint32(s1)<<20|uint32(s2)<<14|uint32(s3)<<8)
		n += 3
		text = text[4:]
	}
	out = out[:n]
	if rest == 0 {
		return out, true
	}
	s0, s1, s2 := sextet(base, text[0]), sextet(base, text[1]), byte(0)
	if rest == 3 {
		s2 = sextet(base, text[2])
	}
	v := uint32(s0)<<12 | uint32(s1)<<6 | uint32(s2)
	over := uint32(0x3ff) // the bits that belong to no byte
	if rest == 3 {
		over = 3
	}
	if (s0|s1|s2)&notBase64 != 0 || !loose && v&over != 0 {
		return dst, false
	}
	if out = append(out, byte(v>>10)); rest == 3 {
		out = append(out, byte(v>>2))
	}
	return out, true
}

// ConsumeBase64At reads the string in b at i as AppendUnbase64 reads its text,
// and returns the index after it. It returns dst and 0 if there is no string, if
// it holds escapes, or if it is no base64.
func ConsumeBase64At(dst, b []byte, i int, loose bool) (out []byte, end int) {
	if i >= len(b) || b[i] != '"' {
		return dst, 0
	}
	if end, _ = run(b, i+1); end == len(b) || b[end] != '"' {
		return dst, 0
	}
	out, ok := AppendUnbase64(dst, b[i+1:end], loose)
	if !ok {
		return dst, 0
	}
	return out, end + 1
}

// alphabet is the standard one.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

// AppendBase64 appends b in the standard alphabet with padding, without quotes.
func AppendBase64(dst, b []byte) []byte {
	n := len(dst)
	out := slices.Grow(dst, len(b)/3*4+4)
	m := encodeSome(out[n:cap(out)], b)
	out = out[:n+m/3*4]
	for b = b[m:]; len(b) >= 3; b = b[3:] {
		v := uint32(b[0])<<16 | uint32(b[1])<<8 | uint32(b[2])
		out = append(out, alphabet[v>>18], alphabet[v>>12&63], alphabet[v>>6&63], alphabet[v&63])
	}
	switch len(b) {
	case 1:
		return append(out, alphabet[b[0]>>2], alphabet[b[0]<<4&63], '=', '=')
	case 2:
		return append(out, alphabet[b[0]>>2], alphabet[b[0]<<4&63|b[1]>>4], alphabet[b[1]<<2&63], '=')
	}
	return out
}
