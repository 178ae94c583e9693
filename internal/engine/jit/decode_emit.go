package jit

import (
	"math"
	"math/bits"
	"sort"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file makes the code that reads a struct's fields. For each op there is a place that
// expects its field: it compares the header and reads the value. Fields of fixed
// width in a row, with the text or list behind them, are a segment, whose
// bytes are compared with the end of the input once. A header that is not the expected
// one is looked up by a tree of comparisons.

// The registers of decode code.
const (
	dBlock = asm.R0
	dBase  = asm.R1 // the struct
	dIn    = asm.R2 // the start of the window
	dAt    = asm.R3 // the header of the next field
	dEnd   = asm.R4 // of the window
	dNote  = asm.R5 // the next record
	dSeen  = asm.R6 // bits of required fields
	dFull  = asm.R7 // the end of the records
	dHead  = asm.R8 // a header, as loaded; then a value
	dSize  = asm.R9
	dTemp  = asm.R10
	dNext  = asm.R11 // the op that is expected after leaving
)

// What decode code returns.
const (
	decodeLeft = iota // before a field that is not for it
	decodeStop        // behind the STOP
)

// records is the offset of the records from the block.
const records = enter.Words * 8

// decodeProc is the code of one procedure while it is made.
type decodeProc struct {
	asm.Machine
	prog *plan.Program
	proc *plan.Proc
	opts engine.DecodeOptions

	worth   []bool      // by op, and the end
	row     bool        // structs of lists are read in a row
	entries []asm.Label // where Go enters, by op
	expects []asm.Label // the place that expects the op, and that behind the last

	find, short, leave, stop asm.Label
	aside                    []func() // code that is seldom run, and follows the rest
}

// emit makes the code of the procedure.
func (d *decodeProc) emit() {
	n := len(d.proc.Ops)
	d.find, d.short, d.leave, d.stop = d.Label(), d.Label(), d.Label(), d.Label()
	for range n + 1 {
		d.entries = append(d.entries, d.Label())
		d.expects = append(d.expects, d.Label())
	}
	for k := range n {
		if d.worth[k] || k == 0 && d.row {
			d.entry(k)
		}
	}
	for k := 0; k < n; {
		d.Bind(d.expects[k])
		if !d.simple(&d.proc.Ops[k]) {
			d.expectOther(k)
			k++
			continue
		}
		end := d.segment(k)
		d.expectSegment(k, end)
		for k++; k < end; k++ {
			d.expectAside(k)
		}
	}
	d.expectStop()
	d.lookUp()
	for len(d.aside) > 0 {
		f := d.aside[0]
		d.aside = d.aside[1:]
		f()
	}
	d.leaving()
}

// entry starts where op k is expected.
func (d *decodeProc) entry(k int) {
	d.Bind(d.entries[k])
	d.Load(asm.W64, dEnd, dBlock, 8*interp.Length)
	d.Add(dEnd, dEnd, dIn)
	d.Mov(dAt, dIn)
	d.AddImm(dNote, dBlock, records)
	d.AddImm(dFull, dBlock, records+int32(interp.Records*mem.Size[interp.Record]()))
	if d.proc.Required > 0 {
		d.Load(asm.W64, dSeen, dBlock, 8*interp.Seen)
	}
	d.Jump(d.expects[k])
}

// leaving stores the state for Go.
func (d *decodeProc) leaving() {
	d.Bind(d.leave)
	d.Store(asm.W64, dBlock, 8*interp.Next, dNext)
	d.storeState()
	d.Exit(decodeLeft)
	d.stopping()
}

// stopping goes on behind the STOP: with the next struct of a row, or to Go.
func (d *decodeProc) stopping() {
	d.Bind(d.stop)
	d.AddImm(dAt, dAt, 1)
	if d.row {
		last := d.Label()
		if d.proc.Required > 0 {
			d.Imm(dTemp, math.MaxUint64>>(64-d.proc.Required))
			d.Branch(asm.NE, dSeen, dTemp, last)
		}
		d.Load(asm.W64, dTemp, dBlock, 8*interp.Count)
		d.AddImm(dTemp, dTemp, -1)
		d.Store(asm.W64, dBlock, 8*interp.Count, dTemp)
		d.BranchImm(asm.EQ, dTemp, 0, last)
		d.Load(asm.W64, dTemp, dBlock, 8*interp.Elem)
		d.AddImm(dTemp, dTemp, int32(d.proc.Memory))
		d.Store(asm.W64, dBlock, 8*interp.Elem, dTemp)
		d.AddImm(dBase, dBase, int32(d.proc.Memory))
		if d.proc.Required > 0 {
			d.Imm(dSeen, 0)
		}
		d.Jump(d.expects[0])
		d.Bind(last)
	}
	d.storeState()
	d.Exit(decodeStop)
}

// where stores the first word of a record: the place at off in the struct at hand.
func (d *decodeProc) where(off uint32) {
	if !d.row {
		d.StoreImm(asm.W32, dNote, 0, uint64(off))
		return
	}
	d.Load(asm.W32, dTemp, dBlock, 8*interp.Elem)
	d.AddImm(dTemp, dTemp, int32(off))
	d.Store(asm.W32, dNote, 0, dTemp)
}

// storeState stores what code tells Go however it leaves.
func (d *decodeProc) storeState() {
	d.Sub(dTemp, dAt, dIn)
	d.Store(asm.W64, dBlock, 8*interp.Taken, dTemp)
	d.Sub(dTemp, dNote, dBlock)
	d.AddImm(dTemp, dTemp, -records)
	d.Store(asm.W64, dBlock, 8*interp.Noted, dTemp)
	if d.proc.Required > 0 {
		d.Store(asm.W64, dBlock, 8*interp.Seen, dSeen)
	}
}

// leaveAt leaves before the field of op k.
func (d *decodeProc) leaveAt(k int) {
	d.Imm(dNext, uint64(k))
	d.Jump(d.leave)
}

// loadHead loads the header that starts off bytes behind dAt, and one byte more.
func (d *decodeProc) loadHead(off int32) {
	d.Load(asm.W32, dHead, dAt, off)
	d.AndImm(dHead, dHead, 1<<24-1)
}

// head returns the op's header as loadHead loads it.
func head(op *plan.Op) int32 { return int32(bits.ReverseBytes32(op.Head << 8)) }

// needs jumps to l if fewer than n bytes are left.
func (d *decodeProc) needs(n int32, l asm.Label) {
	d.AddImm(dTemp, dAt, n)
	d.Branch(asm.HI, dTemp, dEnd, l)
}

// later has code made behind the rest and returns its label.
func (d *decodeProc) later(f func()) asm.Label {
	l := d.Label()
	d.aside = append(d.aside, func() {
		d.Bind(l)
		f()
	})
	return l
}

// shortAt is where the field of op k may be longer than the rest of the input.
func (d *decodeProc) shortAt(k int) asm.Label {
	return d.later(func() {
		d.Imm(dNext, uint64(k))
		d.Jump(d.short)
	})
}

// expectOther expects the field of an op that is the interpreter's.
func (d *decodeProc) expectOther(k int) {
	d.needs(4, d.shortAt(k))
	d.loadHead(0)
	d.BranchImm(asm.NE, dHead, head(&d.proc.Ops[k]), d.find)
	d.leaveAt(k)
}

// expectStop expects the STOP behind the last op.
func (d *decodeProc) expectStop() {
	n := len(d.proc.Ops)
	d.Bind(d.expects[n])
	d.Imm(dNext, uint64(n))
	d.Bind(d.short)
	d.Branch(asm.HS, dAt, dEnd, d.leave)
	d.Load(asm.W8, dHead, dAt, 0)
	d.BranchImm(asm.EQ, dHead, 0, d.stop)
	d.needs(4, d.leave)
	d.loadHead(0)
	d.Jump(d.find)
}

// lookUp finds the op whose header dHead holds.
func (d *decodeProc) lookUp() {
	d.Bind(d.find)
	d.BranchBits(dHead, 0xff, false, d.stop)
	order := make([]int, len(d.proc.Ops))
	for k := range order {
		order[k] = k
	}
	sort.Slice(order, func(i, j int) bool { return head(&d.proc.Ops[order[i]]) < head(&d.proc.Ops[order[j]]) })
	d.tree(order)
}

func (d *decodeProc) tree(order []int) {
	const few = 3
	if len(order) <= few {
		for _, k := range order {
			d.BranchImm(asm.EQ, dHead, head(&d.proc.Ops[k]), d.found(k))
		}
		d.leaveAt(0)
		return
	}
	mid := len(order) / 2
	below := d.Label()
	d.BranchImm(asm.LO, dHead, head(&d.proc.Ops[order[mid]]), below)
	d.tree(order[mid:])
	d.Bind(below)
	d.tree(order[:mid])
}

// found is where the field of op k stands at dAt, unexpectedly.
func (d *decodeProc) found(k int) asm.Label {
	op := &d.proc.Ops[k]
	return d.later(func() {
		if d.simple(op) {
			out := d.later(func() { d.leaveAt(k) })
			d.needs(least(op), out) // else the place that expects it would search again
			d.Jump(d.expects[k])
			return
		}
		d.leaveAt(k)
	})
}

// least returns the bytes that the field takes at least: header, and value or length.
func least(op *plan.Op) int32 { return int32(op.Fixed) }

// longest is the number of ops of a segment. After a field that is missing,
// ops are read one by one to the end of their segment.
const longest = 8

// segment returns the op behind the segment that starts with op k.
func (d *decodeProc) segment(k int) int {
	ops := d.proc.Ops
	for stop := min(k+longest, len(ops)); k < stop && d.simple(&ops[k]); k++ {
		if ops[k].Code.Width() == 0 {
			return k + 1
		}
	}
	return k
}

// fixed returns the bytes that the fields of the ops from k to end take at least.
func (d *decodeProc) fixed(k, end int) int32 {
	n := int32(0)
	for i := k; i < end; i++ {
		n += least(&d.proc.Ops[i])
	}
	return n
}

// expectSegment expects the fields of the ops from k to end; if the input may be too
// short for them, only the first. It ends where op end is expected.
func (d *decodeProc) expectSegment(k, end int) {
	short := d.shortAt(k)
	if end > k+1 {
		short = d.later(func() { d.alone(k) })
	}
	d.needs(d.fixed(k, end), short)
	d.fields(k, end)
}

// expectAside makes the place that expects op k in the middle of a segment.
func (d *decodeProc) expectAside(k int) {
	d.aside = append(d.aside, func() {
		d.Bind(d.expects[k])
		d.alone(k)
	})
}

// alone reads the field of op k.
func (d *decodeProc) alone(k int) {
	d.needs(least(&d.proc.Ops[k]), d.shortAt(k))
	d.fields(k, k+1)
	d.Jump(d.expects[k+1])
}

// fields reads the fields of the ops from k to end, whose fixed parts lie in the input.
func (d *decodeProc) fields(k, end int) {
	off, seen := int32(0), uint64(0)
	for i := k; i < end; i++ {
		op := &d.proc.Ops[i]
		before, had := off, seen
		d.loadHead(off)
		d.BranchImm(asm.NE, dHead, head(op), d.missed(before, had))
		out := d.later(func() {
			d.advance(before, had)
			d.leaveAt(i)
		})
		if op.Bit >= 0 {
			seen |= 1 << op.Bit
		}
		switch {
		case op.Code == plan.List:
			d.list(op, i, off, out)
		case op.Code.Width() == 0:
			d.text(op, i, off, out)
		case op.Flags&plan.Deref != 0:
			d.note(i, off, out)
		default:
			d.number(op, off+3)
		}
		off += least(op)
	}
	d.advance(off, seen)
	if d.proc.Ops[end-1].Code.Width() == 0 {
		d.Add(dAt, dAt, dSize)
	}
}

// missed searches for the field that starts at off.
func (d *decodeProc) missed(off int32, seen uint64) asm.Label {
	if off == 0 {
		return d.find
	}
	return d.later(func() {
		d.advance(off, seen)
		d.Jump(d.find)
	})
}

// advance steps over off bytes with the required fields in them.
func (d *decodeProc) advance(off int32, seen uint64) {
	if off != 0 {
		d.AddImm(dAt, dAt, off)
	}
	switch {
	case seen == 0:
	case seen <= math.MaxInt32:
		d.OrImm(dSeen, dSeen, int32(seen))
	default:
		d.Imm(dTemp, seen)
		d.Or(dSeen, dSeen, dTemp)
	}
}

// number stores the value that starts at off.
func (d *decodeProc) number(op *plan.Op, off int32) {
	to := int32(op.Off)
	switch op.Code {
	case plan.Bool:
		d.Load(asm.W8, dHead, dAt, off)
		one := d.Label()
		d.BranchImm(asm.LS, dHead, 1, one)
		d.Imm(dHead, 1)
		d.Bind(one)
		d.Store(asm.W8, dBase, to, dHead)
	case plan.Enum64:
		d.LoadBE(asm.W32, dHead, dAt, off)
		d.SignExtend(asm.W32, dHead, dHead)
		d.Store(asm.W64, dBase, to, dHead)
	case plan.UUID:
		d.CopyConst(dBase, to, dAt, off, op.Code.Width())
	default:
		w := asm.Width(op.Code.Width())
		d.LoadBE(w, dHead, dAt, off)
		d.Store(w, dBase, to, dHead)
	}
}

// text notes the text whose header starts at off, and leaves its length in dSize.
func (d *decodeProc) text(op *plan.Op, k int, off int32, out asm.Label) {
	d.LoadBE(asm.W32, dSize, dAt, off+3)
	d.Sub(dTemp, dEnd, dAt)
	d.AddImm(dTemp, dTemp, -(off + 7))
	d.Branch(asm.HI, dSize, dTemp, out)
	if op.Flags&plan.Deref != 0 || op.Flags&plan.Alias != 0 && !d.opts.Alias {
		d.note(k, off, out)
		return
	}
	where := op.Off
	if op.Code == plan.Binary {
		where |= interp.BinaryText
	}
	d.Branch(asm.HS, dNote, dFull, out)
	d.where(where)
	d.Store(asm.W32, dNote, 4, dSize)
	d.place(off + 7)
}

// list notes the list of numbers whose header starts at off, and leaves its
// length in bytes in dSize.
func (d *decodeProc) list(op *plan.Op, k int, off int32, out asm.Label) {
	elem := &d.prog.Procs[op.A].Ops[0]
	d.Load(asm.W8, dSize, dAt, off+3)
	d.BranchImm(asm.NE, dSize, int32(elem.Wire), out)
	d.LoadBE(asm.W32, dSize, dAt, off+4)
	if d.opts.MaxContainer < math.MaxInt32 {
		d.BranchImm(asm.HI, dSize, int32(d.opts.MaxContainer), out)
	}
	if w := elem.Code.Width(); w > 1 {
		d.ShlImm(dSize, dSize, uint8(bits.TrailingZeros(uint(w))))
	}
	d.Sub(dTemp, dEnd, dAt)
	d.AddImm(dTemp, dTemp, -(off + 8))
	d.Branch(asm.HI, dSize, dTemp, out)
	d.note(k, off, out)
}

// note notes that the field of op k at off is whole.
func (d *decodeProc) note(k int, off int32, out asm.Label) {
	d.Branch(asm.HS, dNote, dFull, out)
	d.where(0)
	d.StoreImm(asm.W32, dNote, 4, uint64(interp.Later|uint32(k)))
	d.place(off + 3)
}

// place completes a record: its value starts at off.
func (d *decodeProc) place(off int32) {
	d.Sub(dTemp, dAt, dIn)
	d.AddImm(dTemp, dTemp, off)
	d.placed()
}

// placed completes a record whose value starts dTemp bytes behind the start of the window.
func (d *decodeProc) placed() {
	d.Store(asm.W64, dNote, 8, dTemp)
	d.AddImm(dNote, dNote, int32(mem.Size[interp.Record]()))
}
