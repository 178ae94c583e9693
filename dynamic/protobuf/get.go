package protobuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds walks along one path.

// Get returns what the path of field numbers and indexes leads to; it does not
// exist if any step finds nothing. The result aliases n, unless messages had to be
// merged.
func (n Node) Get(path ...Step) (Node, error) {
	v, err := Value{Node: n}.Get(path...)
	return v.Node, err
}

// Get is Node.Get by the schema: it takes names and keys, and it refuses steps
// that the schema does not have.
func (v Value) Get(path ...Step) (Value, error) {
	p := place{Node: v.Node, typ: v.schema}
	for i := range path {
		s, f := resolve(path[i], p.typ)
		if f == nil && p.kind != noNode {
			f = s.locate(p.into(&s, maxDepth-i))
		}
		if f != nil {
			steps, _, _ := resolveAll(path[:i], v.schema)
			return Value{}, along(f, steps)
		}
		if p.kind == noNode {
			p.typ = s.typ // so that the rest of the path is looked at
		}
	}
	out, f := p.value(maxDepth - len(path))
	if f != nil {
		steps, _, _ := resolveAll(path, v.schema)
		return Value{}, along(f, steps)
	}
	return out, nil
}

// Get is Value.Get along a path that was compiled for the type of n.
func (p *Path) Get(n Node) (Value, error) {
	if !n.Exists() {
		return Value{}, notFound()
	}
	at := place{Node: n, typ: p.from}
	for i := range p.steps {
		f := at.into(&p.steps[i], maxDepth-i)
		if f != nil {
			return Value{}, along(f, p.steps[:i+1])
		}
		if at.kind == noNode {
			return Value{}, nil
		}
	}
	out, f := at.value(maxDepth - len(p.steps))
	if f != nil {
		return Value{}, along(f, p.steps)
	}
	return out, nil
}

// place is what a walk has come to. The data of a list or map may go on behind
// its last record. Without a schema what a field holds is a list of its records.
type place struct {
	Node
	typ    *schema.Type
	at     int      // of data in the input, -1 in a copy
	merges *merging // nil where one step down is all that is merged
}

// fault makes the fault for a code at a place in data.
func (p *place) fault(code, pos int) *diag.Fault { return fault(code, p.offset(pos)) }

// offset returns where data[pos] is in the input.
func (p *place) offset(pos int) int {
	if p.at < 0 {
		return -1
	}
	return p.at + pos
}

// move goes to a part, whose data is at data[pos:end].
func (p *place) move(n Node, t *schema.Type, pos, end int) {
	n.data = p.data[pos:end:end]
	p.Node, p.typ, p.at = n, t, p.offset(pos)
}

// occurrence is what was met of a singular field.
type occurrence struct {
	record       // the last
	first, count int
}

func (o *occurrence) add(r *record) {
	if o.record = *r; o.count == 0 {
		o.first = r.start
	}
	o.count++
}

// into goes to the part that the step leads to, to no node if there is none.
func (p *place) into(s *step, depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	if p.typ == nil && p.kind == listNode && s.kind == dynamic.FieldStep {
		if f := p.collapse(depth); f != nil {
			return f
		}
	}
	switch s.kind {
	case dynamic.FieldStep:
		if p.kind != bytesNode && p.kind != groupNode {
			return wrongType(p.offset(0), "a message", p.kind.String())
		}
		return p.field(s, depth)
	case dynamic.IndexStep:
		if p.kind != listNode {
			return wrongType(p.offset(0), "a list", p.kind.String())
		}
		return p.element(s, depth)
	case dynamic.BeforeStep, dynamic.EndStep:
		p.Node = Node{}
		return nil
	}
	if p.kind != mapNode {
		return wrongType(p.offset(0), "a map", p.kind.String())
	}
	return p.entry(s, depth)
}

// field goes to a field of a message.
func (p *place) field(s *step, depth int) *diag.Fault {
	b := p.data
	number, t := int32(s.num), s.typ
	oneof := oneofOf(s.field)
	var o occurrence
	var r record
	for pos := 0; pos < len(b); {
		var code int
		if oneof == nil {
			code = r.seek(b, pos, number, depth)
		} else {
			code = r.read(b, pos, depth)
		}
		if code < 0 {
			return p.fault(code, r.next)
		}
		if r.number == 0 {
			break
		}
		pos = r.next
		switch {
		case r.number != number:
			if oneof != nil && isRival(oneof, &r) {
				o = occurrence{}
			}
		case t == nil, t.Kind() == schema.List && fits(t, r.wire):
			p.move(Node{kind: listNode, wire: r.wire, number: number}, t, r.start, len(b))
			return nil
		case !fits(t, r.wire):
		case t.Kind() == schema.Map:
			p.move(Node{kind: mapNode, wire: r.wire, number: number}, t, r.start, len(b))
			return nil
		default:
			o.add(&r)
		}
	}
	if o.count == 0 {
		p.Node = Node{}
		return nil
	}
	return p.take(&o, t, oneof, depth)
}

