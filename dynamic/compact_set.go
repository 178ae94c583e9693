package dynamic

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds changing compact structs. A header there holds the distance
// to the field before it, so that the header after a field that was left out
// has to be written anew; and a bool has no bytes but its header.

// compactStructure is structure for a compact struct.
func (e *editor) compactStructure(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	var seen marks
	var ids idPair
	for left := len(br.edges); left > 0; {
		if ids.read == ids.written { // then headers stay as they are
			var code int
			if pos, ids.read, code = e.proto.dialect().SkipUntil(e.b, pos, ids.read, br.filter, depth); code < 0 {
				return pos, fault(code, pos)
			}
			ids.written = ids.read
		}
		h, n := e.proto.dialect().ConsumeField(e.b[pos:], ids.read)
		if n < 0 {
			return pos, fault(n, pos)
		}
		if h.Type == thriftwire.Stop {
			return pos + n, e.addFields(pos, br, &seen, ids.written)
		}
		var f *diag.Fault
		i := br.field(uint16(h.ID))
		wanted := i >= 0 && seen.meet(i, len(br.edges)) // of a field that stands twice the first counts
		if wanted {
			left--
		}
		switch {
		case !wanted:
			e.keepHeader(pos, pos+n, h, &ids)
			pos, f = e.skipCompactField(pos+n, h, depth)
		case br.edges[i].next != nil:
			e.keepHeader(pos, pos+n, h, &ids)
			pos, f = e.descend(pos+n, h.Type, &br.edges[i], depth, last && left == 0)
		default:
			pos, f = e.setCompactField(pos, n, h, &br.edges[i], depth, &ids)
		}
		if f != nil {
			return pos, f
		}
	}
	return e.finishFields(pos, depth, ids, last)
}

// idPair is the id of the field before a place in the message, and of that
// before the place in the copy.
type idPair struct{ read, written int16 }

// keepHeader copies the header of a field at b[pos:end].
func (e *editor) keepHeader(pos, end int, h compact.Field, ids *idPair) {
	if ids.read != ids.written {
		e.flush(pos)
		e.done = end
		e.dst = e.proto.appendHeader(e.dst, h, ids.written)
	}
	ids.read, ids.written = h.ID, h.ID
}

// keepField copies the header of the field at b[pos:], whose id is known.
func (e *editor) keepField(pos int, id int16, ids *idPair) {
	if ids.read != ids.written {
		h, n := e.proto.dialect().ConsumeField(e.b[pos:], ids.read)
		e.keepHeader(pos, pos+n, h, ids)
	}
	ids.read, ids.written = id, id
}

// appendHeader appends the header of a field whose header h was read.
func (p Protocol) appendHeader(b []byte, h compact.Field, last int16) []byte {
	if h.Type == thriftwire.Bool {
		return compact.AppendBoolField(b, h.True, h.ID, last)
	}
	return p.dialect().AppendField(b, h.Type, h.ID, last)
}

func (e *editor) skipCompactField(pos int, h compact.Field, depth int) (int, *diag.Fault) {
	if h.Type == thriftwire.Bool {
		return pos, nil
	}
	return e.skip(pos, h.Type, 1, depth)
}

// setCompactField replaces or leaves out the field whose header of n bytes is
// at pos.
func (e *editor) setCompactField(pos, n int, h compact.Field, g *edge, depth int, ids *idPair) (int, *diag.Fault) {
	end, f := e.skipCompactField(pos+n, h, depth)
	if f != nil {
		return end, g.located(f)
	}
	e.flush(pos)
	e.done = end
	ids.read = h.ID
	x := e.at(g.slots[0])
	if !x.Exists() {
		return end, nil
	}
	if f := e.putField(g, x, ids.written); f != nil {
		return pos, g.located(f)
	}
	ids.written = h.ID
	return end, nil
}

// finishFields puts right the header that follows the last field that was left
// out, and steps over the fields that are left.
func (e *editor) finishFields(pos, depth int, ids idPair, last bool) (int, *diag.Fault) {
	if ids.read != ids.written {
		h, n := e.proto.dialect().ConsumeField(e.b[pos:], ids.read)
		switch {
		case n < 0:
			return pos, fault(n, pos)
		case h.Type == thriftwire.Stop:
			return pos + n, nil
		}
		e.keepHeader(pos, pos+n, h, &ids)
		if last {
			return pos + n, nil
		}
		var f *diag.Fault
		if pos, f = e.skipCompactField(pos+n, h, depth); f != nil {
			return pos, f
		}
	}
	if last {
		return pos, nil
	}
	end, code := e.proto.dialect().SkipFields(e.b, pos, ids.read, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

// replace puts b in the place of size bytes of dst.
func (e *editor) replace(at, size int, b []byte) {
	e.dst = slices.Replace(e.dst, at, at+size, b...)
}
