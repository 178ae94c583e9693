package flatbuf

import (
	"github.com/thrum-rpc/thrum/internal/mem"
	"github.com/thrum-rpc/thrum/wire/flatwire"
)

// This file holds the Builder: its memory, alignment, the parts of a message
// and its end.

// Builder makes a message, from its end to its start: what a table refers to is
// written before the table. The zero value is ready. A Builder is for one
// goroutine at a time.
//
// Misuse, such as starting a table inside another, panics, as does a message
// that reaches 2 GiB.
type Builder struct {
	// Bytes holds the message so far at its end, from Head on. What is before
	// has any content. FinishedBytes is for most uses. The length is a multiple of
	// the greatest alignment.
	Bytes []byte

	head      int // the message so far is Bytes[head:]
	minalign  int // the greatest alignment so far; a message has that of its root offset at least
	vtable    []UOffsetT
	plain     []uint16 // the vtable of a table made by StartTable
	objectEnd UOffsetT
	vtables   vtableSet
	known     [4]knownVtable // of tables with all fields, the first few
	knowns    int
	nested    bool // inside a table or vector
	finished  bool
	shared    map[string]UOffsetT
	offsets   []UOffsetT // of vectors and Go structs that are being made, a stack
	structs   writer
	want      int   // bytes to allocate at first
	home      *Pool // that it came from and goes back to
}

// firstSize is what a builder that knows nothing of its messages allocates.
const firstSize = 512

// maxMessage is the size that a message stays below.
const maxMessage = 1<<31 - 1

// NewBuilder returns a Builder with room for a message of initialSize bytes.
func NewBuilder(initialSize int) *Builder {
	b := &Builder{}
	if initialSize > 0 {
		b.Bytes = make([]byte, roundUp(initialSize))
		b.head, b.minalign = len(b.Bytes), SizeUOffsetT
	}
	return b
}

// roundUp returns n as a multiple of the greatest alignment: positions
// from the end and from the start of the memory then align alike.
func roundUp(n int) int { return (n + maxAlign - 1) &^ (maxAlign - 1) }

// Reset forgets the message and keeps the memory for the next one. Slices that
// FinishedBytes returned are overwritten by it: see Detach.
func (b *Builder) Reset() {
	b.Bytes = b.Bytes[:cap(b.Bytes)&^(maxAlign-1)]
	b.head = len(b.Bytes)
	b.minalign = SizeUOffsetT
	b.vtables.reset()
	b.knowns = 0
	b.nested, b.finished = false, false
	b.offsets = b.offsets[:0]
	if len(b.shared) > 0 {
		clear(b.shared)
	}
}

// ResetTo is Reset, with buf as the memory for the next message, in place of
// what the builder has: memory that Detach gave away and that nobody uses any
// more.
func (b *Builder) ResetTo(buf []byte) {
	b.Bytes = buf[:0]
	b.Reset()
}

// Detach returns the finished message and gives up its memory, so that it may
// be sent while the builder makes the next message, in memory of its own.
func (b *Builder) Detach() []byte {
	msg := b.FinishedBytes()
	b.want = max(b.want, len(msg))
	b.Bytes = nil
	b.Reset()
	return msg
}

// builderState is a place in a message to which its builder can return.
type builderState struct {
	used, minalign, vtables, offsets int
}

func (b *Builder) state() builderState {
	return builderState{len(b.Bytes) - b.head, b.minalign, len(b.vtables.offsets), len(b.offsets)}
}

// rewind forgets what was written since, outside of any table or vector.
func (b *Builder) rewind(s builderState) {
	b.head, b.minalign = len(b.Bytes)-s.used, s.minalign
	b.vtables.truncate(b.Bytes, s.vtables)
	b.knowns = 0
	b.offsets = b.offsets[:s.offsets]
}

// FinishedBytes returns the message. It panics before Finish. The result
// aliases the builder's memory until the next Reset.
func (b *Builder) FinishedBytes() []byte {
	if !b.finished {
		panic("flatbuf: FinishedBytes before Finish")
	}
	return b.Bytes[b.head:]
}

// Align returns what the message has to stand at a multiple of, inside another one: the greatest alignment of
// its parts so far, in bytes, and 4 at least.
func (b *Builder) Align() int { return max(b.minalign, SizeUOffsetT) }

// Head returns where the message starts in Bytes.
func (b *Builder) Head() UOffsetT { return UOffsetT(b.head) }

