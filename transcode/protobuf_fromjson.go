package transcode

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads JSON and writes Protobuf: messages, lists and maps.

// protoFromJSON is a conversion from JSON to Protobuf.
type protoFromJSON struct{ fromJSON }

// AppendProtobuf converts the JSON value in json and appends the Protobuf
// message to dst, which must not overlap json. Fields are written in the order
// in which they stand. On an error dst comes back as it was. The result does
// not alias json.
func (c *ProtobufConverter) AppendProtobuf(dst, json []byte) ([]byte, error) {
	var r protoFromJSON
	r.start(c.conv, dst, json)
	out, p := dst, failed
	if !r.tooLong() {
		out, p = r.message(dst, r.space(0), c.root)
	}
	if p >= 0 {
		if p = r.space(p); p < len(json) {
			p = r.fail(diag.TrailingData, p, "data after the end of the value")
		}
	}
	if p >= 0 && len(out) > r.limit {
		p = r.tooLarge(0)
	}
	c.conv.release(r.mem)
	if p < 0 {
		return dst, r.fault
	}
	return out, nil
}

// openLength and closeLength enclose what has its length before it. The first leaves room for
// a length of one byte, the second writes the length of what follows at from, and
// shifts that if it needs more. Most parts are shorter than 128 bytes; the
// others are moved once for each level around them.
func openLength(dst []byte) []byte { return append(dst, 0) }

func closeLength(dst []byte, from int) []byte {
	l := len(dst) - from
	if l < 0x80 {
		dst[from-1] = byte(l)
		return dst
	}
	more := protowire.SizeVarint(uint64(l)) - 1
	dst = append(dst, 0, 0, 0, 0)[:len(dst)+more]
	copy(dst[from+more:], dst[from:from+l])
	protowire.AppendVarint(dst[:from-1], uint64(l))
	return dst
}

