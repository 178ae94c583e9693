package framed

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the walk over unframed messages of the compact protocol. Its
// steps are small: what is cut off is read again when more has come, and that
// is never more than a number or the header of a value.

// compactSkipper is a walk over the envelope and struct of one message.
//
// Invariant: everything before pos has been looked at and is never looked at
// again.
type compactSkipper struct {
	pos     int
	dialect compact.Dialect // 0 until the envelope has been read
	value   thriftwire.Type // type of the value that starts at pos, or Stop if the top of levels decides
	level   []level         // open structs and containers, innermost last
}

func (s *compactSkipper) reset() { *s = compactSkipper{level: s.level[:0]} }

// next continues the walk and returns the length of the message, or 0 when it
// needs more bytes than b.
func (s *compactSkipper) next(b []byte, limit int) (int, error) {
	if s.dialect == 0 {
		_, d, n := compact.ConsumeMessage(b)
		if n < 0 {
			return s.stuck(b, n, limit, "the envelope")
		}
		s.pos, s.dialect = n, d
		s.level = append(s.level, level{left: -1})
	}
	for len(s.level) > 0 {
		step, what := s.enterValue, "a value"
		if s.value == thriftwire.Stop {
			step, what = s.nextValue, "a field"
		}
		if n := step(b); n < 0 {
			return s.stuck(b, n, limit, what)
		}
		if s.pos > limit {
			return 0, tooLarge(limit, limit)
		}
	}
	return s.pos, nil
}

// stuck tells missing bytes from a message that cannot be read.
func (s *compactSkipper) stuck(b []byte, code, limit int, what string) (int, error) {
	switch {
	case code == thriftwire.ErrEOF && len(b) > limit:
		return 0, tooLarge(s.pos, limit)
	case code == thriftwire.ErrEOF:
		return 0, nil
	case code == thriftwire.ErrDepth:
		return 0, diag.NewFault(diag.DepthLimit, s.pos, fmt.Sprintf("nested deeper than %d", maxDepth))
	case code == thriftwire.ErrLength:
		return 0, diag.NewFault(diag.InvalidLength, s.pos, what+" has a length that cannot be")
	case code == thriftwire.ErrType && s.dialect != 0:
		return 0, diag.NewFault(diag.InvalidType, s.pos, what+" has a type that does not exist")
	}
	f := diag.NewFault(diag.InvalidHeader, s.pos, what+" cannot be read")
	f.Cause = thriftwire.Error(code)
	return 0, f
}

// nextValue finds the type of the next value of the innermost struct or
// container, or leaves it.
func (s *compactSkipper) nextValue(b []byte) int {
	top := &s.level[len(s.level)-1]
	switch {
	case top.left > 0:
		s.value = top.elem
		if top.left&1 == 0 && top.key != thriftwire.Stop {
			s.value = top.key
		}
		top.left--
		return 0
	case top.left == 0:
		s.level = s.level[:len(s.level)-1]
		return 0
	}
	f, n := s.dialect.ConsumeField(b[s.pos:], 0) // ids do not matter
	if n < 0 {
		return n
	}
	s.pos += n
	switch f.Type {
	case thriftwire.Stop:
		s.level = s.level[:len(s.level)-1]
	case thriftwire.Bool: // whose value was in the header
	default:
		s.value = f.Type
	}
	return 0
}

// enterValue steps over the value at pos, or into it.
func (s *compactSkipper) enterValue(b []byte) int {
	rest := b[s.pos:]
	n := compact.FixedSize(s.value)
	next := level{left: -1}
	into := false
	switch s.value {
	case thriftwire.I16:
		_, n = compact.ConsumeI16(rest)
	case thriftwire.I32:
		_, n = compact.ConsumeI32(rest)
	case thriftwire.I64:
		_, n = compact.ConsumeI64(rest)
	case thriftwire.String:
		_, n = compact.ConsumeBytes(rest)
	case thriftwire.Struct:
		into = true
	case thriftwire.List, thriftwire.Set:
		next.elem, next.left, n = s.dialect.ConsumeList(rest)
		into = next.left > 0
	case thriftwire.Map:
		next.key, next.elem, next.left, n = s.dialect.ConsumeMap(rest)
		next.left *= 2
		into = next.left > 0
	default:
		if n == 0 {
			return thriftwire.ErrType
		}
		if len(rest) < n {
			return thriftwire.ErrEOF
		}
	}
	switch {
	case n < 0:
		return n
	case into && len(s.level) >= maxDepth:
		return thriftwire.ErrDepth
	case into:
		s.level = append(s.level, next)
	}
	s.pos += n
	s.value = thriftwire.Stop
	return 0
}
