//go:build !amd64 && !arm64

package jit

import "github.com/thrum-rpc/thrum/internal/engine/jit/asm"

// newMachine returns nil: there is no machine for this processor.
func newMachine() asm.Machine { return nil }
