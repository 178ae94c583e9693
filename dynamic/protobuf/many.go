package protobuf

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds reading along many paths in one pass.

// Get sets out[i] to what path i leads to in n, for each path; what does not
// exist is the zero Value. The values alias n, unless messages had to be merged.
// Each message is gone over once, to its end. Nothing is allocated for up to 8
// steps from one place. After an error out holds some of the values.
func (p *Paths) Get(n Node, out []Value) error {
	if len(out) != p.Len() {
		return p.wrongCount(len(out))
	}
	clear(out)
	if !n.Exists() {
		return notFound()
	}
	for _, slot := range p.self {
		out[slot] = Value{n, p.from}
	}
	if len(p.root.edges) == 0 {
		return nil
	}
	m := many{out}
	at := place{Node: n, typ: p.from}
	return asError(m.value(at, p.root, maxDepth))
}

type many struct{ out []Value }

func (m *many) value(p place, br *branch, depth int) *diag.Fault {
	if f := p.enter(br, depth); f != nil {
		return f
	}
	switch br.kind {
	case listNode:
		return m.elements(p, br, depth)
	case mapNode:
		return m.entries(p, br, depth)
	}
	return m.fields(p, br, depth)
}

// enter checks that the branch leads into the value, and makes a message of
// records without a schema.
func (p *place) enter(br *branch, depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	if p.typ == nil && p.kind == listNode && br.kind == bytesNode {
		if f := p.collapse(depth); f != nil {
			return f
		}
	}
	if p.kind != br.kind && !(p.kind == groupNode && br.kind == bytesNode) {
		want := br.kind.String()
		if br.kind == bytesNode {
			want = "a message"
		}
		return wrongType(p.offset(0), want, p.kind.String())
	}
	return nil
}

// take hands out what an edge leads to, or goes on behind it.
func (m *many) take(part place, e *edge, depth int) *diag.Fault {
	if len(e.slots) > 0 {
		v := Value{part.Node, part.typ}
		if part.typ == nil {
			var f *diag.Fault
			records := part
			if v, f = records.value(depth); f != nil {
				return e.step.locate(f)
			}
		}
		for _, slot := range e.slots {
			m.out[slot] = v
		}
	}
	if e.next == nil {
		return nil
	}
	return e.step.locate(m.value(part, e.next, depth-1))
}

// fewEdges is how many edges are followed without allocating.
const fewEdges = 8

