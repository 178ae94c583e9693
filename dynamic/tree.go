package dynamic

import (
	"hash/maphash"
	"math"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the tree of a message, and going about in it.

// Tree is a message taken apart, to be changed in many places and written
// back. Its memory is used again by the next message, so a tree that is reused
// allocates nothing once it is warm. The zero Tree is empty and ready. It is
// for one goroutine at a time.
//
// A tree aliases the message that it was given until the next one or Reset;
// what is put into it later is copied, and stays in its memory until then even if it is replaced. Parts that nobody changed are written
// back as the bytes they were. A part takes 32 bytes of memory, and a byte of the message
// makes at most one.
type Tree struct {
	src    []byte
	own    []byte                // the bytes of what was put into the tree
	nodes  arena.Nodes[partKind] // nodes[0] is nobody, nodes[1] the root
	schema *schema.Type
	proto  Protocol // of src and own
	order  []uint32 // scratch for sorting

	edits  uint32 // counts changes, which put indexes out of date
	wides  []wide // indexes of nodes with many parts
	oldest int
	seed   maphash.Seed // of the indexes, once seeded
	seeded bool
}

// node is a part of the tree. The lower half of a field's label is its id; what is above it in
// a compact message is described at compactLabel. An entry's key ends where its value starts. A
// node that holds a changed one is marked, and so is all above it.
type (
	node     = arena.Node[partKind]
	partKind struct{ typ, key, elem thriftwire.Type }
)

// TreePool hands out trees and takes them back. The zero TreePool is ready. It
// is safe for concurrent use.
type TreePool struct{ pool sync.Pool }

// Get returns an empty tree, if possible one with memory.
func (p *TreePool) Get() *Tree {
	if t, ok := p.pool.Get().(*Tree); ok {
		return t
	}
	return new(Tree)
}

// Put resets a tree, which nobody may use any more, and keeps its memory.
func (p *TreePool) Put(t *Tree) {
	t.release()
	p.pool.Put(t)
}

// Reset empties the tree and keeps its memory. Items of it do not exist any more.
func (t *Tree) Reset() {
	t.release()
	t.schema = nil
}

// release is Reset but for the schema, which most often is the next message's
// too: storing a pointer costs much while the collector runs.
func (t *Tree) release() {
	t.src = nil
	t.own, t.nodes, t.wides = t.own[:0], t.nodes[:0], t.wides[:0]
}

// Load takes apart the value at the front of v's bytes, all the way down.
// After an error the tree is empty.
func (t *Tree) Load(v Value) error { return t.load(v, true) }

// Open checks the value at the front of v's bytes as Load does, and takes it
// apart as its parts are reached: less work if they are few.
func (t *Tree) Open(v Value) error { return t.load(v, false) }

func (t *Tree) load(v Value, deep bool) error {
	if f := loadable(&v); f != nil {
		t.Reset()
		return f
	}
	t.own, t.nodes, t.wides = t.own[:0], t.nodes[:0], t.wides[:0]
	if cap(t.nodes) == 0 {
		// Numbers and short strings make most parts.
		t.nodes = make([]node, 0, max(4, 1+len(v.data)/16))
	}
	t.src, t.proto = v.data, v.proto
	if t.schema != v.schema {
		t.schema = v.schema
	}
	*t.grow(2) = node{}
	root := &t.nodes[1]
	*root = node{}
	root.Is.typ = v.typ
	// Filled part by part, for the reason that nodes are.
	var l loader
	l.t, l.b, l.deep = t, v.data, deep
	var end int
	var f *diag.Fault
	if deep && v.typ == thriftwire.Struct && v.proto == Binary { // as most are; two calls less for small ones
		end, f = l.fields(1, 0, maxDepth-1)
	} else {
		end, f = l.value(1, v.typ, 0, maxDepth)
	}
	if f != nil {
		t.Reset()
		return f
	}
	t.nodes[1].End = uint32(end)
	return nil
}

// loadable says why a tree cannot be made of v.
func loadable(v *Value) *diag.Fault {
	switch {
	case !v.Exists():
		return notFound()
	case len(v.data) > math.MaxInt32:
		return diag.NewFault(diag.SizeLimit, -1, "longer than a tree can hold")
	}
	return v.proto.known()
}

// Root returns the whole.
func (t *Tree) Root() Item { return Item{t, 1} }

// Item is a part of a tree: a field, an element, an entry or the whole. It is
// a handle; the zero Item does not exist. What it leads to changes as the tree
// does, and is gone after the tree's Reset.
type Item struct {
	tree *Tree
	at   uint32
}

// get returns the item's node, nil if it does not exist.
func (i Item) get() *node {
	if i.tree == nil || i.at == 0 || int(i.at) >= len(i.tree.nodes) {
		return nil
	}
	return &i.tree.nodes[i.at]
}

// Exists reports whether there is a part.
func (i Item) Exists() bool { return i.get() != nil }

// WireType returns the wire type, Stop if there is no part.
func (i Item) WireType() thriftwire.Type {
	if n := i.get(); n != nil {
		return n.Is.typ
	}
	return thriftwire.Stop
}

// Type returns the type by the schema. It is nil without a schema, and where
// the message has another wire type. It looks at all above the item.
func (i Item) Type() *schema.Type {
	if typ := i.declared(); i.Exists() && agrees(typ, i.WireType()) {
		return typ
	}
	return nil
}

// declared returns the type that the schema has at the item's place.
func (i Item) declared() *schema.Type {
	n := i.get()
	if n == nil {
		return nil
	}
	if i.at == 1 {
		return i.tree.schema
	}
	above := Item{i.tree, n.Parent}.Type()
	if above == nil {
		return nil
	}
	if above.Kind() != schema.Struct {
		return above.Elem()
	}
	if f := above.Struct().FieldByID(int32(int16(n.Label))); f != nil {
		return f.Type()
	}
	return nil
}

// ID returns the id of a field, 0 for other parts.
func (i Item) ID() int16 {
	n := i.get()
	if n == nil || n.Parent != 0 && i.tree.nodes[n.Parent].Is.typ != thriftwire.Struct {
		return 0
	}
	return int16(n.Label)
}

// Key returns the key of an entry, which aliases the message or the tree. It
// does not exist for other parts.
func (i Item) Key() Node {
	n := i.get()
	if n == nil || n.Parent == 0 || i.tree.nodes[n.Parent].Is.typ != thriftwire.Map {
		return Node{}
	}
	return Node{i.tree.nodes[n.Parent].Is.key, true, i.tree.proto, i.tree.keyBytes(n)}
}

// buffer returns src or own, where a node has its value.
func (t *Tree) buffer(n *node) []byte {
	if n.Flags&arena.Owned != 0 {
		return t.own
	}
	return t.src
}

// keyBytes returns an entry's key.
func (t *Tree) keyBytes(n *node) []byte { return t.buffer(n)[n.Label:n.Start:n.Start] }

// Value returns the part as a value. It aliases the message or, until its
// Reset, the tree, unless something in the part was changed: then it is written anew.
func (i Item) Value() (Value, error) {
	n := i.get()
	if n == nil {
		return Value{}, notFound()
	}
	if inHeader(n) {
		return Value{i.tree.proto.boolNode(i.tree.headerBool(n)), i.Type()}, nil
	}
	if n.Flags&arena.Changed == 0 {
		return Value{Node{n.Is.typ, true, i.tree.proto, i.tree.buffer(n)[n.Start:n.End:n.End]}, i.Type()}, nil
	}
	b, err := i.AppendTo(nil)
	return Value{i.tree.proto.NewNode(n.Is.typ, b), i.Type()}, err
}

// Len returns the number of fields, elements or entries, 0 for parts without
// any. It counts them.
func (i Item) Len() int {
	if n := i.parts(); n != nil {
		return i.tree.nodes.Count(n)
	}
	return 0
}

// parts returns the item's node with its parts loaded, nil if it cannot have any.
func (i Item) parts() *node {
	n := i.get()
	if n == nil || n.Flags&arena.Loaded != 0 {
		return n
	}
	switch n.Is.typ {
	case thriftwire.Struct, thriftwire.List, thriftwire.Set, thriftwire.Map:
		if i.tree.expand(i.at) {
			return &i.tree.nodes[i.at]
		}
	}
	return nil
}

// Parent returns what the item is a part of.
func (i Item) Parent() Item {
	if n := i.get(); n != nil {
		return i.tree.item(n.Parent)
	}
	return Item{}
}

// First returns the first field, element or entry.
func (i Item) First() Item {
	if n := i.parts(); n != nil {
		return i.tree.item(n.First)
	}
	return Item{}
}

// Last returns the last field, element or entry.
func (i Item) Last() Item {
	if n := i.parts(); n != nil && n.First != 0 {
		return Item{i.tree, i.tree.nodes[n.First].Prev}
	}
	return Item{}
}

// Next returns the part after the item among those beside it.
func (i Item) Next() Item {
	if n := i.get(); n != nil {
		return i.tree.item(n.Next)
	}
	return Item{}
}

// item returns the item for a node, which may be none.
func (t *Tree) item(at uint32) Item {
	if at == 0 {
		return Item{}
	}
	return Item{t, at}
}

// Get returns the part that the path leads to, if there is one. Names need a
// schema; a step that the schema or the message does not have leads to nothing.
func (i Item) Get(path ...Step) Item {
	for _, s := range path {
		if i.parts() == nil {
			return Item{}
		}
		s, f := s.resolve(i.Type())
		if f != nil {
			return Item{}
		}
		s = s.at(i.WireType())
		if i = i.find(&s); s.want != thriftwire.Stop && i.WireType() != s.want {
			return Item{}
		}
	}
	return i
}
