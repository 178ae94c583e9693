package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the cutting of compact structs.

// compactStructure is structure for a compact struct. The header of a field
// after one that is dropped is written anew.
func (c *cutter) compactStructure(pos int, s *cutFields, depth int) (int, *diag.Fault) {
	missing := len(s.required)
	var seen marks
	var ids idPair
	for {
		start := pos
		h, n := c.proto.dialect().ConsumeField(c.b[pos:], ids.read)
		if n < 0 {
			return pos, fault(n, pos)
		}
		pos += n
		if h.Type == thriftwire.Stop {
			if missing > 0 {
				return start, s.missing(start, &seen)
			}
			return pos, nil
		}
		k := s.find(uint16(h.ID))
		if k != nil && k.wire != h.Type {
			return start, k.mismatch(start, h.Type)
		}
		if k != nil && ids.read != ids.written {
			c.flush(start)
			c.done = pos
			c.dst = c.proto.appendHeader(c.dst, h, ids.written)
		}
		var f *diag.Fault
		if k != nil && k.part != nil {
			pos, f = c.value(pos, k.part, depth)
		} else {
			var code int
			if pos, code = c.proto.skipField(c.b, pos, h, depth); code < 0 {
				f = fault(code, pos)
			}
		}
		if f != nil {
			return pos, f.Field(k.name(h.ID))
		}
		ids.read = h.ID
		if k == nil {
			c.flush(start)
			c.done = pos
			continue
		}
		ids.written = h.ID
		if k.required > 0 && seen.meet(k.required-1, len(s.required)) {
			missing--
		}
	}
}
