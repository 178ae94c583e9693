package flatbuf

import "math"

// This file holds the scalars of tables and structs: at a position in the
// buffer, and by the vtable's slot. A slot is a byte offset in the vtable, 4 for
// the first field, 6 for the second. A getter returns 0 for a position outside
// the buffer, and a setter does nothing and returns false.

// GetBool reads the bool at off.
func (t *Table) GetBool(off UOffsetT) bool { return load8(t.Bytes, off) != 0 }

// GetByte reads the byte at off.
func (t *Table) GetByte(off UOffsetT) byte { return load8(t.Bytes, off) }

// GetUint8 reads the uint8 at off.
func (t *Table) GetUint8(off UOffsetT) uint8 { return load8(t.Bytes, off) }

// GetUint16 reads the uint16 at off.
func (t *Table) GetUint16(off UOffsetT) uint16 { return load16(t.Bytes, off) }

// GetUint32 reads the uint32 at off.
func (t *Table) GetUint32(off UOffsetT) uint32 { return load32(t.Bytes, off) }

// GetUint64 reads the uint64 at off.
func (t *Table) GetUint64(off UOffsetT) uint64 { return load64(t.Bytes, off) }

// GetInt8 reads the int8 at off.
func (t *Table) GetInt8(off UOffsetT) int8 { return int8(load8(t.Bytes, off)) }

// GetInt16 reads the int16 at off.
func (t *Table) GetInt16(off UOffsetT) int16 { return int16(load16(t.Bytes, off)) }

// GetInt32 reads the int32 at off.
func (t *Table) GetInt32(off UOffsetT) int32 { return int32(load32(t.Bytes, off)) }

// GetInt64 reads the int64 at off.
func (t *Table) GetInt64(off UOffsetT) int64 { return int64(load64(t.Bytes, off)) }

// GetFloat32 reads the float32 at off.
func (t *Table) GetFloat32(off UOffsetT) float32 { return math.Float32frombits(load32(t.Bytes, off)) }

// GetFloat64 reads the float64 at off.
func (t *Table) GetFloat64(off UOffsetT) float64 { return math.Float64frombits(load64(t.Bytes, off)) }

// GetUOffsetT reads the UOffsetT at off.
func (t *Table) GetUOffsetT(off UOffsetT) UOffsetT { return UOffsetT(load32(t.Bytes, off)) }

// GetVOffsetT reads the VOffsetT at off.
func (t *Table) GetVOffsetT(off UOffsetT) VOffsetT { return VOffsetT(load16(t.Bytes, off)) }

// GetSOffsetT reads the SOffsetT at off.
func (t *Table) GetSOffsetT(off UOffsetT) SOffsetT { return SOffsetT(load32(t.Bytes, off)) }

// GetBoolSlot reads the field of that slot; d stands for an absent one.
func (t *Table) GetBoolSlot(slot VOffsetT, d bool) bool {
	if off := t.Offset(slot); off != 0 {
		return t.GetBool(t.Pos + UOffsetT(off))
	}
	return d
}

// GetByteSlot reads the field of that slot; d stands for an absent one.
func (t *Table) GetByteSlot(slot VOffsetT, d byte) byte {
	if off := t.Offset(slot); off != 0 {
		return t.GetByte(t.Pos + UOffsetT(off))
	}
	return d
}

// GetUint8Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint8Slot(slot VOffsetT, d uint8) uint8 {
	if off := t.Offset(slot); off != 0 {
		return t.GetUint8(t.Pos + UOffsetT(off))
	}
	return d
}

// GetUint16Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint16Slot(slot VOffsetT, d uint16) uint16 {
	if off := t.Offset(slot); off != 0 {
		return t.GetUint16(t.Pos + UOffsetT(off))
	}
	return d
}

// GetUint32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint32Slot(slot VOffsetT, d uint32) uint32 {
	if off := t.Offset(slot); off != 0 {
		return t.GetUint32(t.Pos + UOffsetT(off))
	}
	return d
}

// GetUint64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint64Slot(slot VOffsetT, d uint64) uint64 {
	if off := t.Offset(slot); off != 0 {
		return t.GetUint64(t.Pos + UOffsetT(off))
	}
	return d
}

// GetInt8Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt8Slot(slot VOffsetT, d int8) int8 {
	if off := t.Offset(slot); off != 0 {
		return t.GetInt8(t.Pos + UOffsetT(off))
	}
	return d
}

// GetInt16Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt16Slot(slot VOffsetT, d int16) int16 {
	if off := t.Offset(slot); off != 0 {
		return t.GetInt16(t.Pos + UOffsetT(off))
	}
	return d
}

// GetInt32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt32Slot(slot VOffsetT, d int32) int32 {
	if off := t.Offset(slot); off != 0 {
		return t.GetInt32(t.Pos + UOffsetT(off))
	}
	return d
}

// GetInt64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt64Slot(slot VOffsetT, d int64) int64 {
	if off := t.Offset(slot); off != 0 {
		return t.GetInt64(t.Pos + UOffsetT(off))
	}
	return d
}

// GetFloat32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetFloat32Slot(slot VOffsetT, d float32) float32 {
	if off := t.Offset(slot); off != 0 {
		return t.GetFloat32(t.Pos + UOffsetT(off))
	}
	return d
}

// GetFloat64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetFloat64Slot(slot VOffsetT, d float64) float64 {
	if off := t.Offset(slot); off != 0 {
		return t.GetFloat64(t.Pos + UOffsetT(off))
	}
	return d
}

// GetVOffsetTSlot reads the field of that slot; d stands for an absent one.
func (t *Table) GetVOffsetTSlot(slot VOffsetT, d VOffsetT) VOffsetT {
	if off := t.Offset(slot); off != 0 {
		return t.GetVOffsetT(t.Pos + UOffsetT(off))
	}
	return d
}
