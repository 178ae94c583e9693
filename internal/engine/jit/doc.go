// Package jit is the engine that makes machine code of programs at run time. It
// may decline a program, an option or a platform, and then the interpreter
// runs; it never differs from it in bytes, error codes, offsets or paths.
//
// Code handles what is usual and leaves for everything else. When a value cannot be encoded, the
// interpreter encodes it again from its start, so that there is one place that makes faults.
//
// The generators speak to the portable machine of package asm; which instructions that becomes is
// the business of isa/..., where code lives that of internal/execmem, and how
// it is called that of package enter, whose invariants the generators keep.
package jit
