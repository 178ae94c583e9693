// Package interp is the portable engine and the semantic oracle: what it does
// with a program is what the program means, and every other engine is
// compared with it. It is used wherever no machine code is, on every platform.
//
// It reaches memory through internal/mem only, and runtime types through the
// slots of a Binding.
package interp

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// Engine is the interpreter.
type Engine struct{}

var _ engine.Engine = Engine{}

// Name returns "interp".
func (Engine) Name() string { return "interp" }

// Encoder returns an encoder for a type.
func (Engine) Encoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions) (engine.Encoder, error) {
	return &encoder{prog: encode, size: size, slots: b.Slots, cells: cellsOf(b.Slots), opts: o}, nil
}

// Decoder returns a decoder for a type.
func (Engine) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	return &decoder{prog: decode, slots: b.Slots, cells: cellsOf(b.Slots), opts: o}, nil
}
