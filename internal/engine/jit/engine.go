package jit

import (
	"cmp"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// Engine makes machine code where it can, and uses the interpreter elsewhere.
type Engine struct {
	// Shortest is the number of numbers and texts in a row for which decoding
	// enters code; 0 stands for the number from which it pays. Tests set 1, so that all of
	// them are read by code.
	Shortest int
}

var _ engine.Engine = Engine{}

// Name returns "jit".
func (Engine) Name() string { return "jit" }

// Supported reports whether this platform runs machine code that is made at run time.
func Supported() bool { return execmem.Supported() && newMachine() != nil }

// Encoder returns an encoder for a type.
func (Engine) Encoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions) (engine.Encoder, error) {
	return interp.Engine{}.Encoder(encode, size, b, o)
}

// Decoder returns a decoder for a type.
func (e Engine) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	if d, _ := newDecoder(decode, b, o, cmp.Or(e.Shortest, shortest)); d != nil {
		return d, nil
	}
	return interp.Engine{}.Decoder(decode, b, o)
}
