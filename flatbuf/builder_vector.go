package flatbuf

import (
	"slices"

	"github.com/thrum-rpc/thrum/internal/mem"
)

// This file holds strings and vectors of a Builder.

// CreateString writes a string and the zero byte after it, and returns its offset.
func (b *Builder) CreateString(s string) UOffsetT {
	head, end := b.head, len(b.Bytes)
	pos := textPos(head, len(s))
	if pos < 0 || head > end || b.nested {
		return b.createString(s)
	}
	b.head = pos
	n := len(s)
	p := beginText(mem.Data(b.Bytes), head, pos, n)
	switch { // Most messages are strings, so short ones are copied without a call.
	case n > 32 || n < 4:
		mem.PutString(p, s)
	case n >= 8:
		putWords(p, mem.StringData(s), uintptr(n-8))
	default:
		putHalves(p, mem.StringData(s), uintptr(n-4))
	}
	return UOffsetT(end - pos)
}

// beginText writes all of a string of n bytes from pos to head but these, and returns where they go: the
// length, and four zeros at the end, of which the bytes leave one at least.
func beginText(base mem.Pointer, head, pos, n int) mem.Pointer {
	mem.PutLE32(mem.Add(base, uintptr(head-4)), 0)
	p := mem.Add(base, uintptr(pos))
	mem.PutLE32(p, uint32(n))
	return mem.Add(p, SizeUOffsetT)
}

// putWords copies last+8 bytes, putHalves last+4 of at most 8: by loads and stores that overlap at
// the end.

func putWords(p, src mem.Pointer, last uintptr) {
	for at := uintptr(0); at < last; at += 8 {
		mem.PutLE64(mem.Add(p, at), mem.LE64(mem.Add(src, at)))
	}
	mem.PutLE64(mem.Add(p, last), mem.LE64(mem.Add(src, last)))
}

func putHalves(p, src mem.Pointer, last uintptr) {
	x, y := mem.LE32(src), mem.LE32(mem.Add(src, last))
	mem.PutLE32(p, x)
	mem.PutLE32(mem.Add(p, last), y)
}

// fewTexts is how many strings of a vector have their places on Go's stack.
const fewTexts = 8

// textsKind says what putTexts writes.
type textsKind uint8

const (
	someTexts     textsKind = iota // the strings that are not empty
	allTexts                       // every string
	vectorOfTexts                  // every string, and a vector of them
)

// putTexts writes strings, the first of which lies at texts, before head in the memory at base, as many as there are places,
// which it notes there: 0 for what is left out. It returns the new head, less than 0 if there is no room or anything
// is unusual.
func putTexts(base mem.Pointer, head int, texts mem.Pointer, places []UOffsetT, kind textsKind) int {
	for i := range places {
		s := mem.String(mem.Add(texts, uintptr(i*mem.Size[string]())))
		n, src := len(s), mem.StringData(s)
		if n == 0 && kind == someTexts {
			places[i] = 0
			continue
		}
		pos := textPos(head, n)
		if pos < 0 || n != 0 && src == nil {
			return -1
		}
		p := beginText(base, head, pos, n)
		switch { // as in CreateString: a call takes as long as the copy
		case n > 32 || n < 4:
			mem.PutString(p, s)
		case n >= 8:
			putWords(p, src, uintptr(n-8))
		default:
			putHalves(p, src, uintptr(n-4))
		}
		head = pos
		places[i] = UOffsetT(pos)
	}
	if kind != vectorOfTexts {
		return head
	}
	at := head - (len(places)+1)*SizeUOffsetT
	if at < 0 || at&(SizeUOffsetT-1) != 0 {
		return -1
	}
	p := mem.Add(base, uintptr(at))
	mem.PutLE32(p, uint32(len(places)))
	for i, place := range places {
		p = mem.Add(p, SizeUOffsetT)
		mem.PutLE32(p, uint32(place)-uint32(at+(i+1)*SizeUOffsetT))
	}
	return at
}

// createString is CreateString where memory lacks or, which panics, inside a table.
func (b *Builder) createString(s string) UOffsetT {
	pos := b.bytesAt(len(s), 1)
	copy(b.Bytes[pos+SizeUOffsetT:], s)
	return UOffsetT(len(b.Bytes) - pos)
}

// textPos returns where a string of n bytes begins that is written before head,
// less than 0 if there is no room. Memory ends at a multiple of the greatest
// alignment, so positions align as distances from its end do.
func textPos(head, n int) int { return (head - n - (SizeUOffsetT + 1)) &^ (SizeUOffsetT - 1) }

// CreateByteString is CreateString for bytes.
func (b *Builder) CreateByteString(s []byte) UOffsetT {
	n := len(s)
	pos := b.bytesAt(n, 1)
	copy(b.Bytes[pos+SizeUOffsetT:pos+SizeUOffsetT+n], s)
	return UOffsetT(len(b.Bytes) - pos)
}

// CreateByteVector writes a vector of bytes and returns its offset.
func (b *Builder) CreateByteVector(v []byte) UOffsetT {
	n := len(v)
	pos := b.bytesAt(n, 0)
	copy(b.Bytes[pos+SizeUOffsetT:pos+SizeUOffsetT+n], v)
	return UOffsetT(len(b.Bytes) - pos)
}

