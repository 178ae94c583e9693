package flatbuf

import (
	"cmp"

	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds the building of messages with types: what generated builders
// take, and the functions that make it. A Ref says what it refers to, so that a
// wrong field does not compile; offsets of the functions with Google's names are
// converted: Ref[string](b.CreateString(s)).

// Ref is the offset of a T that has been written: of a table or struct by the
// type of its accessor, of a string, or of a vector as a slice. 0 stands for none.
type Ref[T any] UOffsetT

// UnionRef is a value of a union, of type U, that has been written. The zero
// value is none.
type UnionRef[U any] struct {
	Type   U
	Offset UOffsetT
}

// UnionsRef are a vector of unions and that of their types.
type UnionsRef[U any] struct {
	Types  Ref[[]U]
	Values UOffsetT
}

// String writes a string.
func String(b *Builder, s string) Ref[string] { return Ref[string](b.CreateString(s)) }

// SharedString writes a string that may occur several times in the message, once.
func SharedString(b *Builder, s string) Ref[string] { return Ref[string](b.CreateSharedString(s)) }

// Scalars writes a vector of bools or numbers.
func Scalars[T Scalar](b *Builder, v []T) Ref[[]T] { return Ref[[]T](CreateScalarVector(b, v)) }

// Scalars64 is Scalars for a vector with a length of 64 bits.
func Scalars64[T Scalar](b *Builder, v []T) Ref[[]T] { return Ref[[]T](CreateScalarVector64(b, v)) }

// Strings writes strings and a vector of them.
func Strings(b *Builder, v ...string) Ref[[]string] {
	var places [fewTexts]UOffsetT
	if end := len(b.Bytes); b.head <= end && !b.nested && len(v) <= len(places) {
		if at := putTexts(mem.Data(b.Bytes), b.head, mem.Data(v), places[:len(v)], vectorOfTexts); at >= 0 {
			b.head = at
			return Ref[[]string](end - at)
		}
	}
	refs := b.PushOffsets(len(v))
	for i, s := range v {
		refs[i] = b.CreateString(s)
	}
	off := b.CreateVectorOfTables(refs)
	b.PopOffsets(len(v))
	return Ref[[]string](off)
}

// SharedStrings is Strings where each string is written once.
func SharedStrings(b *Builder, v ...string) Ref[[]string] {
	refs := b.PushOffsets(len(v))
	for i, s := range v {
		refs[i] = b.CreateSharedString(s)
	}
	off := b.CreateVectorOfTables(refs)
	b.PopOffsets(len(v))
	return Ref[[]string](off)
}

// Tables writes a vector of tables.
func Tables[T any](b *Builder, v ...Ref[T]) Ref[[]T] {
	return Ref[[]T](b.CreateVectorOfTables(mem.View[UOffsetT](mem.Data(v), len(v))))
}

// PackTables writes a vector of tables of type T from their object form, each by pack; nil is an empty one. It is for
// generated code, which would be too large for a processor's caches if each vector had a loop of its own.
func PackTables[T, O any](b *Builder, v []*O, pack func(*O, *Builder) UOffsetT) Ref[[]T] {
	refs := b.PushOffsets(len(v))
	for i, x := range v {
		if x == nil {
			x = new(O)
		}
		refs[i] = pack(x, b)
	}
	off := b.CreateVectorOfTables(refs)
	b.PopOffsets(len(v))
	return Ref[[]T](off)
}

// SortedTables writes a vector of tables in the order of their keys, which less, a
// generated XKeyCompare, compares.
func SortedTables[T any](b *Builder, less KeyCompare, v ...Ref[T]) Ref[[]T] {
	refs := b.PushOffsets(len(v))
	for i, r := range v {
		refs[i] = UOffsetT(r)
	}
	off := b.CreateVectorOfSortedTables(refs, less)
	b.PopOffsets(len(v))
	return Ref[[]T](off)
}

// Unions writes a vector of unions and that of their types. None of them may be
// the zero value.
func Unions[U Scalar](b *Builder, v ...UnionRef[U]) UnionsRef[U] {
	refs := b.PushOffsets(len(v))
	types := make([]U, len(v))
	for i, r := range v {
		refs[i], types[i] = r.Offset, r.Type
	}
	values := b.CreateVectorOfTables(refs)
	b.PopOffsets(len(v))
	return UnionsRef[U]{Types: Scalars(b, types), Values: values}
}

// PushOffsets returns room for n offsets, to be filled and given to
// CreateVectorOfTables. It is valid until PopOffsets(n); in between others may be
// pushed and popped.
func (b *Builder) PushOffsets(n int) []UOffsetT {
	start := len(b.offsets)
	if cap(b.offsets)-start < n {
		// What was pushed before keeps the old memory until it is popped.
		grown := make([]UOffsetT, start, max(2*cap(b.offsets), start+n, 16))
		copy(grown, b.offsets)
		b.offsets = grown
	}
	b.offsets = b.offsets[:start+n]
	return b.offsets[start : start+n : start+n]
}

// PopOffsets gives back the room of the last PushOffsets(n).
func (b *Builder) PopOffsets(n int) { b.offsets = b.offsets[:len(b.offsets)-n] }

// CreateStruct writes a struct of that size and alignment in bytes. Its bytes,
// zero at first, are to be written into the result before anything else is.
func (b *Builder) CreateStruct(size, align int) []byte {
	b.Prep(align, size)
	b.Pad(size)
	return b.Bytes[b.head : b.head+size : b.head+size]
}

// StartStructVector starts a vector of n structs of that size and alignment in
// bytes. Their bytes, zero at first, are to be written into the result before
// EndVector(n).
func (b *Builder) StartStructVector(size, align, n int) []byte {
	b.startVector(SizeUOffsetT, size, n, align)
	b.Pad(size * n)
	return b.Bytes[b.head : b.head+size*n : b.head+size*n]
}

// StartStructVector64 is StartStructVector for a vector with a length of 64 bits,
// which EndVector64(n) ends.
func (b *Builder) StartStructVector64(size, align, n int) []byte {
	b.startVector(8, size, n, align)
	b.Pad(size * n)
	return b.Bytes[b.head : b.head+size*n : b.head+size*n]
}

// CompareBools orders false before true.
func CompareBools(x, y bool) int { return cmp.Compare(bit(x), bit(y)) }

// CompareArrays compares element by element.
func CompareArrays[T any](x, y []T, compare func(x, y T) int) int {
	for i := range min(len(x), len(y)) {
		if c := compare(x[i], y[i]); c != 0 {
			return c
		}
	}
	return cmp.Compare(len(x), len(y))
}

// StringAt returns the bytes of the string that t itself is: a member of a union.
// They alias the buffer and are nil if they do not lie inside it.
func StringAt(t *Table) []byte {
	at := uint64(t.Pos) + SizeUOffsetT
	if at > uint64(len(t.Bytes)) {
		return nil
	}
	end := at + uint64(mem.LE32(mem.Add(mem.Data(t.Bytes), uintptr(t.Pos))))
	if end > uint64(len(t.Bytes)) {
		return nil
	}
	return t.Bytes[at:end:end]
}
