package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file generates encode code: units, which are structs that the driver
// enters, and bodies, which are structs that other code calls or has inlined.
//
// A field is written behind one comparison of the room that is left with what the field, and its
// neighbours of fixed width, take. The comparison is exact: a buffer of the
// encoding's size is enough.

// The registers of encode code.
const (
	rBlock = asm.R0
	rBase  = asm.R1  // of the struct
	rNew   = asm.R2  // where the output will end
	rOut   = asm.R3  // where the output ends
	rEnd   = asm.R4  // where the room ends
	rFrame = asm.R5  // the procedure's part of the stack
	rDst   = asm.R6  // copies
	rSrc   = asm.R7  // copies
	rLen   = asm.R8  // copies
	rA     = asm.R9  // addresses of values behind pointers, cursors
	rB     = asm.R10 // values, counters
	rC     = asm.R11 // values
)

// noLabel is no label.
const noLabel = asm.Label(-1)

// inlineOps is the number of ops up to which a struct is inlined where it stands.
const inlineOps = 40

// generator makes the code of an encode program.
type encodeGenerator struct {
	m    asm.Machine
	prog *plan.Program
	opts engine.EncodeOptions

	resume  [][]asm.Label // by procedure and op
	bodies  []asm.Label   // by procedure; noLabel for those that nobody calls
	queue   []int         // bodies to be made
	driven  []bool        // by procedure: it may hold what only the driver can write
	weights []int         // by procedure: its ops with all that is inlined
	active  []bool        // by procedure: it is being inlined

	heads  map[*plan.Op]fieldHead // in the compact protocol
	last   place                  // of the id of the field before
	varint asm.Label              // the code of long varints; noLabel in the binary protocol

	slots   int // of the procedure at hand that are in use
	most    int // slots that a procedure uses
	depth   int // levels below the procedure at hand
	deepest int // levels that a procedure takes

	// What code below a unit's field jumps to.
	room, assist asm.Label
	deep         asm.Label // where a procedure may not be called any more
	fault        asm.Label // what any code jumps to that meets a value without an encoding

	calls bool // there are bodies

	cold []func() // makes what runs rarely, behind the unit

	strides []int     // of map entries, by slot; those of 0 are not for code
	maps    []entries // by slot

	sizing bool             // code counts and does not write
	sizer  *encodeGenerator // of the size code; nil for none
}

func newEncodeGenerator(m asm.Machine, p *plan.Program, o engine.EncodeOptions) *encodeGenerator {
	g := &encodeGenerator{m: m, prog: p, opts: o}
	g.resume = make([][]asm.Label, len(p.Procs))
	g.bodies = make([]asm.Label, len(p.Procs))
	for i := range g.bodies {
		g.bodies[i] = noLabel
	}
	g.driven = make([]bool, len(p.Procs))
	g.weights = make([]int, len(p.Procs))
	g.active = make([]bool, len(p.Procs))
	return g
}

// place is a word in memory.
type place struct {
	base asm.Reg
	off  int32
}

// what is what code is made for.
type what uint8

const (
	encodes what = 1 << iota
	sizes
)

// generate returns the code for all that w asks for, or why there is none.
func (g *encodeGenerator) generate(w what) ([]byte, string) {
	g.findDriven()
	g.room, g.assist, g.deep, g.fault = g.m.Label(), g.m.Label(), g.m.Label(), g.m.Label()
	g.entry()
	if g.opts.Compact != 0 {
		g.compactHeads()
	}
	if w&encodes != 0 {
		g.units()
	}
	if w&sizes != 0 {
		g.sizer = g.newSizer()
		g.sizer.sizeUnit(0)
		g.sizer.makeBodies()
	}
	g.exits()
	code, err := g.m.Finish()
	switch {
	case err != nil:
		return nil, err.Error()
	case w&encodes != 0 && g.levels(enter.StackSize) < 1, w&sizes != 0 && g.sizer.levels(enter.StackSize) < 1:
		return nil, "it nests deeper than the stack of one entry"
	case len(code) > mostCode:
		return nil, "its code would be too large"
	}
	return code, ""
}

// units makes the code of all structs.
func (g *encodeGenerator) units() {
	if g.opts.Compact != 0 {
		g.varint = g.m.Label()
		g.varintCode()
	}
	for i, proc := range g.prog.Procs {
		if proc.IsStruct() {
			g.unit(i)
		}
	}
	g.mapEntries(g.strides)
	g.makeBodies()
}

