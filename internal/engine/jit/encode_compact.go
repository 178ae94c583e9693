package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file generates what the compact protocol writes in its own way: headers that depend on
// the field before, varints, lengths. A piece whose length varies is written where
// there is room for the longest it may have, with stores wider than itself. Where there is not, at the
// end of a buffer, it is written aside and copied, so that room is compared exactly here too.

// asideSize is the part of the stack where pieces are written aside, at its start.
const asideSize = 512

// longestCompactRun bounds a run, with what its wide stores write beyond it.
const longestCompactRun = asideSize - 64

// fieldHead is the header of a field in the compact protocol.
type fieldHead struct {
	code  byte   // of the type; of a bool, that of true, which is one below that of false
	fixed []byte // the whole header, if the field before is known
	sure  bool   // the field before is always near enough for a header of one byte
	keep  bool   // a later header needs to know whether this field was written
	long  []byte // the header where the field before is too far away
}

// compactHeads works out the headers of all fields.
func (g *encodeGenerator) compactHeads() {
	g.heads = make(map[*plan.Op]fieldHead)
	for _, p := range g.prog.Procs {
		if !p.IsStruct() {
			continue
		}
		for k := range p.Ops {
			g.heads[&p.Ops[k]] = compactHead(g.opts.Compact, p.Ops, k)
		}
		for k := range p.Ops {
			if g.heads[&p.Ops[k]].fixed != nil {
				continue
			}
			for j := k - 1; j >= 0; j-- {
				h := g.heads[&p.Ops[j]]
				h.keep = true
				g.heads[&p.Ops[j]] = h
				if p.Ops[j].Flags&conditional == 0 {
					break
				}
			}
		}
	}
}

// conditional has the flags of ops that are not always written.
const conditional = plan.Deref | plan.Optional | plan.Default

func compactHead(d compact.Dialect, ops []plan.Op, k int) fieldHead {
	op := &ops[k]
	code := d.AppendField(nil, op.Wire, 1, 0)[0] & 15
	low, high := int(op.ID), int(op.ID) // distances to the field before; that of the first is to 0
	for j := range k {
		delta := int(op.ID) - int(ops[j].ID)
		if ops[j].Flags&conditional == 0 {
			low, high = delta, delta
		} else {
			low, high = min(low, delta), max(high, delta)
		}
	}
	h := fieldHead{code: code, sure: low >= 1 && high <= 15, long: d.AppendField(nil, op.Wire, op.ID, op.ID)}
	if low == high {
		h.fixed = d.AppendField(nil, op.Wire, op.ID, op.ID-int16(low))
	}
	return h
}

// dynamic reports whether a header of the procedure depends on what was written.
func (g *encodeGenerator) dynamic(p *plan.Proc) bool {
	for k := range p.Ops {
		if g.opts.Compact != 0 && g.heads[&p.Ops[k]].fixed == nil {
			return true
		}
	}
	return false
}

// keepLast notes that op was written, if a later header asks.
func (g *encodeGenerator) keepLast(op *plan.Op) {
	if g.opts.Compact != 0 && g.heads[op].keep {
		g.m.StoreImm(asm.W64, g.last.base, g.last.off, uint64(int64(op.ID)))
	}
}

// compactHeader adds the header of op to r; for a bool that is all, and off is its place.
func (g *encodeGenerator) compactHeader(r *run, op *plan.Op, off int32) {
	h := g.heads[op]
	isBool := op.Code == plan.Bool
	if h.fixed != nil && !isBool {
		r.bytes(h.fixed...)
		return
	}
	r.pieces = append(r.pieces, piece{code: op.Code, off: off, head: &h, id: op.ID})
	r.size += int32(max(len(h.fixed), 1))
	if h.fixed == nil {
		r.bound += int32(len(h.long)) // of which one is in size
		r.varies = true
	}
}

