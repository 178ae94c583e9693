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
		return encodeCode(m, p, d, encodes)
	case plan.Decode:
		if decodeProgram(m, p, engine.DecodeOptions{Compact: d}, shortest) == nil {
			return nil, errors.New("the interpreter decodes it")
		}
		return m.Finish()
	default:
		return nil, errors.New("code is made of encode and decode programs")
	}
}

// SizeCode is Code for what sizes the values that an encode program encodes.
func SizeCode(m asm.Machine, encode *plan.Program, d compact.Dialect) ([]byte, error) {
	if !worthSizing(encode, d) {
		return nil, errors.New("the interpreter sizes it as fast")
	}
	return encodeCode(m, encode, d, sizes)
}

func encodeCode(m asm.Machine, p *plan.Program, d compact.Dialect, w what) ([]byte, error) {
	code, reason := newEncodeGenerator(m, p, engine.EncodeOptions{Compact: d}).generate(w)
	if reason != "" {
		return nil, errors.New(reason)
	}
	return code, nil
}