func oneofOf(f *schema.Field) *schema.Oneof {
	if f == nil {
		return nil
	}
	return f.Oneof()
}

// isRival reports whether the record sets another member of the oneof.
func isRival(o *schema.Oneof, r *record) bool {
	f := o.Struct().FieldByID(r.number)
	return f != nil && f.Oneof() == o && fits(f.Type(), r.wire)
}

// take goes to the value of type t of a singular field that was met.
func (p *place) take(o *occurrence, t *schema.Type, oneof *schema.Oneof, depth int) *diag.Fault {
	if o.count > 1 && t != nil && t.Kind() == schema.Struct {
		data, f := p.merged(o, t, oneof, depth)
		p.Node, p.typ, p.at = Node{kind: bytesNode, wire: o.wire, data: data}, t, -1
		return f
	}
	n, code := nodeOf(p.data, &o.record, t)
	if code < 0 {
		return p.fault(code, o.value)
	}
	p.move(n, t, o.value, o.end)
	return nil
}

// nodeOf returns the value of type t in a record of b, without its data.
func nodeOf(b []byte, r *record, t *schema.Type) (n Node, code int) {
	n.wire = r.wire
	switch {
	case r.wire == protowire.Bytes, r.wire == protowire.StartGroup && t != nil:
		n.kind = bytesNode
	case r.wire == protowire.StartGroup:
		n.kind = groupNode
	default:
		n.kind, n.bits, code = number(b[r.value:r.end], t, r.wire)
	}
	return n, min(code, 0)
}

// merged returns the message whose parts stand in several records from the
// first on.
func (p *place) merged(o *occurrence, t *schema.Type, oneof *schema.Oneof, depth int) ([]byte, *diag.Fault) {
	var out []byte
	var r record
	for pos := o.first; pos < o.next; {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return nil, p.fault(code, r.next)
		}
		pos = r.next
		switch {
		case r.number == o.number && fits(t, r.wire):
			if f := p.spend(r.end-r.value, r.start); f != nil {
				return nil, f
			}
			out = append(out, p.data[r.value:r.end]...)
		case oneof != nil && isRival(oneof, &r):
			out = out[:0]
		}
	}
	return out, nil
}

// merging is what an operation that goes down all levels may copy to merge
// messages. A message that stands twice on every level would otherwise be copied
// once for each of them, a thousand times.
type merging struct {
	left int64 // bytes
	met  bool  // a check has met what is going to be copied
}

// mergingFor returns what a message of n bytes may take.
func mergingFor(n int) *merging { return &merging{left: 8*int64(n) + 256<<10} }

// spend counts n bytes that are copied for what stands at data[pos:].
func (p *place) spend(n, pos int) *diag.Fault {
	if p.merges == nil {
		return nil
	}
	if p.merges.left -= int64(n); p.merges.left < 0 {
		return diag.NewFault(diag.SizeLimit, p.offset(pos), "too much of the message would have to be copied to merge what stands twice")
	}
	return nil
}

