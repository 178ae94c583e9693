package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file makes the subroutines that read varints of more than a byte, and
// the code that reads lists of varints.

// The words of the block that code has for itself.
const (
	scratch = 8 * interp.Places // two words: the last bytes of the input
	saved   = scratch + 16
)

// lengthBits is the number of bits of a length or size.
const lengthBits = 31

// varintReader makes the subroutines of one program.
type varintReader struct {
	asm.Machine
	labels [65]asm.Label // by the number of bits; -1 for those that nobody has called
}

func newVarintReader(m asm.Machine) *varintReader {
	v := &varintReader{Machine: m}
	for i := range v.labels {
		v.labels[i] = -1
	}
	return v
}

// call reads the varint at off from the register, of which the first byte is there. It
// leaves its length in dSize, 0 if it is cut, too long, or has more than the
// bits; and in dHead the number, which is signed unless the bits are lengthBits. It changes dTemp and dLink.
func (v *varintReader) call(at asm.Reg, off int32, bits int) {
	if v.labels[bits] < 0 {
		v.labels[bits] = v.Label()
	}
	back := v.Label()
	v.AddImm(dTemp, at, off)
	v.Addr(dLink, back)
	v.Jump(v.labels[bits])
	v.Bind(back)
}

// emit makes the subroutines that were called.
func (v *varintReader) emit() {
	for bits, l := range v.labels {
		if l >= 0 {
			v.Bind(l)
			v.reader(bits)
		}
	}
}

const (
	sevens = 0x7f7f7f7f7f7f7f7f
	// mostShort is the longest varint of up to 32 bits, in bytes, mostLong that of 64.
	mostShort, mostLong = 5, 10
)

// reader reads a varint of up to so many bits at dTemp.
func (v *varintReader) reader(bits int) {
	wide, few, bad, long := v.Label(), v.Label(), v.Label(), v.Label()
	v.Sub(dSize, dEnd, dTemp)
	v.BranchImm(asm.LO, dSize, mostLong, few)
	v.Bind(wide)
	v.Load(asm.W64, dHead, dTemp, 0)
	v.Imm(dSize, sevens)
	v.Or(dSize, dSize, dHead)
	v.XorImm(dSize, dSize, -1) // the top bits of the bytes that end a varint
	if bits == 64 {
		v.Store(asm.W64, dBlock, saved, dTemp)
		v.BranchImm(asm.EQ, dSize, 0, long)
	} else {
		v.BranchImm(asm.EQ, dSize, 0, bad)
	}
	v.AddImm(dTemp, dSize, -1)
	v.Xor(dTemp, dTemp, dSize)
	v.And(dHead, dHead, dTemp)
	v.TrailingZeros(dSize, dSize)
	v.ShrImm(dSize, dSize, 3)
	v.AddImm(dSize, dSize, 1)
	if bits < 64 {
		v.BranchImm(asm.HI, dSize, mostShort, bad)
	}
	v.gather()
	if bits < 64 {
		v.ShrImm(dTemp, dHead, uint8(bits))
		v.BranchImm(asm.NE, dTemp, 0, bad)
	}
	v.result(bits)
	if bits == 64 {
		v.Bind(long)
		v.long(bad)
	}
	v.Bind(few)
	v.few(wide)
	v.Bind(bad)
	v.Imm(dSize, 0)
	v.JumpReg(dLink)
}

// zagzig makes a number of the unsigned one that stands for it in a varint.
func zagzig(m asm.Machine, r, temp asm.Reg) {
	m.ShlImm(temp, r, 63)
	m.SarImm(temp, temp, 63)
	m.ShrImm(r, r, 1)
	m.Xor(r, r, temp)
}

// result returns.
func (v *varintReader) result(bits int) {
	if bits != lengthBits {
		zagzig(v.Machine, dHead, dTemp)
	}
	v.JumpReg(dLink)
}

// few copies the last bytes of the input to where bytes behind them make a cut varint one that is too long.
func (v *varintReader) few(wide asm.Label) {
	v.StoreImm(asm.W64, dBlock, scratch, 1<<64-1)
	v.StoreImm(asm.W64, dBlock, scratch+8, 1<<64-1)
	v.AddImm(dHead, dBlock, scratch)
	v.Copy(dHead, dTemp, dSize)
	v.AddImm(dTemp, dBlock, scratch)
	v.Jump(wide)
}

