package transcode

import (
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file steps over values of unknown fields that exceed the window.

// unknown steps over the value at p, where it stands alone in a field.
func (s *thriftStream) unknown() bool {
	at := s.offset(s.p)
	if n := s.skip(s.r.depth); n < 0 {
		s.r.jsonError(n, s.p)
		return s.failedAt(at)
	}
	return true
}

// skip steps over the value at p, which may nest depth levels, and returns 0 or
// a negative result of package jsonwire.
func (s *thriftStream) skip(depth int) int {
	if n := jsonwire.Skip(s.tokens()[s.p:], depth); n >= 0 {
		s.p += n
		return 0
	} else if n != jsonwire.ErrEOF || s.src.done() {
		return n
	}
	if s.p == len(s.src.visible()) && !s.more() {
		return jsonwire.ErrEOF
	}
	switch s.src.visible()[s.p] {
	case '"':
		return s.skipText()
	case '{', '[':
		if depth <= 0 {
			return jsonwire.ErrDepth
		}
		return s.skipNested(depth - 1)
	}
	s.token()
	n := jsonwire.Skip(s.src.visible()[s.p:], depth)
	s.p += max(n, 0)
	return min(n, 0)
}

// skipText steps over a string.
func (s *thriftStream) skipText() int {
	s.p++
	for {
		part, closed := s.stringPart()
		if part == nil {
			return s.unquoteFault()
		}
		s.p += len(part)
		s.quoted = append(append(append(s.quoted[:0], '"'), part...), '"')
		if n, _ := jsonwire.SkipString(s.quoted); n < 0 {
			return n
		}
		if closed {
			s.p++
			return 0
		}
	}
}

// skipNested steps over an array or object.
func (s *thriftStream) skipNested(depth int) int {
	object := s.at('{')
	end := s.src.visible()[s.p] + 2 // ']' and '}' stand two after '[' and '{'
	if !s.opened(end) {
		return 0
	}
	for {
		if object {
			if s.p == len(s.src.visible()) {
				return jsonwire.ErrEOF
			}
			if !s.at('"') {
				return jsonwire.ErrSyntax
			}
			if n := s.skip(0); n < 0 {
				return n
			}
			s.space()
			if s.p == len(s.src.visible()) {
				return jsonwire.ErrEOF
			}
			if !s.at(':') {
				return jsonwire.ErrSyntax
			}
			s.p++
			s.space()
		}
		if n := s.skip(depth); n < 0 {
			return n
		}
		s.space()
		switch {
		case s.p == len(s.src.visible()):
			return jsonwire.ErrEOF
		case s.at(end):
			s.p++
			return 0
		case !s.at(','):
			return jsonwire.ErrSyntax
		}
		s.p++
		s.space()
	}
}

// skip steps over the value of type t at p, which may nest depth levels.
func (s *jsonStream) skip(t thriftwire.Type, depth int) bool {
	end, code := thriftwire.SkipAt(s.src.visible(), s.p, t, depth)
	switch {
	case code == 0:
		s.p = end
		return true
	case code != thriftwire.ErrEOF || s.src.done():
		return s.wireFault(code, end)
	case t.FixedSize() > 0:
		return s.discard(int64(t.FixedSize()), s.offset(s.p))
	}
	at := s.offset(s.p)
	if t == thriftwire.Struct {
		return s.skipStruct(depth - 1)
	}
	var types [2]thriftwire.Type
	parts := types[:1]
	switch t {
	case thriftwire.Map:
		parts = types[:2]
	case thriftwire.String:
		parts = nil
	}
	size, ok := s.container(parts)
	if !ok {
		return false
	}
	s.p += len(parts) + 4
	if t == thriftwire.String {
		return s.discard(int64(size), at)
	}
	for range size {
		for _, part := range parts {
			if !s.skip(part, depth-1) {
				return false
			}
		}
	}
	return true
}

// skipStruct steps over a struct whose fields may nest depth levels.
func (s *jsonStream) skipStruct(depth int) bool {
	for {
		s.ensure(3)
		t, _, n := thriftwire.ConsumeField(s.src.visible()[s.p:])
		if n < 0 {
			return s.wireFault(n, s.p)
		}
		s.p += n
		if t == thriftwire.Stop {
			return true
		}
		if !s.skip(t, depth) {
			return false
		}
	}
}

// discard steps over n bytes of the value at offset.
func (s *jsonStream) discard(n, offset int64) bool {
	for {
		here := min(n, int64(len(s.src.visible())-s.p))
		s.p += int(here)
		if n -= here; n == 0 {
			return true
		}
		if !s.more() {
			s.w.wireError(thriftwire.ErrEOF, s.p)
			return s.failedAt(offset)
		}
	}
}