// compactValue adds a value that is no text.
func (g *encodeGenerator) compactValue(r *run, c plan.Code, off int32) {
	p := piece{code: c, off: off}
	switch c {
	case plan.I16, plan.I32, plan.I64, plan.Enum64:
		p.varint = true
		r.varies = true
		r.bound += 10
	default:
		r.size += int32(c.Width())
	}
	r.pieces = append(r.pieces, p)
}

// compactPieces writes the pieces of a run at rOut and moves it.
func (g *encodeGenerator) compactPieces(r *run, base asm.Reg) {
	at := int32(0)
	for _, p := range r.pieces {
		switch {
		case p.code == 0:
			g.constant(at, p.text, int32(len(p.text)))
			at += int32(len(p.text))
		case p.head != nil:
			at = g.putHeader(p, base, at)
		case p.varint:
			g.loadZigzag(p.code, base, p.off)
			g.putVarint(p.code, at)
			at = 0
		default:
			g.compactNumber(p.code, base, p.off, at)
			at += int32(p.code.Width())
		}
	}
	g.m.AddImm(rOut, rOut, at)
}

// compactNumber stores a value of fixed width at rOut+at.
func (g *encodeGenerator) compactNumber(c plan.Code, base asm.Reg, off, at int32) {
	switch {
	case c == plan.Double && g.opts.Compact == compact.Apache:
		g.m.Load(asm.W64, rB, base, off)
		g.m.Store(asm.W64, rOut, at, rB)
	default:
		g.number(c, base, off, rOut, at)
	}
}

// putHeader writes a header that is not constant and returns where the next piece stands.
func (g *encodeGenerator) putHeader(p piece, base asm.Reg, at int32) int32 {
	m, h := g.m, p.head
	isBool := p.code == plan.Bool
	if isBool { // rB is 1 for false
		m.Load(asm.W8, rB, base, p.off)
		m.AddImm(rB, rB, -1)
		m.ShrImm(rB, rB, 63)
	}
	if h.fixed != nil {
		m.AddImm(rB, rB, int32(h.fixed[0]))
		m.Store(asm.W8, rOut, at, rB)
		if rest := h.fixed[1:]; len(rest) > 0 {
			g.constant(at+1, rest, int32(len(rest)))
		}
		return at + int32(len(h.fixed))
	}
	far, done := m.Label(), m.Label()
	m.Load(asm.W64, rLen, g.last.base, g.last.off)
	m.Imm(rC, uint64(int64(p.id)))
	m.Sub(rC, rC, rLen)
	if !h.sure {
		m.AddImm(rLen, rC, -1)
		m.BranchImm(asm.HS, rLen, 15, far)
	}
	m.ShlImm(rC, rC, 4)
	m.AddImm(rC, rC, int32(h.code))
	if isBool {
		m.Add(rC, rC, rB)
	}
	m.Store(asm.W8, rOut, at, rC)
	if h.sure {
		return at + 1
	}
	m.AddImm(rOut, rOut, at+1)
	m.Jump(done)
	m.Bind(far)
	if isBool {
		m.AddImm(rB, rB, int32(h.code))
		m.Store(asm.W8, rOut, at, rB)
	} else {
		m.StoreImm(asm.W8, rOut, at, uint64(h.long[0]))
	}
	g.constant(at+1, h.long[1:], int32(len(h.long)-1))
	m.AddImm(rOut, rOut, at+int32(len(h.long)))
	m.Bind(done)
	return 0
}

// loadZigzag loads an integer into rB with its sign in the lowest bit.
func (g *encodeGenerator) loadZigzag(c plan.Code, base asm.Reg, off int32) {
	m := g.m
	m.LoadSigned(asm.Width(c.Memory()), rB, base, off)
	if c == plan.Enum64 {
		m.SignExtend(asm.W32, rC, rB)
		m.Branch(asm.NE, rB, rC, g.fault)
	}
	m.SarImm(rC, rB, 63)
	m.ShlImm(rB, rB, 1)
	m.Xor(rB, rB, rC)
}

