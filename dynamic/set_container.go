package dynamic

import (
	"encoding/binary"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds changing lists, sets and maps. Their counts are put right in
// the copy.

func (e *editor) elements(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	t, size, n := e.proto.list(e.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	start := pos
	pos += n
	e.flush(pos)
	head := listHeader{len(e.dst) - n, n, t, size}
	if size == 0 && br.typ != nil {
		t = wireOf(br.typ.Elem())
	}
	at, count := 0, size
	for i := range br.edges {
		g := &br.edges[i]
		to := int(min(g.step.num, int64(size)))
		if to < 0 || g.step.num > int64(to) && g.step.kind != stepEnd || to == size && g.isElement() {
			if e.makes(g) {
				return start, g.located(outOfRange(start, size))
			}
			continue
		}
		var f *diag.Fault
		if pos, f = e.skip(pos, t, to-at, depth); f != nil {
			return pos, f
		}
		at = to
		switch {
		case !g.isElement():
			t, count, f = e.insert(pos, g, t, count)
		case g.next != nil:
			at++
			pos, f = e.descend(pos, t, g, depth, last && i == len(br.edges)-1)
		default:
			at++
			pos, count, f = e.setElement(pos, g, t, count, depth)
		}
		if f != nil {
			return pos, f
		}
	}
	return e.finishCount(head, t, count, pos, size-at, last, depth)
}

// isElement reports whether the edge leads to an element, not to a gap.
func (g *edge) isElement() bool { return g.step.kind != stepBefore && g.step.kind != stepEnd }

func outOfRange(pos, size int) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, pos, "the index is out of range, there are "+strconv.Itoa(size)+" elements")
}

// listHeader is a list's header as it stands in dst.
type listHeader struct {
	at, size int // its place and its length in bytes
	elem     thriftwire.Type
	count    int
}

// finishCount writes what became of a list's header and steps over the elements
// that are left.
func (e *editor) finishCount(head listHeader, t thriftwire.Type, count, pos, left int, last bool, depth int) (int, *diag.Fault) {
	if _, ok := narrow(count); !ok {
		return pos, diag.NewFault(diag.SizeLimit, pos, "more elements than a container can have")
	}
	e.recount(head, t, count)
	if last {
		return pos, nil
	}
	return e.skip(pos, t, left, depth)
}

// recount writes the header of a list that has count elements of type t now.
func (e *editor) recount(h listHeader, t thriftwire.Type, count int) {
	if e.proto == Binary {
		e.dst[h.at] = byte(t)
		binary.BigEndian.PutUint32(e.dst[h.at+1:], uint32(count))
	} else if t != h.elem || count != h.count {
		var room [6]byte
		e.replace(h.at, h.size, e.proto.appendList(room[:0], t, count))
	}
}

// insert adds the values of a gap at pos. An empty list takes the type of the
// first.
func (e *editor) insert(pos int, g *edge, t thriftwire.Type, count int) (thriftwire.Type, int, *diag.Fault) {
	e.flush(pos)
	for _, slot := range g.slots {
		x := e.at(slot)
		if !x.Exists() {
			continue
		}
		if count == 0 && g.step.typ == nil {
			t = x.typ
		}
		if f := e.accept(x, g.step.typ, t); f != nil {
			return t, count, g.located(f)
		}
		if f := e.put(x); f != nil {
			return t, count, g.located(f)
		}
		count++
	}
	return t, count, nil
}

// setElement replaces or leaves out the element of type t at pos.
func (e *editor) setElement(pos int, g *edge, t thriftwire.Type, count, depth int) (int, int, *diag.Fault) {
	end, f := e.skip(pos, t, 1, depth)
	if f != nil {
		return end, count, g.located(f)
	}
	e.flush(pos)
	e.done = end
	x := e.at(g.slots[0])
	if !x.Exists() {
		return end, count - 1, nil
	}
	f = e.accept(x, g.step.typ, t)
	if f == nil {
		f = e.put(x)
	}
	if f != nil {
		return pos, count, g.located(f)
	}
	return end, count, nil
}

