package transcode

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads JSON and writes Thrift as a stream. What the functions of
// fromjson.go do for a value in memory is done here for one that exceeds the
// window: faults must be the same.

type thriftStream struct {
	stream
	r       fromJSON
	quoted  []byte // a part of a string, in quotes
	encoded []byte // base64 that is not decoded yet

	cut, cutFor int64 // of tokens: where they end if the window ends at cutFor
}

// all converts the values up to the end of the input.
func (s *thriftStream) all() {
	for s.next() {
		ok := false
		if s.src.visible()[s.p] == '[' {
			ok = s.array()
		} else {
			ok = s.one()
		}
		if !ok {
			return
		}
		if s.many(false); !s.written() {
			return
		}
	}
}

// many converts the objects that lie whole in the window after the first one;
// in an array each with the comma behind it.
func (s *thriftStream) many(inArray bool) {
	limit := s.softLimit()
	s.stats.Values += int64(s.run(s.tokens(), math.MaxInt, func(dst []byte, p int) ([]byte, int) {
		if p = s.r.space(p); p == len(s.r.in) || s.r.in[p] != '{' {
			return dst, failed
		}
		head := len(dst)
		if s.opts.framed {
			dst = append(dst, 0, 0, 0, 0)
		}
		if s.out.at == nil {
			s.r.limit = min(limit, len(dst)+s.conv.opts.maxSize)
		}
		if dst, p = s.r.value(dst, p, &s.conv.root); p < 0 {
			return dst, p
		}
		if s.opts.framed {
			binary.BigEndian.PutUint32(dst[head:], uint32(len(dst)-head-4))
		}
		if inArray {
			var more bool
			if p, more = s.r.next(p, ']'); !more {
				return dst, failed
			}
		}
		return dst, p
	}))
}

// next goes to the next outermost value and reports whether there is one.
func (s *thriftStream) next() bool {
	for {
		in := s.src.visible()
		if s.p += jsonwire.SkipSpace(in[s.p:]); s.p < len(in) {
			return true
		}
		if !s.out.flush() || !s.more() { // a reader of a pipe may wait for what is there
			return false
		}
	}
}

// array converts the elements of an outermost array.
func (s *thriftStream) array() bool {
	for more := s.opened(']'); more; {
		if !s.one() {
			return false
		}
		var ok bool
		if more, ok = s.comma(']'); !ok {
			return false
		}
		if more {
			if s.many(true); !s.written() {
				return false
			}
		}
	}
	return true
}

// one converts an outermost value.
func (s *thriftStream) one() bool {
	level := 0
	if s.out.at == nil {
		level = s.out.hold()
	}
	at, head := s.offset(s.p), s.out.offset()
	if s.opts.framed {
		s.out.buf = append(s.out.buf, 0, 0, 0, 0)
	}
	if !s.value(&s.conv.root) {
		return s.in(func(f *diag.Fault) { f.Index(int(s.stats.Values)) })
	}
	if s.opts.framed {
		size := s.out.offset() - head - 4
		if size > math.MaxInt32 {
			return s.fail(diag.SizeLimit, at, "the struct exceeds the 2 GiB - 1 that a frame can hold")
		}
		if !s.out.patch(head, uint32(size)) {
			return false
		}
	}
	if s.out.at == nil {
		s.out.release(level)
	}
	s.stats.Values++
	return s.written()
}

// opened steps over the bracket at p, and over the one that closes it if
// nothing stands between them; it reports whether something does.
func (s *thriftStream) opened(end byte) (more bool) {
	s.p++
	if s.space(); s.at(end) {
		s.p++
		return false
	}
	return true
}

// comma reads the comma or end after a member or element and reports whether
// another one follows.
func (s *thriftStream) comma(end byte) (more, ok bool) {
	s.space()
	if in := s.src.visible(); s.p < len(in) && in[s.p] != ',' && in[s.p] != end {
		s.token() // which the fault describes
	}
	s.r.in = s.src.visible()
	p, more := s.r.next(s.p, end)
	if p < 0 {
		return false, s.failed()
	}
	if s.p = p; more {
		s.space()
	}
	return more, true
}

