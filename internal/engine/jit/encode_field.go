package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file generates the code of fields and their values in the binary protocol.

// piece is a part of a run: constant bytes, or a value of fixed width.
type piece struct {
	text []byte
	code plan.Code // 0 for text
	off  int32     // of the value from the base

	// In the compact protocol:
	varint bool       // the value is a varint
	head   *fieldHead // not the value, but the header of the op with id
	id     int16
}

// run is what is written behind one comparison: pieces of fixed size, then at
// most one text, then constant bytes.
type run struct {
	pieces []piece
	size   int32 // of the pieces
	ops    int   // how many of the struct's ops it writes
	text   bool  // there is a text, whose header is the last piece
	off    int32 // of the text from the base
	tail   bool  // a STOP follows the text

	// In the compact protocol:
	varies bool  // size is not all that the pieces take
	bound  int32 // what they take beyond it at most
}

func (r *run) bytes(b ...byte) {
	r.size += int32(len(b))
	if n := len(r.pieces); n > 0 && r.pieces[n-1].code == 0 {
		r.pieces[n-1].text = append(r.pieces[n-1].text, b...)
		return
	}
	r.pieces = append(r.pieces, piece{text: b})
}

func (r *run) value(c plan.Code, off int32) {
	r.pieces = append(r.pieces, piece{code: c, off: off})
	r.size += int32(c.Width())
}

// header adds op's header; off is the place of its value.
func (g *encodeGenerator) header(r *run, op *plan.Op, off int32) {
	switch {
	case op.Flags&plan.Header == 0:
	case g.opts.Compact != 0:
		g.compactHeader(r, op, off)
	default:
		r.bytes(byte(op.Head>>16), byte(op.Head>>8), byte(op.Head))
	}
}

// add adds op's value, which lies at off from the base.
func (g *encodeGenerator) add(r *run, op *plan.Op, off int32) {
	g.header(r, op, off)
	switch {
	case op.Code == plan.String || op.Code == plan.Binary:
		r.text, r.off = true, off
	case g.opts.Compact == 0:
		r.value(op.Code, off)
	case op.Code != plan.Bool: // whose header is all
		g.compactValue(r, op.Code, off)
	}
	r.ops++
}

// stop adds a struct's STOP.
func (r *run) stop() {
	if r.text {
		r.tail = true
		return
	}
	r.bytes(0)
}

// most bytes of a run's pieces. Displacements stay short, and what a failed comparison costs small.
const longestRun = 1 << 12

// gather returns the run of ops from the k-th on that are always written and
// have fixed widths, up to a text. It is empty if the k-th is something else.
func (g *encodeGenerator) gather(p *plan.Proc, k int, off int32) *run {
	r := new(run)
	for ; k < len(p.Ops) && !r.text && r.size < longestRun; k++ {
		if g.opts.Compact != 0 && r.size+r.bound > longestCompactRun-32 {
			break
		}
		op := &p.Ops[k]
		if op.Flags&(plan.Deref|plan.Optional|plan.Default) != 0 || op.Code.Width() == 0 && op.Code != plan.String && op.Code != plan.Binary {
			break
		}
		g.add(r, op, off+int32(op.Off))
	}
	return r
}

// run writes a run whose values lie at offsets from base, which is rBase or rA.
func (g *encodeGenerator) run(r *run, base asm.Reg, x exits) {
	m := g.m
	if g.sizing { // a STOP
		m.AddImm(rOut, rOut, r.size)
		return
	}
	if g.opts.Compact != 0 {
		if r.text {
			x = g.beginAgain(x)
		}
		g.compactRun(r, base, x)
		if r.text {
			g.compactText(r.off, r.tail, base, x)
		}
		return
	}
	if !r.text {
		m.AddImm(rNew, rOut, r.size)
		m.Branch(asm.HI, rNew, rEnd, x.room)
		g.pieces(r, base)
		m.Mov(rOut, rNew)
		return
	}
	usable, written := m.Label(), m.Label()
	m.Load(asm.W64, rLen, base, r.off+8)
	m.BranchMem(asm.HS, rLen, rBlock, 8*wordCopy, x.ops)
	m.Load(asm.W64, rSrc, base, r.off)
	m.BranchImm(asm.NE, rSrc, 0, usable)
	m.BranchImm(asm.NE, rLen, 0, g.fault) // a length without memory
	m.Bind(usable)
	total := r.size + 4
	if r.tail {
		total++
	}
	m.Add(rNew, rOut, rLen)
	m.AddImm(rNew, rNew, total)
	m.Branch(asm.HI, rNew, rEnd, x.room)
	g.pieces(r, base)
	m.StoreBE(asm.W32, rOut, r.size, rLen)
	if r.tail {
		m.StoreImm(asm.W8, rNew, -1, 0)
	}
	m.AddImm(rDst, rOut, r.size+4)
	m.Mov(rOut, rNew)
	m.BranchImm(asm.EQ, rLen, 0, written)
	m.Copy(rDst, rSrc, rLen)
	m.Bind(written)
}

