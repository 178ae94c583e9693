package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the making of nodes from bytes.

// loader makes nodes of b, which is the tree's src or own.
type loader struct {
	t    *Tree
	b    []byte
	own  uint8 // valueOwned|labelOwned if b is own
	deep bool  // make the parts of parts too
}

// expand makes the parts of a node that has none yet, and reports whether that
// could be done: bytes that were checked before can only have been changed by somebody.
func (t *Tree) expand(at uint32) bool {
	n := &t.nodes[at]
	l := loader{t: t, b: t.buffer(n)[:n.end]}
	if n.flags&valueOwned != 0 {
		l.own = valueOwned | labelOwned
	}
	before := len(t.nodes)
	if _, f := l.parts(at, n.typ, int(n.start), maxDepth); f != nil {
		t.nodes = t.nodes[:before]
		return false
	}
	return true
}

// value finds the end of the value of node at, and makes its parts if the
// loader is deep.
func (l *loader) value(at uint32, t thriftwire.Type, pos, depth int) (int, *diag.Fault) {
	switch t {
	case thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map:
		if l.deep {
			return l.parts(at, t, pos, depth)
		}
	}
	end, code := skipPart(l.b, pos, t, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

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

// add adds a node after last, which is 0 for the first one.
func (l *loader) add(parent, last uint32, t thriftwire.Type, label, labelEnd, start uint32) uint32 {
	at := uint32(len(l.t.nodes))
	l.t.nodes = append(l.t.nodes, node{typ: t, parent: parent, prev: last, label: label, labelEnd: labelEnd, start: start, flags: l.own})
	if last != 0 {
		l.t.nodes[last].next = at
	}
	return at
}

// done completes a node whose parts start with first and end with last.
func (l *loader) done(at, first, last uint32, count int, key, elem thriftwire.Type) {
	n := &l.t.nodes[at]
	n.first, n.count, n.key, n.elem = first, uint32(count), key, elem
	n.flags |= partsLoaded
	if first != 0 {
		l.t.nodes[first].prev = last
	}
}

func (l *loader) fields(at uint32, pos, depth int) (int, *diag.Fault) {
	b := l.b
	var first, last uint32
	for count := 0; ; count++ {
		t, id, n := thriftwire.ConsumeField(b[pos:])
		if n < 0 {
			return pos, fault(n, pos)
		}
		pos += n
		if t == thriftwire.Stop {
			l.done(at, first, last, count, 0, 0)
			return pos, nil
		}
		last = l.add(at, last, t, uint32(uint16(id)), 0, uint32(pos))
		if first == 0 {
			first = last
		}
		var f *diag.Fault
		if pos, f = l.value(last, t, pos, depth); f != nil {
			return pos, f
		}
		l.t.nodes[last].end = uint32(pos)
	}
}

func (l *loader) elements(at uint32, pos, depth int) (int, *diag.Fault) {
	t, size, n := thriftwire.ConsumeList(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	var first, last uint32
	for range size {
		last = l.add(at, last, t, 0, 0, uint32(pos))
		if first == 0 {
			first = last
		}
		var f *diag.Fault
		if pos, f = l.value(last, t, pos, depth); f != nil {
			return pos, f
		}
		l.t.nodes[last].end = uint32(pos)
	}
	l.done(at, first, last, size, 0, t)
	return pos, nil
}

func (l *loader) entries(at uint32, pos, depth int) (int, *diag.Fault) {
	key, t, size, n := thriftwire.ConsumeMap(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	var first, last uint32
	for range size {
		end, code := skipPart(l.b, pos, key, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		last = l.add(at, last, t, uint32(pos), uint32(end), uint32(end))
		if first == 0 {
			first = last
		}
		var f *diag.Fault
		if pos, f = l.value(last, t, end, depth); f != nil {
			return pos, f
		}
		l.t.nodes[last].end = uint32(pos)
	}
	l.done(at, first, last, size, key, t)
	return pos, nil
}
