package jit

import (
	"sort"

	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file makes the code that reads a struct's fields in the compact protocol, in the
// manner of decode_emit.go. Where op k is expected, the field before is that of op k-1, so that
// the header is a constant. Within a segment a varint counts as one byte; one that is longer
// moves the position by the rest, and what remains of the segment is compared with the end again.
//
// For a field that stands elsewhere there is a second copy of each op's code, a single. It
// begins behind the comparison of a header of one byte.

// The registers of decode code in the compact protocol, where they are others.
const (
	dLast = asm.R7  // the id of the field before; within segments it is set to leave only
	dLink = asm.R11 // where a subroutine returns to; then how much longer than a byte a length is
)

// compactProc is the code of one procedure while it is made.
type compactProc struct {
	*decodeProc
	varints *varintReader
	singles []asm.Label // by op: one whose header of one byte stands at dAt
}

// emit makes the code of the procedure.
func (d *compactProc) emit() {
	n := len(d.proc.Ops)
	d.find, d.leave, d.stop = d.Label(), d.Label(), d.Label()
	for range n + 1 {
		d.entries = append(d.entries, d.Label())
		d.expects = append(d.expects, d.Label())
		d.singles = append(d.singles, d.Label())
	}
	for k := range n {
		if d.worth[k] || k == 0 && d.row {
			d.entry(k)
		}
	}
	for k := 0; k < n; {
		d.Bind(d.expects[k])
		end := d.segment(k)
		if end == k {
			d.expectOne(k)
			k++
			continue
		}
		d.expectSegment(k, end)
		for k++; k < end; k++ {
			d.expectAside(k)
		}
	}
	d.Bind(d.expects[n])
	d.search(n)
	d.lookUp()
	for k := range n {
		if d.simple(&d.proc.Ops[k]) {
			d.single(k)
		}
	}
	for len(d.aside) > 0 {
		f := d.aside[0]
		d.aside = d.aside[1:]
		f()
	}
	d.leaving()
}

// entry starts where op k is expected, behind any field.
func (d *compactProc) entry(k int) {
	d.Bind(d.entries[k])
	d.Load(asm.W64, dEnd, dBlock, 8*interp.Length)
	d.Add(dEnd, dEnd, dIn)
	d.Mov(dAt, dIn)
	d.AddImm(dNote, dBlock, records)
	d.Load(asm.W64, dLast, dBlock, 8*interp.Last)
	if d.proc.Required > 0 {
		d.Load(asm.W64, dSeen, dBlock, 8*interp.Seen)
	}
	d.BranchImm(asm.EQ, dLast, d.last(k), d.expects[k])
	d.Jump(d.find)
}

// leaving stores the state for Go.
func (d *compactProc) leaving() {
	d.Bind(d.leave)
	d.Store(asm.W64, dBlock, 8*interp.Last, dLast)
	d.storeState()
	d.Exit(decodeLeft)
	d.stopping()
}

// last returns the id of the field before op k's where op k is expected.
func (d *compactProc) last(k int) int32 {
	if k == 0 {
		return 0
	}
	return int32(d.proc.Ops[k-1].ID)
}

// head returns the header that is expected for op k. The lowest byte is that of
// a true for a bool, and one more for a false.
func (d *compactProc) head(k int) []byte {
	return d.opts.Compact.AppendField(nil, d.proc.Ops[k].Wire, d.proc.Ops[k].ID, int16(d.last(k)))
}

// size returns the length of the header that is expected for op k.
func (d *compactProc) size(k int) int32 { return int32(len(d.head(k))) }

// segment returns the op behind the segment that starts with op k, which is k if code
// does not read it.
func (d *compactProc) segment(k int) int {
	ops, start := d.proc.Ops, k
	for stop := min(k+longest, len(ops)); k < stop && d.simple(&ops[k]) && (k == start || d.size(k) == 1); k++ {
		if ops[k].Code.Width() == 0 {
			return k + 1
		}
	}
	return k
}

// least returns the bytes that the fields of the ops from k to end take at least, where op k is expected.
func (d *compactProc) least(k, end int) int32 {
	n := int32(0)
	for i := k; i < end; i++ {
		n += d.size(i) + d.leastValue(&d.proc.Ops[i])
	}
	return n
}

// leastValue returns the bytes that a value takes behind its header, a varint one.
func (d *compactProc) leastValue(op *plan.Op) int32 {
	switch {
	case op.Code == plan.Bool:
		return 0
	case varintBits(op.Code) != 0 || op.Code.Width() == 0:
		return 1
	default:
		return int32(op.Code.Width())
	}
}

// varintBits returns the bits of a number that is a varint in the compact protocol, 0 for others.
func varintBits(c plan.Code) int {
	switch c {
	case plan.I16:
		return 16
	case plan.I32, plan.Enum64:
		return 32
	case plan.I64:
		return 64
	default:
		return 0
	}
}

// search looks the field at dAt up, where op k was expected.
func (d *compactProc) search(k int) {
	d.Imm(dLast, uint64(int64(d.last(k))))
	d.Jump(d.find)
}

// expectOne expects the field of op k alone.
func (d *compactProc) expectOne(k int) {
	if head := d.head(k); len(head) == 1 && d.proc.Ops[k].Code != plan.Bool {
		other := d.later(func() { d.search(k) })
		d.Branch(asm.HS, dAt, dEnd, other)
		d.Load(asm.W8, dHead, dAt, 0)
		d.BranchImm(asm.NE, dHead, int32(head[0]), other)
		d.Imm(dLast, uint64(int64(d.last(k))))
		d.found(k)
		return
	}
	d.search(k)
}

// expectSegment expects the fields of the ops from k to end. It ends where op end is expected.
func (d *compactProc) expectSegment(k, end int) {
	const word = 4 // in which a header is compared
	d.needs(max(word, d.least(k, end)), d.later(func() { d.search(k) }))
	d.fields(k, end)
}

// expectAside makes the place that expects op k in the middle of a segment.
func (d *compactProc) expectAside(k int) {
	d.aside = append(d.aside, func() {
		d.Bind(d.expects[k])
		d.expectOne(k)
	})
}

// found goes on with the field of op k at dAt, whose header has one byte, behind that of dLast.
func (d *compactProc) found(k int) {
	if d.simple(&d.proc.Ops[k]) {
		d.Jump(d.singles[k])
		return
	}
	d.leaveAs(k)
}

// leaveAs leaves before the field of op k, or any other, that follows that of dLast.
func (d *compactProc) leaveAs(k int) {
	d.StoreImm(asm.W64, dBlock, 8*interp.Next, uint64(k))
	d.Jump(d.leave)
}

// lookUp finds the op whose header stands at dAt.
func (d *compactProc) lookUp() {
	unknown := d.later(func() { d.leaveAs(0) })
	d.Bind(d.find)
	d.Branch(asm.HS, dAt, dEnd, unknown)
	d.Load(asm.W8, dHead, dAt, 0)
	d.BranchImm(asm.EQ, dHead, 0, d.stop)
	d.ShrImm(dTemp, dHead, 4)
	d.BranchImm(asm.EQ, dTemp, 0, unknown) // the id follows
	d.Add(dTemp, dTemp, dLast)
	d.ShlImm(dTemp, dTemp, 4)
	d.AndImm(dHead, dHead, 15)
	order := make([]int, len(d.proc.Ops))
	for k := range order {
		order[k] = k
		if d.proc.Ops[k].Code == plan.Bool && k == d.firstBool() {
			value := d.Label()
			d.BranchImm(asm.NE, dHead, 2, value) // a false is looked up as a true
			d.Imm(dHead, 1)
			d.Bind(value)
		}
	}
	d.Or(dHead, dHead, dTemp)
	sort.Slice(order, func(i, j int) bool { return d.key(order[i]) < d.key(order[j]) })
	d.tree(order, unknown)
}

// firstBool returns the first op that is a bool, or -1.
func (d *compactProc) firstBool() int {
	for k := range d.proc.Ops {
		if d.proc.Ops[k].Code == plan.Bool {
			return k
		}
	}
	return -1
}

// key is what lookUp makes of op k's header: its id and code.
func (d *compactProc) key(k int) int32 {
	op := &d.proc.Ops[k]
	return int32(op.ID)<<4 | int32(d.opts.Compact.AppendField(nil, op.Wire, 1, 0)[0]&15)
}

func (d *compactProc) tree(order []int, unknown asm.Label) {
	const few = 3
	if len(order) <= few {
		for _, k := range order {
			d.BranchImm(asm.EQ, dHead, d.key(k), d.later(func() { d.found(k) }))
		}
		d.Jump(unknown)
		return
	}
	mid := len(order) / 2
	below := d.Label()
	d.BranchImm(asm.LT, dHead, d.key(order[mid]), below)
	d.tree(order[mid:], unknown)
	d.Bind(below)
	d.tree(order[:mid], unknown)
}
