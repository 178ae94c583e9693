package flatbuf

import (
	"encoding/binary"
	"math"

	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds scalars at the front of a slice. A getter returns 0 if the
// slice is too short; a writer panics, for its caller made the slice.

// GetBool reads a bool.
func GetBool(buf []byte) bool { return flatwire.U8(buf, 0) != 0 }

// GetByte reads a byte.
func GetByte(buf []byte) byte { return flatwire.U8(buf, 0) }

// GetUint8 reads a uint8.
func GetUint8(buf []byte) uint8 { return flatwire.U8(buf, 0) }

// GetUint16 reads a uint16.
func GetUint16(buf []byte) uint16 { return flatwire.U16(buf, 0) }

// GetUint32 reads a uint32.
func GetUint32(buf []byte) uint32 { return flatwire.U32(buf, 0) }

// GetUint64 reads a uint64.
func GetUint64(buf []byte) uint64 { return flatwire.U64(buf, 0) }

// GetInt8 reads a int8.
func GetInt8(buf []byte) int8 { return int8(flatwire.U8(buf, 0)) }

// GetInt16 reads a int16.
func GetInt16(buf []byte) int16 { return int16(flatwire.U16(buf, 0)) }

// GetInt32 reads a int32.
func GetInt32(buf []byte) int32 { return int32(flatwire.U32(buf, 0)) }

// GetInt64 reads a int64.
func GetInt64(buf []byte) int64 { return int64(flatwire.U64(buf, 0)) }

// GetFloat32 reads a float32.
func GetFloat32(buf []byte) float32 { return math.Float32frombits(flatwire.U32(buf, 0)) }

// GetFloat64 reads a float64.
func GetFloat64(buf []byte) float64 { return math.Float64frombits(flatwire.U64(buf, 0)) }

// GetUOffsetT reads a UOffsetT.
func GetUOffsetT(buf []byte) UOffsetT { return UOffsetT(flatwire.U32(buf, 0)) }

// GetVOffsetT reads a VOffsetT.
func GetVOffsetT(buf []byte) VOffsetT { return VOffsetT(flatwire.U16(buf, 0)) }

// GetSOffsetT reads a SOffsetT.
func GetSOffsetT(buf []byte) SOffsetT { return SOffsetT(flatwire.U32(buf, 0)) }

// WriteBool writes a bool.
func WriteBool(buf []byte, n bool) { buf[0] = bit(n) }

// WriteByte writes a byte.
func WriteByte(buf []byte, n byte) { buf[0] = n }

// WriteUint8 writes a uint8.
func WriteUint8(buf []byte, n uint8) { buf[0] = n }

// WriteUint16 writes a uint16.
func WriteUint16(buf []byte, n uint16) { binary.LittleEndian.PutUint16(buf, n) }

// WriteUint32 writes a uint32.
func WriteUint32(buf []byte, n uint32) { binary.LittleEndian.PutUint32(buf, n) }

// WriteUint64 writes a uint64.
func WriteUint64(buf []byte, n uint64) { binary.LittleEndian.PutUint64(buf, n) }

// WriteInt8 writes a int8.
func WriteInt8(buf []byte, n int8) { buf[0] = uint8(n) }

// WriteInt16 writes a int16.
func WriteInt16(buf []byte, n int16) { binary.LittleEndian.PutUint16(buf, uint16(n)) }

// WriteInt32 writes a int32.
func WriteInt32(buf []byte, n int32) { binary.LittleEndian.PutUint32(buf, uint32(n)) }

// WriteInt64 writes a int64.
func WriteInt64(buf []byte, n int64) { binary.LittleEndian.PutUint64(buf, uint64(n)) }

// WriteFloat32 writes a float32.
func WriteFloat32(buf []byte, n float32) { binary.LittleEndian.PutUint32(buf, math.Float32bits(n)) }

// WriteFloat64 writes a float64.
func WriteFloat64(buf []byte, n float64) { binary.LittleEndian.PutUint64(buf, math.Float64bits(n)) }

// WriteUOffsetT writes a UOffsetT.
func WriteUOffsetT(buf []byte, n UOffsetT) { binary.LittleEndian.PutUint32(buf, uint32(n)) }

// WriteVOffsetT writes a VOffsetT.
func WriteVOffsetT(buf []byte, n VOffsetT) { binary.LittleEndian.PutUint16(buf, uint16(n)) }

// WriteSOffsetT writes a SOffsetT.
func WriteSOffsetT(buf []byte, n SOffsetT) { binary.LittleEndian.PutUint32(buf, uint32(n)) }
