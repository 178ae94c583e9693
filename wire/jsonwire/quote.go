package jsonwire

import "unicode/utf8"

// This file writes strings.

const hexDigits = "0123456789abcdef"

// escapes has, by byte below 0x60, the letter of its short escape.
var escapes = [0x60]byte{'"': '"', '\\': '\\', '\b': 'b', '\f': 'f', '\n': 'n', '\r': 'r', '\t': 't'}

// AppendQuoted appends text as a JSON string. Only quotes, backslashes and
// control characters are escaped. If text is not UTF-8 it returns dst and false.
func AppendQuoted(dst, text []byte) ([]byte, bool) { return quote(dst, text, false) }

// AppendQuotedLossy is AppendQuoted, but puts U+FFFD for bytes that are not UTF-8.
func AppendQuotedLossy(dst, text []byte) []byte {
	dst, _ = quote(dst, text, true)
	return dst
}

func quote(dst, text []byte, lossy bool) (out []byte, ok bool) {
	out = append(dst, '"')
	for i := 0; ; {
		end, ascii := run(text, i)
		if part := text[i:end]; ascii || utf8.Valid(part) {
			out = append(out, part...)
		} else if lossy {
			out = appendValid(out, part)
		} else {
			return dst, false
		}
		if end == len(text) {
			return append(out, '"'), true
		}
		c := text[end]
		if e := escapes[c]; e != 0 {
			out = append(out, '\\', e)
		} else {
			out = append(out, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		}
		i = end + 1
	}
}
