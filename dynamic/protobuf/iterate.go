package protobuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds iteration, and the whole reading of a message.

// Iterator goes over the fields of a message, the elements of a list or the
// entries of a map, in the order of the message:
//
//	it := v.Iterate()
//	for it.Next() {
//		use(it.ID(), it.Value())
//	}
//	if err := it.Err(); err != nil { … }
//
// By the schema a field comes once, with its whole value, where it stands
// first; a member of a oneof only if it is set. Unknown fields, and all fields
// without a schema, come as often as they stand. So do entries with the same key.
//
// It allocates a table for a message that the schema knows. It is for one
// goroutine; several iterators may go over one value at once.
type Iterator struct {
	place
	pos     int
	index   int
	fields  []occurrence // by index, of a message that the schema knows
	packed  int          // where the elements of a packed list go on, or 0
	until   int          // and end
	id      int32
	field   *schema.Field
	current Value
	key     Value
	err     error
}

// Iterate starts before the first part of the value. A value without parts has
// none, and Err says so. Bytes are taken for a message.
func (n Node) Iterate() Iterator { return Value{Node: n}.Iterate() }

// Iterate is Node.Iterate by the schema.
func (v Value) Iterate() Iterator {
	it := Iterator{place: place{Node: v.Node, typ: v.schema}, index: -1}
	var f *diag.Fault
	switch v.kind {
	case listNode, mapNode, groupNode:
	case bytesNode:
		if v.schema == nil {
			break
		}
		if v.schema.Kind() != schema.Struct {
			f = v.expect("a message, list or map")
			break
		}
		it.fields, f = it.survey(v.schema.Struct(), maxDepth)
	default:
		f = v.expect("a message, list or map")
	}
	it.err = asError(f)
	return it
}

// survey finds out what stands of each field of the message, by index.
func (p *place) survey(d *schema.StructDef, depth int) ([]occurrence, *diag.Fault) {
	out := make([]occurrence, len(d.Fields()))
	return out, p.surveyInto(out, d, depth)
}

// surveyInto is survey into a table that is given.
func (p *place) surveyInto(out []occurrence, d *schema.StructDef, depth int) *diag.Fault {
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		f := known(d, &r)
		if f == nil {
			continue
		}
		if o := f.Oneof(); o != nil {
			for _, rival := range o.Fields() {
				if rival != f {
					out[rival.Index()] = occurrence{}
				}
			}
		}
		out[f.Index()].add(&r)
	}
	return nil
}

// known returns the field that the record holds, or nil if it is an unknown one.
func known(d *schema.StructDef, r *record) *schema.Field {
	if f := d.FieldByID(r.number); f != nil && fits(f.Type(), r.wire) {
		return f
	}
	return nil
}

// whole goes to the value of a field that was met.
func (p *place) whole(o *occurrence, f *schema.Field, depth int) *diag.Fault {
	k := listNode
	switch f.Type().Kind() {
	case schema.Map:
		k = mapNode
	case schema.List:
	default:
		return p.take(o, f.Type(), f.Oneof(), depth)
	}
	p.move(Node{kind: k, wire: o.wire, number: o.number}, f.Type(), o.first, o.next)
	return nil
}

// Next goes to the next part and reports whether there is one.
func (it *Iterator) Next() bool {
	for it.err == nil {
		if it.packed > 0 {
			if it.packed < it.until {
				return it.nextPacked()
			}
			it.packed = 0
		}
		if it.pos >= len(it.data) {
			return false
		}
		r, code := readRecord(it.data, it.pos, maxDepth)
		if code < 0 {
			it.err = fault(code, r.next)
			return false
		}
		it.pos = r.next
		var found bool
		var f *diag.Fault
		switch {
		case it.kind == bytesNode || it.kind == groupNode:
			found, f = it.nextField(&r)
		case r.number != it.number:
		case it.kind == mapNode:
			found, f = it.nextEntry(&r)
		default:
			found, f = it.nextElement(&r)
		}
		if it.err = asError(f); f != nil {
			return false
		}
		if found {
			it.index++
			return true
		}
	}
	return false
}

// show makes what part has come to the current value.
func (it *Iterator) show(part *place, f *diag.Fault) *diag.Fault {
	it.current = Value{part.Node, part.typ}
	return f
}

func (it *Iterator) nextField(r *record) (bool, *diag.Fault) {
	part := it.place
	it.id, it.field = r.number, nil
	if it.typ != nil {
		it.field = known(it.typ.Struct(), r)
	}
	if it.field == nil {
		return true, it.show(&part, part.take(&occurrence{record: *r, count: 1}, nil, nil, maxDepth))
	}
	o := &it.fields[it.field.Index()]
	if o.count == 0 || o.first != r.start {
		return false, nil
	}
	f := part.whole(o, it.field, maxDepth)
	if f != nil {
		f.Field(it.field.Name())
	}
	it.current = Value{part.Node, part.typ}
	return true, f
}

