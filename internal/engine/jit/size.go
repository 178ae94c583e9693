package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file runs size code: encode.go's driver for code that counts.

// sizeWork bounds what size code does at a time: elements and ops.
const sizeWork = 128 << 10

// worthSizing reports whether code sizes a program's values faster than the
// interpreter, which adds up the numbers and texts of flat structs without looking at ops, and sizes
// maps alone.
func worthSizing(p *plan.Program, d compact.Dialect) bool {
	gain, simple := 0, 0
	for k := range p.Procs[0].Ops {
		op := &p.Procs[0].Ops[k]
		if op.Flags&conditional != 0 {
			gain++
		}
		inner := op
		if op.Code == plan.List {
			inner = &p.Procs[op.A].Ops[0]
		}
		switch {
		case op.Code == plan.Map:
			gain-- // leaving for it costs
		case nested(inner) && (inner.Code == plan.List || !flat(p.Procs[inner.A])):
			gain += 3
		case op.Code == plan.List && inner.Code.Width() == 0:
			gain++
		case d != 0:
			simple++
		}
	}
	return gain+simple/8 >= leastGain
}

// leastGain is what pays for entering code.
const leastGain = 2

// flat reports whether a struct has only numbers and texts that are always written.
func flat(p *plan.Proc) bool {
	for k := range p.Ops {
		op := &p.Ops[k]
		if op.Flags&conditional != 0 || op.Code.Width() == 0 && op.Code != plan.String && op.Code != plan.Binary {
			return false
		}
	}
	return true
}

// Size returns the size of the value at v.
func (e *encoder) Size(v mem.Pointer) (int, error) {
	if len(e.sizer.resume) > 0 && e.maxDepth >= e.sizer.depth {
		if n, ok := e.size(v); ok {
			return n, nil
		}
	}
	return e.Encoder.Size(v)
}

// size returns the size of the value at base, unless that has a fault.
func (e *encoder) size(base mem.Pointer) (int, bool) {
	s := &e.sizer
	var block enter.Block
	block[wordResume] = uint64(s.resume[0])
	allowed := e.maxDepth/s.depth - 1
	levels := min(s.levels, allowed)
	for {
		start := int(block[wordPosition])
		block[wordLevels] = uint64(levels)
		block[wordWork] = sizeWork
		status := e.call(levels > s.levels, &block, base, nil)
		at := int(block[wordOut])
		block[wordPosition] = uint64(at)
		switch {
		case status == statusDone:
			return at, true
		case status == statusFault:
			return 0, false
		case status == statusRoom && at > start:
			continue
		case status == statusDeep && levels <= s.levels && levels < allowed:
			levels = min(s.deepLevels, allowed)
			continue
		}
		n, f := e.sizeOp(int(block[wordOp]), base, &block)
		if f {
			return 0, false
		}
		if block[wordPosition] = uint64(at + n); block[wordResume] == 0 {
			return at + n, true
		}
	}
}

// sizeOp returns the size of what the code has left to the driver, and sets where the code goes on; 0 if nothing remains.
func (e *encoder) sizeOp(op int, base mem.Pointer, block *enter.Block) (n int, fault bool) {
	resume := e.sizer.resume
	if op == len(resume)-1 {
		block[wordResume] = 0
		return e.parts.SizeUnknown(0, base, e.maxDepth), false
	}
	n, f := e.parts.SizeField(0, op, base, e.maxDepth)
	block[wordLast] = uint64(int64(e.parts.Last(0, op+1, base)))
	block[wordResume] = uint64(resume[op+1])
	return n, f != nil
}
