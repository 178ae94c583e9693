package dynamic

import (
	"encoding/binary"
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
// whole message, nothing is allocated but by keep.
func (p *Path) AppendFilter(dst []byte, n Node, keep func(part *Iterator) bool) ([]byte, error) {
	if !n.Exists() || !agrees(p.from, n.typ) {
		return dst, p.alone.misfit(n)
	}
	if n.proto != Binary {
		return dst, onlyRead(n)
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
	f := filter{b: n.data, dst: slices.Grow(dst, len(n.data))}
	it := iterate(n.proto, n.data, pos, t, p.to)
	if fault := f.parts(&it, keep); fault != nil {
		return dst, along(fault, p.steps)
	}
	f.flush(len(n.data))
	return f.dst, nil
}

// filter is a message that is copied without some of its parts.
type filter struct {
	b    []byte
	done int // b[:done] has been copied or left out
	dst  []byte
}

// flush copies up to pos.
func (f *filter) flush(pos int) {
	f.dst = append(f.dst, f.b[f.done:pos]...)
	f.done = pos
}

// parts copies what the iterator goes over, and puts the count before it right.
func (f *filter) parts(it *Iterator, keep func(*Iterator) bool) *diag.Fault {
	f.flush(it.pos)
	head, kept, start := len(f.dst), 0, it.pos
	for ; it.Next(); start = it.pos {
		if keep(it) {
			kept++
			continue
		}
		f.flush(start)
		f.done = it.pos
	}
	if it.err == nil && it.elem != thriftwire.Stop { // a container, whose count stands before its parts
		binary.BigEndian.PutUint32(f.dst[head-4:], uint32(kept))
	}
	return it.err
}
