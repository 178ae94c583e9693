package protobuf

import (
	"encoding/binary"
	"math/bits"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the reading of records: fields as they stand in a message,
// each a tag and a value.

// record is a field as it stands in a message. Places are indexes into it.
type record struct {
	number int32
	wire   protowire.Type
	start  int // of the tag
	value  int // of the value: of what is behind a length or a group's start
	end    int // of the value: before a group's end
	next   int // after the record; the place of the fault if there is one
}

// readRecord is record.read for where it is not called in a loop.
func readRecord(b []byte, pos, depth int) (r record, code int) {
	code = r.read(b, pos, depth)
	return r, code
}

// read reads the record at b[pos:] into r and returns 0 or a negative code. What
// most records are is read here: a tag and a length of up to two bytes, a varint
// of up to nine. A record that is returned would be copied, and who reads it
// would wait for that.
func (r *record) read(b []byte, pos, depth int) (code int) {
	if len(b)-pos < 2 {
		return r.readSlow(b, pos, depth)
	}
	tag, p := uint32(b[pos]), pos+1
	if tag >= 0x80 {
		if b[p] >= 0x80 {
			return r.readSlow(b, pos, depth)
		}
		tag = tag&0x7f | uint32(b[p])<<7
		p++
	}
	end := p
	r.number, r.wire, r.start = int32(tag>>3), protowire.Type(tag&7), pos
	switch r.wire {
	case protowire.Varint:
		for end < len(b) && b[end] >= 0x80 && end-p < 9 {
			end++
		}
		end++
		if end-p > 9 {
			return r.readSlow(b, pos, depth)
		}
	case protowire.Bytes:
		if p >= len(b) {
			return r.readSlow(b, pos, depth)
		}
		n := int(b[p])
		p++
		if n >= 0x80 {
			if p >= len(b) || b[p] >= 0x80 {
				return r.readSlow(b, pos, depth)
			}
			n = n&0x7f | int(b[p])<<7
			p++
		}
		end = p + n
	case protowire.Fixed32:
		end = p + 4
	case protowire.Fixed64:
		end = p + 8
	default:
		return r.readSlow(b, pos, depth)
	}
	if end > len(b) || r.number == 0 {
		return r.readSlow(b, pos, depth)
	}
	r.value, r.end, r.next = p, end, end
	return 0
}

// seek reads the first record at or after b[pos:] that has the number into r, or
// makes its number 0 at the end of b. The records before it are stepped
// over like this: the branches are guessed, since neighbours are alike.
func (r *record) seek(b []byte, pos int, number int32, depth int) (code int) {
	for pos < len(b) {
		for len(b)-pos >= 12 { // a tag of two bytes and a varint of ten
			tag, p := uint32(b[pos]), pos+1
			if tag >= 0x80 {
				tag = tag&0x7f | uint32(b[p])<<7 // a third byte makes a number that is none here
				p++
			}
			if int32(tag>>3) == number {
				break
			}
			switch protowire.Type(tag & 7) {
			case protowire.Bytes:
				n := int(b[p])
				p++
				if n >= 0x80 {
					n = n&0x7f | int(b[p])<<7
					p++
				}
				if n >= 1<<14 || n > len(b)-p || tag >= 1<<14 || tag < 1<<3 {
					break
				}
				pos = p + n
				continue
			case protowire.Varint:
				w := ^binary.LittleEndian.Uint64(b[p:]) & 0x8080808080808080
				if w == 0 || tag >= 1<<14 || tag < 1<<3 {
					break
				}
				pos = p + bits.TrailingZeros64(w)>>3 + 1
				continue
			case protowire.Fixed64:
				if tag >= 1<<14 || tag < 1<<3 {
					break
				}
				pos = p + 8
				continue
			case protowire.Fixed32:
				if tag >= 1<<14 || tag < 1<<3 {
					break
				}
				pos = p + 4
				continue
			}
			break
		}
		if pos == len(b) {
			break
		}
		if code = r.read(b, pos, depth); code < 0 || r.number == number {
			return code
		}
		pos = r.next
	}
	r.number = 0
	return 0
}

// skipBytes steps over up to count records at b[pos:] that hold bytes and have
// the number, as long as they follow one another, and returns how many are left.
func skipBytes(b []byte, pos int, number int32, count int64) (end int, left int64) {
	for ; count > 0 && len(b)-pos >= 4; count-- { // a tag and a length of two bytes each
		tag, p := uint32(b[pos]), pos+1
		if tag >= 0x80 {
			tag = tag&0x7f | uint32(b[p])<<7
			p++
		}
		n := int(b[p])
		p++
		if n >= 0x80 {
			n = n&0x7f | int(b[p])<<7
			p++
		}
		if tag != uint32(number)<<3|uint32(protowire.Bytes) || tag >= 1<<14 || n >= 1<<14 || n > len(b)-p {
			break
		}
		pos = p + n
	}
	return pos, count
}

// readSlow is read for all records.
func (r *record) readSlow(b []byte, pos, depth int) (code int) {
	*r = record{start: pos}
	var n int
	if r.number, r.wire, n = protowire.ConsumeTag(b[pos:]); n < 0 {
		r.next = pos
		return n
	}
	pos += n
	r.value = pos
	switch r.wire {
	case protowire.Bytes:
		l, n := protowire.ConsumeLength(b[pos:])
		if n < 0 {
			r.next = pos
			return n
		}
		r.value = pos + n
		r.end = r.value + l
		r.next = r.end
	case protowire.StartGroup:
		r.end, r.next, code = groupEnd(b, pos, r.number, depth)
	default:
		r.next, code = protowire.SkipAt(b, pos, r.number, r.wire, depth)
		r.end = r.next
	}
	return code
}

// groupEnd finds the end of the group whose fields are at b[pos:]: the place
// of its end tag and the place after that.
func groupEnd(b []byte, pos int, number int32, depth int) (end, next, code int) {
	if depth <= 0 {
		return pos, pos, protowire.ErrDepth
	}
	for {
		inner, t, n := protowire.ConsumeTag(b[pos:])
		switch {
		case n < 0:
			return pos, pos, n
		case t == protowire.EndGroup && inner == number:
			return pos, pos + n, 0
		}
		var code int
		if next, code = protowire.SkipAt(b, pos+n, inner, t, depth-1); code < 0 {
			return next, next, code
		}
		pos = next
	}
}

// number reads a number of type t that is written as wire type w, as the kind of
// node and the bits that [Node] holds, and how many bytes it takes.
func number(b []byte, t *schema.Type, w protowire.Type) (k kind, bits uint64, n int) {
	switch w {
	case protowire.Varint:
		bits, n = protowire.ConsumeVarint(b)
	case protowire.Fixed32:
		var v uint32
		v, n = protowire.ConsumeFixed32(b)
		bits = uint64(v)
	default:
		bits, n = protowire.ConsumeFixed64(b)
	}
	if n < 0 {
		return 0, 0, n
	}
	k, bits = meaning(t, w, bits)
	return k, bits, n
}

// meaning returns what the bits of a number on the wire are as one of type t.
func meaning(t *schema.Type, w protowire.Type, bits uint64) (kind, uint64) {
	if t == nil {
		switch w {
		case protowire.Varint:
			return varintNode, bits
		case protowire.Fixed32:
			return fixed32Node, bits
		}
		return fixed64Node, bits
	}
	if t.Encoding() == schema.ZigZag {
		if t.Kind() == schema.I32 {
			bits = uint64(uint32(bits))
		}
		bits = uint64(protowire.ZagZig(bits))
	}
	switch t.Kind() {
	case schema.Bool:
		if bits != 0 {
			bits = 1
		}
		return boolNode, bits
	case schema.I32, schema.Enum:
		return intNode, uint64(int64(int32(bits)))
	case schema.U32:
		return uintNode, uint64(uint32(bits))
	case schema.U64:
		return uintNode, bits
	case schema.Float:
		return floatNode, bits
	case schema.Double:
		return doubleNode, bits
	default:
		return intNode, bits
	}
}

// skipNumbers steps over count numbers of wire type w at b[pos:] and returns
// the place after them, or how many are left where b ends.
func skipNumbers(b []byte, pos int, w protowire.Type, count int) (end, left int) {
	size := 8
	switch w {
	case protowire.Fixed32:
		size = 4
	case protowire.Varint:
		for ; count > 0 && pos < len(b); pos++ {
			if b[pos] < 0x80 {
				count--
			}
		}
		return pos, count
	}
	if there := (len(b) - pos) / size; there < count {
		return len(b), count - there
	}
	return pos + count*size, 0
}

// checkPacked reports a fault in packed numbers of wire type w: a negative code
// and its place.
func checkPacked(b []byte, pos, end int, w protowire.Type) (at, code int) {
	switch w {
	case protowire.Fixed32:
		if (end-pos)%4 != 0 {
			return end, protowire.ErrEOF
		}
	case protowire.Fixed64:
		if (end-pos)%8 != 0 {
			return end, protowire.ErrEOF
		}
	default:
		for pos < end {
			if b[pos] < 0x80 {
				pos++
				continue
			}
			_, n := protowire.ConsumeVarint(b[pos:end])
			if n < 0 {
				return pos, n
			}
			pos += n
		}
	}
	return end, 0
}

// appendLength puts the length of b[start:], which was written with room for a
// length of size bytes before it, into that room. It moves what was written if
// the length takes another size.
func appendLength(b []byte, start, size int) []byte {
	n := len(b) - start
	need := protowire.SizeVarint(uint64(n))
	if need > size {
		b = append(b, make([]byte, need-size)...)
	}
	if need != size {
		copy(b[start-size+need:], b[start:start+n])
		b = b[:start-size+need+n]
	}
	protowire.AppendVarint(b[:start-size], uint64(n))
	return b
}

// room appends room for the length of about n bytes and returns its size.
func room(b []byte, n int) ([]byte, int) {
	size := protowire.SizeVarint(uint64(max(n, 0)))
	var zero [10]byte
	return append(b, zero[:size]...), size
}
