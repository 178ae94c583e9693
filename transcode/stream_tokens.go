package transcode

import (
	"math"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
)

// This file gets the tokens of JSON into the window: strings, numbers and
// whole values that cannot be read in parts.

// space steps over white space.
func (s *thriftStream) space() {
	for {
		in := s.src.visible()
		if s.p += jsonwire.SkipSpace(in[s.p:]); s.p < len(in) || !s.more() {
			return
		}
	}
}

// at reports whether c stands at p.
func (s *thriftStream) at(c byte) bool {
	in := s.src.visible()
	return s.p < len(in) && in[s.p] == c
}

// tokens returns the window without a number, literal or escape at its end that
// may go on behind it: the functions for values in memory would take what is
// there for all of it.
func (s *thriftStream) tokens() []byte {
	in := s.src.visible()
	if s.src.done() || s.src.full {
		return in
	}
	if end := s.offset(len(in)); end != s.cutFor { // once for what has arrived, not for each value in it
		n := len(in)
		for n > 0 && (inToken(in[n-1]) || in[n-1] == '\\') {
			n--
		}
		s.cut, s.cutFor = s.offset(n), end
	}
	return in[:max(s.p, int(s.cut-s.src.base))]
}

// inToken reports whether c may stand in a number or literal.
func inToken(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 'z'-'a' || c == '.' || c == '-' || c == '+'
}

// token gets the number or literal at p into the window.
func (s *thriftStream) token() {
	for i := 0; ; {
		in := s.src.visible()[s.p:]
		for ; i < len(in); i++ {
			if !inToken(in[i]) {
				return
			}
		}
		if !s.more() {
			return
		}
	}
}

// stringEnd gets the string at p into the window and returns the position after
// it, or 0 if it takes more than limit bytes or does not end.
func (s *thriftStream) stringEnd(limit int) int {
	for i := 1; ; {
		in := s.src.visible()[s.p:]
		for i < len(in) {
			switch in[i] {
			case '"':
				return s.p + i + 1
			case '\\':
				i += 2
			default:
				i++
			}
		}
		if len(in) >= limit || !s.more() {
			return 0
		}
	}
}

// atom gets the value at p into the window, as far as it can. If it cannot, the
// conversion will say why.
func (s *thriftStream) atom() {
	switch in := s.src.visible(); in[s.p] {
	case '"':
		s.stringEnd(math.MaxInt)
	case '{', '[':
		s.nested()
	default:
		s.token()
	}
}

// nested gets the object or array at p into the window: up to the bracket that
// closes it, whatever stands in between.
func (s *thriftStream) nested() {
	depth, text := 0, false
	for i := 0; ; {
		in := s.src.visible()[s.p:]
		for ; i < len(in); i++ {
			switch c := in[i]; {
			case text && c == '\\':
				i++
			case c == '"':
				text = !text
			case text:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth--; depth == 0 {
					return
				}
			}
		}
		if !s.more() {
			return
		}
	}
}

// nameToValue gets the name at p, the colon behind it and the first byte of
// the value into the window, as far as it can.
func (s *thriftStream) nameToValue() {
	if !s.at('"') {
		return
	}
	end := s.stringEnd(math.MaxInt)
	if end == 0 {
		return
	}
	for n, colon := end-s.p, false; ; {
		in := s.src.visible()[s.p:]
		n += jsonwire.SkipSpace(in[n:])
		switch {
		case n == len(in):
			if !s.more() {
				return
			}
		case in[n] == ':' && !colon:
			colon = true
			n++
		default:
			return
		}
	}
}
