package jit

import (
	"github.com/thrum-rpc/thrum/internal/engine/jit/asm"
	"github.com/thrum-rpc/thrum/internal/engine/jit/isa/arm64"
)

// newMachine returns a machine for this processor.
func newMachine() asm.Machine { return arm64.New() }
