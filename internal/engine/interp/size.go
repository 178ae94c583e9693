package interp

import (
	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
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
	if e.compact != 0 {
		return e.compactSizeStruct(p, base, depth)
	}
	if depth <= 0 {
		return 0, tooDeep(-1)
	}
	if p.Texts != nil {
		return sizeTexts(p, base), nil
	}
	total := p.Base
	ops := p.Ops
	for i := range ops {
		op := &ops[i]
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&(plan.Deref|plan.Optional|plan.Default) != 0 {
			if at = e.present(op, base); at == nil {
				continue
			}
		}
		total += int(op.Fixed)
		switch op.Code {
		case plan.String, plan.Binary:
			total += len(mem.String(at)) // a slice starts as a string does
		case plan.List:
			data, length := mem.Slice(at)
			if elem := e.size.Procs[op.A]; len(elem.Ops) == 0 && depth > 1 && !suspect(length, data) {
				total += length * elem.Base
				continue
			}
			n, f := e.sizeList(op, data, length, depth-1)
			if f != nil {
				return 0, f.Field(op.Name)
			}
			total += n
		case plan.Struct, plan.Pointer, plan.Map:
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

// sizeTexts returns the size of a struct whose procedure has Texts.
func sizeTexts(p *plan.Proc, base mem.Pointer) int {
	total := p.TextBase
	for _, off := range p.Texts {
		total += len(mem.String(mem.Add(base, uintptr(off)))) // a slice starts as a string does
	}
	return total
}

// sizeValue returns what a value takes. In the binary protocol that is what it
// takes beyond the Fixed part of its op; the compact protocol has no fixed parts.
func (e *encoder) sizeValue(op *plan.Op, at mem.Pointer, depth int) (int, *diag.Fault) {
	switch op.Code {
	case plan.String, plan.Binary:
		return e.sizeBytes(len(mem.String(at))), nil // a slice starts as a string does
	case plan.Struct:
		return e.sizeStruct(e.size.Procs[op.A], at, depth)
	case plan.Pointer:
		return e.sizeTarget(op, mem.Ptr(at), depth)
	case plan.List:
		data, n := mem.Slice(at)
		return e.sizeList(op, data, n, depth)
	case plan.Map:
		return e.sizeMap(op, mem.Ptr(at), depth)
	}
	if e.compact != 0 {
		return numberSize(op, at), nil
	}
	return 0, nil
}

// fixed returns what values of op take at least, which sizeValue does not count.
func (e *encoder) fixed(op *plan.Op) int {
	if e.compact != 0 {
		return 0
	}
	return int(op.Fixed)
}

func (e *encoder) sizeBytes(n int) int {
	if e.compact != 0 {
		return lengthSize(n) + n
	}
	return n
}

// sizeTarget returns the size of the struct at v; in the binary protocol its
// STOP is part of the op's Fixed.
func (e *encoder) sizeTarget(op *plan.Op, v mem.Pointer, depth int) (int, *diag.Fault) {
	if e.compact != 0 {
		if v == nil {
			return 1, nil
		}
		return e.compactSizeStruct(e.size.Procs[op.A], v, depth)
	}
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
	if f := checkBytes(n, data, -1); f != nil {
		return 0, f
	}
	proc := e.size.Procs[op.A]
	total := n * proc.Base
	if e.compact != 0 {
		elems, f := e.compactSizeElements(op, &proc.Ops[0], data, n, depth)
		return compact.SizeList(n) + elems, f
	}
	if len(proc.Ops) == 0 || n == 0 {
		return total, nil
	}
	elem := &proc.Ops[0]
	total += n * e.fixed(elem)
	if elem.Code == plan.String {
		for _, s := range mem.View[string](data, n) {
			total += len(s)
		}
		return total, nil
	}
	if elem.Code == plan.Pointer {
		target := e.size.Procs[elem.A]
		if target.Texts != nil && depth > 1 {
			for _, v := range mem.View[mem.Pointer](data, n) {
				if v != nil {
					total += sizeTexts(target, v) - 1 // the STOP is part of Fixed
				}
			}
			return total, nil
		}
		for i, v := range mem.View[mem.Pointer](data, n) {
			if v == nil {
				continue
			}
			m, f := e.sizeStruct(target, v, depth-1)
			if f != nil {
				return 0, f.Index(i)
			}
			total += m - 1 // the STOP is part of Fixed
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
