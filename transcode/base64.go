package transcode

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"

	"github.com/thrum-rpc/thrum/diag"
)

// This file holds the text forms of binary and uuid.

// parseBase64 appends the length and bytes that text denotes.
func (r *fromJSON) parseBase64(dst, text []byte, p int) ([]byte, bool) {
	enc := base64.StdEncoding.Strict()
	if r.conv.opts.looseBase64 {
		enc = base64.RawStdEncoding
		if bytes.ContainsAny(text, "-_") {
			enc = base64.RawURLEncoding
		}
		text = bytes.TrimRight(text, "=")
	}
	head := len(dst)
	dst = append(dst, 0, 0, 0, 0)
	// The decoder of the standard library steps over line ends; JSON's base64 has none.
	out, err := enc.AppendDecode(dst, text)
	if err != nil || bytes.ContainsAny(text, "\r\n") {
		detail := "invalid base64"
		if !r.conv.opts.looseBase64 {
			detail += "; the standard alphabet with padding is expected"
		}
		r.fail(diag.InvalidData, p, detail)
		return dst[:head], false
	}
	binary.BigEndian.PutUint32(out[head:], uint32(len(out)-head-4))
	return out, true
}

// uuidDash reports whether a dash stands at i in a uuid's text.
func uuidDash(i int) bool { return i == 8 || i == 13 || i == 18 || i == 23 }

// parseUUID reads the canonical form, in either case.
func parseUUID(text []byte) (v [16]byte, ok bool) {
	if len(text) != 36 {
		return v, false
	}
	n := 0
	for i, c := range text {
		if uuidDash(i) {
			if c != '-' {
				return v, false
			}
			continue
		}
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return v, false
		}
		v[n/2] = v[n/2]<<4 | c
		n++
	}
	return v, true
}

// appendUUID appends the canonical form, in lower case.
func appendUUID(dst []byte, v [16]byte) []byte {
	const digits = "0123456789abcdef"
	for i, b := range v {
		if i == 4 || i == 6 || i == 8 || i == 10 {
			dst = append(dst, '-')
		}
		dst = append(dst, digits[b>>4], digits[b&15])
	}
	return dst
}
