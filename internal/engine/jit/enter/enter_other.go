//go:build !amd64 && !arm64

package enter

import "unsafe"

// Call is not there on this platform, for which nobody makes code.
func Call(uintptr, *Block, unsafe.Pointer, unsafe.Pointer) uint64 {
	panic("enter: no machine code on this platform")
}

// CallDeep is not there either.
func CallDeep(uintptr, *Block, unsafe.Pointer, unsafe.Pointer) uint64 {
	panic("enter: no machine code on this platform")
}
