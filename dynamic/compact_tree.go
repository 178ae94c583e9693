package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic/internal/arena"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the trees of compact messages: the making of nodes for
// fields, and their writing. All else is as with binary ones.

// compactField is set in the label of a field of a compact struct that a loader
// made. The length of its header, which is at most 6, stands above the id.
//
// A bool field among them has its value in the header, whose first byte is
// then all there is: start and end are where the header ends. A bool that was put into
// the tree later has the one byte of an element.
const (
	compactField = 1 << 31
	headerShift  = 16
)

func compactLabel(id int16, header int) uint32 {
	return uint32(uint16(id)) | uint32(header)<<headerShift | compactField
}

// header returns where the header of a field that a loader made starts.
func header(n *node) uint32 { return n.Start - n.Label&^compactField>>headerShift }

// inHeader reports whether the node is a bool that has no bytes of its own.
func inHeader(n *node) bool { return n.Is.typ == thriftwire.Bool && n.Start == n.End }

// headerBool returns the value of such a node.
func (t *Tree) headerBool(n *node) bool { return t.buffer(n)[header(n)]&15 == 1 }

// appendBool appends such a node, or any bool, as an element.
func (t *Tree) appendBool(b []byte, n *node) []byte { return compact.AppendBool(b, t.boolOf(n)) }

// boolOf returns the value of a bool of a compact tree.
func (t *Tree) boolOf(n *node) bool {
	if inHeader(n) {
		return t.headerBool(n)
	}
	v, _ := compact.ConsumeBool(t.buffer(n)[n.Start:n.End])
	return v
}

// compactFields is fields for a compact struct.
func (l *loader) compactFields(at uint32, pos, depth int) (int, *diag.Fault) {
	d := l.t.proto.dialect()
	first, last := uint32(len(l.t.nodes)), uint32(0)
	var id int16 // of the field before pos
	for {
		h, n := d.ConsumeField(l.b[pos:], id)
		if n < 0 {
			return pos, fault(n, pos)
		}
		pos, id = pos+n, h.ID
		if h.Type == thriftwire.Stop {
			if last == 0 {
				first = 0
			}
			l.done(at, first, last, 0, 0)
			return pos, nil
		}
		next := uint32(len(l.t.nodes))
		var f *diag.Fault
		if pos, f = l.part(at, last, h.Type, int(compactLabel(id, n)), pos, depth); f != nil {
			return pos, f
		}
		last = next
	}
}

// walkCompactEntries is walk for the entries of n, with a step that is in the
// protocol of the tree if it is a value.
func (t *Tree) walkCompactEntries(n *node, s *Step) (at uint32, passed int) {
	for k := n.First; k != 0; k = t.nodes[k].Next {
		key := t.keyBytes(&t.nodes[k])
		if s.sameCompactKey(t.proto, key, 0, len(key), n.Is.key) {
			return k, passed
		}
		passed++
	}
	return 0, passed
}

// compactFields writes the fields of a changed compact struct. Neighbours that
// are neighbours in src too are copied together; the others need new headers.
func (w *treeWriter) compactFields(n *node, depth int) *diag.Fault {
	t := w.t
	var last int16               // the id of the field before
	from, to := n.Start, n.Start // a stretch of src that is to be copied
	if n.Flags&arena.Owned != 0 {
		from, to = noStretch, noStretch
	}
	for k := n.First; k != 0; {
		part := &t.nodes[k]
		k = part.Next
		id, whole := int16(part.Label), part.Flags&(arena.Changed|arena.Owned) == 0
		if whole && header(part) == to {
			to, last = part.End, id
			continue
		}
		w.copy(from, to)
		from, to = noStretch, noStretch
		if part.Is.typ == thriftwire.Bool {
			w.dst = compact.AppendBoolField(w.dst, t.boolOf(part), id, last)
		} else {
			w.dst = t.proto.appendField(w.dst, part.Is.typ, id, last)
		}
		if whole {
			from, to = part.Start, part.End
		} else if part.Is.typ != thriftwire.Bool {
			if f := w.value(part, depth-1); f != nil {
				return f
			}
		}
		last = id
	}
	w.copy(from, to)
	w.dst = compact.AppendStop(w.dst)
	return nil
}

// noStretch is where no stretch of src starts or ends.
const noStretch = 1<<32 - 1

// copy copies a stretch of src.
func (w *treeWriter) copy(from, to uint32) {
	if from != noStretch {
		w.dst = append(w.dst, w.t.src[from:to]...)
	}
}
