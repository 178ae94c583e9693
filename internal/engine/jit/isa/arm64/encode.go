package arm64

import (
	"encoding/binary"
	"errors"
	"math/bits"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
)

// This file encodes instructions: words with registers and constants in them.

// reg is a machine register by its number.
type reg uint32

// The registers that operations use for themselves, by what for.
const (
	value   reg = 15 // a value, or the end of a copy's source
	other   reg = 14 // a second one, or the end of a copy's target
	address reg = 16 // an offset or a constant that no instruction holds
	saved   reg = 17 // the return address during a subroutine
	link    reg = 30
	zero    reg = 31 // reads as 0
	stack   reg = 31 // where an instruction takes the stack pointer
)

func of(r asm.Reg) reg { return reg(r) }

// Instructions on three registers: d, n, m.
const (
	add  = 0x8b000000
	sub  = 0xcb000000
	subs = 0xeb000000
	and  = 0x8a000000
	ands = 0xea000000
	orr  = 0xaa000000
	eor  = 0xca000000
	lslv = 0x9ac02000
	lsrv = 0x9ac02400
	mul  = 0x9b007c00
)

// rrr emits an instruction on three registers.
func (m *Machine) rrr(op uint32, d, a, b reg) { m.Emit32(op | uint32(b<<16|a<<5|d)) }

// Instructions on two registers: d, n.
const (
	sxtb   = 0x93401c00
	sxth   = 0x93403c00
	sxtw   = 0x93407c00
	uxtb   = 0x53001c00
	uxth   = 0x53003c00
	rev    = 0xdac00c00 // 8 bytes
	revW   = 0x5ac00800 // 4 bytes
	rev16  = 0x5ac00400 // in each 2 bytes
	clz    = 0xdac01000
	rbit   = 0xdac00000
	vrev64 = 0x4e200800 // of vectors: in each 8, 4 and 2 bytes
	vrev32 = 0x6e200800
	vrev16 = 0x4e201800
)

// rr emits an instruction on two registers.
func (m *Machine) rr(op uint32, d, a reg) { m.Emit32(op | uint32(a<<5|d)) }

// Instructions with a constant of 12 bits, which may be shifted by 12.
const (
	addImm  = 0x91000000
	addsImm = 0xb1000000
	subImm  = 0xd1000000
	subsImm = 0xf1000000
)

// fits12 reports whether v can be a constant of 12 bits, shifted or not.
func fits12(v int64) bool { return v>>12 == 0 || v>>24 == 0 && v&0xfff == 0 }

// rri emits an instruction with a constant that fits12.
func (m *Machine) rri(op uint32, d, a reg, v int64) {
	if v>>12 != 0 {
		op, v = op|1<<22, v>>12
	}
	m.Emit32(op | uint32(v)<<10 | uint32(a<<5|d))
}

// plus sets d to a+v.
func (m *Machine) plus(d, a reg, v int64) {
	switch {
	case v == 0 && d == a:
	case fits12(v):
		m.rri(addImm, d, a, v)
	case fits12(-v):
		m.rri(subImm, d, a, -v)
	default:
		m.imm(address, uint64(v))
		m.rrr(add, d, a, address)
	}
}

// imm sets a register: by its 16-bit parts that are not all zeros, or not all ones.
func (m *Machine) imm(d reg, v uint64) {
	const movz, movn, movk = 0xd2800000, 0x92800000, 0xf2800000
	zeros, ones := 0, 0
	for part := range 4 {
		switch uint16(v >> (16 * part)) {
		case 0:
			zeros++
		case 0xffff:
			ones++
		}
	}
	if zeros == 4 || ones == 4 {
		m.Emit32(uint32(movz)&^uint32(v&1<<30) | uint32(d))
		return
	}
	first, skip, flip := uint32(movz), uint16(0), uint16(0)
	if ones > zeros {
		first, skip, flip = movn, 0xffff, 0xffff
	}
	op := first
	for part := range 4 {
		p := uint16(v >> (16 * part))
		if p == skip {
			continue
		}
		if op == movk {
			flip = 0
		}
		m.Emit32(op | uint32(part)<<21 | uint32(p^flip)<<5 | uint32(d))
		op = movk
	}
}

func (m *Machine) mov(d, s reg) {
	if d != s {
		m.rrr(orr, d, zero, s)
	}
}

// bitmask returns the encoding of v as the constant of a logical instruction, if v is one run
// of ones.
func bitmask(v uint64) (code uint32, ok bool) {
	if v == 0 || ^v == 0 {
		return 0, false
	}
	start := bits.TrailingZeros64(v)
	n := bits.TrailingZeros64(^(v >> start))
	if start+n < 64 && v>>(start+n) != 0 {
		return 0, false
	}
	return 1<<22 | uint32(64-start)&63<<16 | uint32(n-1)<<10, true
}

