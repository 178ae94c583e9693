package amd64

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
)

// This file encodes instructions: prefixes, opcodes, operands.

// reg is a machine register by its number.
type reg uint8

const (
	rax reg = iota
	rcx
	rdx
	rbx
	rsp
	rbp
	rsi
	rdi
	r8
	r9
	r10
	r11
	r12
	r13
	r14
	r15
)

// general maps the portable registers. rax and rcx serve the operations
// themselves; rsp and rbp are the caller's.
var general = [asm.Regs]reg{rdi, rsi, rdx, rbx, r8, r9, r10, r11, r12, r13, r14, r15}

func of(r asm.Reg) reg { return general[r] }

// mem is an operand in memory: base+off, or base+index+off.
type mem struct {
	base  reg
	off   int32
	index reg // rsp for none, as in the encoding
}

func at(base reg, off int32) mem { return mem{base, off, rsp} }

func atX(base, index reg, off int32) mem { return mem{base, off, index} }

// form says how the operands of an instruction are encoded.
type form uint8

const (
	wide   form = 1 << iota // 64-bit operands: REX.W
	half                    // 16-bit operands: the prefix 66
	bytes8                  // the register is a byte: REX even if empty, for sil and its like
)

// prefix emits the prefixes for a register field, an index and a base.
func (m *Machine) prefix(f form, r, x, b reg) {
	if f&half != 0 {
		m.Emit(0x66)
	}
	rex := byte(0x40) | byte(r>>3)<<2 | byte(x>>3)<<1 | byte(b>>3)
	if f&wide != 0 {
		rex |= 8
	}
	if rex != 0x40 || f&bytes8 != 0 {
		m.Emit(rex)
	}
}

// rr emits an instruction on two registers: r in the register field, b as the other operand.
func (m *Machine) rr(f form, r, b reg, opcode ...byte) {
	m.prefix(f, r, 0, b)
	m.Emit(opcode...)
	m.Emit(0xc0 | byte(r&7)<<3 | byte(b&7))
}

// rm emits an instruction on a register (or an opcode extension) and memory.
func (m *Machine) rm(f form, r reg, a mem, opcode ...byte) {
	x := a.index
	if x == rsp {
		x = 0
	}
	m.prefix(f, r, x, a.base)
	m.Emit(opcode...)
	m.operand(r, a)
}

// operand emits the bytes that say which register and memory.
func (m *Machine) operand(r reg, a mem) {
	mod := byte(0x80)
	switch {
	case a.off == 0 && a.base&7 != rbp:
		mod = 0
	case a.off >= math.MinInt8 && a.off <= math.MaxInt8:
		mod = 0x40
	}
	if a.index != rsp || a.base&7 == rsp {
		m.Emit(mod|byte(r&7)<<3|4, byte(a.index&7)<<3|byte(a.base&7))
	} else {
		m.Emit(mod | byte(r&7)<<3 | byte(a.base&7))
	}
	switch mod {
	case 0x40:
		m.Emit(byte(a.off))
	case 0x80:
		m.Emit32(uint32(a.off))
	}
}

// arith emits one of the eight arithmetic instructions (0 add, 1 or, 4 and, 5
// sub, 6 xor, 7 cmp) on a 64-bit register and a constant.
func (m *Machine) arith(op byte, d reg, v int32) {
	if v >= math.MinInt8 && v <= math.MaxInt8 {
		m.rr(wide, reg(op), d, 0x83)
		m.Emit(byte(v))
		return
	}
	m.rr(wide, reg(op), d, 0x81)
	m.Emit32(uint32(v))
}

// mov copies a register.
func (m *Machine) mov(d, s reg) {
	if d != s {
		m.rr(wide, s, d, 0x89)
	}
}

// imm sets a register.
func (m *Machine) imm(d reg, v uint64) {
	switch {
	case v == 0:
		m.rr(0, d, d, 0x31)
	case v <= math.MaxUint32:
		m.prefix(0, 0, 0, d)
		m.Emit(0xb8 | byte(d&7))
		m.Emit32(uint32(v))
	case int64(v) >= math.MinInt32 && int64(v) < 0:
		m.rr(wide, 0, d, 0xc7)
		m.Emit32(uint32(v))
	default:
		m.prefix(wide, 0, 0, d)
		m.Emit(0xb8 | byte(d&7))
		m.Emit64(v)
	}
}

// load loads with zeros above.
func (m *Machine) load(w asm.Width, d reg, a mem) {
	switch w {
	case asm.W8:
		m.rm(0, d, a, 0x0f, 0xb6)
	case asm.W16:
		m.rm(0, d, a, 0x0f, 0xb7)
	case asm.W32:
		m.rm(0, d, a, 0x8b)
	default:
		m.rm(wide, d, a, 0x8b)
	}
}

// store stores the low bytes.
func (m *Machine) store(w asm.Width, a mem, s reg) {
	switch w {
	case asm.W8:
		m.rm(bytes8, s, a, 0x88)
	case asm.W16:
		m.rm(half, s, a, 0x89)
	case asm.W32:
		m.rm(0, s, a, 0x89)
	default:
		m.rm(wide, s, a, 0x89)
	}
}

// swap swaps the low bytes of s into d, with zeros above.
func (m *Machine) swap(w asm.Width, d, s reg) {
	switch w {
	case asm.W8:
		m.rr(bytes8, d, s, 0x0f, 0xb6)
	case asm.W16:
		m.rr(0, d, s, 0x0f, 0xb7)
		m.rr(half, 0, d, 0xc1) // rol d, 8
		m.Emit(8)
	case asm.W32:
		m.rr(0, s, d, 0x89)
		m.prefix(0, 0, 0, d)
		m.Emit(0x0f, 0xc8|byte(d&7))
	default:
		m.mov(d, s)
		m.prefix(wide, 0, 0, d)
		m.Emit(0x0f, 0xc8|byte(d&7))
	}
}

// shift shifts d by a constant: 4 left, 5 right, 7 right with its sign.
func (m *Machine) shift(op byte, d reg, n uint8) {
	m.rr(wide, reg(op), d, 0xc1)
	m.Emit(n)
}

// codes of conditions, as jcc has them.
var conds = [...]byte{asm.EQ: 4, asm.NE: 5, asm.LO: 2, asm.LS: 6, asm.HI: 7, asm.HS: 3, asm.LT: 0xc, asm.LE: 0xe, asm.GT: 0xf, asm.GE: 0xd}

func (m *Machine) jcc(c asm.Cond, l asm.Label) {
	m.Emit(0x0f, 0x80|conds[c])
	m.relative(l)
}

// relative emits the distance from its own end to l.
func (m *Machine) relative(l asm.Label) {
	m.Refer(len(m.Code), l, func(code []byte, at, target int) error {
		binary.LittleEndian.PutUint32(code[at:], uint32(target-at-4))
		return nil
	})
	m.Emit32(0)
}