// putVarint writes rB at rOut+at and moves rOut behind it. It may store 10 bytes. Short ones are
// written here, others by code that all share.
func (g *encodeGenerator) putVarint(c plan.Code, at int32) {
	m := g.m
	done, long := m.Label(), m.Label()
	m.AddImm(rOut, rOut, at+1)
	m.BranchImm(asm.HS, rB, 1<<7, long)
	m.Store(asm.W8, rOut, -1, rB)
	m.Bind(done)
	g.cold = append(g.cold, func() {
		m.Bind(long)
		m.Addr(rNew, done)
		m.Jump(g.varint)
	})
}

// varintCode writes rB, which is 1<<7 at least, at rOut-1, moves rOut behind it and jumps to rNew.
func (g *encodeGenerator) varintCode() {
	m := g.m
	longest := m.Label()
	m.Bind(g.varint)
	m.AddImm(rOut, rOut, -1)
	m.ShrImm(rC, rB, 56)
	m.BranchImm(asm.NE, rC, 0, longest)
	// The length is the number of bits divided by 7, rounded up.
	m.BitLen(rC, rB)
	m.MulImm(rC, rC, 9)
	m.AddImm(rC, rC, 64)
	m.ShrImm(rC, rC, 6)
	g.spread(rB)
	m.ShlImm(rSrc, rC, 3)
	m.Imm(rDst, 64)
	m.Sub(rSrc, rDst, rSrc)
	m.Imm(rDst, 0x0080808080808080)
	m.Shr(rDst, rDst, rSrc)
	m.Or(rB, rB, rDst)
	m.Store(asm.W64, rOut, 0, rB)
	m.Add(rOut, rOut, rC)
	m.JumpReg(rNew)

	m.Bind(longest) // rC are the upper 8 bits, which are 9 or 10 bytes
	g.spread(rB)
	m.Imm(rDst, 0x8080808080808080)
	m.Or(rB, rB, rDst)
	m.Store(asm.W64, rOut, 0, rB)
	m.ShrImm(rB, rC, 7)
	m.ShlImm(rSrc, rB, 8)
	m.Or(rC, rC, rSrc)
	m.Store(asm.W16, rOut, 8, rC)
	m.Add(rOut, rOut, rB)
	m.AddImm(rOut, rOut, 9)
	m.JumpReg(rNew)
}

// spread puts each seven of the lower 56 bits of r into a byte of their own.
func (g *encodeGenerator) spread(r asm.Reg) {
	if s, ok := g.m.(interface{ Spread(d, s asm.Reg) bool }); ok && s.Spread(r, r) {
		return
	}
	m := g.m
	for _, step := range []struct {
		shift     uint8
		low, high uint64
	}{
		{4, 0x0fffffff, 0x0fffffff00000000},
		{2, 0x00003fff00003fff, 0x3fff00003fff0000},
		{1, 0x007f007f007f007f, 0x7f007f007f007f00},
	} {
		m.ShlImm(rSrc, r, step.shift)
		m.Imm(rDst, step.low)
		m.And(r, r, rDst)
		m.Imm(rDst, step.high)
		m.And(rSrc, rSrc, rDst)
		m.Or(r, r, rSrc)
	}
}