// logic emits and, orr, eor or ands with a constant.
func (m *Machine) logic(op uint32, d, a reg, v int32) {
	if code, ok := bitmask(uint64(int64(v))); ok {
		m.Emit32(op&0xe0000000 | 0x12000000 | code | uint32(a<<5|d))
		return
	}
	m.imm(address, uint64(int64(v)))
	m.rrr(op, d, a, address)
}

// shiftImm emits a bit-field move: left (lsl), or right without or with the sign.
func (m *Machine) bitfield(op uint32, d, a reg, immr, imms uint32) {
	m.Emit32(op | immr<<16 | imms<<10 | uint32(a<<5|d))
}

// transfer is a load or store of one width, in its forms.
type transfer struct {
	size     int32
	scaled   uint32 // the offset is a multiple of size, from 0 to 4095 times that
	unscaled uint32 // from -256 to 255
	indexed  uint32
}

var loads = map[asm.Width]transfer{
	asm.W8:  {1, 0x39400000, 0x38400000, 0x38606800},
	asm.W16: {2, 0x79400000, 0x78400000, 0x78606800},
	asm.W32: {4, 0xb9400000, 0xb8400000, 0xb8606800},
	asm.W64: {8, 0xf9400000, 0xf8400000, 0xf8606800},
	vector:  {16, 0x3dc00000, 0x3cc00000, 0x3ce06800},
}

var stores = map[asm.Width]transfer{
	asm.W8:  {1, 0x39000000, 0x38000000, 0x38206800},
	asm.W16: {2, 0x79000000, 0x78000000, 0x78206800},
	asm.W32: {4, 0xb9000000, 0xb8000000, 0xb8206800},
	asm.W64: {8, 0xf9000000, 0xf8000000, 0xf8206800},
	vector:  {16, 0x3d800000, 0x3c800000, 0x3ca06800},
}

// vector is the width of a vector register.
const vector asm.Width = 16

// transfer emits a load or store of r at base+off.
func (m *Machine) transfer(t transfer, r, base reg, off int32) {
	switch {
	case off >= 0 && off%t.size == 0 && off/t.size < 4096:
		m.Emit32(t.scaled | uint32(off/t.size)<<10 | uint32(base<<5|r))
	case off >= -256 && off < 256:
		m.Emit32(t.unscaled | uint32(off)&0x1ff<<12 | uint32(base<<5|r))
	default:
		m.imm(address, uint64(int64(off)))
		m.rrr(t.indexed, r, base, address)
	}
}

func (m *Machine) load(w asm.Width, d, base reg, off int32) { m.transfer(loads[w], d, base, off) }
func (m *Machine) store(w asm.Width, base reg, off int32, s reg) {
	m.transfer(stores[w], s, base, off)
}

// swap swaps the low bytes of s into d, with zeros above.
func (m *Machine) swap(w asm.Width, d, s reg) {
	switch w {
	case asm.W8:
		m.rr(uxtb, d, s)
	case asm.W16:
		m.rr(rev16, d, s)
		m.rr(uxth, d, d)
	case asm.W32:
		m.rr(revW, d, s)
	default:
		m.rr(rev, d, s)
	}
}

// codes of conditions.
var conds = [...]uint32{asm.EQ: 0, asm.NE: 1, asm.LO: 3, asm.LS: 9, asm.HI: 8, asm.HS: 2, asm.LT: 11, asm.LE: 13, asm.GT: 12, asm.GE: 10}

// Jumps and the like.
const (
	branch     = 0x14000000
	branchLink = 0x94000000
	branchIf   = 0x54000000
	branchZero = 0xb4000000
	branchSet  = 0xb5000000 // not zero
	adr        = 0x10000000
	branchReg  = 0xd61f0000
	ret        = 0xd65f03c0
)

var errFar = errors.New("arm64: a jump is too far")

// far emits an instruction with the distance to l in its low 26 bits.
func (m *Machine) far(op uint32, l asm.Label) {
	m.refer(op, l, func(word uint32, distance int) (uint32, bool) {
		n := distance >> 2
		return word | uint32(n)&(1<<26-1), n >= -1<<25 && n < 1<<25
	})
}

// near emits an instruction with the distance to l in 19 bits.
func (m *Machine) near(op uint32, l asm.Label) {
	m.refer(op, l, func(word uint32, distance int) (uint32, bool) {
		n := distance >> 2
		return word | uint32(n)&(1<<19-1)<<5, n >= -1<<18 && n < 1<<18
	})
}

func (m *Machine) branchIf(c asm.Cond, l asm.Label) { m.near(branchIf|conds[c], l) }

// refer emits an instruction that is completed when the distance to l is known.
func (m *Machine) refer(op uint32, l asm.Label, complete func(word uint32, distance int) (uint32, bool)) {
	m.Refer(len(m.Code), l, func(code []byte, at, target int) error {
		word, ok := complete(binary.LittleEndian.Uint32(code[at:]), target-at)
		if !ok {
			return errFar
		}
		binary.LittleEndian.PutUint32(code[at:], word)
		return nil
	})
	m.Emit32(op)
}
