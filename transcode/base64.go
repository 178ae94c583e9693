package transcode

import (
	"encoding/binary"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file holds the text forms of binary and uuid.

// parseBase64 appends the length and bytes that text denotes.
func (r *fromJSON) parseBase64(dst, text []byte, p int) ([]byte, bool) {
	head := len(dst)
	out, ok := jsonwire.AppendUnbase64(append(dst, 0, 0, 0, 0), text, r.conv.opts.looseBase64)
	if !ok {
		detail := "invalid base64"
		if !r.conv.opts.looseBase64 {
			detail += "; the standard alphabet with padding is expected"
		}
		r.fail(diag.InvalidData, p, detail)
		return dst, false
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