// value reads the value at p, before which no white space stands.
func (s *thriftStream) value(t *typ) bool {
	if o := s.attempt(s.tokens(), true, s.step(t)); o != incomplete {
		return o == done
	}
	if s.p == len(s.src.visible()) && !s.more() {
		return s.read(s.tokens(), t) == done // which says that nothing is there
	}
	switch first := s.src.visible()[s.p]; {
	case t.kind == schema.Struct && first == '{':
		return s.structure(t.strct)
	case t.kind == schema.Map && first == byte('[') && !t.textKey, t.kind == schema.Map && first == '{' && t.textKey:
		return s.mapping(t)
	case (t.kind == schema.List || t.kind == schema.Set) && first == '[':
		return s.list(t)
	case (t.kind == schema.String || t.kind == schema.Binary) && first == '"':
		return s.text(t)
	}
	s.atom()
	return s.read(s.src.visible(), t) == done
}

// read reads the value at p if it lies in in.
func (s *thriftStream) read(in []byte, t *typ) outcome {
	return s.piece(in, s.step(t))
}

func (s *thriftStream) step(t *typ) step {
	return func(dst []byte, p int) ([]byte, int) { return s.r.value(dst, p, t) }
}

// structure reads an object that exceeds the window.
func (s *thriftStream) structure(t *structTable) bool {
	start := s.offset(s.p)
	if !s.enter() {
		return false
	}
	set := s.r.open(len(t.fields))
	count, next := 0, 0
	for more := s.opened('}'); more; {
		i, ok := s.field(t, &set, next)
		if !ok {
			return false
		}
		if i >= 0 {
			next = i + 1
			count++
		}
		if !s.written() {
			return false
		}
		if more, ok = s.comma('}'); !ok {
			return false
		}
	}
	if t.union && count != 1 {
		s.r.badUnion(s.p-1, t, count)
		return s.failedAt(start)
	}
	if t.needs {
		dst, p := s.r.absent(s.out.buf, s.p, s.p, t, &set)
		if p < 0 {
			return s.failedAt(start)
		}
		s.out.buf = dst
	}
	s.r.drop(&set, len(t.fields))
	s.r.depth++
	s.out.buf = append(s.out.buf, byte(thriftwire.Stop))
	return true
}

// field reads a member of an object and returns the index of its field, -1 if
// it has none or is null.
func (s *thriftStream) field(t *structTable, set *fields, next int) (int, bool) {
	s.nameToValue()
	s.r.in = s.src.visible()
	at := s.p
	i, p := s.r.name(at, t, next)
	if p < 0 {
		return -1, s.failed()
	}
	if i < 0 {
		if s.conv.opts.rejectUnknown {
			s.r.unknown(p, at, t)
			return -1, s.failed()
		}
		s.p = p
		return -1, s.unknown()
	}
	f := &t.fields[i]
	if s.r.mark(set, i) {
		s.r.twice(at, t, f)
		return -1, s.failed()
	}
	if s.p = p; s.at('n') {
		if s.token(); s.isNull() {
			s.r.markNull(set, len(t.fields), i)
			s.p += len("null")
			return -1, true
		}
	}
	s.out.buf = append(s.out.buf, f.head[0], f.head[1], f.head[2])
	if !s.value(&f.typ) {
		return -1, s.in(func(fault *diag.Fault) { fault.Field(f.name) })
	}
	return i, true
}

func (s *thriftStream) isNull() bool {
	s.r.in = s.src.visible()
	return s.r.null(s.p)
}

// counted ends a container whose header ends at head with its count.
func (s *thriftStream) counted(head int64, count int, at int64) bool {
	if count > math.MaxInt32 {
		return s.fail(diag.SizeLimit, at, "more elements than a count of 31 bits can tell")
	}
	return s.out.patch(head-4, uint32(count))
}

// list reads an array that exceeds the window as a list or set.
func (s *thriftStream) list(t *typ) bool {
	start := s.offset(s.p)
	if !s.enter() {
		return false
	}
	s.out.buf = thriftwire.AppendList(s.out.buf, t.elem.wire, 0)
	head := s.out.offset()
	var keys *keySet
	if t.kind == schema.Set && !s.conv.opts.allowDuplicates {
		keys = newKeySet(s.conv.opts.maxSize)
	}
	n := 0
	for more := s.opened(']'); more; n++ {
		at, ok := s.offset(s.p), false
		if keys == nil {
			ok = s.value(t.elem)
		} else {
			ok = s.held(t.elem, keys, at)
		}
		if !ok {
			return s.in(func(f *diag.Fault) { f.Index(n) })
		}
		if !s.written() {
			return false
		}
		if more, ok = s.comma(']'); !ok {
			return s.in(func(f *diag.Fault) { f.Index(n + 1) })
		}
		if more && keys == nil {
			n += s.elements(t.elem)
		}
	}
	s.r.depth++
	return s.counted(head, n, start) && s.unique(keys, "set element")
}

