package amd64

import "github.com/thrum-rpc/thrum/internal/engine/jit/asm"

// This file copies. The general copies are subroutines behind the code, one for
// each triple of registers, so that a copy costs few bytes where it stands. Their
// return address lies below the caller's frame, where Go leaves room for signal-free leaves.

// stub is a subroutine: a copy of bytes (width 1), or of elements whose bytes
// are swapped.
type stub struct {
	w           asm.Width
	dst, src, n reg
}

func (m *Machine) Copy(dst, src, n asm.Reg) { m.callStub(stub{asm.W8, of(dst), of(src), of(n)}) }

func (m *Machine) SwapCopy(w asm.Width, dst, src, n asm.Reg) {
	m.callStub(stub{w, of(dst), of(src), of(n)})
}

func (m *Machine) callStub(s stub) {
	l, ok := m.stubs[s]
	if !ok {
		l = m.Label()
		m.stubs[s] = l
		m.pending = append(m.pending, s)
	}
	m.Emit(0xe8)
	m.relative(l)
}

func (m *Machine) emitStubs() {
	for _, s := range m.pending {
		m.Bind(m.stubs[s])
		switch {
		case s.w == asm.W8:
			m.copyStub(s)
		case m.features.AVX2:
			m.swapStubAVX2(s)
		default:
			m.swapTail(s)
		}
	}
	m.pending = nil
}

func (m *Machine) ret() { m.Emit(0xc3) }

// loadX and storeX move 16 bytes, unaligned.
func (m *Machine) loadX(x reg, a mem)  { m.rm(0, x, a, 0x0f, 0x10) }
func (m *Machine) storeX(a mem, x reg) { m.rm(0, x, a, 0x0f, 0x11) }

// end is the memory that ends off bytes behind the n bytes at p.
func end(p, n reg, off int32) mem { return atX(p, n, off) }

func (m *Machine) branchBelow(n reg, v int32, l asm.Label) {
	m.arith(7, n, v)
	m.jcc(asm.LO, l)
}

// ends copies the first and the last bytes by moves of w bytes, which overlap where n is less than 2w.
func (m *Machine) ends(s stub, w asm.Width) {
	m.load(w, rax, at(s.src, 0))
	m.load(w, rcx, end(s.src, s.n, -int32(w)))
	m.store(w, at(s.dst, 0), rax)
	m.store(w, end(s.dst, s.n, -int32(w)), rcx)
	m.ret()
}

// copyStub copies n bytes: short ones by overlapping moves from both ends, long
// ones in blocks, the last of which overlaps.
func (m *Machine) copyStub(s stub) {
	below16, below8, below4, below2, above32, above64 := m.Label(), m.Label(), m.Label(), m.Label(), m.Label(), m.Label()
	m.branchBelow(s.n, 16, below16)
	m.arith(7, s.n, 32)
	m.jcc(asm.HI, above32)
	m.loadX(0, at(s.src, 0))
	m.loadX(1, end(s.src, s.n, -16))
	m.storeX(at(s.dst, 0), 0)
	m.storeX(end(s.dst, s.n, -16), 1)
	m.ret()

	m.Bind(above32)
	m.arith(7, s.n, 64)
	m.jcc(asm.HI, above64)
	m.loadX(0, at(s.src, 0))
	m.loadX(1, at(s.src, 16))
	m.loadX(2, end(s.src, s.n, -32))
	m.loadX(3, end(s.src, s.n, -16))
	m.storeX(at(s.dst, 0), 0)
	m.storeX(at(s.dst, 16), 1)
	m.storeX(end(s.dst, s.n, -32), 2)
	m.storeX(end(s.dst, s.n, -16), 3)
	m.ret()

	m.Bind(above64)
	if m.features.AVX2 {
		m.blocksAVX2(s)
	} else {
		m.blocks(s)
	}

	m.Bind(below16)
	m.branchBelow(s.n, 8, below8)
	m.ends(s, asm.W64)
	m.Bind(below8)
	m.branchBelow(s.n, 4, below4)
	m.ends(s, asm.W32)
	m.Bind(below4)
	m.branchBelow(s.n, 2, below2)
	m.ends(s, asm.W16)
	m.Bind(below2)
	m.load(asm.W8, rax, at(s.src, 0))
	m.store(asm.W8, at(s.dst, 0), rax)
	m.ret()
}

// blocks copies more than 64 bytes by 64 at a time; the last 64 overlap.
func (m *Machine) blocks(s stub) {
	loop := m.Label()
	m.Bind(loop)
	for k := range reg(4) {
		m.loadX(k, at(s.src, int32(k)*16))
	}
	for k := range reg(4) {
		m.storeX(at(s.dst, int32(k)*16), k)
	}
	m.advance(s, 64)
	m.arith(5, s.n, 64)
	m.arith(7, s.n, 64)
	m.jcc(asm.HI, loop)
	for k := range reg(4) {
		m.loadX(k, end(s.src, s.n, int32(k)*16-64))
	}
	for k := range reg(4) {
		m.storeX(end(s.dst, s.n, int32(k)*16-64), k)
	}
	m.ret()
}

func (m *Machine) advance(s stub, n int32) {
	m.arith(0, s.src, n)
	m.arith(0, s.dst, n)
}

