package flatbuf

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds the quick way to write a Go struct that refers to nothing but strings, as
// entries of maps and most small messages do: nothing is part of the message until all is
// written. Where memory is lacking or anything is unusual it gives up, and
// the general way begins anew.

// leafProgram writes what such a table refers to.
type leafProgram struct {
	refs  []textsRef // in the order of writing, which is that of the references
	count int        // of the references
}

// textsRef is a vector of strings, or n strings one after another.
type textsRef struct {
	off      uintptr // in the Go struct
	kind     textsKind
	required bool // a vector is never absent
	first, n int  // of the references
}

// fewRefs is how many references such a table has at most, a power of two.
const fewRefs = 8

// isPlain reports whether p has no fields but references and scalars by value, of no great alignment.
func (p *tableProgram) isPlain() bool { return len(p.others) == 0 && p.align <= 8 && p.inline > 0 }

// leafOf returns the quick program of p, nil if there is none.
func leafOf(p *tableProgram) *leafProgram {
	l := &leafProgram{}
	for i := range p.writes {
		r, ok := textsOf(&p.writes[i])
		if !ok || r.first != l.count {
			return nil
		}
		l.refs = append(l.refs, r)
		l.count += r.n
	}
	if l.count > fewRefs {
		return nil
	}
	return l
}

// textsOf returns r if it is of strings.
func textsOf(r *refOp) (ref textsRef, ok bool) {
	ref = textsRef{off: r.off, required: r.required, first: r.result, n: r.n}
	switch {
	case r.kind == refStrings:
		ref.kind = vectorOfTexts
	case r.kind == refText || r.kind == refTexts && r.required:
		ref.kind = allTexts
	case r.kind != refTexts:
		return ref, false
	}
	return ref, true
}

// leaf writes the struct at v and returns its offset, or 0 and leaves the message as it was. If root is not nil that is
// the root of the message, which is empty, and the message is finished unless a field is absent.
func (b *Builder) leaf(p *tableProgram, v mem.Pointer, root *rootProgram) UOffsetT {
	end, base := len(b.Bytes), mem.Data(b.Bytes)
	if b.head > end {
		return 0
	}
	var places [fewRefs]UOffsetT
	head := p.leaf.texts(base, b.head, v, &places)
	start := p.start(head)
	if head < p.bound || head-start < leastTable {
		return 0
	}
	table := mem.Add(base, uintptr(start))
	pad(base, head)
	if !putScalars(p.scalars, table, v) || !putRefs(table, start, p.refsAt, places[:p.leaf.count]) {
		b.head = head
		return b.partly(p, v, places[:p.leaf.count])
	}
	if root != nil {
		b.endWhole(root, base, start)
		return UOffsetT(end - start)
	}
	return b.endFull(p, table, start)
}

// texts writes what the struct at v refers to, before head, and notes the places, 0 for what is absent. It returns the new
// head, less than 0 if there is no room or anything is unusual.
func (l *leafProgram) texts(base mem.Pointer, head int, v mem.Pointer, places *[fewRefs]UOffsetT) int {
	refs := l.refs
	for i := range refs {
		r := &refs[i]
		src := mem.Add(v, r.off)
		if r.kind != vectorOfTexts {
			head = putTexts(base, head, src, places[r.first:r.first+r.n], r.kind)
		} else if data, n := sliceAt(src); n > fewTexts {
			return -1
		} else if data != nil || r.required {
			var few [fewTexts]UOffsetT
			head = putTexts(base, head, data, few[:n], vectorOfTexts)
			places[r.first&(fewRefs-1)] = UOffsetT(head)
		}
		if head < 0 {
			break
		}
	}
	return head
}
