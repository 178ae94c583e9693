package transcode

import (
	"encoding/binary"
	"fmt"
	"math/bits"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads JSON and writes Thrift: structs and containers.

// fromJSON is a conversion from JSON to Thrift.
type fromJSON struct{ state }

// AppendThrift converts the JSON value in json and appends the Thrift struct
// to dst, which must not overlap json. Fields are written in the order in which they stand. On an error
// dst comes back as it was. The result does not alias json.
func (c *Converter) AppendThrift(dst, json []byte) ([]byte, error) {
	var r fromJSON
	r.start(c, dst, json)
	out, err := c.whole(&r, dst, &c.root)
	if err != nil {
		return dst, err
	}
	return out, nil
}

// whole converts the input, which must be one value of type t, and ends the
// conversion.
func (c *Converter) whole(r *fromJSON, dst []byte, t *typ) ([]byte, error) {
	p := failed
	if !r.tooLong() {
		dst, p = r.value(dst, r.space(0), t)
	}
	if p >= 0 {
		p = r.atEnd(p)
	}
	c.release(r.mem)
	if p < 0 {
		return dst, r.fault
	}
	return dst, nil
}

// atEnd returns the end of the input if nothing but white space stands from p on.
func (r *fromJSON) atEnd(p int) int {
	if p = r.space(p); p < len(r.in) {
		return r.fail(diag.TrailingData, p, "data after the end of the value")
	}
	return p
}

// space returns the position of the first byte at or after p that is not
// white space.
func (r *fromJSON) space(p int) int {
	if p < len(r.in) && r.in[p] > ' ' {
		return p
	}
	return p + jsonwire.SkipSpace(r.in[p:])
}

// structure reads an object as a struct, union or exception.
func (r *fromJSON) structure(dst []byte, p int, t *structTable) ([]byte, int) {
	start := p
	if p >= len(r.in) || r.in[p] != '{' {
		return dst, r.unexpected(p, t.name)
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	r.depth--
	set := r.open(len(t.fields))
	count, next := 0, 0
	p = r.space(p + 1)
	more := p >= len(r.in) || r.in[p] != '}'
	if !more {
		p++
	}
	for more {
		done := false
		if fields := t.plain(next, set.word); len(fields) > 0 && fields[0].reads != notPlain {
			var n int
			dst, p, n, done = r.plainMembers(dst, p, fields)
			set.word |= bitsOf(next, n)
			next += n
			count += n
		}
		if !done {
			var had bool
			if dst, p, next, had = r.anyMember(dst, p, t, &set, next); p < 0 {
				return dst, p
			}
			if had {
				count++
			}
		}
		if done && p < len(r.in) && r.in[p] == '}' {
			p++
			break
		}
		if p, more = r.next(p, '}'); p < 0 {
			return dst, p
		}
	}
	if t.union && count != 1 {
		return dst, r.badUnion(start, t, count)
	}
	if t.needs {
		if dst, p = r.absent(dst, p, start, t, &set); p < 0 {
			return dst, p
		}
	}
	r.drop(&set, len(t.fields))
	r.depth++
	if dst = append(dst, byte(thriftwire.Stop)); len(dst) > r.limit {
		return dst, r.tooLarge(start)
	}
	return dst, p
}

// anyMember reads the member at p, which is likely to be the field at next. It
// returns the index that is likely to come then, and whether the member has a
// value of a field.
func (r *fromJSON) anyMember(dst []byte, p int, t *structTable, set *fields, next int) (out []byte, end, then int, had bool) {
	start := p
	i, p := r.name(p, t, next)
	switch {
	case p < 0:
		return dst, p, next, false
	case i < 0:
		return dst, r.unknown(p, start, t), next, false
	case r.mark(set, i):
		return dst, r.twice(start, t, &t.fields[i]), next, false
	case p < len(r.in) && r.in[p] == 'n' && r.null(p):
		r.markNull(set, len(t.fields), i)
		return dst, p + len("null"), next, false
	}
	f := &t.fields[i]
	dst = append(dst, f.head[0], f.head[1], f.head[2])
	if dst, p = r.value(dst, p, &f.typ); p < 0 {
		r.fault.Field(f.name)
	}
	return dst, p, i + 1, true
}

// next reads the comma or end after a member or element and reports whether
// another one follows, at the position that it returns.
func (r *fromJSON) next(p int, end byte) (int, bool) {
	p = r.space(p)
	if p == len(r.in) {
		return r.jsonError(jsonwire.ErrEOF, p), false
	}
	switch r.in[p] {
	case ',':
		return r.space(p + 1), true
	case end:
		return p + 1, false
	}
	return r.fail(diag.Syntax, p, "',' or '"+string(rune(end))+"' expected, got "+r.describe(p)), false
}

// name reads a member's name and colon and returns the index of the field, -1
// if it is unknown, and the position of the value. The field at next is the
// likeliest.
func (r *fromJSON) name(p int, t *structTable, next int) (int, int) {
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
	if i < 0 && t.own != nil {
		i = t.own.find(name)
	}
	return i, r.colon(n)
}

// skipString returns the position after the string at p and whether it holds escapes.
func (r *fromJSON) skipString(p int) (int, bool) {
	if p < len(r.in) && r.in[p] != '"' {
		return r.fail(diag.Syntax, p, "a string expected, got "+r.describe(p)), false
	}
	n, escaped := jsonwire.SkipString(r.in[p:])
	if n >= 0 {
		return p + n, escaped
	}
	if r.conv.opts.lossyText {
		if _, n = jsonwire.AppendUnquotedLossy(nil, r.in[p:]); n >= 0 {
			return p + n, true
		}
	}
	return r.jsonError(n, p), false
}

// colon reads a colon and the white space around it.
func (r *fromJSON) colon(p int) int {
	p = r.space(p)
	if p == len(r.in) {
		return r.jsonError(jsonwire.ErrEOF, p)
	}
	if r.in[p] != ':' {
		return r.fail(diag.Syntax, p, "':' expected, got "+r.describe(p))
	}
	return r.space(p + 1)
}

// unknown steps over the value at p of the unknown member whose name stands at
// at.
func (r *fromJSON) unknown(p, at int, t *structTable) int {
	if r.conv.opts.rejectUnknown {
		n, _ := jsonwire.SkipString(r.in[at:])
		return r.fail(diag.UnknownField, at, fmt.Sprintf("%s has no field %s", t.name, pathKey(r.in[at:at+max(n, 0)])))
	}
	n := jsonwire.Skip(r.in[p:], r.depth)
	if n < 0 {
		return r.jsonError(n, p)
	}
	return p + n
}

// null reports whether null stands at p.
func (r *fromJSON) null(p int) bool { return jsonwire.SkipLiteral(r.in[p:], "null") > 0 }

// absent checks and fills in what set lacks; the struct starts at start.
func (r *fromJSON) absent(dst []byte, p, start int, t *structTable, set *fields) ([]byte, int) {
	for w := range t.required {
		lacks := ^r.present(set, len(t.fields), w)
		if m := lacks & t.required[w]; m != 0 {
			return dst, r.missing(start, t, w*64+bits.TrailingZeros64(m))
		}
		for m := lacks & t.fill[w]; m != 0; m &= m - 1 {
			dst = append(dst, t.fields[w*64+bits.TrailingZeros64(m)].absentThrift...)
		}
	}
	return dst, p
}

// list reads an array as a list or set.
func (r *fromJSON) list(dst []byte, p int, t *typ) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '[' {
		return dst, r.unexpected(p, t.kind.String())
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	dst = thriftwire.AppendList(dst, t.elem.wire, 0)
	head := len(dst)
	p = r.space(p + 1)
	if p < len(r.in) && r.in[p] == ']' {
		return dst, p + 1
	}
	r.depth--
	unique := t.kind == schema.Set && !r.conv.opts.allowDuplicates
	base := 0
	if unique {
		base = len(r.memory().entries)
	}
	i := 0
	if !unique && t.elem.kind <= schema.String {
		dst, p, i = r.elements(dst, p, t.elem.kind)
	}
	for {
		at, from := p, len(dst)
		if dst, p = r.value(dst, p, t.elem); p < 0 {
			r.fault.Index(i)
			return dst, p
		}
		if unique {
			r.mem.add(dst[r.base:], at, from-r.base)
		}
		if len(dst) > r.limit {
			return dst, r.tooLarge(at)
		}
		i++
		if p+1 < len(r.in) && r.in[p] == ',' && r.in[p+1] > ' ' {
			p++
			continue
		}
		var more bool
		if p, more = r.next(p, ']'); more {
			continue
		}
		if p < 0 {
			r.fault.Index(i)
			return dst, p
		}
		binary.BigEndian.PutUint32(dst[head-4:], uint32(i))
		break
	}
	r.depth++
	if unique {
		if at := r.mem.close(&r.conv.secret, base, dst[r.base:]); at >= 0 {
			return dst, r.fail(diag.DuplicateKey, at, "the set element stands twice")
		}
	}
	return dst, p
}

// mapping reads a map: an object, or an array of pairs.
func (r *fromJSON) mapping(dst []byte, p int, t *typ) ([]byte, int) {
	first, last := byte('['), byte(']')
	if t.textKey {
		first, last = '{', '}'
	}
	if p >= len(r.in) || r.in[p] != first {
		return dst, r.unexpected(p, "map")
	}
	if r.depth == 0 {
		return dst, r.tooDeep(p)
	}
	dst = thriftwire.AppendMap(dst, t.key.wire, t.elem.wire, 0)
	head := len(dst)
	p = r.space(p + 1)
	if p < len(r.in) && r.in[p] == last {
		return dst, p + 1
	}
	r.depth--
	unique := !r.conv.opts.allowDuplicates
	base := 0
	if unique {
		base = len(r.memory().entries)
	}
	for i := 0; ; {
		at := p
		if t.textKey {
			dst, p = r.member(dst, p, t, unique)
		} else {
			dst, p = r.pair(dst, p, t, i, unique)
		}
		if p < 0 {
			return dst, p
		}
		if len(dst) > r.limit {
			return dst, r.tooLarge(at)
		}
		i++
		if p+1 < len(r.in) && r.in[p] == ',' && r.in[p+1] > ' ' {
			p++
			continue
		}
		var more bool
		if p, more = r.next(p, last); more {
			continue
		}
		if p < 0 {
			return dst, p
		}
		binary.BigEndian.PutUint32(dst[head-4:], uint32(i))
		break
	}
	r.depth++
	if unique {
		if at := r.mem.close(&r.conv.secret, base, dst[r.base:]); at >= 0 {
			return dst, r.fail(diag.DuplicateKey, at, "the map key stands twice")
		}
	}
	return dst, p
}

// member reads a map's entry "key": value.
func (r *fromJSON) member(dst []byte, p int, t *typ, unique bool) ([]byte, int) {
	at, from := p, len(dst)
	if dst, p = r.key(dst, p, t.key); p < 0 {
		return dst, p
	}
	end := p
	if unique {
		if t.key.kind == schema.String {
			from += 4 // sorted text is not sorted by its length
		}
		r.mem.add(dst[r.base:], at, from-r.base)
	}
	if p+1 < len(r.in) && r.in[p] == ':' && r.in[p+1] > ' ' {
		p++
	} else if p = r.colon(p); p < 0 {
		return dst, p
	}
	if dst, p = r.value(dst, p, t.elem); p < 0 {
		r.fault.Key(pathKey(r.in[at:end]))
	}
	return dst, p
}

// pair reads a map's entry [key, value], which is the one with index i.
func (r *fromJSON) pair(dst []byte, p int, t *typ, i int, unique bool) ([]byte, int) {
	if p >= len(r.in) || r.in[p] != '[' {
		p = r.unexpected(p, "pair [key, value]")
		r.fault.Index(i)
		return dst, p
	}
	at, from := p, len(dst)
	if dst, p = r.value(dst, r.space(p+1), t.key); p < 0 {
		r.fault.Index(0).Index(i)
		return dst, p
	}
	if unique {
		r.mem.add(dst[r.base:], at, from-r.base)
	}
	var more bool
	if p, more = r.next(p, ']'); more {
		if dst, p = r.value(dst, p, t.elem); p < 0 {
			r.fault.Index(1).Index(i)
			return dst, p
		}
		p, more = r.next(p, ']')
	} else if p >= 0 {
		more = true
	}
	if more {
		p = r.fail(diag.TypeMismatch, at, "a map entry is a pair [key, value]")
	}
	if p < 0 {
		r.fault.Index(i)
	}
	return dst, p
}
