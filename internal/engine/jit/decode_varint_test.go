package jit

import (
	"bytes"
	"math"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// baseMachine is a machine without what only some processors have.
type baseMachine struct{ asm.Machine }

// varintProgram has a list of varints of each kind.
func varintProgram() *plan.Program {
	p := &plan.Program{Job: plan.Decode, Procs: []*plan.Proc{{Name: "Lists", Memory: 96, Unknown: -1, Init: -1}}}
	for i, elem := range []plan.Op{{Code: plan.I16, Wire: thriftwire.I16}, {Code: plan.I32, Wire: thriftwire.I32}, {Code: plan.I64, Wire: thriftwire.I64}, {Code: plan.Enum64, Wire: thriftwire.I32}} {
		elem.Slot = -1
		p.Procs[0].Ops = append(p.Procs[0].Ops, plan.Op{
			Code: plan.List, Flags: plan.Header | plan.PointerFree, Wire: thriftwire.List, ID: int16(i + 1), Off: uint32(24 * i),
			Size: uint32(elem.Code.Memory()), A: int32(i + 1), Slot: -1, Name: "list",
		})
		p.Procs = append(p.Procs, &plan.Proc{Memory: uint32(elem.Code.Memory()), Unknown: -1, Init: -1, Ops: []plan.Op{elem}})
	}
	p.Link()
	return p
}

// Lists of varints are read by code up to the first that is not whole or not of the type.
func TestListsOfVarintsAreReadUpToTheFirstFault(t *testing.T) {
	needsMachine(t)
	var all [][]byte
	for shift := range 64 {
		for _, v := range []int64{1 << shift, -1 << shift, math.MaxInt64 >> shift, -3} {
			all = append(all, compact.AppendI64(nil, v))
		}
	}
	for n := range 12 {
		for _, end := range []byte{0, 1, 2, 15, 16, 0x7f} {
			all = append(all, append(bytes.Repeat([]byte{0x80}, n), end), append(bytes.Repeat([]byte{0xff}, n), end)) // padded, or too long
		}
	}
	for name, m := range map[string]asm.Machine{"this processor": newMachine(), "any processor": baseMachine{newMachine()}} {
		made := decodeProgram(m, varintProgram(), engine.DecodeOptions{Compact: compact.Apache}, 1)
		text, err := m.Finish()
		if err != nil {
			t.Fatal(err)
		}
		code, err := execmem.New(text)
		if err != nil {
			t.Fatal(err)
		}
		read := varintLister(m, code, made.lists)
		for i, v := range all {
			for _, behind := range [][]byte{nil, {1}, make([]byte, 20)} {
				b := slices.Concat(all[(i*7)%len(all)], v, behind)
				for _, c := range []plan.Code{plan.I16, plan.I32, plan.I64, plan.Enum64} {
					want, n := consumeAll(c, b, 3)
					got := make([]byte, 3*c.Memory())
					count, taken := read(c, mem.Data(got), mem.Data(b), 3, len(b))
					if taken != n || !bytes.Equal(got[:count*int(c.Memory())], want) {
						t.Fatalf("%s: %v of %x: %d bytes, %x; want %d, %x", name, c, b, taken, got, n, want)
					}
				}
			}
		}
	}
}

// consumeAll reads up to n varints as code c has them in memory.
func consumeAll(c plan.Code, b []byte, n int) (memory []byte, taken int) {
	for range n {
		var v int64
		var k int
		switch c {
		case plan.I16:
			var x int16
			x, k = compact.ConsumeI16(b[taken:])
			v = int64(x)
		case plan.I64:
			v, k = compact.ConsumeI64(b[taken:])
		default:
			var x int32
			x, k = compact.ConsumeI32(b[taken:])
			v = int64(x)
		}
		if k < 0 {
			return memory, taken
		}
		taken += k
		for i := range c.Memory() {
			memory = append(memory, byte(v>>(8*i)))
		}
	}
	return memory, taken
}

func TestGatherPutsSevenBitsOfEachByteTogether(t *testing.T) {
	needsMachine(t)
	type gatherer interface{ Gather(d, s asm.Reg) bool }
	g, ok := newMachine().(gatherer)
	if !ok || !g.Gather(asm.R1, asm.R1) {
		t.Skip("no instruction for it here")
	}
	for _, x := range numbers {
		for _, r := range []asm.Reg{asm.R1, asm.R8, asm.R11} {
			block := enter.Block{x}
			runCode(t, &block, nil, nil, func(m asm.Machine) {
				m.Load(asm.W64, asm.R9, asm.R0, 0)
				m.(gatherer).Gather(r, asm.R9)
				m.Store(asm.W64, asm.R0, 8, r)
				m.Exit(0)
			})
			want := uint64(0)
			for i := range 8 {
				want |= x >> (8 * i) & 0x7f << (7 * i)
			}
			if block[1] != want {
				t.Errorf("%#x becomes %#x, want %#x", x, block[1], want)
			}
		}
	}
}
