#include "textflag.h"

// The methods are those of Muła and Lemire, "Faster Base64 Encoding and
// Decoding using AVX2 Instructions", with registers of sixteen bytes.

// Reading: by the low and by the high half of a character, bits of which none
// is in both if the character belongs to the alphabet; and by the high half,
// what to add to get its value.
DATA ·unbase64<>+0x00(SB)/8, $0x1111111111111115
DATA ·unbase64<>+0x08(SB)/8, $0x1a1b1b1b1a131111
DATA ·unbase64<>+0x10(SB)/8, $0x0804080402011010
DATA ·unbase64<>+0x18(SB)/8, $0x1010101010101010
DATA ·unbase64<>+0x20(SB)/8, $0xb9b9bfbf04131000
DATA ·unbase64<>+0x28(SB)/8, $0x0000000000000000
DATA ·unbase64<>+0x30(SB)/8, $0x2f2f2f2f2f2f2f2f // a slash, and the mask of halves
DATA ·unbase64<>+0x38(SB)/8, $0x2f2f2f2f2f2f2f2f
DATA ·unbase64<>+0x40(SB)/8, $0x0140014001400140 // joins two values of six bits
DATA ·unbase64<>+0x48(SB)/8, $0x0140014001400140
DATA ·unbase64<>+0x50(SB)/8, $0x0001100000011000 // joins two of twelve
DATA ·unbase64<>+0x58(SB)/8, $0x0001100000011000
DATA ·unbase64<>+0x60(SB)/8, $0x090a040506000102 // three bytes of each four, turned round
DATA ·unbase64<>+0x68(SB)/8, $0xffffffff0c0d0e08
GLOBL ·unbase64<>(SB), RODATA|NOPTR, $112

// Writing.
DATA ·base64<>+0x00(SB)/8, $0x0405030401020001 // three bytes to four, turned round
DATA ·base64<>+0x08(SB)/8, $0x0a0b090a07080607
DATA ·base64<>+0x10(SB)/8, $0x0fc0fc000fc0fc00 // the first and third value of four
DATA ·base64<>+0x18(SB)/8, $0x0fc0fc000fc0fc00
DATA ·base64<>+0x20(SB)/8, $0x0400004004000040
DATA ·base64<>+0x28(SB)/8, $0x0400004004000040
DATA ·base64<>+0x30(SB)/8, $0x003f03f0003f03f0 // the second and fourth
DATA ·base64<>+0x38(SB)/8, $0x003f03f0003f03f0
DATA ·base64<>+0x40(SB)/8, $0x0100001001000010
DATA ·base64<>+0x48(SB)/8, $0x0100001001000010
DATA ·base64<>+0x50(SB)/8, $0x3333333333333333 // 51
DATA ·base64<>+0x58(SB)/8, $0x3333333333333333
DATA ·base64<>+0x60(SB)/8, $0x1a1a1a1a1a1a1a1a // 26
DATA ·base64<>+0x68(SB)/8, $0x1a1a1a1a1a1a1a1a
DATA ·base64<>+0x70(SB)/8, $0x0d0d0d0d0d0d0d0d // 13
DATA ·base64<>+0x78(SB)/8, $0x0d0d0d0d0d0d0d0d
DATA ·base64<>+0x80(SB)/8, $0xfcfcfcfcfcfcfc47 // what to add: small letters, digits,
DATA ·base64<>+0x88(SB)/8, $0x000041f0edfcfcfc // plus, slash, capitals
DATA ·base64<>+0x90(SB)/8, $0x0809070805060405 // the first, from the fifth byte on
DATA ·base64<>+0x98(SB)/8, $0x0e0f0d0e0b0c0a0b
GLOBL ·base64<>(SB), RODATA|NOPTR, $160

