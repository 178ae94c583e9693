package transcode

import (
	"encoding/binary"
	"fmt"
	"math"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file reads Thrift and writes JSON as a stream. What the functions of
// tojson.go do for a value in memory is done here for one that exceeds the
// window: faults must be the same.

type jsonStream struct {
	stream
	w toJSON
}

// all converts the structs up to the end of the input.
func (s *jsonStream) all() {
	if s.opts.array {
		s.out.buf = append(s.out.buf, '[')
	}
	for ; ; s.stats.Values++ {
		if s.p == len(s.src.visible()) {
			if !s.out.flush() { // a reader of a pipe may wait for it
				return
			}
			if !s.more() {
				break
			}
		}
		if s.opts.array && s.stats.Values > 0 {
			s.out.buf = append(s.out.buf, ",\n"...)
		}
		if !s.one() {
			if s.fault != nil {
				s.fault.Index(int(s.stats.Values))
			}
			return
		}
		if !s.opts.array {
			s.out.buf = append(s.out.buf, '\n')
		}
		if s.many(); !s.written() {
			return
		}
	}
	if s.opts.array {
		s.out.buf = append(s.out.buf, "]\n"...)
	}
}

// many converts the structs that lie whole in the window after the first one,
// if nothing but they stands there.
func (s *jsonStream) many() {
	if s.opts.framed {
		return
	}
	s.stats.Values += int64(s.run(s.src.visible(), math.MaxInt, func(dst []byte, p int) ([]byte, int) {
		if s.opts.array {
			return s.w.value(append(dst, ",\n"...), p, &s.conv.root)
		}
		if dst, p = s.w.value(dst, p, &s.conv.root); p < 0 {
			return dst, p
		}
		return append(dst, '\n'), p
	}))
}

// one converts a struct, with its frame if there are frames.
func (s *jsonStream) one() bool {
	if !s.opts.framed {
		return s.value(&s.conv.root)
	}
	at := s.offset(s.p)
	if !s.ensure(4) {
		return s.fail(diag.UnexpectedEOF, at, "the input ends inside the length of a frame")
	}
	size := int32(binary.BigEndian.Uint32(s.src.visible()[s.p:]))
	if size <= 0 {
		return s.fail(diag.InvalidLength, at, fmt.Sprintf("frame of length %d", size))
	}
	s.p += 4
	s.src.stop = s.offset(s.p) + int64(size)
	ok := s.value(&s.conv.root)
	if left := s.src.stop - s.offset(s.p); ok && left > 0 {
		return s.fail(diag.TrailingData, s.offset(s.p), fmt.Sprintf("%d bytes of the frame follow its struct", left))
	}
	s.src.stop = math.MaxInt64
	return ok
}

// value writes the value at p.
func (s *jsonStream) value(t *typ) bool {
	if o := s.attempt(s.src.visible(), true, s.step(t)); o != incomplete {
		return o == done
	}
	switch t.kind {
	case schema.Struct:
		return s.structure(t.strct)
	case schema.List, schema.Set:
		return s.list(t)
	case schema.Map:
		return s.mapping(t)
	case schema.String, schema.Binary:
		return s.text(t)
	}
	return s.atom(t.wire) && s.whole(t) == done
}

// whole writes the value at p if it lies in the window.
func (s *jsonStream) whole(t *typ) outcome {
	return s.piece(s.src.visible(), s.step(t))
}

func (s *jsonStream) step(t *typ) step {
	return func(dst []byte, p int) ([]byte, int) { return s.w.value(dst, p, t) }
}

// atom gets a value that is converted as a whole into the window. If it cannot,
// the conversion will say why.
func (s *jsonStream) atom(wire thriftwire.Type) bool {
	switch {
	case wire.FixedSize() > 0:
		s.ensure(wire.FixedSize())
	case wire == thriftwire.String:
		if s.ensure(4) {
			if l := int32(binary.BigEndian.Uint32(s.src.visible()[s.p:])); l > 0 {
				s.ensure(4 + int(l))
			}
		}
	default:
		for size := minWindow; ; size *= 2 {
			in := s.src.visible()
			if _, code := thriftwire.SkipAt(in, s.p, wire, s.w.depth); code != thriftwire.ErrEOF || !s.ensure(max(size, len(in)-s.p+1)) {
				return true
			}
		}
	}
	return true
}

// wireFault is the fault for the negative result n of package thriftwire at p.
func (s *jsonStream) wireFault(n, p int) bool {
	s.w.in = s.src.visible()
	s.w.wireError(n, p)
	return s.failed()
}

// structure writes a struct that exceeds the window.
func (s *jsonStream) structure(t *structTable) bool {
	start := s.offset(s.p)
	if !s.enter() {
		return false
	}
	set := s.w.open(len(t.fields))
	count, next, first := 0, 0, true
	s.out.buf = append(s.out.buf, '{')
	for {
		if !s.ensure(1) {
			return s.wireFault(thriftwire.ErrEOF, s.p)
		}
		if s.src.visible()[s.p] == byte(thriftwire.Stop) {
			s.p++
			break
		}
		i, ok := s.field(t, &set, next, first)
		if !ok || !s.written() {
			return false
		}
		count++
		if i >= 0 {
			next, first = i+1, false
		}
	}
	if t.union && count != 1 {
		s.w.badUnion(s.p-1, t, count)
		return s.failedAt(start)
	}
	if t.needs && !s.absent(t, &set, first) {
		return false
	}
	s.w.drop(&set, len(t.fields))
	s.w.depth++
	s.out.buf = append(s.out.buf, '}')
	return true
}

// field writes a field as a member and returns its index, -1 if it is unknown
// and left out.
func (s *jsonStream) field(t *structTable, set *fields, next int, first bool) (i int, ok bool) {
	s.ensure(3) // if it fails, reading the header says how
	s.w.in = s.src.visible()
	at := s.p
	i, p := s.w.header(at, t, next)
	if p < 0 {
		return -1, s.failed()
	}
	if i < 0 {
		return -1, s.unknown(p, at, t)
	}
	f := &t.fields[i]
	if s.w.mark(set, i) {
		s.w.twice(at, t, f)
		return i, s.failed()
	}
	if !first {
		s.out.buf = append(s.out.buf, ',')
	}
	s.out.buf = append(s.out.buf, f.quoted...)
	if s.p = p; !s.value(&f.typ) {
		return i, s.in(func(fault *diag.Fault) { fault.Field(f.name) })
	}
	return i, true
}

// in adds a step to the path of the fault, if there is one.
func (s *stream) in(step func(f *diag.Fault)) bool {
	if s.fault != nil {
		step(s.fault)
	}
	return false
}

// absent checks and fills in what set lacks; the struct ends before p.
func (s *jsonStream) absent(t *structTable, set *fields, first bool) bool {
	if !first {
		s.out.buf = append(s.out.buf, ',')
	}
	from := len(s.out.buf)
	dst, p := s.w.absent(s.out.buf, s.p, t, set)
	if p < 0 {
		return s.failed()
	}
	if len(dst) > from || !first {
		dst = dst[:len(dst)-1] // the comma
	}
	s.out.buf = dst
	return true
}

// unknown steps over the value at p of the unknown field whose header stands at at.
func (s *jsonStream) unknown(p, at int, t *structTable) bool {
	if s.conv.opts.rejectUnknown {
		s.w.unknown(p, at, t)
		return s.failed()
	}
	wire, id, _ := thriftwire.ConsumeField(s.w.in[at:])
	s.p = p
	if !s.skip(wire, s.w.depth) {
		return s.in(func(f *diag.Fault) { f.Field(strconv.Itoa(int(id))) })
	}
	return true
}

// container reads the header of a list or map whose count the window need not
// hold: size bytes, of which the last four are the count. types are the types
// of the parts, which are read too.
func (s *jsonStream) container(types []thriftwire.Type) (size int, ok bool) {
	header := len(types) + 4
	if !s.ensure(header) {
		return 0, s.wireFault(thriftwire.ErrEOF, s.p)
	}
	b := s.src.visible()[s.p:]
	size = int(int32(binary.BigEndian.Uint32(b[len(types):])))
	if size < 0 {
		return 0, s.wireFault(thriftwire.ErrLength, s.p)
	}
	for i := range types {
		types[i] = thriftwire.Type(b[i])
		if size > 0 && !types[i].Valid() {
			return 0, s.wireFault(thriftwire.ErrType, s.p)
		}
	}
	return size, true
}

// list writes a list or set that exceeds the window.
func (s *jsonStream) list(t *typ) bool {
	var elem [1]thriftwire.Type
	size, ok := s.container(elem[:])
	if !ok {
		return false
	}
	if size > 0 && elem[0] != t.elem.wire {
		s.w.mismatch(s.p, "elements of "+wireName(t.elem.wire), wireName(elem[0]))
		return s.failed()
	}
	if !s.enter() {
		return false
	}
	s.p += 5
	s.out.buf = append(s.out.buf, '[')
	for i := 0; i < size; i++ {
		if i > 0 {
			s.out.buf = append(s.out.buf, ',')
		}
		if !s.value(t.elem) {
			return s.in(func(f *diag.Fault) { f.Index(i) })
		}
		i += s.run(s.src.visible(), size-i-1, func(dst []byte, p int) ([]byte, int) {
			return s.w.value(append(dst, ','), p, t.elem)
		})
		if !s.written() {
			return false
		}
	}
	s.w.depth++
	s.out.buf = append(s.out.buf, ']')
	return true
}

// mapping writes a map that exceeds the window.
func (s *jsonStream) mapping(t *typ) bool {
	var types [2]thriftwire.Type
	size, ok := s.container(types[:])
	if !ok {
		return false
	}
	if size > 0 && (types[0] != t.key.wire || types[1] != t.elem.wire) {
		s.w.mismatch(s.p, "entries of "+wireName(t.key.wire)+" to "+wireName(t.elem.wire), wireName(types[0])+" to "+wireName(types[1]))
		return s.failed()
	}
	if !s.enter() {
		return false
	}
	s.p += 6
	var keys *keySet
	if size > 1 && !s.conv.opts.allowDuplicates {
		keys = newKeySet(s.conv.opts.maxSize)
	}
	opening, closing := byte('['), byte(']')
	if t.textKey {
		opening, closing = '{', '}'
	}
	s.out.buf = append(s.out.buf, opening)
	for i := range size {
		if i > 0 {
			s.out.buf = append(s.out.buf, ',')
		}
		if t.textKey {
			ok = s.member(t, keys)
		} else {
			ok = s.pair(t, i, keys)
		}
		if !ok || !s.written() {
			return false
		}
	}
	s.w.depth++
	s.out.buf = append(s.out.buf, closing)
	return s.unique(keys, "map key")
}

// member writes a map's entry as "key":value.
func (s *jsonStream) member(t *typ, keys *keySet) bool {
	at, from := s.offset(s.p), len(s.out.buf)
	s.atom(t.key.wire)
	key := func(dst []byte, p int) ([]byte, int) { return s.w.key(dst, p, t.key) }
	if s.piece(s.src.visible(), key) != done {
		return false
	}
	var shown shownPart
	shown.set(s.out.buf[from:])
	if !s.note(keys, s.out.buf[from:], at) {
		return false
	}
	s.out.buf = append(s.out.buf, ':')
	if !s.value(t.elem) {
		return s.in(func(f *diag.Fault) { f.Key(shown.String()) })
	}
	return true
}

// pair writes a map's entry, which is the one with index i, as [key,value].
func (s *jsonStream) pair(t *typ, i int, keys *keySet) bool {
	at := s.offset(s.p)
	s.out.buf = append(s.out.buf, '[')
	level := s.out.hold()
	from := s.out.offset()
	if !s.value(t.key) {
		return s.in(func(f *diag.Fault) { f.Index(0).Index(i) })
	}
	if !s.note(keys, s.out.buf[from-s.out.base:], at) {
		return false
	}
	s.out.release(level)
	s.out.buf = append(s.out.buf, ',')
	if !s.value(t.elem) {
		return s.in(func(f *diag.Fault) { f.Index(1).Index(i) })
	}
	s.out.buf = append(s.out.buf, ']')
	return true
}
