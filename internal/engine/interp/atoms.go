package interp

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/internal/plan"
)

// This file holds the atoms: keys and entries of typed maps, one shape each.

func noSize[T any](*encoder, *plan.Op, T, int) (int, *diag.Fault) { return 0, nil }

func encode8(_ *encoder, b []byte, _ *plan.Op, v uint8, _ int) ([]byte, *diag.Fault) {
	return append(b, v), nil
}

func decode8(d *run, op *plan.Op, i, _ int, _ *batch) (uint8, int) {
	if i >= len(d.b) {
		return 0, d.eof(i, 1)
	}
	v := d.b[i]
	if op.Code == plan.Bool && v != 0 {
		v = 1
	}
	return v, i + 1
}

func encode16(_ *encoder, b []byte, _ *plan.Op, v uint16, _ int) ([]byte, *diag.Fault) {
	return binary.BigEndian.AppendUint16(b, v), nil
}

func decode16(d *run, _ *plan.Op, i, _ int, _ *batch) (uint16, int) {
	if len(d.b)-i < 2 {
		return 0, d.eof(i, 2)
	}
	return binary.BigEndian.Uint16(d.b[i:]), i + 2
}

func encode32(_ *encoder, b []byte, _ *plan.Op, v uint32, _ int) ([]byte, *diag.Fault) {
	return binary.BigEndian.AppendUint32(b, v), nil
}

func decode32(d *run, _ *plan.Op, i, _ int, _ *batch) (uint32, int) {
	if len(d.b)-i < 4 {
		return 0, d.eof(i, 4)
	}
	return binary.BigEndian.Uint32(d.b[i:]), i + 4
}

func encode64(_ *encoder, b []byte, op *plan.Op, v uint64, _ int) ([]byte, *diag.Fault) {
	if op.Code == plan.Enum64 {
		return appendEnum(b, v)
	}
	return binary.BigEndian.AppendUint64(b, v), nil
}

func decode64(d *run, op *plan.Op, i, depth int, _ *batch) (uint64, int) {
	if op.Code == plan.Enum64 {
		v, n := decode32(d, op, i, depth, nil)
		return uint64(int64(int32(v))), n
	}
	if len(d.b)-i < 8 {
		return 0, d.eof(i, 8)
	}
	return binary.BigEndian.Uint64(d.b[i:]), i + 8
}

func encodeFloat64(_ *encoder, b []byte, _ *plan.Op, v float64, _ int) ([]byte, *diag.Fault) {
	return binary.BigEndian.AppendUint64(b, math.Float64bits(v)), nil
}

func decodeFloat64(d *run, op *plan.Op, i, depth int, _ *batch) (float64, int) {
	v, n := decode64(d, op, i, depth, nil)
	return math.Float64frombits(v), n
}

func encodeString(_ *encoder, b []byte, _ *plan.Op, v string, _ int) ([]byte, *diag.Fault) {
	return appendString(b, v)
}

func sizeString(_ *encoder, _ *plan.Op, v string, _ int) (int, *diag.Fault) { return len(v), nil }

func decodeString(d *run, op *plan.Op, i, _ int, _ *batch) (string, int) {
	b, n := d.bytes(op, i)
	return mem.StringOf(b), n
}

// A slice is a binary or a list; as an atom it is seen as bytes, which has the
// same header.

func encodeSlice(e *encoder, b []byte, op *plan.Op, v []byte, depth int) ([]byte, *diag.Fault) {
	if op.Code == plan.Binary {
		return appendBytes(b, v)
	}
	return e.list(b, op, mem.Data(v), len(v), depth)
}

func sizeSlice(e *encoder, op *plan.Op, v []byte, depth int) (int, *diag.Fault) {
	if op.Code == plan.Binary {
		return len(v), nil
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
	return v, d.structure(d.prog.Procs[op.A], v, i, depth)
}
