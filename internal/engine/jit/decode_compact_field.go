package jit

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file makes the code that reads one field in the compact protocol, in a segment or as a single.

// compactField is what making the code of one field needs.
type compactField struct {
	op    *plan.Op
	index int
	head  int32     // where the header is, from dAt
	off   int32     // where the value is, if it is not in the header
	out   asm.Label // leaves before the field
	short func()    // goes on behind the field where the rest of the segment may not be there, or nil
	rest  int32     // the least bytes from dAt to the end of the segment
}

// fields reads the fields of the ops from k to end, whose least bytes lie in the input.
func (d *compactProc) fields(k, end int) {
	off, seen, rest := int32(0), uint64(0), d.least(k, end)
	for i := k; i < end; i++ {
		op := &d.proc.Ops[i]
		before, had, last := off, seen, d.last(i)
		f := compactField{op: op, index: i, head: before, off: off + d.size(i), rest: rest}
		f.out = d.later(func() {
			d.advance(before, had)
			d.Imm(dLast, uint64(int64(last)))
			d.leaveAs(i)
		})
		d.header(&f, d.later(func() {
			d.advance(before, had)
			d.search(i)
		}))
		if op.Bit >= 0 {
			seen |= 1 << op.Bit
		}
		off = f.off + d.leastValue(op)
		if after, done := off, seen; i+1 < end {
			f.short = func() {
				d.advance(after, done)
				d.Jump(d.expects[i+1])
			}
		}
		d.field(&f)
	}
	d.advance(off, seen)
	if d.proc.Ops[end-1].Code.Width() == 0 {
		d.Add(dAt, dAt, dSize)
	}
}

// single reads the field of op k, whose header of one byte stands at dAt.
func (d *compactProc) single(k int) {
	op := &d.proc.Ops[k]
	d.Bind(d.singles[k])
	f := compactField{op: op, index: k, off: 1, out: d.later(func() { d.leaveAs(k) })}
	d.needs(1+d.leastValue(op), f.out)
	if op.Code == plan.Bool {
		d.Load(asm.W8, dHead, dAt, 0)
		d.AndImm(dHead, dHead, 1) // a true is 1, a false 2
	}
	d.field(&f)
	seen := uint64(0)
	if op.Bit >= 0 {
		seen = 1 << op.Bit
	}
	d.advance(1+d.leastValue(op), seen)
	if op.Code.Width() == 0 {
		d.Add(dAt, dAt, dSize)
	}
	d.Jump(d.expects[k+1])
}

// header compares the header of a field with the one that is expected. It leaves a bool's value in dHead.
func (d *compactProc) header(f *compactField, missed asm.Label) {
	head := d.head(f.index)
	var word [4]byte
	copy(word[:], head)
	want := int32(binary.LittleEndian.Uint32(word[:]))
	switch len(head) {
	case 1:
		d.Load(asm.W8, dHead, dAt, f.head)
	case 2:
		d.Load(asm.W16, dHead, dAt, f.head)
	default: // such a field is the first of a segment, which has four bytes
		d.Load(asm.W32, dHead, dAt, f.head)
		if len(head) == 3 {
			d.AndImm(dHead, dHead, 1<<24-1)
		}
	}
	if f.op.Code != plan.Bool {
		d.BranchImm(asm.NE, dHead, want, missed)
		return
	}
	d.AddImm(dHead, dHead, -want)
	d.BranchImm(asm.HI, dHead, 1, missed)
	d.XorImm(dHead, dHead, 1)
}

// field reads the value of a field. It leaves the bytes of a text or list in dSize.
func (d *compactProc) field(f *compactField) {
	op := f.op
	boxed := op.Flags&plan.Deref != 0
	switch {
	case op.Code == plan.List:
		d.list(f)
	case op.Code.Width() == 0:
		d.text(f)
	case op.Code == plan.Bool && boxed:
		d.noteAt(f, f.head)
	case op.Code == plan.Bool:
		d.Store(asm.W8, dBase, int32(op.Off), dHead)
	case varintBits(op.Code) != 0:
		d.number(f)
	case boxed:
		d.noteAt(f, f.off)
	case op.Code == plan.Double && d.opts.Compact == compact.Apache:
		d.Load(asm.W64, dHead, dAt, f.off)
		d.Store(asm.W64, dBase, int32(op.Off), dHead)
	default: // as in the binary protocol
		d.decodeProc.number(op, f.off)
	}
}

