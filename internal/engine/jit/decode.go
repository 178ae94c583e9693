package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// newDecoder returns a decoder, or why the program is declined.
func newDecoder(*plan.Program, *engine.Binding, engine.DecodeOptions, engine.Decoder) (engine.Decoder, string) {
	return nil, "decoding is not compiled"
}
