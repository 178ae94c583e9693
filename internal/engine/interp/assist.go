package interp

import (
	"slices"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/engine"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file lets another engine encode what it is good at and leave the rest, piece
// by piece, to the interpreter.

// StructEncoder encodes structs for an interpreter that meets them in maps, lists and fields.
type StructEncoder interface {
	// AppendStruct appends the struct at base, of the procedure with that index. For what it does not
	// do itself it calls p. A fault need not be exact: who meets one lets an interpreter encode
	// the whole value again.
	AppendStruct(p *Parts, b []byte, proc int, base mem.Pointer, depth int) ([]byte, *diag.Fault)
	// AppendEntries does so with n entries of the map op: see Strides. depth is that of keys and elements.
	AppendEntries(p *Parts, b []byte, op *plan.Op, entries mem.Pointer, n, depth int) ([]byte, *diag.Fault)
}

// Parts is an interpreter that hands all structs to a StructEncoder. It is valid during a call.
type Parts = encoder

// AssistedEncoder returns an interpreter whose structs s encodes.
func (x Engine) AssistedEncoder(encode, size *plan.Program, b *engine.Binding, o engine.EncodeOptions, s StructEncoder) (*Parts, error) {
	made, err := x.Encoder(encode, size, b, o)
	if err != nil {
		return nil, err
	}
	e := made.(*encoder)
	e.assist = s
	return e, nil
}

// Threshold is the length from which strings and binaries are cut out and not copied.
func (e *encoder) Threshold() int { return e.threshold }

// Plain appends a struct without the help of the StructEncoder.
func (e *encoder) Plain(b []byte, proc int, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	return e.Alone().structure(b, e.prog.Procs[proc], base, depth)
}

// Alone returns the same without its StructEncoder.
func (e *encoder) Alone() *Parts {
	plain := *e
	plain.assist = nil
	return &plain
}

// lowered returns the ops of a procedure as they were before pairs were joined.
func (e *encoder) lowered(proc int) []plan.Op {
	if e.compact != 0 {
		return e.prog.Procs[proc].Ops
	}
	return e.plain.Procs[proc].Ops
}

// Field appends the k-th field of the struct at base, if it is present.
func (e *encoder) Field(b []byte, proc, k int, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	op := &e.lowered(proc)[k]
	at := mem.Add(base, uintptr(op.Off))
	if op.Flags&conditional != 0 {
		if at = e.present(op, base); at == nil {
			return b, nil
		}
	}
	if e.compact != 0 {
		return e.compactField(b, op, at, e.Last(proc, k, base), depth)
	}
	b = append(b, byte(op.Head>>16), byte(op.Head>>8), byte(op.Head))
	return e.value(b, op, at, depth-1)
}

// SizeField returns the size of the k-th field of the struct at base, 0 if it is absent.
func (e *encoder) SizeField(proc, k int, base mem.Pointer, depth int) (int, *diag.Fault) {
	op := &e.lowered(proc)[k]
	at := e.present(op, base)
	if at == nil {
		return 0, nil
	}
	fixed := int(op.Fixed)
	if e.compact != 0 {
		fixed = compact.SizeField(op.ID, e.Last(proc, k, base))
		if op.Code == plan.Bool {
			return fixed, nil // the value stands in the header
		}
	}
	n, f := e.sizeValue(op, at, depth-1)
	return fixed + n, f
}

// SizeUnknown returns the size of the unknown fields of the struct at base.
func (e *encoder) SizeUnknown(proc int, base mem.Pointer, depth int) int {
	p := e.prog.Procs[proc]
	kept := mem.Bytes(mem.Add(base, uintptr(p.Unknown)))
	if e.compact == 0 {
		return len(kept)
	}
	out, _ := e.compact.AppendFieldsFromBinary(nil, kept, e.Last(proc, len(p.Ops), base), depth)
	return len(out)
}

// Last returns the id of the field that is written before the k-th, 0 for
// none. It is known for the compact protocol, which needs it.
func (e *encoder) Last(proc, k int, base mem.Pointer) int16 {
	if e.compact == 0 {
		return 0
	}
	ops := e.lowered(proc)
	for _, op := range slices.Backward(ops[:k]) {
		if op.Flags&conditional == 0 || e.present(&op, base) != nil {
			return op.ID
		}
	}
	return 0
}

// Element appends the i-th element of the list field k, which has n elements
// if nobody changed it.
func (e *encoder) Element(b []byte, proc, k, i, n int, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	op := &e.lowered(proc)[k]
	data, now := mem.Slice(mem.Add(base, uintptr(op.Off)))
	if now != n || i >= n || data == nil {
		return b, diag.NewFault(diag.InvalidValue, len(b), "the value changed while it was encoded")
	}
	elem := &e.prog.Procs[op.A].Ops[0]
	return e.value(b, elem, mem.Add(data, uintptr(i)*uintptr(op.Size)), depth-2)
}

// End appends the unknown fields of the struct at base and the STOP.
func (e *encoder) End(b []byte, proc int, base mem.Pointer, depth int) ([]byte, *diag.Fault) {
	p := e.prog.Procs[proc]
	if p.Unknown >= 0 {
		kept := mem.Bytes(mem.Add(base, uintptr(p.Unknown)))
		if e.compact == 0 {
			b = append(b, kept...)
		} else {
			var n int
			if b, n = e.compact.AppendFieldsFromBinary(b, kept, e.Last(proc, len(p.Ops), base), depth); n != len(kept) {
				return b, diag.NewFault(diag.InvalidValue, len(b), "unknown fields that the protocol cannot hold")
			}
		}
	}
	return append(b, 0), nil
}
