package mem

import "unsafe"

// Chunk hands out pointer-free memory from larger blocks, one piece after
// another, so that the small strings and number lists of many messages cost
// one allocation together. The zero value is ready; it is for one goroutine at
// a time. What has been handed out is never touched again (invariant 6), so a
// Chunk may outlive the message it served without carrying anything of it.
//
// A piece keeps its whole block alive.
type Chunk struct {
	free []byte
	// Size is the size of a block in bytes; 0 means DefaultChunk.
	Size int
}

// DefaultChunk is the size of a block in bytes unless told otherwise.
const DefaultChunk = 16 << 10

// Take returns n bytes whose capacity is n, aligned to align, a power of two
// up to 8. Pieces longer than a quarter of a block get memory of their own.
// The content is zero.
func (c *Chunk) Take(n, align int) []byte {
	pad := -int(uintptr(Pointer(unsafe.SliceData(c.free)))) & (align - 1)
	if pad+n <= len(c.free) {
		b := c.free[pad : pad+n : pad+n]
		c.free = c.free[pad+n:]
		return b
	}
	return c.refill(n)
}

func (c *Chunk) refill(n int) []byte {
	size := c.Size
	if size == 0 {
		size = DefaultChunk
	}
	if n > size/4 {
		return make([]byte, n)
	}
	block := make([]byte, size)
	c.free = block[n:]
	return block[:n:n]
}

// Copy returns a copy of b.
func (c *Chunk) Copy(b []byte) []byte {
	if n := len(b); n <= len(c.free) && n > 0 {
		s := c.free[:n:n]
		c.free = c.free[n:]
		copy(s, b)
		return s
	}
	return c.copySlow(b)
}

func (c *Chunk) copySlow(b []byte) []byte {
	if len(b) == 0 {
		return []byte{}
	}
	s := c.refill(len(b))
	copy(s, b)
	return s
}