// Offset returns the size of the message so far, in bytes. What is written next
// is referred to by its offset from the end of the message, which is Offset
// after it was written.
func (b *Builder) Offset() UOffsetT { return UOffsetT(len(b.Bytes) - b.head) }

// grow makes room for n bytes before the head: the message so far is moved
// once, to the end of memory twice as large.
func (b *Builder) grow(n int) {
	used := len(b.Bytes) - b.head
	if n < 0 || used > maxMessage-n {
		panic("flatbuf: a message of 2 GiB")
	}
	size := max(2*min(len(b.Bytes), maxMessage/2-maxAlign), used+n, b.want+2*maxAlign, firstSize)
	if size > maxMessage { // doubled
		size = maxMessage - maxAlign
		size = max(size, used+n)
	}
	memory := make([]byte, roundUp(size))
	copy(memory[len(memory)-used:], b.Bytes[b.head:])
	b.Bytes, b.head = memory, len(memory)-used
}

// room makes room for n bytes before the head.
func (b *Builder) room(n int) {
	if b.head < n || n < 0 {
		b.grow(n)
	}
}

// Prep makes room for size bytes, which are to stand at a multiple of size once
// additionalBytes, for which there is room too, have been written.
func (b *Builder) Prep(size, additionalBytes int) {
	b.minalign = max(b.minalign, size)
	pad := -(len(b.Bytes) - b.head + additionalBytes) & (size - 1)
	b.room(pad + size + additionalBytes)
	if pad > 0 {
		b.Pad(pad)
	}
}

// Pad writes n zero bytes, for which there is room.
func (b *Builder) Pad(n int) {
	clear(b.Bytes[b.head-n : b.head])
	b.head -= n
}

// place writes without making room, put aligns and makes room before, slot also
// notes the field's place.

func (b *Builder) place8(x uint8) {
	b.Bytes[b.head-1] = x
	b.head--
}

func (b *Builder) place16(x uint16) {
	mem.PutLE16(mem.Data(b.Bytes[b.head-2:b.head]), x)
	b.head -= 2
}

func (b *Builder) place32(x uint32) {
	mem.PutLE32(mem.Data(b.Bytes[b.head-4:b.head]), x)
	b.head -= 4
}

func (b *Builder) place64(x uint64) {
	mem.PutLE64(mem.Data(b.Bytes[b.head-8:b.head]), x)
	b.head -= 8
}

func (b *Builder) put8(x uint8) {
	b.room(1)
	b.place8(x)
}

func (b *Builder) put16(x uint16) {
	if (len(b.Bytes)-b.head)&1 != 0 || b.head < 2 || b.minalign < 2 {
		b.Prep(2, 0)
	}
	b.place16(x)
}

func (b *Builder) put32(x uint32) {
	if (len(b.Bytes)-b.head)&3 != 0 || b.head < 4 || b.minalign < 4 {
		b.Prep(4, 0)
	}
	b.place32(x)
}

func (b *Builder) put64(x uint64) {
	if (len(b.Bytes)-b.head)&7 != 0 || b.head < 8 || b.minalign < 8 {
		b.Prep(8, 0)
	}
	b.place64(x)
}

func (b *Builder) slot8(o int, x uint8) {
	b.put8(x)
	b.vtable[o] = b.Offset()
}

func (b *Builder) slot16(o int, x uint16) {
	b.put16(x)
	b.vtable[o] = b.Offset()
}

func (b *Builder) slot32(o int, x uint32) {
	b.put32(x)
	b.vtable[o] = b.Offset()
}

func (b *Builder) slot64(o int, x uint64) {
	b.put64(x)
	b.vtable[o] = b.Offset()
}

// PrependUOffsetT writes a reference to what has the offset off.
func (b *Builder) PrependUOffsetT(off UOffsetT) {
	b.Prep(SizeUOffsetT, 0)
	if off > b.Offset() {
		panic("flatbuf: an offset to what is not yet written")
	}
	b.place32(uint32(b.Offset() - off + SizeUOffsetT))
}

// PrependUOffsetT64 is PrependUOffsetT for a reference of 64 bits.
func (b *Builder) PrependUOffsetT64(off UOffsetT) {
	b.Prep(8, 0)
	if off > b.Offset() {
		panic("flatbuf: an offset to what is not yet written")
	}
	b.place64(uint64(b.Offset() - off + 8))
}