// makeBodies makes the bodies that code calls, which may call others.
func (g *encodeGenerator) makeBodies() {
	for len(g.queue) > 0 {
		proc := g.queue[0]
		g.queue = g.queue[1:]
		g.body(proc)
	}
}

// mostCode is the size of code that a type may have.
const mostCode = 1 << 20

// levels returns how many calls of procedures a stack has room for, beside a unit.
func (g *encodeGenerator) levels(stack int) int { return (stack-asideSize)/(8*g.most) - 1 }

func (g *encodeGenerator) limits() limits {
	l := limits{depth: g.deepest}
	if g.calls {
		l.levels, l.deepLevels = g.levels(enter.StackSize), g.levels(enter.DeepStackSize)
	}
	return l
}

// findDriven finds what may hold maps: those are the driver's, and so is what
// leads to them.
func (g *encodeGenerator) findDriven() {
	for changed := true; changed; {
		changed = false
		for i, proc := range g.prog.Procs {
			for k := range proc.Ops {
				if !g.driven[i] && g.isDriven(&proc.Ops[k]) {
					g.driven[i], changed = true, true
				}
			}
		}
	}
	for i := range g.weights {
		g.weights[i] = g.weigh(i)
	}
}

// isDriven reports whether the driver has to write op's values.
func (g *encodeGenerator) isDriven(op *plan.Op) bool {
	switch op.Code {
	case plan.Map:
		return true
	case plan.Struct, plan.Pointer, plan.List:
		return g.driven[op.A]
	default:
		return op.Flags&plan.Default != 0 && (op.Code == plan.String || op.Code == plan.Binary || op.Code == plan.UUID)
	}
}

// weigh counts the ops of a procedure and those below it, up to what is too many to inline.
func (g *encodeGenerator) weigh(proc int) int {
	if g.active[proc] {
		return inlineOps + 1
	}
	g.active[proc] = true
	n := 0
	for k := range g.prog.Procs[proc].Ops {
		op := &g.prog.Procs[proc].Ops[k]
		n++
		switch op.Code {
		case plan.Struct, plan.Pointer, plan.List:
			n += g.weigh(int(op.A))
		}
		if n > inlineOps {
			break
		}
	}
	g.active[proc] = false
	return n
}

// entry is the code that the driver calls.
func (g *encodeGenerator) entry() {
	m := g.m
	m.Store(asm.W64, rBlock, 8*wordBuffer, asm.R2)
	m.Load(asm.W64, rOut, rBlock, 8*wordPosition)
	m.Add(rOut, rOut, asm.R2)
	m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	m.Load(asm.W64, rEnd, rBlock, 8*wordEnd)
	m.Add(rEnd, rEnd, asm.R2)
	m.Stack(rFrame)
	m.AddImm(rFrame, rFrame, asideSize)
	m.Load(asm.W64, rB, rBlock, 8*wordResume)
	m.JumpReg(rB)
}

// exits are what code below a unit's field jumps to; the unit has said where it stands.
func (g *encodeGenerator) exits() {
	g.m.Bind(g.room) // rNew has where the room should have ended
	g.m.Store(asm.W64, rBlock, 8*wordNeed, rNew)
	g.m.Exit(statusRoom)
	g.m.Bind(g.assist)
	g.m.Exit(statusAssist)
	g.m.Bind(g.deep)
	g.m.Exit(statusDeep)
	g.m.Bind(g.fault)
	g.m.Exit(statusFault)
}

// takeSlots takes n slots of the frame and returns the offset of the first.
func (g *encodeGenerator) takeSlots(n int) int32 {
	at := g.slots
	g.slots += n
	g.most = max(g.most, g.slots)
	return int32(8 * at)
}

func (g *encodeGenerator) freeSlots(n int) { g.slots -= n }

// down and up note that values nest.
func (g *encodeGenerator) down() {
	g.depth++
	g.deepest = max(g.deepest, g.depth)
}

func (g *encodeGenerator) up() { g.depth-- }

// begin starts a procedure, whose first slot has the return address.
func (g *encodeGenerator) begin() {
	g.slots, g.depth = 0, 0
	g.takeSlots(1)
	g.down()
}

