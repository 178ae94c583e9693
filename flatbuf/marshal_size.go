package flatbuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the pass that finds how many bytes Go structs take at most,
// for builders that have no memory for them yet.

// padding is what a part takes at most beside its content: a length, zero
// bytes, alignment.
const padding = 4 + 1 + maxAlign

// bound adds to n what the table at v takes at most.
func (s *writer) bound(p *tableProgram, v mem.Pointer, n *int) bool {
	if s.depth--; s.depth < 0 {
		return s.fail(diag.DepthLimit, "tables are nested too deeply")
	}
	*n += p.bound
	for i := range p.writes {
		r := &p.writes[i]
		if !s.boundRef(r, mem.Add(v, r.off), n) {
			s.fault.Field(r.name)
			return false
		}
	}
	s.depth++
	if *n > maxMessage-(1<<16) {
		return s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	return true
}

func (s *writer) boundRef(r *refOp, at mem.Pointer, n *int) bool {
	switch r.kind {
	case refTexts:
		for _, text := range mem.View[string](at, r.n) {
			*n += padding + len(text)
		}
	case refText:
		*n += padding + len(mem.String(at))
	case refStringP:
		if q := mem.Ptr(at); q != nil {
			*n += padding + len(textAt(q))
		}
	case refScalars, refStructs:
		_, l := sliceAt(at)
		*n += padding + r.elem.size*l
	case refStrings:
		data, l := sliceAt(at)
		*n += padding + 4*l
		for _, text := range mem.View[string](data, l) {
			*n += padding + len(text)
		}
	case refTable:
		if q := mem.Ptr(at); q != nil {
			return s.bound(r.table, q, n)
		}
	case refTableV:
		return s.bound(r.table, at, n)
	case refTables, refTablesV:
		return s.boundTables(r, at, n)
	case refMap:
		return s.boundMap(r, at, n)
	case refUnion:
		if q := mem.Ptr(at); q != nil {
			return s.boundUnion(r.union, q, n)
		}
	case refUnionV:
		return s.boundUnion(r.union, at, n)
	case refUnions:
		data, l := sliceAt(at)
		*n += 2*padding + 5*l
		for i := range l {
			if !s.boundUnion(r.union, mem.Add(data, uintptr(i)*r.union.typ.Size()), n) {
				s.fault.Index(i)
				return false
			}
		}
	}
	return true
}

func (s *writer) boundTables(r *refOp, at mem.Pointer, n *int) bool {
	data, l := sliceAt(at)
	*n += padding + 4*l
	for i := range l {
		if q := r.element(data, i); q != nil && !s.bound(r.table, q, n) {
			s.fault.Index(i)
			return false
		}
	}
	return true
}

func (s *writer) boundUnion(u *unionProgram, v mem.Pointer, n *int) bool {
	for i := range u.members {
		m := &u.members[i]
		q := mem.Ptr(mem.Add(v, m.off))
		switch {
		case q == nil:
		case m.table != nil:
			if !s.bound(m.table, q, n) {
				s.fault.Field(m.name)
				return false
			}
		case m.fixed != nil:
			*n += padding + m.fixed.size
		default:
			*n += padding + len(textAt(q))
		}
	}
	return true
}
