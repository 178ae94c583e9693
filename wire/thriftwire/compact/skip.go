package compact

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the skipping of values whose schema nobody needs. Each
// function takes the whole input and a position and returns the position after
// the value and 0, or the position of the fault and its code.

// maxSkipDepth caps the depth that a caller may ask for, since each level of
// nesting takes stack.
const maxSkipDepth = 4096

// Skip returns the length of the value of type t at the front of b, or a
// negative error. A bool is taken for an element: one byte, whose value Skip
// does not look at. It follows at most depth levels of nested structs and
// containers, and never more than 4096. Time is linear in the length.
func (d Dialect) Skip(b []byte, t thriftwire.Type, depth int) int {
	end, code := d.SkipAt(b, 0, t, depth)
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
func (d Dialect) SkipAt(b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	if t == d.foreign() {
		return pos, thriftwire.ErrType
	}
	return d.skip(b, pos, t, min(depth, maxSkipDepth))
}

// SkipElements is SkipAt for n values of type t one after another, the elements
// of a list. They may nest depth levels each.
func (d Dialect) SkipElements(b []byte, pos int, t thriftwire.Type, n, depth int) (end, code int) {
	if t == d.foreign() && n > 0 {
		return pos, thriftwire.ErrType
	}
	return d.skipElements(b, pos, t, n, min(depth, maxSkipDepth))
}

// SkipEntries is SkipAt for n pairs of a key and a value, the entries of a map.
func (d Dialect) SkipEntries(b []byte, pos int, key, elem thriftwire.Type, n, depth int) (end, code int) {
	if (key == d.foreign() || elem == d.foreign()) && n > 0 {
		return pos, thriftwire.ErrType
	}
	return d.skipEntries(b, pos, key, elem, n, min(depth, maxSkipDepth))
}

// SkipFields is SkipAt for what is left of a struct at b[pos:] after a field
// with the id last, its end included. Values may nest depth levels.
func (d Dialect) SkipFields(b []byte, pos int, last int16, depth int) (end, code int) {
	return d.skipStruct(b, pos, last, min(depth, maxSkipDepth))
}

// SkipUntil skips fields of a struct up to one that may be wanted, or to the
// end: it returns the position of the header or STOP that was not taken, with the id
// of the field before it, and 0, or the position of a fault and its code. Wanted
// is every field whose id, modulo 64, is the number of a bit in filter; the caller
// finds out which it is. The field before b[pos:] has the id last; values may nest depth levels.
func (d Dialect) SkipUntil(b []byte, pos int, last int16, filter uint64, depth int) (end int, before int16, code int) {
	return d.skipUntil(b, pos, last, filter, min(depth, maxSkipDepth))
}

func (d Dialect) skip(b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	if left := len(b) - pos; left >= 8 { // short numbers and strings, which most values are
		switch c := b[pos]; t {
		case thriftwire.I16, thriftwire.I32, thriftwire.I64:
			if c < 0x80 {
				return pos + 1, 0
			}
		case thriftwire.String:
			if c < 0x80 && int(c) < left {
				return pos + 1 + int(c), 0
			}
		case thriftwire.Double:
			return pos + 8, 0
		}
	}
	if w := int(widths[t]); w > 0 {
		if len(b)-pos < w {
			return pos, thriftwire.ErrEOF
		}
		return pos + w, 0
	}
	var n int
	switch t {
	case thriftwire.I16:
		_, n = ConsumeI16(b[pos:])
	case thriftwire.I32:
		_, n = ConsumeI32(b[pos:])
	case thriftwire.I64:
		_, n = ConsumeI64(b[pos:])
	case thriftwire.String:
		_, n = ConsumeBytes(b[pos:])
	case thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map:
		if depth <= 0 {
			return pos, thriftwire.ErrDepth
		}
		switch t {
		case thriftwire.Struct:
			return d.skipStruct(b, pos, 0, depth-1)
		case thriftwire.Map:
			return d.skipMap(b, pos, depth-1)
		}
		return d.skipList(b, pos, depth-1)
	default:
		n = thriftwire.ErrType
	}
	if n < 0 {
		return pos, n
	}
	return pos + n, 0
}

// roomy is the size of a short header and the longest number.
const roomy = 1 + 10

// skipStruct skips the fields after that with the id last, and the end, of a
// struct whose values may nest depth levels more.
func (d Dialect) skipStruct(b []byte, pos int, last int16, depth int) (end, code int) {
	pos, _, code = d.skipUntil(b, pos, last, 0, depth)
	return pos + 1 + code>>31, code // behind the STOP, if that is where it ends
}

// skipUntil skips fields. Those with short headers and plain values, which most
// are, take no call. What is not plainly there is left to skipField.
func (d Dialect) skipUntil(b []byte, pos int, last int16, filter uint64, depth int) (end int, before int16, code int) {
	least := roomy
	if !d.Valid() {
		least = math.MaxInt
	}
	for {
		for len(b)-pos >= least {
			c := b[pos]
			id := int(last) + int(c>>4)
			if c < 0x10 || id > math.MaxInt16 {
				break
			}
			if filter>>(id&63)&1 != 0 {
				return pos, last, 0
			}
			n := 1
			switch c & 15 {
			case codeTrue, codeFalse:
			case codeI8:
				n = 2
			case codeDouble:
				n = 9
			case codeString:
				l := b[pos+1]
				if l >= 0x80 || int(l) > len(b)-pos-2 {
					n = 0
				} else {
					n = 2 + int(l)
				}
			case codeI16, codeI32, codeI64:
				w := varintWidth(binary.LittleEndian.Uint64(b[pos+1:]))
				if w > plainVarint[c&15] {
					w = longVarint(b[pos+1:], c&15)
				}
				if n = 0; w > 0 {
					n = 1 + w
				}
			default:
				n = 0
			}
			if n == 0 {
				break
			}
			pos += n
			last = int16(id)
		}
		f, n := d.ConsumeField(b[pos:], last)
		if n < 0 {
			return pos, last, n
		}
		if f.Type == thriftwire.Stop || filter>>(f.ID&63)&1 != 0 {
			return pos, last, 0
		}
		pos, last = pos+n, f.ID
		if f.Type == thriftwire.Bool {
			continue
		}
		if pos, code = d.skip(b, pos, f.Type, depth); code < 0 {
			return pos, last, code
		}
	}
}

// plainVarint is the number of bytes up to which a varint cannot be wrong, by
// the code of its type.
var plainVarint = [16]int{codeI16: 2, codeI32: 4, codeI64: 8}

// varintWidth is the number of bytes of the varint at the start of eight
// bytes, 9 if it is longer than these.
func varintWidth(w uint64) int { return bits.TrailingZeros64(^w&tops)>>3 + 1 }

// longVarint is the number of bytes of a varint with more than plainVarint has,
// 0 if it is wrong. There are at least ten bytes.
func longVarint(b []byte, code byte) int {
	switch {
	case code == codeI16 && b[2] <= 3:
		return 3
	case code == codeI32 && b[4] <= 15:
		return 5
	case code == codeI64 && b[8] < 0x80:
		return 9
	case code == codeI64 && b[9] <= 1:
		return 10
	default:
		return 0
	}
}

func (d Dialect) skipList(b []byte, pos, depth int) (end, code int) {
	elem, size, n := d.ConsumeList(b[pos:])
	if n < 0 {
		return pos, n
	}
	if size == 0 {
		return pos + n, 0 // whatever elem is
	}
	return d.skipElements(b, pos+n, elem, size, depth)
}

func (d Dialect) skipElements(b []byte, pos int, t thriftwire.Type, n, depth int) (end, code int) {
	if w := int(widths[t]); w > 0 {
		if (len(b)-pos)/w < n {
			return pos + (len(b)-pos)/w*w, thriftwire.ErrEOF // at the first that is cut
		}
		return pos + n*w, 0
	}
	switch t {
	case thriftwire.I16, thriftwire.I32, thriftwire.I64:
		plain := plainVarint[codes[t]]
		for n > 0 && len(b)-pos >= 10 {
			w := varintWidth(binary.LittleEndian.Uint64(b[pos:]))
			if w > plain {
				if w = longVarint(b[pos:], codes[t]); w == 0 {
					break
				}
			}
			pos += w
			n--
		}
	case thriftwire.String:
		for n > 0 && uint(pos) < uint(len(b)) && b[pos] < 0x80 && int(b[pos]) < len(b)-pos {
			pos += 1 + int(b[pos])
			n--
		}
	}
	if t == thriftwire.Struct && depth > 0 {
		for ; n > 0; n-- {
			if pos, code = d.skipStruct(b, pos, 0, depth-1); code < 0 {
				return pos, code
			}
		}
	}
	for ; n > 0; n-- {
		if pos, code = d.skip(b, pos, t, depth); code < 0 {
			return pos, code
		}
	}
	return pos, 0
}

func (d Dialect) skipMap(b []byte, pos, depth int) (end, code int) {
	key, elem, size, n := d.ConsumeMap(b[pos:])
	if n < 0 {
		return pos, n
	}
	return d.skipEntries(b, pos+n, key, elem, size, depth)
}

func (d Dialect) skipEntries(b []byte, pos int, key, elem thriftwire.Type, n, depth int) (end, code int) {
	for range n {
		if pos, code = d.skip(b, pos, key, depth); code < 0 {
			return pos, code
		}
		if elem == thriftwire.Struct && depth > 0 {
			pos, code = d.skipStruct(b, pos, 0, depth-1)
		} else {
			pos, code = d.skip(b, pos, elem, depth)
		}
		if code < 0 {
			return pos, code
		}
	}
	return pos, 0
}
