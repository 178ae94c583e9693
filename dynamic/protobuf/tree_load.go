package protobuf

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the making of nodes from bytes.

// loader makes nodes.
type loader struct {
	t    *Tree
	deep bool // make the parts of parts too
}

// expand makes the parts of an item that has none yet, and reports whether that
// could be done: bytes that were checked before can only have been changed by
// somebody, or be a message that was put into the tree.
func (t *Tree) expand(i Item) bool {
	l := loader{t: t}
	nodes, own, met := len(t.nodes), len(t.own), len(t.met)
	if f := l.parts(i.at, i.Type(), maxDepth); f != nil {
		t.nodes, t.own, t.met = t.nodes[:nodes], t.own[:own], t.met[:met]
		return false
	}
	return true
}

// parts makes the parts of the node at, which has the type typ.
func (l *loader) parts(at uint32, typ *schema.Type, depth int) *diag.Fault {
	n := &l.t.nodes[at]
	p := place{typ: typ, at: int(n.start)}
	p.data, p.number = l.t.buffer(n)[n.start:n.end], int32(n.label)
	if n.flags&owned != 0 {
		p.at = -1
	}
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	s := siblings{loader: l, above: at, base: n.start, flags: n.flags & owned, pure: true}
	var f *diag.Fault
	switch n.kind {
	case messageNode:
		f = s.fields(p, depth)
	case elementsNode:
		f = s.elements(p, depth)
	default:
		f = s.entries(p, depth)
	}
	if f != nil {
		return f
	}
	n = &l.t.nodes[at]
	n.flags |= partsLoaded
	if s.pure {
		n.flags &^= mixed
	}
	if n.first = s.first; s.first != 0 {
		l.t.nodes[s.first].prev = s.last
	}
	return nil
}

// siblings are the parts of a node that are being made.
type siblings struct {
	*loader
	above       uint32
	base        uint32 // of the node's bytes in its buffer
	flags       uint8  // owned if that is own
	first, last uint32
	pure        bool // all records are the node's
}

// add adds a part, whose value is at [start,end) of the node's bytes, and
// returns its number.
func (s *siblings) add(k nodeKind, wire protowire.Type, label uint32, start, end int) uint32 {
	t := s.t
	at := uint32(len(t.nodes))
	t.nodes = append(t.nodes, node{
		start: s.base + uint32(start), end: s.base + uint32(end), label: label, parent: s.above, prev: s.last,
		kind: k, wire: wire, flags: s.flags,
	})
	if s.last == 0 {
		s.first = at
	} else {
		t.nodes[s.last].next = at
	}
	s.last = at
	return at
}

// open makes the parts of a part, if that is wanted.
func (s *siblings) open(at uint32, typ *schema.Type, depth int) *diag.Fault {
	if !s.deep || s.t.nodes[at].kind == leafNode {
		return nil
	}
	return s.parts(at, typ, depth-1)
}

// copied makes the bytes of a part b, which the tree then owns.
func (s *siblings) copied(at uint32, b []byte) *diag.Fault {
	t := s.t
	start := len(t.own)
	if f := t.keep(b); f != nil {
		return f
	}
	n := &t.nodes[at]
	n.start, n.end = uint32(start), uint32(len(t.own))
	n.flags |= owned
	return nil
}

func (s *siblings) fields(p place, depth int) *diag.Fault {
	t, d := s.t, p.typ.Struct()
	base := len(t.met)
	t.met = slices.Grow(t.met, len(d.Fields()))[:base+len(d.Fields())]
	clear(t.met[base:])
	if f := p.surveyInto(t.met[base:], d, depth); f != nil {
		return f
	}
	for pos := 0; pos < len(p.data); {
		r, _ := readRecord(p.data, pos, depth) // which the survey has read
		pos = r.next
		field := known(d, &r)
		if field == nil {
			s.add(unknownNode, r.wire, uint32(r.number), r.start, r.next)
			continue
		}
		o := t.met[base+field.Index()]
		if o.count == 0 || o.first != r.start {
			continue
		}
		if f := s.field(p, field, &o, depth); f != nil {
			return f.Field(field.Name())
		}
	}
	t.met = t.met[:base]
	return nil
}

// field adds a field that was met.
func (s *siblings) field(p place, field *schema.Field, o *occurrence, depth int) *diag.Fault {
	typ := field.Type()
	k := kindOf(typ)
	switch {
	case k == elementsNode || k == entriesNode:
		at := s.add(k, o.wire, uint32(o.number), o.first, o.next)
		s.t.nodes[at].flags |= mixed // until its records have been looked at
		return s.open(at, typ, depth)
	case k == messageNode && o.count > 1:
		data, f := p.merged(o, typ, field.Oneof(), depth)
		at := s.add(k, o.wire, uint32(o.number), 0, 0)
		if f == nil {
			f = s.copied(at, data)
		}
		if f != nil {
			return f
		}
		return s.open(at, typ, depth)
	}
	return s.open(s.add(k, o.wire, uint32(o.number), o.value, o.end), typ, depth)
}

