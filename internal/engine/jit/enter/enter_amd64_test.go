package enter_test

import (
	"os"
	"runtime"
	"runtime/pprof"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/amd64"
	"github.com/thrum-rpc/thrum/internal/execmem"
)

// compile returns code in executable memory.
func compile(t testing.TB, make func(m asm.Machine)) *execmem.Code {
	t.Helper()
	if !execmem.Supported() {
		t.Skip("no executable memory here")
	}
	m := amd64.New(amd64.Features{})
	make(m)
	b, err := m.Finish()
	if err != nil {
		t.Fatal(err)
	}
	code, err := execmem.New(b)
	if err != nil {
		t.Fatal(err)
	}
	return code
}

// sum adds up the words of the block's second word that p points to, over and over, as often as its first says.
func sum(m asm.Machine) {
	again, next := m.Label(), m.Label()
	m.Load(asm.W64, asm.R3, asm.R0, 0)
	m.Imm(asm.R6, 0)
	m.Bind(again)
	m.Load(asm.W64, asm.R4, asm.R0, 8)
	m.Mov(asm.R5, asm.R1)
	m.Bind(next)
	m.Load(asm.W64, asm.R7, asm.R5, 0)
	m.Add(asm.R6, asm.R6, asm.R7)
	m.AddImm(asm.R5, asm.R5, 8)
	m.AddImm(asm.R4, asm.R4, -1)
	m.BranchImm(asm.NE, asm.R4, 0, next)
	m.AddImm(asm.R3, asm.R3, -1)
	m.BranchImm(asm.NE, asm.R3, 0, again)
	m.Store(asm.W64, asm.R0, 16, asm.R6)
	m.Exit(7)
}

// deepen uses n frames of stack and then calls f.
func deepen(n int, f func()) byte {
	var frame [256]byte
	if n == 0 {
		f()
		return 0
	}
	frame[n%256] = deepen(n-1, f) + 1
	return frame[n%256]
}

// TestInvariant1 enters code at every depth of the stack of new goroutines,
// among them those where it has to grow, and uses all the stack that code has.
func TestInvariant1(t *testing.T) {
	t.Run("Call", func(t *testing.T) { usesItsStack(t, enter.StackSize, enter.Call) })
	t.Run("CallDeep", func(t *testing.T) { usesItsStack(t, enter.DeepStackSize, enter.CallDeep) })
}

func usesItsStack(t *testing.T, size int32, call func(uintptr, *enter.Block, unsafe.Pointer, unsafe.Pointer) uint64) {
	code := compile(t, func(m asm.Machine) {
		m.Stack(asm.R5)
		for off := int32(0); off < size; off += 8 {
			m.StoreImm(asm.W64, asm.R5, off, 0xaaaaaaaaaaaaaaaa)
		}
		m.Exit(3)
	})
	for depth := range 60 {
		done := make(chan uint64)
		go func() {
			var status uint64
			deepen(depth*2, func() { status = call(code.Addr(), new(enter.Block), nil, nil) })
			done <- status
		}()
		if got := <-done; got != 3 {
			t.Fatalf("at depth %d the status is %d", depth, got)
		}
	}
	runtime.KeepAlive(code)
}

// TestInvariant2 passes addresses of the stack, which moves on the way in.
func TestInvariant2(t *testing.T) {
	code := compile(t, sum)
	for depth := range 60 {
		done := make(chan uint64)
		go func() {
			var got uint64
			deepen(depth*2, func() {
				values := [3]uint64{1, 20, 300}
				block := enter.Block{1, 3}
				enter.Call(code.Addr(), &block, unsafe.Pointer(&values), nil)
				got = block[2]
			})
			done <- got
		}()
		if got := <-done; got != 321 {
			t.Fatalf("at depth %d the sum is %d", depth, got)
		}
	}
	runtime.KeepAlive(code)
}

// TestInvariant3 keeps pointers in code's stack while collections run: they are
// not looked at, whatever stood there.
func TestInvariant3(t *testing.T) {
	code := compile(t, func(m asm.Machine) {
		m.Stack(asm.R5)
		for off := int32(0); off < enter.StackSize; off += 8 {
			m.Store(asm.W64, asm.R5, off, asm.R1)
		}
		m.Exit(0)
	})
	for range 10 {
		p := new([100]byte)
		enter.Call(code.Addr(), new(enter.Block), unsafe.Pointer(p), nil)
		runtime.GC()
	}
	var _ [enter.Words]uint64 = enter.Block{} // it compiles: a block has no pointers
	runtime.KeepAlive(code)
}

// TestInvariant4 collects while other goroutines spend their time in code, which
// cannot be preempted: a collection waits for it and no longer.
func TestInvariant4(t *testing.T) {
	code := compile(t, sum)
	values := make([]uint64, 1000)
	stop := make(chan bool)
	var wg sync.WaitGroup
	for range 4 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for {
				select {
				case <-stop:
					return
				default:
					enter.Call(code.Addr(), &enter.Block{50, 1000}, unsafe.Pointer(&values[0]), nil)
				}
			}
		}()
	}
	for range 10 {
		runtime.GC()
	}
	close(stop)
	wg.Wait()
	runtime.KeepAlive(code)
}

// TestInvariant5 enters code with memory that only the call's caller holds, with collections all along.
func TestInvariant5(t *testing.T) {
	code := compile(t, sum)
	stop := make(chan bool)
	go func() {
		for {
			select {
			case <-stop:
				return
			default:
				runtime.GC()
			}
		}
	}()
	defer close(stop)
	for i := range uint64(300) {
		values := []uint64{i, i, i}
		block := enter.Block{1, 3}
		enter.Call(code.Addr(), &block, unsafe.Pointer(&values[0]), nil)
		runtime.KeepAlive(values)
		if block[2] != 3*i {
			t.Fatalf("the sum is %d", block[2])
		}
	}
	runtime.KeepAlive(code)
}

// TestInvariant6 spoils every register and then lets Go use them, under a CPU profile.
func TestInvariant6(t *testing.T) {
	code := compile(t, func(m asm.Machine) {
		for r := asm.R1; r < asm.Regs; r++ {
			m.Imm(r, 0xdeadbeefdeadbeef)
		}
		m.Exit(9)
	})
	file, err := os.CreateTemp(t.TempDir(), "profile")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if err := pprof.StartCPUProfile(file); err == nil {
		defer pprof.StopCPUProfile()
	}
	total := 0.0
	var m map[int]string
	for i := range 200_000 {
		var zero [4]uint64
		if enter.Call(code.Addr(), new(enter.Block), nil, nil) != 9 || zero != [4]uint64{} || m[i] != "" {
			t.Fatal("a register is not as Go expects")
		}
		total += float64(i)
		if i%1000 == 0 {
			m = map[int]string{-i - 1: strings.Repeat("x", i%100)}
		}
	}
	if total != 199_999*200_000/2 {
		t.Errorf("the sum is %v", total)
	}
	runtime.KeepAlive(code)
}
