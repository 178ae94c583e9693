package protobuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds leaving parts out of a message by what they hold.

// AppendFilter appends n without those parts of what the path leads to for
// which keep is false: elements of a list, entries of a map, fields of a message.
// The iterator stands at the part that is asked about; keep must not advance it.
// If the path leads to nothing, n is copied. The path needs a schema.
//
// Of an entry whose key stands twice keep is asked twice, and the last answer
// counts. dst must not overlap n; after an error it is returned as it was.
func (p *Path) AppendFilter(dst []byte, n Node, keep func(part *Iterator) bool) ([]byte, error) {
	v, err := p.Get(n)
	switch {
	case err != nil:
		return dst, err
	case !v.Exists():
		return append(dst, n.data...), nil
	case v.schema == nil:
		return dst, along(diag.NewFault(diag.Unsupported, -1, "filtering needs a schema"), p.steps)
	}
	left, f := v.filter(keep)
	if f != nil {
		return dst, along(f, p.steps)
	}
	if left.kind != bytesNode && len(left.data) == 0 {
		left = Node{} // an empty list or map is an absent one
		if len(p.steps) == 0 {
			return dst, nil
		}
	}
	return p.AppendSet(dst, n, left)
}

// filter returns what is left of a value.
func (v Value) filter(keep func(*Iterator) bool) (Node, *diag.Fault) {
	out := v.Node
	out.data = make([]byte, 0, len(v.data))
	var f *diag.Fault
	switch v.schema.Kind() {
	case schema.Struct:
		out.data, f = v.filterFields(out.data, keep)
	case schema.List:
		it := v.Iterate()
		for it.Next() {
			if keep(&it) && f == nil {
				out.data, f = it.current.appendSingle(out.data, v.number, v.schema.Elem())
			}
		}
		f = firstOf(f, it.err)
	case schema.Map:
		out.data, f = v.filterEntries(out.data, keep)
	default:
		f = v.expect("a message, list or map")
	}
	return out, f
}

// firstOf returns f or, if there is none, the fault that ended an iteration.
func firstOf(f *diag.Fault, err error) *diag.Fault {
	if fault, ok := err.(*diag.Fault); ok && f == nil {
		return fault
	}
	return f
}

func (v Value) filterFields(dst []byte, keep func(*Iterator) bool) ([]byte, *diag.Fault) {
	it := v.Iterate()
	kept := make([]bool, len(v.schema.Struct().Fields()))
	unknown := map[int]bool{} // by place
	for it.Next() {
		switch ok := keep(&it); {
		case it.field != nil:
			kept[it.field.Index()] = ok
		case ok:
			unknown[it.pos] = true
		}
	}
	if it.err != nil {
		return dst, firstOf(nil, it.err)
	}
	for pos := 0; pos < len(v.data); {
		r, _ := readRecord(v.data, pos, maxDepth) // which the iterator has read
		pos = r.next
		// What a member of a oneof had unset was not shown, and so is not kept.
		if f := known(v.schema.Struct(), &r); f != nil && kept[f.Index()] || f == nil && unknown[pos] {
			dst = append(dst, v.data[r.start:r.next]...)
		}
	}
	return dst, nil
}

func (v Value) filterEntries(dst []byte, keep func(*Iterator) bool) ([]byte, *diag.Fault) {
	it := v.Iterate()
	kept := map[string]bool{}
	for it.Next() {
		kept[keyText(it.key.Node)] = keep(&it)
	}
	if it.err != nil {
		return dst, firstOf(nil, it.err)
	}
	var e mapEntry
	for pos := 0; pos < len(v.data); {
		r, _ := readRecord(v.data, pos, maxDepth) // which the iterator has read
		if pos = r.next; r.number != v.number || !fits(v.schema, r.wire) {
			continue
		}
		e.read(v.data, &r, v.schema, maxDepth-1)
		if kept[keyText(e.key)] {
			dst = append(dst, v.data[r.start:r.next]...)
		}
	}
	return dst, nil
}
