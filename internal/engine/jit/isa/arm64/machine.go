package arm64

import "github.com/thrum-rpc/thrum/internal/engine/jit/asm"

// Machine makes arm64 code.
type Machine struct {
	asm.Buffer
	stubs   map[stub]asm.Label
	pending []stub // in the order of their first use
}

var _ asm.Machine = (*Machine)(nil)

// New returns an empty machine.
func New() *Machine { return &Machine{stubs: make(map[stub]asm.Label)} }

// Finish returns the code.
func (m *Machine) Finish() ([]byte, error) {
	m.emitStubs()
	return m.Code, m.Resolve()
}

func (m *Machine) Addr(d asm.Reg, l asm.Label) {
	m.refer(adr|uint32(of(d)), l, func(word uint32, distance int) (uint32, bool) {
		return word | uint32(distance)&3<<29 | uint32(distance>>2)&(1<<19-1)<<5, distance >= -1<<20 && distance < 1<<20
	})
}

func (m *Machine) Jump(l asm.Label)  { m.far(branch, l) }
func (m *Machine) JumpReg(r asm.Reg) { m.rr(branchReg, 0, of(r)) }
func (m *Machine) Exit(status uint32) {
	m.imm(0, uint64(status))
	m.Emit32(ret)
}

// Stack skips the return address, which Go's functions keep at the bottom of their frame.
func (m *Machine) Stack(d asm.Reg) { m.rri(addImm, of(d), stack, 8) }

func (m *Machine) Mov(d, s asm.Reg)        { m.mov(of(d), of(s)) }
func (m *Machine) Imm(d asm.Reg, v uint64) { m.imm(of(d), v) }

func (m *Machine) Load(w asm.Width, d, base asm.Reg, off int32) { m.load(w, of(d), of(base), off) }
func (m *Machine) LoadSigned(w asm.Width, d, base asm.Reg, off int32) {
	m.Load(w, d, base, off)
	m.SignExtend(w, d, d)
}

func (m *Machine) LoadBE(w asm.Width, d, base asm.Reg, off int32) {
	m.Load(w, d, base, off)
	if w != asm.W8 {
		m.Swap(w, d, d)
	}
}

func (m *Machine) LoadX(w asm.Width, d, base, index asm.Reg) {
	m.rrr(loads[w].indexed, of(d), of(base), of(index))
}

func (m *Machine) Store(w asm.Width, base asm.Reg, off int32, s asm.Reg) {
	m.store(w, of(base), off, of(s))
}

func (m *Machine) StoreBE(w asm.Width, base asm.Reg, off int32, s asm.Reg) {
	m.swap(w, value, of(s))
	m.store(w, of(base), off, value)
}

func (m *Machine) StoreX(w asm.Width, base, index, s asm.Reg) {
	m.rrr(stores[w].indexed, of(s), of(base), of(index))
}

func (m *Machine) StoreImm(w asm.Width, base asm.Reg, off int32, v uint64) {
	if w != asm.W64 {
		v &= 1<<(8*w) - 1
	}
	if v == 0 {
		m.store(w, of(base), off, zero)
		return
	}
	m.imm(value, v)
	m.store(w, of(base), off, value)
}

func (m *Machine) Add(d, a, b asm.Reg) { m.rrr(add, of(d), of(a), of(b)) }
func (m *Machine) Sub(d, a, b asm.Reg) { m.rrr(sub, of(d), of(a), of(b)) }
func (m *Machine) And(d, a, b asm.Reg) { m.rrr(and, of(d), of(a), of(b)) }
func (m *Machine) Or(d, a, b asm.Reg)  { m.rrr(orr, of(d), of(a), of(b)) }
func (m *Machine) Xor(d, a, b asm.Reg) { m.rrr(eor, of(d), of(a), of(b)) }

