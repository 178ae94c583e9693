package protobuf

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/protowire"
)

// This file holds the cutting of messages: one pass that copies what is kept
// in stretches as long as can be.

// Append appends what is kept of the message b. The result is never longer than
// b; it aliases nothing, and dst must not overlap b. After an error dst is
// returned as it was. Nothing is allocated if dst has room for the whole
// message, unless messages have to be merged or a oneof loses some of its members.
// More merging than the package allows (see its doc) is a SizeLimit.
//
// What the result means is what the message means, without what is dropped: a
// member of a oneof that a dropped one had unset stays unset.
func (t *Trimmer) Append(dst, b []byte) ([]byte, error) {
	c := cutter{dst: slices.Grow(dst, len(b)), size: len(b)}
	p := place{Node: NewMessage(b), typ: t.from}
	if f := c.message(p, t.root, maxDepth); f != nil {
		return dst, f
	}
	if t.required {
		out := place{Node: NewMessage(c.dst[len(dst):]), typ: t.to}
		if f := out.required(maxDepth); f != nil {
			return dst, f
		}
	}
	return c.dst, nil
}

type cutter struct {
	dst    []byte
	size   int      // of the whole message
	merges *merging // nil until something may have to be merged
}

// message copies what is kept of a message.
func (c *cutter) message(p place, k *cut, depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	if k.careful || k.parts > 64 {
		return c.carefully(p, k, depth)
	}
	begin := len(c.dst)
	done, alone := 0, false
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		field := k.find(&r)
		if field != nil && field.part == nil {
			continue
		}
		if field != nil && field.singular && !alone {
			// This must be known before anything is cut: to start again afterwards would
			// take twice the time on each level.
			if k.repeats(p.data, r.start, depth) {
				c.dst = c.dst[:begin]
				return c.carefully(p, k, depth)
			}
			alone = true
		}
		if done < r.start {
			c.dst = append(c.dst, p.data[done:r.start]...)
		}
		done = pos
		if field != nil {
			part := p
			part.move(Node{kind: bytesNode}, field.typ, r.value, r.end)
			if f := c.nested(part, field.part, &r, depth-1); f != nil {
				return f.Field(field.name)
			}
		}
	}
	c.dst = append(c.dst, p.data[done:]...)
	return nil
}

// repeats reports whether a message that is cut stands in several of the
// records from b[pos:] on.
func (k *cut) repeats(b []byte, pos, depth int) bool {
	var seen uint64
	var r record
	for pos < len(b) {
		code := r.read(b, pos, depth)
		if code < 0 {
			return false // which the caller will meet too
		}
		pos = r.next
		if field := k.find(&r); field != nil && field.singular && field.part != nil {
			bit := uint64(1) << field.number
			if seen&bit != 0 {
				return true
			}
			seen |= bit
		}
	}
	return false
}

// nested copies what is kept of a message with its tag and length.
func (c *cutter) nested(p place, k *cut, r *record, depth int) *diag.Fault {
	c.dst = protowire.AppendTag(c.dst, r.number, r.wire)
	if r.wire == protowire.StartGroup {
		f := c.message(p, k, depth)
		c.dst = protowire.AppendTag(c.dst, r.number, protowire.EndGroup)
		return f
	}
	var size int
	c.dst, size = room(c.dst, len(p.data))
	start := len(c.dst)
	f := c.message(p, k, depth)
	if f == nil {
		c.dst = appendLength(c.dst, start, size)
	}
	return f
}

// carefully is message where fields stand several times or unset each other:
// what counts is found out before.
func (c *cutter) carefully(p place, k *cut, depth int) *diag.Fault {
	if c.merges == nil {
		c.merges = mergingFor(c.size)
	}
	p.merges = c.merges
	counts, f := p.counts(k, depth)
	if f != nil {
		return f
	}
	for pos := 0; pos < len(p.data); {
		r, _ := readRecord(p.data, pos, depth) // which counts has read
		pos = r.next
		field := k.find(&r)
		if field == nil {
			continue
		}
		o, counted := counts[r.number]
		switch {
		case counted && (o.count == 0 || r.start < o.first):
			continue // unset by what came after it
		case field.part == nil:
			c.dst = append(c.dst, p.data[r.start:r.next]...)
			continue
		case counted && r.start != o.start:
			continue // merged into the last
		}
		part := p
		if counted && o.count > 1 {
			data, f := p.merged(o, field.typ, k.oneof(r.number), depth)
			if f != nil {
				return f.Field(field.name)
			}
			part.Node, part.at = Node{kind: bytesNode, data: data}, -1
		} else {
			part.move(Node{kind: bytesNode}, field.typ, r.value, r.end)
		}
		if f := c.nested(part, field.part, &r, depth-1); f != nil {
			return f.Field(field.name)
		}
	}
	return nil
}

// counts finds out what counts of the singular fields that are kept.
func (p *place) counts(k *cut, depth int) (map[int32]*occurrence, *diag.Fault) {
	out := map[int32]*occurrence{}
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return nil, p.fault(code, r.next)
		}
		pos = r.next
		if o := k.oneof(r.number); o != nil && known(k.from, &r) != nil {
			for _, rival := range o.Fields() {
				if met := out[rival.ID()]; met != nil && rival.ID() != r.number {
					*met = occurrence{}
				}
			}
		}
		if field := k.find(&r); field != nil && field.singular {
			if out[r.number] == nil {
				out[r.number] = &occurrence{}
			}
			out[r.number].add(&r)
		}
	}
	return out, nil
}

