package dynamic

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds walks over the fields of compact structs, for reading.

// The types of a bool field that a walk along one path has found: a compact
// header says the value, and no bytes follow.
const (
	fieldFalse thriftwire.Type = 0xf0 + iota
	fieldTrue
)

// findCompactField finds the first field with that id.
func findCompactField(p Protocol, b []byte, pos int, id int16, want thriftwire.Type, depth int) (at int, t thriftwire.Type, code int) {
	d := p.dialect()
	var last int16
	for {
		if pos, last, code = d.SkipUntil(b, pos, last, 1<<(id&63), depth); code < 0 {
			return pos, 0, code
		}
		f, n := d.ConsumeField(b[pos:], last)
		switch {
		case n < 0:
			return pos, 0, n
		case f.Type == thriftwire.Stop:
			return pos, 0, absent
		case f.ID == id && want != f.Type && want != thriftwire.Stop:
			return pos, f.Type, mismatch
		case f.ID == id && f.Type == thriftwire.Bool:
			return pos + n, boolType(f), 0
		case f.ID == id:
			return pos + n, f.Type, 0
		}
		last = f.ID
		if pos, code = p.skipField(b, pos+n, f, depth); code < 0 {
			return pos, f.Type, code
		}
	}
}

func boolType(f compact.Field) thriftwire.Type {
	if f.True {
		return fieldTrue
	}
	return fieldFalse
}

// findCompactEntry finds the value of the first of size entries at b[pos:] with
// the step's key. A key that is a value must be in the protocol p.
func (s *Step) findCompactEntry(p Protocol, b []byte, pos int, key, t thriftwire.Type, size, depth int) (at int, part thriftwire.Type, code int) {
	d := p.dialect()
	for ; size > 0; size-- {
		end, code := d.SkipAt(b, pos, key, depth)
		if code < 0 {
			return end, t, code
		}
		if s.sameCompactKey(p, b, pos, end, key) {
			return end, t, 0
		}
		if pos, code = d.SkipAt(b, end, t, depth); code < 0 {
			return pos, t, code
		}
	}
	return pos, t, absent
}

// seekCompactField is seekField for a compact struct, after the field with the
// id last.
func seekCompactField(p Protocol, b []byte, pos int, last int16, br *branch, depth int) (f compact.Field, at, i, code int) {
	d := p.dialect()
	for {
		if pos, last, code = d.SkipUntil(b, pos, last, br.filter, depth); code < 0 {
			return f, pos, -1, code
		}
		f, n := d.ConsumeField(b[pos:], last)
		if n < 0 || f.Type == thriftwire.Stop {
			return f, pos, -1, min(n, 0)
		}
		if i := br.field(uint16(f.ID)); i >= 0 {
			return f, pos + n, i, 0
		}
		last = f.ID
		if pos, code = p.skipField(b, pos+n, f, depth); code < 0 {
			return f, pos, -1, code
		}
	}
}

// compactStructure is structure for a compact struct.
func (m *many) compactStructure(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	var seen marks
	var id int16 // of the field before pos
	for left := len(br.edges); left > 0; {
		h, at, i, code := seekCompactField(m.proto, m.b, pos, id, br, depth)
		if code < 0 {
			return at, fault(code, at)
		}
		if h.Type == thriftwire.Stop {
			return at + 1, nil
		}
		pos, id = at, h.ID
		if !seen.meet(i, len(br.edges)) { // of a field that stands twice the first counts
			if pos, code = m.proto.skipField(m.b, pos, h, depth); code < 0 {
				return pos, fault(code, pos)
			}
			continue
		}
		left--
		var f *diag.Fault
		if h.Type == thriftwire.Bool {
			f = m.takeBool(pos, h.True, &br.edges[i])
		} else {
			pos, f = m.take(pos, h.Type, &br.edges[i], depth, last && left == 0)
		}
		if f != nil {
			return pos, f
		}
	}
	if last {
		return pos, nil
	}
	end, code := m.proto.dialect().SkipFields(m.b, pos, id, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

// takeBool is take for a bool field.
func (m *many) takeBool(pos int, v bool, e *edge) *diag.Fault {
	if e.step.want != thriftwire.Bool && e.step.want != thriftwire.Stop {
		return e.located(wrongType(pos, e.step.typ.String(), thriftwire.Bool.String()))
	}
	for _, slot := range e.slots {
		m.out[slot] = Value{m.proto.boolNode(v), e.step.typ}
		m.found |= 1 << slot
	}
	if e.next != nil {
		return e.located(e.next.misfit(pos, thriftwire.Bool))
	}
	return nil
}
