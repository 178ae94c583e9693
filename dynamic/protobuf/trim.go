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
//
// What the result means is what the message means, without what is dropped: a
// member of a oneof that a dropped one had unset stays unset.
func (t *Trimmer) Append(dst, b []byte) ([]byte, error) {
	c := cutter{slices.Grow(dst, len(b))}
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

type cutter struct{ dst []byte }

// message copies what is kept of a message.
func (c *cutter) message(p place, k *cut, depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	if k.careful || k.parts > 64 {
		return c.carefully(p, k, depth)
	}
	begin, done := len(c.dst), 0
	var seen uint64
	for pos := 0; pos < len(p.data); {
		r, code := readRecord(p.data, pos, depth)
		if code < 0 {
			return p.fault(code, r.next)
		}
		pos = r.next
		field := k.find(&r)
		if field != nil && field.part == nil {
			continue
		}
		if field != nil && field.singular {
			bit := uint64(1) << field.number
			if seen&bit != 0 { // to be merged
				c.dst = c.dst[:begin]
				return c.carefully(p, k, depth)
			}
			seen |= bit
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
	for pos := 0; pos < len(p.data); {
		r, code := readRecord(p.data, pos, depth)
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
			out[r.number].add(r)
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
func (p place) required(depth int) *diag.Fault {
	if depth <= 0 {
		return p.fault(protowire.ErrDepth, 0)
	}
	met, f := p.survey(p.typ.Struct(), depth)
	if f != nil {
		return f
	}
	for i, field := range p.typ.Struct().Fields() {
		o := &met[i]
		if o.count == 0 {
			if field.Requiredness() == schema.Required {
				return missing(p.typ, field)
			}
			continue
		}
		if messageIn(field.Type()) == nil {
			continue
		}
		part := p
		if f = part.whole(o, field, depth); f == nil && field.Type().Kind().IsContainer() {
			f = part.requiredParts(depth)
		} else if f == nil {
			f = part.required(depth - 1)
		}
		if f != nil {
			f.Offset = -1 // it is one in the result
			return f.Field(field.Name())
		}
	}
	return nil
}

// requiredParts is required for the elements or entries of p.
func (p place) requiredParts(depth int) *diag.Fault {
	it := Value{p.Node, p.typ}.Iterate()
	for it.Next() {
		part := place{Node: it.current.Node, typ: it.current.schema, at: -1}
		if f := part.required(depth - 1); f != nil {
			if p.kind == mapNode {
				return f.Key(keyText(it.key.Node))
			}
			return f.Index(it.Index())
		}
	}
	return nil
}