func (s *siblings) elements(p place, depth int) *diag.Fault {
	elem := p.typ.Elem()
	k, w := kindOf(elem), wireOf(elem)
	for pos, i := 0, 0; pos < len(p.data); {
		r, code := readRecord(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		switch {
		case r.number != p.number || !fits(p.typ, r.wire):
			s.pure = false
		case r.wire == w:
			if f := s.open(s.add(k, w, 0, r.value, r.end), elem, depth); f != nil {
				return f.Index(i)
			}
			i++
		default:
			if at, code := checkPacked(p.data, r.value, r.end, w); code < 0 {
				return p.fault(code, at)
			}
			for at := r.value; at < r.end; i++ {
				end, _ := skipNumbers(p.data[:r.end], at, w, 1)
				s.add(leafNode, w, 0, at, end)
				at = end
			}
		}
	}
	return nil
}

func (s *siblings) entries(p place, depth int) *diag.Fault {
	count := 0
	for pos := 0; pos < len(p.data); {
		r, code := readRecord(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		if pos = r.next; r.number != p.number || !fits(p.typ, r.wire) {
			s.pure = false
			continue
		}
		e, at, code := readEntry(p.data, &r, p.typ, depth-1)
		if code < 0 {
			return p.fault(code, at)
		}
		if f := s.entry(p, &r, &e, depth-1); f != nil {
			return f.Key(keyText(e.key))
		}
		count++
	}
	if count > 1 {
		s.dropTwins(count)
	}
	return nil
}

// entry adds an entry. It is used as it stands if that is a key and a value;
// else it is written anew.
func (s *siblings) entry(p place, r *record, e *mapEntry, depth int) *diag.Fault {
	elem := p.typ.Elem()
	k := kindOf(elem)
	if v := &e.value; v.count == 1 && v.next == r.end {
		key, code := readRecord(p.data[:r.end], r.value, depth)
		if code == 0 && key.number == 1 && key.next == v.start && e.key.stands(p.data[key.value:key.end], p.typ.Key()) {
			return s.open(s.add(k, v.wire, s.base+uint32(key.start), v.value, v.end), elem, depth)
		}
	}
	part := p
	if f := part.takeEntry(e, depth); f != nil {
		return f
	}
	t := s.t
	label := len(t.own)
	own, f := e.key.appendSingle(t.own, 1, p.typ.Key())
	if f != nil {
		return f
	}
	if t.own = own; len(own) > math.MaxInt32 {
		return tooLong()
	}
	data := part.data
	if packable(wireOf(elem)) && len(data) == 0 {
		data = appendNumber(nil, wireOf(elem), 0) // it did not stand
	}
	at := s.add(k, wireOf(elem), uint32(label), 0, 0)
	if f := s.copied(at, data); f != nil {
		return f
	}
	return s.open(at, elem, depth)
}

// stands reports whether b is the key as it is written anew, so that keys can be
// compared by their bytes.
func (n Node) stands(b []byte, t *schema.Type) bool {
	w := wireOf(t)
	if w == protowire.Bytes {
		return true
	}
	var room [10]byte
	bits, f := n.encode(t)
	return f == nil && string(appendNumber(room[:0], w, bits)) == string(b)
}

// dropTwins unlinks entries whose key stands again after them.
func (s *siblings) dropTwins(count int) {
	t := s.t
	if t.seed == (maphash.Seed{}) {
		t.seed = maphash.MakeSeed()
	}
	size := 4
	for size < 2*count {
		size *= 2
	}
	t.table = slices.Grow(t.table[:0], size)[:size]
	clear(t.table)
	for at := s.last; at != 0; {
		n := &t.nodes[at]
		before := n.prev
		key := Item{t, at}.rawKey()
		slot := int(maphash.Bytes(t.seed, key)) & (size - 1)
		for t.table[slot] != 0 && string(Item{t, t.table[slot]}.rawKey()) != string(key) {
			slot = (slot + 1) & (size - 1)
		}
		if t.table[slot] == 0 {
			t.table[slot] = at
		} else {
			s.pure = false
			s.drop(at)
		}
		at = before
	}
}

// rawKey returns the bytes of an entry's key.
func (i Item) rawKey() []byte {
	n := i.get()
	b := i.tree.buffer(n)
	r, _ := readRecord(b, int(n.label), 1)
	return b[r.value:r.end]
}

// drop takes a part out of the siblings, the last of which stays.
func (s *siblings) drop(at uint32) {
	n := &s.t.nodes[at]
	s.t.nodes[n.next].prev = n.prev
	if n.prev == 0 {
		s.first = n.next
	} else {
		s.t.nodes[n.prev].next = n.next
	}
	n.parent, n.next, n.prev = 0, 0, 0
}