func (e *editor) entries(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	key, t, size, n := e.proto.mapping(e.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	if f := br.checkKeys(pos, key, size); f != nil {
		return pos, f
	}
	pos += n
	e.flush(pos)
	h := mapHeader{at: len(e.dst) - n, size: n, key: key, elem: t, count: size, old: size}
	if size == 0 && br.typ != nil {
		h.key, h.elem = wireOf(br.typ.Key()), wireOf(br.typ.Elem())
	}
	var seen marks
	for left := len(br.edges); left > 0 && size > 0; size-- {
		var end, code int
		if e.proto == Binary {
			end, code = skipPart(e.b, pos, key, depth)
		} else {
			end, code = e.proto.dialect().SkipAt(e.b, pos, key, depth)
		}
		if code < 0 {
			return end, fault(code, end)
		}
		var f *diag.Fault
		i := br.key(e.proto, e.b, pos, end, key)
		if i < 0 || !seen.meet(i, len(br.edges)) {
			if pos, f = e.skip(end, t, 1, depth); f != nil {
				return pos, f
			}
			continue
		}
		left--
		if g := &br.edges[i]; g.next != nil {
			pos, f = e.descend(end, t, g, depth, last && left == 0)
		} else {
			pos, f = e.setEntry(pos, end, g, &h, depth)
		}
		if f != nil {
			return pos, f
		}
	}
	return e.addEntries(pos, br, &seen, &h, size, last, depth)
}

// mapHeader is a map's header as it is to be written, and its place in dst.
type mapHeader struct {
	at, size  int // where it stands in dst, and its length there in bytes
	key, elem thriftwire.Type
	count     int
	old       int // the count that stands there
}

// setEntry replaces or leaves out the entry whose key is b[pos:mid].
func (e *editor) setEntry(pos, mid int, g *edge, h *mapHeader, depth int) (int, *diag.Fault) {
	end, f := e.skip(mid, h.elem, 1, depth)
	if f != nil {
		return end, g.located(f)
	}
	x := e.at(g.slots[0])
	if !x.Exists() {
		e.flush(pos)
		e.done = end
		h.count--
		return end, nil
	}
	if f := e.accept(x, g.step.typ, h.elem); f != nil {
		return pos, g.located(f)
	}
	e.flush(mid)
	e.done = end
	if f := e.put(x); f != nil {
		return pos, g.located(f)
	}
	return end, nil
}

// addEntries steps over the entries that are left, adds those that were not
// met, and writes the header.
func (e *editor) addEntries(pos int, br *branch, seen *marks, h *mapHeader, left int, last bool, depth int) (int, *diag.Fault) {
	missing := false
	for i := range br.edges {
		missing = missing || !seen.met(i) && e.makes(&br.edges[i])
	}
	if missing || !last {
		end, code := e.proto.skipEntries(e.b, pos, h.key, h.elem, left, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		pos = end
	}
	if missing {
		e.flush(pos)
		for i := range br.edges {
			g := &br.edges[i]
			if seen.met(i) || !e.makes(g) {
				continue
			}
			if f := e.addEntry(g, h); f != nil {
				return pos, g.located(f)
			}
		}
	}
	if _, ok := narrow(h.count); !ok {
		return pos, diag.NewFault(diag.SizeLimit, pos, "more entries than a container can have")
	}
	e.recountMap(h)
	return pos, nil
}

// recountMap writes the header of a map.
func (e *editor) recountMap(h *mapHeader) {
	if e.proto == Binary {
		e.dst[h.at], e.dst[h.at+1] = byte(h.key), byte(h.elem)
		binary.BigEndian.PutUint32(e.dst[h.at+2:], uint32(h.count))
	} else if h.count != h.old {
		var room [6]byte
		e.replace(h.at, h.size, e.proto.appendMap(room[:0], h.key, h.elem, h.count))
	}
}

// addEntry adds the entry of an edge. An empty map takes its types, and its
// key's from the step if the header has none that it fits.
func (e *editor) addEntry(g *edge, h *mapHeader) *diag.Fault {
	if h.count == 0 && g.step.typ == nil {
		if !g.step.fits(h.key) {
			if h.key = g.step.keyType(); h.key == thriftwire.Stop {
				return diag.NewFault(diag.NotFound, -1, "the map is empty and does not say the type of its keys")
			}
		}
		if g.next == nil {
			h.elem = e.at(g.slots[0]).typ
		}
	}
	if !g.step.fits(h.key) {
		return diag.NewFault(diag.TypeMismatch, -1, "the map's keys have the type "+h.key.String())
	}
	if f := g.step.check(e.proto, h.key); f != nil {
		return f
	}
	e.dst = g.step.appendKey(e.proto, e.dst, h.key)
	h.count++
	return e.build(g, h.elem)
}

// keyType returns the wire type of the step's key if the step alone tells it.
func (s *Step) keyType() thriftwire.Type {
	switch s.kind {
	case stepString:
		return thriftwire.String
	case stepBool:
		return thriftwire.Bool
	case stepDouble:
		return thriftwire.Double
	case stepValue:
		return thriftwire.Type(s.num)
	default:
		return thriftwire.Stop
	}
}
