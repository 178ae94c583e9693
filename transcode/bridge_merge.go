package transcode

import (
	"slices"

	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file puts Protobuf messages together that are in pieces, as one message
// that an encoder might have written.

// whole appends the message whose pieces are given, without unknown fields,
// and returns the position after the last piece.
func (w *protoToThrift) whole(dst []byte, pieces []piece, t *protoTable) ([]byte, int) {
	if w.depth == 0 {
		return dst, w.tooDeep(pieces[0].from)
	}
	w.depth--
	var list []record
	p := failed
	for _, x := range pieces {
		if list, p = w.records(list, x, t); p < 0 {
			return dst, p
		}
	}
	list = t.dropRivals(list)
	slices.SortStableFunc(list, func(a, b record) int { return a.field() - b.field() })
	for len(list) > 0 {
		f := &t.fields[list[0].field()]
		n := 1
		for n < len(list) && list[n].field() == list[0].field() {
			n++
		}
		var ok bool
		if dst, ok = w.wholeField(dst, list[:n], f); !ok {
			return dst, w.within(f)
		}
		list = list[n:]
	}
	w.depth++
	return dst, p
}

// wholeField appends f, all of whose pieces are in list.
func (w *protoToThrift) wholeField(dst []byte, list []record, f *protoField) (_ []byte, ok bool) {
	switch {
	case f.shape == mapped:
		return w.wholeMap(dst, list, f)
	case f.shape == repeated:
		for i := range list {
			if dst, ok = w.wholeValue(dst, list[i:i+1], f); !ok {
				return dst, false
			}
		}
		return dst, true
	default:
		return w.wholeValue(dst, list, f)
	}
}

// wholeValue appends a tag and the message whose pieces are in list, or the
// last value, or packed elements.
func (w *protoToThrift) wholeValue(dst []byte, list []record, f *protoField) ([]byte, bool) {
	last := list[len(list)-1]
	value := w.state.in[last.from():last.to()]
	switch {
	case f.typ.message != nil:
		pieces := make([]piece, len(list))
		for i, r := range list {
			pieces[i] = piece{r.from(), r.to(), f.typ.group}
		}
		dst = append(dst, f.head...)
		if f.typ.kind == protoGroup {
			dst, p := w.whole(dst, pieces, f.typ.message)
			return protowire.AppendTag(dst, f.number, protowire.EndGroup), p >= 0
		}
		dst = openLength(dst)
		from := len(dst)
		dst, p := w.whole(dst, pieces, f.typ.message)
		return closeLength(dst, from), p >= 0
	case last.wire() == protowire.Bytes && f.packedTag != 0:
		return protowire.AppendBytes(append(dst, f.packedHead...), value), true
	default:
		return append(append(dst, f.head...), value...), true
	}
}

// wholeMap appends the entries of a map: of those with one key the last one.
func (w *protoToThrift) wholeMap(dst []byte, list []record, f *protoField) ([]byte, bool) {
	counts, ok := w.lastEntries(dst, list, f)
	if !ok {
		return dst, false
	}
	for i, r := range list {
		if !counts[i] {
			continue
		}
		key, values, _ := w.mergedEntry(r, f)
		dst = openLength(append(dst, f.head...))
		from := len(dst)
		if len(key) > 0 {
			dst, ok = w.wholeValue(dst, key, &f.entry.fields[0])
		}
		if ok && len(values) > 0 {
			dst, ok = w.wholeValue(dst, values, &f.entry.fields[1])
		}
		if !ok {
			return dst, false
		}
		dst = closeLength(dst, from)
	}
	return dst, true
}
