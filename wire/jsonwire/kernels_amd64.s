#include "textflag.h"

// Constants of sixteen equal bytes.
DATA ·sixteen<>+0x00(SB)/8, $0x2222222222222222 // quotes
DATA ·sixteen<>+0x08(SB)/8, $0x2222222222222222
DATA ·sixteen<>+0x10(SB)/8, $0x5c5c5c5c5c5c5c5c // backslashes
DATA ·sixteen<>+0x18(SB)/8, $0x5c5c5c5c5c5c5c5c
DATA ·sixteen<>+0x20(SB)/8, $0x1f1f1f1f1f1f1f1f // the last control character
DATA ·sixteen<>+0x28(SB)/8, $0x1f1f1f1f1f1f1f1f
GLOBL ·sixteen<>(SB), RODATA|NOPTR, $48

// SPECIAL sets R8's bit for each byte of X0 that ends a run of plain text, and
// the flags for R8. X8 to X10 hold the constants.
#define SPECIAL \
	MOVOU X0, X1; \
	MOVOU X0, X2; \
	MOVOU X0, X3; \
	PCMPEQB X8, X1; \
	PCMPEQB X9, X2; \
	PMINUB X10, X3; \
	PCMPEQB X0, X3; \
	POR X1, X2; \
	POR X3, X2; \
	PMOVMSKB X2, R8; \
	TESTL R8, R8

#define CONSTANTS \
	MOVOU ·sixteen<>+0x00(SB), X8; \
	MOVOU ·sixteen<>+0x10(SB), X9; \
	MOVOU ·sixteen<>+0x20(SB), X10; \
	PXOR X7, X7

// ASCII sets R10 to 1 if neither X7 nor the bytes of X0 up to the lowest bit of
// R8 have a highest bit, else to 0.
#define ASCII \
	PMOVMSKB X0, R10; \
	LEAL -1(R8), R11; \
	XORL R8, R11; \
	ANDL R11, R10; \
	PMOVMSKB X7, R11; \
	ORL R11, R10; \
	SETEQ R10

// SHORT goes to yes if the byte in R8 ends a run of plain text, else notes in
// R10 whether it is ASCII.
#define SHORT(yes) \
	CMPB R8, $0x22; \
	JEQ yes; \
	CMPB R8, $0x5c; \
	JEQ yes; \
	CMPB R8, $0x20; \
	JCS yes; \
	ORL R8, R10

// func copyRun(dst, src []byte, from int) (n int, ascii bool)
TEXT ·copyRun(SB), NOSPLIT, $0-65
	MOVQ from+48(FP), AX
	MOVQ src_base+24(FP), SI
	MOVQ src_len+32(FP), DX
	ADDQ AX, SI
	SUBQ AX, DX
	MOVQ dst_len+8(FP), AX
	MOVQ dst_base+0(FP), DI
	MOVQ dst_cap+16(FP), CX
	ADDQ AX, DI
	SUBQ AX, CX
	XORL AX, AX
	CMPQ DX, CX
	CMOVQLT DX, CX
	CMPQ CX, $16
	JLT copyShort
	CONSTANTS
	MOVQ $16, DX
copyBlock:
	MOVOU (SI)(AX*1), X0
	MOVOU X0, (DI)(AX*1)
	SPECIAL
	JNZ copyFound
	POR X0, X7
	MOVQ DX, AX
	ADDQ $16, DX
	CMPQ DX, CX
	JLS copyBlock
	CMPQ AX, CX
	JEQ copyEnd
	// The last sixteen bytes, of which the first have been seen.
	LEAQ -16(CX), AX
	MOVQ CX, DX
	JMP copyBlock
copyFound:
	ASCII
	BSFL R8, R8
	ADDQ R8, AX
	MOVQ AX, n+56(FP)
	MOVB R10, ascii+64(FP)
	RET
copyEnd:
	PMOVMSKB X7, R10
	TESTL R10, R10
	SETEQ R10
	MOVQ AX, n+56(FP)
	MOVB R10, ascii+64(FP)
	RET
copyShort:
	CMPQ CX, $8
	JLT copyTiny
	// The first and the last eight, which may overlap.
	MOVQ (SI), X0
	MOVQ -8(SI)(CX*1), X4
	MOVQ X0, (DI)
	MOVQ X4, -8(DI)(CX*1)
	PUNPCKLQDQ X4, X0
	CONSTANTS
	SPECIAL
	JNZ copyBytes
	PMOVMSKB X0, R10
	TESTL R10, R10
	SETEQ R10
	MOVQ CX, n+56(FP)
	MOVB R10, ascii+64(FP)
	RET
copyTiny:
	CMPQ CX, $4
	JLT copyBytes
	// The same with four.
	MOVL (SI), R8
	MOVL -4(SI)(CX*1), R9
	MOVL R8, (DI)
	MOVL R9, -4(DI)(CX*1)
	SHLQ $32, R9
	ORQ R9, R8
	MOVQ R8, X0
	PUNPCKLQDQ X0, X0
	CONSTANTS
	SPECIAL
	JNZ copyBytes
	PMOVMSKB X0, R10
	TESTL R10, R10
	SETEQ R10
	MOVQ CX, n+56(FP)
	MOVB R10, ascii+64(FP)
	RET
copyBytes:
	XORL R10, R10
	XORL AX, AX
	JMP copyNext
copyByte:
	MOVBLZX (SI)(AX*1), R8
	SHORT(copyStop)
	MOVB R8, (DI)(AX*1)
	INCQ AX
copyNext:
	CMPQ AX, CX
	JLT copyByte
copyStop:
	CMPL R10, $0x80
	SETCS R10
	MOVQ AX, n+56(FP)
	MOVB R10, ascii+64(FP)
	RET

// func run(b []byte, i int) (end int, ascii bool)
TEXT ·run(SB), NOSPLIT, $0-41
	MOVQ b_base+0(FP), SI
	MOVQ b_len+8(FP), CX
	MOVQ i+24(FP), AX
	LEAQ 16(AX), DX
	CMPQ DX, CX
	JGT scanShort
	CONSTANTS
scanBlock:
	MOVOU (SI)(AX*1), X0
	SPECIAL
	JNZ scanFound
	POR X0, X7
	MOVQ DX, AX
	ADDQ $16, DX
	CMPQ DX, CX
	JLS scanBlock
	CMPQ AX, CX
	JEQ scanEnd
	LEAQ -16(CX), AX
	MOVQ CX, DX
	JMP scanBlock
scanFound:
	ASCII
	BSFL R8, R8
	ADDQ R8, AX
	MOVQ AX, end+32(FP)
	MOVB R10, ascii+40(FP)
	RET
scanEnd:
	PMOVMSKB X7, R10
	TESTL R10, R10
	SETEQ R10
	MOVQ AX, end+32(FP)
	MOVB R10, ascii+40(FP)
	RET
scanShort:
	XORL R10, R10
	JMP scanNext
scanByte:
	MOVBLZX (SI)(AX*1), R8
	SHORT(scanStop)
	INCQ AX
scanNext:
	CMPQ AX, CX
	JLT scanByte
scanStop:
	CMPL R10, $0x80
	SETCS R10
	MOVQ AX, end+32(FP)
	MOVB R10, ascii+40(FP)
	RET
