package protobuf

import (
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds changing what paths lead to: the elements of lists and the
// entries of maps.

// listState is how far the changing of a list has come.
type listState struct {
	at   int64 // the index of the next element that has not been met
	edge int   // the next edge
	// next is the index behind the record that is looked at.
	next int64
}

func indexOutOfRange(count int64) *diag.Fault {
	return diag.NewFault(diag.OutOfRange, -1, "the index is out of range, there are "+strconv.FormatInt(count, 10)+" elements")
}

// keepsElements reports whether nothing changes in a record of a list.
func (e *editor) keepsElements(p place, g *edge, c *change, r *record) bool {
	l, w := &c.list, wireOf(g.step.typ)
	l.next = l.at + 1
	if r.wire != w {
		_, left := skipNumbers(p.data[:r.end], r.value, w, r.end-r.value)
		l.next = l.at + int64(r.end-r.value-left)
	}
	edges := g.next.edges
	for l.edge < len(edges) && edges[l.edge].step.num < 0 {
		l.edge++
	}
	switch {
	case l.edge < len(edges) && edges[l.edge].step.num < l.next:
		return false
	case l.edge < len(edges) && r.start == c.start && edges[l.edge].tail(l.next):
		return false
	}
	l.at = l.next
	return true
}

// tail reports whether the edge is the gap after the last of count elements.
func (g *edge) tail(count int64) bool {
	return g.step.kind == dynamic.EndStep || g.step.kind == dynamic.BeforeStep && g.step.num == count
}

// elements writes what becomes of a record with elements.
func (e *editor) elements(p place, g *edge, c *change, r *record, depth int) *diag.Fault {
	l, elem := &c.list, g.step.typ.Elem()
	w, edges := wireOf(elem), g.next.edges
	packed := r.wire != w
	if !packed {
		kept := true
		for ; l.edge < len(edges) && edges[l.edge].step.num <= l.at; l.edge++ {
			h := &edges[l.edge]
			var f *diag.Fault
			if h.step.isElement() {
				kept = false
				f = e.element(p, h, r, depth)
			} else {
				f = e.insert(h, r.number, elem, false)
			}
			if f != nil {
				return h.step.locate(f)
			}
		}
		if kept {
			e.dst = append(e.dst, p.data[r.start:r.next]...)
		}
		l.at++
		if r.start == c.start {
			return e.insertTail(g, c, false)
		}
		return nil
	}
	if at, code := checkPacked(p.data, r.value, r.end, w); code < 0 {
		return p.fault(code, at)
	}
	begin := len(e.dst)
	var size int
	e.dst, size = room(protowire.AppendTag(e.dst, r.number, protowire.Bytes), r.end-r.value)
	start := len(e.dst)
	if f := e.packed(p, g, c, r); f != nil {
		return f
	}
	if r.start == c.start {
		if f := e.insertTail(g, c, true); f != nil {
			return f
		}
	}
	if len(e.dst) == start {
		e.dst = e.dst[:begin]
	} else {
		e.dst = appendLength(e.dst, start, size)
	}
	return nil
}

// packed writes the numbers of a packed record with what changes.
func (e *editor) packed(p place, g *edge, c *change, r *record) *diag.Fault {
	l, elem := &c.list, g.step.typ.Elem()
	w, edges := wireOf(elem), g.next.edges
	pos := r.value
	for ; l.edge < len(edges) && edges[l.edge].step.num < l.next; l.edge++ {
		h := &edges[l.edge]
		end, _ := skipNumbers(p.data[:r.end], pos, w, int(h.step.num-l.at))
		e.dst = append(e.dst, p.data[pos:end]...)
		pos, l.at = end, h.step.num
		if !h.step.isElement() {
			if f := e.insert(h, r.number, elem, true); f != nil {
				return h.step.locate(f)
			}
			continue
		}
		pos, _ = skipNumbers(p.data[:r.end], pos, w, 1)
		l.at++
		if h.next != nil {
			return h.step.locate(wrongType(-1, "a message", elem.String()))
		}
		if x := e.at(h.slots[0]); x.Exists() {
			bits, f := x.encode(elem)
			if f != nil {
				return h.step.locate(f)
			}
			e.dst = appendNumber(e.dst, w, bits)
		}
	}
	e.dst = append(e.dst, p.data[pos:r.end]...)
	l.at = l.next
	return nil
}

// element replaces, leaves out or changes the element in a record.
func (e *editor) element(p place, h *edge, r *record, depth int) *diag.Fault {
	elem := h.step.typ
	if h.next == nil {
		x := e.at(h.slots[0])
		if !x.Exists() {
			return nil
		}
		var f *diag.Fault
		e.dst, f = x.appendSingle(e.dst, r.number, elem)
		return f
	}
	part := p
	if f := part.take(&occurrence{record: *r, count: 1}, elem, nil, depth); f != nil {
		return f
	}
	return e.nested(part, h.next, r.number, r.wire, depth-1)
}

// insert writes the values of a gap, as numbers only in a packed record.
func (e *editor) insert(h *edge, number int32, elem *schema.Type, packed bool) *diag.Fault {
	for _, slot := range h.slots {
		x := e.at(slot)
		if !x.Exists() {
			continue
		}
		var f *diag.Fault
		if !packed {
			e.dst, f = x.appendSingle(e.dst, number, elem)
		} else {
			var bits uint64
			if bits, f = x.encode(elem); f == nil {
				e.dst = appendNumber(e.dst, wireOf(elem), bits)
			}
		}
		if f != nil {
			return f
		}
	}
	return nil
}

// insertTail writes the gaps after the last element.
func (e *editor) insertTail(g *edge, c *change, packed bool) *diag.Fault {
	edges, l := g.next.edges, &c.list
	for k := l.edge; k < len(edges); k++ {
		h := &edges[k]
		switch {
		case h.tail(l.at):
			if f := e.insert(h, int32(g.step.num), g.step.typ.Elem(), packed); f != nil {
				return h.step.locate(f)
			}
		case e.makes(h):
			return h.step.locate(indexOutOfRange(l.at))
		}
	}
	l.edge = len(edges)
	return nil
}

// finishList adds elements to a list that does not stand.
func (e *editor) finishList(p place, g *edge, c *change) *diag.Fault {
	edges := g.next.edges
	for k := range edges {
		if edges[k].step.num < 0 && e.makes(&edges[k]) {
			return edges[k].step.locate(indexOutOfRange(c.list.at))
		}
	}
	if c.list.edge >= len(edges) {
		return nil
	}
	for c.list.edge < len(edges) && edges[c.list.edge].step.num < 0 {
		c.list.edge++
	}
	if g.step.field == nil || !g.step.field.Packed() {
		return e.insertTail(g, c, false)
	}
	begin := len(e.dst)
	var size int
	e.dst, size = room(protowire.AppendTag(e.dst, int32(g.step.num), protowire.Bytes), 1)
	start := len(e.dst)
	if f := e.insertTail(g, c, true); f != nil {
		return f
	}
	if len(e.dst) == start {
		e.dst = e.dst[:begin]
		return nil
	}
	e.dst = appendLength(e.dst, start, size)
	return nil
}

// keepsEntry reports whether no path leads to the entry in a record.
func (e *editor) keepsEntry(p place, g *edge, c *change, r *record, depth int) (bool, *diag.Fault) {
	if c.entries == nil {
		c.entries = make([]mapEntry, len(g.next.edges))
		all := p
		all.move(Node{kind: mapNode, number: c.number}, g.step.typ, c.first, len(p.data))
		if f := all.meetEntries(g.next, c.entries, depth); f != nil {
			return false, f
		}
		for i := range c.entries {
			c.entries[i].shift(c.first)
		}
	}
	var entry mapEntry
	at, code := entry.read(p.data, r, g.step.typ, depth-1)
	if code < 0 {
		return false, p.fault(code, at)
	}
	return g.next.key(entry.key) < 0, nil
}

// shift moves the places of an entry, which exists if it has an end.
func (m *mapEntry) shift(by int) {
	if m.at == 0 {
		return
	}
	m.at += by
	m.value.first += by
	m.value.start += by
	m.value.value += by
	m.value.end += by
	m.value.next += by
}

// key returns the number of the edge with that key, or -1.
func (br *branch) key(key Node) int {
	for i := range br.edges {
		if br.edges[i].step.isKey(key) {
			return i
		}
	}
	return -1
}

// entry writes what becomes of an entry: nothing unless it is the one that
// counts.
func (e *editor) entry(p place, g *edge, c *change, r *record, depth int) *diag.Fault {
	var entry mapEntry
	entry.read(p.data, r, g.step.typ, depth-1)
	i := g.next.key(entry.key)
	if c.entries[i].at != r.end {
		return nil
	}
	h := &g.next.edges[i]
	if h.next == nil && !e.at(h.slots[0]).Exists() {
		return nil
	}
	part := p
	part.typ = g.step.typ
	if f := part.takeEntry(&c.entries[i], depth-1); f != nil {
		return h.step.locate(f)
	}
	return h.step.locate(e.newEntry(part, g, h, depth))
}

// newEntry writes the entry of an edge, whose value is part if it is to be
// changed.
func (e *editor) newEntry(part place, g, h *edge, depth int) *diag.Fault {
	elem := g.step.typ.Elem()
	var size int
	e.dst, size = room(protowire.AppendTag(e.dst, int32(g.step.num), protowire.Bytes), len(part.data))
	start := len(e.dst)
	e.dst = h.step.appendKey(e.dst, g.step.typ.Key())
	var f *diag.Fault
	if h.next == nil {
		e.dst, f = e.at(h.slots[0]).appendSingle(e.dst, 2, elem)
	} else {
		f = e.nested(part, h.next, 2, wireOf(elem), depth-2)
	}
	if f == nil {
		e.dst = appendLength(e.dst, start, size)
	}
	return f
}

// finishMap adds the entries that do not stand.
func (e *editor) finishMap(p place, g *edge, c *change, depth int) *diag.Fault {
	for i := range g.next.edges {
		h := &g.next.edges[i]
		if c.entries != nil && c.entries[i].at != 0 || !e.makes(h) {
			continue
		}
		part := place{Node: Node{kind: bytesNode}, typ: g.step.typ.Elem(), at: -1}
		if h.next != nil && part.typ.Kind() != schema.Struct {
			return h.step.locate(wrongType(-1, "a message", part.typ.String()))
		}
		if f := e.newEntry(part, g, h, depth); f != nil {
			return h.step.locate(f)
		}
	}
	return nil
}
