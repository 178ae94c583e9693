package interp

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds the atoms: keys and entries of typed maps, one shape each.

func encode8(e *encoder, b []byte, op *plan.Op, v uint8, _ int) ([]byte, *diag.Fault) {
	if op.Code == plan.Bool && e.compact != 0 {
		return compact.AppendBool(b, v != 0), nil
	}
	return append(b, v), nil
}

func size8(e *encoder, _ *plan.Op, _ uint8, _ int) (int, *diag.Fault) {
	if e.compact != 0 {
		return 1, nil
	}
	return 0, nil
}

func decode8(d *run, op *plan.Op, i, _ int, _ *batch) (uint8, int) {
	if i >= len(d.b) {
		return 0, d.eof(i, 1)
	}
	v := d.b[i]
	if op.Code == plan.Bool {
		return d.boolean(v, i)
	}
	return v, i + 1
}

// boolean converts the byte v, read at i, to a bool's memory.
func (d *run) boolean(v byte, i int) (uint8, int) {
	if d.compact != 0 {
		t, n := compact.ConsumeBool(d.b[i:])
		if n < 0 {
			return 0, d.wire(n, i)
		}
		return bit(t), i + 1
	}
	return bit(v != 0), i + 1
}

func encode16(e *encoder, b []byte, _ *plan.Op, v uint16, _ int) ([]byte, *diag.Fault) {
	if e.compact != 0 {
		return appendVarint(b, zigzag(int64(int16(v)))), nil
	}
	return binary.BigEndian.AppendUint16(b, v), nil
}

func size16(e *encoder, _ *plan.Op, v uint16, _ int) (int, *diag.Fault) {
	if e.compact != 0 {
		return varintSize(zigzag(int64(int16(v)))), nil
	}
	return 0, nil
}

func decode16(d *run, _ *plan.Op, i, _ int, _ *batch) (uint16, int) {
	if d.compact != 0 {
		v, n := compact.ConsumeI16(d.b[i:])
		if n < 0 {
			return 0, d.wire(n, i)
		}
		return uint16(v), i + n
	}
	if len(d.b)-i < 2 {
		return 0, d.eof(i, 2)
	}
	return binary.BigEndian.Uint16(d.b[i:]), i + 2
}

func encode32(e *encoder, b []byte, op *plan.Op, v uint32, _ int) ([]byte, *diag.Fault) {
	if e.compact != 0 && op.Code == plan.I32 {
		return appendVarint(b, zigzag32(v)), nil
	}
	return binary.BigEndian.AppendUint32(b, v), nil
}

func size32(e *encoder, op *plan.Op, v uint32, _ int) (int, *diag.Fault) {
	switch {
	case e.compact == 0:
		return 0, nil
	case op.Code == plan.I32:
		return varintSize(zigzag32(v)), nil
	default:
		return 4, nil
	}
}

func decode32(d *run, op *plan.Op, i, _ int, _ *batch) (uint32, int) {
	if d.compact != 0 && op.Code != plan.Float {
		v, n := compact.ConsumeI32(d.b[i:])
		if n < 0 {
			return 0, d.wire(n, i)
		}
		return uint32(v), i + n
	}
	if len(d.b)-i < 4 {
		return 0, d.eof(i, 4)
	}
	return binary.BigEndian.Uint32(d.b[i:]), i + 4
}

func encode64(e *encoder, b []byte, op *plan.Op, v uint64, _ int) ([]byte, *diag.Fault) {
	if op.Code == plan.Enum64 && int64(int32(v)) != int64(v) {
		return b, enumRange(len(b))
	}
	switch {
	case e.compact != 0 && op.Code == plan.Double:
		return e.compact.AppendDouble(b, math.Float64frombits(v)), nil
	case e.compact != 0:
		return appendVarint(b, zigzag(int64(v))), nil // an enum has the same varint as i32
	case op.Code == plan.Enum64:
		return binary.BigEndian.AppendUint32(b, uint32(v)), nil
	default:
		return binary.BigEndian.AppendUint64(b, v), nil
	}
}

func size64(e *encoder, op *plan.Op, v uint64, _ int) (int, *diag.Fault) {
	switch {
	case e.compact == 0:
		return 0, nil
	case op.Code == plan.Double:
		return 8, nil
	default:
		return varintSize(zigzag(int64(v))), nil
	}
}