// message reads the JSON of a message and writes its fields.
func (r *protoFromJSON) message(dst []byte, p int, t *protoTable) ([]byte, int) {
	if t.form != formPlain {
		return r.wellKnown(dst, p, t)
	}
	start := p
	if p >= len(r.in) || r.in[p] != '{' {
		return dst, r.unexpected(p, t.name)
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	r.depth--
	set := r.open(len(t.fields))
	next := 0
	p = r.space(p + 1)
	if p < len(r.in) && r.in[p] == '}' {
		p++
	} else {
		for more := true; more; {
			if dst, p, next = r.member(dst, p, t, &set, next); p < 0 {
				return dst, p
			}
			if p, more = r.next(p, '}'); p < 0 {
				return dst, p
			}
		}
	}
	if t.needs {
		var ok bool
		if dst, ok = r.absentFields(dst, start, t, &set); !ok {
			return dst, failed
		}
	}
	r.drop(&set, len(t.fields))
	r.depth++
	if len(dst) > r.limit {
		return dst, r.tooLarge(start)
	}
	return dst, p
}

// member reads the member at p of the JSON of a message. The field at next is
// the likeliest; the one that likely follows is returned.
func (r *protoFromJSON) member(dst []byte, p int, t *protoTable, set *fields, next int) ([]byte, int, int) {
	at := p
	i, p := r.fieldAt(p, t, next)
	if p < 0 {
		return dst, p, next
	}
	if i < 0 {
		return dst, r.unknownMember(p, at, t), next
	}
	f := &t.fields[i]
	if r.mark(set, i) {
		return dst, r.fail(diag.DuplicateKey, at, fmt.Sprintf("field %q of %s stands twice", f.name, t.name)), next
	}
	if p < len(r.in) && r.in[p] == 'n' && !(f.typ.null && f.shape == single) && r.null(p) {
		r.markNull(set, len(t.fields), i)
		return dst, p + len("null"), next
	}
	if f.rivals != nil && r.anyPresent(set, t, f) {
		return dst, r.fail(diag.InvalidUnion, at, fmt.Sprintf("field %q of %s stands beside another one of its oneof", f.name, t.name)), next
	}
	if dst, p = r.field(dst, p, f); p < 0 {
		r.fault.Field(f.name)
	}
	return dst, p, i + 1
}

// fieldAt reads a member's name and colon and returns the index of the field,
// -1 if it is unknown, and the position of the value.
func (r *protoFromJSON) fieldAt(p int, t *protoTable, next int) (int, int) {
	if next < len(t.fields) && t.fields[next].expect.at(r.in, p) {
		return next, r.space(p + t.fields[next].expect.size)
	}
	n, escaped := r.skipString(p)
	if n < 0 {
		return -1, n
	}
	name := r.in[p+1 : n-1]
	if escaped {
		m := r.memory()
		m.text, _ = jsonwire.AppendUnquotedLossy(m.text[:0], r.in[p:])
		name = m.text
	}
	i := t.names.find(name)
	if i >= 0 {
		i = int(t.named[i])
	}
	return i, r.colon(n)
}

// unknownMember steps over the value at p of the unknown member whose name
// stands at at.
func (r *protoFromJSON) unknownMember(p, at int, t *protoTable) int {
	return r.unknown(p, at, &structTable{name: t.name})
}

// anyPresent reports whether another member of f's oneof has stood with a value.
func (r *protoFromJSON) anyPresent(set *fields, t *protoTable, f *protoField) bool {
	for i, m := range f.rivals {
		if r.present(set, len(t.fields), i)&m != 0 {
			return true
		}
	}
	return false
}

// absentFields checks and fills in what set lacks; the message starts at start.
func (r *protoFromJSON) absentFields(dst []byte, start int, t *protoTable, set *fields) ([]byte, bool) {
	for i := range t.needed {
		lacks := ^r.present(set, len(t.fields), i)
		if m := lacks & t.needed[i]; m != 0 {
			r.protoMissing(start, t, i*64+bits.TrailingZeros64(m))
			return dst, false
		}
		for m := lacks & t.fill[i]; m != 0; m &= m - 1 {
			dst = append(dst, t.fields[i*64+bits.TrailingZeros64(m)].absentProto...)
		}
	}
	return dst, true
}

// field reads the value of f and writes it behind its tag, or nothing if it
// is the zero of a field without presence.
func (r *protoFromJSON) field(dst []byte, p int, f *protoField) ([]byte, int) {
	switch f.shape {
	case repeated:
		return r.list(dst, p, f)
	case mapped:
		return r.mapping(dst, p, f)
	}
	from := len(dst)
	dst = append(dst, f.head...)
	value := len(dst)
	if dst, p = r.value(dst, p, &f.typ); p >= 0 && f.implicit && isZero(dst[value:], f.typ.wire) {
		dst = dst[:from]
	}
	return dst, p
}

// isZero reports whether b is the value zero, or empty.
func isZero(b []byte, wire protowire.Type) bool {
	switch wire {
	case protowire.Fixed32:
		return binary.LittleEndian.Uint32(b) == 0
	case protowire.Fixed64:
		return binary.LittleEndian.Uint64(b) == 0
	}
	return b[0] == 0 // a varint, or a length
}

// list reads an array.
func (r *protoFromJSON) list(dst []byte, p int, f *protoField) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '[' {
		return dst, r.unexpected(p, "array")
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	p = r.space(p + 1)
	if p < len(r.in) && r.in[p] == ']' {
		return dst, p + 1
	}
	r.depth--
	from := 0
	if f.packed {
		dst = openLength(append(dst, f.packedHead...))
		from = len(dst)
	}
	for i, more := 0, true; more; i++ {
		if !f.packed {
			dst = append(dst, f.head...)
		}
		at := p
		if dst, p = r.value(dst, p, &f.typ); p >= 0 {
			if len(dst) > r.limit {
				return dst, r.tooLarge(at)
			}
			p, more = r.next(p, ']')
		}
		if p < 0 {
			r.fault.Index(i)
			return dst, p
		}
	}
	if f.packed {
		dst = closeLength(dst, from)
	}
	r.depth++
	return dst, p
}

// mapping reads an object as a map.
func (r *protoFromJSON) mapping(dst []byte, p int, f *protoField) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '{' {
		return dst, r.unexpected(p, "map")
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	p = r.space(p + 1)
	if p < len(r.in) && r.in[p] == '}' {
		return dst, p + 1
	}
	r.depth--
	unique := !r.conv.opts.allowDuplicates
	base := 0
	if unique {
		base = len(r.memory().entries)
	}
	for more := true; more; {
		at := p
		if dst, p = r.entry(dst, p, f, unique); p < 0 {
			return dst, p
		}
		if len(dst) > r.limit {
			return dst, r.tooLarge(at)
		}
		if p, more = r.next(p, '}'); p < 0 {
			return dst, p
		}
	}
	r.depth++
	if unique {
		if at := r.mem.close(&r.conv.secret, base, dst[r.base:]); at >= 0 {
			return dst, r.fail(diag.DuplicateKey, at, "the map key stands twice")
		}
	}
	return dst, p
}

// entry reads a map's entry "key": value.
func (r *protoFromJSON) entry(dst []byte, p int, f *protoField, unique bool) ([]byte, int) {
	at := p
	dst = openLength(append(dst, f.head...))
	from := len(dst)
	if dst, p = r.key(append(dst, keyNumber|byte(f.key.wire)), p, &f.key); p < 0 {
		return dst, p
	}
	end, key := p, len(dst)-from
	if p = r.colon(p); p < 0 {
		return dst, p
	}
	if dst, p = r.value(append(dst, valueNumber|byte(f.typ.wire)), p, &f.typ); p < 0 {
		r.fault.Key(pathKey(r.in[at:end]))
		return dst, p
	}
	size := len(dst) - from
	dst = closeLength(dst, from)
	if unique {
		from = len(dst) - size // where the entry lies now
		r.mem.add(dst[r.base:from+key], at, from-r.base)
	}
	return dst, p
}
