package interp

import "github.com/thrum-rpc/thrum/internal/plan"

// This file joins neighbouring ops of a binary encode program, so that one
// dispatch serves two fields. What a program means does not change: pairs are
// the interpreter's own, as registers are a machine's.

// The codes of pairs follow those of package plan. A pair of numbers is named
// by the widths of its parts in bits.
const (
	pair8x8 = plan.Map + 1 + iota
	pair8x32
	pair8x64
	pair32x8
	pair32x32
	pair32x64
	pair64x8
	pair64x32
	pair64x64
	pairText // two strings or binaries
)

// A pair is an op in which Size holds the second part's offset, Bit its
// header and A its index in the procedure that it comes from.

// pairProgram returns a copy of an encode program with pairs.
func pairProgram(prog *plan.Program) *plan.Program {
	return eachStruct(prog, func(p *plan.Proc) {
		if p.Union { // whose fields are counted
			return
		}
		ops := p.Ops
		var joined []plan.Op
		for k := 0; k < len(ops); k++ {
			op := ops[k]
			if k+1 < len(ops) {
				if code := pairOf(&ops[k], &ops[k+1]); code != 0 {
					second := &ops[k+1]
					op.Code, op.Fixed = code, op.Fixed+second.Fixed
					op.Size, op.Bit, op.A = second.Off, int32(second.Head), int32(k+1)
					k++
				}
			}
			joined = append(joined, op)
		}
		p.Ops = joined
	})
}

// pairOf returns the code of the pair that a and b make, 0 for none.
func pairOf(a, b *plan.Op) plan.Code {
	if (a.Flags|b.Flags)&conditional != 0 {
		return 0
	}
	x, y := widthClass(a.Code), widthClass(b.Code)
	switch {
	case x == 0 || y == 0:
		return 0
	case x == text && y == text:
		return pairText
	case x == text || y == text:
		return 0
	}
	return pair8x8 + plan.Code(3*(x-1)+(y-1))
}

// text is the class of strings and binaries; those of numbers are 1 to 3.
const text = 4

func widthClass(c plan.Code) int {
	switch c {
	case plan.Bool, plan.I8:
		return 1
	case plan.I32, plan.Float:
		return 2
	case plan.I64, plan.Double:
		return 3
	case plan.String, plan.Binary:
		return text
	default:
		return 0
	}
}
