package amd64

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/disasm"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the goldens")

// disassemble returns code as a disassembler reads it that knows nothing of this package.
func disassemble(t *testing.T, code []byte) string {
	t.Helper()
	text, err := disasm.AMD64(code)
	if err != nil {
		t.Fatalf("%v, after\n%s", err, text)
	}
	return text
}

// golden compares with a file.
func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *rewrite {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != got {
		t.Errorf("%s: got\n%s", file, got)
	}
}

var widths = []asm.Width{asm.W8, asm.W16, asm.W32, asm.W64}

// memory emits every operation on memory with each width, a low and a high
// base, and offsets of each length.
func memory(m asm.Machine) {
	for _, w := range widths {
		for _, base := range []asm.Reg{asm.R0, asm.R8, asm.R9} { // rdi, r12 and r13, which are encoded each in its way
			for _, off := range []int32{0, 8, -128, 1000} {
				m.Load(w, asm.R3, base, off)
				m.LoadSigned(w, asm.R11, base, off)
				m.Store(w, base, off, asm.R1)
				m.StoreImm(w, base, off, 0x11)
				m.StoreImm(w, base, off, 0x8182838485868788)
			}
			m.LoadX(w, asm.R2, base, asm.R10)
			m.StoreX(w, base, asm.R3, asm.R9)
			m.LoadBE(w, asm.R4, base, 16)
			m.StoreBE(w, base, 16, asm.R5)
		}
	}
}

func arithmetic(m asm.Machine) {
	for _, r := range [][3]asm.Reg{{asm.R1, asm.R2, asm.R3}, {asm.R8, asm.R8, asm.R11}, {asm.R9, asm.R0, asm.R9}} {
		d, a, b := r[0], r[1], r[2]
		m.Mov(d, a)
		m.Add(d, a, b)
		m.Sub(d, a, b)
		m.And(d, a, b)
		m.Or(d, a, b)
		m.Xor(d, a, b)
		m.AddImm(d, a, 8)
		m.AddImm(d, a, 4096)
		m.AndImm(d, a, 127)
		m.OrImm(d, a, 128)
		m.XorImm(d, a, -1)
		m.MulImm(d, a, 24)
		m.ShlImm(d, a, 3)
		m.ShrImm(d, a, 7)
		m.SarImm(d, a, 63)
		m.Shl(d, a, b)
		m.Shr(d, a, b)
		m.BitLen(d, a)
		m.TrailingZeros(d, a)
		for _, w := range widths {
			m.Swap(w, d, a)
			m.SignExtend(w, d, a)
		}
	}
	for _, v := range []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<64 - 1, 1<<64 - 1<<31} {
		m.Imm(asm.R3, v)
		m.Imm(asm.R10, v)
	}
}

func branches(m asm.Machine) {
	l := m.Label()
	m.Bind(l)
	for c := asm.EQ; c <= asm.GE; c++ {
		m.Branch(c, asm.R1, asm.R9, l)
	}
	m.BranchImm(asm.EQ, asm.R3, 0, l)
	m.BranchImm(asm.LO, asm.R8, 16, l)
	m.BranchImm(asm.GT, asm.R8, 1000, l)
	m.BranchMem(asm.HI, asm.R4, asm.R0, 64, l)
	for _, w := range widths {
		m.BranchMemImm(w, asm.NE, asm.R8, 8, 17, l)
	}
	m.BranchBits(asm.R5, 0x80, true, l)
	m.BranchBits(asm.R5, 0x80, false, l)
	m.Addr(asm.R11, l)
	m.JumpReg(asm.R11)
	m.Jump(l)
	m.Stack(asm.R5)
	m.Exit(0)
	m.Exit(3)
}

func TestInstructionsAreWhatADisassemblerReads(t *testing.T) {
	for name, emit := range map[string]func(asm.Machine){"memory": memory, "arithmetic": arithmetic, "branches": branches} {
		m := New(Features{})
		emit(m)
		code, err := m.Finish()
		if err != nil {
			t.Fatal(err)
		}
		golden(t, name+".txt", disassemble(t, code))
	}
}

func TestBulkCopiesAreWhatADisassemblerReads(t *testing.T) {
	for name, f := range map[string]Features{"base": {}, "avx2": {AVX2: true}} {
		m := New(f)
		m.Copy(asm.R2, asm.R1, asm.R3)
		m.SwapCopy(asm.W64, asm.R8, asm.R9, asm.R10)
		m.SwapCopy(asm.W16, asm.R8, asm.R9, asm.R10)
		m.CopyConst(asm.R2, 8, asm.R1, 0, 31)
		m.CopyConst(asm.R2, 8, asm.R1, 0, 15)
		m.Exit(0)
		code, err := m.Finish()
		if err != nil {
			t.Fatal(err)
		}
		if f.AVX2 {
			code = withoutMasks(code)
		}
		golden(t, "bulk-"+name+".txt", disassemble(t, code))
	}
}

func TestSpreadAndGatherAreWhatADisassemblerReads(t *testing.T) {
	if m := New(Features{}); m.Spread(asm.R1, asm.R1) || m.Gather(asm.R1, asm.R1) {
		t.Error("a processor without PDEP has it")
	}
	m := New(Features{PDEP: true})
	for _, r := range []asm.Reg{asm.R1, asm.R9} {
		m.Spread(r, asm.R10)
		m.Spread(asm.R10, r)
		m.Gather(r, asm.R10)
		m.Gather(asm.R10, r)
	}
	code, err := m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "spread.txt", disassemble(t, code))
}

// withoutMasks puts one-byte instructions in the place of constants.
func withoutMasks(code []byte) []byte {
	out := []byte(string(code))
	for i := 0; i+32 <= len(out); i += 32 {
		for _, w := range []int{2, 4, 8} {
			same := true
			for k := range 32 {
				same = same && int(out[i+k]) == k&15^(w-1)
			}
			for k := range 32 {
				if same {
					out[i+k] = 0xcc
				}
			}
		}
	}
	return out
}
