package jit

import (
	"errors"

	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// Code returns the code that a machine gets for an encode or decode program
// with the default options, in a dialect of the compact protocol or in the
// binary one (0), to be looked at. Why there is none is an error.
func Code(m asm.Machine, p *plan.Program, d compact.Dialect) ([]byte, error) {
	switch p.Job {
	case plan.Encode:
		code, reason := newEncodeGenerator(m, p, engine.EncodeOptions{Compact: d}).generate()
		if reason != "" {
			return nil, errors.New(reason)
		}
		return code, nil
	case plan.Decode:
		if decodeProgram(m, p, engine.DecodeOptions{Compact: d}, shortest) == nil {
			return nil, errors.New("the interpreter decodes it")
		}
		return m.Finish()
	default:
		return nil, errors.New("the interpreter runs " + p.Job.String() + " programs")
	}
}