// number reads a varint.
func (d *compactProc) number(f *compactField) {
	boxed := f.op.Flags&plan.Deref != 0
	done := d.Label()
	store := func() {
		w := asm.Width(f.op.Code.Memory())
		d.Store(w, dBase, int32(f.op.Off), dHead)
	}
	long := d.later(func() {
		d.varints.call(dAt, f.off, varintBits(f.op.Code))
		d.BranchImm(asm.EQ, dSize, 0, f.out)
		if boxed {
			d.noteAt(f, f.off)
		}
		d.AddImm(dSize, dSize, -1)
		d.Add(dAt, dAt, dSize)
		if f.short != nil {
			d.needs(f.rest, d.later(func() {
				if !boxed {
					store()
				}
				f.short()
			}))
		}
		if !boxed {
			store()
		}
		d.Jump(done)
	})
	d.Load(asm.W8, dHead, dAt, f.off)
	d.BranchBits(dHead, 0x80, true, long)
	if boxed {
		d.noteAt(f, f.off)
	} else {
		zagzig(d.Machine, dHead, dTemp)
		store()
	}
	d.Bind(done)
}

// noteAt notes a field for Go, whose value starts off bytes behind dAt.
func (d *compactProc) noteAt(f *compactField, off int32) {
	d.room(f)
	d.where(0)
	d.StoreImm(asm.W32, dNote, 4, uint64(interp.Later|uint32(f.index)))
	d.place(off)
}

// room leaves if there is no room for another record.
func (d *compactProc) room(f *compactField) {
	d.AddImm(dTemp, dBlock, records+int32(interp.Records*mem.Size[interp.Record]()))
	d.Branch(asm.HS, dNote, dTemp, f.out)
}

// measured has a length or size read into dSize: first reads one byte of it, and jumps to long for
// one that stands in more, at off from dAt. Then rest is made for both: for a longer one dLink
// says how many bytes there are beyond the first.
func (d *compactProc) measured(f *compactField, off int32, first func(long asm.Label), rest func(longer bool)) {
	done := d.Label()
	long := d.later(func() {
		d.varints.call(dAt, off, lengthBits)
		d.BranchImm(asm.EQ, dSize, 0, f.out)
		d.AddImm(dLink, dSize, -1)
		d.Mov(dSize, dHead)
		rest(true)
		d.Add(dAt, dAt, dLink)
		d.Jump(done)
	})
	first(long)
	rest(false)
	d.Bind(done)
}

// fits leaves if dSize bytes from off behind dAt, or by dLink further, are not there.
func (d *compactProc) fits(f *compactField, off int32, longer bool) {
	d.Sub(dTemp, dEnd, dAt)
	d.AddImm(dTemp, dTemp, -off)
	if longer {
		d.Sub(dTemp, dTemp, dLink)
	}
	d.Branch(asm.HI, dSize, dTemp, f.out)
}

// text notes a text.
func (d *compactProc) text(f *compactField) {
	op := f.op
	d.measured(f, f.off, func(long asm.Label) {
		d.Load(asm.W8, dSize, dAt, f.off)
		d.BranchBits(dSize, 0x80, true, long)
	}, func(longer bool) {
		d.fits(f, f.off+1, longer)
		if op.Flags&plan.Deref != 0 || op.Flags&plan.Alias != 0 && !d.opts.Alias {
			d.noteAt(f, f.off)
			return
		}
		where := op.Off
		if op.Code == plan.Binary {
			where |= interp.BinaryText
		}
		d.room(f)
		d.where(where)
		d.Store(asm.W32, dNote, 4, dSize)
		if longer {
			d.Sub(dTemp, dAt, dIn)
			d.AddImm(dTemp, dTemp, f.off+1)
			d.Add(dTemp, dTemp, dLink)
			d.placed()
		} else {
			d.place(f.off + 1)
		}
	})
}

// list notes a list of numbers of one size.
func (d *compactProc) list(f *compactField) {
	elem := &d.prog.Procs[f.op.A].Ops[0]
	code := int32(d.opts.Compact.AppendField(nil, elem.Wire, 1, 0)[0] & 15)
	d.Load(asm.W8, dSize, dAt, f.off)
	d.AndImm(dTemp, dSize, 15)
	d.BranchImm(asm.NE, dTemp, code, f.out)
	d.measured(f, f.off+1, func(long asm.Label) {
		d.ShrImm(dSize, dSize, 4)
		d.BranchImm(asm.EQ, dSize, 15, d.later(func() {
			d.needs(f.off+2, f.out)
			d.Jump(long)
		}))
	}, func(longer bool) {
		if d.opts.MaxContainer < math.MaxInt32 {
			d.BranchImm(asm.HI, dSize, int32(d.opts.MaxContainer), f.out)
		}
		if w := elem.Code.Width(); w > 1 {
			d.ShlImm(dSize, dSize, uint8(bits.TrailingZeros(uint(w))))
		}
		if longer {
			d.AddImm(dLink, dLink, 1) // the length stands behind a byte
		}
		d.fits(f, f.off+1, longer)
		d.noteAt(f, f.off)
	})
}