// bytesAt writes all of a string or vector of n bytes but these bytes, with at
// least the given number of zero bytes after it, and returns where it starts.
func (b *Builder) bytesAt(n, zeros int) (pos int) {
	if b.nested || b.minalign < SizeUOffsetT {
		b.assertNotNested()
		b.minalign = SizeUOffsetT
	}
	end := len(b.Bytes)
	pos = end - (end-b.head+n+zeros+SizeUOffsetT+3)&^3
	if pos < 0 {
		if n > maxMessage-2*maxAlign {
			panic("flatbuf: a message of 2 GiB")
		}
		b.grow(n + 2*SizeUOffsetT)
		end = len(b.Bytes)
		pos = end - (end-b.head+n+zeros+SizeUOffsetT+3)&^3
	}
	// Four zero bytes, of which the padding keeps some and the rest is written over.
	mem.PutLE32(mem.Data(b.Bytes[b.head-4:b.head]), 0)
	mem.PutLE32(mem.Data(b.Bytes[pos:pos+SizeUOffsetT]), uint32(n))
	b.head = pos
	return pos
}

// CreateSharedString is CreateString for a string that occurs several times in the
// message: it is written once.
func (b *Builder) CreateSharedString(s string) UOffsetT {
	if off, ok := b.shared[s]; ok {
		return off
	}
	if b.shared == nil {
		b.shared = make(map[string]UOffsetT)
	}
	off := b.CreateString(s)
	b.shared[s] = off
	return off
}

// StartVector starts a vector of numElems elements of elemSize bytes each.
// They are written next, the last one first.
func (b *Builder) StartVector(elemSize, numElems, alignment int) UOffsetT {
	b.startVector(SizeUOffsetT, elemSize, numElems, alignment)
	return b.Offset()
}

// StartVector64 is StartVector for a vector with a length of 64 bits.
func (b *Builder) StartVector64(elemSize, numElems, alignment int) UOffsetT {
	b.startVector(8, elemSize, numElems, alignment)
	return b.Offset()
}

func (b *Builder) startVector(length, elemSize, n, alignment int) {
	b.assertNotNested()
	if n < 0 || elemSize < 0 || elemSize > 0 && n > (maxMessage-2*maxAlign)/elemSize {
		panic("flatbuf: a message of 2 GiB")
	}
	b.nested = true
	b.Prep(length, elemSize*n)
	b.Prep(alignment, elemSize*n)
}

// EndVector writes the length and returns the vector's offset.
func (b *Builder) EndVector(vectorNumElems int) UOffsetT {
	b.assertNested()
	b.room(SizeUOffsetT)
	b.place32(uint32(vectorNumElems))
	b.nested = false
	return b.Offset()
}

// EndVector64 is EndVector after StartVector64.
func (b *Builder) EndVector64(vectorNumElems int) UOffsetT {
	b.assertNested()
	b.room(8)
	b.place64(uint64(vectorNumElems))
	b.nested = false
	return b.Offset()
}

// CreateVectorOfTables writes a vector of references to what has these offsets, tables or
// strings, and returns its offset.
func (b *Builder) CreateVectorOfTables(offsets []UOffsetT) UOffsetT {
	n := len(offsets)
	at := b.head - (n+1)*SizeUOffsetT
	if at < 0 || at&(SizeUOffsetT-1) != 0 || b.nested {
		b.assertNotNested()
		b.Prep(SizeUOffsetT, n*SizeUOffsetT)
		at = b.head - (n+1)*SizeUOffsetT
	}
	from := uint32(len(b.Bytes) - b.head) // the offset of the end of the vector
	vector := b.Bytes[at:b.head]
	p := mem.Data(vector)
	mem.PutLE32(p, uint32(n))
	above := from + uint32(n)*SizeUOffsetT
	for _, off := range offsets {
		if uint32(off) > from {
			panic("flatbuf: an offset to what is not yet written")
		}
		p = mem.Add(p, SizeUOffsetT)
		mem.PutLE32(p, above-uint32(off))
		above -= SizeUOffsetT
	}
	b.head = at
	return UOffsetT(len(b.Bytes) - at)
}

// KeyCompare tells whether the table at offset o1 comes before the one at o2; offsets
// count from the end of buf.
type KeyCompare func(o1, o2 UOffsetT, buf []byte) bool

// CreateVectorOfSortedTables sorts offsets and writes a vector of them.
func (b *Builder) CreateVectorOfSortedTables(offsets []UOffsetT, keyCompare KeyCompare) UOffsetT {
	buf := b.Bytes
	slices.SortStableFunc(offsets, func(x, y UOffsetT) int {
		switch {
		case keyCompare(x, y, buf):
			return -1
		case keyCompare(y, x, buf):
			return 1
		default:
			return 0
		}
	})
	return b.CreateVectorOfTables(offsets)
}

// Scalar is what a vector of numbers may hold.
type Scalar interface {
	~bool | ~int8 | ~uint8 | ~int16 | ~uint16 | ~int32 | ~uint32 | ~int64 | ~uint64 | ~float32 | ~float64
}

// CreateScalarVector writes a vector of numbers at once and returns its offset.
func CreateScalarVector[T Scalar](b *Builder, v []T) UOffsetT {
	size := mem.Size[T]()
	b.startVector(SizeUOffsetT, size, len(v), size)
	copyScalars(b, v, size)
	return b.EndVector(len(v))
}

// CreateScalarVector64 is CreateScalarVector for a vector with a length of 64
// bits.
func CreateScalarVector64[T Scalar](b *Builder, v []T) UOffsetT {
	size := mem.Size[T]()
	b.startVector(8, size, len(v), size)
	copyScalars(b, v, size)
	return b.EndVector64(len(v))
}

func copyScalars[T Scalar](b *Builder, v []T, size int) {
	start := b.head - len(v)*size
	mem.CopyLE(b.Bytes[start:b.head], mem.View[byte](mem.Data(v), len(v)*size), size)
	b.head = start
}
