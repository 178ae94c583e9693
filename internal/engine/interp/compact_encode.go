package interp

import (
	"encoding/binary"
	"math"
	"math/bits"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file encodes and sizes what the compact protocol writes in its own
// way: structs, scalars, and lists of them. Containers, maps and pointers are the binary
// protocol's functions, which ask encoder.compact at their leaves.

func (e *encoder) compactStruct(b []byte, p *plan.Proc, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	if depth <= 0 {
		return b, tooDeep(len(b))
	}
	// The buffer is o[:size], of which i bytes are written. Stores by address
	// stand behind a comparison of size-i with compactRoom.
	o, i, size := mem.Data(b), len(b), cap(b)
	last := 0
	ops := p.Ops
	for k := range ops {
		op := &ops[k]
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&(plan.Deref|plan.Optional|plan.Default) != 0 {
			if at = e.present(op, base); at == nil {
				continue
			}
		}
		if size-i < compactRoom {
			out, f := e.compactField(mem.View[byte](o, size)[:i], op, at, int16(last), depth)
			if f != nil {
				return nil, f.Field(op.Name)
			}
			o, i, size = mem.Data(out), len(out), cap(out)
			last = int(op.ID)
			continue
		}
		head := mem.Add(o, uintptr(i))
		if op.Head >= staticHead {
			mem.SetU8(head, byte(op.Head))
			i++
		} else {
			i += compactHeader(head, byte(op.Head), op.ID, last)
		}
		last = int(op.ID)
		w := mem.Add(o, uintptr(i))
		var u uint64
		switch op.Code {
		case plan.Bool:
			if mem.U8(at) == 0 {
				mem.SetU8(head, mem.U8(head)+1)
			}
			continue
		case plan.I8:
			mem.SetU8(w, mem.U8(at))
			i++
			continue
		case plan.I16:
			u = zigzag(int64(int16(mem.U16(at))))
		case plan.I32:
			u = zigzag32(mem.U32(at))
		case plan.I64:
			if u = zigzag(int64(mem.U64(at))); u >= 1<<56 {
				i += putLong(w, u)
				continue
			}
		case plan.Enum64:
			v := int64(mem.U64(at))
			if int64(int32(v)) != v {
				return nil, enumRange(i).Field(op.Name)
			}
			u = zigzag(v)
		case plan.Double:
			v := mem.U64(at)
			if e.compact == compact.Apache {
				v = bits.ReverseBytes64(v)
			}
			mem.PutBE64(w, v)
			i += 8
			continue
		case plan.String, plan.Binary:
			s := mem.String(at) // a slice starts as a string does
			if suspect(len(s), mem.StringData(s)) {
				return nil, checkBytes(len(s), mem.StringData(s), i).Field(op.Name)
			}
			i += putLength(w, len(s))
			if len(s) >= e.threshold {
				e.cut(i, s)
				continue
			}
			if len(s) == 0 {
				continue // the address behind a full buffer is not its own
			}
			if size-i < len(s) {
				o, size = extend(o, i, size, len(s))
			}
			mem.PutString(mem.Add(o, uintptr(i)), s)
			i += len(s)
			continue
		default:
			out, f := e.compactOther(mem.View[byte](o, size)[:i], op, at, depth-1)
			if f != nil {
				return nil, f.Field(op.Name)
			}
			o, i, size = mem.Data(out), len(out), cap(out)
			continue
		}
		i += putVarint(w, u)
	}
	out := mem.View[byte](o, size)[:i]
	if p.Unknown >= 0 {
		// What is kept stands in the binary protocol.
		kept := mem.Bytes(mem.Add(base, uintptr(p.Unknown)))
		var n int
		if out, n = e.compact.AppendFieldsFromBinary(out, kept, int16(last), depth); n != len(kept) {
			return nil, diag.NewFault(diag.InvalidValue, len(out), "unknown fields that the protocol cannot hold")
		}
	}
	if p.Union && e.opts.CheckUnion {
		written := 0
		for k := range ops {
			if e.present(&ops[k], base) != nil {
				written++
			}
		}
		if f := e.checkUnion(p, written, len(out)); f != nil {
			return nil, f
		}
	}
	return append(out, 0), nil
}

// compactOther appends a value that compactStruct does not handle itself.
func (e *encoder) compactOther(b []byte, op *plan.Op, at mem.Pointer, depth int) ([]byte, *diag.Fault) {
	switch op.Code {
	case plan.List:
		data, n := mem.Slice(at)
		return e.list(b, op, data, n, depth)
	case plan.Map:
		return e.mapping(b, op, mem.Ptr(at), depth)
	case plan.Pointer:
		return e.pointer(b, op, mem.Ptr(at), depth)
	default:
		return e.value(b, op, at, depth)
	}
}

// compactField appends a field without storing behind its end.
func (e *encoder) compactField(b []byte, op *plan.Op, at mem.Pointer, last int16, depth int) ([]byte, *diag.Fault) {
	if op.Code == plan.Bool {
		return compact.AppendBoolField(b, mem.U8(at) != 0, op.ID, last), nil
	}
	if op.Head >= staticHead {
		b = append(b, byte(op.Head))
	} else {
		b = e.compact.AppendField(b, op.Wire, op.ID, last)
	}
	var u uint64
	switch op.Code {
	case plan.I32:
		u = zigzag32(mem.U32(at))
	case plan.I64:
		u = zigzag(int64(mem.U64(at)))
	case plan.Enum64:
		v := int64(mem.U64(at))
		if int64(int32(v)) != v {
			return b, enumRange(len(b))
		}
		u = zigzag(v)
	default:
		return e.value(b, op, at, depth-1)
	}
	return appendVarint(b, u), nil
}

func (e *encoder) compactScalar(b []byte, op *plan.Op, at mem.Pointer) ([]byte, *diag.Fault) {
	switch op.Code {
	case plan.Bool:
		return compact.AppendBool(b, mem.U8(at) != 0), nil
	case plan.I8:
		return append(b, mem.U8(at)), nil
	case plan.I16:
		return appendVarint(b, zigzag(int64(int16(mem.U16(at))))), nil
	case plan.I32:
		return appendVarint(b, zigzag32(mem.U32(at))), nil
	case plan.I64:
		return appendVarint(b, zigzag(int64(mem.U64(at)))), nil
	case plan.Enum64:
		v := int64(mem.U64(at))
		if int64(int32(v)) != v {
			return b, enumRange(len(b))
		}
		return appendVarint(b, zigzag(v)), nil
	case plan.Float:
		return binary.BigEndian.AppendUint32(b, mem.U32(at)), nil
	case plan.Double:
		return e.compact.AppendDouble(b, math.Float64frombits(mem.U64(at))), nil
	default: // UUID
		return append(b, mem.UUID(at)[:]...), nil
	}
}

// compactElements appends n elements of varying width in memory.
func (e *encoder) compactElements(b []byte, op, elem *plan.Op, data mem.Pointer, n, depth int) ([]byte, *diag.Fault) {
	var f *diag.Fault
	if elem.Code == plan.Pointer {
		proc := e.prog.Procs[elem.A]
		for i, v := range mem.View[mem.Pointer](data, n) {
			if v == nil {
				b = append(b, 0)
			} else if b, f = e.structure(b, proc, v, depth-1); f != nil {
				return b, f.Index(i)
			}
		}
		return b, nil
	}
	for i := range n {
		if b, f = e.value(b, elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-1); f != nil {
			return b, f.Index(i)
		}
	}
	return b, nil
}

// compactNumbers appends n elements of fixed width in memory.
func (e *encoder) compactNumbers(b []byte, elem *plan.Op, data mem.Pointer, n int) ([]byte, *diag.Fault) {
	if elem.Code == plan.I8 {
		return append(b, mem.View[byte](data, n)...), nil
	}
	stride := uintptr(elem.Code.Memory())
	for k := 0; k < n; {
		k, b = e.compactVarints(b, elem.Code, data, k, n)
		if k == n {
			break
		}
		var f *diag.Fault
		if b, f = e.compactScalar(b, elem, mem.Add(data, uintptr(k)*stride)); f != nil {
			return b, f.Index(k)
		}
		k++
	}
	return b, nil
}

// compactVarints appends integers from the k-th of n on, while they and their
// room last, and returns the index of the first that it left.
func (e *encoder) compactVarints(b []byte, code plan.Code, data mem.Pointer, k, n int) (int, []byte) {
	o, i, size := mem.Data(b), len(b), cap(b)
	switch code {
	case plan.I16:
		for v := mem.View[int16](data, n); k < len(v) && size-i >= compactRoom; k++ {
			i += putVarint(mem.Add(o, uintptr(i)), zigzag(int64(v[k])))
		}
	case plan.I32:
		for v := mem.View[uint32](data, n); k < len(v) && size-i >= compactRoom; k++ {
			i += putVarint(mem.Add(o, uintptr(i)), zigzag32(v[k]))
		}
	case plan.I64:
		for v := mem.View[int64](data, n); k < len(v) && size-i >= compactRoom; k++ {
			i += putVarint64(mem.Add(o, uintptr(i)), zigzag(v[k]))
		}
	}
	return k, b[:i]
}

// compactSizeStruct returns the exact size of a struct.
func (e *encoder) compactSizeStruct(p *plan.Proc, base mem.Pointer, depth int) (int, *diag.Fault) {
	if depth <= 0 {
		return 0, tooDeep(-1)
	}
	if p.Base == 0 {
		return e.compactSizeFields(p, base, depth)
	}
	total := p.Base
	list := &e.always[p.Index]
	for _, off := range list.words {
		total += varintSize(zigzag32(mem.U32(mem.Add(base, uintptr(off)))))
	}
	for _, off := range list.longs {
		total += varintSize(zigzag(int64(mem.U64(mem.Add(base, uintptr(off))))))
	}
	for _, off := range list.texts {
		n := len(mem.String(mem.Add(base, uintptr(off)))) // a slice starts as a string does
		total += lengthSize(n) + n
	}
	ops := p.Ops
	for k := range ops {
		op := &ops[k]
		at := mem.Add(base, uintptr(op.Off))
		if op.Flags&conditional != 0 {
			if at = e.present(op, base); at == nil {
				continue
			}
			total += int(op.Fixed)
		}
		switch op.Code {
		case plan.I32, plan.Enum64:
			total += varintSize(zigzag32(mem.U32(at)))
		case plan.I64:
			total += varintSize(zigzag(int64(mem.U64(at))))
		case plan.String, plan.Binary:
			n := len(mem.String(at)) // a slice starts as a string does
			total += lengthSize(n) + n
		case plan.I16, plan.Struct, plan.Pointer, plan.List, plan.Map:
			n, f := e.sizeValue(op, at, depth-1)
			if f != nil {
				return 0, f.Field(op.Name)
			}
			total += n
		}
	}
	return total, nil
}

// compactSizeFields is compactSizeStruct where the headers vary in length.
func (e *encoder) compactSizeFields(p *plan.Proc, base mem.Pointer, depth int) (int, *diag.Fault) {
	total := 1
	last := int16(0)
	for k := range p.Ops {
		op := &p.Ops[k]
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

// compactSizeElements returns what n elements of a list take.
func (e *encoder) compactSizeElements(op, elem *plan.Op, data mem.Pointer, n, depth int) (int, *diag.Fault) {
	total := 0
	switch elem.Code {
	case plan.I32:
		for _, v := range mem.View[uint32](data, n) {
			total += varintSize(zigzag32(v))
		}
	case plan.I64:
		for _, v := range mem.View[int64](data, n) {
			total += varintSize(zigzag(v))
		}
	case plan.String:
		for _, s := range mem.View[string](data, n) {
			total += lengthSize(len(s)) + len(s)
		}
	case plan.Bool, plan.I8, plan.Float, plan.Double, plan.UUID:
		total = n * elem.Code.Width()
	case plan.Pointer:
		target := e.size.Procs[elem.A]
		for i, v := range mem.View[mem.Pointer](data, n) {
			if v == nil {
				total++
				continue
			}
			m, f := e.compactSizeStruct(target, v, depth-1)
			if f != nil {
				return 0, f.Index(i)
			}
			total += m
		}
	default:
		for i := range n {
			m, f := e.sizeValue(elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-1)
			if f != nil {
				return 0, f.Index(i)
			}
			total += m
		}
	}
	return total, nil
}

// compactBytes appends a string or binary that is shorter than the threshold
// and not suspect.
func compactBytes(b []byte, s string) []byte {
	i := len(b)
	if cap(b)-i < compactRoom+len(s) {
		return append(compact.AppendLength(b, len(s)), s...)
	}
	o := mem.Data(b)
	i += putLength(mem.Add(o, uintptr(i)), len(s))
	mem.PutString(mem.Add(o, uintptr(i)), s)
	return b[:i+len(s)]
}