// func decodeBlocks(dst, src *byte, n int) int
TEXT ·decodeBlocks(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	MOVOU ·unbase64<>+0x00(SB), X8
	MOVOU ·unbase64<>+0x10(SB), X9
	MOVOU ·unbase64<>+0x20(SB), X10
	MOVOU ·unbase64<>+0x30(SB), X11
	MOVOU ·unbase64<>+0x40(SB), X12
	MOVOU ·unbase64<>+0x50(SB), X13
	MOVOU ·unbase64<>+0x60(SB), X14
	PXOR X7, X7
decodeBlock:
	MOVOU (SI)(AX*1), X0
	MOVOU X0, X1
	PSRLL $4, X1
	PAND X11, X1 // high halves
	MOVOU X0, X2
	PAND X11, X2 // low halves
	MOVOU X8, X3
	PSHUFB X2, X3
	MOVOU X9, X4
	PSHUFB X1, X4
	PAND X4, X3
	PCMPEQB X7, X3
	PMOVMSKB X3, DX
	CMPL DX, $0xffff
	JNE decodeEnd
	MOVOU X0, X5
	PCMPEQB X11, X5
	PADDB X5, X1
	MOVOU X10, X6
	PSHUFB X1, X6
	PADDB X6, X0
	PMADDUBSW X12, X0
	PMADDWL X13, X0
	PSHUFB X14, X0
	MOVOU X0, (DI)
	ADDQ $16, AX
	ADDQ $12, DI
	LEAQ 16(AX), DX
	CMPQ DX, CX
	JLS decodeBlock
	// The last sixteen of whole groups, of which the first have been read.
	SUBQ CX, DX
	CMPQ DX, $16
	JEQ decodeEnd
	SUBQ DX, AX
	SHRQ $2, DX
	SUBQ DX, DI
	ADDQ DX, DX
	SUBQ DX, DI
	JMP decodeBlock
decodeEnd:
	MOVQ AX, ret+24(FP)
	RET

// func encodeBlocks(dst, src *byte, n int)
TEXT ·encodeBlocks(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	MOVOU ·base64<>+0x00(SB), X6
	MOVOU ·base64<>+0x10(SB), X7
	MOVOU ·base64<>+0x20(SB), X8
	MOVOU ·base64<>+0x30(SB), X9
	MOVOU ·base64<>+0x40(SB), X10
	MOVOU ·base64<>+0x50(SB), X11
	MOVOU ·base64<>+0x60(SB), X12
	MOVOU ·base64<>+0x70(SB), X13
	MOVOU ·base64<>+0x80(SB), X14
	MOVOU (SI), X0
	PSHUFB X6, X0
	MOVOU ·base64<>+0x90(SB), X6
encodeBlock:
	MOVOU X0, X1
	PAND X7, X0
	PMULHUW X8, X0
	PAND X9, X1
	PMULLW X10, X1
	POR X1, X0 // values of six bits
	MOVOU X0, X2
	PSUBUSB X11, X2
	MOVOU X12, X3
	PCMPGTB X0, X3
	PAND X13, X3
	POR X3, X2
	MOVOU X14, X4
	PSHUFB X2, X4
	PADDB X4, X0
	MOVOU X0, (DI)
	ADDQ $12, AX
	ADDQ $16, DI
	LEAQ 12(AX), DX
	CMPQ DX, CX
	JLS encodeNext
	// The last twelve bytes, of which the first have been written.
	SUBQ CX, DX
	CMPQ DX, $12
	JEQ encodeEnd
	SUBQ DX, AX
	SUBQ DX, DI
	IMUL3Q $0x5556, DX, DX
	SHRQ $16, DX // a third
	SUBQ DX, DI
encodeNext:
	MOVOU -4(SI)(AX*1), X0 // from four before, so as to end at what is ours
	PSHUFB X6, X0
	JMP encodeBlock
encodeEnd:
	RET

// func hasSSSE3() bool
TEXT ·hasSSSE3(SB), NOSPLIT, $0-1
	MOVL $1, AX
	XORL CX, CX
	CPUID
	SHRL $9, CX
	ANDL $1, CX
	MOVB CX, ret+0(FP)
	RET
