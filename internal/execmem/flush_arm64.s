#include "textflag.h"

// func flush(start, size uintptr)
//
// Cleans the data cache to the point of unification and invalidates the
// instruction cache, line by line. 4 bytes per line is what CTR_EL0 could
// report at least; 16 are the smallest lines that exist.
TEXT ·flush(SB), NOSPLIT, $0-16
	MOVD start+0(FP), R0
	MOVD size+8(FP), R1
	ADD  R0, R1, R1
	MOVD R0, R2

clean:
	WORD $0xd50b7b22 // DC CVAU, X2
	ADD  $16, R2, R2
	CMP  R1, R2
	BLO  clean
	DSB  $11          // inner shareable
	MOVD R0, R2

invalidate:
	WORD $0xd50b7522 // IC IVAU, X2
	ADD  $16, R2, R2
	CMP  R1, R2
	BLO  invalidate
	DSB  $11
	ISB  $15
	RET
