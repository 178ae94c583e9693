package dynamic

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds leaving parts out of a message by what they hold.

// AppendFilter appends n without those parts of what the path leads to for
// which keep is false: elements of a list or set, entries of a map, fields of a
// struct. The iterator stands at the part that is asked about; keep must not
// advance it. If the path leads to nothing, n is copied.
//
// It is one pass; what lies behind the filtered parts is copied unread. dst must
// not overlap n; after an error it is returned as it was. If it has room for the
// whole message, only the iterator is allocated.
func (p *Path) AppendFilter(dst []byte, n Node, keep func(part *Iterator) bool) ([]byte, error) {
	if !n.Exists() || !agrees(p.from, n.typ) {
		return dst, p.alone.misfit(n)
	}
	pos, t := 0, n.typ
	for i := range p.steps {
		var code int
		if pos, t, code = p.steps[i].find(n.proto, n.data, pos, t, maxDepth-i); code == absent {
			return append(dst, n.data...), nil
		} else if code < 0 {
			return dst, failed(p.steps[:i+1], code, pos)
		}
	}
	e := editor{b: n.data, dst: slices.Grow(dst, len(n.data)), proto: n.proto}
	it := iterate(n.proto, n.data, pos, t, p.to)
	if f := e.filter(pos, &it, keep); f != nil {
		return dst, along(f, p.steps)
	}
	e.flush(len(n.data))
	return e.dst, nil
}

// filter copies what the iterator goes over, the parts of the value at pos, and
// puts the count before them right.
func (e *editor) filter(pos int, it *Iterator, keep func(*Iterator) bool) *diag.Fault {
	e.flush(it.pos)
	head := it.pos - pos // the bytes of the header
	at, t, size, kept := len(e.dst)-head, it.typ, it.left, 0
	var ids idPair
	for start := it.pos; it.Next(); start = it.pos {
		if keep(it) {
			kept++
			if t == thriftwire.Struct && e.proto != Binary {
				e.keepField(start, it.id, &ids)
			}
			continue
		}
		e.flush(start)
		e.done = it.pos
		ids.read = it.id
	}
	switch {
	case it.err != nil || kept == size: // of structs size is 0
	case t == thriftwire.Map:
		e.recountMap(&mapHeader{at: at, size: head, key: it.key, elem: it.elem, count: kept, old: size})
	case t != thriftwire.Struct:
		e.recount(listHeader{at, head, it.elem, size}, it.elem, kept)
	}
	return it.err
}
