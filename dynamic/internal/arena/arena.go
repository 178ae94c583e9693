package arena

// Node is a part of a tree. It holds no Go pointers: places are offsets into a buffer,
// relatives are indexes into the slice of nodes, 0 for none. Is tells what kind of part it
// is, in at most three bytes, so that two nodes share a cache line.
type Node[K any] struct {
	Start, End uint32 // the value's bytes
	Label      uint32 // a field's id, or where an entry's key starts
	Parent     uint32
	Next, Prev uint32 // siblings; the first one's Prev is the last
	First      uint32 // the first part
	Is         K
	Flags      uint8
}

// Flags of nodes; those from Free on are the tree's own.
const (
	Loaded  = 1 << iota // the parts are nodes
	Changed             // the bytes are out of date
	Owned               // the places are in what the tree owns, not in the message
	Free
)

// Nodes are the nodes of a tree: the first is nobody, the second the root.
type Nodes[K any] []Node[K]

// Mark says that a node has changed, and so all above it.
func (l Nodes[K]) Mark(at uint32) {
	for at != 0 && l[at].Flags&Changed == 0 {
		l[at].Flags |= Changed
		at = l[at].Parent
	}
}

// Count returns the number of a node's parts.
func (l Nodes[K]) Count(n *Node[K]) (count int) {
	for k := n.First; k != 0; k = l[k].Next {
		count++
	}
	return count
}

// Link puts a node among the parts of parent, before one of them or, if that is 0, at the
// end.
func (l Nodes[K]) Link(parent, at, before uint32) {
	p, n := &l[parent], &l[at]
	n.Parent, n.Next = parent, before
	switch {
	case p.First == 0:
		p.First, n.Prev = at, at
	case before == 0:
		last := l[p.First].Prev
		n.Prev, l[last].Next, l[p.First].Prev = last, at, at
	default:
		n.Prev, l[before].Prev = l[before].Prev, at
		if p.First == before {
			p.First = at
		} else {
			l[n.Prev].Next = at
		}
	}
}

// Unlink takes a node out from among its siblings.
func (l Nodes[K]) Unlink(at uint32) {
	n := &l[at]
	p := &l[n.Parent]
	switch {
	case p.First == at:
		if p.First = n.Next; n.Next != 0 {
			l[n.Next].Prev = n.Prev
		}
	case n.Next == 0:
		l[n.Prev].Next = 0
		l[p.First].Prev = n.Prev
	default:
		l[n.Prev].Next = n.Next
		l[n.Next].Prev = n.Prev
	}
	n.Parent, n.Next, n.Prev = 0, 0, 0
}

// MoveRange takes the parts of parent from first to last out and puts them before another one,
// which is not one of them, or at the end if that is 0. It reports whether they did not stand there.
func (l Nodes[K]) MoveRange(parent, first, last, before uint32) bool {
	p, a, z := &l[parent], &l[first], &l[last]
	if z.Next == before {
		return false
	}
	// Out: what stood around the range is joined.
	switch {
	case p.First == first: // the range is not all, for before or the end is elsewhere
		p.First = z.Next
		l[z.Next].Prev = a.Prev // the last one
	case z.Next == 0:
		l[a.Prev].Next = 0
		l[p.First].Prev = a.Prev
	default:
		l[a.Prev].Next = z.Next
		l[z.Next].Prev = a.Prev
	}
	// In.
	end := l[p.First].Prev
	switch {
	case before == 0:
		l[end].Next, a.Prev = first, end
		z.Next, l[p.First].Prev = 0, last
	case before == p.First:
		a.Prev, z.Next = end, before
		l[before].Prev, p.First = last, first
	default:
		prev := l[before].Prev
		l[prev].Next, a.Prev = first, prev
		z.Next, l[before].Prev = before, last
	}
	return true
}

// Parts appends the parts of a node to list, in their order.
func (l Nodes[K]) Parts(at uint32, list []uint32) []uint32 {
	for k := l[at].First; k != 0; k = l[k].Next {
		list = append(list, k)
	}
	return list
}

// Reorder gives the parts of a node, of which there are some, the order of list, which has all.
func (l Nodes[K]) Reorder(at uint32, list []uint32) {
	l[at].First = list[0]
	last := list[len(list)-1]
	for k, at := range list {
		part := &l[at]
		part.Prev, part.Next = last, 0
		if k+1 < len(list) {
			part.Next = list[k+1]
		}
		last = at
	}
}
