package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file generates size code, which is encode code that counts and does not write: rOut is
// a number of bytes. It shares units, bodies, the frame and the words of the block with that. There is no room to
// compare, so the work of an entry is bounded by wordWork, for which lists and bodies are charged.
// What is constant and always written is added where a struct begins.

// newSizer returns a generator of size code, with the machine and the exits of g.
func (g *encodeGenerator) newSizer() *encodeGenerator {
	s := newEncodeGenerator(g.m, g.prog, g.opts)
	s.sizing = true
	s.heads = g.heads
	s.room, s.assist, s.deep, s.fault = g.room, g.assist, g.deep, g.fault
	s.driven, s.weights = g.driven, g.weights
	return s
}

// constantSize returns what op takes whatever its value is, which a header that depends on the field before does not.
func (g *encodeGenerator) constantSize(op *plan.Op) int32 {
	n := int32(0)
	if op.Flags&plan.Header != 0 {
		n = g.headerSize(op)
	}
	switch {
	case g.opts.Compact != 0 && (op.Code == plan.String || op.Code == plan.Binary):
		n++ // a short one's length
	case g.opts.Compact != 0:
		if op.Code != plan.Bool && !compactVaries(op.Code) {
			n += int32(op.Code.Width())
		}
	case op.Code == plan.String || op.Code == plan.Binary:
		n += 4
	case op.Code == plan.List:
		n += 5
	default:
		n += int32(op.Code.Width())
	}
	return n
}

func (g *encodeGenerator) headerSize(op *plan.Op) int32 {
	switch h := g.heads[op]; {
	case g.opts.Compact == 0:
		return 3
	case h.fixed != nil:
		return int32(len(h.fixed))
	case h.sure:
		return 1
	default:
		return 0
	}
}

// nested reports whether op's value has an end of its own: it is started again, with its header, when code leaves within it.
func nested(op *plan.Op) bool {
	return op.Code == plan.Struct || op.Code == plan.Pointer || op.Code == plan.List
}

// sizesAtOnce reports whether elements have a size that does not depend on their values.
func (g *encodeGenerator) sizesAtOnce(elem *plan.Op) bool {
	return elem.Code.Width() > 0 && (g.opts.Compact == 0 || elem.Code == plan.Bool || !compactVaries(elem.Code))
}

// sizeUnit makes the size code of a struct that the driver enters.
func (g *encodeGenerator) sizeUnit(proc int) {
	m, p := g.m, g.prog.Procs[proc]
	g.begin()
	labels := make([]asm.Label, len(p.Ops)+1)
	for k := range labels {
		labels[k] = m.Label()
	}
	g.resume[proc] = labels
	g.active[proc] = true
	g.last = place{rBlock, 8 * wordLast}
	base := int32(0)
	for k := range p.Ops {
		if op := &p.Ops[k]; op.Flags&conditional == 0 && !nested(op) && !g.isDriven(op) {
			base += g.constantSize(op)
		}
	}
	m.Bind(labels[0])
	m.AddImm(rOut, rOut, base+1) // with the STOP
	for k := range p.Ops {
		if k > 0 {
			m.Bind(labels[k])
		}
		op := &p.Ops[k]
		next := m.Label()
		switch {
		case g.isDriven(op):
			if op.Flags&plan.Optional != 0 {
				m.BranchMemImm(asm.W64, asm.EQ, rBase, int32(op.Off), 0, next)
			}
			g.leaveOps(k)
		case nested(op):
			if op.Code != plan.List || !g.sizesAtOnce(&g.prog.Procs[op.A].Ops[0]) {
				again := m.Label()
				m.Bind(again)
				g.mark(k, again)
			}
			g.sizeField(op, 0, next, g.constantSize(op))
		case op.Flags&conditional != 0:
			g.sizeField(op, 0, next, g.constantSize(op))
		default:
			g.sizeField(op, 0, next, 0)
		}
		m.Bind(next)
	}
	m.Bind(labels[len(p.Ops)])
	if p.Unknown >= 0 {
		known := m.Label()
		m.BranchMemImm(asm.W64, asm.EQ, rBase, p.Unknown+8, 0, known)
		g.leaveOps(len(p.Ops))
		m.Bind(known)
	}
	g.done()
	g.emitCold()
	g.active[proc] = false
}

// sizeFields sizes a struct that lies at off from the base, below a unit's field.
func (g *encodeGenerator) sizeFields(p *plan.Proc, off int32) {
	m := g.m
	base := int32(1) // the STOP
	for k := range p.Ops {
		if op := &p.Ops[k]; op.Flags&conditional == 0 {
			base += g.constantSize(op)
		}
	}
	m.AddImm(rOut, rOut, base)
	for k := range p.Ops {
		op := &p.Ops[k]
		next := m.Label()
		extra := int32(0)
		if op.Flags&conditional != 0 {
			extra = g.constantSize(op)
		}
		g.sizeField(op, off, next, extra)
		m.Bind(next)
	}
	if p.Unknown >= 0 {
		m.BranchMemImm(asm.W64, asm.NE, rBase, off+p.Unknown+8, 0, g.assist)
	}
}

