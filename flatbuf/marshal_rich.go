package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the quick way to write a Go struct that refers to many strings or to vectors of
// entries. Unlike that of leaves it has something to undo when it gives up.

// richProgram writes what such a table refers to.
type richProgram struct {
	refs  []richRef // in the order of writing, which is that of the references
	count int       // of the references
	depth int       // of tables, itself among them
}

// richRef are strings or a vector of them, or as many vectors of entries one after another.
type richRef struct {
	textsRef
	entry    *tableProgram // nil for strings
	stride   uintptr       // of entries or their pointers
	pointers bool          // to entries
}

// richOf returns the quick program of p, nil if there is none.
func richOf(p *tableProgram) *richProgram {
	l := &richProgram{depth: 1}
	for i := range p.writes {
		if r := &p.writes[i]; r.result != l.count || !l.add(r) {
			return nil
		}
	}
	return l
}

// add takes in what r refers to, if it can.
func (l *richProgram) add(r *refOp) bool {
	texts, ok := textsOf(r)
	ref := richRef{textsRef: texts}
	if !ok {
		if r.kind != refTables && r.kind != refTablesV || r.table.entry == nil {
			return false
		}
		l.depth = 2
		ref.entry, ref.stride, ref.pointers = r.table, r.stride(), r.kind == refTables
		if n := len(l.refs); n > 0 && l.refs[n-1].joins(&ref) {
			l.refs[n-1].n++
			l.count++
			return true
		}
	}
	l.refs = append(l.refs, ref)
	l.count += ref.n
	return true
}

// joins reports whether the vector of next comes after those of r.
func (r *richRef) joins(next *richRef) bool {
	return r.entry == next.entry && r.pointers == next.pointers && r.required == next.required &&
		next.off == r.off+uintptr(r.n*mem.Size[[]byte]())
}

// rich writes the struct at v and returns its offset, or 0 and leaves the message as it was.
func (s *writer) rich(p *tableProgram, v mem.Pointer) UOffsetT {
	b, l := s.b, p.rich
	head, base := b.head, mem.Data(b.Bytes)
	if head > len(b.Bytes) || s.depth < l.depth {
		return 0
	}
	before := b.state()
	places := b.PushOffsets(l.count)
	for i := range l.refs {
		r := &l.refs[i]
		src, into := mem.Add(v, r.off), places[r.first:r.first+r.n]
		if r.entry != nil {
			head = s.entries(r, src, head, into)
		} else if r.kind != vectorOfTexts {
			head = putTexts(base, head, src, into, r.kind)
		} else if data, n := sliceAt(src); data != nil || r.required {
			head = b.putVectorOfTexts(head, data, n)
			into[0] = UOffsetT(head)
		} else {
			into[0] = 0
		}
		if head < 0 {
			break
		}
	}
	start := p.start(head)
	if head < p.bound || head-start < leastTable {
		s.undo(before)
		return 0
	}
	table := mem.Add(base, uintptr(start))
	pad(base, head)
	var off UOffsetT
	if putScalars(p.scalars, table, v) && putRefs(table, start, p.refsAt, places) {
		off = b.endFull(p, table, start)
	} else {
		b.head = head
		off = b.partly(p, v, places)
	}
	b.PopOffsets(l.count)
	return off
}

// putVectorOfTexts writes a vector of any number of strings.
func (b *Builder) putVectorOfTexts(head int, texts mem.Pointer, n int) int {
	if n > maxMessage/SizeUOffsetT {
		return -1
	}
	head = putTexts(mem.Data(b.Bytes), head, texts, b.PushOffsets(n), vectorOfTexts)
	b.PopOffsets(n)
	return head
}

// undo takes the message back to what it was.
func (s *writer) undo(before builderState) {
	s.b.rewind(before)
	for i, off := range s.vtables {
		if int(off) > before.used {
			s.vtables[i] = 0
		}
	}
}