// PrependSOffsetT writes a reference to what has the offset off, which may be
// behind.
func (b *Builder) PrependSOffsetT(off SOffsetT) {
	b.Prep(SizeSOffsetT, 0)
	if UOffsetT(off) > b.Offset() {
		panic("flatbuf: an offset to what is not yet written")
	}
	b.place32(uint32(SOffsetT(b.Offset()) - off + SizeSOffsetT))
}

// PrependUOffsetTSlot writes the reference of field o unless x is d.
func (b *Builder) PrependUOffsetTSlot(o int, x, d UOffsetT) {
	if x != d {
		b.PrependUOffsetT(x)
		b.Slot(o)
	}
}

// PrependUOffsetT64Slot is PrependUOffsetTSlot for a reference of 64 bits.
func (b *Builder) PrependUOffsetT64Slot(o int, x, d UOffsetT) {
	if x != d {
		b.PrependUOffsetT64(x)
		b.Slot(o)
	}
}

// PrependStructSlot notes that field o is the struct that was written last, at
// the offset x, unless x is d.
func (b *Builder) PrependStructSlot(o int, x, d UOffsetT) {
	if x == d {
		return
	}
	b.assertNested()
	if x != b.Offset() {
		panic("flatbuf: a struct is written right before its field is set")
	}
	b.Slot(o)
}

// Slot notes that field o of the table at hand was written last.
func (b *Builder) Slot(o int) { b.vtable[o] = b.Offset() }

// Finish ends the message, whose root is the table with that offset.
func (b *Builder) Finish(rootTable UOffsetT) { b.finish(rootTable, nil, 0) }

// FinishWithFileIdentifier is Finish with a file identifier of four bytes.
func (b *Builder) FinishWithFileIdentifier(rootTable UOffsetT, fid []byte) {
	b.finish(rootTable, identifier(fid), 0)
}

// FinishSizePrefixed is Finish with the size of the message before it.
func (b *Builder) FinishSizePrefixed(rootTable UOffsetT) {
	b.finish(rootTable, nil, sizePrefixLength)
}

// FinishSizePrefixedWithFileIdentifier is Finish with both.
func (b *Builder) FinishSizePrefixedWithFileIdentifier(rootTable UOffsetT, fid []byte) {
	b.finish(rootTable, identifier(fid), sizePrefixLength)
}

// FinishSizePrefixed64 is FinishSizePrefixed with a size of 64 bits, which C++ writes where a schema
// has offsets of 64 bits.
func (b *Builder) FinishSizePrefixed64(rootTable UOffsetT) {
	b.finish(rootTable, nil, flatwire.SizePrefix64)
}

// FinishSizePrefixed64WithFileIdentifier is FinishSizePrefixed64 with a file identifier of four bytes.
func (b *Builder) FinishSizePrefixed64WithFileIdentifier(rootTable UOffsetT, fid []byte) {
	b.finish(rootTable, identifier(fid), flatwire.SizePrefix64)
}

func identifier(fid []byte) []byte {
	if len(fid) != fileIdentifierLength {
		panic("flatbuf: a file identifier has four bytes")
	}
	return fid
}

// finish ends the message, with its size in prefix bytes before it.
func (b *Builder) finish(root UOffsetT, fid []byte, prefix int) {
	b.assertNotNested()
	extra := SizeUOffsetT + len(fid) + prefix
	align := max(b.minalign, SizeUOffsetT, prefix)
	if pad := -(len(b.Bytes) - b.head + extra) & (align - 1); b.head < pad+extra {
		b.Prep(align, extra)
	} else if pad > 0 {
		b.Pad(pad)
	}
	if root > b.Offset() {
		panic("flatbuf: an offset to what is not yet written")
	}
	if len(fid) > 0 {
		b.head -= len(fid)
		copy(b.Bytes[b.head:], fid)
	}
	b.place32(uint32(b.Offset() - root + SizeUOffsetT))
	switch prefix {
	case sizePrefixLength:
		b.place32(uint32(b.Offset()))
	case flatwire.SizePrefix64:
		b.PlaceUint64(uint64(b.Offset()))
	}
	b.finished = true
	b.want = max(b.want, int(b.Offset()))
}

func (b *Builder) assertNested() {
	if !b.nested {
		panic("flatbuf: not inside a table or vector")
	}
}

func (b *Builder) assertNotNested() {
	if b.nested {
		panic("flatbuf: tables, vectors and strings are written before the table that holds them is started")
	}
}
