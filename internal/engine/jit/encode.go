package jit

import (
	"runtime"
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file runs encode code. The code of a struct writes its fields one after another and
// leaves with a status when it is done, needs room, or meets what it does not take; the
// driver does what is asked and enters again at a field. Only the struct's own address
// survives from one entry to the next: what lies below a field is started again.

// The words of the block.
const (
	wordPosition = iota // in: where in the buffer to go on
	wordEnd             // in: where in the buffer to stop
	wordResume          // in and out: the address of the code to go on with
	wordCopy            // in: the length from which texts are left to the driver
	wordLevels          // in: how many calls of procedures there may still be
	wordBuffer          // out: the address of the buffer
	wordOut             // out: the address in the buffer up to which all is written
	wordNeed            // out: the address in the buffer up to which there should have been room
	wordOp              // out: the first op of the struct that is not written
	wordTo              // out: the op behind those that the driver is to write
	wordIndex           // in and out: the element of the list wordOp that is not written, -1 outside of lists
	wordCount           // in and out: the number of the list's elements
	wordLast            // in and out: the id of the field before, in the compact protocol
	wordWork            // in: how many ops of structs that may be nearly empty there may still be

	// What follows is for the code alone.
	wordAsideOut
	wordAsideEnd
	wordKeep
	wordRun
)

// The statuses.
const (
	statusDone   = iota // the struct is written
	statusRoom          // there is not enough room
	statusOps           // the driver is to write the ops from wordOp to wordTo
	statusAssist        // the driver is to write wordOp, or of a list the element wordIndex
	statusDeep          // wordLevels calls of procedures were too few for wordOp, or the element wordIndex
	statusFault         // the value has no encoding
)

// workLimit bounds what code does beside writing bytes.
const workLimit = 64 << 10

// copyLimit is the length from which texts are copied by Go, which can be preempted.
const copyLimit = 16 << 10

// encoder is an engine.Encoder that runs code and, for what that leaves, the interpreter.
type encoder struct {
	engine.Encoder // the interpreter, which has the last word on faults
	parts          *interp.Parts
	code           *execmem.Code
	entry          uintptr
	units          []unit    // by procedure
	maps           []entries // by slot
	limits
	sizer    sizer
	maxDepth int
}

// unit is the code of one struct.
type unit struct {
	// resume has the address of the code of each op at which the struct can be
	// entered, 0 for others; behind the ops stands that of the struct's end.
	resume []uintptr
}

// limits are how deep code may go.
type limits struct {
	levels     int // how many calls of procedures the stack has room for
	deepLevels int // and that of enter.CallDeep
	depth      int // how deep values may nest in one procedure, calls of others excluded
}

// sizer is the code that sizes the program's first struct. It has no addresses if the interpreter does.
type sizer struct {
	unit
	limits
}

// newEncoder returns an encoder, or why the program is declined.
func newEncoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions, fallback engine.Encoder) (*encoder, string) {
	if reason := declined(encode, o); reason != "" {
		return nil, reason
	}
	e := &encoder{Encoder: fallback, maxDepth: o.MaxDepth}
	var err error
	if e.parts, err = (interp.Engine{}).AssistedEncoder(encode, size, b, o, e); err != nil {
		return nil, err.Error()
	}
	g := newEncodeGenerator(newMachine(), encode, o)
	if !o.Sorted {
		g.strides = e.parts.Strides()
	}
	work := encodes
	if worthSizing(encode, o.Compact) {
		work |= sizes
	}
	code, reason := g.generate(work)
	if reason != "" {
		return nil, reason
	}
	if e.code, err = execmem.New(code); err != nil {
		return nil, err.Error()
	}
	e.entry = e.code.Addr()
	e.limits = g.limits()
	for proc := range g.resume {
		e.units = append(e.units, g.unitAt(e.entry, proc))
	}
	if g.sizer != nil {
		e.sizer = sizer{g.sizer.unitAt(e.entry, 0), g.sizer.limits()}
	}
	batched := make([]bool, len(g.maps))
	for slot, m := range g.maps {
		if m.op != nil {
			m.entry, batched[slot] = e.entry+uintptr(g.m.Offset(m.start)), true
			g.maps[slot] = m
		}
	}
	e.maps = g.maps
	e.parts.Batch(batched)
	return e, ""
}

// unitAt returns the code of a procedure, if all code starts at the address entry.
func (g *encodeGenerator) unitAt(entry uintptr, proc int) unit {
	labels := g.resume[proc]
	u := unit{resume: make([]uintptr, len(labels))}
	for k, l := range labels {
		if l != noLabel {
			u.resume[k] = entry + uintptr(g.m.Offset(l))
		}
	}
	return u
}

