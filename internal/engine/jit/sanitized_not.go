//go:build !race && !msan && !asan

package jit

// sanitized says that the program was built to find mistakes in the use of memory.
const sanitized = false