// meet finds out what stands of the fields of the branch's edges.
func (p *place) meet(br *branch, met []occurrence, depth int) *diag.Fault {
	var r record
	for pos := 0; pos < len(p.data); {
		code := br.next(&r, p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		if r.number == 0 {
			return nil
		}
		pos = r.next
		i := br.field(r.number)
		if i >= 0 && br.edges[i].step.holds(&r) {
			if len(br.oneofs) > 0 {
				br.unset(&r, met, i)
			}
			met[i].add(&r)
		} else if i < 0 && len(br.oneofs) > 0 {
			br.unset(&r, met, -1)
		}
	}
	return nil
}

// next reads the next record that the branch has to see into r, as seek does.
func (br *branch) next(r *record, b []byte, pos, depth int) (code int) {
	if len(br.edges) == 1 && len(br.oneofs) == 0 {
		return r.seek(b, pos, int32(br.edges[0].step.num), depth)
	}
	return r.read(b, pos, depth)
}

// holds reports whether a record with the step's number is the step's field.
// Without a schema every one is.
func (s *step) holds(r *record) bool { return s.typ == nil || fits(s.typ, r.wire) }

// unset forgets the other members of the oneof that the record's field belongs
// to; the field itself is that of the edge, if there is one.
func (br *branch) unset(r *record, met []occurrence, self int) {
	f := known(br.typ.Struct(), r)
	if f == nil || f.Oneof() == nil || !slices.Contains(br.oneofs, f.Oneof()) {
		return
	}
	for i := range br.edges {
		if i != self && br.edges[i].step.field.Oneof() == f.Oneof() {
			met[i] = occurrence{}
		}
	}
}

func (m *many) fields(p place, br *branch, depth int) *diag.Fault {
	var room [fewEdges]occurrence
	met := room[:]
	if len(br.edges) > len(room) {
		met = make([]occurrence, len(br.edges))
	}
	if f := p.meet(br, met, depth); f != nil {
		return f
	}
	for i := range br.edges {
		o, e := &met[i], &br.edges[i]
		if o.count == 0 {
			continue
		}
		part := p
		var f *diag.Fault
		if e.step.field == nil {
			part.move(Node{kind: listNode, wire: o.wire, number: o.number}, nil, o.first, o.next)
		} else {
			f = part.whole(o, e.step.field, depth)
		}
		if f != nil {
			return e.step.locate(f)
		}
		if f = m.take(part, e, depth); f != nil {
			return f
		}
	}
	return nil
}

func (m *many) elements(p place, br *branch, depth int) *diag.Fault {
	w := noWire
	if p.typ != nil {
		w = wireOf(p.typ)
	}
	edges, at := br.edges, int64(0) // at is the index of the next element
	var r record
	for pos := 0; pos < len(p.data); {
		for len(edges) > 0 && (!edges[0].step.isElement() || edges[0].step.num < at) {
			edges = edges[1:]
		}
		if len(edges) == 0 {
			return nil
		}
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		switch {
		case r.number != p.number:
		case p.typ == nil || r.wire == w:
			if edges[0].step.num == at {
				if f := m.element(p, &r, &edges[0], depth); f != nil {
					return f
				}
			}
			at++
		case r.wire == protowire.Bytes && packable(w):
			var f *diag.Fault
			if at, f = m.packed(p, &r, edges, at, depth); f != nil {
				return f
			}
		}
	}
	return nil
}

// element hands out the element in a record.
func (m *many) element(p place, r *record, e *edge, depth int) *diag.Fault {
	part := p
	if f := part.take(&occurrence{record: *r, count: 1}, e.step.typ, nil, depth); f != nil {
		return e.step.locate(f)
	}
	return m.take(part, e, depth)
}

// packed hands out elements of a packed record, whose first has the index at,
// and returns the index of the first one behind it.
func (m *many) packed(p place, r *record, edges []edge, at int64, depth int) (int64, *diag.Fault) {
	elem := p.typ.Elem()
	w := wireOf(elem)
	pos := r.value
	for i := range edges {
		e := &edges[i]
		if !e.step.isElement() {
			continue
		}
		count := int(min(e.step.num-at, int64(len(p.data))))
		end, left := skipNumbers(p.data[:r.end], pos, w, count)
		at += int64(count - left)
		pos = end
		if left > 0 || pos == r.end {
			return at, nil
		}
		k, bits, n := number(p.data[pos:r.end], elem, w)
		if n < 0 {
			return at, e.step.locate(p.fault(n, pos))
		}
		part := p
		part.move(Node{kind: k, wire: w, bits: bits}, elem, pos, pos+n)
		if f := m.take(part, e, depth); f != nil {
			return at, f
		}
		pos += n
		at++
	}
	// The rest is counted for whoever asks for elements behind it.
	_, left := skipNumbers(p.data[:r.end], pos, w, r.end-pos)
	return at + int64(r.end-pos-left), nil
}

// meetEntries finds the last entry of each edge's key.
func (p *place) meetEntries(br *branch, met []mapEntry, depth int) *diag.Fault {
	var e mapEntry
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		if r.number != p.number || r.wire != protowire.Bytes {
			continue
		}
		at, code := e.read(p.data, &r, p.typ, depth-1)
		if code < 0 {
			return p.fault(code, at)
		}
		for i := range br.edges {
			if br.edges[i].step.isKey(e.key) {
				met[i] = e
			}
		}
	}
	return nil
}

func (m *many) entries(p place, br *branch, depth int) *diag.Fault {
	var room [fewEdges]mapEntry
	met := room[:]
	if len(br.edges) > len(room) {
		met = make([]mapEntry, len(br.edges))
	}
	if f := p.meetEntries(br, met, depth); f != nil {
		return f
	}
	for i := range br.edges {
		e := &br.edges[i]
		if met[i].at == 0 {
			continue
		}
		part := p
		if f := part.takeEntry(&met[i], depth-1); f != nil {
			return e.step.locate(f)
		}
		if f := m.take(part, e, depth); f != nil {
			return f
		}
	}
	return nil
}
