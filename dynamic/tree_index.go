package dynamic

import (
	"hash/maphash"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the finding of parts: by walking over them and, where the
// same node is walked over far for the second time, by an index.

// wide is an index of the parts of a node that has many. It is of use until
// the tree's parts change.
type wide struct {
	parent uint32
	edits  uint32 // the tree's when the index was made, or the walk that may lead to it
	ready  bool
	// at is the parts of a list in order, else a table by hash with a load of at
	// most a half, in which 0 is empty and what does not fit stands in the places behind.
	at []uint32
}

const (
	farWalk  = 64 // the parts passed by a walk that is far
	maxWides = 4  // indexes of a tree; a further one takes the place of the oldest
)

// find returns the part that a resolved step leads to.
func (i Item) find(s *Step) Item {
	t, n := i.tree, i.parts()
	if n == nil {
		return Item{}
	}
	switch n.Is.typ {
	case thriftwire.Struct:
		if s.kind != stepField {
			return Item{}
		}
	case thriftwire.List, thriftwire.Set:
		if s.kind != stepIndex || s.num < 0 {
			return Item{}
		}
	case thriftwire.Map:
		if !s.fits(n.Is.key) {
			return Item{}
		}
	}
	if w := t.wideOf(i.at); w != nil && w.ready {
		if at, ok := w.find(t, n, s); ok {
			return t.item(at)
		}
	}
	at, passed := t.walk(n, s)
	if passed > farWalk {
		t.walkedFar(i.at)
	}
	return t.item(at)
}

// walk finds the part that a step leads to among those of n, and says how many
// it passed.
func (t *Tree) walk(n *node, s *Step) (at uint32, passed int) {
	k := n.First
	switch n.Is.typ {
	case thriftwire.Struct:
		for ; k != 0 && uint16(t.nodes[k].Label) != uint16(s.num); k = t.nodes[k].Next {
			passed++
		}
	case thriftwire.Map:
		if t.proto != Binary {
			return t.walkCompactEntries(n, s.in(t.proto))
		}
		for ; k != 0; k = t.nodes[k].Next {
			key := t.keyBytes(&t.nodes[k])
			if s.sameKey(key, 0, len(key), n.Is.key) {
				break
			}
			passed++
		}
	default:
		for ; k != 0 && int64(passed) < s.num; k = t.nodes[k].Next {
			passed++
		}
	}
	return k, passed
}

// wideOf returns the index of a node, which may not be ready, or nil.
func (t *Tree) wideOf(parent uint32) *wide {
	for k := range t.wides {
		if w := &t.wides[k]; w.parent == parent && w.edits == t.edits {
			return w
		}
	}
	return nil
}

// walkedFar notes that a walk over the parts of a node was far, and makes an
// index of them at the second time.
func (t *Tree) walkedFar(parent uint32) {
	w := t.wideOf(parent)
	if w != nil {
		w.build(t)
		return
	}
	if len(t.wides) < maxWides {
		if cap(t.wides) == 0 {
			t.wides = make([]wide, 0, maxWides)
		}
		t.wides = t.wides[:len(t.wides)+1] // with the memory of an earlier index
		w = &t.wides[len(t.wides)-1]
	} else {
		w = &t.wides[t.oldest%maxWides]
		t.oldest++
	}
	w.parent, w.edits, w.ready = parent, t.edits, false
}

// build fills the index.
func (w *wide) build(t *Tree) {
	n := &t.nodes[w.parent]
	w.at = w.at[:0]
	w.ready = true
	if n.Is.typ == thriftwire.List || n.Is.typ == thriftwire.Set {
		for k := n.First; k != 0; k = t.nodes[k].Next {
			w.at = append(w.at, k)
		}
		return
	}
	if !t.seeded {
		t.seed, t.seeded = maphash.MakeSeed(), true
	}
	size := 1
	for size < 2*t.nodes.Count(n) {
		size *= 2
	}
	for range size {
		w.at = append(w.at, 0)
	}
	for k := n.First; k != 0; k = t.nodes[k].Next {
		text, num, ok := t.labelOf(n, k)
		if !ok { // keys that are not indexed
			w.ready = false
			return
		}
		hash := maphash.Comparable(t.seed, num)
		if text != nil {
			hash = maphash.Bytes(t.seed, text)
		}
		slot := slotOf(w, t, n, hash, text, num)
		if w.at[slot] == 0 { // of equal ones the first counts
			w.at[slot] = k
		}
	}
}

// labelOf returns what tells a part of n, which is a struct or map, from the
// others: a key that is a string or binary, or the id or a key that is an
// integer.
func (t *Tree) labelOf(n *node, at uint32) (text []byte, num int64, ok bool) {
	part := &t.nodes[at]
	if n.Is.typ == thriftwire.Struct {
		return nil, int64(uint16(part.Label)), true
	}
	return labelOfKey(Node{n.Is.key, true, t.proto, t.keyBytes(part)})
}

// labelOfKey returns the label of an entry with that key; text is nil only for
// integers.
func labelOfKey(key Node) (text []byte, num int64, ok bool) {
	var err error
	switch key.typ {
	case thriftwire.String:
		if text, err = key.Bytes(); text == nil {
			text = []byte{}
		}
	case thriftwire.I16, thriftwire.I32, thriftwire.I64:
		num, err = key.Int()
	default:
		return nil, 0, false
	}
	return text, num, err == nil
}

// slotOf returns the place of a label in the table: that of the part with it,
// or an empty one.
func slotOf[T string | []byte](w *wide, t *Tree, n *node, hash uint64, text T, num int64) int {
	mask := len(w.at) - 1
	for slot := int(hash) & mask; ; slot = (slot + 1) & mask {
		at := w.at[slot]
		if at == 0 {
			return slot
		}
		if otherText, otherNum, ok := t.labelOf(n, at); ok && otherNum == num && string(otherText) == string(text) {
			return slot
		}
	}
}

// find returns the part of n that a step leads to, which is 0 if there is
// none; ok is false for a step that the index does not serve.
func (w *wide) find(t *Tree, n *node, s *Step) (at uint32, ok bool) {
	num := s.num
	switch {
	case n.Is.typ == thriftwire.List || n.Is.typ == thriftwire.Set:
		if num >= int64(len(w.at)) {
			return 0, true
		}
		return w.at[num], true
	case n.Is.typ == thriftwire.Struct:
		num = int64(uint16(num))
	case s.kind == stepString:
		return w.at[slotOf(w, t, n, maphash.String(t.seed, s.text), s.text, 0)], true
	case s.kind == stepValue:
		text, num, ok := labelOfKey(NewNode(thriftwire.Type(s.num), []byte(s.text)))
		if !ok {
			return 0, false
		}
		if text != nil {
			return w.at[slotOf(w, t, n, maphash.Bytes(t.seed, text), text, 0)], true
		}
		return w.at[slotOf(w, t, n, maphash.Comparable(t.seed, num), "", num)], true
	}
	return w.at[slotOf(w, t, n, maphash.Comparable(t.seed, num), "", num)], true
}
