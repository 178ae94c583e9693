package protobuf

import (
	"hash/maphash"
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the making of nodes from bytes.

// loader makes nodes.
type loader struct {
	t      *Tree
	deep   bool // make the parts of parts too
	merges *merging
}

// expand makes the parts of an item that has none yet, and reports whether that
// could be done: bytes that were checked before can only have been changed by
// somebody, or be a message that was put into the tree.
func (t *Tree) expand(i Item) bool {
	l := loader{t: t}
	nodes, own, seen := len(t.nodes), len(t.own), len(t.seen)
	if f := l.parts(i.at, i.Type(), maxDepth); f != nil {
		t.nodes, t.own, t.seen = t.nodes[:nodes], t.own[:own], t.seen[:seen]
		return false
	}
	return true
}

// parts makes the parts of the node at, which has the type typ.
func (l *loader) parts(at uint32, typ *schema.Type, depth int) *diag.Fault {
	n := &l.t.nodes[at]
	p := place{typ: typ, at: int(n.Start), merges: l.merges}
	p.data, p.number = l.t.buffer(n)[n.Start:n.End], int32(n.Label)
	if n.Flags&arena.Owned != 0 {
		p.at = -1
	}
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	s := siblings{loader: l, above: at, base: n.Start, flags: n.Flags & arena.Owned, pure: true}
	var f *diag.Fault
	switch n.Is.kind {
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
	n.Flags |= arena.Loaded
	if s.pure {
		n.Flags &^= mixed
	}
	if n.First = s.first; s.first != 0 {
		l.t.nodes[s.first].Prev = s.last
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
	if len(t.nodes) == cap(t.nodes) {
		t.nodes = slices.Grow(t.nodes, 1)
	}
	t.nodes = t.nodes[:at+1]
	// Filled field by field: copying a node that was put together elsewhere waits
	// for its parts to arrive.
	n := &t.nodes[at]
	n.Start, n.End, n.Label, n.Parent = s.base+uint32(start), s.base+uint32(end), label, s.above
	n.Next, n.Prev, n.First = 0, s.last, 0
	n.Is.kind, n.Is.wire, n.Flags = k, wire, s.flags
	if s.last == 0 {
		s.first = at
	} else {
		t.nodes[s.last].Next = at
	}
	s.last = at
	return at
}

// open makes the parts of a part, if that is wanted.
func (s *siblings) open(at uint32, typ *schema.Type, depth int) *diag.Fault {
	if !s.deep || s.t.nodes[at].Is.kind == leafNode {
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
	n.Start, n.End = uint32(start), uint32(len(t.own))
	n.Flags |= arena.Owned
	return nil
}

// fields adds the fields of a message: in one pass, unless messages are to be
// merged or members of a oneof unset each other.
func (s *siblings) fields(p place, depth int) *diag.Fault {
	t, d := s.t, p.typ.Struct()
	base, begin := len(t.seen), len(t.nodes)
	t.seen = slices.Grow(t.seen, len(d.Fields()))[:base+len(d.Fields())]
	clear(t.seen[base:])
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		field := known(d, &r)
		if field == nil {
			s.add(unknownNode, r.wire, uint32(r.number), r.start, r.next)
			continue
		}
		slot := base + field.Index()
		at, k := t.seen[slot], kindOf(field.Type())
		switch {
		case at == 0 && field.Oneof() != nil && s.hasRival(field, base), at != 0 && k == messageNode:
			t.seen, t.nodes, s.first, s.last = t.seen[:base], t.nodes[:begin], 0, 0
			return s.fieldsByRule(p, depth)
		case at != 0 && k == leafNode: // the last counts
			t.nodes[at].Start, t.nodes[at].End = s.base+uint32(r.value), s.base+uint32(r.end)
		case at != 0:
			t.nodes[at].End = s.base + uint32(r.next)
		case k == leafNode, k == messageNode:
			t.seen[slot] = s.add(k, r.wire, uint32(r.number), r.value, r.end)
		default:
			at = s.add(k, r.wire, uint32(r.number), r.start, r.next)
			t.nodes[at].Flags |= mixed // until its records have been looked at
			t.seen[slot] = at
		}
	}
	t.seen = t.seen[:base]
	return s.openAll(d, depth)
}

// hasRival reports whether another member of the field's oneof has been added.
func (s *siblings) hasRival(field *schema.Field, base int) bool {
	for _, rival := range field.Oneof().Fields() {
		if s.t.seen[base+rival.Index()] != 0 {
			return true
		}
	}
	return false
}

// openAll makes the parts of the fields of a message, if that is wanted. It
// comes last: to find out after it that messages are to be merged, and start
// again, would take twice the time on each level.
func (s *siblings) openAll(d *schema.StructDef, depth int) *diag.Fault {
	if !s.deep {
		return nil
	}
	for at := s.first; at != 0; at = s.t.nodes[at].Next {
		n := &s.t.nodes[at]
		if n.Is.kind == leafNode || n.Is.kind == unknownNode {
			continue
		}
		field := d.FieldByID(int32(n.Label))
		if f := s.parts(at, field.Type(), depth-1); f != nil {
			return f.Field(field.Name())
		}
	}
	return nil
}

// fieldsByRule is fields for all messages: it finds out first what counts.
func (s *siblings) fieldsByRule(p place, depth int) *diag.Fault {
	t, d := s.t, p.typ.Struct()
	met := make([]occurrence, len(d.Fields()))
	if f := p.surveyInto(met, d, depth); f != nil {
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
		o := &met[field.Index()]
		if o.count == 0 || o.first != r.start {
			continue
		}
		k := kindOf(field.Type())
		var f *diag.Fault
		switch {
		case k == elementsNode || k == entriesNode:
			t.nodes[s.add(k, o.wire, uint32(o.number), o.first, o.next)].Flags |= mixed
		case k == messageNode && o.count > 1:
			f = s.merged(p, field, o, depth)
		default:
			s.add(k, o.wire, uint32(o.number), o.value, o.end)
		}
		if f != nil {
			return f.Field(field.Name())
		}
	}
	return s.openAll(d, depth)
}

// merged adds a message that stands in several records.
func (s *siblings) merged(p place, field *schema.Field, o *occurrence, depth int) *diag.Fault {
	data, f := p.merged(o, field.Type(), field.Oneof(), depth)
	if f != nil {
		return f
	}
	return s.copied(s.add(messageNode, o.wire, uint32(o.number), 0, 0), data)
}

func (s *siblings) elements(p place, depth int) *diag.Fault {
	elem := p.typ.Elem()
	k, w := kindOf(elem), wireOf(elem)
	var r record
	for pos, i := 0, 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		switch {
		case r.number == p.number && r.wire == w:
			if f := s.open(s.add(k, w, 0, r.value, r.end), elem, depth); f != nil {
				return f.Index(i)
			}
			i++
		case r.number != p.number || !fits(p.typ, r.wire):
			s.pure = false
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
	plain, w := newPlainEntry(p.typ), wireOf(p.typ)
	count := 0
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		if pos = r.next; r.number != p.number || r.wire != w {
			s.pure = false
			continue
		}
		if plain.read(p.data, &r, depth-1) {
			at := s.add(plain.kind, plain.elemWire, s.base+uint32(plain.key.start), plain.value.value, plain.value.end)
			if f := s.open(at, p.typ.Elem(), depth-1); f != nil {
				return f.Key(keyText(Item{s.t, at}.Key().Node))
			}
		} else if f := s.entry(p, &r, depth-1); f != nil {
			return f
		}
		count++
	}
	if count > 1 {
		s.dropTwins(count)
	}
	return nil
}

// plainEntry reads entries of one map that can be used as they stand: a key and
// a value, nothing else.
type plainEntry struct {
	key, value        record
	keyType           *schema.Type
	keyWire, elemWire protowire.Type
	kind              nodeKind // of the values
}

func newPlainEntry(t *schema.Type) plainEntry {
	return plainEntry{keyType: t.Key(), keyWire: wireOf(t.Key()), elemWire: wireOf(t.Elem()), kind: kindOf(t.Elem())}
}

// read reads the entry in a record of b, and reports whether it is a plain one.
func (e *plainEntry) read(b []byte, r *record, depth int) bool {
	b = b[:r.end]
	k, v := &e.key, &e.value
	return k.read(b, r.value, depth) == 0 && k.number == 1 && k.next != r.end && k.wire == e.keyWire &&
		v.read(b, k.next, depth) == 0 && v.number == 2 && v.next == r.end && v.wire == e.elemWire &&
		stands(b[k.value:k.end], e.keyType, e.keyWire)
}

// entry adds an entry, which is written anew.
func (s *siblings) entry(p place, r *record, depth int) *diag.Fault {
	var e mapEntry
	at, code := e.read(p.data, r, p.typ, depth)
	if code < 0 {
		return p.fault(code, at)
	}
	if f := s.copiedEntry(p, &e, depth); f != nil {
		return f.Key(keyText(e.key))
	}
	return nil
}

// copiedEntry adds an entry whose key and value the tree owns.
func (s *siblings) copiedEntry(p place, e *mapEntry, depth int) *diag.Fault {
	elem := p.typ.Elem()
	k := kindOf(elem)
	part := p
	if f := part.takeEntry(e, depth); f != nil {
		return f
	}
	if f := p.spend(len(part.data), e.at); f != nil {
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

// stands reports whether b, the bytes of a key of type t and wire type w, is how that key is
// written anew, so that keys can be compared by their bytes.
func stands(b []byte, t *schema.Type, w protowire.Type) bool {
	if w != protowire.Varint || len(b) == 1 && b[0] < 2 {
		return true
	}
	k, bits, n := number(b, t, w)
	key := Node{kind: k, bits: bits}
	bits, f := key.encode(t)
	return f == nil && n == protowire.SizeVarint(bits)
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
		before := n.Prev
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
	var r record
	r.read(b, int(n.Label), 1)
	return b[r.value:r.end]
}

// drop takes a part out of the siblings, the last of which stays.
func (s *siblings) drop(at uint32) {
	n := &s.t.nodes[at]
	s.t.nodes[n.Next].Prev = n.Prev
	if n.Prev == 0 {
		s.first = n.Next
	} else {
		s.t.nodes[n.Prev].Next = n.Next
	}
	n.Parent, n.Next, n.Prev = 0, 0, 0
}
