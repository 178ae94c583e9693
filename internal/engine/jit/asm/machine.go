package asm

// Reg is one of the portable machine's general registers of 64 bits. When code is entered, R0 has the
// address of the block, R1 and R2 have the two addresses that the caller passed; all
// others are undefined.
type Reg uint8

const (
	R0 Reg = iota
	R1
	R2
	R3
	R4
	R5
	R6
	R7
	R8
	R9
	R10
	R11
	Regs = iota // how many there are
)

// Width is the size of an operand in memory, in bytes.
type Width uint8

const (
	W8  Width = 1
	W16 Width = 2
	W32 Width = 4
	W64 Width = 8
)

// Cond is the condition of a branch that compares two numbers.
type Cond uint8

const (
	EQ Cond = iota
	NE
	LO // unsigned <
	LS // unsigned <=
	HI // unsigned >
	HS // unsigned >=
	LT // signed <
	LE // signed <=
	GT // signed >
	GE // signed >=
)

// StackSize is the number of bytes behind the address that Machine.Stack gives.
const StackSize = 2048

// Budget is how many bytes of input or output code handles per entry.
const Budget = 256 << 10

// Label is a place in the code, known or to be known.
type Label int32

// Machine makes code, an operation at a time. The result of an operation may
// be in the register of any of its operands. Memory is little-endian; [base+off] is the address of an
// operand. A mistake, such as a label that is never bound, is an error of Finish.
type Machine interface {
	// Label returns a new label, which Bind places here and which Offset locates after Finish.
	Label() Label
	Bind(l Label)
	Offset(l Label) int
	// Finish returns the code. The machine is then used up.
	Finish() ([]byte, error)

	Addr(d Reg, l Label) // d = the address of l
	Jump(l Label)
	JumpReg(r Reg)
	// Exit leaves the code with a status.
	Exit(status uint32)
	// Stack sets d to the address of StackSize bytes that this entry may use.
	Stack(d Reg)

	Mov(d, s Reg)
	Imm(d Reg, v uint64)

	Load(w Width, d, base Reg, off int32)        // zero-extended
	LoadSigned(w Width, d, base Reg, off int32)  // sign-extended
	LoadBE(w Width, d, base Reg, off int32)      // zero-extended, bytes swapped
	LoadX(w Width, d, base, index Reg)           // zero-extended, from base+index
	Store(w Width, base Reg, off int32, s Reg)   // the low bytes of s
	StoreBE(w Width, base Reg, off int32, s Reg) // the low bytes of s, swapped
	StoreX(w Width, base, index, s Reg)          // to base+index
	StoreImm(w Width, base Reg, off int32, v uint64)

	Add(d, a, b Reg)
	Sub(d, a, b Reg)
	And(d, a, b Reg)
	Or(d, a, b Reg)
	Xor(d, a, b Reg)
	AddImm(d, a Reg, v int32)
	AndImm(d, a Reg, v int32)
	OrImm(d, a Reg, v int32)
	XorImm(d, a Reg, v int32)
	MulImm(d, a Reg, v int32)
	ShlImm(d, a Reg, n uint8)
	ShrImm(d, a Reg, n uint8)
	SarImm(d, a Reg, n uint8)
	Shl(d, a, by Reg) // by is below 64
	Shr(d, a, by Reg)
	Swap(w Width, d, s Reg)       // the low bytes of s swapped, zero-extended
	SignExtend(w Width, d, s Reg) // of the low bytes of s
	BitLen(d, s Reg)              // as bits.Len64; s is not 0
	TrailingZeros(d, s Reg)       // s is not 0

	// The branches jump to l if the condition holds.
	Branch(c Cond, a, b Reg, l Label)
	BranchImm(c Cond, a Reg, v int32, l Label)                           // v is sign-extended
	BranchMem(c Cond, a, base Reg, off int32, l Label)                   // with the 64-bit word in memory
	BranchMemImm(w Width, c Cond, base Reg, off int32, v int32, l Label) // EQ, NE and unsigned; v fits into w
	BranchBits(a Reg, mask int32, set bool, l Label)                     // if any of (or none of) the bits of mask is set

	// Copy copies n bytes, at least one, and touches no others. It changes all three registers.
	Copy(dst, src, n Reg)
	// CopyConst copies n bytes, which do not overlap.
	CopyConst(dst Reg, doff int32, src Reg, soff int32, n int)
	// SwapCopy copies n elements, at least one, and swaps the bytes of each. It changes all three registers.
	SwapCopy(w Width, dst, src, n Reg)
}
