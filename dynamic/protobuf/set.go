package protobuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds changing what paths lead to: the messages. A message is
// copied in stretches around what changes; lengths are put right in the copy.

// AppendSet appends n with what the path leads to replaced by x, or deleted if x
// does not exist. See [Paths.AppendSet]; a path that is used again is better
// compiled.
func (n Node) AppendSet(dst []byte, x Node, path ...Step) ([]byte, error) {
	return Value{Node: n}.AppendSet(dst, x, path...)
}

// AppendSet is Node.AppendSet by the schema.
func (v Value) AppendSet(dst []byte, x Node, path ...Step) ([]byte, error) {
	p, err := CompileAll(v.schema, path)
	if err != nil {
		return dst, err
	}
	return p.AppendSet(dst, v.Node, []Node{x})
}

// AppendDelete appends n without what the path leads to.
func (n Node) AppendDelete(dst []byte, path ...Step) ([]byte, error) {
	return n.AppendSet(dst, Node{}, path...)
}

// AppendDelete appends v without what the path leads to.
func (v Value) AppendDelete(dst []byte, path ...Step) ([]byte, error) {
	return v.AppendSet(dst, Node{}, path...)
}

// AppendSet is Value.AppendSet along a path that was compiled for the type of n.
func (p *Path) AppendSet(dst []byte, n, x Node) ([]byte, error) {
	e := editor{dst: dst, one: x}
	return e.run(p.alone, n)
}

// AppendSet appends n with what path i leads to replaced by values[i], for
// each path. A value that does not exist deletes: a field, an element or an
// entry. dst must not overlap n or the values; after an error it is returned as
// it was.
//
//   - A field stands afterwards once, where it stood first; an entry where the
//     one that counts stood. What is absent is added, at the end.
//   - What leads to it is made too, if the schema is known. Without a schema that
//     is an error (NotFound), and only fields can be set.
//   - Setting a member of a oneof, or something in it, removes the others.
//     Setting two is InvalidUnion.
//   - Before inserts into a list, End appends; several insertions in one place
//     keep the order of the paths. Indexes are those before the change. Elements
//     stay packed or unpacked as they are.
//   - An index that the list does not have is OutOfRange, unless it deletes.
//   - Numbers are converted to the field's type and refused if they are not in its
//     range. Other values that the field cannot hold are a TypeMismatch. Messages are
//     checked to be records, but not by the schema.
//   - Unknown fields are kept.
//
// Two paths that lead to or through the same place are an error.
func (p *Paths) AppendSet(dst []byte, n Node, values []Node) ([]byte, error) {
	if len(values) != p.Len() {
		return dst, p.wrongCount(len(values))
	}
	e := editor{dst: dst, values: values}
	return e.run(p, n)
}

// editor is a message that is copied with changes.
type editor struct {
	dst    []byte
	values []Node
	one    Node // the value if there is one path, which needs no slice
}

// at returns the value for a path.
func (e *editor) at(slot int) Node {
	if e.values == nil {
		return e.one
	}
	return e.values[slot]
}

// run copies n with the changes at the paths.
func (e *editor) run(p *Paths, n Node) ([]byte, error) {
	switch {
	case p.overlap != nil:
		return e.dst, p.overlap
	case !n.Exists():
		return e.dst, notFound()
	case len(p.self) > 0:
		return e.replace(e.at(p.self[0]), p.from)
	}
	base := len(e.dst)
	at, br := place{Node: n, typ: p.from}, p.root
	var f *diag.Fault
	switch {
	case len(br.edges) == 0:
		e.dst = append(e.dst, n.data...)
		return e.dst, nil
	case n.kind == listNode || n.kind == mapNode:
		// Its records are those of a field that has no name.
		s := step{kind: br.edges[0].step.kind, num: int64(n.number), typ: p.from}
		br = &branch{kind: bytesNode, edges: []edge{{step: s, next: br}}}
		f = br.edges[0].step.check(p.from, n.kind)
		br.finish()
		at.typ, at.kind = nil, bytesNode
	}
	if f == nil {
		f = e.message(at, br, maxDepth)
	}
	if f != nil {
		return e.dst[:base], f
	}
	return e.dst, nil
}

