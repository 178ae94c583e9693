package dynamic

import (
	"encoding/binary"
	"slices"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the cutting of messages: one pass that copies what is kept
// in stretches as long as can be.

// Append appends what is kept of the message in the binary protocol at the front of b and returns how
// many bytes of b that message takes. The result is never longer than
// that; it aliases nothing, and dst must not overlap b. After an error dst is returned as
// it was. Nothing is allocated if dst has room for the whole message, and of that
// room more may be written than the result takes.
//
// A field or container of another wire type than the schema's is an error,
// unless it is dropped. Map entries whose keys become equal by trimming are all kept.
func (t *Trimmer) Append(dst, b []byte) (out []byte, n int, err error) {
	var c cutter
	c.b, c.dst = b, slices.Grow(dst, len(b))
	end, f := c.structure(0, t.root.fields, maxDepth-1)
	if f != nil {
		return dst, 0, f
	}
	c.flush(end)
	return c.dst, end, nil
}

// AppendNode is Append for a struct in any protocol, and what is kept of it is in
// that protocol too. In a compact protocol a field's header may take up to three bytes
// more when the field before it is dropped, so the result may be longer than
// the message, but never twice as long.
func (t *Trimmer) AppendNode(dst []byte, n Node) (out []byte, size int, err error) {
	switch {
	case !n.Exists():
		return dst, 0, notFound()
	case n.typ != thriftwire.Struct:
		return dst, 0, wrongType(0, t.from.String(), n.typ.String())
	case n.proto == Binary:
		return t.Append(dst, n.data)
	}
	c := cutter{b: n.data, dst: slices.Grow(dst, len(n.data)), proto: n.proto}
	end, f := c.compactStructure(0, t.root.fields, maxDepth-1)
	if f != nil {
		return dst, 0, f
	}
	c.flush(end)
	return c.dst, end, nil
}

type cutter struct {
	b     []byte
	done  int // b[:done] has been copied or left out
	dst   []byte
	proto Protocol
}

// flush copies up to pos. Short stretches are copied as two words, which may
// take along bytes that the next stretch overwrites.
func (c *cutter) flush(pos int) {
	n, at := pos-c.done, len(c.dst)
	if n <= 16 && len(c.b)-c.done >= 16 && cap(c.dst)-at >= 16 {
		to, from := c.dst[at:at+16], c.b[c.done:c.done+16]
		binary.LittleEndian.PutUint64(to, binary.LittleEndian.Uint64(from))
		binary.LittleEndian.PutUint64(to[8:], binary.LittleEndian.Uint64(from[8:]))
		c.dst = c.dst[:at+n]
	} else {
		c.dst = append(c.dst, c.b[c.done:pos]...)
	}
	c.done = pos
}

// structure cuts the struct at pos and returns the place after it.
func (c *cutter) structure(pos int, s *cutFields, depth int) (int, *diag.Fault) {
	b, missing := c.b, len(s.required)
	var seen marks
	for {
		start := pos
		t, id, n := thriftwire.ConsumeField(b[pos:])
		if n < 0 {
			return pos, fault(n, pos)
		}
		if t == thriftwire.Stop {
			if missing > 0 {
				return pos, s.missing(pos, &seen)
			}
			return pos + 1, nil
		}
		k := s.find(uint16(id))
		pos += n
		if k == nil || k.part == nil {
			if k != nil && k.wire != t {
				return start, k.mismatch(start, t)
			}
			end, code := skipPart(b, pos, t, depth)
			if code < 0 {
				return end, fault(code, end).Field(k.name(id))
			}
			pos = end
			if k == nil {
				if c.done < start {
					c.flush(start)
				}
				c.done = pos
				continue
			}
		} else {
			if k.wire != t {
				return start, k.mismatch(start, t)
			}
			var f *diag.Fault
			if pos, f = c.value(pos, k.part, depth); f != nil {
				return pos, f.Field(k.field.Name())
			}
		}
		if k.required > 0 && seen.meet(k.required-1, len(s.required)) {
			missing--
		}
	}
}

// skipPart is thriftwire.SkipAt with numbers and strings, which most fields
// are, at hand.
func skipPart(b []byte, pos int, t thriftwire.Type, depth int) (end, code int) {
	if b = tight(b); len(b)-pos >= 8 {
		if t == thriftwire.String {
			if l := uint64(binary.BigEndian.Uint32(b[pos:])); l <= uint64(len(b)-pos-4) {
				return pos + 4 + int(l), 0
			}
		} else if t == thriftwire.I32 || t == thriftwire.Float {
			return pos + 4, 0
		} else if t == thriftwire.I64 || t == thriftwire.Double {
			return pos + 8, 0
		} else if t == thriftwire.I8 || t == thriftwire.Bool {
			return pos + 1, 0
		}
	}
	return thriftwire.SkipAt(b, pos, t, depth)
}

// name returns the name of the field for a path; k is nil for a field that is dropped.
func (k *cutField) name(id int16) string {
	if k != nil {
		return k.field.Name()
	}
	return strconv.Itoa(int(id))
}

func (k *cutField) mismatch(pos int, t thriftwire.Type) *diag.Fault {
	return wrongType(pos, k.field.Type().String(), t.String()).Field(k.field.Name())
}

// missing is the fault for a struct that ends without a required field.
func (s *cutFields) missing(pos int, seen *marks) *diag.Fault {
	for i, f := range s.required {
		if !seen.met(i) {
			return diag.NewFault(diag.MissingRequired, pos, "required field "+strconv.Quote(f.Name())+" of "+s.name+" is missing")
		}
	}
	return nil
}

// value cuts a value that has the cut's wire type.
func (c *cutter) value(pos int, k *cut, depth int) (int, *diag.Fault) {
	switch {
	case depth <= 0:
		return pos, fault(thriftwire.ErrDepth, pos)
	case k.wire == thriftwire.Struct && c.proto != Binary:
		return c.compactStructure(pos, k.fields, depth-1)
	case k.wire == thriftwire.Struct:
		return c.structure(pos, k.fields, depth-1)
	case k.wire == thriftwire.Map:
		return c.entries(pos, k, depth-1)
	default:
		return c.elements(pos, k, depth-1)
	}
}

// keep steps over n values of type t that are kept whole.
func (c *cutter) keep(pos int, t thriftwire.Type, n, depth int) (int, *diag.Fault) {
	end, code := c.proto.skipElements(c.b, pos, t, n, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

func (c *cutter) elements(pos int, k *cut, depth int) (int, *diag.Fault) {
	t, size, n := c.proto.list(c.b[pos:])
	switch {
	case n < 0:
		return pos, fault(n, pos)
	case size == 0:
		return pos + n, nil
	case t != wireOf(k.typ.Elem()):
		return pos, wrongType(pos, k.typ.String(), "elements of type "+t.String())
	}
	pos += n
	if k.elem == nil {
		return c.keep(pos, t, size, depth)
	}
	var f *diag.Fault
	for i := range size {
		if pos, f = c.value(pos, k.elem, depth); f != nil {
			return pos, f.Index(i)
		}
	}
	return pos, nil
}

func (c *cutter) entries(pos int, k *cut, depth int) (int, *diag.Fault) {
	key, t, size, n := c.proto.mapping(c.b[pos:])
	switch {
	case n < 0:
		return pos, fault(n, pos)
	case size == 0:
		return pos + n, nil
	case key != wireOf(k.typ.Key()) || t != wireOf(k.typ.Elem()):
		return pos, wrongType(pos, k.typ.String(), "entries of types "+key.String()+" and "+t.String())
	}
	pos += n
	if k.key == nil && k.elem == nil {
		end, code := c.proto.skipEntries(c.b, pos, key, t, size, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		return end, nil
	}
	for range size {
		var f *diag.Fault
		if k.key != nil {
			pos, f = c.value(pos, k.key, depth)
		} else {
			pos, f = c.keep(pos, key, 1, depth)
		}
		if f != nil {
			return pos, f.Key("key")
		}
		if k.elem != nil {
			pos, f = c.value(pos, k.elem, depth)
		} else {
			pos, f = c.keep(pos, t, 1, depth)
		}
		if f != nil {
			return pos, f.Key("entry")
		}
	}
	return pos, nil
}
