package protobuf

import (
	"hash/maphash"
	"math"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the tree of a message, and going about in it.

// Tree is a message taken apart, to be changed in many places and written
// back. It needs a schema: a field comes once in it, a list with its elements and
// a map with its entries, wherever they stood; unknown fields come as they stood.
//
// Its memory is used again by the next message, so a tree that is reused
// allocates nothing once it is warm, unless messages have to be merged. The zero
// Tree is empty and ready. It is for one goroutine at a time.
//
// A tree aliases the message that it was given until the next one or Reset;
// what is put into it later is copied, and stays in its memory until then even
// if it is replaced. Parts that nobody changed are written back as the bytes they
// were. A part takes 32 bytes of memory, and a byte of the message makes at most one.
type Tree struct {
	src    []byte
	own    []byte                // the bytes of what was put into the tree, or merged
	nodes  arena.Nodes[partKind] // nodes[0] is nobody, nodes[1] the root
	schema *schema.Type
	merges merging  // of the message that is being loaded
	seen   []uint32 // scratch for taking messages apart, a stack: the fields' nodes
	table  []uint32 // scratch for finding keys that stand twice
	seed   maphash.Seed
	order  []uint32 // scratch for sorting
}

// node is a part of the tree. Its bytes are a number, text, the fields of a message, the records of
// a list or map, or the whole record of an unknown field; its label is a field's number, or
// where the record of an entry's key starts.
type (
	node     = arena.Node[partKind]
	partKind struct {
		kind nodeKind
		wire protowire.Type // of a number, as it stands
	}
)

// nodeKind tells what the bytes of a node are.
type nodeKind uint8

const (
	leafNode    nodeKind = iota // a number or text
	messageNode                 // fields
	elementsNode
	entriesNode
	unknownNode
)

// mixed is a flag of a list or map: other fields stand among its records.
const mixed = arena.Free

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
	t.Reset()
	p.pool.Put(t)
}

// Reset empties the tree and keeps its memory. Items of it do not exist any more.
func (t *Tree) Reset() {
	t.src, t.schema = nil, nil
	t.own, t.nodes, t.seen = t.own[:0], t.nodes[:0], t.seen[:0]
}

// Load takes the message, list or map v apart, all the way down. After an error
// the tree is empty. More merging than the package allows (see its doc) is a
// SizeLimit.
func (t *Tree) Load(v Value) error {
	f := t.start(v)
	if f == nil {
		f = t.load()
	}
	return t.finish(f)
}

// Open checks v as Load does, and takes it apart as its parts are reached: less
// work if they are few. If something has to be merged it is Load.
func (t *Tree) Open(v Value) error {
	f := t.start(v)
	if f == nil {
		t.merges = *mergingFor(len(v.data))
		p := place{Node: v.Node, typ: v.schema, merges: &t.merges}
		if f = p.check(maxDepth); f == nil && t.merges.met {
			// A tree that would get too large is refused here: later nobody is told.
			f = t.load()
		}
	}
	return t.finish(f)
}

// load makes all parts.
func (t *Tree) load() *diag.Fault {
	t.merges = *mergingFor(len(t.src))
	l := loader{t: t, deep: true, merges: &t.merges}
	return l.parts(1, t.schema, maxDepth)
}

func (t *Tree) finish(f *diag.Fault) error {
	if f == nil {
		return nil
	}
	t.Reset()
	return f
}

// start makes the root.
func (t *Tree) start(v Value) *diag.Fault {
	t.Reset()
	k := kindOf(v.schema)
	switch {
	case !v.Exists():
		return notFound()
	case v.schema == nil:
		return diag.NewFault(diag.Unsupported, -1, "a tree needs a schema")
	case k == leafNode || !supported(v.schema) || (v.kind == listNode) != (k == elementsNode) || (v.kind == mapNode) != (k == entriesNode):
		return v.expect("a message, list or map")
	case len(v.data) > math.MaxInt32:
		return diag.NewFault(diag.SizeLimit, -1, "longer than a tree can hold")
	}
	if cap(t.nodes) == 0 {
		// Numbers and short strings make most parts.
		t.nodes = make([]node, 0, 4+len(v.data)/8)
	}
	t.src, t.schema = v.data, v.schema
	t.nodes = append(t.nodes, node{}, node{End: uint32(len(v.data)), Label: uint32(v.number), Is: partKind{kind: k}, Flags: mixed})
	return nil
}

