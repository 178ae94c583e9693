//go:build amd64 || arm64

package enter

import "unsafe"

// Call runs the code at the address and returns its status.
//
//go:noescape
func Call(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)

// CallDeep is Call with DeepStackSize bytes of stack.
//
//go:noescape
func CallDeep(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)
