package dynamic

import (
	"encoding/binary"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds reading along many paths in one pass. Each walk returns the
// place after its value, or any place if that is the last that is asked for.

// Get sets out[i] to what path i leads to in n, for each path; what does not
// exist is the zero Value. It makes one pass and stops when everything is
// found. The values alias n. Nothing is allocated for up to 64 steps from one
// place. After an error out holds some of the values.
func (p *Paths) Get(n Node, out []Value) error {
	if len(out) != p.Len() {
		return p.wrongCount(len(out))
	}
	var m many // filled part by part: a literal is copied in stretches that wait for their parts
	m.b, m.out, m.proto = n.data, out, n.proto
	err := m.run(p, n)
	if len(out) > 64 || m.found != 1<<len(out)-1 {
		m.clearRest()
	}
	return err
}

func (m *many) run(p *Paths, n Node) error {
	if len(m.out) > 64 {
		clear(m.out[64:])
	}
	if !n.Exists() || !agrees(p.from, n.typ) {
		return p.misfit(n)
	}
	if len(p.self) > 0 {
		whole, err := n.part(nil, 0, n.typ)
		if err != nil {
			return err
		}
		for _, slot := range p.self {
			m.out[slot] = Value{whole, p.from}
			m.found |= 1 << slot
		}
	}
	if len(p.root.edges) == 0 {
		return nil
	}
	if _, f := m.value(0, n.typ, p.root, maxDepth, true); f != nil {
		return f
	}
	return nil
}

// clearRest clears what was not found.
func (m *many) clearRest() {
	for i := range m.out[:min(len(m.out), 64)] {
		if m.found>>i&1 == 0 {
			m.out[i] = Value{}
		}
	}
}

type many struct {
	b     []byte
	out   []Value
	proto Protocol
	// found are the slots that were set, of the first 64: they are not cleared
	// before, since a store of a pointer costs much while the collector runs.
	found uint64
}

func (m *many) value(pos int, t thriftwire.Type, br *branch, depth int, last bool) (int, *diag.Fault) {
	switch {
	case depth <= 0:
		return pos, fault(thriftwire.ErrDepth, pos)
	case !br.suits(t):
		return pos, br.misfit(pos, t)
	case t == thriftwire.Struct && m.proto != Binary:
		return m.compactStructure(pos, br, depth-1, last)
	case t == thriftwire.Struct:
		return m.structure(pos, br, depth-1, last)
	case t == thriftwire.Map:
		return m.entries(pos, br, depth-1, last)
	default:
		return m.elements(pos, br, depth-1, last)
	}
}

// take reads the part of an edge, of type t at pos.
func (m *many) take(pos int, t thriftwire.Type, e *edge, depth int, last bool) (int, *diag.Fault) {
	if e.step.want != t && e.step.want != thriftwire.Stop {
		return pos, e.located(wrongType(pos, e.step.typ.String(), t.String()))
	}
	if len(e.slots) > 0 {
		var end, code int
		if m.proto == Binary {
			end, code = skipPart(m.b, pos, t, depth)
		} else {
			end, code = m.proto.dialect().SkipAt(m.b, pos, t, depth)
		}
		if code < 0 {
			return end, e.located(fault(code, end))
		}
		for _, slot := range e.slots {
			m.set(slot, e, t, pos, end)
		}
		if e.next == nil {
			return end, nil
		}
	}
	end, f := m.value(pos, t, e.next, depth, last)
	return end, e.located(f)
}

// set notes what was found for a path: the value of type t at b[pos:end].
func (m *many) set(slot int, e *edge, t thriftwire.Type, pos, end int) {
	v := &m.out[slot]
	v.typ, v.exact, v.proto, v.data = t, true, m.proto, m.b[pos:end:end]
	if v.schema != e.step.typ { // as it is where out is used again
		v.schema = e.step.typ
	}
	m.found |= 1 << slot
}

// located adds the edge's step to the path of f, if there is one.
func (e *edge) located(f *diag.Fault) *diag.Fault {
	if f != nil {
		e.step.locate(f)
	}
	return f
}

func (m *many) structure(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	var seen marks
	for left := len(br.edges); left > 0; {
		t, at, i, code := seekField(m.b, pos, br, depth)
		if code < 0 {
			return at, fault(code, at)
		}
		if t == thriftwire.Stop {
			return at + 1, nil
		}
		pos = at + 3
		if !seen.meet(i, len(br.edges)) { // of a field that stands twice the first counts
			if pos, code = thriftwire.SkipAt(m.b, pos, t, depth); code < 0 {
				return pos, fault(code, pos)
			}
			continue
		}
		left--
		e := &br.edges[i]
		if e.next == nil && len(e.slots) == 1 && (e.step.want == t || e.step.want == thriftwire.Stop) {
			// As take does it, without the call: most fields that are asked for are such.
			end, code := skipPart(m.b, pos, t, depth)
			if code < 0 {
				return end, e.located(fault(code, end))
			}
			m.set(e.slots[0], e, t, pos, end)
			pos = end
			continue
		}
		var f *diag.Fault
		if pos, f = m.take(pos, t, e, depth, last && left == 0); f != nil {
			return pos, f
		}
	}
	return m.rest(pos, thriftwire.Struct, 1, depth+1, last)
}

// rest steps over n values of type t, or does nothing if nobody asks for the
// place after them.
func (m *many) rest(pos int, t thriftwire.Type, n, depth int, last bool) (int, *diag.Fault) {
	if last {
		return pos, nil
	}
	end, code := m.proto.skipElements(m.b, pos, t, n, depth)
	if code < 0 {
		return end, fault(code, end)
	}
	return end, nil
}

// seekField finds the next field that the branch has an edge for, or the stop:
// its type, the place of its header and the number of the edge.
func seekField(b []byte, pos int, br *branch, depth int) (t thriftwire.Type, at, i, code int) {
	table, base := br.table, br.base
	b = tight(b)
	for {
		for len(b)-pos >= 3+8 && table != nil {
			h := binary.BigEndian.Uint32(b[pos:])
			t = thriftwire.Type(h >> 24)
			if k := int(uint16(h>>8) - base); k < len(table) && table[k] != 0 && t.Valid() {
				return t, pos, int(table[k]) - 1, 0
			}
			if t == thriftwire.String {
				l := uint64(binary.BigEndian.Uint32(b[pos+3:]))
				if l > uint64(len(b)-pos-7) {
					_, code = thriftwire.SkipAt(b, pos+3, t, depth)
					return t, pos + 3, -1, code
				}
				pos += 7 + int(l)
				continue
			}
			if hasParts(t) {
				if pos, code = thriftwire.SkipAt(b, pos+3, t, depth); code < 0 {
					return t, pos, -1, code
				}
				continue
			}
			if t == thriftwire.I32 || t == thriftwire.Float {
				pos += 3 + 4
				continue
			}
			if t == thriftwire.I64 || t == thriftwire.Double {
				pos += 3 + 8
				continue
			}
			if t == thriftwire.Stop {
				return t, pos, -1, 0
			}
			if t == thriftwire.I8 || t == thriftwire.Bool {
				pos += 3 + 1
				continue
			}
			if t == thriftwire.I16 {
				pos += 3 + 2
				continue
			}
			break
		}
		t, id, n := thriftwire.ConsumeField(b[pos:])
		if n < 0 {
			return t, pos, -1, n
		}
		if t == thriftwire.Stop {
			return t, pos, -1, 0
		}
		if i := br.field(uint16(id)); i >= 0 {
			return t, pos, i, 0
		}
		if pos, code = thriftwire.SkipAt(b, pos+3, t, depth); code < 0 {
			return t, pos, -1, code
		}
	}
}

func (m *many) elements(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	t, size, n := m.proto.list(m.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	pos += n
	at := 0 // the index of the element at pos
	for i := range br.edges {
		e := &br.edges[i]
		if e.step.kind == stepBefore || e.step.num < 0 {
			continue
		}
		if e.step.num >= int64(size) {
			break
		}
		var code int
		if pos, code = m.proto.skipElements(m.b, pos, t, int(e.step.num)-at, depth); code < 0 {
			return pos, fault(code, pos)
		}
		at = int(e.step.num) + 1
		var f *diag.Fault
		if pos, f = m.take(pos, t, e, depth, last && i == len(br.edges)-1); f != nil {
			return pos, f
		}
	}
	return m.rest(pos, t, size-at, depth, last)
}

// checkElement refuses a container whose elements have another wire type than
// the schema's.
func (br *branch) checkElement(pos int, t thriftwire.Type, size int) *diag.Fault {
	if size == 0 || br.typ == nil || wireOf(br.typ.Elem()) == t {
		return nil
	}
	return wrongType(pos, br.typ.String(), "elements of type "+t.String())
}

// checkKeys refuses a map whose keys have another type than the edges'.
func (br *branch) checkKeys(pos int, key thriftwire.Type, size int) *diag.Fault {
	for i := range br.edges {
		if s := &br.edges[i].step; size > 0 && !s.fits(key) {
			return wrongType(pos, "a map with a key such as "+s.keyText(), "keys of type "+key.String())
		}
	}
	return nil
}

func (m *many) entries(pos int, br *branch, depth int, last bool) (int, *diag.Fault) {
	key, t, size, n := m.proto.mapping(m.b[pos:])
	if n < 0 {
		return pos, fault(n, pos)
	}
	if f := br.checkElement(pos, t, size); f != nil {
		return pos, f
	}
	if f := br.checkKeys(pos, key, size); f != nil {
		return pos, f
	}
	pos += n
	var seen marks
	for left := len(br.edges); left > 0 && size > 0; size-- {
		end, code := m.proto.skipAt(m.b, pos, key, depth)
		if code < 0 {
			return end, fault(code, end)
		}
		i := br.key(m.proto, m.b, pos, end, key)
		if i < 0 || !seen.meet(i, len(br.edges)) {
			if pos, code = m.proto.skipAt(m.b, end, t, depth); code < 0 {
				return pos, fault(code, pos)
			}
			continue
		}
		left--
		var f *diag.Fault
		if pos, f = m.take(end, t, &br.edges[i], depth, last && left == 0); f != nil {
			return pos, f
		}
	}
	if last {
		return pos, nil
	}
	pos, code := m.proto.skipEntries(m.b, pos, key, t, size, depth)
	if code < 0 {
		return pos, fault(code, pos)
	}
	return pos, nil
}
