package fbsidl

import (
	"encoding/binary"
	"math"
	"slices"
)

// A small writer of FlatBuffers, for binary schemas. It writes front to back: a
// table comes before what it refers to, and offsets are filled in later.

// tableWriter holds the buffer.
type tableWriter struct {
	b       []byte
	vtables map[string]int // by their bytes
}

// cell is a field of a table. What refers to other parts has write, which
// writes the part and returns its position.
type cell struct {
	slot  int
	size  int // in bytes
	bits  uint64
	write func() int
}

// fields gathers the fields of one table, leaving out those with their default.
type fields []cell

func (f *fields) num(slot, size int, v, standard int64) {
	if v != standard {
		*f = append(*f, cell{slot: slot, size: size, bits: uint64(v)})
	}
}

func (f *fields) flag(slot int, v bool) {
	if v {
		f.num(slot, 1, 1, 0)
	}
}

func (f *fields) real(slot int, v float64) {
	if bits := math.Float64bits(v); bits != 0 {
		*f = append(*f, cell{slot: slot, size: 8, bits: bits})
	}
}

func (f *fields) ref(slot int, write func() int) {
	*f = append(*f, cell{slot: slot, size: 4, write: write})
}

func (w *tableWriter) align(n int) {
	for len(w.b)%n != 0 {
		w.b = append(w.b, 0)
	}
}

// table writes a table and all that it refers to.
func (w *tableWriter) table(f fields) int {
	// The largest come first, so that all are aligned behind the 4 bytes that lead to the vtable.
	slices.SortStableFunc(f, func(a, b cell) int { return b.size - a.size })
	top := 0
	for _, c := range f {
		top = max(top, c.slot+1)
	}
	vtable := make([]byte, 4+2*top)
	at := 4
	if len(f) > 0 && f[0].size == 8 {
		at = 8
	}
	places := make([]int, len(f))
	for i, c := range f {
		places[i] = at
		binary.LittleEndian.PutUint16(vtable[4+2*c.slot:], uint16(at))
		at += c.size
	}
	binary.LittleEndian.PutUint16(vtable, uint16(len(vtable)))
	binary.LittleEndian.PutUint16(vtable[2:], uint16(at))
	known, ok := w.vtables[string(vtable)]
	if !ok {
		w.align(2)
		known = len(w.b)
		w.vtables[string(vtable)] = known
		w.b = append(w.b, vtable...)
	}
	w.align(8)
	pos := len(w.b)
	w.b = append(w.b, make([]byte, at)...)
	binary.LittleEndian.PutUint32(w.b[pos:], uint32(pos-known))
	for i, c := range f {
		for n := range c.size {
			w.b[pos+places[i]+n] = byte(c.bits >> (8 * n))
		}
	}
	for i, c := range f {
		if c.write != nil {
			w.link(pos+places[i], c.write())
		}
	}
	return pos
}

// link makes the offset at pos lead to target, if there is one already.
func (w *tableWriter) link(pos, target int) {
	if target > 0 {
		binary.LittleEndian.PutUint32(w.b[pos:], uint32(target-pos))
	}
}

func (w *tableWriter) str(s string) int {
	w.align(4)
	pos := len(w.b)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(len(s)))
	w.b = append(append(w.b, s...), 0)
	return pos
}

// vector writes a vector of n parts. write writes the i-th.
func (w *tableWriter) vector(n int, write func(i int) int) int {
	w.align(4)
	pos := len(w.b)
	w.b = binary.LittleEndian.AppendUint32(w.b, uint32(n))
	w.b = append(w.b, make([]byte, 4*n)...)
	for i := range n {
		w.link(pos+4+4*i, write(i))
	}
	return pos
}

func (w *tableWriter) strs(list []string) int {
	return w.vector(len(list), func(i int) int { return w.str(list[i]) })
}
