package jit

import (
	"math"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file generates the code of lists and sets.

// list writes the list whose slice lies at off from the base, with op's header, below a unit's field.
func (g *encodeGenerator) list(op *plan.Op, off int32, x exits) {
	if g.sizing {
		if g.opts.Compact == 0 {
			g.m.AddImm(rOut, rOut, 5)
		}
		g.sizeList(op, off)
		return
	}
	g.down()
	elem := &g.prog.Procs[op.A].Ops[0]
	g.listHeader(op, elem, off, x) // rSrc has the elements, rLen their number
	done := g.m.Label()
	g.m.BranchImm(asm.EQ, rLen, 0, done)
	switch {
	case elem.Code.Width() > 0 && g.opts.Compact != 0:
		g.compactNumbers(elem.Code, x, false)
	case elem.Code.Width() > 0:
		g.numbers(elem.Code, x)
	case elem.Code == plan.String, elem.Code == plan.Binary:
		g.texts(elem, x)
	default:
		g.elements(op, elem, x)
	}
	g.m.Bind(done)
	g.up()
}

// listHeader loads a slice, checks it, and writes the headers of field and list.
func (g *encodeGenerator) listHeader(op, elem *plan.Op, off int32, x exits) {
	m := g.m
	m.Load(asm.W64, rLen, rBase, off+8)
	m.Load(asm.W64, rSrc, rBase, off)
	g.checkSlice()
	if g.opts.Compact != 0 {
		g.compactListHeader(op, elem, x)
		return
	}
	var r run
	g.header(&r, op, 0)
	r.bytes(byte(elem.Wire))
	m.AddImm(rNew, rOut, r.size+4)
	m.Branch(asm.HI, rNew, rEnd, x.room)
	g.constant(0, r.pieces[0].text, r.size+4)
	m.StoreBE(asm.W32, rOut, r.size, rLen)
	m.Mov(rOut, rNew)
}

// checkSlice leaves if rLen cannot be the length of a slice at rSrc.
func (g *encodeGenerator) checkSlice() {
	usable := g.m.Label()
	g.m.BranchImm(asm.HI, rLen, math.MaxInt32, g.fault)
	g.m.BranchImm(asm.NE, rSrc, 0, usable)
	g.m.BranchImm(asm.NE, rLen, 0, g.fault)
	g.m.Bind(usable)
}

// shifts has the logarithms of the widths of numbers.
var shifts = map[int]uint8{1: 0, 2: 1, 4: 2, 8: 3, 16: 4}

// numbers writes rLen numbers, at least one, that start at rSrc, below a unit's field.
func (g *encodeGenerator) numbers(c plan.Code, x exits) {
	m := g.m
	m.ShlImm(rNew, rLen, shifts[c.Width()])
	m.Add(rNew, rNew, rOut)
	m.Branch(asm.HI, rNew, rEnd, x.room)
	m.Mov(rDst, rOut)
	g.copyNumbers(c)
	m.Mov(rOut, rNew)
}

// copyNumbers writes rLen numbers that start at rSrc to rDst, where there is room.
func (g *encodeGenerator) copyNumbers(c plan.Code) {
	m := g.m
	switch c {
	case plan.Enum64:
		loop := m.Label()
		m.Bind(loop)
		g.number(c, rSrc, 0, rDst, 0)
		m.AddImm(rSrc, rSrc, 8)
		m.AddImm(rDst, rDst, 4)
		m.AddImm(rLen, rLen, -1)
		m.BranchImm(asm.NE, rLen, 0, loop)
	case plan.Bool, plan.I8:
		m.Copy(rDst, rSrc, rLen)
	case plan.Double:
		if g.opts.Compact != compact.Apache {
			m.SwapCopy(asm.W64, rDst, rSrc, rLen)
			return
		}
		m.ShlImm(rLen, rLen, 3)
		m.Copy(rDst, rSrc, rLen)
	case plan.UUID:
		m.ShlImm(rLen, rLen, 4)
		m.Copy(rDst, rSrc, rLen)
	default:
		m.SwapCopy(asm.Width(c.Width()), rDst, rSrc, rLen)
	}
}

// texts writes rLen strings or binaries, at least one, whose headers start at rSrc.
func (g *encodeGenerator) texts(elem *plan.Op, x exits) {
	m := g.m
	loop := m.Label()
	stride := int32(elem.Code.Memory())
	m.Mov(rA, rSrc)
	m.Mov(rC, rLen)
	m.Bind(loop)
	r := run{text: true}
	g.run(&r, rA, x)
	m.AddImm(rA, rA, stride)
	m.AddImm(rC, rC, -1)
	m.BranchImm(asm.NE, rC, 0, loop)
}

// elements writes rLen structs or lists, at least one, that start at rSrc.
func (g *encodeGenerator) elements(op, elem *plan.Op, x exits) {
	m := g.m
	loop := m.Label()
	slots := g.takeSlots(3) // the base, the next element, how many remain
	m.Store(asm.W64, rFrame, slots, rBase)
	m.Store(asm.W64, rFrame, slots+8, rSrc)
	m.Bind(loop)
	m.Store(asm.W64, rFrame, slots+16, rLen)
	m.Mov(rBase, rSrc)
	if g.sizing {
		g.chargeOps(int32(g.weigh(int(elem.A))) + 1)
	}
	g.value(elem, x)
	m.Load(asm.W64, rSrc, rFrame, slots+8)
	m.AddImm(rSrc, rSrc, int32(op.Size))
	m.Store(asm.W64, rFrame, slots+8, rSrc)
	m.Load(asm.W64, rLen, rFrame, slots+16)
	m.AddImm(rLen, rLen, -1)
	m.BranchImm(asm.NE, rLen, 0, loop)
	m.Load(asm.W64, rBase, rFrame, slots)
	g.freeSlots(3)
}

// value writes the element at the base.
func (g *encodeGenerator) value(elem *plan.Op, x exits) {
	switch elem.Code {
	case plan.Struct:
		g.structure(int(elem.A), 0)
	case plan.Pointer:
		null, done := g.m.Label(), g.m.Label()
		g.m.Load(asm.W64, rBase, rBase, 0)
		g.m.BranchImm(asm.EQ, rBase, 0, null)
		g.structure(int(elem.A), 0)
		g.m.Jump(done)
		g.m.Bind(null)
		var r run
		r.stop()
		g.run(&r, rBase, x)
		g.m.Bind(done)
	case plan.List:
		g.list(elem, 0, x)
	}
}

// unitList writes a list that is a unit's field. It can be entered again at each element.
func (g *encodeGenerator) unitList(k int, op *plan.Op, next asm.Label) {
	m := g.m
	g.down()
	elem := &g.prog.Procs[op.A].Ops[0]
	off := int32(op.Off)
	if op.Flags&plan.Optional != 0 {
		m.BranchMemImm(asm.W64, asm.EQ, rBase, off, 0, next)
	}
	x := g.unitExits(k, k+1)
	g.listHeader(op, elem, off, x)
	written := m.Label()
	m.BranchImm(asm.EQ, rLen, 0, written)
	m.Store(asm.W64, rBlock, 8*wordCount, rLen)

	// Behind an element, and here from the driver: rSrc and rLen are loaded anew, and must be what they were.
	again, loop, start := m.Label(), m.Label(), m.Label()
	g.mark(k, again)
	m.StoreImm(asm.W64, rBlock, 8*wordIndex, 0)
	m.Imm(rA, 0)
	m.Jump(start)
	m.Bind(again)
	m.Load(asm.W64, rA, rBlock, 8*wordIndex)
	m.BranchMem(asm.HS, rA, rBlock, 8*wordCount, written)
	m.Load(asm.W64, rLen, rBase, off+8)
	m.BranchMem(asm.NE, rLen, rBlock, 8*wordCount, g.fault)
	m.Load(asm.W64, rSrc, rBase, off)
	m.BranchImm(asm.EQ, rSrc, 0, g.fault)
	m.Bind(start) // rA is the index
	switch {
	case g.opts.Compact != 0 && compactVaries(elem.Code):
		m.Sub(rLen, rLen, rA)
		m.MulImm(rA, rA, int32(op.Size))
		m.Add(rSrc, rSrc, rA)
		g.compactNumbers(elem.Code, exits{g.room, g.assist}, true)
	case elem.Code.Width() > 0:
		g.unitNumbers(elem.Code, written)
	case elem.Code == plan.String || elem.Code == plan.Binary:
		m.Mov(rC, rA)
		m.MulImm(rA, rA, int32(op.Size))
		m.Add(rA, rA, rSrc)
		m.Bind(loop)
		g.run(&run{text: true}, rA, exits{g.room, g.assist})
		m.Store(asm.W64, rBlock, 8*wordOut, rOut)
		m.AddImm(rA, rA, int32(op.Size))
		m.AddImm(rC, rC, 1)
		m.Store(asm.W64, rBlock, 8*wordIndex, rC)
		m.BranchMem(asm.LO, rC, rBlock, 8*wordCount, loop)
	default:
		m.Sub(rLen, rLen, rA)
		m.MulImm(rA, rA, int32(op.Size))
		m.Add(rSrc, rSrc, rA)
		slots := g.takeSlots(3) // the base, the next element, how many remain
		m.Store(asm.W64, rFrame, slots, rBase)
		m.Store(asm.W64, rFrame, slots+8, rSrc)
		m.Bind(loop)
		m.Store(asm.W64, rFrame, slots+16, rLen)
		m.Mov(rBase, rSrc)
		g.value(elem, exits{g.room, g.assist})
		m.Store(asm.W64, rBlock, 8*wordOut, rOut)
		m.Load(asm.W64, rB, rBlock, 8*wordIndex)
		m.AddImm(rB, rB, 1)
		m.Store(asm.W64, rBlock, 8*wordIndex, rB)
		m.Load(asm.W64, rSrc, rFrame, slots+8)
		m.AddImm(rSrc, rSrc, int32(op.Size))
		m.Store(asm.W64, rFrame, slots+8, rSrc)
		m.Load(asm.W64, rLen, rFrame, slots+16)
		m.AddImm(rLen, rLen, -1)
		m.BranchImm(asm.NE, rLen, 0, loop)
		m.Load(asm.W64, rBase, rFrame, slots)
		g.freeSlots(3)
	}
	m.Bind(written)
	g.keepLast(op)
	g.up()
}

// unitNumbers writes the numbers from the index rA of the rLen numbers at rSrc: as many as there
// is room for, and then it leaves for more.
func (g *encodeGenerator) unitNumbers(c plan.Code, next asm.Label) {
	m := g.m
	stride, shift := shifts[int(c.Memory())], shifts[c.Width()]
	fits := m.Label()
	m.Sub(rLen, rLen, rA)
	m.ShlImm(rB, rA, stride)
	m.Add(rSrc, rSrc, rB)
	m.Sub(rB, rEnd, rOut)
	m.ShrImm(rB, rB, shift)
	m.Branch(asm.LS, rLen, rB, fits)
	m.Mov(rLen, rB)
	m.Bind(fits) // rLen numbers fit
	m.Add(rA, rA, rLen)
	m.Mov(rDst, rOut)
	full := m.Label()
	m.BranchImm(asm.EQ, rLen, 0, full)
	m.ShlImm(rNew, rLen, shift)
	m.Add(rNew, rNew, rOut)
	g.copyNumbers(c)
	m.Mov(rOut, rNew)
	m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	m.Store(asm.W64, rBlock, 8*wordIndex, rA)
	m.BranchMem(asm.EQ, rA, rBlock, 8*wordCount, next)
	m.Bind(full) // what remains decides how far the buffer grows
	m.Load(asm.W64, rNew, rBlock, 8*wordCount)
	m.Sub(rNew, rNew, rA)
	m.ShlImm(rNew, rNew, shift)
	m.Add(rNew, rNew, rOut)
	m.Jump(g.room)
}
