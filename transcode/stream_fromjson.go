package transcode

import (
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
	}
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

// space steps over white space.
func (s *thriftStream) space() {
	for {
		in := s.src.visible()
		if s.p += jsonwire.SkipSpace(in[s.p:]); s.p < len(in) || !s.more() {
			return
		}
	}
}

// at reports whether c stands at p.
func (s *thriftStream) at(c byte) bool {
	in := s.src.visible()
	return s.p < len(in) && in[s.p] == c
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
	if o := s.whole(t); o != incomplete {
		return o == done
	}
	if s.p == len(s.src.visible()) && !s.more() {
		return s.whole(t) == done // which says that nothing is there
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

// whole reads the value at p if it lies in the window.
func (s *thriftStream) whole(t *typ) outcome { return s.read(s.tokens(), t) }

// read reads the value at p if it lies in in.
func (s *thriftStream) read(in []byte, t *typ) outcome {
	return s.piece(in, func(dst []byte, p int) ([]byte, int) { return s.r.value(dst, p, t) })
}

// tokens returns the window without a number, literal or escape at its end that
// may go on behind it: the functions for values in memory would take what is
// there for all of it.
func (s *thriftStream) tokens() []byte {
	in := s.src.visible()
	if s.src.done() || s.src.full {
		return in
	}
	if end := s.offset(len(in)); end != s.cutFor { // once for what has arrived, not for each value in it
		n := len(in)
		for n > 0 && (inToken(in[n-1]) || in[n-1] == '\\') {
			n--
		}
		s.cut, s.cutFor = s.offset(n), end
	}
	return in[:max(s.p, int(s.cut-s.src.base))]
}

// inToken reports whether c may stand in a number or literal.
func inToken(c byte) bool {
	return c-'0' <= 9 || c|0x20-'a' <= 'z'-'a' || c == '.' || c == '-' || c == '+'
}

// token gets the number or literal at p into the window.
func (s *thriftStream) token() {
	for i := 0; ; {
		in := s.src.visible()[s.p:]
		for ; i < len(in); i++ {
			if !inToken(in[i]) {
				return
			}
		}
		if !s.more() {
			return
		}
	}
}

// stringEnd gets the string at p into the window and returns the position after
// it, or 0 if it takes more than limit bytes or does not end.
func (s *thriftStream) stringEnd(limit int) int {
	for i := 1; ; {
		in := s.src.visible()[s.p:]
		for i < len(in) {
			switch in[i] {
			case '"':
				return s.p + i + 1
			case '\\':
				i += 2
			default:
				i++
			}
		}
		if len(in) >= limit || !s.more() {
			return 0
		}
	}
}

// atom gets the value at p into the window, as far as it can. If it cannot, the
// conversion will say why.
func (s *thriftStream) atom() {
	switch in := s.src.visible(); in[s.p] {
	case '"':
		s.stringEnd(math.MaxInt)
	case '{', '[':
		s.nested()
	default:
		s.token()
	}
}

// nested gets the object or array at p into the window: up to the bracket that
// closes it, whatever stands in between.
func (s *thriftStream) nested() {
	depth, text := 0, false
	for i := 0; ; {
		in := s.src.visible()[s.p:]
		for ; i < len(in); i++ {
			switch c := in[i]; {
			case text && c == '\\':
				i++
			case c == '"':
				text = !text
			case text:
			case c == '{' || c == '[':
				depth++
			case c == '}' || c == ']':
				if depth--; depth == 0 {
					return
				}
			}
		}
		if !s.more() {
			return
		}
	}
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

// nameToValue gets the name at p, the colon behind it and the first byte of
// the value into the window, as far as it can.
func (s *thriftStream) nameToValue() {
	if !s.at('"') {
		return
	}
	end := s.stringEnd(math.MaxInt)
	if end == 0 {
		return
	}
	for n, colon := end-s.p, false; ; {
		in := s.src.visible()[s.p:]
		n += jsonwire.SkipSpace(in[n:])
		switch {
		case n == len(in):
			if !s.more() {
				return
			}
		case in[n] == ':' && !colon:
			colon = true
			n++
		default:
			return
		}
	}
}

// unknown steps over the value at p, where it stands alone in a field.
func (s *thriftStream) unknown() bool {
	at := s.offset(s.p)
	if n := s.skip(s.r.depth); n < 0 {
		s.r.jsonError(n, s.p)
		return s.failedAt(at)
	}
	return true
}

// skip steps over the value at p, which may nest depth levels, and returns 0 or
// a negative result of package jsonwire.
func (s *thriftStream) skip(depth int) int {
	if n := jsonwire.Skip(s.tokens()[s.p:], depth); n >= 0 {
		s.p += n
		return 0
	} else if n != jsonwire.ErrEOF || s.src.done() {
		return n
	}
	if s.p == len(s.src.visible()) && !s.more() {
		return jsonwire.ErrEOF
	}
	switch s.src.visible()[s.p] {
	case '"':
		return s.skipText()
	case '{', '[':
		if depth <= 0 {
			return jsonwire.ErrDepth
		}
		return s.skipNested(depth - 1)
	}
	s.token()
	n := jsonwire.Skip(s.src.visible()[s.p:], depth)
	s.p += max(n, 0)
	return min(n, 0)
}

// skipText steps over a string.
func (s *thriftStream) skipText() int {
	s.p++
	for {
		part, closed := s.stringPart()
		if part == nil {
			return s.unquoteFault()
		}
		s.p += len(part)
		s.quoted = append(append(append(s.quoted[:0], '"'), part...), '"')
		if n, _ := jsonwire.SkipString(s.quoted); n < 0 {
			return n
		}
		if closed {
			s.p++
			return 0
		}
	}
}

// skipNested steps over an array or object.
func (s *thriftStream) skipNested(depth int) int {
	object := s.at('{')
	end := s.src.visible()[s.p] + 2 // ']' and '}' stand two after '[' and '{'
	if !s.opened(end) {
		return 0
	}
	for {
		if object {
			if s.p == len(s.src.visible()) {
				return jsonwire.ErrEOF
			}
			if !s.at('"') {
				return jsonwire.ErrSyntax
			}
			if n := s.skip(0); n < 0 {
				return n
			}
			s.space()
			if s.p == len(s.src.visible()) {
				return jsonwire.ErrEOF
			}
			if !s.at(':') {
				return jsonwire.ErrSyntax
			}
			s.p++
			s.space()
		}
		if n := s.skip(depth); n < 0 {
			return n
		}
		s.space()
		switch {
		case s.p == len(s.src.visible()):
			return jsonwire.ErrEOF
		case s.at(end):
			s.p++
			return 0
		case !s.at(','):
			return jsonwire.ErrSyntax
		}
		s.p++
		s.space()
	}
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
	}
	s.r.depth++
	return s.counted(head, n, start) && s.unique(keys, "set element")
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