func decode64(d *run, op *plan.Op, i, depth int, _ *batch) (uint64, int) {
	switch {
	case op.Code == plan.Enum64:
		v, n := decode32(d, op, i, depth, nil)
		return uint64(int64(int32(v))), n
	case d.compact != 0 && op.Code == plan.I64:
		v, n := compact.ConsumeI64(d.b[i:])
		if n < 0 {
			return 0, d.wire(n, i)
		}
		return uint64(v), i + n
	case len(d.b)-i < 8:
		return 0, d.eof(i, 8)
	case d.compact == compact.Apache: // a double, which that dialect writes little-endian
		return binary.LittleEndian.Uint64(d.b[i:]), i + 8
	}
	return binary.BigEndian.Uint64(d.b[i:]), i + 8
}

func encodeFloat64(e *encoder, b []byte, op *plan.Op, v float64, depth int) ([]byte, *diag.Fault) {
	return encode64(e, b, op, math.Float64bits(v), depth)
}

func sizeFloat64(e *encoder, op *plan.Op, v float64, depth int) (int, *diag.Fault) {
	return size64(e, op, math.Float64bits(v), depth)
}

func decodeFloat64(d *run, op *plan.Op, i, depth int, _ *batch) (float64, int) {
	v, n := decode64(d, op, i, depth, nil)
	return math.Float64frombits(v), n
}

func encodeString(e *encoder, b []byte, _ *plan.Op, v string, _ int) ([]byte, *diag.Fault) {
	switch { // as bytes does, without the call
	case len(v) >= e.threshold || suspect(len(v), mem.StringData(v)):
		return e.bytes(b, v)
	case e.compact != 0:
		return compactBytes(b, v), nil
	default:
		return thriftwire.AppendString(b, v), nil
	}
}

func sizeString(e *encoder, _ *plan.Op, v string, _ int) (int, *diag.Fault) {
	return e.sizeBytes(len(v)), nil
}

func decodeString(d *run, op *plan.Op, i, _ int, _ *batch) (string, int) {
	b, n := d.bytes(op, i)
	return mem.StringOf(b), n
}

// A slice is a binary or a list; as an atom it is seen as bytes, which has the
// same header.

func encodeSlice(e *encoder, b []byte, op *plan.Op, v []byte, depth int) ([]byte, *diag.Fault) {
	if op.Code == plan.Binary {
		return e.bytes(b, mem.StringOf(v))
	}
	return e.list(b, op, mem.Data(v), len(v), depth)
}

func sizeSlice(e *encoder, op *plan.Op, v []byte, depth int) (int, *diag.Fault) {
	if op.Code == plan.Binary {
		return e.sizeBytes(len(v)), nil
	}
	return e.sizeList(op, mem.Data(v), len(v), depth)
}

func decodeSlice(d *run, op *plan.Op, i, depth int, _ *batch) ([]byte, int) {
	if op.Code == plan.Binary {
		return d.bytes(op, i)
	}
	i = d.list(op, mem.Of(&d.slice), i, depth)
	v := d.slice
	d.slice = nil
	return v, i
}

// A pointer is a struct or a map.

func encodePointer(e *encoder, b []byte, op *plan.Op, v mem.Pointer, depth int) ([]byte, *diag.Fault) {
	if op.Code == plan.Map {
		return e.mapping(b, op, v, depth)
	}
	if v != nil && e.compact == 0 { // as pointer does, without the call
		return e.structure(b, e.prog.Procs[op.A], v, depth)
	}
	return e.pointer(b, op, v, depth)
}

func sizePointer(e *encoder, op *plan.Op, v mem.Pointer, depth int) (int, *diag.Fault) {
	if op.Code == plan.Map {
		return e.sizeMap(op, v, depth)
	}
	return e.sizeTarget(op, v, depth)
}

func decodePointer(d *run, op *plan.Op, i, depth int, b *batch) (mem.Pointer, int) {
	if op.Code == plan.Map {
		i = d.mapping(op, mem.Of(&d.pointer), i, depth)
		v := d.pointer
		d.pointer = nil
		return v, i
	}
	v := b.next(d, op, i)
	return v, d.structure(op.A, v, i, depth)
}
