package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the writing of trees.

// AppendTo appends the part as it is now to dst, which must not overlap the
// message. After an error dst is returned as it was.
func (i Item) AppendTo(dst []byte) ([]byte, error) {
	n := i.get()
	if n == nil {
		return dst, notFound()
	}
	w := treeWriter{t: i.tree, dst: dst}
	if f := w.value(n, maxDepth); f != nil {
		return dst, f
	}
	return w.dst, nil
}

// Append appends the whole tree to dst, in the protocol of the message that it
// was loaded from; see [Item.AppendTo].
func (t *Tree) Append(dst []byte) ([]byte, error) { return t.Root().AppendTo(dst) }

// treeWriter writes a tree. Neighbours that are as they were in src are copied
// together.
type treeWriter struct {
	t   *Tree
	dst []byte
}

func (w *treeWriter) value(n *node, depth int) *diag.Fault {
	if inHeader(n) {
		w.dst = w.t.appendBool(w.dst, n)
		return nil
	}
	if n.Flags&arena.Changed == 0 {
		w.dst = append(w.dst, w.t.buffer(n)[n.Start:n.End]...)
		return nil
	}
	if depth <= 0 {
		return fault(thriftwire.ErrDepth, -1)
	}
	switch n.Is.typ {
	case thriftwire.Struct:
		if w.t.proto != Binary {
			return w.compactFields(n, depth)
		}
	case thriftwire.Map:
		w.dst = w.t.proto.appendMap(w.dst, n.Is.key, n.Is.elem, w.t.nodes.Count(n))
	default:
		w.dst = w.t.proto.appendList(w.dst, n.Is.elem, w.t.nodes.Count(n))
	}
	from, to := uint32(0), uint32(0) // a stretch of src that is to be copied
	for k := n.First; k != 0; {
		part := &w.t.nodes[k]
		k = part.Next
		if part.Flags&(arena.Changed|arena.Owned) == 0 {
			start := part.Start
			switch n.Is.typ {
			case thriftwire.Struct:
				start -= 3
			case thriftwire.Map:
				start = part.Label
			}
			if start != to {
				w.dst = append(w.dst, w.t.src[from:to]...)
				from = start
			}
			to = part.End
			continue
		}
		w.dst = append(w.dst, w.t.src[from:to]...)
		from, to = 0, 0
		switch n.Is.typ {
		case thriftwire.Struct:
			w.dst = thriftwire.AppendField(w.dst, part.Is.typ, int16(part.Label))
		case thriftwire.Map:
			w.dst = append(w.dst, w.t.keyBytes(part)...)
		}
		if f := w.value(part, depth-1); f != nil {
			return f
		}
	}
	w.dst = append(w.dst, w.t.src[from:to]...)
	if n.Is.typ == thriftwire.Struct {
		w.dst = thriftwire.AppendStop(w.dst)
	}
	return nil
}