// long reads a varint of 9 or 10 bytes, of which dHead has 8.
func (v *varintReader) long(bad asm.Label) {
	nine := v.Label()
	v.gather()
	v.Load(asm.W64, dTemp, dBlock, saved)
	v.Load(asm.W8, dSize, dTemp, 8)
	v.BranchBits(dSize, 0x80, false, nine)
	v.Load(asm.W8, dTemp, dTemp, 9)
	v.BranchImm(asm.HI, dTemp, 1, bad)
	v.ShlImm(dTemp, dTemp, 63)
	v.Or(dHead, dHead, dTemp)
	v.AndImm(dSize, dSize, 0x7f)
	v.ShlImm(dSize, dSize, 56)
	v.Or(dHead, dHead, dSize)
	v.Imm(dSize, 10)
	v.result(64)
	v.Bind(nine)
	v.ShlImm(dSize, dSize, 56)
	v.Or(dHead, dHead, dSize)
	v.Imm(dSize, 9)
	v.result(64)
}

// gather puts the lower seven bits of the eight bytes of dHead together. It changes dTemp.
func (v *varintReader) gather() {
	if g, ok := v.Machine.(interface{ Gather(d, s asm.Reg) bool }); ok && g.Gather(dHead, dHead) {
		return
	}
	v.Store(asm.W64, dBlock, saved+8, dSize)
	v.Imm(dTemp, sevens)
	v.And(dHead, dHead, dTemp)
	for i, upper := range [...]uint64{0x7f007f007f007f00, 0x3fff00003fff0000, 0x0fffffff00000000} {
		v.Imm(dTemp, upper)
		v.And(dSize, dHead, dTemp)
		v.Xor(dHead, dHead, dSize)
		v.ShrImm(dSize, dSize, 1<<i)
		v.Or(dHead, dHead, dSize)
	}
	v.Load(asm.W64, dSize, dBlock, saved+8)
}

// The words of the block when a list is read.
const (
	listLeft = iota // elements to read, and what remains of them
	listRoom        // bytes of input, and those that were read
)

// mostVarints is how many elements one entry reads at most.
const mostVarints = 16 << 10

// list makes code that reads varints of the code into its memory.
func (v *varintReader) list(c plan.Code) asm.Label {
	entry, again, store, done := v.Label(), v.Label(), v.Label(), v.Label()
	left, w := asm.R5, int32(c.Memory())
	v.Bind(entry)
	v.Load(asm.W64, left, dBlock, 8*listLeft)
	v.Load(asm.W64, dEnd, dBlock, 8*listRoom)
	v.Add(dEnd, dEnd, dIn)
	v.Mov(dAt, dIn)
	long := v.Label()
	v.Bind(again)
	v.Branch(asm.HS, dAt, dEnd, done)
	v.Load(asm.W8, dHead, dAt, 0)
	v.BranchBits(dHead, 0x80, true, long)
	zagzig(v.Machine, dHead, dTemp)
	v.Bind(store)
	v.Store(asm.Width(w), dBase, 0, dHead)
	v.AddImm(dBase, dBase, w)
	v.AddImm(dAt, dAt, 1)
	v.AddImm(left, left, -1)
	v.BranchImm(asm.NE, left, 0, again)
	v.Bind(done)
	v.Store(asm.W64, dBlock, 8*listLeft, left)
	v.Sub(dAt, dAt, dIn)
	v.Store(asm.W64, dBlock, 8*listRoom, dAt)
	v.Exit(0)
	v.Bind(long)
	v.call(dAt, 0, varintBits(c))
	v.BranchImm(asm.EQ, dSize, 0, done)
	v.AddImm(dSize, dSize, -1)
	v.Add(dAt, dAt, dSize)
	v.Jump(store)
	return entry
}

// lists makes the code of the lists of varints that a program has, by the code of their elements.
func (v *varintReader) lists(prog *plan.Program, o engine.DecodeOptions) map[plan.Code]asm.Label {
	found := make(map[plan.Code]asm.Label)
	for _, p := range prog.Procs {
		for i := range p.Ops {
			op := &p.Ops[i]
			if o.Compact == 0 || op.Code != plan.List || op.Flags&plan.PointerFree == 0 {
				continue
			}
			elem := prog.Procs[op.A].Ops[0].Code
			if _, ok := found[elem]; !ok && varintBits(elem) != 0 {
				found[elem] = v.list(elem)
			}
		}
	}
	return found
}
