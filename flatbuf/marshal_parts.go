package flatbuf

import (
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the writing of what tables refer to: strings, vectors, unions.

// texts writes strings and their offsets to into; "" is absent, unless all are wanted.
func (s *writer) texts(into []UOffsetT, texts []string, all bool) bool {
	b := s.b
	into = into[:len(texts)]
	for i, text := range texts {
		if len(text) == 0 || mem.StringData(text) == nil {
			if into[i] = 0; !all {
				continue
			}
			text = ""
		}
		if textPos(b.head, len(text)) < 0 && !s.room(len(text)+padding) {
			return false
		}
		into[i] = b.CreateString(text)
	}
	return true
}

// offsetsOf writes the slice at at, of strings or tables, as a vector of offsets;
// nil is absent.
func (s *writer) offsetsOf(r *refOp, at mem.Pointer) (UOffsetT, bool) {
	data, n := sliceAt(at)
	if data == nil {
		if !r.required {
			return 0, true
		}
		n = 0
	}
	b := s.b
	if n > maxMessage/SizeUOffsetT {
		return 0, s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	var few [8]UOffsetT
	if r.kind == refStrings && b.head <= len(b.Bytes) && n <= len(few) {
		if at := putTexts(mem.Data(b.Bytes), b.head, data, few[:n], vectorOfTexts); at >= 0 {
			b.head = at
			return b.Offset(), true
		}
	}
	offsets := few[:min(n, len(few))]
	if n > len(few) {
		offsets = b.PushOffsets(n)
	}
	if r.kind == refStrings {
		if !s.texts(offsets, mem.View[string](data, n), true) {
			return 0, false
		}
	} else if !s.tables(r, data, offsets) {
		return 0, false
	}
	if need := padding + n*SizeUOffsetT; b.head < need && !s.room(need) {
		return 0, false
	}
	off := b.CreateVectorOfTables(offsets)
	if n > len(few) {
		b.PopOffsets(n)
	}
	return off, true
}

// tables writes as many tables from data on as into has places for their offsets.
func (s *writer) tables(r *refOp, data mem.Pointer, into []UOffsetT) bool {
	p := r.table
	for i := range into {
		q := r.element(data, i)
		if q == nil {
			s.fail(diag.InvalidValue, "a vector has no place for a nil pointer")
			s.fault.Index(i)
			return false
		}
		if p.leaf != nil && s.depth > 0 {
			if into[i] = s.b.leaf(p, q, nil); into[i] != 0 {
				continue
			}
		}
		off, ok := s.table(p, q)
		if !ok {
			s.fault.Index(i)
			return false
		}
		into[i] = off
	}
	return true
}

// element returns the i-th table of a vector, nil for a nil pointer.
func (r *refOp) element(data mem.Pointer, i int) mem.Pointer {
	at := mem.Add(data, uintptr(i)*r.stride())
	if r.kind == refTables {
		return mem.Ptr(at)
	}
	return at
}

// stride returns how far the elements of a vector of tables are from each other in Go's memory.
func (r *refOp) stride() uintptr {
	if r.kind == refTables {
		return uintptr(mem.Size[mem.Pointer]())
	}
	return r.table.size
}

// ref writes what any other field refers to, and its offset into results.
func (s *writer) ref(r *refOp, at mem.Pointer, results []UOffsetT) (ok bool) {
	off, other := UOffsetT(0), UOffsetT(0)
	ok = true
	switch r.kind {
	case refText, refStringP:
		if r.kind == refStringP {
			at = mem.Ptr(at)
		}
		if at != nil {
			off, ok = s.text(textAt(at))
		}
	case refScalars, refStructs:
		off, ok = s.vector(r, at)
	case refMap:
		off, ok = s.mapOf(r, at)
	case refTable:
		if q := mem.Ptr(at); q != nil {
			off, ok = s.table(r.table, q)
		}
	case refTableV:
		off, ok = s.table(r.table, at)
	case refUnion:
		if q := mem.Ptr(at); q != nil {
			off, other, ok = s.union(r.union, q)
		}
	case refUnionV:
		off, other, ok = s.union(r.union, at)
	case refUnions:
		off, other, ok = s.unions(r, at)
	}
	results[r.result] = off
	if r.union != nil {
		results[r.types] = other
	}
	return ok
}

func (s *writer) text(text string) (UOffsetT, bool) {
	if !s.room(len(text) + padding) {
		return 0, false
	}
	return s.b.CreateString(text), true
}

// vector writes the slice at at, of scalars or structs; nil is absent.
func (s *writer) vector(r *refOp, at mem.Pointer) (UOffsetT, bool) {
	data, n := sliceAt(at)
	if data == nil {
		if !r.required {
			return 0, true
		}
		n = 0
	}
	if n > maxMessage/r.elem.size {
		return 0, s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	if !s.room(padding + n*r.elem.size) {
		return 0, false
	}
	b := s.b
	b.startVector(SizeUOffsetT, r.elem.size, n, r.elem.align)
	start := b.head - n*r.elem.size
	dst := b.Bytes[start:b.head]
	if r.elem.fixed == nil {
		mem.CopyLE(dst, mem.View[byte](data, len(dst)), r.elem.size)
	} else {
		stride := r.elem.fixed.typ.Size()
		for i := range n {
			r.elem.fixed.write(dst[i*r.elem.size:(i+1)*r.elem.size], mem.Add(data, uintptr(i)*stride))
		}
	}
	b.head = start
	return b.EndVector(n), true
}

// union writes the member that is set and returns its offset and type.
func (s *writer) union(u *unionProgram, v mem.Pointer) (off, typ UOffsetT, ok bool) {
	for i := range u.members {
		m := &u.members[i]
		q := mem.Ptr(mem.Add(v, m.off))
		if q == nil {
			continue
		}
		if typ != 0 {
			return 0, 0, s.fail(diag.InvalidUnion, fmt.Sprintf("a union with more than one member, %s among them", m.name))
		}
		typ = UOffsetT(m.typ)
		switch {
		case m.table != nil:
			if off, ok = s.table(m.table, q); !ok {
				s.fault.Field(m.name)
				return 0, 0, false
			}
		case m.fixed != nil:
			if !s.room(padding + m.fixed.size) {
				return 0, 0, false
			}
			s.b.Prep(m.fixed.align, m.fixed.size-m.fixed.align) // of whose sum Prep makes room
			s.b.head -= m.fixed.size
			m.fixed.write(s.b.Bytes[s.b.head:s.b.head+m.fixed.size], q)
			off = s.b.Offset()
		default:
			if off, ok = s.text(textAt(q)); !ok {
				return 0, 0, false
			}
		}
	}
	return off, typ, true
}

// unions writes a vector of unions and that of their types.
func (s *writer) unions(r *refOp, at mem.Pointer) (off, types UOffsetT, ok bool) {
	data, n := sliceAt(at)
	if data == nil && !r.required {
		return 0, 0, true
	}
	if n > maxMessage/SizeUOffsetT/2 {
		return 0, 0, s.fail(diag.SizeLimit, "a message of 2 GiB")
	}
	b := s.b
	pairs := b.PushOffsets(2 * n)
	for i := range n {
		pairs[2*i], pairs[2*i+1], ok = s.union(r.union, mem.Add(data, uintptr(i)*r.union.typ.Size()))
		if !ok {
			s.fault.Index(i)
			return 0, 0, false
		}
	}
	if !s.room(2*padding + 5*n) {
		return 0, 0, false
	}
	b.startVector(SizeUOffsetT, 1, n, 1)
	for i := n - 1; i >= 0; i-- {
		b.place8(uint8(pairs[2*i+1]))
	}
	types = b.EndVector(n)
	b.startVector(SizeUOffsetT, SizeUOffsetT, n, SizeUOffsetT)
	for i := n - 1; i >= 0; i-- {
		if pairs[2*i] == 0 {
			b.place32(0) // NONE refers to nothing
		} else {
			b.PrependUOffsetT(pairs[2*i])
		}
	}
	off = b.EndVector(n)
	b.PopOffsets(2 * n)
	return off, types, true
}
