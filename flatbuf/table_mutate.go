package flatbuf

import "math"

// This file holds edits in place: a scalar that the message holds gets another
// value. An absent field has no place, so it cannot be set this way: see Edit.

// MutateBool sets the bool at off.
func (t *Table) MutateBool(off UOffsetT, n bool) bool { return store8(t.Bytes, off, bit(n)) }

// MutateByte sets the byte at off.
func (t *Table) MutateByte(off UOffsetT, n byte) bool { return store8(t.Bytes, off, n) }

// MutateUint8 sets the uint8 at off.
func (t *Table) MutateUint8(off UOffsetT, n uint8) bool { return store8(t.Bytes, off, n) }

// MutateUint16 sets the uint16 at off.
func (t *Table) MutateUint16(off UOffsetT, n uint16) bool { return store16(t.Bytes, off, n) }

// MutateUint32 sets the uint32 at off.
func (t *Table) MutateUint32(off UOffsetT, n uint32) bool { return store32(t.Bytes, off, n) }

// MutateUint64 sets the uint64 at off.
func (t *Table) MutateUint64(off UOffsetT, n uint64) bool { return store64(t.Bytes, off, n) }

// MutateInt8 sets the int8 at off.
func (t *Table) MutateInt8(off UOffsetT, n int8) bool { return store8(t.Bytes, off, uint8(n)) }

// MutateInt16 sets the int16 at off.
func (t *Table) MutateInt16(off UOffsetT, n int16) bool { return store16(t.Bytes, off, uint16(n)) }

// MutateInt32 sets the int32 at off.
func (t *Table) MutateInt32(off UOffsetT, n int32) bool { return store32(t.Bytes, off, uint32(n)) }

// MutateInt64 sets the int64 at off.
func (t *Table) MutateInt64(off UOffsetT, n int64) bool { return store64(t.Bytes, off, uint64(n)) }

// MutateFloat32 sets the float32 at off.
func (t *Table) MutateFloat32(off UOffsetT, n float32) bool {
	return store32(t.Bytes, off, math.Float32bits(n))
}

// MutateFloat64 sets the float64 at off.
func (t *Table) MutateFloat64(off UOffsetT, n float64) bool {
	return store64(t.Bytes, off, math.Float64bits(n))
}

// MutateUOffsetT sets the UOffsetT at off.
func (t *Table) MutateUOffsetT(off UOffsetT, n UOffsetT) bool {
	return store32(t.Bytes, off, uint32(n))
}

// MutateVOffsetT sets the VOffsetT at off.
func (t *Table) MutateVOffsetT(off UOffsetT, n VOffsetT) bool {
	return store16(t.Bytes, off, uint16(n))
}

// MutateSOffsetT sets the SOffsetT at off.
func (t *Table) MutateSOffsetT(off UOffsetT, n SOffsetT) bool {
	return store32(t.Bytes, off, uint32(n))
}

// MutateBoolSlot sets the field of that slot, if it is present.
func (t *Table) MutateBoolSlot(slot VOffsetT, n bool) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateBool(t.Pos+UOffsetT(off), n)
}

// MutateByteSlot sets the field of that slot, if it is present.
func (t *Table) MutateByteSlot(slot VOffsetT, n byte) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateByte(t.Pos+UOffsetT(off), n)
}

// MutateUint8Slot sets the field of that slot, if it is present.
func (t *Table) MutateUint8Slot(slot VOffsetT, n uint8) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateUint8(t.Pos+UOffsetT(off), n)
}

// MutateUint16Slot sets the field of that slot, if it is present.
func (t *Table) MutateUint16Slot(slot VOffsetT, n uint16) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateUint16(t.Pos+UOffsetT(off), n)
}

// MutateUint32Slot sets the field of that slot, if it is present.
func (t *Table) MutateUint32Slot(slot VOffsetT, n uint32) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateUint32(t.Pos+UOffsetT(off), n)
}

// MutateUint64Slot sets the field of that slot, if it is present.
func (t *Table) MutateUint64Slot(slot VOffsetT, n uint64) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateUint64(t.Pos+UOffsetT(off), n)
}

// MutateInt8Slot sets the field of that slot, if it is present.
func (t *Table) MutateInt8Slot(slot VOffsetT, n int8) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateInt8(t.Pos+UOffsetT(off), n)
}

// MutateInt16Slot sets the field of that slot, if it is present.
func (t *Table) MutateInt16Slot(slot VOffsetT, n int16) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateInt16(t.Pos+UOffsetT(off), n)
}

// MutateInt32Slot sets the field of that slot, if it is present.
func (t *Table) MutateInt32Slot(slot VOffsetT, n int32) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateInt32(t.Pos+UOffsetT(off), n)
}

// MutateInt64Slot sets the field of that slot, if it is present.
func (t *Table) MutateInt64Slot(slot VOffsetT, n int64) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateInt64(t.Pos+UOffsetT(off), n)
}

// MutateFloat32Slot sets the field of that slot, if it is present.
func (t *Table) MutateFloat32Slot(slot VOffsetT, n float32) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateFloat32(t.Pos+UOffsetT(off), n)
}

// MutateFloat64Slot sets the field of that slot, if it is present.
func (t *Table) MutateFloat64Slot(slot VOffsetT, n float64) bool {
	off := t.Offset(slot)
	return off != 0 && t.MutateFloat64(t.Pos+UOffsetT(off), n)
}
