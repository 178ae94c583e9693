package transcode

import (
	"slices"

	"github.com/thrum-rpc/thrum/wire/jsonwire"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file reads Protobuf messages that are in pieces and writes JSON: fields
// that stand again after others, singular fields that stand twice, map keys
// that do. Each message is listed first and written then, so that no part of
// the input is converted twice: a conversion takes this way from its start or
// not at all.

// piece is a part of a message: its fields from one position to another, or,
// in a group, to its end.
type piece struct {
	from, to int
	group    int32 // the number with which it ends, or 0
}

// record is a value in the input. Of a message or a packed list it encloses what
// follows the length; of a group, what follows its start. Input may hold one
// for each two bytes, so it is small; positions fit, as inputs are below 2 GiB.
type record struct {
	what       uint32 // the index of the field and the wire type
	start, end uint32
}

func (r record) field() int           { return int(r.what >> 3) }
func (r record) wire() protowire.Type { return protowire.Type(r.what & 7) }
func (r record) from() int            { return int(r.start) }
func (r record) to() int              { return int(r.end) }

// take returns the pieces of the message that is about to be read: those that
// the caller has left, or one.
func (w *protoToJSON) take(only []piece) []piece {
	if p := w.pieces; p != nil {
		w.pieces = nil
		return p
	}
	return only
}

// mergedFields is fields for a message that may be in pieces.
func (w *protoToJSON) mergedFields(dst, in []byte, p int, t *protoTable, group int32) ([]byte, int) {
	pieces := w.take([]piece{{p, len(in), group}})
	var list []record
	for _, x := range pieces {
		if list, p = w.records(list, x, t); p < 0 {
			return dst, p
		}
	}
	list = t.dropRivals(list)
	slices.SortStableFunc(list, func(a, b record) int { return a.field() - b.field() })
	set := w.open(len(t.fields))
	for len(list) > 0 {
		i := list[0].field()
		n := 1
		for n < len(list) && list[n].field() == i {
			n++
		}
		f := &t.fields[i]
		from := len(dst)
		var ok bool
		if dst, ok = w.mergedField(dst, list[:n], f); !ok {
			return dst, w.within(f)
		}
		if len(dst) > from {
			w.mark(&set, i)
			dst = append(dst, ',')
		}
		list = list[n:]
	}
	if t.needs {
		var ok bool
		if dst, ok = w.absentFields(dst, pieces[0].from, t, &set); !ok {
			return dst, failed
		}
	}
	w.drop(&set, len(t.fields))
	return dst, p
}

// records adds the known fields of a piece to the list and returns the
// position after the piece.
func (w *protoToJSON) records(list []record, x piece, t *protoTable) ([]record, int) {
	in := w.state.in[:x.to]
	p := x.from
	for p < len(in) {
		at := p
		number, wire, n := protowire.ConsumeTag(in[p:])
		if n < 0 {
			return list, w.protoError(n, p)
		}
		p += n
		i := t.byNumber(number)
		if i < 0 || wire != protowire.Type(t.fields[i].tag&7) && (wire != protowire.Bytes || t.fields[i].packedTag == 0) {
			done := false
			if p, done = w.stranger(in, p, at, t, i, x.group); p < 0 || done {
				return list, p
			}
			continue
		}
		f := &t.fields[i]
		value := p
		end, code := protowire.SkipAt(in, p, number, wire, w.depth)
		if code < 0 {
			w.protoError(code, end)
			return list, w.within(f)
		}
		if wire == protowire.Bytes && (f.typ.message != nil || f.packedTag != 0 || f.shape == mapped) {
			_, n := protowire.ConsumeLength(in[p:])
			value += n
		}
		p = end
		if f.shape == single && f.typ.closed {
			if _, absent := w.absentValue(in, value, f); absent {
				continue // which leaves an earlier value as it is
			}
		}
		list = append(list, record{what: uint32(i)<<3 | uint32(wire), start: uint32(value), end: uint32(end)})
	}
	if x.group != 0 {
		return list, w.protoError(protowire.ErrEOF, p)
	}
	return list, p
}

// dropRivals removes the fields of oneofs that others have replaced: all before
// the last one of another field of the same oneof.
func (t *protoTable) dropRivals(list []record) []record {
	if t.oneofs == 0 {
		return list
	}
	type state struct {
		field int // + 1
		over  bool
	}
	last := make([]state, t.oneofs+1)
	kept := len(list)
	for i := len(list) - 1; i >= 0; i-- {
		r := list[i]
		if o := t.fields[r.field()].oneof; o != 0 {
			s := &last[o]
			if s.field == 0 {
				s.field = r.field() + 1
			}
			if s.over = s.over || s.field != r.field()+1; s.over {
				continue
			}
		}
		kept--
		list[kept] = r
	}
	return list[kept:]
}

// mergedField writes the name and value of f, all of whose pieces are in list;
// nothing if that is no value.
func (w *protoToJSON) mergedField(dst []byte, list []record, f *protoField) ([]byte, bool) {
	switch f.shape {
	case repeated:
		return w.mergedList(dst, list, f)
	case mapped:
		return w.mergedMap(dst, list, f)
	}
	last := list[len(list)-1]
	if f.implicit {
		if _, absent := w.absentValue(w.state.in[:last.to()], last.from(), f); absent {
			return dst, true
		}
	}
	return w.mergedValue(append(dst, f.quoted...), list, &f.typ)
}

// mergedValue writes the message whose pieces are in list, or the last value.
func (w *protoToJSON) mergedValue(dst []byte, list []record, t *protoTyp) ([]byte, bool) {
	last := list[len(list)-1]
	p := last.from()
	if t.message == nil {
		dst, p = w.value(dst, w.state.in[:last.to()], p, t)
		return dst, p >= 0
	}
	w.pieces = make([]piece, len(list))
	for i, r := range list {
		w.pieces[i] = piece{r.from(), r.to(), t.group}
	}
	dst, p = w.message(dst, w.state.in[:last.to()], p, t.message, t.group)
	return dst, p >= 0
}

// mergedList writes the name and the elements of a list, nothing if it is empty.
func (w *protoToJSON) mergedList(dst []byte, list []record, f *protoField) ([]byte, bool) {
	if w.depth == 0 {
		w.tooDeep(list[0].from())
		return dst, false
	}
	w.depth--
	before := len(dst)
	dst = append(append(dst, f.quoted...), '[')
	empty := len(dst)
	count := 0
	for i, r := range list {
		in, p := w.state.in[:r.to()], r.from()
		packed := f.packedTag != 0 && r.wire() == protowire.Bytes
		switch {
		case f.typ.message != nil:
			var ok bool
			if dst, ok = w.mergedValue(dst, list[i:i+1], &f.typ); !ok {
				if w.fault != nil {
					w.fault.Index(i)
				}
				return dst, false
			}
			dst = append(dst, ',')
		case packed:
			for p >= 0 && p < len(in) {
				dst, p = w.element(dst, in, p, f, &count)
			}
		default:
			dst, p = w.element(dst, in, p, f, &count)
		}
		if p < 0 {
			return dst, false
		}
		if len(dst) > w.limit {
			w.tooLarge(r.from())
			return dst, false
		}
	}
	w.depth++
	if len(dst) == empty {
		return dst[:before], true
	}
	return end(dst, ']'), true
}

// mergedMap writes the name and the entries of a map: of those with one key the
// last one.
func (w *protoToJSON) mergedMap(dst []byte, list []record, f *protoField) ([]byte, bool) {
	if w.depth == 0 {
		w.tooDeep(list[0].from())
		return dst, false
	}
	w.depth--
	before := len(dst)
	counts, ok := w.lastEntries(dst, list, f)
	if !ok {
		return dst, false
	}
	dst = append(f.appendName(dst), '{')
	empty := len(dst)
	for i, r := range list {
		if !counts[i] {
			continue
		}
		from := len(dst)
		if dst, ok = w.mergedMember(dst, r, f); !ok {
			if w.fault != nil {
				w.fault.Key(pathKey(firstString(dst[from:])))
			}
			return dst, false
		}
		if len(dst) > w.limit {
			w.tooLarge(r.from())
			return dst, false
		}
	}
	w.depth++
	if len(dst) == empty {
		return dst[:before], true
	}
	return end(dst, '}'), true
}

// lastEntries tells which entries of a map count: of those with one key the
// last one, and none whose value its enum does not have. It uses what is
// behind dst.
func (w *protoToJSON) lastEntries(dst []byte, list []record, f *protoField) (counts []bool, ok bool) {
	counts = make([]bool, len(list))
	last := make(map[string]int) // the entry that counts, by key as JSON
	from := len(dst)
	for i, r := range list {
		keys, values, ok := w.mergedEntry(r, f)
		if !ok {
			return nil, false
		}
		if w.unknownEntry(values, f) {
			continue
		}
		if dst, ok = w.mergedKey(dst[:from], keys, f); !ok {
			return nil, false
		}
		if j, stood := last[string(dst[from:])]; stood {
			counts[j] = false
		}
		last[string(dst[from:])] = i
		counts[i] = true
	}
	return counts, true
}

// mergedKey writes the last of an entry's keys, or zero if there is none.
func (w *protoToJSON) mergedKey(dst []byte, keys []record, f *protoField) ([]byte, bool) {
	if len(keys) == 0 {
		return w.zeroKey(dst, &f.key), true
	}
	k := keys[len(keys)-1]
	dst, p := w.key(dst, w.state.in[:k.to()], k.from(), &f.key)
	return dst, p >= 0
}

// firstString returns the JSON string at the front of b.
func firstString(b []byte) []byte {
	n, _ := jsonwire.SkipString(b)
	return b[:max(n, 0)]
}

// mergedEntry lists the keys and the values of the map entry r.
func (w *protoToJSON) mergedEntry(r record, f *protoField) (keys, values []record, ok bool) {
	list, p := w.records(nil, piece{r.from(), r.to(), 0}, f.entry)
	for _, r := range list {
		if r.field() == 0 {
			keys = append(keys, r)
		} else {
			values = append(values, r)
		}
	}
	return keys, values, p >= 0
}

// unknownEntry reports whether an entry with these values counts as an unknown
// field: its value is a number that its closed enum does not have.
func (w *protoToJSON) unknownEntry(values []record, f *protoField) bool {
	if !f.typ.closed || len(values) == 0 {
		return false
	}
	v := values[len(values)-1]
	_, absent := w.absentValue(w.state.in[:v.to()], v.from(), f)
	return absent
}

// mergedMember writes the entry r with a comma.
func (w *protoToJSON) mergedMember(dst []byte, r record, f *protoField) ([]byte, bool) {
	keys, values, _ := w.mergedEntry(r, f)
	dst, _ = w.mergedKey(dst, keys, f)
	dst = append(dst, ':')
	if len(values) == 0 {
		dst, p := w.zero(dst, r.from(), &f.typ)
		return append(dst, ','), p >= 0
	}
	dst, ok := w.mergedValue(dst, values, &f.typ)
	return append(dst, ','), ok
}
