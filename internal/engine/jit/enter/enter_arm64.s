#include "textflag.h"
#include "funcdata.h"

// func Call(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)
TEXT ·Call(SB), 0, $2048-40
	NO_LOCAL_POINTERS
	MOVD code+0(FP), R12
	MOVD block+8(FP), R0
	MOVD p+16(FP), R1
	MOVD q+24(FP), R2
	CALL (R12)
	MOVD R0, status+32(FP)
	RET

// func CallDeep(code uintptr, block *Block, p, q unsafe.Pointer) (status uint64)
TEXT ·CallDeep(SB), 0, $32768-40
	NO_LOCAL_POINTERS
	MOVD code+0(FP), R12
	MOVD block+8(FP), R0
	MOVD p+16(FP), R1
	MOVD q+24(FP), R2
	CALL (R12)
	MOVD R0, status+32(FP)
	RET
