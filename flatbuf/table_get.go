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
	absent := uint8(0)
	if d {
		absent = 1
	}
	return t.slot8(slot, absent) != 0
}

// GetByteSlot reads the field of that slot; d stands for an absent one.
func (t *Table) GetByteSlot(slot VOffsetT, d byte) byte { return t.slot8(slot, d) }

// GetUint8Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint8Slot(slot VOffsetT, d uint8) uint8 { return t.slot8(slot, d) }

// GetUint16Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint16Slot(slot VOffsetT, d uint16) uint16 { return t.slot16(slot, d) }

// GetUint32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint32Slot(slot VOffsetT, d uint32) uint32 { return t.slot32(slot, d) }

// GetUint64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetUint64Slot(slot VOffsetT, d uint64) uint64 { return t.slot64(slot, d) }

// GetInt8Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt8Slot(slot VOffsetT, d int8) int8 { return int8(t.slot8(slot, uint8(d))) }

// GetInt16Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt16Slot(slot VOffsetT, d int16) int16 { return int16(t.slot16(slot, uint16(d))) }

// GetInt32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt32Slot(slot VOffsetT, d int32) int32 { return int32(t.slot32(slot, uint32(d))) }

// GetInt64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetInt64Slot(slot VOffsetT, d int64) int64 { return int64(t.slot64(slot, uint64(d))) }

// GetFloat32Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetFloat32Slot(slot VOffsetT, d float32) float32 {
	return math.Float32frombits(t.slot32(slot, math.Float32bits(d)))
}

// GetFloat64Slot reads the field of that slot; d stands for an absent one.
func (t *Table) GetFloat64Slot(slot VOffsetT, d float64) float64 {
	return math.Float64frombits(t.slot64(slot, math.Float64bits(d)))
}

// GetVOffsetTSlot is Offset with d for an absent field, as in Google's runtime: slot 0 gives the size of
// the vtable, 2 that of the table.
func (t *Table) GetVOffsetTSlot(slot VOffsetT, d VOffsetT) VOffsetT {
	if off := t.Offset(slot); off != 0 {
		return off
	}
	return d
}
