package dynamic

import (
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the changing of trees.

// changed marks a node and all above it.
func (t *Tree) changed(at uint32) {
	t.edits++
	t.nodes.Mark(at)
}

// keep copies bytes to the end of what the tree owns.
func (t *Tree) keep(b []byte) *diag.Fault {
	if len(t.own)+len(b) > math.MaxInt32 {
		return diag.NewFault(diag.SizeLimit, -1, "longer than a tree can hold")
	}
	t.own = append(t.own, b...)
	return nil
}

// keepNode copies a value that was accepted, in the protocol of the tree.
func (t *Tree) keepNode(x Node) *diag.Fault {
	if x.proto == t.proto {
		return t.keep(x.data)
	}
	own, f := x.appendIn(t.own, t.proto)
	if f == nil && len(own) > math.MaxInt32 {
		return diag.NewFault(diag.SizeLimit, -1, "longer than a tree can hold")
	}
	t.own = own
	return f
}

// Set replaces the item's value by x, which is copied, into the protocol of the tree. Parts that the item had
// are gone. A value of another wire type than the schema's, or than the elements
// beside it have, is a TypeMismatch.
func (i Item) Set(x Node) error { return asError(i.set(x, i.declared())) }

// asError returns f as an error that is nil if f is.
func asError(f *diag.Fault) error {
	if f == nil {
		return nil
	}
	return f
}

// set is Set where the schema has typ.
func (i Item) set(x Node, typ *schema.Type) *diag.Fault {
	n := i.get()
	if n == nil {
		return notFound()
	}
	t := i.tree
	above := &t.nodes[n.Parent]
	contained := i.at != 1 && above.Is.typ != thriftwire.Struct
	if contained && x.typ != n.Is.typ && (above.First != i.at || n.Next != 0) {
		return x.refused(n.Is.typ.String())
	}
	if f := admit(x, typ); f != nil {
		return f
	}
	label, start := n.Label, len(t.own)
	if i.at != 1 && above.Is.typ == thriftwire.Map {
		// The key stays in front of its value.
		label = uint32(start)
		if f := t.keep(t.keyBytes(n)); f != nil {
			return f
		}
		start = len(t.own)
	}
	if f := t.keepNode(x); f != nil {
		return f
	}
	n.Is.typ, n.Label, n.Start, n.End = x.typ, label, uint32(start), uint32(len(t.own))
	for k := n.First; k != 0; k = t.nodes[k].Next {
		t.nodes[k].Parent = 0 // who still holds one cannot change what replaced it
	}
	n.First = 0
	n.Flags = arena.Owned
	if contained {
		above.Is.elem = x.typ
	}
	t.changed(n.Parent)
	return nil
}

// admit checks a value that is to stand where the schema has typ.
func admit(x Node, typ *schema.Type) *diag.Fault {
	var e editor
	return e.accept(&x, typ, x.typ)
}

// Put sets the part that the step leads to, which it adds if it is absent: a
// field or entry after the others, an element in the gap that Before or End
// names. It returns the part. Indexes must exist.
func (i Item) Put(s Step, x Node) (Item, error) {
	if !i.Exists() {
		return Item{}, notFound()
	}
	n := i.parts()
	if n == nil {
		return Item{}, wrongType(-1, "a struct or container", i.WireType().String())
	}
	s, f := s.resolve(i.Type())
	if f != nil {
		return Item{}, f
	}
	s = s.at(n.Is.typ)
	if part := i.find(&s); part.Exists() {
		return part, asError(part.set(x, s.typ))
	}
	part, f := i.add(&s, x)
	return part, asError(f)
}

// add adds the part that a resolved step leads to.
func (i Item) add(s *Step, x Node) (Item, *diag.Fault) {
	t, n := i.tree, i.parts()
	part := node{Flags: arena.Owned}
	before, f := i.gap(s)
	if f == nil {
		f = admit(x, s.typ)
	}
	switch {
	case f != nil:
		return Item{}, f
	case n.Is.typ != thriftwire.Struct && n.First != 0 && x.typ != n.Is.elem:
		return Item{}, x.refused(n.Is.elem.String())
	case len(t.nodes) == math.MaxInt32:
		return Item{}, diag.NewFault(diag.SizeLimit, -1, "more parts than a tree can hold")
	}
	size := len(t.own)
	switch n.Is.typ {
	case thriftwire.Struct:
		part.Label = uint32(uint16(s.num))
	case thriftwire.Map:
		t.own = s.appendKey(t.proto, t.own, n.Is.key)
		part.Label = uint32(size)
	}
	part.Start = uint32(len(t.own))
	if f := t.keepNode(x); f != nil {
		t.own = t.own[:size]
		return Item{}, f
	}
	part.End = uint32(len(t.own))
	part.Is.typ, n.Is.elem = x.typ, x.typ
	at := uint32(len(t.nodes))
	t.nodes = append(t.nodes, part)
	t.nodes.Link(i.at, at, before.at)
	t.changed(i.at)
	return Item{t, at}, nil
}

// gap returns the part before which a resolved step adds a part, none for the
// end, or says why it cannot.
func (i Item) gap(s *Step) (before Item, f *diag.Fault) {
	n := i.parts()
	switch n.Is.typ {
	case thriftwire.Struct:
		if s.kind == stepField {
			return Item{}, nil
		}
	case thriftwire.Map:
		if s.kind > stepNumber {
			return Item{}, i.chooseKey(s)
		}
	default:
		if s.kind == stepEnd {
			return Item{}, nil
		}
		count := i.Len()
		switch {
		case s.kind == stepBefore && s.num == int64(count):
			return Item{}, nil
		case s.kind == stepBefore && uint64(s.num) < uint64(count):
			at := Index(int(s.num))
			return i.find(&at), nil
		case s.kind == stepIndex || s.kind == stepBefore:
			return Item{}, outOfRange(-1, count)
		}
	}
	return Item{}, wrongType(-1, "a value that "+s.String()+" leads into", n.Is.typ.String())
}

// chooseKey sees that the step can be a key of the map. An empty map takes the
// type of the first key.
func (i Item) chooseKey(s *Step) *diag.Fault {
	n := i.get()
	if n.First == 0 {
		if typ := i.Type(); typ != nil {
			n.Is.key = wireOf(typ.Key())
		} else if !s.fits(n.Is.key) {
			n.Is.key = s.keyType()
		}
	}
	if !s.fits(n.Is.key) {
		return diag.NewFault(diag.TypeMismatch, -1, "the step "+s.String()+" cannot be a key of the map")
	}
	return s.check(i.tree.proto, n.Is.key)
}

// unlink takes a node out from among its siblings.
func (t *Tree) unlink(at uint32) {
	t.changed(t.nodes[at].Parent)
	t.nodes.Unlink(at)
}

// Remove takes the item out of the tree. The whole cannot be removed, nor what
// has been already.
func (i Item) Remove() error {
	n := i.get()
	if n == nil || n.Parent == 0 {
		return notFound()
	}
	i.tree.unlink(i.at)
	return nil
}

// MoveBefore moves the item, with all its parts, to the place before another
// one of the same struct or container, or to the end if that does not exist.
func (i Item) MoveBefore(other Item) error {
	n := i.get()
	if n == nil || n.Parent == 0 {
		return notFound()
	}
	parent := n.Parent
	if o := other.get(); o != nil && (other.tree != i.tree || o.Parent != parent) {
		return diag.NewFault(diag.InvalidValue, -1, "the items are not parts of one struct or container")
	}
	if other.at == i.at && other.Exists() {
		return nil
	}
	i.tree.unlink(i.at)
	at := other.at
	if !other.Exists() {
		at = 0
	}
	i.tree.nodes.Link(parent, i.at, at)
	return nil
}

// Sort puts the parts of the item in order, equal ones as they stood. compare
// returns a negative number if a comes first; it must not change the tree.
func (i Item) Sort(compare func(a, b Item) int) {
	n := i.parts()
	if n == nil || n.First == 0 {
		return
	}
	t := i.tree
	order := t.nodes.Parts(i.at, t.order[:0])
	t.order = nil // so that a Sort within compare has memory of its own
	slices.SortStableFunc(order, func(a, b uint32) int { return compare(Item{t, a}, Item{t, b}) })
	t.nodes.Reorder(i.at, order)
	t.order = order
	t.changed(i.at)
}

// Filter removes the parts for which keep is false and returns how many. keep
// must not add or remove parts.
func (i Item) Filter(keep func(Item) bool) int {
	removed := 0
	for part := i.First(); part.Exists(); {
		next := part.Next()
		if !keep(part) {
			i.tree.unlink(part.at)
			removed++
		}
		part = next
	}
	return removed
}

// Merge puts copies of all parts of other, of any tree, into the item, which
// must be of the same kind: elements come after those that are there, fields
// and entries take the place of those with the same id or key. After an error some
// parts may have been put.
func (i Item) Merge(other Item) error {
	if !i.Exists() || !other.Exists() {
		return notFound()
	}
	if i.WireType() != other.WireType() {
		return wrongType(-1, i.WireType().String(), other.WireType().String())
	}
	if other == i {
		return nil
	}
	for part := other.First(); part.Exists(); part = part.Next() {
		v, err := part.Value()
		if err != nil {
			return err
		}
		step := End()
		switch i.WireType() {
		case thriftwire.Struct:
			step = Field(part.ID())
		case thriftwire.Map:
			step = NodeKey(part.Key())
		}
		if _, err := i.Put(step, v.Node); err != nil {
			return err
		}
	}
	return nil
}
