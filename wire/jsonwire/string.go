package jsonwire

import (
	"encoding/binary"
	"math/bits"
	"unicode/utf8"
)

// This file reads strings. Text is scanned a word of eight bytes at a time;
// only bytes that end a run of plain text are looked at one by one.

const (
	ones  = 0x0101010101010101
	highs = 0x8080808080808080
)

// special marks the bytes of x that are a quote, a backslash or a control
// character with their highest bit. Marks above the lowest one may be false,
// because a subtraction borrows; the lowest one is exact.
func special(x uint64) uint64 {
	return ((x - ones*' ') | ((x ^ ones*'"') - ones) | ((x ^ ones*'\\') - ones)) &^ x & highs
}

// plainRun returns the index of the first quote, backslash or control character at
// or after i, len(b) if there is none, and whether all bytes up to it are ASCII.
func plainRun(b []byte, i int) (end int, ascii bool) {
	var seen uint64
	for ; len(b)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(b[i:])
		if m := special(x); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			seen |= x & (1<<n - 1)
			return i + n>>3, seen&highs == 0
		}
		seen |= x
	}
	for ; i < len(b); i++ {
		c := b[i]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		seen |= uint64(c)
	}
	return i, seen&highs == 0
}

// plainCopyRun is copyRun in plain Go.
func plainCopyRun(dst, src []byte, from int) (n int, ascii bool) {
	dst, src = dst[len(dst):cap(dst)], src[from:]
	var seen uint64
	i := 0
	for ; len(src)-i >= 8 && len(dst)-i >= 8; i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		binary.LittleEndian.PutUint64(dst[i:], x)
		if m := special(x); m != 0 {
			n := bits.TrailingZeros64(m) &^ 7
			seen |= x & (1<<n - 1)
			return i + n>>3, seen&highs == 0
		}
		seen |= x
	}
	for ; i < len(src) && i < len(dst); i++ {
		c := src[i]
		if c < ' ' || c == '"' || c == '\\' {
			break
		}
		dst[i] = c
		seen |= uint64(c)
	}
	return i, seen&highs == 0
}

// SkipString returns the length of the string at the front of b, quotes
// included, and whether it holds escapes; if not, b[1:n-1] is its text.
func SkipString(b []byte) (n int, escaped bool) {
	if len(b) == 0 {
		return ErrEOF, false
	}
	if b[0] != '"' {
		return ErrSyntax, false
	}
	for i := 1; ; {
		end, ascii := run(b, i)
		if end == len(b) {
			return ErrEOF, false
		}
		if !ascii && !utf8.Valid(b[i:end]) {
			return ErrUTF8, false
		}
		switch b[end] {
		case '"':
			return end + 1, escaped
		case '\\':
			_, m := consumeEscape(b[end:])
			if m < 0 {
				return max(m, ErrEscape), false
			}
			i, escaped = end+m, true
		default:
			return ErrControl, false
		}
	}
}

// AppendUnquoted appends the text of the string at the front of b to dst. On
// an error dst comes back as it was.
func AppendUnquoted(dst, b []byte) (out []byte, n int) { return AppendUnquotedAt(dst, b, 0) }

// AppendUnquotedAt is AppendUnquoted of b[i:], but returns the index after the string.
func AppendUnquotedAt(dst, b []byte, i int) (out []byte, end int) {
	// Most texts are plain and find room.
	if i < len(b) && b[i] == '"' {
		n, ascii := copyRun(dst, b, i+1)
		if end := i + 1 + n; ascii && n < cap(dst)-len(dst) && end < len(b) && b[end] == '"' {
			return dst[:len(dst)+n], end + 1
		}
	}
	out, n := unquote(dst, b[i:], false)
	if n >= 0 {
		n += i
	}
	return out, n
}

// AppendUnquotedLossy is AppendUnquoted, but puts U+FFFD for bytes that are
// not UTF-8 and for halves of surrogate pairs.
func AppendUnquotedLossy(dst, b []byte) (out []byte, n int) { return unquote(dst, b, true) }

func unquote(dst, b []byte, lossy bool) (out []byte, n int) {
	if len(b) == 0 {
		return dst, ErrEOF
	}
	if b[0] != '"' {
		return dst, ErrSyntax
	}
	out = dst
	for i := 1; ; {
		room := out[len(out):cap(out)]
		n, ascii := copyRun(out, b, i)
		end := i + n
		if n == len(room) { // perhaps not the whole run
			end, ascii = run(b, i)
		}
		if end == len(b) {
			return dst, ErrEOF
		}
		if text := b[i:end]; ascii || utf8.Valid(text) {
			if n < len(room) {
				out = out[:len(out)+n]
			} else {
				out = append(out, text...)
			}
		} else if lossy {
			out = appendValid(out, text)
		} else {
			return dst, ErrUTF8
		}
		switch b[end] {
		case '"':
			return out, end + 1
		case '\\':
			r, m := consumeEscape(b[end:])
			if m == errSurrogate && lossy {
				r, m = utf8.RuneError, 6
			}
			if m < 0 {
				return dst, max(m, ErrEscape)
			}
			out = utf8.AppendRune(out, r)
			i = end + m
		default:
			return dst, ErrControl
		}
	}
}

// appendValid appends text with each byte that is not part of UTF-8 replaced.
func appendValid(dst, text []byte) []byte {
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		dst = utf8.AppendRune(dst, r)
		text = text[n:]
	}
	return dst
}

// unescaped has, by the byte after a backslash, the byte that it stands for.
var unescaped = [256]byte{
	'"': '"', '\\': '\\', '/': '/', 'b': '\b', 'f': '\f', 'n': '\n', 'r': '\r', 't': '\t',
}

// errSurrogate is consumeEscape's result for half a surrogate pair, which the
// lossy readers replace; everyone else sees ErrEscape.
const errSurrogate = ErrDepth - 1

// consumeEscape reads the escape at the front of b, which is a backslash.
func consumeEscape(b []byte) (rune, int) {
	if len(b) < 2 {
		return 0, ErrEOF
	}
	if c := unescaped[b[1]]; c != 0 {
		return rune(c), 2
	}
	if b[1] != 'u' {
		return 0, ErrEscape
	}
	r, n := consumeHex4(b[2:])
	if n < 0 {
		return 0, n
	}
	if r < 0xd800 || r > 0xdfff {
		return r, 6
	}
	if r > 0xdbff || len(b) < 8 || b[6] != '\\' || b[7] != 'u' {
		return 0, errSurrogate
	}
	low, n := consumeHex4(b[8:])
	if n < 0 {
		return 0, n
	}
	if low < 0xdc00 || low > 0xdfff {
		return 0, errSurrogate
	}
	return (r-0xd800)<<10 + (low - 0xdc00) + 0x10000, 12
}

func consumeHex4(b []byte) (rune, int) {
	var r rune
	for i := range 4 {
		if i == len(b) {
			return 0, ErrEOF
		}
		c := b[i]
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, ErrEscape
		}
		r = r<<4 | rune(c)
	}
	return r, 4
}