// elements reads the elements of a list that lie whole in the window, each with
// the comma behind it, and returns their number.
func (s *thriftStream) elements(t *typ) int {
	return s.run(s.tokens(), math.MaxInt, func(dst []byte, p int) ([]byte, int) {
		if dst, p = s.r.value(dst, p, t); p < 0 {
			return dst, p
		}
		p, more := s.r.next(p, ']')
		if !more {
			return dst, failed
		}
		return dst, p
	})
}

// held reads a value, which is noted in keys.
func (s *thriftStream) held(t *typ, keys *keySet, at int64) bool {
	level := s.out.hold()
	from := s.out.offset()
	ok := s.value(t) && s.written() && s.note(keys, s.out.buf[from-s.out.base:], at)
	s.out.release(level)
	return ok
}

// mapping reads a map that exceeds the window: an object, or an array of pairs.
func (s *thriftStream) mapping(t *typ) bool {
	start := s.offset(s.p)
	if !s.enter() {
		return false
	}
	s.out.buf = thriftwire.AppendMap(s.out.buf, t.key.wire, t.elem.wire, 0)
	head := s.out.offset()
	var keys *keySet
	if !s.conv.opts.allowDuplicates {
		keys = newKeySet(s.conv.opts.maxSize)
	}
	last := byte(']')
	if t.textKey {
		last = '}'
	}
	n := 0
	for more := s.opened(last); more; n++ {
		ok := false
		if t.textKey {
			ok = s.member(t, keys)
		} else {
			ok = s.pair(t, n, keys)
		}
		if !ok || !s.written() {
			return false
		}
		if more, ok = s.comma(last); !ok {
			return false
		}
	}
	s.r.depth++
	return s.counted(head, n, start) && s.unique(keys, "map key")
}

// member reads a map's entry "key": value.
func (s *thriftStream) member(t *typ, keys *keySet) bool {
	if s.nameToValue(); !s.at('"') {
		s.token() // which the fault describes
	}
	at, from := s.p, len(s.out.buf)
	key := func(dst []byte, p int) ([]byte, int) { return s.r.key(dst, p, t.key) }
	if s.piece(s.src.visible(), key) != done || !s.note(keys, s.out.buf[from:], s.offset(at)) {
		return false
	}
	var shown shownPart
	shown.set(s.r.in[at:s.p])
	p := s.r.colon(s.p)
	if p < 0 {
		return s.failed()
	}
	s.p = p
	if !s.value(t.elem) {
		return s.in(func(f *diag.Fault) { f.Key(shown.String()) })
	}
	return true
}

// pair reads a map's entry [key, value], which is the one with index i.
func (s *thriftStream) pair(t *typ, i int, keys *keySet) bool {
	step := func(f *diag.Fault) { f.Index(i) }
	if !s.at('[') {
		if s.p < len(s.src.visible()) {
			s.atom()
		}
		s.r.in = s.src.visible()
		s.r.unexpected(s.p, "pair [key, value]")
		s.failed()
		return s.in(step)
	}
	at := s.offset(s.p)
	s.p++
	s.space()
	ok := false
	if keys == nil {
		ok = s.value(t.key)
	} else {
		ok = s.held(t.key, keys, at)
	}
	if !ok {
		return s.in(func(f *diag.Fault) { f.Index(0).Index(i) })
	}
	more, ok := s.comma(']')
	if ok && more {
		if !s.value(t.elem) {
			return s.in(func(f *diag.Fault) { f.Index(1).Index(i) })
		}
		more, ok = s.comma(']')
	} else if ok {
		more = true // a pair of one
	}
	if ok && more {
		ok = s.fail(diag.TypeMismatch, at, "a map entry is a pair [key, value]")
	}
	if !ok {
		return s.in(step)
	}
	return true
}