// aside makes code that writes bound bytes at most, by wide stores. body writes at rOut and moves it. Where
// there is too little room, it writes into the stack instead, and what it
// wrote is copied if that fits.
func (g *encodeGenerator) aside(bound int32, x exits, body func()) {
	m := g.m
	start, done, scarce, copied := m.Label(), m.Label(), m.Label(), m.Label()
	m.AddImm(rNew, rOut, bound)
	m.Branch(asm.HI, rNew, rEnd, scarce)
	m.Bind(start)
	body()
	m.BranchImm(asm.EQ, rEnd, 0, copied)
	m.Bind(done)
	g.cold = append(g.cold, func() {
		m.Bind(scarce)
		m.Store(asm.W64, rBlock, 8*wordAsideOut, rOut)
		m.Store(asm.W64, rBlock, 8*wordAsideEnd, rEnd)
		m.Stack(rOut)
		m.Imm(rEnd, 0)
		m.Jump(start)
		m.Bind(copied)
		m.Stack(rSrc)
		m.Sub(rLen, rOut, rSrc)
		m.Load(asm.W64, rOut, rBlock, 8*wordAsideOut)
		m.Load(asm.W64, rEnd, rBlock, 8*wordAsideEnd)
		m.Add(rNew, rOut, rLen)
		m.Branch(asm.HI, rNew, rEnd, x.room)
		m.Mov(rDst, rOut)
		m.Mov(rOut, rNew)
		m.Copy(rDst, rSrc, rLen)
		m.Jump(done)
	})
}

// beginAgain returns exits that forget what has been written from here on.
func (g *encodeGenerator) beginAgain(x exits) exits {
	m := g.m
	m.Store(asm.W64, rBlock, 8*wordRun, rOut)
	again := exits{m.Label(), m.Label()}
	g.cold = append(g.cold, func() {
		m.Bind(again.room)
		m.Load(asm.W64, rOut, rBlock, 8*wordRun)
		m.Jump(x.room)
		m.Bind(again.ops)
		m.Load(asm.W64, rOut, rBlock, 8*wordRun)
		m.Jump(x.ops)
	})
	return again
}

// compactRun writes a run.
func (g *encodeGenerator) compactRun(r *run, base asm.Reg, x exits) {
	m := g.m
	switch {
	case len(r.pieces) == 0:
	case r.varies:
		g.aside(r.size+r.bound+8, x, func() { g.compactPieces(r, base) })
	default:
		m.AddImm(rNew, rOut, r.size)
		m.Branch(asm.HI, rNew, rEnd, x.room)
		g.compactPieces(r, base)
	}
}

// compactText writes the length and the bytes of the text at off from base, and a STOP behind if tail is set.
// Texts that code copies have lengths of one or two bytes.
func (g *encodeGenerator) compactText(off int32, tail bool, base asm.Reg, x exits) {
	m := g.m
	usable, written, long, put := m.Label(), m.Label(), m.Label(), m.Label()
	extra := int32(0)
	if tail {
		extra = 1
	}
	m.Load(asm.W64, rLen, base, off+8)
	m.BranchMem(asm.HS, rLen, rBlock, 8*wordCopy, x.ops)
	m.Load(asm.W64, rSrc, base, off)
	m.BranchImm(asm.NE, rSrc, 0, usable)
	m.BranchImm(asm.NE, rLen, 0, g.fault)
	m.Bind(usable)
	m.Add(rNew, rOut, rLen)
	m.BranchImm(asm.HS, rLen, 1<<7, long)
	m.AddImm(rNew, rNew, 1+extra)
	m.Branch(asm.HI, rNew, rEnd, x.room)
	m.Store(asm.W8, rOut, 0, rLen)
	m.AddImm(rDst, rOut, 1)
	m.Bind(put)
	if tail {
		m.StoreImm(asm.W8, rNew, -1, 0)
	}
	m.Mov(rOut, rNew)
	m.BranchImm(asm.EQ, rLen, 0, written)
	m.Copy(rDst, rSrc, rLen)
	m.Bind(written)
	g.cold = append(g.cold, func() {
		m.Bind(long)
		m.AddImm(rNew, rNew, 2+extra)
		m.Branch(asm.HI, rNew, rEnd, x.room)
		m.OrImm(rB, rLen, 0x80)
		m.Store(asm.W8, rOut, 0, rB)
		m.ShrImm(rB, rLen, 7)
		m.Store(asm.W8, rOut, 1, rB)
		m.AddImm(rDst, rOut, 2)
		m.Jump(put)
	})
}

