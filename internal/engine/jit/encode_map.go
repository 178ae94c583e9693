package jit

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file encodes the entries of maps. The interpreter goes over a map and
// puts its entries into an array; code writes that like a list of structs whose
// fields have no headers.

// entries is the code for the maps of a slot.
type entries struct {
	start  asm.Label
	entry  uintptr // the address of start; 0 if there is no code
	op     *plan.Op
	elem   int // the offset of the element
	stride int
}

// mapEntries makes the code of all maps whose entries have the sizes in strides, by slot, and
// that hold nothing which only the driver can write.
func (g *encodeGenerator) mapEntries(strides []int) {
	if len(strides) == 0 {
		return
	}
	g.maps = make([]entries, len(strides))
	refused := make([]bool, len(strides)) // two maps of the slot differ
	for _, p := range g.prog.Procs {
		for k := range p.Ops {
			op := &p.Ops[k]
			if op.Code != plan.Map || strides[op.Slot] == 0 || refused[op.Slot] {
				continue
			}
			m := &g.maps[op.Slot]
			switch {
			case m.op == nil && g.takesEntries(op, strides[op.Slot], m):
				g.entriesUnit(m)
			case m.op == nil || m.op.A != op.A || m.op.B != op.B:
				refused[op.Slot] = true
			}
		}
	}
	for slot, no := range refused {
		if no {
			g.maps[slot].op = nil
		}
	}
}

// takesEntries reports whether code writes entries of the map op, and says in m how they lie.
func (g *encodeGenerator) takesEntries(op *plan.Op, stride int, m *entries) bool {
	key, elem := &g.prog.Procs[op.A].Ops[0], &g.prog.Procs[op.B].Ops[0]
	if g.isDriven(key) || g.isDriven(elem) || key.Code == plan.Struct || elem.Code == plan.Struct {
		return false
	}
	if g.opts.Compact != 0 && (key.Code == plan.Bool || elem.Code == plan.Bool) {
		return false // a bool's value stands in the header of its field, which is not here
	}
	keySize, elemSize := int(key.Code.Memory()), int(elem.Code.Memory())
	keyAlign, elemAlign := min(keySize, 8), min(elemSize, 8)
	at := roundUp(keySize, elemAlign)
	*m = entries{op: op, elem: at, stride: stride, start: g.m.Label()}
	return roundUp(at+elemSize, max(keyAlign, elemAlign)) == stride
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// entriesUnit makes the code that writes wordCount entries from the base on.
func (g *encodeGenerator) entriesUnit(e *entries) {
	m := g.m
	key, elem := &g.prog.Procs[e.op.A].Ops[0], &g.prog.Procs[e.op.B].Ops[0]
	g.begin()
	m.Bind(e.start)
	loop := m.Label()
	m.Bind(loop)
	x := exits{g.room, g.assist}
	r := new(run)
	for _, v := range []struct {
		op  *plan.Op
		off int
	}{{key, 0}, {elem, e.elem}} {
		if nested(v.op) {
			g.flush(r, x)
			r = new(run)
			g.entryPart(v.op, int32(v.off), x)
			continue
		}
		if r.text {
			g.flush(r, x)
			r = new(run)
		}
		g.add(r, v.op, int32(v.off))
	}
	g.flush(r, x)
	m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	m.Load(asm.W64, rB, rBlock, 8*wordIndex)
	m.AddImm(rB, rB, 1)
	m.Store(asm.W64, rBlock, 8*wordIndex, rB)
	m.AddImm(rBase, rBase, int32(e.stride))
	m.BranchMem(asm.LO, rB, rBlock, 8*wordCount, loop)
	g.done()
	g.emitCold()
}

// flush writes a run of entries, if there is anything in it.
func (g *encodeGenerator) flush(r *run, x exits) {
	if r.ops > 0 {
		g.run(r, rBase, x)
	}
}

// entryPart writes a key or element that is no number or text.
func (g *encodeGenerator) entryPart(op *plan.Op, off int32, x exits) {
	if op.Code == plan.List {
		g.list(op, off, x)
		return
	}
	g.pointer(op, off, x)
}

// AppendEntries appends entries of a map that the interpreter goes over.
func (e *encoder) AppendEntries(p *interp.Parts, b []byte, op *plan.Op, base mem.Pointer, n, depth int) ([]byte, *diag.Fault) {
	m := &e.maps[op.Slot]
	var block enter.Block
	block[wordResume] = uint64(m.entry)
	block[wordCopy] = uint64(min(copyLimit, p.Threshold()))
	allowed := max(depth/e.depth-1, 0)
	levels := min(e.levels, allowed)
	alone := depth < e.depth
	for n > 0 {
		status, done := uint64(statusAssist), 0
		if !alone {
			block[wordPosition] = uint64(len(b))
			block[wordEnd] = uint64(min(cap(b), len(b)+asm.Budget))
			block[wordIndex], block[wordCount] = 0, uint64(n)
			block[wordLevels], block[wordWork] = uint64(levels), workLimit
			status = e.call(levels > e.levels, &block, base, mem.Data(b))
			b = b[:int(block[wordOut]-block[wordBuffer])]
			if status == statusDone {
				return b, nil
			}
			done = int(block[wordIndex])
			base, n = mem.Add(base, uintptr(done*m.stride)), n-done
		}
		switch need := int(block[wordNeed] - block[wordBuffer]); {
		case status == statusFault:
			return nil, valueFault(len(b))
		case status == statusRoom && need > cap(b):
			b = slices.Grow(b, max(need-len(b), cap(b)))
			continue
		case status == statusRoom && done > 0:
			continue
		case status == statusDeep && levels <= e.levels && levels < allowed:
			levels = min(e.deepLevels, allowed)
			continue
		}
		parts := p
		if status == statusDeep {
			parts = p.Alone()
		}
		var f *diag.Fault
		if b, f = parts.Entry(b, op, base, mem.Add(base, uintptr(m.elem)), depth); f != nil {
			return nil, f
		}
		if n--; n > 0 { // an address behind the last one would not be the array's
			base = mem.Add(base, uintptr(m.stride))
		}
	}
	return b, nil
}