// oneof returns the oneof that a field of the message belongs to, or nil.
func (k *cut) oneof(number int32) *schema.Oneof {
	if k.from == nil {
		return nil
	}
	return oneofOf(k.from.FieldByID(number))
}

// required looks for a message in p, or p itself, that lacks a required field.
// Cutting has merged what was to be merged, so this copies nothing of p.
func (p place) required(depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	d := p.typ.Struct()
	var room [4]uint64
	seen := room[:]
	if n := len(d.Fields()); n > 64*len(room) {
		seen = make([]uint64, (n+63)/64)
	}
	has := func(f *schema.Field) bool { return seen[f.Index()/64]>>(f.Index()%64)&1 != 0 }
	var r record
	for pos := 0; pos < len(p.data); {
		code := r.read(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		field := known(d, &r)
		if field == nil {
			continue
		}
		twice := has(field) && field.Type().Kind() == schema.Struct
		if o := field.Oneof(); o != nil {
			for _, rival := range o.Fields() {
				twice = twice || rival != field && has(rival)
			}
		}
		if twice {
			return p.requiredByRule(depth)
		}
		seen[field.Index()/64] |= 1 << (field.Index() % 64)
	}
	for _, field := range d.Fields() {
		if field.Requiredness() == schema.Required && !has(field) {
			return missing(p.typ, field)
		}
	}
	for pos := 0; pos < len(p.data); {
		r, _ := readRecord(p.data, pos, depth) // which has been read above
		pos = r.next
		field := known(d, &r)
		if field == nil || messageIn(field.Type()) == nil {
			continue
		}
		o := occurrence{record: r, first: r.start, count: 1}
		if field.Type().Kind() == schema.Map {
			slot := &seen[field.Index()/64]
			bit := uint64(1) << (field.Index() % 64)
			if *slot&bit == 0 {
				continue // all entries were looked at with the first
			}
			*slot &^= bit
			o.next = len(p.data)
		}
		if field.Type().Kind() != schema.List {
			if f := p.requiredPart(&o, field, depth); f != nil {
				return f
			}
			continue
		}
		part := p
		f := part.take(&o, field.Type().Elem(), nil, depth)
		if f == nil {
			f = part.required(depth - 1)
		}
		if f != nil {
			f.Offset = -1
			return f.Index(p.indexOf(&r, field.Type())).Field(field.Name())
		}
	}
	return nil
}

// indexOf returns the index of the element that a record of the list holds.
func (p place) indexOf(element *record, list *schema.Type) int {
	count := 0
	for pos := 0; pos < element.start; {
		r, _ := readRecord(p.data, pos, maxDepth)
		if pos = r.next; r.number == element.number && fits(list, r.wire) {
			count++
		}
	}
	return count
}

// requiredByRule is required for all messages: it finds out first what counts.
func (p place) requiredByRule(depth int) *diag.Fault {
	met, f := p.survey(p.typ.Struct(), depth)
	if f != nil {
		return f
	}
	for i, field := range p.typ.Struct().Fields() {
		switch {
		case met[i].count == 0 && field.Requiredness() == schema.Required:
			return missing(p.typ, field)
		case met[i].count > 0 && messageIn(field.Type()) != nil:
			if f := p.requiredPart(&met[i], field, depth); f != nil {
				return f
			}
		}
	}
	return nil
}

// requiredPart is required for what stands of a field with messages.
func (p place) requiredPart(o *occurrence, field *schema.Field, depth int) *diag.Fault {
	part := p
	f := part.whole(o, field, depth)
	switch {
	case f != nil:
	case part.kind == bytesNode:
		f = part.required(depth - 1)
	case part.kind == mapNode:
		f = part.requiredEntries(depth)
	default:
		it := Value{part.Node, part.typ}.Iterate()
		for f == nil && it.Next() {
			inner := place{Node: it.current.Node, typ: it.current.schema, at: -1}
			if f = inner.required(depth - 1); f != nil {
				f.Index(it.Index())
			}
		}
	}
	if f != nil {
		f.Offset = -1 // it is one in the result
		f.Field(field.Name())
	}
	return f
}

// requiredEntries is required for the values of a map. Of a key that stands
// twice the last entry counts.
func (p place) requiredEntries(depth int) *diag.Fault {
	var lacking map[string]*diag.Fault
	it := Value{p.Node, p.typ}.Iterate()
	for it.Next() {
		key := keyText(it.key.Node)
		inner := place{Node: it.current.Node, typ: it.current.schema, at: -1}
		f := inner.required(depth - 1)
		switch {
		case f == nil:
			delete(lacking, key)
		case lacking == nil:
			lacking = map[string]*diag.Fault{key: f}
		default:
			lacking[key] = f
		}
	}
	first := ""
	for key := range lacking {
		if first == "" || key < first {
			first = key
		}
	}
	if first == "" {
		return nil
	}
	return lacking[first].Key(first)
}
