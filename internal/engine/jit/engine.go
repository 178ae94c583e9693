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
	fallback, err := interp.Engine{}.Encoder(encode, size, b, o)
	if err != nil {
		return nil, err
	}
	e, reason := newEncoder(encode, size, b, o, fallback)
	if reason != "" {
		return declinedEncoder{fallback, reason}, nil
	}
	return e, nil
}

// declinedEncoder is the interpreter, with the reason for it.
type declinedEncoder struct {
	engine.Encoder
	reason string
}

// Report says what runs.
func (d declinedEncoder) Report() engine.Report { return declinedFor(d.reason) }

// noMachine is why platforms are declined.
const noMachine = "no machine code on this platform"

func declinedFor(reason string) engine.Report {
	return engine.Report{Engine: interp.Engine{}.Name(), Declined: reason}
}

// Decoder returns a decoder for a type.
func (e Engine) Decoder(decode *plan.Program, b *engine.Binding, o engine.DecodeOptions) (engine.Decoder, error) {
	d, report := newDecoder(decode, b, o, cmp.Or(e.Shortest, shortest))
	if d == nil {
		var err error
		if d, err = (interp.Engine{}).Decoder(decode, b, o); err != nil {
			return nil, err
		}
	}
	return reportingDecoder{d, report}, nil
}

// reportingDecoder is a decoder that says what runs.
type reportingDecoder struct {
	engine.Decoder
	report engine.Report
}

// Report says what runs.
func (d reportingDecoder) Report() engine.Report { return d.report }
