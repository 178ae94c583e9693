package dynamic

import "github.com/thrum-rpc/thrum/diag"

// This file holds the moving of parts, within a tree and from one to another.

// Rotate moves the first n parts of the item behind the others, in their
// order, or the last -n in front of them. It counts the parts; n may exceed their number.
func (i Item) Rotate(n int) {
	count := i.Len()
	if count < 2 {
		return
	}
	if n %= count; n < 0 {
		n += count
	}
	if n == 0 {
		return
	}
	first := i.First()
	last := first
	for ; n > 1; n-- {
		last = last.Next()
	}
	i.tree.nodes.MoveRange(i.at, first.at, last.at, 0)
	i.tree.changed(i.at)
}

// MoveRange moves the parts of the item from first to last, which stands behind
// it or is the same, to the place before another one, or to the end if that does not exist. It
// walks over the range.
func (i Item) MoveRange(first, last, before Item) error {
	if !first.Exists() || !last.Exists() {
		return notFound()
	}
	for _, part := range [...]Item{first, last, before} {
		if n := part.get(); n != nil && (part.tree != i.tree || n.Parent != i.at || part.at == 1) {
			return diag.NewFault(diag.InvalidValue, -1, "the items are not parts of one struct or container")
		}
	}
	at := uint32(0)
	if before.Exists() {
		at = before.at
	}
	inside := false
	for k := first.at; ; k = i.tree.nodes[k].Next {
		if k == 0 {
			return diag.NewFault(diag.InvalidValue, -1, "the last part of the range stands before the first")
		}
		inside = inside || k == at
		if k == last.at {
			break
		}
	}
	if inside {
		return diag.NewFault(diag.InvalidValue, -1, "a range cannot move into itself")
	}
	if i.tree.nodes.MoveRange(i.at, first.at, last.at, at) {
		i.tree.changed(i.at)
	}
	return nil
}

// Take puts a part of any tree where the step leads to, as Put does with its
// value, and removes it from where it was. It returns the part that was made. Nothing is
// changed after an error. A part cannot be taken into itself.
func (i Item) Take(s Step, from Item) (Item, error) {
	n := from.get()
	if n == nil || n.Parent == 0 {
		return Item{}, notFound()
	}
	for at := i; at.tree == from.tree && at.Exists(); at = at.Parent() {
		if at == from {
			return Item{}, diag.NewFault(diag.InvalidValue, -1, "a part cannot be taken into itself")
		}
	}
	v, err := from.Value()
	if err != nil {
		return Item{}, err
	}
	part, err := i.Put(s, v.Node)
	if err != nil {
		return Item{}, err
	}
	if n := from.get(); n.Parent != 0 && part != from { // it may have gone with what Put replaced
		from.tree.unlink(from.at)
	}
	return part, nil
}

// Fork makes into a copy of the tree, whatever it held: both refer to the same
// message, and changes of one do not show in the other. It allocates nothing if into has
// enough memory.
func (t *Tree) Fork(into *Tree) {
	if into == t {
		return
	}
	into.Reset()
	into.src, into.schema, into.proto = t.src, t.schema, t.proto
	into.own = append(into.own, t.own...)
	into.nodes = append(into.nodes, t.nodes...)
}

// In returns the part of a fork of the item's tree that the item is here. It
// is of use until either tree is changed by more than Set.
func (i Item) In(fork *Tree) Item {
	if i.Exists() && int(i.at) < len(fork.nodes) {
		return Item{fork, i.at}
	}
	return Item{}
}
