// Package amd64 is the portable machine in the instructions of amd64: those of
// every such processor, and AVX2 for bulk copies where Features says so. It
// runs on any host.
package amd64

import "github.com/thrum-rpc/thrum/internal/engine/jit/asm"

// Features are what a processor has beyond the base.
type Features struct {
	AVX2 bool
	PDEP bool // BMI2, with a fast PDEP
}

// Machine makes amd64 code.
type Machine struct {
	asm.Buffer
	features Features
	stubs    map[stub]asm.Label
	pending  []stub // in the order of their first use
}

var _ asm.Machine = (*Machine)(nil)

// New returns an empty machine.
func New(f Features) *Machine { return &Machine{features: f, stubs: make(map[stub]asm.Label)} }

// Finish returns the code.
func (m *Machine) Finish() ([]byte, error) {
	m.emitStubs()
	return m.Code, m.Resolve()
}

func (m *Machine) Addr(d asm.Reg, l asm.Label) {
	m.leaRIP(of(d), l)
}

// leaRIP sets d to the address of l.
func (m *Machine) leaRIP(d reg, l asm.Label) {
	m.prefix(wide, d, 0, 0)
	m.Emit(0x8d, byte(d&7)<<3|5)
	m.relative(l)
}

func (m *Machine) Jump(l asm.Label) {
	m.Emit(0xe9)
	m.relative(l)
}

func (m *Machine) JumpReg(r asm.Reg) { m.rr(0, 4, of(r), 0xff) }

func (m *Machine) Exit(status uint32) {
	m.imm(rax, uint64(status))
	m.Emit(0xc3)
}

// Stack skips the return address, which the call of the code has pushed.
func (m *Machine) Stack(d asm.Reg) { m.rm(wide, of(d), at(rsp, 8), 0x8d) }

func (m *Machine) Mov(d, s asm.Reg)        { m.mov(of(d), of(s)) }
func (m *Machine) Imm(d asm.Reg, v uint64) { m.imm(of(d), v) }

func (m *Machine) Load(w asm.Width, d, base asm.Reg, off int32) { m.load(w, of(d), at(of(base), off)) }
func (m *Machine) LoadX(w asm.Width, d, base, index asm.Reg) {
	m.load(w, of(d), atX(of(base), of(index), 0))
}

func (m *Machine) LoadSigned(w asm.Width, d, base asm.Reg, off int32) {
	a := at(of(base), off)
	switch w {
	case asm.W8:
		m.rm(wide, of(d), a, 0x0f, 0xbe)
	case asm.W16:
		m.rm(wide, of(d), a, 0x0f, 0xbf)
	case asm.W32:
		m.rm(wide, of(d), a, 0x63)
	default:
		m.rm(wide, of(d), a, 0x8b)
	}
}

func (m *Machine) LoadBE(w asm.Width, d, base asm.Reg, off int32) {
	m.Load(w, d, base, off)
	if w != asm.W8 {
		m.swap(w, of(d), of(d))
	}
}

func (m *Machine) Store(w asm.Width, base asm.Reg, off int32, s asm.Reg) {
	m.store(w, at(of(base), off), of(s))
}
func (m *Machine) StoreX(w asm.Width, base, index, s asm.Reg) {
	m.store(w, atX(of(base), of(index), 0), of(s))
}

func (m *Machine) StoreBE(w asm.Width, base asm.Reg, off int32, s asm.Reg) {
	if w == asm.W8 {
		m.Store(w, base, off, s)
		return
	}
	m.swap(w, rax, of(s))
	m.store(w, at(of(base), off), rax)
}

func (m *Machine) StoreImm(w asm.Width, base asm.Reg, off int32, v uint64) {
	a := at(of(base), off)
	switch w {
	case asm.W8:
		m.rm(0, 0, a, 0xc6)
		m.Emit(byte(v))
	case asm.W16:
		m.rm(half, 0, a, 0xc7)
		m.Emit(byte(v), byte(v>>8))
	case asm.W32:
		m.rm(0, 0, a, 0xc7)
		m.Emit32(uint32(v))
	default:
		if int64(v) == int64(int32(v)) {
			m.rm(wide, 0, a, 0xc7)
			m.Emit32(uint32(v))
			return
		}
		m.imm(rax, v)
		m.store(w, a, rax)
	}
}

func (m *Machine) Add(d, a, b asm.Reg) {
	switch d {
	case a:
		m.rr(wide, of(b), of(d), 0x01)
	case b:
		m.rr(wide, of(a), of(d), 0x01)
	default:
		m.rm(wide, of(d), atX(of(a), of(b), 0), 0x8d)
	}
}

func (m *Machine) Sub(d, a, b asm.Reg) {
	if d == b && d != a {
		m.rr(wide, 3, of(d), 0xf7) // neg
		m.rr(wide, of(a), of(d), 0x01)
		return
	}
	m.mov(of(d), of(a))
	m.rr(wide, of(b), of(d), 0x29)
}

func (m *Machine) And(d, a, b asm.Reg) { m.logic(0x21, d, a, b) }
func (m *Machine) Or(d, a, b asm.Reg)  { m.logic(0x09, d, a, b) }
func (m *Machine) Xor(d, a, b asm.Reg) { m.logic(0x31, d, a, b) }

// logic emits an instruction whose operands can change places.
func (m *Machine) logic(opcode byte, d, a, b asm.Reg) {
	if d == b {
		a, b = b, a
	}
	m.mov(of(d), of(a))
	m.rr(wide, of(b), of(d), opcode)
}