// vex emits an AVX instruction on 256-bit registers: pp is the implied prefix
// (1 for 66, 2 for F3), table the opcode map, v the second source.
func (m *Machine) vex(pp, table byte, opcode byte, r, v reg, a mem) {
	x := a.index
	if x == rsp {
		x = 0
	}
	m.Emit(0xc4, ^(byte(r>>3)<<7|byte(x>>3)<<6|byte(a.base>>3)<<5)&0xe0|table, ^byte(v)&15<<3|4|pp, opcode)
	m.operand(r, a)
}

func (m *Machine) loadY(y reg, a mem)  { m.vex(2, 1, 0x6f, y, 0, a) } // vmovdqu
func (m *Machine) storeY(a mem, y reg) { m.vex(2, 1, 0x7f, y, 0, a) }

func (m *Machine) vzeroupper() { m.Emit(0xc5, 0xf8, 0x77) }

// blocksAVX2 copies more than 64 bytes by 128 at a time.
func (m *Machine) blocksAVX2(s stub) {
	loop, last := m.Label(), m.Label()
	m.arith(7, s.n, 128)
	m.jcc(asm.HI, loop)
	m.loadY(0, at(s.src, 0))
	m.loadY(1, at(s.src, 32))
	m.loadY(2, end(s.src, s.n, -64))
	m.loadY(3, end(s.src, s.n, -32))
	m.storeY(at(s.dst, 0), 0)
	m.storeY(at(s.dst, 32), 1)
	m.storeY(end(s.dst, s.n, -64), 2)
	m.storeY(end(s.dst, s.n, -32), 3)
	m.vzeroupper()
	m.ret()

	m.Bind(loop)
	for k := range reg(4) {
		m.loadY(k, at(s.src, int32(k)*32))
	}
	for k := range reg(4) {
		m.storeY(at(s.dst, int32(k)*32), k)
	}
	m.advance(s, 128)
	m.arith(5, s.n, 128)
	m.arith(7, s.n, 128)
	m.jcc(asm.HI, loop)
	m.Bind(last)
	for k := range reg(4) {
		m.loadY(k, end(s.src, s.n, int32(k)*32-128))
	}
	for k := range reg(4) {
		m.storeY(end(s.dst, s.n, int32(k)*32-128), k)
	}
	m.vzeroupper()
	m.ret()
}

// swapTail copies elements one by one until n is 0, and returns.
func (m *Machine) swapTail(s stub) {
	loop := m.Label()
	m.Bind(loop)
	m.load(s.w, rax, at(s.src, 0))
	m.swap(s.w, rax, rax)
	m.store(s.w, at(s.dst, 0), rax)
	m.advance(s, int32(s.w))
	m.arith(5, s.n, 1)
	m.jcc(asm.NE, loop)
	m.ret()
}

// swapStubAVX2 copies 128 bytes at a time, then 32, then element by element.
func (m *Machine) swapStubAVX2(s stub) {
	mask, blocks, rest, lines, tail, done, one := m.Label(), m.Label(), m.Label(), m.Label(), m.Label(), m.Label(), m.Label()
	line := int32(32 / s.w)
	m.branchBelow(s.n, line, one)
	m.leaRIP(rax, mask)
	m.loadY(7, at(rax, 0))
	m.Bind(blocks)
	m.branchBelow(s.n, 4*line, rest)
	for k := range reg(4) {
		m.vexShuffle(k, at(s.src, int32(k)*32))
	}
	for k := range reg(4) {
		m.storeY(at(s.dst, int32(k)*32), k)
	}
	m.advance(s, 128)
	m.arith(5, s.n, 4*line)
	m.Jump(blocks)
	m.Bind(rest)
	m.Bind(lines)
	m.branchBelow(s.n, line, tail)
	m.vexShuffle(0, at(s.src, 0))
	m.storeY(at(s.dst, 0), 0)
	m.advance(s, 32)
	m.arith(5, s.n, line)
	m.Jump(lines)
	m.Bind(tail)
	m.vzeroupper()
	m.compareImm(s.n, 0)
	m.jcc(asm.EQ, done)
	m.Bind(one)
	m.swapTail(s)
	m.Bind(done)
	m.ret()
	for len(m.Code)%32 != 0 {
		m.Emit(0xcc)
	}
	m.Bind(mask)
	for i := range 32 {
		i &= 15
		m.Emit(byte(i ^ (int(s.w) - 1)))
	}
}

// vexShuffle loads 32 bytes and permutes them by register 7.
func (m *Machine) vexShuffle(y reg, a mem) {
	m.loadY(y, a)
	// vpshufb y, y, y7
	m.Emit(0xc4, ^(byte(y>>3)<<7)&0xe0|2, ^byte(y)&15<<3|4|1, 0x00, 0xc0|byte(y&7)<<3|7)
}

// CopyConst copies by the widest moves; the last may overlap the one before it.
func (m *Machine) CopyConst(dst asm.Reg, doff int32, src asm.Reg, soff int32, n int) {
	d, s := of(dst), of(src)
	done := 0
	for n-done >= 16 {
		m.loadX(0, at(s, soff+int32(done)))
		m.storeX(at(d, doff+int32(done)), 0)
		done += 16
	}
	if n > 16 && n > done {
		m.loadX(0, at(s, soff+int32(n-16)))
		m.storeX(at(d, doff+int32(n-16)), 0)
		return
	}
	for _, w := range []asm.Width{asm.W64, asm.W32, asm.W16, asm.W8} {
		for n-done >= int(w) {
			m.load(w, rax, at(s, soff+int32(done)))
			m.store(w, at(d, doff+int32(done)), rax)
			done += int(w)
		}
	}
}
