package interp

import (
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file derives what is known ahead of a type's encoding in the compact
// protocol. A header depends on the field before it, which is known where that
// field is always written.

// staticHead marks an op's Head that is the whole header in one byte.
const staticHead = 1 << 8

// conditional has the flags of ops that are not always written.
const conditional = plan.Deref | plan.Optional | plan.Default

// compactProgram returns a copy of an encode program whose Heads are those of
// the compact protocol: with staticHead the header, else the code alone. The code
// of a bool is a true's, which is one below a false's.
func compactProgram(prog *plan.Program, d compact.Dialect) *plan.Program {
	return eachStruct(prog, func(p *plan.Proc) {
		for k := range p.Ops {
			op := &p.Ops[k]
			op.Head = uint32(d.AppendField(nil, op.Wire, 1, 0)[0] & 15)
			if low, high := deltas(p.Ops, k); low == high && low >= 1 && low <= 15 {
				op.Head |= staticHead | uint32(low)<<4
			}
		}
	})
}

// always has the offsets of a struct's simple fields that are always written, by how they are sized.
type always struct {
	words []uint32 // i32
	longs []uint32 // i64 and enums of 64 bits
	texts []uint32 // strings and binaries
}

// compactSizes returns a size program of an encode program. Where all headers
// have a length that is known, Base and Fixed hold what is known, and ops that add nothing to it are left out,
// as are those that stand in the lists, which are by procedure. Elsewhere Base is 0.
func compactSizes(prog *plan.Program) (*plan.Program, []always) {
	lists := make([]always, len(prog.Procs))
	return eachStruct(prog, func(p *plan.Proc) {
		base := len(compact.AppendStop(nil))
		var rest []plan.Op
		var list always
		for k, op := range p.Ops {
			low, high := deltas(p.Ops, k)
			if low < 1 || high > 15 || p.Unknown >= 0 {
				return
			}
			op.Fixed = 1
			varies := false
			switch op.Code {
			case plan.Bool: // the header is all
			case plan.I8, plan.Float, plan.Double, plan.UUID:
				op.Fixed += uint8(op.Code.Width())
			default:
				varies = true
			}
			if op.Flags&conditional == 0 {
				base += int(op.Fixed)
				op.Fixed = 0
				if !varies {
					continue
				}
				switch op.Code {
				case plan.I32:
					list.words = append(list.words, op.Off)
					continue
				case plan.I64, plan.Enum64:
					list.longs = append(list.longs, op.Off)
					continue
				case plan.String, plan.Binary:
					list.texts = append(list.texts, op.Off)
					continue
				}
			}
			rest = append(rest, op)
		}
		p.Base, p.Ops, lists[p.Index] = base, rest, list
	}), lists
}

// deltas returns the least and greatest distance of the k-th op's id to that of the
// field written before it.
func deltas(ops []plan.Op, k int) (low, high int) {
	id := int(ops[k].ID)
	low, high = id, id // the first one written
	for j := range k {
		delta := id - int(ops[j].ID)
		if ops[j].Flags&conditional == 0 {
			low, high = delta, delta
			continue
		}
		low, high = min(low, delta), max(high, delta)
	}
	return low, high
}

// eachStruct returns a copy of prog with change done to the copy of each struct's procedure.
func eachStruct(prog *plan.Program, change func(*plan.Proc)) *plan.Program {
	out := *prog
	out.Procs = make([]*plan.Proc, len(prog.Procs))
	for i, p := range prog.Procs {
		q := *p
		if q.IsStruct() {
			q.Ops = append([]plan.Op(nil), q.Ops...)
			change(&q)
		}
		out.Procs[i] = &q
	}
	return &out
}
