package interp

import (
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file hands the entries of maps to a StructEncoder, many at a time: only
// Go can go over a map, and whoever encodes does better with an array.

// entriesAtOnce is how many entries are handed over at a time.
const entriesAtOnce = 64

// fewestEntries is the number from which that pays if there are only numbers and texts.
const fewestEntries = 16

// handsOver reports whether the StructEncoder gets the n entries of the map op.
func (e *encoder) handsOver(op *plan.Op, n int) bool {
	if e.assist == nil || int(op.Slot) >= len(e.batched) || !e.batched[op.Slot] {
		return false
	}
	return n >= fewestEntries || e.prog.Procs[op.B].Ops[0].Code == plan.Pointer && n > 2
}

// entry is an element of that array.
type entry[K comparable, V any] struct {
	key  K
	elem V
}

// batches keeps arrays of entries between messages, with nothing in them.
type batches[K comparable, V any] struct{ pool sync.Pool }

func (s *batches[K, V]) append(e *encoder, b []byte, op *plan.Op, m mem.Pointer, depth int) ([]byte, *diag.Fault) {
	array, _ := s.pool.Get().(*[entriesAtOnce]entry[K, V])
	if array == nil {
		array = new([entriesAtOnce]entry[K, V])
	}
	used := min(mem.MapLen(m), entriesAtOnce)
	n := 0
	var f *diag.Fault
	for k, v := range mem.Map[K, V](m) {
		array[n] = entry[K, V]{k, v}
		if n++; n == entriesAtOnce {
			used = n
			if b, f = e.assist.AppendEntries(e, b, op, mem.Of(array), n, depth); f != nil {
				break
			}
			n = 0
		}
	}
	if n > 0 && f == nil {
		used = max(used, n)
		b, f = e.assist.AppendEntries(e, b, op, mem.Of(array), n, depth)
	}
	clear(array[:used])
	s.pool.Put(array)
	return b, f
}

// Strides returns the size of an entry of each map by slot: its key, and behind that the
// element, as in a struct of the two. It is 0 where entries are not handed over.
func (e *encoder) Strides() []int {
	all := make([]int, len(e.cells))
	for slot, c := range e.cells {
		if c != nil {
			all[slot] = c.stride
		}
	}
	return all
}

// Batch has the entries of maps of these slots handed to the StructEncoder.
func (e *encoder) Batch(slots []bool) { e.batched = slots }

// Entry appends one entry that was handed over.
func (e *encoder) Entry(b []byte, op *plan.Op, key, elem mem.Pointer, depth int) ([]byte, *diag.Fault) {
	b, f := e.value(b, &e.prog.Procs[op.A].Ops[0], key, depth)
	if f != nil {
		return b, f
	}
	return e.value(b, &e.prog.Procs[op.B].Ops[0], elem, depth)
}
