package jsonwire

import (
	"slices"
	"unicode/utf8"
)

// This file writes strings.

const hexDigits = "0123456789abcdef"

// escapes has, by byte below 0x60, the letter of its short escape.
var escapes = [0x60]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendQuoted appends text as a JSON string. Only quotes, backslashes and
// control characters are escaped. If text is not UTF-8 it returns dst and false.
func AppendQuoted(dst, text []byte) ([]byte, bool) {
	// Most texts are plain.
	n := len(dst)
	end := n + len(text) + 2
	if end > cap(dst) {
		dst = slices.Grow(dst, len(text)+2)
	}
	out := dst[:end]
	if m, ascii := copyRun(dst[:n+1], text, 0); ascii && m == len(text) {
		out[n], out[end-1] = '"', '"'
		return out, true
	}
	return quote(dst, text, false)
}

// AppendQuotedLossy is AppendQuoted, but puts U+FFFD for bytes that are not UTF-8.
func AppendQuotedLossy(dst, text []byte) []byte {
	dst, _ = quote(dst, text, true)
	return dst
}

func quote(dst, text []byte, lossy bool) (out []byte, ok bool) {
	out = append(slices.Grow(dst, len(text)+2), '"')
	for {
		n, ascii := copyRun(out, text, 0)
		if part := text[:n]; ascii || utf8.Valid(part) {
			out = out[:len(out)+n]
		} else if lossy {
			out = appendValid(out, part)
		} else {
			return dst, false
		}
		if n == len(text) {
			return append(out, '"'), true
		}
		c := text[n]
		text = text[n+1:]
		out = slices.Grow(out, len(text)+7)
		if e := escapes[c]; e != 0 {
			out = append(out, '\\', e)
		} else {
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
	}
}
