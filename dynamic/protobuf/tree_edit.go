package protobuf

import (
	"math"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the changing of trees.

func tooLong() *diag.Fault {
	return diag.NewFault(diag.SizeLimit, -1, "longer than a tree can hold")
}

// keep copies bytes to the end of what the tree owns.
func (t *Tree) keep(b []byte) *diag.Fault {
	if len(t.own)+len(b) > math.MaxInt32 {
		return tooLong()
	}
	t.own = append(t.own, b...)
	return nil
}

// content writes x to the end of what the tree owns, as the value of type typ of
// the field with that number, and returns where it starts.
func (t *Tree) content(x Node, number int32, typ *schema.Type, packed bool) (start int, f *diag.Fault) {
	start = len(t.own)
	switch {
	case !x.Exists():
		return start, notFound()
	case typ.Kind().IsContainer():
		t.own, f = x.appendNode(t.own, number, typ, packed)
	default:
		w := anyWriter{t.own}
		if f = w.bare(typ, x); f == nil && typ.Kind() == schema.Struct {
			f = x.wellFormed()
		}
		t.own = w.dst
	}
	if f == nil && len(t.own) > math.MaxInt32 {
		f = tooLong()
	}
	if f != nil {
		t.own = t.own[:start]
	}
	return start, f
}

// packed reports whether the item is a list that is written packed.
func (i Item) packed() bool {
	if field := i.Field(); field != nil {
		return field.Packed()
	}
	return i.at == 1 && packable(wireOf(i.tree.schema))
}

// Set replaces the item's value by x, which is copied. Parts that the item had
// are gone. Numbers are converted to the field's type and refused if they are not
// in its range; other values that the field cannot hold are a TypeMismatch.
// Unknown fields cannot be set.
func (i Item) Set(x Node) error { return asError(i.set(x)) }

func (i Item) set(x Node) *diag.Fault {
	n := i.get()
	if n == nil {
		return notFound()
	}
	typ := i.Type()
	if typ == nil {
		return diag.NewFault(diag.Unsupported, -1, "an unknown field has no type to be set by")
	}
	t := i.tree
	size, label := len(t.own), n.Label
	if i.at != 1 && t.nodes[n.Parent].Is.kind == entriesNode {
		// The record of the key stays in the same bytes.
		b := t.buffer(n)
		r, _ := readRecord(b, int(label), 1)
		label = uint32(size)
		if f := t.keep(b[r.start:r.next]); f != nil {
			return f
		}
	}
	start, f := t.content(x, int32(n.Label), typ, i.packed())
	if f != nil {
		t.own = t.own[:size]
		return f
	}
	n.Start, n.End, n.Label, n.First = uint32(start), uint32(len(t.own)), label, 0
	n.Flags, n.Is.wire = arena.Owned, wireOf(typ)
	t.nodes.Mark(n.Parent)
	return nil
}

// Put sets the part that the step leads to, which it adds if it is absent: a
// field or entry after the others, an element in the gap that Before or End
// names. It returns the part. Indexes must exist. Other members of a oneof are
// removed.
func (i Item) Put(given Step, x Node) (Item, error) {
	if !i.Exists() {
		return Item{}, notFound()
	}
	if i.parts() == nil {
		return Item{}, diag.NewFault(diag.TypeMismatch, -1, "the part has no parts itself")
	}
	s, f := resolve(given, i.Type())
	if f != nil {
		return Item{}, f
	}
	if part := i.find(&s); part.Exists() {
		return part, asError(part.set(x))
	}
	part, f := i.add(&s, x)
	return part, asError(f)
}

// add adds the part that a resolved step leads to.
func (i Item) add(s *step, x Node) (Item, *diag.Fault) {
	t, n := i.tree, i.get()
	if len(t.nodes) == math.MaxInt32 {
		return Item{}, diag.NewFault(diag.SizeLimit, -1, "more parts than a tree can hold")
	}
	before, f := i.gap(s)
	if f != nil {
		return Item{}, f
	}
	size, label := len(t.own), uint32(s.num)
	switch n.Is.kind {
	case entriesNode:
		t.own = s.appendKey(t.own, i.Type().Key())
		label = uint32(size)
	case elementsNode:
		label = 0
	}
	start, f := t.content(x, int32(label), s.typ, s.field != nil && s.field.Packed())
	if f != nil {
		t.own = t.own[:size]
		return Item{}, f
	}
	at := uint32(len(t.nodes))
	t.nodes = append(t.nodes, node{
		Start: uint32(start), End: uint32(len(t.own)), Label: label, Is: partKind{kindOf(s.typ), wireOf(s.typ)}, Flags: arena.Owned})
	t.nodes.Link(i.at, at, before.at)
	t.nodes.Mark(i.at)
	if o := oneofOf(s.field); o != nil {
		for part := i.First(); part.Exists(); {
			next := part.Next()
			if part.at != at && oneofOf(part.Field()) == o {
				t.unlink(part.at)
			}
			part = next
		}
	}
	return Item{t, at}, nil
}

// gap returns the part before which a resolved step adds a part, none for the
// end, or says why it cannot.
func (i Item) gap(s *step) (before Item, f *diag.Fault) {
	switch s.kind {
	case dynamic.BeforeStep:
		count := int64(i.Len())
		switch {
		case s.num == count:
			return Item{}, nil
		case uint64(s.num) > uint64(count):
			return Item{}, indexOutOfRange(count)
		}
		return i.find(&step{kind: dynamic.IndexStep, num: s.num}), nil
	case dynamic.IndexStep:
		return Item{}, indexOutOfRange(int64(i.Len()))
	}
	return Item{}, nil
}

// unlink takes a node out from among its siblings.
func (t *Tree) unlink(at uint32) {
	t.nodes.Mark(t.nodes[at].Parent)
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
// one of the same message, list or map, or to the end if that does not exist.
func (i Item) MoveBefore(other Item) error {
	n := i.get()
	if n == nil || n.Parent == 0 {
		return notFound()
	}
	parent := n.Parent
	if o := other.get(); o != nil && (other.tree != i.tree || o.Parent != parent) {
		return diag.NewFault(diag.InvalidValue, -1, "the items are not parts of one message, list or map")
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
	t.nodes.Mark(i.at)
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
// must be of the same type: elements come after those that are there, fields and
// entries take the place of those with the same number or key. Unknown fields are
// left out. After an error some parts may have been put.
func (i Item) Merge(other Item) error {
	if !i.Exists() || !other.Exists() {
		return notFound()
	}
	typ := i.Type()
	if typ == nil || other.Type() == nil || typ.String() != other.Type().String() || typ.Struct() != other.Type().Struct() {
		return diag.NewFault(diag.TypeMismatch, -1, "the items have other types")
	}
	if other == i {
		return nil
	}
	for part := other.First(); part.Exists(); part = part.Next() {
		v, err := part.Value()
		if err != nil {
			return err
		}
		given := End()
		switch other.get().Is.kind {
		case messageNode:
			if part.get().Is.kind == unknownNode {
				continue
			}
			given = Field(part.ID())
		case entriesNode:
			given = part.keyStep()
		}
		if _, err := i.Put(given, v.Node); err != nil {
			return err
		}
	}
	return nil
}

// keyStep returns the step that leads to an entry.
func (i Item) keyStep() Step {
	key := i.Key()
	switch key.kind {
	case bytesNode:
		return Key(string(key.data))
	case boolNode:
		return BoolKey(key.bits != 0)
	case uintNode:
		return UintKey(key.bits)
	}
	return IntKey(int64(key.bits))
}