func (m *Machine) AddImm(d, a asm.Reg, v int32) { m.plus(of(d), of(a), int64(v)) }
func (m *Machine) AndImm(d, a asm.Reg, v int32) { m.logic(and, of(d), of(a), v) }
func (m *Machine) OrImm(d, a asm.Reg, v int32)  { m.logic(orr, of(d), of(a), v) }
func (m *Machine) XorImm(d, a asm.Reg, v int32) { m.logic(eor, of(d), of(a), v) }
func (m *Machine) MulImm(d, a asm.Reg, v int32) {
	m.imm(address, uint64(int64(v)))
	m.rrr(mul, of(d), of(a), address)
}

func (m *Machine) ShlImm(d, a asm.Reg, n uint8) {
	m.bitfield(0xd3400000, of(d), of(a), uint32(64-n)&63, uint32(63-n))
}
func (m *Machine) ShrImm(d, a asm.Reg, n uint8) { m.bitfield(0xd3400000, of(d), of(a), uint32(n), 63) }
func (m *Machine) SarImm(d, a asm.Reg, n uint8) { m.bitfield(0x93400000, of(d), of(a), uint32(n), 63) }

func (m *Machine) Shl(d, a, by asm.Reg) { m.rrr(lslv, of(d), of(a), of(by)) }
func (m *Machine) Shr(d, a, by asm.Reg) { m.rrr(lsrv, of(d), of(a), of(by)) }

func (m *Machine) Swap(w asm.Width, d, s asm.Reg) { m.swap(w, of(d), of(s)) }

func (m *Machine) SignExtend(w asm.Width, d, s asm.Reg) {
	switch w {
	case asm.W8:
		m.rr(sxtb, of(d), of(s))
	case asm.W16:
		m.rr(sxth, of(d), of(s))
	case asm.W32:
		m.rr(sxtw, of(d), of(s))
	default:
		m.Mov(d, s)
	}
}

func (m *Machine) BitLen(d, s asm.Reg) {
	m.rr(clz, address, of(s))
	m.imm(value, 64)
	m.rrr(sub, of(d), value, address)
}

func (m *Machine) TrailingZeros(d, s asm.Reg) {
	m.rr(rbit, address, of(s))
	m.rr(clz, of(d), address)
}

func (m *Machine) Branch(c asm.Cond, a, b asm.Reg, l asm.Label) {
	m.rrr(subs, zero, of(a), of(b))
	m.branchIf(c, l)
}

func (m *Machine) BranchImm(c asm.Cond, a asm.Reg, v int32, l asm.Label) {
	m.branchImm(c, of(a), int64(v), l)
}

func (m *Machine) branchImm(c asm.Cond, a reg, v int64, l asm.Label) {
	same := c == asm.EQ || c == asm.NE
	switch {
	case v == 0 && c == asm.EQ:
		m.near(branchZero|uint32(a), l)
		return
	case v == 0 && c == asm.NE:
		m.near(branchSet|uint32(a), l)
		return
	case fits12(v):
		m.rri(subsImm, zero, a, v)
	case fits12(-v):
		m.rri(addsImm, zero, a, -v)
	case same && v>>24 == 0: // a field's header
		m.rri(subImm, address, a, v&^0xfff)
		m.rri(subsImm, zero, address, v&0xfff)
	default:
		m.imm(address, uint64(v))
		m.rrr(subs, zero, a, address)
	}
	m.branchIf(c, l)
}

func (m *Machine) BranchMem(c asm.Cond, a, base asm.Reg, off int32, l asm.Label) {
	m.load(asm.W64, value, of(base), off)
	m.rrr(subs, zero, of(a), value)
	m.branchIf(c, l)
}

func (m *Machine) BranchMemImm(w asm.Width, c asm.Cond, base asm.Reg, off int32, v int32, l asm.Label) {
	m.load(w, value, of(base), off)
	m.branchImm(c, value, int64(v), l)
}

func (m *Machine) BranchBits(a asm.Reg, mask int32, set bool, l asm.Label) {
	m.logic(ands, zero, of(a), mask)
	if set {
		m.branchIf(asm.NE, l)
	} else {
		m.branchIf(asm.EQ, l)
	}
}
