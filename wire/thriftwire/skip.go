package thriftwire

import "encoding/binary"

// This file holds the skipping of values whose schema nobody needs. Each
// function takes the whole input and a position and returns the position after
// the value and 0, or the position of the fault and its code.
//
// The loops choose by comparing, not by looking widths up: a processor that
// guesses the branch right goes on to the next value before this one's type
// has arrived from memory.

// maxSkipDepth caps the depth that a caller may ask for, since each level of
// nesting takes stack.
const maxSkipDepth = 4096

// Skip returns the length of the value of type t at the front of b, or a
// negative error. It follows at most depth levels of nested structs and
// containers, and never more than 4096. Time is linear in the length.
func Skip(b []byte, t Type, depth int) int {
	var end, code int
	if depth = min(depth, maxSkipDepth); t == Struct && depth > 0 { // a whole message, mostly
		end, code = skipStruct(b, 0, depth-1)
	} else {
		end, code = skip(b, 0, t, depth)
	}
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

// SkipElements is SkipAt for n values of type t one after another, the elements
// of a list. They may nest depth levels each.
func SkipElements(b []byte, pos int, t Type, n, depth int) (end, code int) {
	return skipElements(b, pos, t, n, min(depth, maxSkipDepth))
}

// SkipEntries is SkipAt for n pairs of a key and a value, the entries of a map.
func SkipEntries(b []byte, pos int, key, elem Type, n, depth int) (end, code int) {
	return skipEntries(b, pos, key, elem, n, min(depth, maxSkipDepth))
}

func skip(b []byte, pos int, t Type, depth int) (end, code int) {
	if t == Struct && depth > 0 {
		return skipStruct(b, pos, depth-1)
	}
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

// roomy is the size of a header and the widest number that skipStruct steps
// over without asking what is left.
const roomy = 3 + 8

// skipStruct skips a struct, or what is left of one after some of its fields,
// whose values may nest depth levels more. Numbers, strings and structs, which most
// fields are, take no call: a struct within the struct is only counted, for what
// follows its end is again a field. What is not plainly there is left to skipField.
func skipStruct(b []byte, pos, depth int) (end, code int) {
	b = b[:len(b):len(b)] // so that the compiler knows that b[pos:] is not empty, and adds no mask to pos
	for open := 0; ; {
		for len(b)-pos >= roomy {
			t := Type(b[pos])
			if t == String {
				// A negative length becomes too large a one.
				l := uint64(binary.BigEndian.Uint32(b[pos+3:]))
				if l > uint64(len(b)-pos-7) {
					return pos + 3, lengthFault(l)
				}
				pos += 7 + int(l)
				continue
			}
			if t == I32 || t == Float {
				pos += 3 + 4
				continue
			}
			if t == I64 || t == Double {
				pos += 3 + 8
				continue
			}
			if t == Stop {
				pos++
				if open == 0 {
					return pos, 0
				}
				open--
				continue
			}
			if t == I8 || t == Bool {
				pos += 3 + 1
				continue
			}
			if t == Struct {
				if open >= depth {
					return pos + 3, ErrDepth
				}
				open++
				pos += 3
				continue
			}
			if t == I16 {
				pos += 3 + 2
				continue
			}
			if t != List && t != Set {
				break
			}
			if open >= depth {
				return pos + 3, ErrDepth
			}
			if pos, code = skipList(b, pos+3, depth-open-1); code < 0 {
				return pos, code
			}
		}
		if uint(pos) >= uint(len(b)) {
			return pos, ErrEOF
		}
		if b[pos] == byte(Stop) {
			pos++
			if open == 0 {
				return pos, 0
			}
			open--
			continue
		}
		if pos, code = skipField(b, pos, depth-open); code < 0 {
			return pos, code
		}
	}
}

// lengthFault is the error for a string's length that exceeds what is left.
func lengthFault(l uint64) int {
	if l > MaxLength {
		return ErrLength
	}
	return ErrEOF
}

func skipField(b []byte, pos, depth int) (end, code int) {
	t := Type(b[pos])
	if widths[t] == 0 {
		return pos, ErrType
	}
	if len(b)-pos < 3 {
		return pos, ErrEOF
	}
	return skip(b, pos+3, t, depth)
}

func skipList(b []byte, pos, depth int) (end, code int) {
	elem, size, n := ConsumeList(b[pos:])
	if n < 0 {
		return pos, n
	}
	if size == 0 {
		return pos + n, 0 // whatever elem is
	}
	return skipElements(b, pos+n, elem, size, depth)
}

func skipElements(b []byte, pos int, t Type, n, depth int) (end, code int) {
	if w := int(widths[t]); w > 0 {
		if uint64(n)*uint64(w) > uint64(len(b)-pos) {
			return pos + (len(b)-pos)/w*w, ErrEOF // at the first that is cut
		}
		return pos + n*w, 0
	}
	switch {
	case t == String:
		b = b[:len(b):len(b)] // as in skipStruct
		for ; n > 0; n-- {
			if len(b)-pos < 4 {
				return pos, ErrEOF
			}
			l := uint64(binary.BigEndian.Uint32(b[pos:]))
			if l > uint64(len(b)-pos-4) {
				return pos, lengthFault(l)
			}
			pos += 4 + int(l)
		}
		return pos, 0
	case t == Struct && depth > 0:
		for ; n > 0; n-- {
			if pos, code = skipStruct(b, pos, depth-1); code < 0 {
				return pos, code
			}
		}
		return pos, 0
	}
	for ; n > 0; n-- {
		if pos, code = skip(b, pos, t, depth); code < 0 {
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
	if size == 0 {
		return pos + n, 0
	}
	return skipEntries(b, pos+n, key, elem, size, depth)
}

func skipEntries(b []byte, pos int, key, elem Type, n, depth int) (end, code int) {
	k, e := int(widths[key]), int(widths[elem])
	if k > 0 && e > 0 && uint64(n)*uint64(k+e) <= uint64(len(b)-pos) {
		return pos + n*(k+e), 0
	}
	b = b[:len(b):len(b)] // as in skipStruct
	for ; n > 0; n-- {
		switch {
		case key == String:
			if len(b)-pos < 4 {
				return pos, ErrEOF
			}
			l := uint64(binary.BigEndian.Uint32(b[pos:]))
			if l > uint64(len(b)-pos-4) {
				return pos, lengthFault(l)
			}
			pos += 4 + int(l)
		case k > 0:
			if len(b)-pos < k {
				return pos, ErrEOF
			}
			pos += k
		default:
			if pos, code = skip(b, pos, key, depth); code < 0 {
				return pos, code
			}
		}
		switch {
		case elem == String:
			if len(b)-pos < 4 {
				return pos, ErrEOF
			}
			l := uint64(binary.BigEndian.Uint32(b[pos:]))
			if l > uint64(len(b)-pos-4) {
				return pos, lengthFault(l)
			}
			pos += 4 + int(l)
		case elem == Struct && depth > 0:
			if pos, code = skipStruct(b, pos, depth-1); code < 0 {
				return pos, code
			}
		default:
			if pos, code = skip(b, pos, elem, depth); code < 0 {
				return pos, code
			}
		}
	}
	return pos, 0
}