// element goes to an element of a list.
func (p *place) element(s *step, depth int) *diag.Fault {
	b, i := p.data, s.num
	var elem *schema.Type
	w := noWire
	if p.typ != nil {
		elem = p.typ.Elem()
		w = wireOf(elem)
	}
	var r record
	for pos := 0; pos < len(b) && i >= 0; {
		if w == protowire.Bytes && i > 0 {
			pos, i = skipBytes(b, pos, p.number, i)
		}
		code := r.seek(b, pos, p.number, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		if r.number == 0 {
			break
		}
		pos = r.next
		switch {
		case elem == nil || r.wire == w:
			if i == 0 {
				return p.take(&occurrence{record: r, count: 1}, elem, nil, depth)
			}
			i--
		case r.wire == protowire.Bytes && packable(w):
			at, left := skipNumbers(b[:r.end], r.value, w, int(min(i, int64(len(b)))))
			if i = int64(left); left > 0 || at == r.end {
				continue
			}
			k, bits, n := number(b[at:r.end], elem, w)
			if n < 0 {
				return p.fault(n, at)
			}
			p.move(Node{kind: k, wire: w, bits: bits}, elem, at, at+n)
			return nil
		}
	}
	p.Node = Node{}
	return nil
}

// entry goes to the value of a map's entry.
func (p *place) entry(s *step, depth int) *diag.Fault {
	b := p.data
	var e, last mapEntry
	var r record
	for pos := 0; pos < len(b); {
		code := r.read(b, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		if r.number != p.number || r.wire != protowire.Bytes {
			continue
		}
		at, code := e.read(b, &r, p.typ, depth-1)
		if code < 0 {
			return p.fault(code, at)
		}
		if s.isKey(e.key) {
			last = e
		}
	}
	if last.at == 0 {
		p.Node = Node{}
		return nil
	}
	return p.takeEntry(&last, depth-1)
}

// takeEntry goes to the value of an entry, which is zero if it does not stand.
func (p *place) takeEntry(e *mapEntry, depth int) *diag.Fault {
	elem := p.typ.Elem()
	if e.value.count > 0 {
		return p.take(&e.value, elem, nil, depth)
	}
	p.move(zero(elem), elem, e.at, e.at)
	return nil
}

// mapEntry is an entry of a map.
type mapEntry struct {
	key   Node
	value occurrence
	at    int // its end; it is not 0
}

// read reads the entry of a map of type t in a record of b, and returns a place
// and a negative code if it cannot be read.
func (e *mapEntry) read(b []byte, r *record, t *schema.Type, depth int) (at, code int) {
	key, elem := t.Key(), t.Elem()
	*e = mapEntry{key: zero(key), at: r.end}
	keyWire, elemWire := wireOf(key), wireOf(elem)
	var part record
	for pos := r.value; pos < r.end; {
		if code := part.read(b[:r.end], pos, depth); code < 0 {
			return part.next, code
		}
		pos = part.next
		switch {
		case part.number == 1 && part.wire == keyWire:
			if e.key, code = nodeOf(b, &part, key); code < 0 {
				return part.value, code
			}
			e.key.data = b[part.value:part.end:part.end]
		case part.number == 2 && part.wire == elemWire:
			e.value.add(&part)
		}
	}
	return r.end, 0
}

// zero returns the value of type t that is not written.
func zero(t *schema.Type) Node {
	w := wireOf(t)
	if !packable(w) {
		return Node{kind: bytesNode, wire: w}
	}
	k, bits := meaning(t, w, 0)
	return Node{kind: k, wire: w, bits: bits}
}

// collapse goes from the records of a field without a schema to its value: the
// last one or, of several messages, all of them merged.
func (p *place) collapse(depth int) *diag.Fault {
	var o occurrence
	var all []byte
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		if r.number != p.number {
			continue
		}
		if o.count == 1 && len(all) == 0 {
			all = append(all, p.data[o.value:o.end]...)
		}
		if o.count >= 1 {
			all = append(all, p.data[r.value:r.end]...)
		}
		o.add(&r)
	}
	if o.count > 1 && !packable(o.wire) {
		p.Node, p.at = Node{kind: bytesNode, wire: o.wire, data: all}, -1
		return nil
	}
	return p.take(&o, nil, nil, depth)
}

// value cuts out what the walk has come to.
func (p *place) value(depth int) (Value, *diag.Fault) {
	switch {
	case p.kind == noNode:
		return Value{}, nil
	case p.kind == listNode && p.typ == nil:
		return p.lastRecord(depth)
	case p.kind != listNode && p.kind != mapNode:
		return Value{p.Node, p.typ}, nil
	}
	end := 0
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return Value{}, p.fault(code, r.next)
		}
		if pos = r.next; r.number == p.number && fits(p.typ, r.wire) {
			end = pos
		}
	}
	n := p.Node
	n.data = p.data[:end:end]
	return Value{n, p.typ}, nil
}

// lastRecord returns the last record of a field without a schema.
func (p *place) lastRecord(depth int) (Value, *diag.Fault) {
	var o occurrence
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return Value{}, p.fault(code, r.next)
		}
		if pos = r.next; r.number == p.number {
			o.add(&r)
		}
	}
	f := p.take(&o, nil, nil, depth)
	return Value{p.Node, nil}, f
}
