package thriftwire

import "encoding/binary"

// This file holds the skipping of values whose schema nobody needs. Each
// function takes the whole input and a position and returns the position after
// the value and 0, or the position of the fault and its code.

// maxSkipDepth caps the depth that a caller may ask for, since each level of
// nesting takes stack.
const maxSkipDepth = 4096

// Skip returns the length of the value of type t at the front of b, or a
// negative error. It follows at most depth levels of nested structs and
// containers, and never more than 4096. Time is linear in the length.
func Skip(b []byte, t Type, depth int) int {
	end, code := SkipAt(b, 0, t, depth)
	if code < 0 {
		return code
	}
	return end
}

// SkipAt is Skip for the value at b[pos:], which must lie within b. It returns
// the position after the value and 0, or the position of the fault and its
// negative error. A fault stands where the part begins that cannot be read: a
// number, the length before a string, the header of a field or container, or,
// for ErrDepth, the value that is nested too deeply.
func SkipAt(b []byte, pos int, t Type, depth int) (end, code int) {
	return skip(b, pos, t, min(depth, maxSkipDepth))
}

func skip(b []byte, pos int, t Type, depth int) (end, code int) {
	switch w := int(widths[t]); {
	case w > 0:
		if len(b)-pos < w {
			return pos, ErrEOF
		}
		return pos + w, 0
	case w == 0:
		return pos, ErrType
	case t == String:
		return skipString(b, pos)
	case depth <= 0:
		return pos, ErrDepth
	case t == Struct:
		return skipStruct(b, pos, depth-1)
	case t == Map:
		return skipMap(b, pos, depth-1)
	default: // List, Set
		return skipList(b, pos, depth-1)
	}
}

func skipString(b []byte, pos int) (end, code int) {
	if len(b)-pos < 4 {
		return pos, ErrEOF
	}
	l := int32(binary.BigEndian.Uint32(b[pos:]))
	if l < 0 {
		return pos, ErrLength
	}
	if int(l) > len(b)-pos-4 {
		return pos, ErrEOF
	}
	return pos + 4 + int(l), 0
}

// skipStruct skips a struct whose values may nest depth levels more. Numbers
// and strings, which most fields are, take no call.
func skipStruct(b []byte, pos, depth int) (end, code int) {
	for {
		if uint(pos) >= uint(len(b)) {
			return pos, ErrEOF
		}
		t := Type(b[pos])
		if t == Stop {
			return pos + 1, 0
		}
		w := int(widths[t])
		if w == 0 {
			return pos, ErrType
		}
		if len(b)-pos < 3 {
			return pos, ErrEOF
		}
		pos += 3
		switch {
		case w > 0:
			if len(b)-pos < w {
				return pos, ErrEOF
			}
			pos += w
		case t == String:
			pos, code = skipString(b, pos)
		default:
			pos, code = skip(b, pos, t, depth)
		}
		if code < 0 {
			return pos, code
		}
	}
}

func skipList(b []byte, pos, depth int) (end, code int) {
	elem, size, n := ConsumeList(b[pos:])
	if n < 0 {
		return pos, n
	}
	pos += n
	if size == 0 {
		return pos, 0 // whatever elem is
	}
	if w := int(widths[elem]); w > 0 {
		return pos + size*w, 0 // ConsumeList has seen that they are there
	}
	for range size {
		if elem == String {
			pos, code = skipString(b, pos)
		} else {
			pos, code = skip(b, pos, elem, depth)
		}
		if code < 0 {
			return pos, code
		}
	}
	return pos, 0
}

func skipMap(b []byte, pos, depth int) (end, code int) {
	key, elem, size, n := ConsumeMap(b[pos:])
	if n < 0 {
		return pos, n
	}
	pos += n
	if size == 0 {
		return pos, 0
	}
	if k, e := int(widths[key]), int(widths[elem]); k > 0 && e > 0 {
		return pos + size*(k+e), 0
	}
	for range size {
		if pos, code = skip(b, pos, key, depth); code < 0 {
			return pos, code
		}
		if pos, code = skip(b, pos, elem, depth); code < 0 {
			return pos, code
		}
	}
	return pos, 0
}
