package plan

import (
	"fmt"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// Verify proves that an engine may run p: every reference is in range, every
// op lies inside its procedure's memory, codes and wire types agree, headers
// are unique, and what Link computed is what it would compute.
func (p *Program) Verify() error {
	if p.Job < Encode || p.Job > Decode {
		return fmt.Errorf("plan: job %d does not exist", p.Job)
	}
	if len(p.Procs) == 0 || !p.Procs[0].IsStruct() {
		return fmt.Errorf("plan: the entry is not a struct's procedure")
	}
	for i, proc := range p.Procs {
		if err := p.verifyProc(proc); err != nil {
			return fmt.Errorf("plan: proc %d %s: %w", i, proc.Name, err)
		}
	}
	return nil
}

func (p *Program) verifyProc(proc *Proc) error {
	if !proc.IsStruct() && len(proc.Ops) != 1 && p.Job != Size {
		return fmt.Errorf("a value's procedure has %d ops, not 1", len(proc.Ops))
	}
	if proc.Unknown >= 0 && uint64(proc.Unknown)+3*word > uint64(proc.Memory) {
		return fmt.Errorf("unknown fields lie outside the memory")
	}
	if proc.Init >= int32(p.Slots) {
		return fmt.Errorf("slot %d does not exist", proc.Init)
	}
	ids := make(map[int16]bool, len(proc.Ops))
	for i := range proc.Ops {
		op := &proc.Ops[i]
		if err := p.verifyOp(proc, op); err != nil {
			return fmt.Errorf("op %d %s: %w", i, op.Name, err)
		}
		if op.Flags&Header != 0 && ids[op.ID] {
			return fmt.Errorf("op %d %s: id %d stands twice", i, op.Name, op.ID)
		}
		ids[op.ID] = true
	}
	linked := Program{Job: p.Job, Procs: []*Proc{{Name: proc.Name, Ops: append([]Op(nil), proc.Ops...)}}}
	linked.Link()
	for i, op := range linked.Procs[0].Ops {
		if op != proc.Ops[i] {
			return fmt.Errorf("op %d %s: not linked", i, op.Name)
		}
	}
	return nil
}

func (p *Program) verifyOp(proc *Proc, op *Op) error {
	if op.Code == 0 || op.Code >= codes {
		return fmt.Errorf("code %d does not exist", op.Code)
	}
	if w := wires[op.Code]; op.Wire != w[0] && (op.Wire != w[1] || op.Wire == thriftwire.Stop) {
		return fmt.Errorf("%s is not a wire type of %s", op.Wire, op.Code)
	}
	if isField := op.Flags&Header != 0; isField != proc.IsStruct() {
		return fmt.Errorf("fields have headers and values have none")
	}
	size := op.Code.Memory()
	if op.Flags&Deref != 0 {
		size = word
	}
	calls := 0
	switch op.Code {
	case Struct:
		calls = 1
	case Pointer, List:
		calls = 1
	case Map:
		calls = 2
	}
	refs := [2]int32{op.A, op.B}
	for _, c := range refs[:calls] {
		if c < 0 || int(c) >= len(p.Procs) {
			return fmt.Errorf("proc %d does not exist", c)
		}
	}
	if calls == 1 && (op.Code != List) != p.Procs[op.A].IsStruct() {
		return fmt.Errorf("proc %d is of the wrong kind", op.A)
	}
	if op.Code == Struct {
		size = uint64(p.Procs[op.A].Memory)
	}
	if uint64(op.Off)+size > uint64(proc.Memory) {
		return fmt.Errorf("bytes %d to %d lie outside the memory of %d", op.Off, uint64(op.Off)+size, proc.Memory)
	}
	if op.Code == List && op.Size != p.Procs[op.A].Memory {
		return fmt.Errorf("stride %d is not the element's size", op.Size)
	}
	if op.Flags&Default != 0 && (calls != 0 || op.B < 0 || int(op.B) >= len(p.Defaults)) {
		return fmt.Errorf("default %d does not exist", op.B)
	}
	if op.Slot >= int32(p.Slots) {
		return fmt.Errorf("slot %d does not exist", op.Slot)
	}
	if p.Job == Decode && op.Slot < 0 && (op.Code == Pointer || op.Code == Map) {
		return fmt.Errorf("no slot to allocate by")
	}
	return nil
}