// check sees that a list or map is what the schema has.
func (s *step) check(t *schema.Type, k kind) *diag.Fault {
	if t == nil || (t.Kind() == schema.List) != (k == listNode) {
		return diag.NewFault(diag.TypeMismatch, -1, "the paths are for another type of value")
	}
	return nil
}

// replace appends a whole other value of type t.
func (e *editor) replace(x Node, t *schema.Type) ([]byte, error) {
	switch {
	case !x.Exists():
		return e.dst, notFound()
	case t == nil:
		return append(e.dst, x.data...), nil
	case t.Kind().IsContainer():
		out, f := x.appendNode(e.dst, 1, t, packable(wireOf(t)))
		if f != nil {
			return e.dst, f
		}
		return out, nil
	}
	w := anyWriter{e.dst}
	f := w.bare(t, x)
	if f == nil && t.Kind() == schema.Struct {
		f = x.wellFormed()
	}
	if f != nil {
		return e.dst, f
	}
	return w.dst, nil
}

// makes reports whether anything is set at the edge or behind it.
func (e *editor) makes(g *edge) bool {
	for _, slot := range g.slots {
		if e.at(slot).Exists() {
			return true
		}
	}
	if g.next != nil {
		for i := range g.next.edges {
			if e.makes(&g.next.edges[i]) {
				return true
			}
		}
	}
	return false
}

// change is what happens to the field of an edge.
type change struct {
	occurrence
	done    bool // the field has been written, or there is nothing to write
	list    listState
	entries []mapEntry // of a map: those that count, by edge
}

// message copies the message with what the branch changes in it.
func (e *editor) message(p place, br *branch, depth int) *diag.Fault {
	if f := p.enter(br, depth); f != nil {
		return f
	}
	if p.kind != bytesNode && p.kind != groupNode {
		return diag.NewFault(diag.Unsupported, -1, "without a schema only fields can be set")
	}
	var room [fewEdges]change
	changes := room[:]
	if len(br.edges) > len(room) {
		changes = make([]change, len(br.edges))
	}
	cleared, f := e.plan(p, br, changes, depth)
	if f != nil {
		return f
	}
	done := 0 // p.data[:done] has been copied or left out
	var r record
	for pos := 0; pos < len(p.data); {
		br.next(&r, p.data, pos, depth) // which plan has read
		if r.number == 0 {
			break
		}
		pos = r.next
		i := br.field(r.number)
		switch {
		case i >= 0 && br.edges[i].step.holds(&r):
			keep, f := e.touches(p, &br.edges[i], &changes[i], &r, depth)
			if f != nil {
				return br.edges[i].step.locate(f)
			}
			if keep {
				continue
			}
		case len(cleared) == 0 || !clears(cleared, p.typ, &r):
			continue
		}
		e.dst = append(e.dst, p.data[done:r.start]...)
		done = r.next
		if i >= 0 && br.edges[i].step.holds(&r) {
			if f := e.record(p, &br.edges[i], &changes[i], &r, depth); f != nil {
				return br.edges[i].step.locate(f)
			}
		}
	}
	e.dst = append(e.dst, p.data[done:]...)
	for i := range br.edges {
		if f := e.finish(p, &br.edges[i], &changes[i], depth); f != nil {
			return br.edges[i].step.locate(f)
		}
	}
	return nil
}

// plan finds out what stands of the edges' fields, and which oneofs lose the
// members that have no edge.
func (e *editor) plan(p place, br *branch, changes []change, depth int) (cleared []*schema.Oneof, f *diag.Fault) {
	var room [fewEdges]occurrence
	met := room[:]
	if len(br.edges) > len(room) {
		met = make([]occurrence, len(br.edges))
	}
	if f := p.meet(br, met, depth); f != nil {
		return nil, f
	}
	for i := range br.edges {
		changes[i].occurrence = met[i]
		g := &br.edges[i]
		o := oneofOf(g.step.field)
		if o == nil {
			continue
		}
		makes := e.makes(g)
		if makes {
			for k := range i {
				if other := &br.edges[k]; other.step.field.Oneof() == o && e.makes(other) {
					return nil, g.step.locate(diag.NewFault(diag.InvalidUnion, -1, "two members of one oneof are set"))
				}
			}
		}
		if makes || met[i].count > 0 {
			cleared = append(cleared, o) // what stood before it must not come to light either
		}
	}
	return cleared, nil
}

