package dynamic

import (
	"encoding/binary"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the making of nodes from bytes.

// loader makes nodes of b, which is the tree's src or own.
type loader struct {
	t    *Tree
	b    []byte
	own  uint8 // owned if b is own
	deep bool  // make the parts of parts too
}

// expand makes the parts of a node that has none yet, and reports whether that
// could be done: bytes that were checked before can only have been changed by somebody.
func (t *Tree) expand(at uint32) bool {
	n := &t.nodes[at]
	l := loader{t: t, b: t.buffer(n)[:n.end]}
	l.own = n.flags & owned
	before := len(t.nodes)
	if _, f := l.parts(at, n.typ, int(n.start), maxDepth); f != nil {
		t.nodes = t.nodes[:before]
		return false
	}
	return true
}

// value makes the parts of the node at, if the loader is deep, and returns the
// end of its value.
func (l *loader) value(at uint32, t thriftwire.Type, pos, depth int) (int, *diag.Fault) {
	if l.deep && hasParts(t) {
		return l.parts(at, t, pos, depth)
	}
	end, code := skipPart(l.b, pos, t, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

// hasParts reports whether values of type t are structs or containers.
func hasParts(t thriftwire.Type) bool { return t >= thriftwire.Struct && t <= thriftwire.List }

func (l *loader) parts(at uint32, t thriftwire.Type, pos, depth int) (int, *diag.Fault) {
	switch {
	case depth <= 0:
		return pos, fault(thriftwire.ErrDepth, pos)
	case t == thriftwire.Struct:
		return l.fields(at, pos, depth-1)
	case t == thriftwire.Map:
		return l.entries(at, pos, depth-1)
	default:
		return l.elements(at, pos, depth-1)
	}
}

// part adds a node for the value of type t at pos after last, which is 0 for
// the first one, and returns the place after it.
func (l *loader) part(parent, last uint32, t thriftwire.Type, label, pos, depth int) (int, *diag.Fault) {
	if l.deep && hasParts(t) {
		at := uint32(len(l.t.nodes))
		l.leaf(parent, last, t, label, pos, pos)
		end, f := l.parts(at, t, pos, depth)
		l.t.nodes[at].end = uint32(end)
		return end, f
	}
	end, code := skipPart(l.b, pos, t, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	l.leaf(parent, last, t, label, pos, end)
	return end, nil
}

// leaf adds a node for the value of type t at b[pos:end].
func (l *loader) leaf(parent, last uint32, t thriftwire.Type, label, pos, end int) {
	n := l.t.grow(1)
	n.start, n.end, n.label, n.parent = uint32(pos), uint32(end), uint32(label), parent
	n.next, n.prev, n.first = 0, last, 0
	n.typ, n.key, n.elem, n.flags = t, 0, 0, l.own
	if last != 0 {
		l.t.nodes[last].next = uint32(len(l.t.nodes) - 1)
	}
}

// grow makes room for n nodes and returns the first of them, which may hold
// what was there before. Nodes are filled field by field: copying one that was
// put together elsewhere waits for its parts to arrive.
func (t *Tree) grow(n int) *node {
	size := len(t.nodes)
	if cap(t.nodes)-size < n {
		t.nodes = slices.Grow(t.nodes, n)
	}
	t.nodes = t.nodes[:size+n]
	return &t.nodes[size]
}

// done completes a node whose parts start with first and end with last.
func (l *loader) done(at, first, last uint32, key, elem thriftwire.Type) {
	n := &l.t.nodes[at]
	n.first, n.key, n.elem = first, key, elem
	n.flags |= partsLoaded
	if first != 0 {
		l.t.nodes[first].prev = last
	}
}

func (l *loader) fields(at uint32, pos, depth int) (int, *diag.Fault) {
	b := l.b
	first, last := uint32(len(l.t.nodes)), uint32(0)
	for {
		for len(b)-pos >= 3+8 { // plain fields, as in thriftwire's skipping of structs
			h := binary.BigEndian.Uint32(b[pos:])
			t, start, end := thriftwire.Type(h>>24), pos+3, 0
			switch t {
			case thriftwire.String:
				if l := uint64(binary.BigEndian.Uint32(b[start:])); l <= uint64(len(b)-start-4) {
					end = start + 4 + int(l)
				}
			case thriftwire.I32, thriftwire.Float:
				end = start + 4
			case thriftwire.I64, thriftwire.Double:
				end = start + 8
			case thriftwire.I8, thriftwire.Bool:
				end = start + 1
			}
			if end == 0 {
				break
			}
			next := uint32(len(l.t.nodes))
			l.leaf(at, last, t, int(uint16(h>>8)), start, end)
			last, pos = next, end
		}
		t, id, n := thriftwire.ConsumeField(b[pos:])
		if n < 0 {
			return pos, fault(n, pos)
		}
		pos += n
		if t == thriftwire.Stop {
			if last == 0 {
				first = 0
			}
			l.done(at, first, last, 0, 0)
			return pos, nil
		}
		next := uint32(len(l.t.nodes))
		var f *diag.Fault
		if pos, f = l.part(at, last, t, int(uint16(id)), pos, depth); f != nil {
			return pos, f
		}
		last = next
	}
}

func (l *loader) elements(at uint32, pos, depth int) (int, *diag.Fault) {
	t, size, n := thriftwire.ConsumeList(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	first, last := uint32(len(l.t.nodes)), uint32(0)
	if size == 0 {
		first = 0
	}
	if w := t.FixedSize(); w > 0 && size > 0 {
		l.numbers(at, t, pos, w, size)
		l.done(at, first, first+uint32(size)-1, 0, t)
		return pos + size*w, nil
	}
	for range size {
		next := uint32(len(l.t.nodes))
		var f *diag.Fault
		if pos, f = l.part(at, last, t, 0, pos, depth); f != nil {
			return pos, f
		}
		last = next
	}
	l.done(at, first, last, 0, t)
	return pos, nil
}

// numbers adds nodes for size values of w bytes each.
func (l *loader) numbers(parent uint32, t thriftwire.Type, pos, w, size int) {
	base := len(l.t.nodes)
	l.t.grow(size)
	nodes := l.t.nodes[base:]
	for k := range nodes {
		at, n := uint32(base+k), &nodes[k]
		n.start, n.end, n.label, n.parent = uint32(pos), uint32(pos+w), 0, parent
		n.next, n.prev, n.first = at+1, at-1, 0
		n.typ, n.key, n.elem, n.flags = t, 0, 0, l.own
		pos += w
	}
	nodes[size-1].next = 0
}

func (l *loader) entries(at uint32, pos, depth int) (int, *diag.Fault) {
	key, t, size, n := thriftwire.ConsumeMap(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	first, last := uint32(len(l.t.nodes)), uint32(0)
	if size == 0 {
		first = 0
	}
	for range size {
		end, code := skipPart(l.b, pos, key, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		next := uint32(len(l.t.nodes))
		var f *diag.Fault
		if pos, f = l.part(at, last, t, pos, end, depth); f != nil {
			return pos, f
		}
		last = next
	}
	l.done(at, first, last, key, t)
	return pos, nil
}
