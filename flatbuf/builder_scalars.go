package flatbuf

import "math"

// This file holds the scalars of a Builder: Place writes at the head, where
// Prep has made room; Prepend makes room and writes; PrependXSlot writes a field
// of the table at hand unless it equals its default.

// PlaceBool writes a bool without making room.
func (b *Builder) PlaceBool(x bool) { b.place8(bit(x)) }

// PlaceByte writes a byte without making room.
func (b *Builder) PlaceByte(x byte) { b.place8(x) }

// PlaceUint8 writes a uint8 without making room.
func (b *Builder) PlaceUint8(x uint8) { b.place8(x) }

// PlaceUint16 writes a uint16 without making room.
func (b *Builder) PlaceUint16(x uint16) { b.place16(x) }

// PlaceUint32 writes a uint32 without making room.
func (b *Builder) PlaceUint32(x uint32) { b.place32(x) }

// PlaceUint64 writes a uint64 without making room.
func (b *Builder) PlaceUint64(x uint64) { b.place64(x) }

// PlaceInt8 writes a int8 without making room.
func (b *Builder) PlaceInt8(x int8) { b.place8(uint8(x)) }

// PlaceInt16 writes a int16 without making room.
func (b *Builder) PlaceInt16(x int16) { b.place16(uint16(x)) }

// PlaceInt32 writes a int32 without making room.
func (b *Builder) PlaceInt32(x int32) { b.place32(uint32(x)) }

// PlaceInt64 writes a int64 without making room.
func (b *Builder) PlaceInt64(x int64) { b.place64(uint64(x)) }

// PlaceFloat32 writes a float32 without making room.
func (b *Builder) PlaceFloat32(x float32) { b.place32(math.Float32bits(x)) }

// PlaceFloat64 writes a float64 without making room.
func (b *Builder) PlaceFloat64(x float64) { b.place64(math.Float64bits(x)) }

// PlaceVOffsetT writes a VOffsetT without making room.
func (b *Builder) PlaceVOffsetT(x VOffsetT) { b.place16(uint16(x)) }

// PlaceUOffsetT writes a UOffsetT as it is, without making room.
func (b *Builder) PlaceUOffsetT(x UOffsetT) { b.place32(uint32(x)) }

// PlaceSOffsetT writes an SOffsetT as it is, without making room.
func (b *Builder) PlaceSOffsetT(x SOffsetT) { b.place32(uint32(x)) }

// PrependBool writes a bool, aligned.
func (b *Builder) PrependBool(x bool) { b.put8(bit(x)) }

// PrependByte writes a byte, aligned.
func (b *Builder) PrependByte(x byte) { b.put8(x) }

// PrependUint8 writes a uint8, aligned.
func (b *Builder) PrependUint8(x uint8) { b.put8(x) }

// PrependUint16 writes a uint16, aligned.
func (b *Builder) PrependUint16(x uint16) { b.put16(x) }

// PrependUint32 writes a uint32, aligned.
func (b *Builder) PrependUint32(x uint32) { b.put32(x) }

// PrependUint64 writes a uint64, aligned.
func (b *Builder) PrependUint64(x uint64) { b.put64(x) }

// PrependInt8 writes a int8, aligned.
func (b *Builder) PrependInt8(x int8) { b.put8(uint8(x)) }

// PrependInt16 writes a int16, aligned.
func (b *Builder) PrependInt16(x int16) { b.put16(uint16(x)) }

// PrependInt32 writes a int32, aligned.
func (b *Builder) PrependInt32(x int32) { b.put32(uint32(x)) }

// PrependInt64 writes a int64, aligned.
func (b *Builder) PrependInt64(x int64) { b.put64(uint64(x)) }

// PrependFloat32 writes a float32, aligned.
func (b *Builder) PrependFloat32(x float32) { b.put32(math.Float32bits(x)) }

// PrependFloat64 writes a float64, aligned.
func (b *Builder) PrependFloat64(x float64) { b.put64(math.Float64bits(x)) }

// PrependVOffsetT writes a VOffsetT, aligned.
func (b *Builder) PrependVOffsetT(x VOffsetT) { b.put16(uint16(x)) }

// PrependBoolSlot writes field o unless x is d.
func (b *Builder) PrependBoolSlot(o int, x, d bool) {
	if x != d {
		b.slot8(o, bit(x))
	}
}

// PrependByteSlot writes field o unless x is d.
func (b *Builder) PrependByteSlot(o int, x, d byte) {
	if x != d {
		b.slot8(o, x)
	}
}

// PrependUint8Slot writes field o unless x is d.
func (b *Builder) PrependUint8Slot(o int, x, d uint8) {
	if x != d {
		b.slot8(o, x)
	}
}

// PrependUint16Slot writes field o unless x is d.
func (b *Builder) PrependUint16Slot(o int, x, d uint16) {
	if x != d {
		b.slot16(o, x)
	}
}

// PrependUint32Slot writes field o unless x is d.
func (b *Builder) PrependUint32Slot(o int, x, d uint32) {
	if x != d {
		b.slot32(o, x)
	}
}

// PrependUint64Slot writes field o unless x is d.
func (b *Builder) PrependUint64Slot(o int, x, d uint64) {
	if x != d {
		b.slot64(o, x)
	}
}

// PrependInt8Slot writes field o unless x is d.
func (b *Builder) PrependInt8Slot(o int, x, d int8) {
	if x != d {
		b.slot8(o, uint8(x))
	}
}

// PrependInt16Slot writes field o unless x is d.
func (b *Builder) PrependInt16Slot(o int, x, d int16) {
	if x != d {
		b.slot16(o, uint16(x))
	}
}

// PrependInt32Slot writes field o unless x is d.
func (b *Builder) PrependInt32Slot(o int, x, d int32) {
	if x != d {
		b.slot32(o, uint32(x))
	}
}

// PrependInt64Slot writes field o unless x is d.
func (b *Builder) PrependInt64Slot(o int, x, d int64) {
	if x != d {
		b.slot64(o, uint64(x))
	}
}

// PrependFloat32Slot writes field o unless x is d.
func (b *Builder) PrependFloat32Slot(o int, x, d float32) {
	if x != d {
		b.slot32(o, math.Float32bits(x))
	}
}

// PrependFloat64Slot writes field o unless x is d.
func (b *Builder) PrependFloat64Slot(o int, x, d float64) {
	if x != d {
		b.slot64(o, math.Float64bits(x))
	}
}
