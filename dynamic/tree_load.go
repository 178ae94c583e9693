package dynamic

import (
	"encoding/binary"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
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
	l := loader{t: t, b: t.buffer(n)[:n.End]}
	l.own = n.Flags & arena.Owned
	before := len(t.nodes)
	if _, f := l.parts(at, n.Is.typ, int(n.Start), maxDepth); f != nil {
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
	end, code := l.t.proto.skipAt(l.b, pos, t, depth)
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
	case t == thriftwire.Struct && l.t.proto != Binary:
		return l.compactFields(at, pos, depth-1)
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
	at := uint32(len(l.t.nodes))
	if l.deep && hasParts(t) {
		fill(l.t.grow(1), two(uint32(pos), 0), two(uint32(label), parent), two(at+1, last), l.kind(t))
		end, f := l.parts(at, t, pos, depth)
		n := &l.t.nodes[at]
		n.End, n.Next = uint32(end), uint32(len(l.t.nodes))
		return end, f
	}
	var end, code int
	switch {
	case l.t.proto == Binary:
		end, code = skipPart(l.b, pos, t, depth)
	case t == thriftwire.Bool && uint32(label)&compactField != 0:
		end = pos // the value is in the header
	default:
		end, code = l.t.proto.dialect().SkipAt(l.b, pos, t, depth)
	}
	if code < 0 {
		return end, fault(code, end)
	}
	fill(l.t.grow(1), two(uint32(pos), uint32(end)), two(uint32(label), parent), two(at+1, last), l.kind(t))
	return end, nil
}

// kind is the type and the flags of a new node, as fill takes them.
func (l *loader) kind(t thriftwire.Type) uint32 { return uint32(t) | uint32(l.own)<<24 }

// fill sets all of a node: start and end, label and parent, next and prev, each
// a pair, and what kind returns. The next sibling is the node that is made next; for the
// last one done puts that right. A pair in one register is stored at once.
func fill(n *node, span, place, siblings uint64, kind uint32) {
	n.Start, n.End = uint32(span), uint32(span>>32)
	n.Label, n.Parent = uint32(place), uint32(place>>32)
	n.Next, n.Prev = uint32(siblings), uint32(siblings>>32)
	n.First = 0
	n.Is.typ, n.Is.key, n.Is.elem, n.Flags = thriftwire.Type(kind), thriftwire.Type(kind>>8), thriftwire.Type(kind>>16), uint8(kind>>24)
}

// two is a pair for fill.
func two(first, second uint32) uint64 { return uint64(first) | uint64(second)<<32 }

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
	n.First, n.Is.key, n.Is.elem = first, key, elem
	n.Flags |= arena.Loaded
	if first != 0 {
		l.t.nodes[first].Prev = last
		l.t.nodes[last].Next = 0
	}
}

func (l *loader) fields(at uint32, pos, depth int) (int, *diag.Fault) {
	first, last := uint32(len(l.t.nodes)), uint32(0)
	for {
		pos, last = l.plainFields(at, last, pos)
		t, id, n := thriftwire.ConsumeField(l.b[pos:])
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

// plainFields adds nodes for fields without parts as long as there is room for
// nodes, and returns the place after them and the last one.
func (l *loader) plainFields(parent, last uint32, pos int) (int, uint32) {
	b, t := tight(l.b), l.t
	k := len(t.nodes)
	room := t.nodes[k:cap(t.nodes)]
	place, siblings := two(0, parent), two(uint32(k+1), uint32(k-1))
	made := 0
	for ; len(b)-pos >= 3+8 && made < len(room); made++ {
		h := binary.BigEndian.Uint32(b[pos:])
		n := &room[made]
		start := pos + 3
		if kind := h >> 24; kind == uint32(thriftwire.String) {
			n := uint64(binary.BigEndian.Uint32(b[pos+3:]))
			if n > uint64(len(b)-pos-7) {
				break
			}
			pos += 7 + int(n)
		} else if kind == uint32(thriftwire.I32) || kind == uint32(thriftwire.Float) {
			pos += 3 + 4
		} else if kind == uint32(thriftwire.I64) || kind == uint32(thriftwire.Double) {
			pos += 3 + 8
		} else if kind == uint32(thriftwire.I8) || kind == uint32(thriftwire.Bool) {
			pos += 3 + 1
		} else {
			break
		}
		fill(n, two(uint32(start), uint32(pos)), place|uint64(uint16(h>>8)), siblings, h>>24)
		siblings += two(1, 1)
	}
	if made > 0 {
		room[0].Prev = last
		last = uint32(k + made - 1)
		if l.own != 0 {
			for i := range room[:made] {
				room[i].Flags = l.own
			}
		}
	}
	t.nodes = t.nodes[:k+made]
	return pos, last
}

func (l *loader) elements(at uint32, pos, depth int) (int, *diag.Fault) {
	t, size, n := l.t.proto.list(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	first, last := uint32(len(l.t.nodes)), uint32(0)
	if size == 0 {
		first = 0
	}
	if w := l.t.proto.fixedSize(t); w > 0 && size > 0 {
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
		at := uint32(base + k)
		fill(&nodes[k], two(uint32(pos), uint32(pos+w)), two(0, parent), two(at+1, at-1), l.kind(t))
		pos += w
	}
}

func (l *loader) entries(at uint32, pos, depth int) (int, *diag.Fault) {
	key, t, size, n := l.t.proto.mapping(l.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	pos += n
	first, last := uint32(len(l.t.nodes)), uint32(0)
	if size == 0 {
		first = 0
	}
	for range size {
		var end, code int
		if l.t.proto == Binary {
			end, code = skipPart(l.b, pos, key, depth)
		} else {
			end, code = l.t.proto.dialect().SkipAt(l.b, pos, key, depth)
		}
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
