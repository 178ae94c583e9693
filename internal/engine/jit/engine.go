package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/interp"
	"github.com/thrum-rpc/thrum/internal/execmem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// Engine makes machine code where it can, and uses the interpreter elsewhere.
type Engine struct{}

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
func (Engine) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	fallback, err := interp.Engine{}.Decoder(decode, b, o)
	if err != nil || !Supported() {
		return fallback, err
	}
	if d, _ := newDecoder(decode, b, o, fallback); d != nil {
		return d, nil
	}
	return fallback, nil
}
