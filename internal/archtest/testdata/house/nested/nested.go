// Package nested is a module of its own: heavy imports are its purpose.
package nested

import (
	_ "example.org/heavy"
	_ "unsafe"
)

//go:linkname memmove runtime.memmove
func memmove()

func init() {}