func (it *Iterator) nextElement(r *record) (bool, *diag.Fault) {
	part := it.place
	var elem *schema.Type
	if it.typ != nil {
		if elem = it.typ.Elem(); r.wire == protowire.Bytes && packable(wireOf(elem)) {
			it.packed, it.until = r.value, r.end
			return false, nil
		}
		if r.wire != wireOf(elem) {
			return false, nil
		}
	}
	return true, it.show(&part, part.take(&occurrence{record: *r, count: 1}, elem, nil, maxDepth))
}

// nextPacked goes to the next element of a packed record.
func (it *Iterator) nextPacked() bool {
	elem := it.typ.Elem()
	w := wireOf(elem)
	k, bits, n := number(it.data[it.packed:it.until], elem, w)
	if n < 0 {
		it.err = fault(n, it.packed)
		return false
	}
	end := it.packed + n
	it.current = Value{Node{kind: k, wire: w, bits: bits, data: it.data[it.packed:end:end]}, elem}
	it.packed = end
	it.index++
	return true
}

func (it *Iterator) nextEntry(r *record) (bool, *diag.Fault) {
	if r.wire != protowire.Bytes || it.typ == nil {
		return false, nil
	}
	var e mapEntry
	at, code := e.read(it.data, r, it.typ, maxDepth-1)
	if code < 0 {
		return false, it.place.fault(code, at)
	}
	it.key = Value{e.key, it.typ.Key()}
	part := it.place
	return true, it.show(&part, part.takeEntry(&e, maxDepth-1))
}

// ID returns the number of the current field.
func (it *Iterator) ID() int32 { return it.id }

// Field returns the current field by the schema, or nil.
func (it *Iterator) Field() *schema.Field { return it.field }

// Index returns how many parts came before the current one.
func (it *Iterator) Index() int { return it.index }

// Key returns the key of the current entry. It aliases the value.
func (it *Iterator) Key() Value { return it.key }

// Value returns the current part. It aliases the value, unless messages had to
// be merged.
func (it *Iterator) Value() Value { return it.current }

// Err returns why the iteration ended before the end of the value, or nil.
func (it *Iterator) Err() error { return it.err }

// Check reads the value to its end and reports what is wrong with it. Without a
// schema it looks at the records of a message and the groups in them only.
func (n Node) Check() error { return Value{Node: n}.Check() }

// Check reads the value to its end, all the way down, and reports what is wrong
// with it.
func (v Value) Check() error {
	switch v.kind {
	case noNode:
		return notFound()
	case badNode:
		return v.expect("")
	}
	p := place{Node: v.Node, typ: v.schema}
	return asError(p.check(maxDepth))
}

func (p *place) check(depth int) *diag.Fault {
	switch {
	case depth <= 0:
		return p.fault(protowire.ErrDepth, 0)
	case p.kind < bytesNode || p.kind == bytesNode && p.typ != nil && p.typ.Kind() != schema.Struct:
		return nil
	}
	var seen uint64
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		t := p.typ
		var field *schema.Field
		switch {
		case t == nil:
			continue
		case t.Kind() != schema.Struct:
			if r.number != p.number || !fits(t, r.wire) {
				continue
			}
		default:
			if field = known(t.Struct(), &r); field == nil {
				continue
			}
			t = field.Type()
			if t.Kind() == schema.Struct && p.merges != nil {
				bit := uint64(1) << (field.Index() % 64) // one for several fields: met is too often true then
				p.merges.met = p.merges.met || seen&bit != 0
				seen |= bit
			}
		}
		if t.Kind() < schema.List { // a number or text
			continue
		}
		if f := p.checkRecord(&r, t, depth); f != nil {
			if field != nil {
				f.Field(field.Name())
			}
			return f
		}
	}
	return nil
}

// checkRecord checks what a record holds of a field of type t, a list, map or
// message.
func (p *place) checkRecord(r *record, t *schema.Type, depth int) *diag.Fault {
	switch t.Kind() {
	case schema.Map:
		return p.checkMapEntry(r, t, depth-1)
	case schema.List:
		if w := wireOf(t); r.wire != w {
			if at, code := checkPacked(p.data, r.value, r.end, w); code < 0 {
				return p.fault(code, at)
			}
			return nil
		}
		t = t.Elem()
	}
	if t.Kind() != schema.Struct {
		return nil
	}
	part := *p
	part.move(Node{kind: bytesNode}, t, r.value, r.end)
	return part.check(depth - 1)
}

// checkMapEntry checks the entry of a map of type t.
func (p *place) checkMapEntry(r *record, t *schema.Type, depth int) *diag.Fault {
	var e mapEntry
	at, code := e.read(p.data, r, t, depth)
	switch {
	case code < 0:
		return p.fault(code, at)
	case t.Elem().Kind() != schema.Struct:
		return nil
	}
	if p.merges != nil && !p.merges.met {
		plain := newPlainEntry(t)
		p.merges.met = !plain.read(p.data, r, depth)
	}
	var part record
	for pos := r.value; pos < r.end; { // all that stands of the value, whatever counts
		part.read(p.data[:r.end], pos, depth)
		pos = part.next
		if part.number == 2 && part.wire == wireOf(t.Elem()) {
			if f := p.checkRecord(&part, t.Elem(), depth); f != nil {
				return f.Key(keyText(e.key))
			}
		}
	}
	return nil
}