// declined says why a program or an option is left to the interpreter.
func declined(p *plan.Program, o engine.EncodeOptions) string {
	if !Supported() {
		return noMachine
	}
	for _, proc := range p.Procs {
		if proc.Union && o.CheckUnion {
			return "unions are checked"
		}
		for i := range proc.Ops {
			if proc.Ops[i].Flags&plan.Unique != 0 && o.CheckSet {
				return "sets are checked"
			}
		}
	}
	return ""
}

// Report says what runs.
func (e *encoder) Report() engine.Report { return engine.Report{Engine: "jit", Code: e.code.Size()} }

func (e *encoder) Append(dst []byte, v mem.Pointer) ([]byte, error) {
	b, f := e.run(e.parts, dst, 0, v, e.maxDepth, copyLimit)
	if f != nil {
		return e.Encoder.Append(dst, v)
	}
	return b, nil
}

func (e *encoder) Gather(dst []byte, cuts []engine.Cut, v mem.Pointer, threshold int) ([]byte, []engine.Cut, error) {
	b, all, err := e.parts.Gather(dst, cuts, v, threshold)
	if err != nil {
		return e.Encoder.Gather(dst, cuts, v, threshold)
	}
	return b, all, nil
}

// AppendStruct appends a struct that the interpreter meets.
func (e *encoder) AppendStruct(p *interp.Parts, b []byte, proc int, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	return e.run(p, b, proc, base, depth, min(copyLimit, p.Threshold()))
}

// run appends the struct at base. Texts of copyBelow bytes and more are left to p.
func (e *encoder) run(p *interp.Parts, b []byte, proc int, base mem.Pointer, depth, copyBelow int) ([]byte, *diag.Fault) {
	u := &e.units[proc]
	if len(u.resume) == 0 || depth < e.depth {
		return p.Plain(b, proc, base, depth)
	}
	var block enter.Block
	block[wordPosition] = uint64(len(b))
	block[wordResume] = uint64(u.resume[0])
	block[wordCopy] = uint64(copyBelow)
	allowed := depth/e.depth - 1 // calls of procedures
	levels := min(e.levels, allowed)
	for {
		start := int(block[wordPosition])
		block[wordEnd] = uint64(min(cap(b), start+asm.Budget))
		block[wordLevels] = uint64(levels)
		block[wordWork] = workLimit
		status := e.call(levels > e.levels, &block, base, mem.Data(b))
		at := int(block[wordOut] - block[wordBuffer])
		if status == statusDone {
			return b[:at], nil
		}
		if status == statusFault {
			return nil, valueFault(len(b))
		}
		block[wordPosition] = uint64(at)
		if status == statusRoom {
			if need := int(block[wordNeed] - block[wordBuffer]); need > cap(b) {
				b = slices.Grow(b[:at], max(need-at, cap(b)))
				continue
			}
			if at > start {
				continue
			}
			status = statusAssist // one element is more than one entry may do
		}
		parts := p
		if status == statusDeep {
			if levels <= e.levels && levels < allowed {
				levels = min(e.deepLevels, allowed)
				continue
			}
			// Nor would what lies below find its end: each of its structs would start in vain.
			status, parts = statusAssist, p.Alone()
		}
		var f *diag.Fault
		if b, f = e.leave(parts, b[:at], proc, base, depth, status, &block); f != nil {
			return nil, f
		}
		if block[wordResume] == 0 {
			return b, nil
		}
		block[wordPosition] = uint64(len(b))
	}
}

// call enters the code.
func (e *encoder) call(deep bool, block *enter.Block, base, out mem.Pointer) uint64 {
	var status uint64
	if deep {
		status = enter.CallDeep(e.entry, block, base, out)
	} else {
		status = enter.Call(e.entry, block, base, out)
	}
	runtime.KeepAlive(e)
	return status
}

func valueFault(offset int) *diag.Fault {
	return diag.NewFault(diag.InvalidValue, offset, "a value without an encoding")
}

// leave does what the code has left to the driver, and sets where the code goes on; 0 if nothing remains.
func (e *encoder) leave(p *interp.Parts, b []byte, proc int, base mem.Pointer, depth int, status uint64, block *enter.Block) ([]byte, *diag.Fault) {
	u := &e.units[proc]
	op, index := int(block[wordOp]), int(int64(block[wordIndex]))
	var f *diag.Fault
	if status == statusAssist && index >= 0 {
		// The code goes on in the list, where it said.
		b, f = p.Element(b, proc, op, index, int(block[wordCount]), base, depth)
		block[wordIndex]++
		return b, f
	}
	to := op + 1
	if status == statusOps {
		to = int(block[wordTo])
	}
	last := len(u.resume) - 1
	for ; op < to; op++ {
		if op == last {
			block[wordResume] = 0
			return p.End(b, proc, base, depth)
		}
		if b, f = p.Field(b, proc, op, base, depth); f != nil {
			return b, f
		}
	}
	block[wordLast] = uint64(int64(p.Last(proc, to, base)))
	block[wordResume] = uint64(u.resume[to])
	return b, nil
}
