package interp

import (
	"encoding/binary"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file decodes lists and sets and decides how much memory a claimed
// length is worth.

// amplification bounds how many bytes are allocated ahead for each byte of
// input that remains: a length that merely claims is not believed further.
const amplification = 16

// capacity returns how many of n values of size bytes may be allocated before they are
// read at i. What the containers around them still expect is not theirs: else a
// container at each of a thousand levels could claim the same bytes.
func (d *run) capacity(i, n int, size uintptr) int {
	if size == 0 {
		return n
	}
	return int(max(1, min(int64(n), (int64(len(d.b)-i)-d.expected)*amplification/int64(size))))
}

// least returns the bytes of input that a value of op takes at least.
func (d *run) least(op *plan.Op) int64 {
	if d.compact != 0 {
		return 1
	}
	return max(1, int64(op.Fixed))
}

// list reads a list or set into the slice at p.
func (d *run) list(op *plan.Op, p mem.Pointer, i, depth int) int {
	if depth <= 0 {
		return d.fail(diag.DepthLimit, i, "nested deeper than the limit")
	}
	elem := &d.prog.Procs[op.A].Ops[0]
	var t thriftwire.Type
	var n, m int
	if d.compact != 0 {
		t, n, m = d.compact.ConsumeList(d.b[i:])
	} else {
		t, n, m = thriftwire.ConsumeList(d.b[i:])
	}
	if m < 0 {
		return d.wire(m, i)
	}
	if n > d.opts.MaxContainer {
		return d.fail(diag.SizeLimit, i, "a list of "+plural(n, "element")+" exceeds the limit")
	}
	i += m
	if n == 0 {
		mem.SetBytes(p, []byte{})
		return i
	}
	if t != elem.Wire {
		return d.mismatch(i-m, elem.Wire, t)
	}
	start := i
	switch {
	case op.Flags&plan.PointerFree != 0 && d.compact != 0:
		i = d.compactNumbers(elem, p, i, n)
	case op.Flags&plan.PointerFree != 0:
		i = d.numbers(elem, p, i, n)
	case elem.Code == plan.String:
		i = d.strings(elem, p, i, n)
	case elem.Code == plan.Pointer:
		i = d.pointers(elem, p, i, n, depth-1)
	default:
		i = d.elements(op, elem, p, i, n, depth-1)
	}
	if i >= 0 && op.Flags&plan.Unique != 0 && d.opts.CheckSet {
		return d.unique(elem, start, i, n, depth)
	}
	return i
}

// numbers reads n elements of fixed width into pointer-free memory.
func (d *run) numbers(elem *plan.Op, p mem.Pointer, i, n int) int {
	w := elem.Code.Width()
	if (len(d.b)-i)/w < n {
		return d.eof(i, n*w)
	}
	src := d.b[i : i+n*w]
	size := int(elem.Code.Memory())
	dst := d.chunk.Take(n*size, min(size, 8))
	data := mem.Data(dst)
	mem.SetSlice(p, data, n)
	if d.bulk.Swap != nil && n >= swapFrom && w == size && w > 1 && w <= 8 {
		d.bulk.Swap(w, data, mem.Data(src), n)
		return i + n*w
	}
	switch elem.Code {
	case plan.Bool:
		for k, v := range src {
			dst[k] = bit(v != 0)
		}
	case plan.I16:
		v := mem.View[uint16](data, n)
		for k := range v {
			v[k] = binary.BigEndian.Uint16(src[2*k:])
		}
	case plan.I32, plan.Float:
		v := mem.View[uint32](data, n)
		for k := range v {
			v[k] = binary.BigEndian.Uint32(src[4*k:])
		}
	case plan.I64, plan.Double:
		v := mem.View[uint64](data, n)
		for k := range v {
			v[k] = binary.BigEndian.Uint64(src[8*k:])
		}
	case plan.Enum64:
		v := mem.View[uint64](data, n)
		for k := range v {
			v[k] = uint64(int64(int32(binary.BigEndian.Uint32(src[4*k:]))))
		}
	default: // I8, UUID: bytes as they stand
		copy(dst, src)
	}
	return i + n*w
}

// strings reads n strings. A header of 16 bytes in memory stands for 1 byte
// of input at least, so n needs no further check.
func (d *run) strings(elem *plan.Op, p mem.Pointer, i, n int) int {
	var s []string
	if d.arena != nil {
		s = d.arena.Strings(n)
	} else {
		s = make([]string, n)
	}
	mem.SetSlice(p, mem.Data(s), n)
	for k := range s {
		var b []byte
		if b, i = d.bytes(elem, i); i < 0 {
			d.fault.Index(k)
			return failed
		}
		s[k] = mem.StringOf(b)
	}
	return i
}

// pointers reads n structs behind pointers, which share arrays.
func (d *run) pointers(elem *plan.Op, p mem.Pointer, i, n, depth int) int {
	have := d.capacity(i, n, uintptr(elem.Code.Memory()))
	var v []mem.Pointer
	if d.arena != nil {
		v = d.arena.Pointers(have)
	} else {
		v = make([]mem.Pointer, have)
	}
	all := d.batch(n)
	least := d.least(elem)
	d.expected += int64(n) * least
	rows := d.rows(elem.A, depth)
	for k := 0; k < n; {
		if k == len(v) {
			v = append(v, make([]mem.Pointer, min(k, n-k))...)
		}
		at, m := all.next(d, elem, i), 1
		v[k] = at
		if rows != nil {
			m += all.more(d, elem, v[k+1:])
		}
		d.expected -= int64(m) * least
		if m > 1 {
			i = d.row(d.prog.Procs[elem.A], rows, at, k, i, m, depth)
		} else if i = d.structure(elem.A, at, i, depth); i < 0 {
			d.fault.Index(k)
		}
		if i < 0 {
			return failed
		}
		k += m
	}
	d.release(all)
	mem.SetSlice(p, mem.Data(v), n)
	return i
}

// elements reads n values of any type into a slice of them. The header at p is
// written last, and before it is extended: p may be run.slice, which elements use too.
func (d *run) elements(op, elem *plan.Op, p mem.Pointer, i, n, depth int) int {
	slot := &d.slots[op.Slot]
	have := d.capacity(i, n, slot.Size)
	var data mem.Pointer
	if d.arena != nil {
		data = d.arena.Values(op.Slot, have)
	} else {
		slot.Slice(p, have)
		data, _ = mem.Slice(p)
	}
	least := d.least(elem)
	d.expected += int64(n) * least
	var rows *Assist
	if elem.Code == plan.Struct {
		rows = d.rows(elem.A, depth)
	}
	for k := 0; k < n; {
		if k == have {
			have += min(have, n-have)
			mem.SetSlice(p, data, k)
			slot.Extend(p, have)
			data, _ = mem.Slice(p)
		}
		at, m := mem.Add(data, uintptr(k)*uintptr(op.Size)), 1
		if rows != nil {
			m = have - k
		}
		d.expected -= int64(m) * least
		if m > 1 {
			i = d.row(d.prog.Procs[elem.A], rows, at, k, i, m, depth)
		} else if i = d.value(elem, at, i, depth); i < 0 {
			d.fault.Index(k)
		}
		if i < 0 {
			return failed
		}
		k += m
	}
	mem.SetSlice(p, data, n)
	return i
}

// unique checks that the n elements between start and end differ.
func (d *run) unique(elem *plan.Op, start, end, n, depth int) int {
	seen := make(map[string]struct{}, min(n, end-start))
	var whole []byte
	i := start
	for k := range n {
		after := d.skip(i, elem.Wire, depth)
		if after < 0 {
			return failed
		}
		key := d.b[i:after]
		if d.compact != 0 { // which has several forms of a number
			whole, _ = d.compact.AppendToBinary(whole[:0], key, elem.Wire, depth)
			key = whole
		}
		seen[string(key)] = struct{}{}
		if len(seen) == k {
			d.fail(diag.DuplicateKey, i, "a set has two equal elements")
			d.fault.Index(k)
			return failed
		}
		i = after
	}
	return end
}

// batch allocates the structs of one container together.
type batch struct {
	left  int // structs still to come
	ready int // structs allocated and not used
	at    mem.Pointer
}

// batch returns a batch for n structs that the caller gives back by release.
func (d *run) batch(n int) *batch {
	k := len(d.spare) - 1
	if k < 0 {
		return &batch{left: n}
	}
	b := d.spare[k]
	d.spare = d.spare[:k]
	b.left = n
	return b
}

func (d *run) release(b *batch) {
	*b = batch{} // it must not keep a message's memory
	d.spare = append(d.spare, b)
}

// next returns a new struct for the element at i, with its defaults set.
func (a *batch) next(d *run, op *plan.Op, i int) mem.Pointer {
	slot := &d.slots[op.Slot]
	if a.ready == 0 {
		others := d.expected
		d.expected -= int64(a.left - 1) // the container's own, which are not others'
		a.ready = d.capacity(i, a.left, slot.Size)
		d.expected = others
		if d.arena != nil {
			a.at = d.arena.Values(op.Slot, a.ready)
		} else {
			slot.Slice(mem.Of(&d.slice), a.ready)
			a.at = mem.Data(d.slice)
			d.slice = nil
		}
	}
	v := a.at
	a.ready--
	a.left--
	if a.ready > 0 {
		a.at = mem.Add(v, slot.Size)
	}
	d.init(op, v)
	return v
}

// more takes the structs that are ready behind the one that next returned, which need no
// defaults, stores their addresses in to, as far as that has room, and returns how many they are.
func (a *batch) more(d *run, op *plan.Op, to []mem.Pointer) int {
	size := d.slots[op.Slot].Size
	n := min(a.ready, len(to))
	for k := range n {
		to[k] = a.at
		if a.ready--; a.ready > 0 {
			a.at = mem.Add(a.at, size)
		}
	}
	a.left -= n
	return n
}