// pieces writes the pieces of a run at rOut. Constants are stored as wide as the
// room that has been compared allows: what is stored too much, later pieces overwrite.
func (g *encodeGenerator) pieces(r *run, base asm.Reg) {
	at := int32(0)
	room := r.size
	if r.text {
		room += 4
	}
	for _, p := range r.pieces {
		if p.code == 0 {
			g.constant(at, p.text, room-at)
			at += int32(len(p.text))
			continue
		}
		g.number(p.code, base, p.off, rOut, at)
		at += int32(p.code.Width())
	}
}

// constant stores text at rOut+at, where room bytes may be overwritten.
func (g *encodeGenerator) constant(at int32, text []byte, room int32) {
	for len(text) > 0 {
		w := asm.W64
		for w > asm.W8 && (int(w) >= 2*len(text) || int32(w) > room) {
			w /= 2
		}
		v := uint64(0)
		for i := 0; i < int(w) && i < len(text); i++ {
			v |= uint64(text[i]) << (8 * i)
		}
		g.m.StoreImm(w, rOut, at, v)
		n := min(int(w), len(text))
		text, at, room = text[n:], at+int32(n), room-int32(n)
	}
}

// number stores a value of fixed width, which lies at base+off, at dst+at.
func (g *encodeGenerator) number(c plan.Code, base asm.Reg, off int32, dst asm.Reg, at int32) {
	m := g.m
	switch c {
	case plan.Enum64:
		m.Load(asm.W64, rB, base, off)
		m.SignExtend(asm.W32, rC, rB)
		m.Branch(asm.NE, rB, rC, g.fault)
		m.StoreBE(asm.W32, dst, at, rB)
	case plan.UUID:
		m.CopyConst(dst, at, base, off, 16)
	default:
		w := asm.Width(c.Width())
		m.Load(w, rB, base, off)
		m.StoreBE(w, dst, at, rB)
	}
}

// field writes one op of a struct that lies at off from the base: what no run takes.
// It goes to next if nothing is written.
func (g *encodeGenerator) field(op *plan.Op, off int32, next asm.Label, x exits) {
	defer g.keepLast(op)
	base, off := g.present(op, off, next)
	switch op.Code {
	case plan.Struct:
		g.constants(op, x)
		g.structure(int(op.A), off)
	case plan.Pointer:
		g.constants(op, x)
		g.pointer(op, off, x)
	case plan.List:
		g.list(op, off, x)
	default:
		var r run
		g.add(&r, op, off)
		g.run(&r, base, x)
	}
}

// present goes to next if op, of a struct that lies at off from the base, has no value, and returns the place of
// the value.
func (g *encodeGenerator) present(op *plan.Op, off int32, next asm.Label) (asm.Reg, int32) {
	off += int32(op.Off)
	switch {
	case op.Flags&plan.Deref != 0:
		g.m.Load(asm.W64, rA, rBase, off)
		g.m.BranchImm(asm.EQ, rA, 0, next)
		return rA, 0
	case op.Flags&plan.Default != 0:
		g.skipDefault(op, off, next)
	case op.Flags&plan.Optional != 0:
		g.m.BranchMemImm(asm.W64, asm.EQ, rBase, off, 0, next)
	}
	return rBase, off
}

// skipDefault goes to next if the number at off has its default.
func (g *encodeGenerator) skipDefault(op *plan.Op, off int32, next asm.Label) {
	text := g.prog.Defaults[op.B]
	v := uint64(0)
	for i := range len(text) {
		v |= uint64(text[i]) << (8 * i)
	}
	g.m.Load(asm.Width(len(text)), rB, rBase, off)
	g.m.Imm(rC, v)
	g.m.Branch(asm.EQ, rB, rC, next)
}

// constants writes the header of op.
func (g *encodeGenerator) constants(op *plan.Op, x exits) {
	if op.Flags&plan.Header != 0 {
		var r run
		g.header(&r, op, 0)
		g.run(&r, rBase, x)
	}
}

// pointer writes the struct that the pointer at off from the base points to, or a STOP.
func (g *encodeGenerator) pointer(op *plan.Op, off int32, x exits) {
	m := g.m
	null, done := m.Label(), m.Label()
	saved := g.takeSlots(1)
	m.Load(asm.W64, rA, rBase, off)
	m.BranchImm(asm.EQ, rA, 0, null)
	m.Store(asm.W64, rFrame, saved, rBase)
	m.Mov(rBase, rA)
	g.structure(int(op.A), 0)
	m.Load(asm.W64, rBase, rFrame, saved)
	m.Jump(done)
	m.Bind(null)
	var r run
	r.stop()
	g.run(&r, rBase, x)
	m.Bind(done)
	g.freeSlots(1)
}
