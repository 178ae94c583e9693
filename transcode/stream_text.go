package transcode

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"math"
	"unicode/utf8"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file converts strings and binaries that exceed the window, part by part.

// text writes the string or binary at p.
func (s *jsonStream) text(t *typ) bool {
	at := s.offset(s.p)
	if !s.ensure(4) {
		return s.whole(t) == done // which says that it is cut
	}
	size := int(int32(binary.BigEndian.Uint32(s.src.visible()[s.p:])))
	if size < 0 || size <= s.opts.window/2 {
		s.ensure(4 + size)
		return s.whole(t) == done
	}
	s.p += 4
	s.out.buf = append(s.out.buf, '"')
	encoded := t.kind == schema.Binary && !s.conv.opts.rawBinary
	for size > 0 {
		part := s.src.visible()[s.p:]
		part = part[:min(size, len(part))]
		if len(part) < size && encoded {
			part = part[:len(part)/3*3]
		} else if len(part) < size {
			part = wholeRunes(part)
		}
		if len(part) == 0 {
			if !s.more() {
				s.w.wireError(thriftwire.ErrEOF, s.p)
				return s.failedAt(at)
			}
			continue
		}
		if encoded {
			s.out.buf = base64.StdEncoding.AppendEncode(s.out.buf, part)
		} else if !s.quote(part) {
			return s.fail(diag.InvalidData, at, "the "+t.kind.String()+" is not UTF-8")
		}
		s.p += len(part)
		size -= len(part)
		if !s.written() {
			return false
		}
	}
	s.out.buf = append(s.out.buf, '"')
	return true
}

// quote appends text as the inside of a JSON string.
func (s *jsonStream) quote(text []byte) bool {
	from := len(s.out.buf)
	dst, ok := s.out.buf, true
	if s.conv.opts.lossyText {
		dst = jsonwire.AppendQuotedLossy(dst, text)
	} else if dst, ok = jsonwire.AppendQuoted(dst, text); !ok {
		return false
	}
	n := copy(dst[from:], dst[from+1:len(dst)-1])
	s.out.buf = dst[:from+n]
	return true
}

// wholeRunes cuts b where a character begins that more bytes may complete.
func wholeRunes(b []byte) []byte {
	for i := len(b) - 1; i >= max(0, len(b)-utf8.UTFMax+1); i-- {
		if utf8.RuneStart(b[i]) {
			if !utf8.FullRune(b[i:]) {
				return b[:i]
			}
			break
		}
	}
	return b
}

// text reads the string at p as a string or binary.
func (s *thriftStream) text(t *typ) bool {
	if s.stringEnd(s.opts.window/2) > 0 || s.src.done() {
		return s.read(s.src.visible(), t) == done
	}
	at, head := s.offset(s.p), s.out.offset()
	s.out.buf = append(s.out.buf, 0, 0, 0, 0)
	s.p++
	encoded := t.kind == schema.Binary && !s.conv.opts.rawBinary
	s.encoded = s.encoded[:0]
	for closed := false; !closed; {
		var part []byte
		if part, closed = s.stringPart(); part == nil {
			s.r.jsonError(s.unquoteFault(), s.p)
			return s.failedAt(at)
		}
		s.p += len(part)
		dst := &s.out.buf
		if encoded {
			dst = &s.encoded
		}
		var n int
		if *dst, n = s.unquote(*dst, part); n < 0 {
			s.r.jsonError(n, s.p)
			return s.failedAt(at)
		}
		if encoded && !s.decode(closed) {
			return s.fail(diag.InvalidData, at, "invalid base64")
		}
		if !s.written() {
			return false
		}
	}
	s.p++ // the quote
	size := s.out.offset() - head - 4
	if size > math.MaxInt32 {
		return s.fail(diag.SizeLimit, at, "the string exceeds 2 GiB - 1, the longest that Thrift has")
	}
	return s.out.patch(head, uint32(size))
}

// stringPart returns what follows in the window of the string's inside, without
// a character or escape that is cut, and whether the string ends behind it. It
// is nil if the input ends before.
func (s *thriftStream) stringPart() (part []byte, closed bool) {
	for {
		in := s.src.visible()[s.p:]
		if n, closed := cutString(in); n > 0 || closed {
			return in[:n], closed
		}
		if !s.more() {
			return nil, false
		}
	}
}

// unquoteFault returns the negative result for the rest of a string that does not end.
func (s *thriftStream) unquoteFault() int {
	s.quoted = append(append(s.quoted[:0], '"'), s.src.visible()[s.p:]...)
	_, n := jsonwire.AppendUnquoted(nil, s.quoted)
	return n
}

// unquote appends what a part of a string's inside means.
func (s *thriftStream) unquote(dst, part []byte) ([]byte, int) {
	s.quoted = append(append(append(s.quoted[:0], '"'), part...), '"')
	out, n := jsonwire.AppendUnquoted(dst, s.quoted)
	if n < 0 && s.conv.opts.lossyText {
		return jsonwire.AppendUnquotedLossy(dst, s.quoted)
	}
	return out, n
}

// decode appends the bytes that the gathered base64 stands for. Unless last is
// set, some are left: the padding is within the last two characters.
func (s *thriftStream) decode(last bool) bool {
	n := len(s.encoded)
	if !last {
		n = max(0, n-3) / 4 * 4
	}
	text := s.encoded[:n]
	if !last && bytes.IndexByte(text, '=') >= 0 {
		return false
	}
	var ok bool
	if s.out.buf, ok = jsonwire.AppendUnbase64(s.out.buf, text, s.conv.opts.looseBase64); ok {
		s.encoded = append(s.encoded[:0], s.encoded[n:]...)
	}
	return ok
}

// cutString returns how many bytes of a string's inside can be read on their
// own: up to the quote that closes it, or to a character or escape that more
// bytes may complete.
func cutString(b []byte) (n int, closed bool) {
	plain := 0 // where the characters begin that are not escaped
	for i := 0; i < len(b); {
		switch b[i] {
		case '"':
			return i, true
		case '\\':
			size := escapeSize(b[i:])
			if size == 0 {
				return i, false
			}
			i += size
			plain = i
		default:
			i++
		}
	}
	return plain + len(wholeRunes(b[plain:])), false
}

// escapeSize returns the length of the escape at the front of b, both halves of
// a surrogate pair counted together, or 0 if it may go on behind b.
func escapeSize(b []byte) int {
	const half, pair = len(`\u0000`), len(`\u0000\u0000`)
	switch {
	case len(b) < 2:
		return 0
	case b[1] != 'u':
		return 2
	case len(b) < half:
		return 0
	case b[2]|0x20 != 'd' || b[3]|0x20 < '8' || b[3]|0x20 > 'b' || b[3] > '9' && b[3] < 'A':
		return half
	}
	// A high half: the low one belongs to it.
	next := b[half:]
	switch {
	case len(next) > 0 && next[0] != '\\', len(next) > 1 && next[1] != 'u':
		return half
	case len(next) < half:
		return 0
	case next[2]|0x20 == 'd' && next[3]|0x20 >= 'c' && next[3]|0x20 <= 'f':
		return pair
	}
	return half
}