// unit makes the code of a struct that the driver enters.
func (g *encodeGenerator) unit(proc int) {
	p := g.prog.Procs[proc]
	g.begin()
	labels := make([]asm.Label, len(p.Ops)+1)
	for k := range labels {
		labels[k] = g.m.Label()
	}
	g.resume[proc] = labels
	g.active[proc] = true
	g.last = place{rBlock, 8 * wordLast}
	reached := make([]bool, len(labels))
	for k := 0; k < len(p.Ops); {
		g.m.Bind(labels[k])
		reached[k] = true
		r := g.gather(p, k, 0)
		if r.ops == 0 {
			g.unitOp(proc, k)
			k++
			continue
		}
		x := g.unitExits(k, k+r.ops)
		finished := k+r.ops == len(p.Ops) && p.Unknown < 0
		if finished {
			r.stop()
		}
		g.run(r, rBase, x)
		if finished {
			g.done()
		} else {
			g.keepLast(&p.Ops[k+r.ops-1])
		}
		k += r.ops
	}
	g.unitEnd(p, labels[len(p.Ops)])
	g.emitCold()
	for k, ok := range reached[:len(p.Ops)] {
		if !ok {
			labels[k] = noLabel
		}
	}
	g.active[proc] = false
}

// emitCold makes what runs rarely, which may make more of that.
func (g *encodeGenerator) emitCold() {
	for len(g.cold) > 0 {
		f := g.cold[0]
		g.cold = g.cold[1:]
		f()
	}
}

// done leaves because the struct is written.
func (g *encodeGenerator) done() {
	g.m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	g.m.Exit(statusDone)
}

// unitEnd makes the code behind the last op.
func (g *encodeGenerator) unitEnd(p *plan.Proc, l asm.Label) {
	n := len(p.Ops)
	g.m.Bind(l)
	x := g.unitExits(n, n+1)
	if p.Unknown >= 0 {
		g.m.BranchMemImm(asm.W64, asm.NE, rBase, p.Unknown+8, 0, x.ops)
	}
	var r run
	r.stop()
	g.run(&r, rBase, x)
	g.done()
}

// exits are where code goes that cannot go on.
type exits struct {
	room asm.Label // rNew is where the room should have ended
	ops  asm.Label // what is being written is not for code
}

// unitExits returns the exits of a unit's ops from k to n that stand at its own level. They begin again here.
func (g *encodeGenerator) unitExits(k, n int) exits {
	again := g.m.Label()
	g.m.Bind(again)
	x := exits{g.m.Label(), g.m.Label()}
	g.cold = append(g.cold, func() {
		g.m.Bind(x.room)
		g.mark(k, again)
		g.m.Jump(g.room)
		g.m.Bind(x.ops)
		g.m.Store(asm.W64, rBlock, 8*wordOut, rOut)
		g.m.StoreImm(asm.W64, rBlock, 8*wordOp, uint64(k))
		g.m.StoreImm(asm.W64, rBlock, 8*wordTo, uint64(n))
		g.m.Exit(statusOps)
	})
	return x
}

// mark notes that all before the unit's op k is written and that it can begin again at l.
func (g *encodeGenerator) mark(k int, l asm.Label) {
	g.m.Addr(rB, l)
	g.m.Store(asm.W64, rBlock, 8*wordResume, rB)
	g.m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	g.m.StoreImm(asm.W64, rBlock, 8*wordOp, uint64(k))
	g.m.StoreImm(asm.W64, rBlock, 8*wordIndex, 1<<64-1)
}

// leaveOps leaves the unit's op k to the driver.
func (g *encodeGenerator) leaveOps(k int) {
	g.m.Store(asm.W64, rBlock, 8*wordOut, rOut)
	g.m.StoreImm(asm.W64, rBlock, 8*wordOp, uint64(k))
	g.m.StoreImm(asm.W64, rBlock, 8*wordTo, uint64(k+1))
	g.m.Exit(statusOps)
}

// unitOp makes the code of a unit's op that is no run.
func (g *encodeGenerator) unitOp(proc, k int) {
	op := &g.prog.Procs[proc].Ops[k]
	next := g.m.Label()
	switch {
	case g.isDriven(op):
		if op.Flags&plan.Optional != 0 {
			g.m.BranchMemImm(asm.W64, asm.EQ, rBase, int32(op.Off), 0, next)
		}
		g.leaveOps(k)
	case op.Code == plan.List:
		g.unitList(k, op, next)
	case op.Code == plan.Struct, op.Code == plan.Pointer:
		again := g.m.Label()
		g.m.Bind(again)
		g.mark(k, again)
		g.field(op, 0, next, exits{g.room, g.assist})
	default:
		x := g.unitExits(k, k+1)
		g.field(op, 0, next, x)
	}
	g.m.Bind(next)
}

