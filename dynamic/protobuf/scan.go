package protobuf

import (
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

// readRecord reads the record at b[pos:] and returns 0 or a negative code.
func readRecord(b []byte, pos, depth int) (r record, code int) {
	r.start = pos
	var n int
	if pos < len(b) && b[pos] < 0x80 && b[pos] >= 1<<3 && protowire.Type(b[pos]&7) <= protowire.Fixed32 {
		r.number, r.wire, n = int32(b[pos]>>3), protowire.Type(b[pos]&7), 1
	} else if r.number, r.wire, n = protowire.ConsumeTag(b[pos:]); n < 0 {
		r.next = pos
		return r, n
	}
	pos += n
	r.value = pos
	switch r.wire {
	case protowire.Bytes:
		l, n := protowire.ConsumeLength(b[pos:])
		if n < 0 {
			r.next = pos
			return r, n
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
	return r, code
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
