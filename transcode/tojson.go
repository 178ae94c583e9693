package transcode

import (
	"encoding/binary"
	"fmt"
	"math/bits"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Thrift and writes JSON: structs and containers. Every value
// is followed by a comma; the end of its container takes the last one's place.

// toJSON is a conversion from Thrift to JSON.
type toJSON struct{ state }

// AppendJSON converts the Thrift struct at the front of thrift and appends it
// as JSON to dst, which must not overlap thrift. It returns the number of bytes that the struct
// took; what follows it is not looked at. Members are written in the order of
// the fields on the wire. On an error dst comes back as it was and n is 0. The
// result does not alias thrift.
func (c *Converter) AppendJSON(dst, thrift []byte) (out []byte, n int, err error) {
	var w toJSON
	w.start(c, dst, thrift)
	p := failed
	out = dst
	if !w.tooLong() {
		out, p = w.value(dst, 0, &c.root)
	}
	c.release(w.mem)
	if p < 0 {
		return dst, 0, w.fault
	}
	return out, p, nil
}

// end puts the closing byte in place of the last comma, or after what opened.
func end(dst []byte, closing byte) []byte {
	if last := len(dst) - 1; dst[last] == ',' {
		dst[last] = closing
		return dst
	}
	return append(dst, closing)
}

// structure writes a struct, union or exception.
func (w *toJSON) structure(dst []byte, p int, t *structTable) ([]byte, int) {
	start := p
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	set := w.open(len(t.fields))
	count, next := 0, 0
	dst = append(dst, '{')
	for {
		if fields := t.plain(next, set.word); len(fields) > 0 && fields[0].writes != notPlain {
			var n int
			dst, p, n = w.plainFields(dst, p, fields)
			set.word |= bitsOf(next, n)
			next += n
			count += n
		}
		if p >= len(w.in) {
			return dst, w.wireError(thriftwire.ErrEOF, p)
		}
		if w.in[p] == byte(thriftwire.Stop) {
			p++
			break
		}
		count++
		if dst, p, next = w.anyField(dst, p, t, &set, next); p < 0 {
			return dst, p
		}
	}
	if t.union && count != 1 {
		return dst, w.badUnion(start, t, count)
	}
	if t.needs {
		if dst, p = w.absent(dst, p, t, &set); p < 0 {
			return dst, p
		}
	}
	w.drop(&set, len(t.fields))
	w.depth++
	if dst = end(dst, '}'); len(dst) > w.limit {
		return dst, w.tooLarge(start)
	}
	return dst, p
}

// anyField writes the field at p, which is likely to be the one at next, and
// returns the index that is likely to come then.
func (w *toJSON) anyField(dst []byte, p int, t *structTable, set *fields, next int) (out []byte, end, then int) {
	start := p
	i, p := w.header(p, t, next)
	if p < 0 {
		return dst, p, next
	}
	if i < 0 {
		return dst, w.unknown(p, start, t), next
	}
	f := &t.fields[i]
	if w.mark(set, i) {
		return dst, w.twice(start, t, f), next
	}
	dst = append(dst, f.quoted...)
	if dst, p = w.value(dst, p, &f.typ); p < 0 {
		w.fault.Field(f.name)
		return dst, p, next
	}
	return append(dst, ','), p, i + 1
}

// header reads a field's header and returns the index of the field, -1 if the
// schema has none or one of another type, and the position of the value. The
// field at next is the likeliest.
func (w *toJSON) header(p int, t *structTable, next int) (int, int) {
	if next < len(t.fields) && len(w.in)-p >= 3 {
		h := &t.fields[next].head
		if w.in[p] == h[0] && w.in[p+1] == h[1] && w.in[p+2] == h[2] {
			return next, p + 3
		}
	}
	wire, id, n := thriftwire.ConsumeField(w.in[p:])
	if n < 0 {
		return -1, w.wireError(n, p)
	}
	i := t.byID(id)
	if i >= 0 && t.fields[i].typ.wire != wire {
		f := &t.fields[i]
		if w.conv.opts.strictTypes {
			p = w.mismatch(p, wireName(f.typ.wire), wireName(wire))
			w.fault.Field(f.name)
			return -1, p
		}
		i = -1
	}
	return i, p + n
}

// wireName renders a wire type as its number with its name.
func wireName(t thriftwire.Type) string { return fmt.Sprintf("%d (%s)", byte(t), t) }

// unknown steps over the value at p of the unknown field whose header stands at at.
func (w *toJSON) unknown(p, at int, t *structTable) int {
	wire, id, _ := thriftwire.ConsumeField(w.in[at:])
	if w.conv.opts.rejectUnknown {
		return w.fail(diag.UnknownField, at, fmt.Sprintf("%s has no field %d of type %s", t.name, id, wireName(wire)))
	}
	end, code := thriftwire.SkipAt(w.in, p, wire, w.depth)
	if code < 0 {
		w.wireError(code, end)
		w.fault.Field(strconv.Itoa(int(id)))
		return failed
	}
	return end
}

// absent checks and fills in what set lacks; the struct ends at p.
func (w *toJSON) absent(dst []byte, p int, t *structTable, set *fields) ([]byte, int) {
	for i := range t.required {
		lacks := ^w.present(set, len(t.fields), i)
		if m := lacks & t.required[i]; m != 0 {
			return dst, w.missing(p-1, t, i*64+bits.TrailingZeros64(m))
		}
		for m := lacks & t.fill[i]; m != 0; m &= m - 1 {
			dst = append(dst, t.fields[i*64+bits.TrailingZeros64(m)].absentJSON...)
			dst = append(dst, ',')
		}
	}
	return dst, p
}

// list writes a list or set.
func (w *toJSON) list(dst []byte, p int, t *typ) ([]byte, int) {
	elem, size, n := thriftwire.ConsumeList(w.in[p:])
	if n < 0 {
		return dst, w.wireError(n, p)
	}
	if size > 0 && elem != t.elem.wire {
		return dst, w.mismatch(p, "elements of "+wireName(t.elem.wire), wireName(elem))
	}
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	p += n
	dst = append(dst, '[')
	i := 0
	if t.elem.kind <= schema.Double {
		dst, p, i = w.numbers(dst, p, t.elem.kind, size)
	}
	for ; i < size; i++ {
		at := p
		if dst, p = w.value(dst, p, t.elem); p < 0 {
			w.fault.Index(i)
			return dst, p
		}
		if dst = append(dst, ','); len(dst) > w.limit {
			return dst, w.tooLarge(at)
		}
	}
	w.depth++
	return end(dst, ']'), p
}

// mapping writes a map as an object or an array of pairs.
func (w *toJSON) mapping(dst []byte, p int, t *typ) ([]byte, int) {
	start := p
	key, elem, size, n := thriftwire.ConsumeMap(w.in[p:])
	if n < 0 {
		return dst, w.wireError(n, p)
	}
	if size > 0 && (key != t.key.wire || elem != t.elem.wire) {
		return dst, w.mismatch(start, "entries of "+wireName(t.key.wire)+" to "+wireName(t.elem.wire), wireName(key)+" to "+wireName(elem))
	}
	if w.depth == 0 {
		return dst, w.tooDeep(p)
	}
	w.depth--
	p += n
	unique := !w.conv.opts.allowDuplicates && size > 1
	base := 0
	if unique {
		base = len(w.memory().entries)
	}
	opening, closing := byte('['), byte(']')
	if t.textKey {
		opening, closing = '{', '}'
	}
	dst = append(dst, opening)
	for i := range size {
		at := p
		if t.textKey {
			dst, p = w.member(dst, p, t, unique)
		} else {
			dst, p = w.pair(dst, p, t, i, unique)
		}
		if p < 0 {
			return dst, p
		}
		if dst = append(dst, ','); len(dst) > w.limit {
			return dst, w.tooLarge(at)
		}
	}
	w.depth++
	if unique {
		if at := w.mem.close(&w.conv.secret, base, dst[w.base:]); at >= 0 {
			return dst, w.fail(diag.DuplicateKey, at, "the map key stands twice")
		}
	}
	return end(dst, closing), p
}

// member writes a map's entry as "key":value.
func (w *toJSON) member(dst []byte, p int, t *typ, unique bool) ([]byte, int) {
	at, from := p, len(dst)
	if dst, p = w.key(dst, p, t.key); p < 0 {
		return dst, p
	}
	if unique {
		w.mem.add(dst[w.base:], at, from-w.base)
	}
	end := len(dst)
	dst = append(dst, ':')
	if dst, p = w.value(dst, p, t.elem); p < 0 {
		w.fault.Key(pathKey(dst[from:end]))
	}
	return dst, p
}

// pair writes a map's entry, which is the one with index i, as [key,value].
func (w *toJSON) pair(dst []byte, p int, t *typ, i int, unique bool) ([]byte, int) {
	at := p
	dst = append(dst, '[')
	from := len(dst)
	if dst, p = w.value(dst, p, t.key); p < 0 {
		w.fault.Index(0).Index(i)
		return dst, p
	}
	if unique {
		w.mem.add(dst[w.base:], at, from-w.base)
	}
	dst = append(dst, ',')
	if dst, p = w.value(dst, p, t.elem); p < 0 {
		w.fault.Index(1).Index(i)
		return dst, p
	}
	return append(dst, ']'), p
}

// need reports whether n bytes stand at p; if not, the fault is set.
func (w *toJSON) need(p, n int) bool {
	if len(w.in)-p >= n {
		return true
	}
	w.wireError(thriftwire.ErrEOF, p)
	return false
}

func (w *toJSON) u32(p int) uint32 { return binary.BigEndian.Uint32(w.in[p:]) }
func (w *toJSON) u64(p int) uint64 { return binary.BigEndian.Uint64(w.in[p:]) }
