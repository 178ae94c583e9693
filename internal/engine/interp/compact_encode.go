package interp

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file encodes and sizes what the compact protocol writes in its own
// way: structs, scalars, and lists of them. Containers, maps and pointers are the binary
// protocol's functions, which ask encoder.compact at their leaves.

func (e *encoder) compactStruct(b []byte, p *plan.Proc, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	start, written := b, 0
	last := int16(0)
	for i := range p.Ops {
		op := &p.Ops[i]
		at := e.present(op, base)
		if at == nil {
			continue
		}
		written++
		if op.Code == plan.Bool {
			b = compact.AppendBoolField(b, mem.U8(at) != 0, op.ID, last)
			last = op.ID
			continue
		}
		b = e.compact.AppendField(b, op.Wire, op.ID, last)
		last = op.ID
		var f *diag.Fault
		if b, f = e.value(b, op, at, depth-1); f != nil {
			return start, f.Field(op.Name)
		}
	}
	if p.Unknown >= 0 {
		// What is kept stands in the binary protocol.
		kept := mem.Bytes(mem.Add(base, uintptr(p.Unknown)))
		var n int
		if b, n = e.compact.AppendFieldsFromBinary(b, kept, last, depth); n != len(kept) {
			return start, diag.NewFault(diag.InvalidValue, len(b), "unknown fields that the protocol cannot hold")
		}
	}
	if f := e.checkUnion(p, written, len(b)); f != nil {
		return start, f
	}
	return append(b, 0), nil
}

func (e *encoder) compactScalar(b []byte, op *plan.Op, at mem.Pointer) ([]byte, *diag.Fault) {
	switch op.Code {
	case plan.Bool:
		return compact.AppendBool(b, mem.U8(at) != 0), nil
	case plan.I8:
		return append(b, mem.U8(at)), nil
	case plan.I16:
		return compact.AppendI16(b, int16(mem.U16(at))), nil
	case plan.I32:
		return compact.AppendI32(b, int32(mem.U32(at))), nil
	case plan.I64:
		return compact.AppendI64(b, int64(mem.U64(at))), nil
	case plan.Enum64:
		v := int64(mem.U64(at))
		if int64(int32(v)) != v {
			return b, enumRange(len(b))
		}
		return compact.AppendI32(b, int32(v)), nil
	case plan.Float:
		return binary.BigEndian.AppendUint32(b, mem.U32(at)), nil
	case plan.Double:
		return e.compact.AppendDouble(b, math.Float64frombits(mem.U64(at))), nil
	default: // UUID
		return append(b, mem.UUID(at)[:]...), nil
	}
}

// compactNumbers appends n elements of fixed width in memory.
func (e *encoder) compactNumbers(b []byte, elem *plan.Op, data mem.Pointer, n int) ([]byte, *diag.Fault) {
	if elem.Code == plan.I8 {
		return append(b, mem.View[byte](data, n)...), nil
	}
	size := uintptr(elem.Code.Memory())
	for i := range n {
		var f *diag.Fault
		if b, f = e.compactScalar(b, elem, mem.Add(data, uintptr(i)*size)); f != nil {
			return b, f.Index(i)
		}
	}
	return b, nil
}

// compactSizeStruct returns the exact size of a struct, by the encode program.
func (e *encoder) compactSizeStruct(p *plan.Proc, base mem.Pointer, depth int) (int, *diag.Fault) {
	total := 1
	last := int16(0)
	for i := range p.Ops {
		op := &p.Ops[i]
		at := e.present(op, base)
		if at == nil {
			continue
		}
		total += compact.SizeField(op.ID, last)
		last = op.ID
		if op.Code == plan.Bool {
			continue // its value stands in the header
		}
		n, f := e.sizeValue(op, at, depth-1)
		if f != nil {
			return 0, f.Field(op.Name)
		}
		total += n
	}
	if p.Unknown >= 0 {
		out, _ := e.compact.AppendFieldsFromBinary(nil, mem.Bytes(mem.Add(base, uintptr(p.Unknown))), last, depth)
		total += len(out)
	}
	return total, nil
}

func (e *encoder) compactSizeScalar(op *plan.Op, at mem.Pointer) int {
	switch op.Code {
	case plan.I16:
		return compact.SizeI16(int16(mem.U16(at)))
	case plan.I32:
		return compact.SizeI32(int32(mem.U32(at)))
	case plan.I64:
		return compact.SizeI64(int64(mem.U64(at)))
	case plan.Enum64:
		return compact.SizeI32(int32(mem.U64(at)))
	default:
		return op.Code.Width()
	}
}
