package engine

import "github.com/thrum-rpc/thrum/internal/mem"

// This file holds arenas: memory of decoded values that is used again after Release.

// Arena keeps the memory of decoded values until Release, which makes it free
// for the next ones. It is for one goroutine at a time.
type Arena struct {
	Chunk mem.Chunk // strings, binaries and numbers
	parts map[Decoder]*Part
	all   []*Part // those in parts
	// The decoder that was asked for last and its part: most arenas serve one.
	latest     Decoder
	latestPart *Part
}

// NewArena returns an empty arena.
func NewArena() *Arena {
	return &Arena{Chunk: mem.Chunk{Keep: true}, parts: make(map[Decoder]*Part)}
}

// Part returns the arena's part for the types of a decoder with these slots.
func (a *Arena) Part(d Decoder, slots []Slot) *Part {
	if a.latest == d {
		return a.latestPart
	}
	p := a.parts[d]
	if p == nil {
		p = &Part{slots: slots, slabs: make([]slab, len(slots)), maps: make([]mapShelf, len(slots))}
		a.parts[d] = p
		a.all = append(a.all, p)
	}
	a.latest, a.latestPart = d, p
	return p
}

// Release takes back the memory of all values that were decoded into the
// arena, and clears what can hold pointers.
func (a *Arena) Release() {
	a.Chunk.Reset()
	for _, p := range a.all {
		p.release()
	}
}

// Part is an arena's memory for the types of one decoder.
type Part struct {
	// Run is the decoder's own part, as that of a State.
	Run      any
	slots    []Slot
	slabs    []slab // by slot
	maps     []mapShelf
	strings  shelf[string]
	pointers shelf[mem.Pointer]
}

// slab holds values of one slot's type in blocks.
type slab struct {
	blocks []block
	next   int // the block in use
}

type block struct {
	header     []byte // of the slice of values; it counts them, not bytes
	used, size int
}

// firstBlock is the number of values in a slab's first block.
const firstBlock = 8

// Values returns n zero values of the slot's type (its element, for slices) in a row.
func (p *Part) Values(slot int32, n int) mem.Pointer {
	s := &p.slabs[slot]
	for s.next < len(s.blocks) && s.blocks[s.next].size-s.blocks[s.next].used < n {
		s.next++
	}
	if s.next == len(s.blocks) {
		size := max(n, firstBlock<<min(len(s.blocks), 10))
		s.blocks = append(s.blocks, block{size: size})
		p.slots[slot].Slice(mem.Of(&s.blocks[s.next].header), size)
	}
	b := &s.blocks[s.next]
	v := mem.Add(mem.Data(b.header), uintptr(b.used)*p.slots[slot].Size)
	b.used += n
	return v
}

// Strings returns n empty strings.
func (p *Part) Strings(n int) []string { return p.strings.take(n) }

// Pointers returns n nil pointers.
func (p *Part) Pointers(n int) []mem.Pointer { return p.pointers.take(n) }

// Map returns an empty map of the slot's type that an earlier value used, or nil.
func (p *Part) Map(slot int32) mem.Pointer {
	s := &p.maps[slot]
	if s.used == len(s.maps) {
		return nil
	}
	s.used++
	return s.maps[s.used-1]
}

// Shelve keeps a map of the slot's type that was made for the value at hand. Release
// empties it by empty.
func (p *Part) Shelve(slot int32, m mem.Pointer, empty func(mem.Pointer)) {
	s := &p.maps[slot]
	s.empty = empty
	s.maps = append(s.maps, m)
	s.used = len(s.maps)
}

// mapShelf holds the maps of one slot's type; the first used ones are in use.
type mapShelf struct {
	maps  []mem.Pointer
	used  int
	empty func(mem.Pointer)
}

func (p *Part) release() {
	for i := range p.slabs {
		s := &p.slabs[i]
		for k := range s.blocks {
			if b := &s.blocks[k]; b.used > 0 {
				mem.SetSlice(mem.Of(&b.header), mem.Data(b.header), b.used)
				p.slots[i].Clear(mem.Of(&b.header))
				b.used = 0
			}
		}
		s.next = 0
	}
	for i := range p.maps {
		s := &p.maps[i]
		for _, m := range s.maps[:s.used] {
			s.empty(m)
		}
		s.used = 0
	}
	p.strings.release()
	p.pointers.release()
}

// shelf holds values of a Go type in blocks.
type shelf[T any] struct {
	blocks [][]T
	next   int // the block in use
	used   int // of it
}

// take returns n zero values whose capacity is n.
func (s *shelf[T]) take(n int) []T {
	for s.next < len(s.blocks) && len(s.blocks[s.next])-s.used < n {
		s.next, s.used = s.next+1, 0
	}
	if s.next == len(s.blocks) {
		s.blocks = append(s.blocks, make([]T, max(n, 64<<min(len(s.blocks), 8))))
	}
	b := s.blocks[s.next][s.used : s.used+n : s.used+n]
	s.used += n
	return b
}

func (s *shelf[T]) release() {
	for i := 0; i <= s.next && i < len(s.blocks); i++ {
		clear(s.blocks[i])
	}
	s.next, s.used = 0, 0
}
