package jit

import (
	"encoding/binary"
	"math/bits"
	"math/rand"
	"runtime"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file runs the operations of the portable machine on the processor of this host.

func needsMachine(t testing.TB) {
	t.Helper()
	if newMachine() == nil || !execmem.Supported() {
		t.Skip("no machine code here")
	}
}

// runCode makes code, and runs it on p and q.
func runCode(t testing.TB, block *enter.Block, p, q mem.Pointer, make func(asm.Machine)) uint64 {
	t.Helper()
	m := newMachine()
	make(m)
	b, err := m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	code, err := execmem.New(b)
	if err != nil {
		t.Fatal(err)
	}
	status := enter.Call(code.Addr(), block, p, q)
	runtime.KeepAlive(code)
	return status
}

func TestCodeRunsAndReturnsItsStatus(t *testing.T) {
	needsMachine(t)
	if got := runCode(t, new(enter.Block), nil, nil, func(m asm.Machine) { m.Exit(4711) }); got != 4711 {
		t.Errorf("the status is %d", got)
	}
}

// numbers are operands at the edges.
var numbers = []uint64{0, 1, 2, 7, 127, 128, 255, 256, 65535, 65536, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<63 - 1, 1 << 63, 1<<64 - 1, 0x0123456789abcdef}

// operations are those of two numbers, with what they are in Go.
var operations = map[string]struct {
	make func(m asm.Machine, d, a, b asm.Reg)
	want func(a, b uint64) uint64
}{
	"add":    {func(m asm.Machine, d, a, b asm.Reg) { m.Add(d, a, b) }, func(a, b uint64) uint64 { return a + b }},
	"sub":    {func(m asm.Machine, d, a, b asm.Reg) { m.Sub(d, a, b) }, func(a, b uint64) uint64 { return a - b }},
	"and":    {func(m asm.Machine, d, a, b asm.Reg) { m.And(d, a, b) }, func(a, b uint64) uint64 { return a & b }},
	"or":     {func(m asm.Machine, d, a, b asm.Reg) { m.Or(d, a, b) }, func(a, b uint64) uint64 { return a | b }},
	"xor":    {func(m asm.Machine, d, a, b asm.Reg) { m.Xor(d, a, b) }, func(a, b uint64) uint64 { return a ^ b }},
	"mov":    {func(m asm.Machine, d, a, b asm.Reg) { m.Mov(d, a) }, func(a, b uint64) uint64 { return a }},
	"addi":   {func(m asm.Machine, d, a, b asm.Reg) { m.AddImm(d, a, -1000) }, func(a, b uint64) uint64 { return a - 1000 }},
	"andi":   {func(m asm.Machine, d, a, b asm.Reg) { m.AndImm(d, a, 0x7f) }, func(a, b uint64) uint64 { return a & 0x7f }},
	"ori":    {func(m asm.Machine, d, a, b asm.Reg) { m.OrImm(d, a, 0x1234) }, func(a, b uint64) uint64 { return a | 0x1234 }},
	"xori":   {func(m asm.Machine, d, a, b asm.Reg) { m.XorImm(d, a, -1) }, func(a, b uint64) uint64 { return ^a }},
	"muli":   {func(m asm.Machine, d, a, b asm.Reg) { m.MulImm(d, a, 24) }, func(a, b uint64) uint64 { return a * 24 }},
	"shli":   {func(m asm.Machine, d, a, b asm.Reg) { m.ShlImm(d, a, 7) }, func(a, b uint64) uint64 { return a << 7 }},
	"shri":   {func(m asm.Machine, d, a, b asm.Reg) { m.ShrImm(d, a, 9) }, func(a, b uint64) uint64 { return a >> 9 }},
	"sari":   {func(m asm.Machine, d, a, b asm.Reg) { m.SarImm(d, a, 63) }, func(a, b uint64) uint64 { return uint64(int64(a) >> 63) }},
	"shl":    {func(m asm.Machine, d, a, b asm.Reg) { m.AndImm(b, b, 63); m.Shl(d, a, b) }, func(a, b uint64) uint64 { return a << (b & 63) }},
	"shr":    {func(m asm.Machine, d, a, b asm.Reg) { m.AndImm(b, b, 63); m.Shr(d, a, b) }, func(a, b uint64) uint64 { return a >> (b & 63) }},
	"swap64": {func(m asm.Machine, d, a, b asm.Reg) { m.Swap(asm.W64, d, a) }, func(a, b uint64) uint64 { return bits.ReverseBytes64(a) }},
	"swap32": {func(m asm.Machine, d, a, b asm.Reg) { m.Swap(asm.W32, d, a) }, func(a, b uint64) uint64 { return uint64(bits.ReverseBytes32(uint32(a))) }},
	"swap16": {func(m asm.Machine, d, a, b asm.Reg) { m.Swap(asm.W16, d, a) }, func(a, b uint64) uint64 { return uint64(bits.ReverseBytes16(uint16(a))) }},
	"swap8":  {func(m asm.Machine, d, a, b asm.Reg) { m.Swap(asm.W8, d, a) }, func(a, b uint64) uint64 { return a & 255 }},
	"sign8":  {func(m asm.Machine, d, a, b asm.Reg) { m.SignExtend(asm.W8, d, a) }, func(a, b uint64) uint64 { return uint64(int8(a)) }},
	"sign16": {func(m asm.Machine, d, a, b asm.Reg) { m.SignExtend(asm.W16, d, a) }, func(a, b uint64) uint64 { return uint64(int16(a)) }},
	"sign32": {func(m asm.Machine, d, a, b asm.Reg) { m.SignExtend(asm.W32, d, a) }, func(a, b uint64) uint64 { return uint64(int32(a)) }},
	"bitlen": {func(m asm.Machine, d, a, b asm.Reg) { m.OrImm(a, a, 1); m.BitLen(d, a) }, func(a, b uint64) uint64 { return uint64(bits.Len64(a | 1)) }},
	"zeros":  {func(m asm.Machine, d, a, b asm.Reg) { m.OrImm(a, a, 64); m.TrailingZeros(d, a) }, func(a, b uint64) uint64 { return uint64(bits.TrailingZeros64(a | 64)) }},
}

// triples are registers for a result and two operands: each register in each role, and the same in two.
func triples() (all [][3]asm.Reg) {
	for i := range asm.Reg(asm.Regs) {
		j, k := (i+1)%asm.Regs, (i+5)%asm.Regs
		if i*j*k == 0 { // the block stays where it is
			continue
		}
		all = append(all, [3]asm.Reg{i, j, k}, [3]asm.Reg{i, i, k}, [3]asm.Reg{i, j, i})
	}
	return all
}

func TestOperationsComputeWhatGoDoes(t *testing.T) {
	needsMachine(t)
	for name, op := range operations {
		for _, r := range triples() {
			m := newMachine()
			m.Load(asm.W64, r[1], asm.R0, 0)
			m.Load(asm.W64, r[2], asm.R0, 8)
			op.make(m, r[0], r[1], r[2])
			m.Store(asm.W64, asm.R0, 16, r[0])
			m.Exit(0)
			b, err := m.Finish()
			if err != nil {
				t.Fatal(err)
			}
			code, err := execmem.New(b)
			if err != nil {
				t.Fatal(err)
			}
			for _, x := range numbers {
				for _, y := range numbers {
					if r[1] == r[2] {
						y = x
					}
					block := enter.Block{x, y}
					enter.Call(code.Addr(), &block, nil, nil)
					if want := op.want(x, y); block[2] != want {
						t.Fatalf("%s of %#x and %#x in %v is %#x, want %#x", name, x, y, r, block[2], want)
					}
				}
			}
			runtime.KeepAlive(code)
		}
	}
}

var conditions = map[asm.Cond]func(a, b uint64) bool{
	asm.EQ: func(a, b uint64) bool { return a == b }, asm.NE: func(a, b uint64) bool { return a != b },
	asm.LO: func(a, b uint64) bool { return a < b }, asm.LS: func(a, b uint64) bool { return a <= b },
	asm.HI: func(a, b uint64) bool { return a > b }, asm.HS: func(a, b uint64) bool { return a >= b },
	asm.LT: func(a, b uint64) bool { return int64(a) < int64(b) }, asm.LE: func(a, b uint64) bool { return int64(a) <= int64(b) },
	asm.GT: func(a, b uint64) bool { return int64(a) > int64(b) }, asm.GE: func(a, b uint64) bool { return int64(a) >= int64(b) },
}

func TestBranchesGoWhereGoWould(t *testing.T) {
	needsMachine(t)
	check := func(name string, x, y uint64, want bool, branch func(m asm.Machine, l asm.Label)) {
		t.Helper()
		got := runCode(t, &enter.Block{x, y}, nil, nil, func(m asm.Machine) {
			l := m.Label()
			m.Load(asm.W64, asm.R3, asm.R0, 0)
			m.Load(asm.W64, asm.R11, asm.R0, 8)
			branch(m, l)
			m.Exit(0)
			m.Bind(l)
			m.Exit(1)
		})
		if (got == 1) != want {
			t.Fatalf("%s of %#x and %#x: jumped is %d, want %v", name, x, y, got, want)
		}
	}
	for c, want := range conditions {
		for _, x := range numbers {
			for _, y := range []uint64{0, 1, 128, 1<<31 - 1, 1 << 63, 1<<64 - 1, x} {
				check("branch", x, y, want(x, y), func(m asm.Machine, l asm.Label) { m.Branch(c, asm.R3, asm.R11, l) })
				check("branch with memory", x, y, want(x, y), func(m asm.Machine, l asm.Label) { m.BranchMem(c, asm.R3, asm.R0, 8, l) })
			}
			for _, v := range []int32{0, 1, -1, 127, 128, 1 << 30} {
				check("branch with a constant", x, uint64(v), want(x, uint64(v)), func(m asm.Machine, l asm.Label) { m.BranchImm(c, asm.R3, v, l) })
			}
			if c > asm.HS {
				continue
			}
			for w, v := range map[asm.Width]int32{asm.W8: 0x70, asm.W16: 0x70f0, asm.W32: 0x12345678, asm.W64: 0x100} {
				low := x & (1<<(8*w-1)<<1 - 1)
				check("branch on memory", x, uint64(v), want(low, uint64(v)), func(m asm.Machine, l asm.Label) { m.BranchMemImm(w, c, asm.R0, 0, v, l) })
			}
		}
	}
	for _, x := range numbers {
		check("bits", x, 0, x&0x8080 != 0, func(m asm.Machine, l asm.Label) { m.BranchBits(asm.R3, 0x8080, true, l) })
		check("no bits", x, 0, x&0x8080 == 0, func(m asm.Machine, l asm.Label) { m.BranchBits(asm.R3, 0x8080, false, l) })
	}
}

func TestMemoryIsLoadedAndStoredInEachWidth(t *testing.T) {
	needsMachine(t)
	src := []byte{0xf1, 0xe2, 0xd3, 0xc4, 0xb5, 0xa6, 0x97, 0x88, 0x79, 0x6a, 0x5b, 0x4c, 0x3d, 0x2e, 0x1f, 0xf0}
	for _, w := range []asm.Width{asm.W8, asm.W16, asm.W32, asm.W64} {
		for _, base := range []asm.Reg{asm.R1, asm.R4, asm.R8, asm.R9, asm.R11} {
			dst := make([]byte, 1024)
			var block enter.Block
			runCode(t, &block, mem.Data(src), mem.Data(dst), func(m asm.Machine) {
				m.Mov(base, asm.R1)
				m.Load(w, asm.R5, base, 1)
				m.Store(asm.W64, asm.R0, 0, asm.R5)
				m.LoadSigned(w, asm.R5, base, 1)
				m.Store(asm.W64, asm.R0, 8, asm.R5)
				m.LoadBE(w, asm.R5, base, 1)
				m.Store(asm.W64, asm.R0, 16, asm.R5)
				m.Imm(asm.R6, 1)
				m.LoadX(w, asm.R5, base, asm.R6)
				m.Store(asm.W64, asm.R0, 24, asm.R5)
				m.Mov(base, asm.R2)
				m.Store(w, base, 0, asm.R5)
				m.StoreBE(w, base, 200, asm.R5)
				m.Imm(asm.R6, 400)
				m.StoreX(w, base, asm.R6, asm.R5)
				m.StoreImm(w, base, 600, 0x8182838485868788)
				m.StoreImm(w, base, 800, 5)
				m.Exit(0)
			})
			var whole [8]byte
			copy(whole[:w], src[1:])
			want := binary.LittleEndian.Uint64(whole[:])
			shift := 64 - 8*uint(w)
			if block[0] != want || block[3] != want {
				t.Errorf("width %d: loaded %#x and %#x, want %#x", w, block[0], block[3], want)
			}
			if signed := uint64(int64(want<<shift) >> shift); block[1] != signed {
				t.Errorf("width %d: loaded %#x with its sign, want %#x", w, block[1], signed)
			}
			if swapped := bits.ReverseBytes64(want) >> shift; block[2] != swapped {
				t.Errorf("width %d: loaded %#x swapped, want %#x", w, block[2], swapped)
			}
			out := make([]byte, 1024)
			copy(out, whole[:w])
			copy(out[400:], whole[:w])
			for i := range int(w) {
				out[200+i] = whole[int(w)-1-i]
				out[600+i] = byte(0x88 - i)
			}
			out[800] = 5
			if string(out) != string(dst) {
				t.Errorf("width %d: stored\n%x, want\n%x", w, dst, out)
			}
		}
	}
}

func TestCopiesTouchTheirBytesOnly(t *testing.T) {
	needsMachine(t)
	const most = 700
	src := make([]byte, most+64)
	rand.New(rand.NewSource(1)).Read(src)
	for _, w := range []asm.Width{asm.W8, asm.W16, asm.W32, asm.W64} {
		m := newMachine()
		m.Load(asm.W64, asm.R3, asm.R0, 0)
		if w == asm.W8 {
			m.Copy(asm.R2, asm.R1, asm.R3)
		} else {
			m.SwapCopy(w, asm.R2, asm.R1, asm.R3)
		}
		m.Exit(0)
		b, err := m.Finish()
		if err != nil {
			t.Fatal(err)
		}
		code, err := execmem.New(b)
		if err != nil {
			t.Fatal(err)
		}
		for n := 1; n <= most/int(w); n++ {
			size := n * int(w)
			for off := range 2 {
				dst, want := make([]byte, most+64), make([]byte, most+64)
				for i := range size {
					want[8+off+i] = src[3*off+(i^(int(w)-1))]
				}
				if size%int(w) != 0 {
					t.Fatal("a test that tests nothing")
				}
				enter.Call(code.Addr(), &enter.Block{uint64(n)}, mem.Data(src[3*off:]), mem.Data(dst[8+off:]))
				if string(dst) != string(want) {
					t.Fatalf("%d elements of %d bytes at %d:\n got %x\nwant %x", n, w, off, dst, want)
				}
			}
		}
		runtime.KeepAlive(code)
	}
	for n := 1; n <= 100; n++ {
		dst, want := make([]byte, 128), make([]byte, 128)
		copy(want[5:], src[2:2+n])
		runCode(t, new(enter.Block), mem.Data(src), mem.Data(dst), func(m asm.Machine) {
			m.CopyConst(asm.R2, 5, asm.R1, 2, n)
			m.Exit(0)
		})
		if string(dst) != string(want) {
			t.Fatalf("%d bytes:\n got %x\nwant %x", n, dst, want)
		}
	}
}

func TestJumpsAndAddresses(t *testing.T) {
	needsMachine(t)
	got := runCode(t, new(enter.Block), nil, nil, func(m asm.Machine) {
		far, near := m.Label(), m.Label()
		m.Addr(asm.R7, far)
		m.JumpReg(asm.R7)
		m.Exit(1)
		m.Bind(near)
		m.Exit(2)
		m.Bind(far)
		m.Jump(near)
	})
	if got != 2 {
		t.Errorf("the status is %d", got)
	}
}

func TestStackHoldsWhatIsStored(t *testing.T) {
	needsMachine(t)
	var block enter.Block
	runCode(t, &block, nil, nil, func(m asm.Machine) {
		m.Stack(asm.R5)
		for off := int32(0); off < asm.StackSize; off += 8 {
			m.StoreImm(asm.W64, asm.R5, off, uint64(off))
		}
		m.Load(asm.W64, asm.R6, asm.R5, asm.StackSize-8)
		m.Store(asm.W64, asm.R0, 0, asm.R6)
		m.Exit(0)
	})
	if block[0] != asm.StackSize-8 || enter.StackSize != asm.StackSize {
		t.Errorf("the last word is %d", block[0])
	}
}

func TestSpreadPutsSevenBitsIntoEachByte(t *testing.T) {
	needsMachine(t)
	s, ok := newMachine().(interface{ Spread(d, s asm.Reg) bool })
	if !ok || !s.Spread(asm.R1, asm.R1) {
		t.Skip("no instruction for it here")
	}
	for _, x := range numbers {
		for _, r := range []asm.Reg{asm.R1, asm.R8, asm.R11} {
			block := enter.Block{x}
			runCode(t, &block, nil, nil, func(m asm.Machine) {
				m.Load(asm.W64, asm.R9, asm.R0, 0)
				m.(interface{ Spread(d, s asm.Reg) bool }).Spread(r, asm.R9)
				m.Store(asm.W64, asm.R0, 8, r)
				m.Exit(0)
			})
			want := uint64(0)
			for i := range 8 {
				want |= x >> (7 * i) & 0x7f << (8 * i)
			}
			if block[1] != want {
				t.Errorf("%#x becomes %#x, want %#x", x, block[1], want)
			}
		}
	}
}

func TestALabelThatIsNeverBoundIsAnError(t *testing.T) {
	needsMachine(t)
	m := newMachine()
	m.Jump(m.Label())
	if _, err := m.Finish(); err == nil {
		t.Error("Finish succeeded")
	}
}
