package jit

import (
	"runtime"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file decides what of a decode program becomes machine code, and ties
// the code to the interpreter, which it assists: see interp.Assist. The code
// reads stretches of numbers, texts and lists of numbers; structs, maps, other
// lists, unknown fields and every fault are the interpreter's.

// shortest is the number of numbers and texts in a row that pay for entering code.
const shortest = 5

// newDecoder returns a decoder whose simple fields, from shortest in a row on, are read by machine code,
// and what runs there, or why there is none.
func newDecoder(prog *plan.Program, b *engine.Binding, o engine.DecodeOptions, shortest int) (engine.Decoder, engine.Report) {
	if !Supported() {
		return nil, declinedFor(noMachine)
	}
	m := newMachine()
	program := decodeProgram(m, prog, o, shortest)
	if program == nil {
		return nil, declinedFor("too few numbers and texts in a row, and no lists of numbers")
	}
	text, err := m.Finish()
	if err != nil {
		return nil, declinedFor(err.Error())
	}
	code, err := execmem.New(text)
	if err != nil {
		return nil, declinedFor(err.Error())
	}
	assists := make([]*interp.Assist, len(prog.Procs))
	for i, p := range program.procs {
		if p != nil {
			assists[i] = p.assist(m, code)
		}
	}
	bulk := interp.Bulk{Swap: swapper(m, code, program.swaps), Varints: varintLister(m, code, program.lists)}
	d, err := interp.Engine{}.Assisted(prog, b, o, assists, bulk)
	if err != nil {
		return nil, declinedFor(err.Error())
	}
	return d, engine.Report{Engine: Engine{}.Name(), Code: code.Size()}
}

// decodeSwaps makes the code that copies lists of numbers, by the size of their
// elements, for the sizes that the program has.
func decodeSwaps(m asm.Machine, prog *plan.Program, o engine.DecodeOptions) map[int]asm.Label {
	swaps := make(map[int]asm.Label)
	for _, p := range prog.Procs {
		for i := range p.Ops {
			op := &p.Ops[i]
			if op.Code != plan.List || op.Flags&plan.PointerFree == 0 {
				continue
			}
			elem := prog.Procs[op.A].Ops[0].Code
			w := elem.Width()
			if o.Compact != 0 && (varintBits(elem) != 0 || elem == plan.Double && o.Compact == compact.Apache) {
				continue
			}
			if _, ok := swaps[w]; ok || w == 1 || w > 8 || w != int(elem.Memory()) {
				continue
			}
			swaps[w] = m.Label()
			m.Bind(swaps[w])
			m.Load(asm.W64, asm.R3, asm.R0, 0)
			m.SwapCopy(asm.Width(w), asm.R1, asm.R2, asm.R3)
			m.Exit(0)
		}
	}
	return swaps
}

// swapper returns what calls the code of decodeSwaps, nil if there is none.
func swapper(m asm.Machine, code *execmem.Code, swaps map[int]asm.Label) interp.Swap {
	if len(swaps) == 0 {
		return nil
	}
	var entries [9]uintptr // by size
	for w, l := range swaps {
		entries[w] = code.Addr() + uintptr(m.Offset(l))
	}
	return func(size int, dst, src mem.Pointer, n int) {
		for most := asm.Budget / size; ; n -= most {
			var block enter.Block
			block[0] = uint64(min(n, most))
			enter.Call(entries[size], &block, dst, src)
			if n <= most {
				break
			}
			dst, src = mem.Add(dst, asm.Budget), mem.Add(src, asm.Budget)
		}
		runtime.KeepAlive(code)
	}
}

// varintLister returns what calls the code of varintReader.lists, nil if there is none.
func varintLister(m asm.Machine, code *execmem.Code, lists map[plan.Code]asm.Label) interp.Varints {
	if len(lists) == 0 {
		return nil
	}
	var entries [plan.Map]uintptr // by the elements' code
	for c, l := range lists {
		entries[c] = code.Addr() + uintptr(m.Offset(l))
	}
	return func(c plan.Code, dst, src mem.Pointer, n, room int) (read, taken int) {
		n = min(n, mostVarints)
		var block enter.Block
		block[listLeft], block[listRoom] = uint64(n), uint64(room)
		enter.Call(entries[c], &block, dst, src)
		runtime.KeepAlive(code)
		return n - int(block[listLeft]), int(block[listRoom])
	}
}

// decodeCode is the code of a program while it is made.
type decodeCode struct {
	procs []*decodeProc           // nil for those that are the interpreter's
	swaps map[int]asm.Label       // see decodeSwaps
	lists map[plan.Code]asm.Label // see varintReader.lists
}

// decodeProgram makes the code of those procedures and lists that are worth it, nil if none is.
func decodeProgram(m asm.Machine, prog *plan.Program, o engine.DecodeOptions, shortest int) *decodeCode {
	c := &decodeCode{procs: make([]*decodeProc, len(prog.Procs))}
	varints := newVarintReader(m)
	listed := listedStructs(prog)
	found := false
	for i, p := range prog.Procs {
		if !p.IsStruct() || p.Required > 64 || p.Union && o.CheckUnion {
			continue
		}
		d := &decodeProc{Machine: m, prog: prog, proc: p, opts: o}
		d.row = listed[int32(i)] && d.plain(min(shortest, shortestInRow))
		if d.choose(shortest) || d.row {
			if o.Compact == 0 {
				d.emit()
			} else {
				(&compactProc{decodeProc: d, varints: varints}).emit()
			}
			c.procs[i] = d
			found = true
		}
	}
	c.swaps, c.lists = decodeSwaps(m, prog, o), varints.lists(prog, o)
	varints.emit()
	if !found && len(c.swaps)+len(c.lists) == 0 {
		return nil
	}
	return c
}

// shortestInRow is the number of fields for which code is entered for a list of structs.
const shortestInRow = 2

// mostMemory is the size of the largest struct in a row: a record has 31 bits for its
// place in all of those that one entry reads, which have a byte of input at least.
const mostMemory = 1 << 31 / interp.MaxWindow / 2

// listedStructs has the procedures of structs that are elements of lists.
func listedStructs(prog *plan.Program) map[int32]bool {
	listed := make(map[int32]bool)
	for _, p := range prog.Procs {
		for i := range p.Ops {
			if op := &p.Ops[i]; op.Code == plan.List {
				if elem := &prog.Procs[op.A].Ops[0]; elem.Code == plan.Struct || elem.Code == plan.Pointer {
					listed[elem.A] = true
				}
			}
		}
	}
	return listed
}

// plain reports whether code takes all of the struct, which has least fields at least and no defaults.
func (d *decodeProc) plain(least int) bool {
	for i := range d.proc.Ops {
		if !d.simple(&d.proc.Ops[i]) {
			return false
		}
	}
	return len(d.proc.Ops) >= least && d.proc.Init < 0 && d.proc.Memory <= mostMemory
}

// simple reports whether code takes the op.
func (d *decodeProc) simple(op *plan.Op) bool {
	switch op.Code {
	case plan.String, plan.Binary:
		return true
	case plan.List:
		if op.Flags&plan.PointerFree == 0 || op.Flags&plan.Unique != 0 && d.opts.CheckSet || d.opts.MaxContainer < 0 {
			return false
		}
		elem := d.prog.Procs[op.A].Ops[0].Code
		return d.opts.Compact == 0 || elem != plan.Bool && varintBits(elem) == 0
	default:
		return op.Code.Width() > 0
	}
}

// choose decides where code is entered: where shortest numbers and texts follow in a row. It reports whether that is anywhere.
func (d *decodeProc) choose(shortest int) bool {
	ops := d.proc.Ops
	d.worth = make([]bool, len(ops)+1)
	run, any := 0, false
	for k := len(ops) - 1; k >= 0; k-- {
		op := &ops[k]
		switch {
		case !d.simple(op):
			run = 0
		case op.Code != plan.List && op.Flags&plan.Deref == 0: // those take Go as long as ever
			run++
		}
		d.worth[k] = run >= shortest
		any = any || d.worth[k]
	}
	return any
}

// assist returns what enters the code.
func (d *decodeProc) assist(m asm.Machine, code *execmem.Code) *interp.Assist {
	entries := make([]uintptr, len(d.worth))
	for k, worth := range d.worth {
		if worth || k == 0 && d.row {
			entries[k] = code.Addr() + uintptr(m.Offset(d.entries[k]))
		}
	}
	return &interp.Assist{
		Worth: d.worth,
		Row:   d.row,
		Run: func(op int, w *interp.Window, base, in mem.Pointer) bool {
			status := enter.Call(entries[op], (*enter.Block)(&w.State), base, in)
			runtime.KeepAlive(code)
			return status == decodeStop
		},
	}
}