// clears reports whether the record is a member of a oneof that loses it.
func clears(cleared []*schema.Oneof, t *schema.Type, r *record) bool {
	f := known(t.Struct(), r)
	if f == nil {
		return false
	}
	for _, o := range cleared {
		if f.Oneof() == o {
			return true
		}
	}
	return false
}

// touches reports whether the record may stay as it is: an element or entry
// that no path leads to.
func (e *editor) touches(p place, g *edge, c *change, r *record, depth int) (keep bool, f *diag.Fault) {
	if g.next == nil || g.step.typ == nil {
		return false, nil
	}
	switch g.step.typ.Kind() {
	case schema.List:
		return e.keepsElements(p, g, c, r), nil
	case schema.Map:
		return e.keepsEntry(p, g, c, r, depth)
	}
	return false, nil
}

// record writes what becomes of a record of the edge's field.
func (e *editor) record(p place, g *edge, c *change, r *record, depth int) *diag.Fault {
	if g.next != nil && g.step.typ != nil {
		switch g.step.typ.Kind() {
		case schema.List:
			return e.elements(p, g, c, r, depth)
		case schema.Map:
			return e.entry(p, g, c, r, depth)
		}
	}
	if c.done {
		return nil
	}
	return e.field(p, g, c, depth)
}

// finish writes what is left of the edge's field at the end of the message.
func (e *editor) finish(p place, g *edge, c *change, depth int) *diag.Fault {
	if g.next != nil && g.step.typ != nil {
		switch g.step.typ.Kind() {
		case schema.List:
			return e.finishList(p, g, c)
		case schema.Map:
			return e.finishMap(p, g, c, depth)
		}
	}
	if c.done || !e.makes(g) {
		return nil
	}
	return e.field(p, g, c, depth)
}

// field writes the whole field of an edge, once: a value that is set, or the
// message that stands and is changed.
func (e *editor) field(p place, g *edge, c *change, depth int) *diag.Fault {
	c.done = true
	s := &g.step
	if g.next == nil {
		x := e.at(g.slots[0])
		if !x.Exists() {
			return nil
		}
		packed := s.field != nil && s.field.Packed()
		var f *diag.Fault
		e.dst, f = x.appendNode(e.dst, int32(s.num), s.typ, packed)
		return f
	}
	part := p
	wire := protowire.Bytes
	var f *diag.Fault
	switch {
	case s.typ == nil && c.count == 0:
		return diag.NewFault(diag.NotFound, -1, "there is no value, and without a schema none can be made")
	case s.typ == nil:
		wire = c.wire
		part.move(Node{kind: listNode, wire: c.wire, number: c.number}, nil, c.first, c.next)
	case c.count > 0:
		wire = c.wire
		f = part.take(&c.occurrence, s.typ, oneofOf(s.field), depth)
	case e.makes(g):
		wire = wireOf(s.typ)
		part = place{Node: Node{kind: bytesNode}, typ: s.typ, at: -1}
	default:
		return nil // a member of a oneof that is not set
	}
	if f != nil {
		return f
	}
	return e.nested(part, g.next, int32(s.num), wire, depth-1)
}

// nested writes the record of a message that is changed.
func (e *editor) nested(p place, br *branch, number int32, wire protowire.Type, depth int) *diag.Fault {
	e.dst = protowire.AppendTag(e.dst, number, wire)
	if wire == protowire.StartGroup {
		f := e.message(p, br, depth)
		e.dst = protowire.AppendTag(e.dst, number, protowire.EndGroup)
		return f
	}
	var size int
	e.dst, size = room(e.dst, len(p.data))
	start := len(e.dst)
	if f := e.message(p, br, depth); f != nil {
		return f
	}
	if len(e.dst)-start > protowire.MaxLength {
		return diag.NewFault(diag.SizeLimit, -1, "longer than a message can be")
	}
	e.dst = appendLength(e.dst, start, size)
	return nil
}
