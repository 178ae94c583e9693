// Package asm defines the portable machine that the code generators of package
// jit speak to. An instruction set (isa/amd64, isa/arm64) implements it by
// translating each operation at once into its own instructions; there is no
// intermediate form, no register allocation and no state outside a Machine.
//
// It knows nothing of programs, Thrift or Go values. Implementations run on any
// host, whatever they make code for.
package asm