func (m *Machine) AddImm(d, a asm.Reg, v int32) {
	switch {
	case d == a && v == 0:
	case d == a:
		m.arith(0, of(d), v)
	default:
		m.rm(wide, of(d), at(of(a), v), 0x8d)
	}
}

func (m *Machine) AndImm(d, a asm.Reg, v int32) { m.logicImm(4, d, a, v) }
func (m *Machine) OrImm(d, a asm.Reg, v int32)  { m.logicImm(1, d, a, v) }
func (m *Machine) XorImm(d, a asm.Reg, v int32) { m.logicImm(6, d, a, v) }

func (m *Machine) logicImm(op byte, d, a asm.Reg, v int32) {
	m.mov(of(d), of(a))
	m.arith(op, of(d), v)
}

func (m *Machine) MulImm(d, a asm.Reg, v int32) {
	m.rr(wide, of(d), of(a), 0x69)
	m.Emit32(uint32(v))
}

func (m *Machine) ShlImm(d, a asm.Reg, n uint8) { m.shiftImm(4, d, a, n) }
func (m *Machine) ShrImm(d, a asm.Reg, n uint8) { m.shiftImm(5, d, a, n) }
func (m *Machine) SarImm(d, a asm.Reg, n uint8) { m.shiftImm(7, d, a, n) }

func (m *Machine) shiftImm(op byte, d, a asm.Reg, n uint8) {
	m.mov(of(d), of(a))
	m.shift(op, of(d), n)
}

func (m *Machine) Shl(d, a, by asm.Reg) { m.shiftReg(4, d, a, by) }
func (m *Machine) Shr(d, a, by asm.Reg) { m.shiftReg(5, d, a, by) }

func (m *Machine) shiftReg(op byte, d, a, by asm.Reg) {
	m.mov(rcx, of(by))
	m.mov(of(d), of(a))
	m.rr(wide, reg(op), of(d), 0xd3)
}

func (m *Machine) Swap(w asm.Width, d, s asm.Reg) { m.swap(w, of(d), of(s)) }

func (m *Machine) SignExtend(w asm.Width, d, s asm.Reg) {
	switch w {
	case asm.W8:
		m.rr(wide, of(d), of(s), 0x0f, 0xbe)
	case asm.W16:
		m.rr(wide, of(d), of(s), 0x0f, 0xbf)
	case asm.W32:
		m.rr(wide, of(d), of(s), 0x63)
	default:
		m.mov(of(d), of(s))
	}
}

func (m *Machine) BitLen(d, s asm.Reg) {
	m.rr(wide, of(d), of(s), 0x0f, 0xbd) // bsr
	m.arith(0, of(d), 1)
}

func (m *Machine) TrailingZeros(d, s asm.Reg) { m.rr(wide, of(d), of(s), 0x0f, 0xbc) } // bsf

// Spread sets d to the lower 56 bits of s with a zero above each seven, where one instruction does that.
func (m *Machine) Spread(d, s asm.Reg) bool {
	if !m.features.PDEP {
		return false
	}
	m.imm(rax, 0x7f7f7f7f7f7f7f7f)
	// pdep d, s, rax
	m.Emit(0xc4, ^(byte(of(d)>>3)<<7)&0xe0|2, 0x80|^byte(of(s))&15<<3|3, 0xf5, 0xc0|byte(of(d)&7)<<3)
	return true
}

// Gather is the reverse of Spread: it sets d to the lower seven bits of each byte of s.
func (m *Machine) Gather(d, s asm.Reg) bool {
	if !m.features.PDEP {
		return false
	}
	m.imm(rax, 0x7f7f7f7f7f7f7f7f)
	// pext d, s, rax
	m.Emit(0xc4, ^(byte(of(d)>>3)<<7)&0xe0|2, 0x80|^byte(of(s))&15<<3|2, 0xf5, 0xc0|byte(of(d)&7)<<3)
	return true
}

func (m *Machine) Branch(c asm.Cond, a, b asm.Reg, l asm.Label) {
	m.rr(wide, of(b), of(a), 0x39)
	m.jcc(c, l)
}

func (m *Machine) BranchImm(c asm.Cond, a asm.Reg, v int32, l asm.Label) {
	m.compareImm(of(a), v)
	m.jcc(c, l)
}

func (m *Machine) compareImm(a reg, v int32) {
	if v == 0 {
		m.rr(wide, a, a, 0x85) // test
		return
	}
	m.arith(7, a, v)
}

func (m *Machine) BranchMem(c asm.Cond, a, base asm.Reg, off int32, l asm.Label) {
	m.rm(wide, of(a), at(of(base), off), 0x3b)
	m.jcc(c, l)
}

func (m *Machine) BranchMemImm(w asm.Width, c asm.Cond, base asm.Reg, off int32, v int32, l asm.Label) {
	a := at(of(base), off)
	switch w {
	case asm.W8:
		m.rm(0, 7, a, 0x80)
		m.Emit(byte(v))
	case asm.W16:
		m.rm(half, 7, a, 0x81)
		m.Emit(byte(v), byte(v>>8))
	case asm.W32:
		m.rm(0, 7, a, 0x81)
		m.Emit32(uint32(v))
	default:
		m.rm(wide, 7, a, 0x81)
		m.Emit32(uint32(v))
	}
	m.jcc(c, l)
}

func (m *Machine) BranchBits(a asm.Reg, mask int32, set bool, l asm.Label) {
	m.rr(wide, 0, of(a), 0xf7)
	m.Emit32(uint32(mask))
	if set {
		m.jcc(asm.NE, l)
	} else {
		m.jcc(asm.EQ, l)
	}
}
