package mem

import "unsafe"

// Pointer is the address of a Go value.
type Pointer = unsafe.Pointer

// Add returns p moved by off bytes (invariant 1).
func Add(p Pointer, off uintptr) Pointer { return unsafe.Add(p, off) }

// The loads (invariant 2).

func U8(p Pointer) uint8   { return *(*uint8)(p) }
func U16(p Pointer) uint16 { return *(*uint16)(p) }
func U32(p Pointer) uint32 { return *(*uint32)(p) }
func U64(p Pointer) uint64 { return *(*uint64)(p) }

// Ptr loads a pointer, a map or the data pointer of a slice or string.
func Ptr(p Pointer) Pointer { return *(*Pointer)(p) }

func String(p Pointer) string  { return *(*string)(p) }
func Bytes(p Pointer) []byte   { return *(*[]byte)(p) }
func UUID(p Pointer) *[16]byte { return (*[16]byte)(p) }

// Slice loads the data pointer and the length of a slice of any type.
func Slice(p Pointer) (data Pointer, n int) {
	b := *(*[]byte)(p)
	return Pointer(unsafe.SliceData(b)), len(b)
}

// The stores (invariants 2 and 3).

func SetU8(p Pointer, v uint8)      { *(*uint8)(p) = v }
func SetU16(p Pointer, v uint16)    { *(*uint16)(p) = v }
func SetU32(p Pointer, v uint32)    { *(*uint32)(p) = v }
func SetU64(p Pointer, v uint64)    { *(*uint64)(p) = v }
func SetPtr(p Pointer, v Pointer)   { *(*Pointer)(p) = v }
func SetString(p Pointer, v string) { *(*string)(p) = v }
func SetBytes(p Pointer, v []byte)  { *(*[]byte)(p) = v }

// SetSlice stores a slice header for n elements at data (invariant 4).
func SetSlice(p, data Pointer, n int) { *(*[]byte)(p) = unsafe.Slice((*byte)(data), n) }

// View returns n values of type T that start at data as a slice.
func View[T any](data Pointer, n int) []T { return unsafe.Slice((*T)(data), n) }

// Data returns the address of the first element of s.
func Data[T any](s []T) Pointer { return Pointer(unsafe.SliceData(s)) }

// Buffer returns the slice with that length and capacity that starts at data
// (invariant 4).
func Buffer(data Pointer, n, capacity int) []byte {
	h := header{data, n, capacity}
	return *(*[]byte)(unsafe.Pointer(&h))
}

// header lies in memory as a slice does; a test compares the two.
type header struct {
	data             Pointer
	length, capacity int
}

// Of returns the address of v.
func Of[T any](v *T) Pointer { return Pointer(v) }

// StringOf returns b as a string without a copy (invariant 5).
func StringOf(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// StringData returns the address of the bytes of s.
func StringData(s string) Pointer { return Pointer(unsafe.StringData(s)) }

// PutString copies the bytes of s to p, where that many lie inside the buffer
// (invariant 8).
func PutString(p Pointer, s string) { copy(unsafe.Slice((*byte)(p), len(s)), s) }

// Size returns the size of a T in bytes.
func Size[T any]() int { return int(unsafe.Sizeof(*new(T))) }
