package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/enter"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/amd64"
)

// features are what the processor was asked once: on a virtual machine each
// question costs microseconds.
var features = amd64.Features{AVX2: enter.AVX2(), PDEP: enter.PDEP()}

// newMachine returns a machine for this processor.
func newMachine() asm.Machine { return amd64.New(features) }
