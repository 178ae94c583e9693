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
	PXOR X7, X7; \
	XORQ AX, AX

// SEEN sets R10 if X7 or the bytes of X0 up to the lowest bit of R8 have a
// highest bit.
#define SEEN \
	PMOVMSKB X0, R10; \
	LEAL -1(R8), R11; \
	XORL R8, R11; \
	ANDL R11, R10; \
	PMOVMSKB X7, R11; \
	ORL R11, R10

// func copyText(dst, src *byte, n int) (end int, high uint32)
TEXT ·copyText(SB), NOSPLIT, $0-36
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
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
	SEEN
	BSFL R8, R8
	ADDQ R8, AX
	MOVQ AX, end+24(FP)
	MOVL R10, high+32(FP)
	RET
copyEnd:
	PMOVMSKB X7, R10
	MOVQ AX, end+24(FP)
	MOVL R10, high+32(FP)
	RET

// func scanText(src *byte, n int) (end int, high uint32)
TEXT ·scanText(SB), NOSPLIT, $0-28
	MOVQ src+0(FP), SI
	MOVQ n+8(FP), CX
	CONSTANTS
	MOVQ $16, DX
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
	SEEN
	BSFL R8, R8
	ADDQ R8, AX
	MOVQ AX, end+16(FP)
	MOVL R10, high+24(FP)
	RET
scanEnd:
	PMOVMSKB X7, R10
	MOVQ AX, end+16(FP)
	MOVL R10, high+24(FP)
	RET