// kindOf returns what a value of type t is in a tree.
func kindOf(t *schema.Type) nodeKind {
	if t == nil {
		return unknownNode
	}
	switch t.Kind() {
	case schema.Struct:
		return messageNode
	case schema.List:
		return elementsNode
	case schema.Map:
		return entriesNode
	}
	return leafNode
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

// Type returns the type by the schema, nil for an unknown field. It looks at
// all above the item.
func (i Item) Type() *schema.Type {
	n := i.get()
	switch {
	case n == nil || n.Is.kind == unknownNode:
		return nil
	case i.at == 1:
		return i.tree.schema
	}
	above := Item{i.tree, n.Parent}.Type()
	switch {
	case above == nil:
		return nil
	case above.Kind() != schema.Struct:
		return above.Elem()
	}
	return above.Struct().FieldByID(int32(n.Label)).Type()
}

// Field returns the field of a message that the item is, by the schema; nil for
// unknown fields and other parts.
func (i Item) Field() *schema.Field {
	n := i.get()
	if n == nil || n.Parent == 0 || i.tree.nodes[n.Parent].Is.kind != messageNode || n.Is.kind == unknownNode {
		return nil
	}
	return Item{i.tree, n.Parent}.Type().Struct().FieldByID(int32(n.Label))
}

// ID returns the number of a field of a message, 0 for other parts.
func (i Item) ID() int32 {
	if n := i.get(); n != nil && n.Parent != 0 && i.tree.nodes[n.Parent].Is.kind == messageNode {
		return int32(n.Label)
	}
	return 0
}

// Key returns the key of an entry, which aliases the message or the tree. It
// does not exist for other parts.
func (i Item) Key() Value {
	n := i.get()
	if n == nil || n.Parent == 0 || i.tree.nodes[n.Parent].Is.kind != entriesNode {
		return Value{}
	}
	typ := Item{i.tree, n.Parent}.Type().Key()
	b := i.tree.buffer(n)
	r, _ := readRecord(b, int(n.Label), 1)
	key, _ := nodeOf(b, &r, typ)
	key.data = b[r.value:r.end:r.end]
	return Value{key, typ}
}

// buffer returns src or own, where a node has its value.
func (t *Tree) buffer(n *node) []byte {
	if n.Flags&arena.Owned != 0 {
		return t.own
	}
	return t.src
}

// Value returns the part as a value. It aliases the message or, until its
// Reset, the tree, unless something in the part was changed, or a list or map
// stood among other fields: then it is written anew.
func (i Item) Value() (Value, error) {
	n := i.get()
	if n == nil {
		return Value{}, notFound()
	}
	typ := i.Type()
	b := i.tree.buffer(n)[n.Start:n.End:n.End]
	if n.Is.kind == unknownNode {
		r, _ := readRecord(b, 0, maxDepth)
		x, _ := nodeOf(b, &r, nil)
		x.data = b[r.value:r.end:r.end]
		return Value{x, nil}, nil
	}
	if n.Flags&arena.Changed != 0 || n.Is.kind >= elementsNode && n.Flags&mixed != 0 {
		var err error
		if b, err = i.AppendTo([]byte{}); err != nil {
			return Value{}, err
		}
	}
	switch n.Is.kind {
	case elementsNode:
		return Value{Node{kind: listNode, wire: protowire.Bytes, number: int32(n.Label), data: b}, typ}, nil
	case entriesNode:
		return Value{Node{kind: mapNode, wire: protowire.Bytes, number: int32(n.Label), data: b}, typ}, nil
	}
	return NewValue(typ, b), nil
}

// Len returns the number of fields, elements or entries, 0 for parts without
// any. It counts them.
func (i Item) Len() int {
	count := 0
	for part := i.First(); part.Exists(); part = part.Next() {
		count++
	}
	return count
}

// parts returns the item's node with its parts loaded, nil if it cannot have any.
func (i Item) parts() *node {
	n := i.get()
	switch {
	case n == nil || n.Flags&arena.Loaded != 0:
		return n
	case n.Is.kind == leafNode || n.Is.kind == unknownNode || !i.tree.expand(i):
		return nil
	}
	return &i.tree.nodes[i.at]
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

// Get returns the part that the path leads to, if there is one. A step that the
// schema or the message does not have leads to nothing.
func (i Item) Get(path ...Step) Item {
	for _, given := range path {
		if i.parts() == nil {
			return Item{}
		}
		s, f := resolve(given, i.Type())
		if f != nil {
			return Item{}
		}
		i = i.find(&s)
	}
	return i
}

// find returns the part that a resolved step leads to.
func (i Item) find(s *step) Item {
	t, n := i.tree, i.parts()
	if n == nil {
		return Item{}
	}
	k := n.First
	switch n.Is.kind {
	case messageNode:
		for ; k != 0; k = t.nodes[k].Next {
			if t.nodes[k].Label == uint32(s.num) && t.nodes[k].Is.kind != unknownNode {
				return Item{t, k}
			}
		}
	case elementsNode:
		if s.kind != dynamic.IndexStep || s.num < 0 {
			return Item{}
		}
		for left := s.num; left > 0 && k != 0; left-- {
			k = t.nodes[k].Next
		}
	default:
		for ; k != 0; k = t.nodes[k].Next {
			if s.isKey(Item{t, k}.Key().Node) {
				break
			}
		}
	}
	return t.item(k)
}
