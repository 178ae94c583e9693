#include "textflag.h"
#include "funcdata.h"

// func Call(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)
TEXT ·Call(SB), 0, $2048-40
	NO_LOCAL_POINTERS
	MOVQ code+0(FP), AX
	MOVQ block+8(FP), DI
	MOVQ p+16(FP), SI
	MOVQ q+24(FP), DX
	CALL AX
	MOVQ AX, status+32(FP)
	RET

// func CallDeep(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)
TEXT ·CallDeep(SB), 0, $32768-40
	NO_LOCAL_POINTERS
	MOVQ code+0(FP), AX
	MOVQ block+8(FP), DI
	MOVQ p+16(FP), SI
	MOVQ q+24(FP), DX
	CALL AX
	MOVQ AX, status+32(FP)
	RET

// func cpuid(leaf, sub uint32) (a, b, c, d uint32)
TEXT ·cpuid(SB), NOSPLIT, $0-24
	MOVL leaf+0(FP), AX
	MOVL sub+4(FP), CX
	CPUID
	MOVL AX, a+8(FP)
	MOVL BX, b+12(FP)
	MOVL CX, c+16(FP)
	MOVL DX, d+20(FP)
	RET

// func xgetbv() uint32
TEXT ·xgetbv(SB), NOSPLIT, $0-4
	XORL CX, CX
	XGETBV
	MOVL AX, ret+0(FP)
	RET