// compactListHeader writes the headers of field and list, for rLen elements.
func (g *encodeGenerator) compactListHeader(op, elem *plan.Op, x exits) {
	m := g.m
	code := g.opts.Compact.AppendList(nil, elem.Wire, 0)[0]
	if op.Flags&plan.Header != 0 {
		var r run
		x = g.beginAgain(x)
		g.compactHeader(&r, op, 0)
		m.Store(asm.W64, rBlock, 8*wordKeep, rLen)
		m.Mov(rA, rSrc)
		g.compactRun(&r, rBase, x)
		m.Load(asm.W64, rLen, rBlock, 8*wordKeep)
		m.Mov(rSrc, rA)
	}
	long, done := m.Label(), m.Label()
	m.BranchImm(asm.HS, rLen, 15, long)
	m.AddImm(rNew, rOut, 1)
	m.Branch(asm.HI, rNew, rEnd, x.room)
	m.ShlImm(rB, rLen, 4)
	m.OrImm(rB, rB, int32(code))
	m.Store(asm.W8, rOut, 0, rB)
	m.Mov(rOut, rNew)
	m.Bind(done)
	g.cold = append(g.cold, func() {
		m.Bind(long)
		m.Store(asm.W64, rBlock, 8*wordKeep, rLen)
		m.Mov(rA, rSrc)
		g.aside(20, x, func() {
			m.StoreImm(asm.W8, rOut, 0, uint64(15<<4|code))
			m.Load(asm.W64, rB, rBlock, 8*wordKeep)
			g.putVarint(plan.I32, 1)
		})
		m.Load(asm.W64, rLen, rBlock, 8*wordKeep)
		m.Mov(rSrc, rA)
		m.Jump(done)
	})
}

// compactVaries reports whether elements of c are not written as they are in the binary protocol,
// but for the order of their bytes.
func compactVaries(c plan.Code) bool {
	switch c {
	case plan.I16, plan.I32, plan.I64, plan.Enum64, plan.Bool:
		return true
	default:
		return false
	}
}

// compactNumbers writes rLen numbers, at least one, that start at rSrc. In a unit's
// list it notes after each how far it is.
func (g *encodeGenerator) compactNumbers(c plan.Code, x exits, unit bool) {
	m := g.m
	if !compactVaries(c) {
		g.numbers(c, x)
		return
	}
	loop := m.Label()
	stride := int32(c.Memory())
	saved := g.takeSlots(1)
	m.Store(asm.W64, rFrame, saved, rBase)
	m.Mov(rA, rSrc)
	m.ShlImm(rBase, rLen, shifts[int(stride)])
	m.Add(rBase, rBase, rSrc) // the end
	m.Bind(loop)
	if c == plan.Bool {
		m.AddImm(rNew, rOut, 1)
		m.Branch(asm.HI, rNew, rEnd, x.room)
		m.Load(asm.W8, rB, rA, 0)
		m.AddImm(rB, rB, -1)
		m.ShrImm(rB, rB, 63)
		m.AddImm(rB, rB, 1)
		m.Store(asm.W8, rOut, 0, rB)
		m.Mov(rOut, rNew)
	} else {
		g.aside(18, x, func() {
			g.loadZigzag(c, rA, 0)
			g.putVarint(c, 0)
		})
	}
	if unit {
		m.Store(asm.W64, rBlock, 8*wordOut, rOut)
		m.Load(asm.W64, rB, rBlock, 8*wordIndex)
		m.AddImm(rB, rB, 1)
		m.Store(asm.W64, rBlock, 8*wordIndex, rB)
	}
	m.AddImm(rA, rA, stride)
	m.Branch(asm.NE, rA, rBase, loop)
	m.Load(asm.W64, rBase, rFrame, saved)
	g.freeSlots(1)
}
