package protobuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the writing of trees.

// AppendTo appends the part as it is now to dst, which must not overlap the
// message: of a list or map the records of its field. After an error dst is
// returned as it was.
func (i Item) AppendTo(dst []byte) ([]byte, error) {
	n := i.get()
	if n == nil {
		return dst, notFound()
	}
	w := treeWriter{i.tree, dst}
	var f *diag.Fault
	typ := i.Type()
	switch n.Is.kind {
	case elementsNode, entriesNode:
		f = w.records(n, typ, i.packed(), maxDepth)
	case messageNode:
		f = w.message(n, typ, maxDepth)
	default:
		w.dst = append(w.dst, i.tree.buffer(n)[n.Start:n.End]...)
	}
	if f != nil {
		return dst, f
	}
	return w.dst, nil
}

// Append appends the whole tree to dst; see [Item.AppendTo].
func (t *Tree) Append(dst []byte) ([]byte, error) { return t.Root().AppendTo(dst) }

// treeWriter writes a tree.
type treeWriter struct {
	t   *Tree
	dst []byte
}

// message appends the fields of a message.
func (w *treeWriter) message(n *node, typ *schema.Type, depth int) *diag.Fault {
	if n.Flags&arena.Changed == 0 {
		w.dst = append(w.dst, w.t.buffer(n)[n.Start:n.End]...)
		return nil
	}
	if depth <= 0 {
		return fault(protowire.ErrDepth, -1)
	}
	for k := n.First; k != 0; {
		part := &w.t.nodes[k]
		k = part.Next
		var f *diag.Fault
		switch part.Is.kind {
		case unknownNode:
			w.dst = append(w.dst, w.t.buffer(part)[part.Start:part.End]...)
		case elementsNode, entriesNode:
			field := typ.Struct().FieldByID(int32(part.Label))
			f = w.records(part, field.Type(), field.Packed(), depth-1)
		default:
			f = w.record(part, int32(part.Label), typ.Struct().FieldByID(int32(part.Label)).Type(), depth-1)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// record appends a value with tag and length.
func (w *treeWriter) record(n *node, number int32, typ *schema.Type, depth int) *diag.Fault {
	wire := wireOf(typ)
	w.dst = protowire.AppendTag(w.dst, number, wire)
	b := w.t.buffer(n)[n.Start:n.End]
	switch {
	case packable(wire):
		w.dst = append(w.dst, b...)
		return nil
	case wire == protowire.StartGroup:
		f := w.message(n, typ, depth)
		w.dst = protowire.AppendTag(w.dst, number, protowire.EndGroup)
		return f
	case n.Is.kind == leafNode || n.Flags&arena.Changed == 0:
		w.dst = protowire.AppendBytes(w.dst, b)
		return nil
	}
	var size int
	w.dst, size = room(w.dst, len(b))
	start := len(w.dst)
	f := w.message(n, typ, depth)
	w.dst = appendLength(w.dst, start, size)
	return f
}

// records appends the records of a list or map.
func (w *treeWriter) records(n *node, typ *schema.Type, packed bool, depth int) *diag.Fault {
	t := w.t
	if n.Flags&(arena.Changed|mixed) == 0 {
		w.dst = append(w.dst, t.buffer(n)[n.Start:n.End]...)
		return nil
	}
	number := int32(n.Label)
	if n.Flags&arena.Loaded == 0 {
		// Other fields stand between: only its own records are taken.
		x := Node{kind: listNode, number: number, data: t.buffer(n)[n.Start:n.End]}
		if n.Is.kind == entriesNode {
			x.kind = mapNode
		}
		var f *diag.Fault
		w.dst, f = x.appendNode(w.dst, number, typ, packed)
		return f
	}
	wire := wireOf(typ)
	if n.Is.kind == elementsNode && packed && packable(wire) {
		if n.First == 0 {
			return nil
		}
		var size int
		w.dst, size = room(protowire.AppendTag(w.dst, number, protowire.Bytes), int(n.End-n.Start))
		start := len(w.dst)
		for k := n.First; k != 0; k = t.nodes[k].Next {
			part := &t.nodes[k]
			w.dst = append(w.dst, t.buffer(part)[part.Start:part.End]...)
		}
		w.dst = appendLength(w.dst, start, size)
		return nil
	}
	for k := n.First; k != 0; k = t.nodes[k].Next {
		part := &t.nodes[k]
		var f *diag.Fault
		if n.Is.kind == elementsNode {
			f = w.record(part, number, typ.Elem(), depth-1)
		} else {
			f = w.entry(part, number, typ, depth-1)
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// entry appends the record of an entry.
func (w *treeWriter) entry(n *node, number int32, typ *schema.Type, depth int) *diag.Fault {
	b := w.t.buffer(n)
	key, _ := readRecord(b, int(n.Label), 1)
	var size int
	w.dst, size = room(protowire.AppendTag(w.dst, number, protowire.Bytes), key.next-key.start+int(n.End-n.Start)+2)
	start := len(w.dst)
	w.dst = append(w.dst, b[key.start:key.next]...)
	f := w.record(n, 2, typ.Elem(), depth)
	w.dst = appendLength(w.dst, start, size)
	return f
}
