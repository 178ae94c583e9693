package jit

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file is the engine that chooses by itself, and later: the first uses of a type run on the
// interpreter, so that none of them waits for code.

// patience is how often a type is encoded, or decoded, before code is made for
// that. What is used less often than this never pays for its code.
const patience = 64

// Auto is the engine that starts with the interpreter and goes over to machine
// code where a type is used often and code is faster. The results are the same all the time.
type Auto struct {
	// Compiler makes the code, in the background. nil stands for one of its own for each type.
	Compiler *Compiler
}

var _ engine.Engine = Auto{}

// Name returns "auto".
func (Auto) Name() string { return "auto" }

// Encoder returns an encoder for a type, an [engine.Preparer] if it may change to machine code.
func (a Auto) Encoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions) (engine.Encoder, error) {
	first, err := interp.Engine{}.Encoder(encode, size, b, o)
	if err != nil {
		return nil, err
	}
	reason := unwanted()
	if reason == "" {
		reason = declined(encode, o)
	}
	if reason == "" && !worthEncoding(encode) {
		reason = "too little to encode"
	}
	if reason != "" {
		return declinedEncoder{first, reason}, nil
	}
	e := new(autoEncoder)
	e.init(a.Compiler, first, func() engine.Encoder {
		made, reason := newEncoder(encode, size, b, o, first)
		if reason != "" {
			return declinedEncoder{first, reason}
		}
		return made
	}, func(reason string) engine.Encoder { return declinedEncoder{first, reason} })
	return e, nil
}

// Decoder returns a decoder for a type, an [engine.Preparer] if it may change to machine code.
func (a Auto) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	first, err := interp.Engine{}.Decoder(decode, b, o)
	if err != nil {
		return nil, err
	}
	reason := unwanted()
	if reason == "" && !Supported() {
		reason = noMachine
	}
	if reason != "" {
		return reportingDecoder{first, declinedFor(reason)}, nil
	}
	d := new(autoDecoder)
	d.init(a.Compiler, first, func() engine.Decoder {
		made, report := newDecoder(decode, b, o, shortest)
		if made == nil {
			made = first
		}
		return reportingDecoder{made, report}
	}, func(reason string) engine.Decoder { return reportingDecoder{first, declinedFor(reason)} })
	return d, nil
}

// unwanted says why code is not made in this program unless it is asked for.
func unwanted() string {
	if sanitized {
		return "the race detector and the sanitizers do not see what machine code reads"
	}
	return ""
}

// worthEncoding reports whether entering code costs less than it saves.
func worthEncoding(p *plan.Program) bool {
	n := 0
	for i := range p.Procs[0].Ops {
		switch op := &p.Procs[0].Ops[i]; op.Code {
		case plan.Struct, plan.Pointer, plan.List:
			return true
		case plan.Map:
		default:
			n++
		}
	}
	return n >= fewestValues
}

// fewestValues is the number of numbers and texts from which encoding them by code pays.
const fewestValues = 4

// autoEncoder is an encoder that may become another.
type autoEncoder struct{ choice[engine.Encoder] }

func (e *autoEncoder) Append(dst []byte, v mem.Pointer) ([]byte, error) {
	return (*e.use()).Append(dst, v)
}

func (e *autoEncoder) Size(v mem.Pointer) (int, error) { return (*e.current()).Size(v) }

func (e *autoEncoder) Gather(dst []byte, cuts []engine.Cut, v mem.Pointer, threshold int) ([]byte, []engine.Cut, error) {
	return (*e.use()).Gather(dst, cuts, v, threshold)
}

// autoDecoder is a decoder that may become another.
type autoDecoder struct{ choice[engine.Decoder] }

func (d *autoDecoder) Decode(b []byte, v mem.Pointer, a *engine.Arena) (int, error) {
	return (*d.use()).Decode(b, v, a)
}

// choice is an encoder or decoder, first one and later, once it is ready, another.
type choice[T any] struct {
	last     atomic.Pointer[T] // what was chosen; nil until then
	left     atomic.Int32      // uses until code is made
	first    T
	once     sync.Once
	compile  func() T
	failed   func(reason string) T // what is chosen if compile panics
	compiler *Compiler
}

func (c *choice[T]) init(by *Compiler, first T, compile func() T, failed func(string) T) {
	if by == nil {
		by = new(Compiler)
	}
	c.compiler, c.first, c.compile, c.failed = by, first, compile, failed
	c.left.Store(patience)
}

// use returns what runs now and counts.
func (c *choice[T]) use() *T {
	if last := c.last.Load(); last != nil {
		return last
	}
	if c.left.Load() > 0 && c.left.Add(-1) == 0 {
		c.compiler.add(c.Prepare)
	}
	return &c.first
}

// current returns what runs now.
func (c *choice[T]) current() *T {
	if last := c.last.Load(); last != nil {
		return last
	}
	return &c.first
}

// Prepare chooses now, if that has not been done. Concurrent calls choose once.
func (c *choice[T]) Prepare() {
	c.once.Do(func() {
		made := c.tryCompile()
		c.last.Store(&made)
	})
}

// tryCompile compiles. Nobody asked for code, so a defect in its making is no reason to end the program.
func (c *choice[T]) tryCompile() (made T) {
	defer func() {
		if r := recover(); r != nil {
			made = c.failed(fmt.Sprint("making its code failed: ", r))
		}
	}()
	return c.compile()
}

// Report says what runs.
func (c *choice[T]) Report() engine.Report {
	if last := c.last.Load(); last != nil {
		return any(*last).(engine.Reporter).Report()
	}
	return engine.Report{Engine: interp.Engine{}.Name(), Pending: true}
}

// Compiler makes code in the background, for one type at a time. It is safe
// for concurrent use; its goroutine ends when nothing is left to make.
type Compiler struct {
	mu      sync.Mutex
	waiting []func()
	working bool
}

// add has f called soon.
func (c *Compiler) add(f func()) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.waiting = append(c.waiting, f)
	if !c.working {
		c.working = true
		go c.work()
	}
}

func (c *Compiler) work() {
	for {
		c.mu.Lock()
		if len(c.waiting) == 0 {
			c.waiting, c.working = nil, false
			c.mu.Unlock()
			return
		}
		f := c.waiting[0]
		c.waiting[0] = nil
		c.waiting = c.waiting[1:]
		c.mu.Unlock()
		f()
	}
}
