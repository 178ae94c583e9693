package framed

import (
	"encoding/binary"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the unframed half of the Scanner: skipping over one message
// in steps that can be resumed. thriftwire.Skip starts over when bytes are
// missing, which would cost the square of the length from a slow peer.

// maxDepth is the deepest nesting that is followed, as deep as the codec
// decodes by default. The levels are on the heap, so it costs 8 KiB or so.
const maxDepth = 1024

// skipper is a walk over the envelope and struct of one message.
//
// Invariant: everything before pos has been looked at and is never looked at
// again. pos may lie beyond the bytes that have arrived, when a length told
// how far to go, but never beyond the limit.
type skipper struct {
	pos   int
	phase phase
	value thriftwire.Type // type of the value that starts at pos, or Stop if the top of levels decides
	level []level         // open structs and containers, innermost last
	loose bool            // messages have no version, but a type behind their name
}

type phase uint8

const (
	inVersion phase = iota
	inName
	inType
	inSequenceID
	inStruct
)

// level is an open struct (left < 0) or a container with values to come.
type level struct {
	left      int // values to come; a map counts keys and elements
	key, elem thriftwire.Type
}

func (s *skipper) reset() { *s = skipper{level: s.level[:0], loose: s.loose} }

// next continues the walk and returns the length of the message, or 0 when it
// needs more bytes than b.
func (s *skipper) next(b []byte, limit int) (int, error) {
	for s.phase != inStruct {
		if done, err := s.envelope(b, limit); !done || err != nil {
			return 0, err
		}
	}
	for {
		if s.value == thriftwire.Stop {
			done, err := s.nextValue(b)
			if err != nil || !done {
				return 0, err
			}
			if len(s.level) == 0 && s.pos > limit { // by the last STOP
				return 0, tooLarge(s.pos-1, limit)
			}
			if len(s.level) == 0 {
				return s.pos, nil
			}
			continue
		}
		done, err := s.enterValue(b, limit)
		if err != nil || !done {
			return 0, err
		}
	}
}

// envelope walks over one part of the envelope and reports whether it has arrived.
func (s *skipper) envelope(b []byte, limit int) (bool, error) {
	switch {
	case s.phase == inVersion && s.loose:
		s.phase = inName
	case s.phase == inType:
		if s.loose {
			s.pos++
		}
		s.phase = inSequenceID
	}
	if len(b) < s.pos+4 {
		return false, nil
	}
	word := binary.BigEndian.Uint32(b[s.pos:])
	switch s.phase {
	case inVersion:
		if word>>16 != 0x8001 {
			return false, diag.NewFault(diag.InvalidHeader, s.pos, "not a message of the strict binary protocol")
		}
		s.pos += 4
	case inName:
		if word > thriftwire.MaxNameLength || int(word) > limit-s.pos-8 {
			return false, diag.NewFault(diag.InvalidLength, s.pos, fmt.Sprintf("method name of length %d", int32(word)))
		}
		s.pos += 4 + int(word)
	case inSequenceID:
		s.pos += 4
		s.level = append(s.level, level{left: -1})
	}
	s.phase++
	return true, nil
}

// nextValue finds the type of the next value of the innermost struct or
// container, or leaves it. It reports false when bytes are missing.
func (s *skipper) nextValue(b []byte) (bool, error) {
	top := &s.level[len(s.level)-1]
	switch {
	case top.left > 0:
		s.value = top.elem
		if top.left&1 == 0 && top.key != thriftwire.Stop {
			s.value = top.key
		}
		top.left--
		return true, nil
	case top.left == 0:
		s.level = s.level[:len(s.level)-1]
		return true, nil
	}
	if len(b) <= s.pos {
		return false, nil
	}
	t, _, n := thriftwire.ConsumeField(b[s.pos:])
	if n == thriftwire.ErrEOF {
		return false, nil
	}
	if n < 0 {
		return false, diag.NewFault(diag.InvalidType, s.pos, fmt.Sprintf("field of wire type %d", b[s.pos]))
	}
	s.pos += n
	s.value = t
	if t == thriftwire.Stop {
		s.level = s.level[:len(s.level)-1]
	}
	return true, nil
}

// enterValue steps over the value at pos, or into it. It reports false when
// bytes are missing.
func (s *skipper) enterValue(b []byte, limit int) (bool, error) {
	t := s.value
	if n := t.FixedSize(); n > 0 {
		return true, s.leap(n, limit)
	}
	if t == thriftwire.Struct {
		return true, s.open(level{left: -1}, 0, limit)
	}
	header := t.MinSize()
	if len(b) < s.pos+header {
		return false, nil
	}
	at := b[s.pos : s.pos+header]
	count := int(int32(binary.BigEndian.Uint32(at[header-4:])))
	if count < 0 {
		return false, diag.NewFault(diag.InvalidLength, s.pos, fmt.Sprintf("%s of length %d", t, count))
	}
	switch {
	case t == thriftwire.String:
		return true, s.leap2(header, count, 1, limit)
	case count == 0: // some writers send no element types for an empty container
		return true, s.leap(header, limit)
	}
	next := level{left: count, elem: thriftwire.Type(at[0])}
	if t == thriftwire.Map {
		next = level{left: count, key: thriftwire.Type(at[0]), elem: thriftwire.Type(at[1])}
	}
	return true, s.container(t, next, header, limit)
}

// container steps over a list, set or map whose header has been read, or into it.
func (s *skipper) container(t thriftwire.Type, next level, header, limit int) error {
	isMap := t == thriftwire.Map
	if !next.elem.Valid() || (isMap && !next.key.Valid()) {
		return diag.NewFault(diag.InvalidType, s.pos, fmt.Sprintf("%s of elements that have no type", t))
	}
	least, fixed := next.elem.MinSize(), next.elem.FixedSize()
	if isMap {
		least += next.key.MinSize()
		if fixed > 0 && next.key.FixedSize() > 0 {
			fixed += next.key.FixedSize()
		} else {
			fixed = 0
		}
	}
	if fixed > 0 {
		return s.leap2(header, next.left, fixed, limit)
	}
	if next.left > (limit-s.pos-header)/least {
		return tooLarge(s.pos, limit)
	}
	if isMap {
		next.left *= 2
	}
	return s.open(next, header, limit)
}

// open enters a struct or container whose header has the given size.
func (s *skipper) open(l level, header, limit int) error {
	if s.pos+header >= limit {
		return tooLarge(s.pos, limit)
	}
	if len(s.level) >= maxDepth {
		return diag.NewFault(diag.DepthLimit, s.pos, fmt.Sprintf("nested deeper than %d", maxDepth))
	}
	s.pos += header
	s.value = thriftwire.Stop
	s.level = append(s.level, l)
	return nil
}

// leap steps over n bytes.
func (s *skipper) leap(n, limit int) error { return s.leap2(0, n, 1, limit) }

// leap2 steps over a header and count elements of width bytes.
func (s *skipper) leap2(header, count, width, limit int) error {
	if count > (limit-s.pos-header)/width {
		return tooLarge(s.pos, limit)
	}
	s.pos += header + count*width
	s.value = thriftwire.Stop
	return nil
}
