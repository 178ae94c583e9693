package arm64

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/disasm"
)

var rewrite = flag.Bool("rewrite", false, "rewrite the goldens")

// listing finishes code and returns it as a disassembler reads it that knows nothing of this package.
func listing(t *testing.T, m *Machine) string {
	t.Helper()
	code, err := m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	text, err := disasm.ARM64(code)
	if err != nil {
		t.Fatalf("%v, after\n%s", err, text)
	}
	return text
}

var widths = []asm.Width{asm.W8, asm.W16, asm.W32, asm.W64}

// memory emits every operation on memory with each width, and offsets of each form.
func memory(m asm.Machine) {
	for _, w := range widths {
		for _, off := range []int32{0, 8, 9, -128, 1000, 1001, 1 << 20, -1000} {
			m.Load(w, asm.R3, asm.R0, off)
			m.Store(w, asm.R11, off, asm.R1)
		}
		m.LoadSigned(w, asm.R11, asm.R8, 16)
		m.LoadBE(w, asm.R4, asm.R8, 16)
		m.StoreBE(w, asm.R8, 16, asm.R5)
		m.LoadX(w, asm.R2, asm.R9, asm.R10)
		m.StoreX(w, asm.R9, asm.R3, asm.R9)
		m.StoreImm(w, asm.R9, 8, 0)
		m.StoreImm(w, asm.R9, 8, 0x8182838485868788)
	}
}

func arithmetic(m asm.Machine) {
	d, a, b := asm.R1, asm.R10, asm.R11
	m.Mov(d, a)
	m.Add(d, a, b)
	m.Sub(d, a, b)
	m.And(d, a, b)
	m.Or(d, a, b)
	m.Xor(d, a, b)
	for _, v := range []int32{8, -8, 4096, -4096, 4097, -1 << 31} {
		m.AddImm(d, a, v)
	}
	for _, v := range []int32{1, 127, 0xff0, 0x80, 5, 0, -1, -2, -1 << 31, 1<<31 - 1} {
		m.AndImm(d, a, v)
		m.OrImm(d, a, v)
		m.XorImm(d, a, v)
	}
	m.MulImm(d, a, 24)
	for _, n := range []uint8{0, 3, 63} {
		m.ShlImm(d, a, n)
		m.ShrImm(d, a, n)
		m.SarImm(d, a, n)
	}
	m.Shl(d, a, b)
	m.Shr(d, a, b)
	m.BitLen(d, a)
	m.TrailingZeros(d, a)
	for _, w := range widths {
		m.Swap(w, d, a)
		m.SignExtend(w, d, a)
	}
	for _, v := range []uint64{0, 1, 1<<31 - 1, 1 << 31, 1<<32 - 1, 1 << 32, 1<<64 - 1, 1<<64 - 1<<31, 0x0001000200030004, 0xffff1234ffff5678} {
		m.Imm(asm.R3, v)
	}
}

func branches(m asm.Machine) {
	l := m.Label()
	m.Bind(l)
	for c := asm.EQ; c <= asm.GE; c++ {
		m.Branch(c, asm.R1, asm.R9, l)
	}
	m.BranchImm(asm.EQ, asm.R3, 0, l)
	m.BranchImm(asm.NE, asm.R3, 0, l)
	for _, v := range []int32{16, 4096, -16, 0x123456, -0x123456} {
		m.BranchImm(asm.EQ, asm.R8, v, l)
		m.BranchImm(asm.LO, asm.R8, v, l)
	}
	m.BranchMem(asm.HI, asm.R4, asm.R0, 64, l)
	for _, w := range widths {
		m.BranchMemImm(w, asm.NE, asm.R8, 8, 17, l)
	}
	m.BranchBits(asm.R5, 0xff, true, l)
	m.BranchBits(asm.R5, 0x80, false, l)
	m.Addr(asm.R11, l)
	m.JumpReg(asm.R11)
	m.Jump(l)
	m.Stack(asm.R5)
	m.Exit(0)
	m.Exit(3)
}

func bulk(m asm.Machine) {
	m.Copy(asm.R2, asm.R1, asm.R3)
	m.SwapCopy(asm.W64, asm.R8, asm.R9, asm.R10)
	m.SwapCopy(asm.W32, asm.R8, asm.R9, asm.R10)
	m.SwapCopy(asm.W16, asm.R8, asm.R9, asm.R10)
	m.CopyConst(asm.R2, 8, asm.R1, 0, 31)
	m.CopyConst(asm.R2, 8, asm.R1, 0, 15)
	m.Exit(0)
}

func TestInstructionsAreWhatADisassemblerReads(t *testing.T) {
	for name, emit := range map[string]func(asm.Machine){"memory": memory, "arithmetic": arithmetic, "branches": branches, "bulk": bulk} {
		m := New()
		emit(m)
		got := listing(t, m)
		file := filepath.Join("testdata", name+".txt")
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
}

// Go's g, its frame pointer and the platform's register belong to others, and the
// return address may only be moved away and back.
func TestOthersRegistersAreLeftAlone(t *testing.T) {
	m := New()
	memory(m)
	arithmetic(m)
	branches(m)
	bulk(m)
	for line := range strings.Lines(listing(t, m)) {
		_, text, _ := strings.Cut(strings.TrimSpace(line), "  ")
		if text == "mov x17, x30" || text == "mov x30, x17" || text == "ret x30" {
			continue
		}
		for _, operand := range strings.FieldsFunc(text, func(r rune) bool { return strings.ContainsRune(" ,[]", r) }) {
			switch operand {
			case "x18", "x27", "x28", "x29", "x30", "w18", "w27", "w28", "w29", "w30":
				t.Errorf("%s", text)
			}
		}
	}
}

func TestAConstantIsOneRunOfOnesOrNone(t *testing.T) {
	for _, v := range []uint64{0, 5, 1<<64 - 1, 0xf0f, 1<<63 | 1} {
		if _, ok := bitmask(v); ok {
			t.Errorf("%#x has an encoding", v)
		}
	}
	for start := range 64 {
		for n := 1; n <= 64-start && n < 64; n++ {
			if _, ok := bitmask((1<<n - 1) << start); !ok {
				t.Errorf("%d ones from %d on have none", n, start)
			}
		}
	}
}

func TestAJumpThatIsTooFarIsAnError(t *testing.T) {
	m := New()
	l := m.Label()
	m.BranchImm(asm.EQ, asm.R1, 7, l)
	m.Code = append(m.Code, make([]byte, 1<<20)...)
	m.Bind(l)
	m.Exit(0)
	if _, err := m.Finish(); err == nil {
		t.Error("Finish succeeded")
	}
}