// body makes the code of a struct that other code calls.
func (g *encodeGenerator) body(proc int) {
	g.begin()
	g.m.Bind(g.bodies[proc])
	g.active[proc] = true
	if g.sizing {
		g.chargeOps(int32(len(g.prog.Procs[proc].Ops) + 1))
	}
	g.fields(proc, 0)
	g.active[proc] = false
	g.m.Load(asm.W64, rB, rFrame, 0)
	g.m.JumpReg(rB)
	g.emitCold()
}

// fields writes a struct that lies at off from the base, below a unit's field.
func (g *encodeGenerator) fields(proc int, off int32) {
	p := g.prog.Procs[proc]
	if g.dynamic(p) {
		outer := g.last
		g.last = place{rFrame, g.takeSlots(1)}
		g.m.StoreImm(asm.W64, rFrame, g.last.off, 0)
		defer func() {
			g.freeSlots(1)
			g.last = outer
		}()
	}
	if g.sizing {
		g.sizeFields(p, off)
		return
	}
	x := exits{g.room, g.assist}
	g.charge(p)
	for k := 0; k < len(p.Ops); {
		r := g.gather(p, k, off)
		if r.ops > 0 {
			if k += r.ops; k == len(p.Ops) && p.Unknown < 0 {
				r.stop()
				g.run(r, rBase, x)
				return
			}
			g.run(r, rBase, x)
			g.keepLast(&p.Ops[k-1])
			continue
		}
		next := g.m.Label()
		g.field(&p.Ops[k], off, next, x)
		g.m.Bind(next)
		k++
	}
	if p.Unknown >= 0 {
		g.m.BranchMemImm(asm.W64, asm.NE, rBase, off+p.Unknown+8, 0, g.assist)
	}
	var r run
	r.stop()
	g.run(&r, rBase, x)
}

// freeOps is the number of ops that may write nothing up to which a struct is not charged for.
const freeOps = 8

// charge counts the ops of a struct that takes long for the few bytes that it may be, and leaves when it is
// time: what is written bounds the work of the others.
func (g *encodeGenerator) charge(p *plan.Proc) {
	n := int32(0)
	for k := range p.Ops {
		if p.Ops[k].Flags&conditional != 0 {
			n++
		}
	}
	if n > freeOps {
		g.chargeOps(n)
	}
}

func (g *encodeGenerator) chargeOps(n int32) {
	m := g.m
	m.Load(asm.W64, rB, rBlock, 8*wordWork)
	m.AddImm(rB, rB, -n)
	m.Store(asm.W64, rBlock, 8*wordWork, rB)
	m.Mov(rNew, rOut)
	m.BranchImm(asm.LT, rB, 0, g.room)
}

// structure writes the struct at off from the base, inlined or by a call.
func (g *encodeGenerator) structure(proc int, off int32) {
	if !g.active[proc] && g.weights[proc] <= inlineOps {
		g.active[proc] = true
		g.down()
		g.fields(proc, off)
		g.up()
		g.active[proc] = false
		return
	}
	if g.bodies[proc] == noLabel {
		g.bodies[proc] = g.m.Label()
		g.queue = append(g.queue, proc)
		g.calls = true
	}
	m := g.m
	m.Load(asm.W64, rB, rBlock, 8*wordLevels)
	m.BranchImm(asm.EQ, rB, 0, g.deep)
	m.AddImm(rB, rB, -1)
	m.Store(asm.W64, rBlock, 8*wordLevels, rB)
	saved := g.takeSlots(1)
	if off != 0 {
		m.Store(asm.W64, rFrame, saved, rBase)
		m.AddImm(rBase, rBase, off)
	}
	size := int32(8 * g.slots)
	back := m.Label()
	m.Addr(rB, back)
	m.AddImm(rFrame, rFrame, size)
	m.Store(asm.W64, rFrame, 0, rB)
	m.Jump(g.bodies[proc])
	m.Bind(back)
	m.AddImm(rFrame, rFrame, -size)
	if off != 0 {
		m.Load(asm.W64, rBase, rFrame, saved)
	}
	g.freeSlots(1)
	m.Load(asm.W64, rB, rBlock, 8*wordLevels)
	m.AddImm(rB, rB, 1)
	m.Store(asm.W64, rBlock, 8*wordLevels, rB)
}
