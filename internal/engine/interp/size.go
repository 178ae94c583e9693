package interp

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file runs size programs: the procedures' constants plus what varies.

func (e *encoder) Size(v mem.Pointer) (int, error) {
	n, f := e.sizeStruct(e.size.Procs[0], v, e.opts.MaxDepth)
	if f != nil {
		return 0, f
	}
	return n, nil
}

func (e *encoder) sizeStruct(p *plan.Proc, base mem.Pointer, depth int) (int, *diag.Fault) {
	if depth <= 0 {
		return 0, tooDeep(-1)
	}
	total := p.Base
	for i := range p.Ops {
		op := &p.Ops[i]
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&(plan.Deref|plan.Optional|plan.Default) != 0 {
			if op.Flags&plan.Default != 0 {
				if e.isDefault(op, at) {
					continue
				}
			} else if q := mem.Ptr(at); q == nil {
				continue
			} else if op.Flags&plan.Deref != 0 {
				at = q
			}
		}
		total += int(op.Fixed)
		switch op.Code {
		case plan.String:
			total += len(mem.String(at))
		case plan.Binary:
			_, n := mem.Slice(at)
			total += n
		case plan.Struct, plan.Pointer, plan.List, plan.Map:
			n, f := e.sizeValue(op, at, depth-1)
			if f != nil {
				return 0, f.Field(op.Name)
			}
			total += n
		}
	}
	if p.Unknown >= 0 {
		_, n := mem.Slice(mem.Add(base, uintptr(p.Unknown)))
		total += n
	}
	return total, nil
}

// sizeValue returns what a value takes beyond the Fixed part of its op.
func (e *encoder) sizeValue(op *plan.Op, at mem.Pointer, depth int) (int, *diag.Fault) {
	switch op.Code {
	case plan.String:
		return len(mem.String(at)), nil
	case plan.Binary:
		_, n := mem.Slice(at)
		return n, nil
	case plan.Struct:
		return e.sizeStruct(e.size.Procs[op.A], at, depth)
	case plan.Pointer:
		return e.sizeTarget(op, mem.Ptr(at), depth)
	case plan.List:
		data, n := mem.Slice(at)
		return e.sizeList(op, data, n, depth)
	case plan.Map:
		return e.sizeMap(op, mem.Ptr(at), depth)
	default:
		return 0, nil
	}
}

// sizeTarget returns what the struct at v takes beyond its STOP, which is
// part of the op's Fixed.
func (e *encoder) sizeTarget(op *plan.Op, v mem.Pointer, depth int) (int, *diag.Fault) {
	if v == nil {
		return 0, nil
	}
	n, f := e.sizeStruct(e.size.Procs[op.A], v, depth)
	return n - 1, f
}

func (e *encoder) sizeList(op *plan.Op, data mem.Pointer, n, depth int) (int, *diag.Fault) {
	if depth <= 0 {
		return 0, tooDeep(-1)
	}
	proc := e.size.Procs[op.A]
	if len(proc.Ops) == 0 || n == 0 {
		return n * proc.Base, nil
	}
	if f := checkBytes(n, data, -1); f != nil {
		return 0, f
	}
	elem := &proc.Ops[0]
	total := n * int(elem.Fixed)
	if elem.Code == plan.String {
		for _, s := range mem.View[string](data, n) {
			total += len(s)
		}
		return total, nil
	}
	for i := range n {
		m, f := e.sizeValue(elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-1)
		if f != nil {
			return 0, f.Index(i)
		}
		total += m
	}
	return total, nil
}
