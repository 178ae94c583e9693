package arm64

import "github.com/thrum-rpc/thrum/internal/engine/jit/asm"

// This file copies. The general copies are subroutines behind the code, one for
// each triple of registers, so that a copy costs few bytes where it stands.

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
	m.mov(saved, link)
	m.far(branchLink, l)
	m.mov(link, saved)
}

func (m *Machine) emitStubs() {
	for _, s := range m.pending {
		m.Bind(m.stubs[s])
		if s.w == asm.W8 {
			m.copyStub(s)
		} else {
			m.swapStub(s)
		}
	}
	m.pending = nil
}

// below jumps to l if n is less than v.
func (m *Machine) below(n reg, v int64, l asm.Label) { m.branchImm(asm.LO, n, v, l) }

// copyStub copies n bytes: short ones by overlapping moves from both ends, long
// ones in blocks, the last of which overlaps.
func (m *Machine) copyStub(s stub) {
	short, loop, last := m.Label(), m.Label(), m.Label()
	m.below(s.n, 16, short)
	m.rrr(add, value, s.src, s.n)
	m.rrr(add, other, s.dst, s.n)
	m.branchImm(asm.HI, s.n, 32, loop)
	m.load(vector, 0, s.src, 0)
	m.load(vector, 1, value, -16)
	m.store(vector, s.dst, 0, 0)
	m.store(vector, other, -16, 1)
	m.Emit32(ret)

	m.Bind(loop)
	m.branchImm(asm.LS, s.n, 64, last)
	m.vectors(s, 4, 0)
	m.advance(s, 64)
	m.plus(s.n, s.n, -64)
	m.far(branch, loop)
	m.Bind(last) // of 1 to 64 bytes, with more than 32 in all
	rest := m.Label()
	m.branchImm(asm.LS, s.n, 32, rest)
	m.vectors(s, 2, 0)
	m.Bind(rest)
	m.load(vector, 0, value, -32)
	m.load(vector, 1, value, -16)
	m.store(vector, other, -32, 0)
	m.store(vector, other, -16, 1)
	m.Emit32(ret)

	m.Bind(short)
	for _, w := range []asm.Width{asm.W64, asm.W32, asm.W16} {
		next := m.Label()
		m.below(s.n, int64(w), next)
		m.rrr(add, other, s.src, s.n)
		m.load(w, value, s.src, 0)
		m.load(w, other, other, -int32(w))
		m.rrr(add, address, s.dst, s.n)
		m.store(w, s.dst, 0, value)
		m.store(w, address, -int32(w), other)
		m.Emit32(ret)
		m.Bind(next)
	}
	m.load(asm.W8, value, s.src, 0)
	m.store(asm.W8, s.dst, 0, value)
	m.Emit32(ret)
}

// vectors copies count vectors, and permutes the bytes of each by op if that is not 0.
func (m *Machine) vectors(s stub, count int, op uint32) {
	for k := range count {
		m.load(vector, reg(k), s.src, int32(16*k))
	}
	if op != 0 {
		for k := range count {
			m.rr(op, reg(k), reg(k))
		}
	}
	for k := range count {
		m.store(vector, s.dst, int32(16*k), reg(k))
	}
}

func (m *Machine) advance(s stub, n int64) {
	m.plus(s.src, s.src, n)
	m.plus(s.dst, s.dst, n)
}

// swapStub copies 64 bytes at a time, then 16, then element by element.
func (m *Machine) swapStub(s stub) {
	op := map[asm.Width]uint32{asm.W16: vrev16, asm.W32: vrev32, asm.W64: vrev64}[s.w]
	for _, count := range []int{4, 1} {
		loop, done := m.Label(), m.Label()
		elements := int64(16 * count / int(s.w))
		m.Bind(loop)
		m.below(s.n, elements, done)
		m.vectors(s, count, op)
		m.advance(s, int64(16*count))
		m.plus(s.n, s.n, -elements)
		m.far(branch, loop)
		m.Bind(done)
	}
	loop, done := m.Label(), m.Label()
	m.Bind(loop)
	m.near(branchZero|uint32(s.n), done)
	m.load(s.w, value, s.src, 0)
	m.swap(s.w, value, value)
	m.store(s.w, s.dst, 0, value)
	m.advance(s, int64(s.w))
	m.plus(s.n, s.n, -1)
	m.far(branch, loop)
	m.Bind(done)
	m.Emit32(ret)
}

// CopyConst copies by the widest moves; the last may overlap the one before it.
func (m *Machine) CopyConst(dst asm.Reg, doff int32, src asm.Reg, soff int32, n int) {
	d, s := of(dst), of(src)
	done := 0
	for n-done >= 16 {
		m.load(vector, 0, s, soff+int32(done))
		m.store(vector, d, doff+int32(done), 0)
		done += 16
	}
	if n > 16 && n > done {
		m.load(vector, 0, s, soff+int32(n-16))
		m.store(vector, d, doff+int32(n-16), 0)
		return
	}
	for _, w := range []asm.Width{asm.W64, asm.W32, asm.W16, asm.W8} {
		for n-done >= int(w) {
			m.load(w, value, s, soff+int32(done))
			m.store(w, d, doff+int32(done), value)
			done += int(w)
		}
	}
}
