// Package interp is the portable engine and the semantic oracle: what it does
// with a program is what the program means, and every other engine is
// compared with it. It is used wherever no machine code is, on every platform.
//
// It reaches memory through internal/mem only, and runtime types through the
// slots of a Binding.
package interp

import (
	"errors"
	"math"
	"sync"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// Engine is the interpreter.
type Engine struct{}

var _ engine.Engine = Engine{}

// Name returns "interp".
func (Engine) Name() string { return "interp" }

// Encoder returns an encoder for a type. For the compact protocol it derives
// both programs from encode.
func (Engine) Encoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions) (engine.Encoder, error) {
	if err := unsupported(o.Compact, encode); err != nil {
		return nil, err
	}
	e := &encoder{prog: encode, size: size, slots: b.Slots, cells: cellsOf(b.Slots), opts: o, compact: o.Compact, threshold: math.MaxInt, gatherers: new(sync.Pool)}
	if o.Compact == 0 {
		e.plain, e.prog = encode, pairProgram(encode)
	} else {
		e.prog = compactProgram(encode, o.Compact)
		e.size, e.always = compactSizes(encode)
	}
	return e, nil
}

// Decoder returns a decoder for a type.
func (e Engine) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	return e.decoder(decode, b, o)
}

func (Engine) decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (*decoder, error) {
	d := &decoder{prog: decode, slots: b.Slots, cells: cellsOf(b.Slots), opts: o, compact: o.Compact}
	for code := range d.types {
		if f, n := o.Compact.ConsumeField([]byte{1<<4 | byte(code)}, 0); n > 0 {
			d.types[code] = f.Type
		}
	}
	return d, unsupported(o.Compact, decode)
}

// unsupported returns an error if p needs a wire type that the dialect does not have.
func unsupported(d compact.Dialect, p *plan.Program) error {
	if d == 0 {
		return nil
	}
	for _, proc := range p.Procs {
		for i := range proc.Ops {
			if t := proc.Ops[i].Wire; !d.Has(t) {
				return errors.New("the compact protocol of " + d.String() + " has no " + t.String())
			}
		}
	}
	return nil
}
