package flatbuf

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds what the generated object form reads with: it copies, and it is
// bounded, so that no message, verified or not, makes more of itself than a small
// multiple of its size.

// Unpacking bounds the reading of one message. It is for one goroutine.
type Unpacking struct {
	depth int
	room  int // bytes that may still be made of the message
	short bool
}

// tableCost is what a table counts for, in bytes: a message cannot have tables in
// less than eight bytes each, unless several places refer to one.
const tableCost = 64

// NewUnpacking returns the bounds of reading from buf: 16 bytes for each of its,
// and 64 KiB at least; tables nested 64 deep.
func NewUnpacking(buf []byte) Unpacking {
	return Unpacking{depth: flatwire.MaxDepth, room: visitsOf(buf)}
}

// Enter begins a table and reports whether it is to be read. If so, Leave ends it.
func (u *Unpacking) Enter() bool {
	if u.depth <= 0 || !u.take(tableCost) {
		u.short = true
		return false
	}
	u.depth--
	return true
}

// Leave ends a table.
func (u *Unpacking) Leave() { u.depth++ }

// Err returns an error if something was left out, a *diag.Fault.
func (u *Unpacking) Err() error {
	if u.short {
		return diag.NewFault(diag.SizeLimit, -1, "tables are nested too deeply, or parts are referred to too many times")
	}
	return nil
}

func (u *Unpacking) take(n int) bool {
	if n > u.room {
		u.short = true
		return false
	}
	u.room -= n
	return true
}

// Text returns a copy of s as a string.
func (u *Unpacking) Text(s []byte) string {
	if len(s) == 0 || !u.take(len(s)) {
		return ""
	}
	return string(s)
}

// Distance is how a field refers to a vector.
type Distance uint8

const (
	Near Distance = iota // by an offset of 32 bits
	Far                  // by an offset of 64 bits
	Long                 // by an offset of 64 bits, and its length has 64 bits too
)

// vector returns where the elements of a vector are, and how many.
func vector(size int, t *Table, slot VOffsetT, d Distance) (start, n int, ok bool) {
	o := UOffsetT(t.Offset(slot))
	if o == 0 {
		return 0, 0, false
	}
	if d == Near {
		start, n = flatwire.Vector(t.Bytes, int(t.Indirect(o+t.Pos)), size)
		return start, n, true
	}
	pos, n := t.Vector64(o, size, d == Long)
	return int(pos), n, true
}

// Vector returns the number of elements of size bytes of the vector in that slot, and
// whether there is one.
func (u *Unpacking) Vector(size int, t Table, slot VOffsetT, d Distance) (n int, ok bool) {
	_, n, ok = vector(size, &t, slot, d)
	if !ok || n > u.room/16 {
		u.short = u.short || ok
		return n, false
	}
	u.room -= 16 * n
	return n, true
}

// UnpackScalars returns a copy of the vector of numbers in that slot, nil if there is none.
func UnpackScalars[T Scalar](u *Unpacking, t Table, slot VOffsetT, d Distance) []T {
	size := mem.Size[T]()
	start, n, ok := vector(size, &t, slot, d)
	if !ok || !u.take(n*size) {
		return nil
	}
	v := make([]T, n)
	mem.CopyLE(mem.View[byte](mem.Data(v), n*size), t.Bytes[start:start+n*size], size)
	return v
}

// UnpackBools is UnpackScalars for bools, which every byte but 0 makes true.
func UnpackBools(u *Unpacking, t Table, slot VOffsetT, d Distance) []bool {
	start, n, ok := vector(1, &t, slot, d)
	if !ok || !u.take(n) {
		return nil
	}
	v := make([]bool, n)
	for i, b := range t.Bytes[start : start+n] {
		v[i] = b != 0
	}
	return v
}