// sizeField adds what op takes beyond its constant part, with extra of that. It
// goes to next if nothing is written.
func (g *encodeGenerator) sizeField(op *plan.Op, off int32, next asm.Label, extra int32) {
	base, off := g.present(op, off, next)
	if extra != 0 {
		g.m.AddImm(rOut, rOut, extra)
	}
	if g.opts.Compact != 0 {
		g.sizeHeader(op)
	}
	switch op.Code {
	case plan.Struct:
		g.structure(int(op.A), off)
	case plan.Pointer:
		g.pointer(op, off, exits{g.room, g.assist})
	case plan.List:
		g.sizeList(op, off)
	default:
		g.sizeAtom(op.Code, base, off)
	}
	g.keepLast(op)
}

// sizeHeader adds a header that depends on the field before.
func (g *encodeGenerator) sizeHeader(op *plan.Op) {
	h := g.heads[op]
	if op.Flags&plan.Header == 0 || h.fixed != nil || h.sure {
		return
	}
	m := g.m
	near, done := m.Label(), m.Label()
	m.Load(asm.W64, rB, g.last.base, g.last.off)
	m.Imm(rC, uint64(int64(op.ID)-1))
	m.Sub(rC, rC, rB)
	m.BranchImm(asm.LO, rC, 15, near)
	m.AddImm(rOut, rOut, int32(len(h.long)))
	m.Jump(done)
	m.Bind(near)
	m.AddImm(rOut, rOut, 1)
	m.Bind(done)
}

// sizeAtom adds what a number or text at off from base takes beyond its constant part.
func (g *encodeGenerator) sizeAtom(c plan.Code, base asm.Reg, off int32) {
	m := g.m
	switch {
	case c == plan.String || c == plan.Binary:
		m.Load(asm.W64, rB, base, off+8)
		m.Add(rOut, rOut, rB)
		if g.opts.Compact != 0 {
			long, done := m.Label(), m.Label()
			m.BranchImm(asm.HS, rB, 1<<7, long)
			m.Bind(done)
			g.cold = append(g.cold, func() {
				m.Bind(long)
				m.AddImm(rOut, rOut, -1)
				g.sizeVarint()
				m.Jump(done)
			})
		}
	case g.opts.Compact != 0 && compactVaries(c) && c != plan.Bool:
		w := asm.Width(c.Memory())
		if c == plan.Enum64 {
			w = asm.W32
		}
		m.LoadSigned(w, rB, base, off)
		m.SarImm(rNew, rB, 63)
		m.ShlImm(rB, rB, 1)
		m.Xor(rB, rB, rNew)
		g.sizeVarint()
	}
}

// sizeVarint adds the length of rB as a varint: its number of bits divided by 7, rounded up.
func (g *encodeGenerator) sizeVarint() {
	m := g.m
	m.OrImm(rB, rB, 1)
	m.BitLen(rB, rB)
	m.MulImm(rB, rB, 9)
	m.AddImm(rB, rB, 64)
	m.ShrImm(rB, rB, 6)
	m.Add(rOut, rOut, rB)
}

// sizeList adds what the list whose slice lies at off from the base takes beyond its constant part.
func (g *encodeGenerator) sizeList(op *plan.Op, off int32) {
	m := g.m
	g.down()
	elem := &g.prog.Procs[op.A].Ops[0]
	m.Load(asm.W64, rLen, rBase, off+8)
	m.Load(asm.W64, rSrc, rBase, off)
	g.checkSlice()
	if g.opts.Compact != 0 {
		short := m.Label()
		m.AddImm(rOut, rOut, 1)
		m.BranchImm(asm.LO, rLen, 15, short)
		m.Mov(rB, rLen)
		g.sizeVarint()
		m.Bind(short)
	}
	done := m.Label()
	switch {
	case g.sizesAtOnce(elem):
		m.ShlImm(rLen, rLen, shifts[elem.Code.Width()])
		m.Add(rOut, rOut, rLen)
	case nested(elem):
		m.BranchImm(asm.EQ, rLen, 0, done)
		g.elements(op, elem, exits{g.room, g.assist})
	default:
		m.BranchImm(asm.EQ, rLen, 0, done)
		m.Load(asm.W64, rB, rBlock, 8*wordWork)
		m.Sub(rB, rB, rLen)
		m.Store(asm.W64, rBlock, 8*wordWork, rB)
		m.BranchImm(asm.LT, rB, 0, g.room)
		switch {
		case g.opts.Compact == 0:
			m.ShlImm(rB, rLen, 2)
			m.Add(rOut, rOut, rB)
		case elem.Code == plan.String || elem.Code == plan.Binary:
			m.Add(rOut, rOut, rLen)
		}
		loop := m.Label()
		m.Bind(loop)
		g.sizeAtom(elem.Code, rSrc, 0)
		m.AddImm(rSrc, rSrc, int32(op.Size))
		m.AddImm(rLen, rLen, -1)
		m.BranchImm(asm.NE, rLen, 0, loop)
	}
	m.Bind(done)
	g.up()
}
