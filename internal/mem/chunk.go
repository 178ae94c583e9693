package mem

// Chunk hands out pointer-free memory from larger blocks, one piece after
// another, so that the small strings and number lists of many messages cost
// one allocation together. The zero value is ready; it is for one goroutine at
// a time. What has been handed out is not touched again before Reset (invariant 6), so a
// Chunk may outlive the message it served without carrying anything of it.
//
// A piece keeps its whole block alive.
type Chunk struct {
	// block[used:] is free. An offset, unlike a slice of what is free, moves
	// without a write barrier.
	block []byte
	used  int
	// Size is the size of a block in bytes; 0 means DefaultChunk.
	Size int
	// Keep remembers the blocks, so that Reset can hand them out again.
	Keep   bool
	blocks [][]byte
	next   int // the first block that is not in use
}

// DefaultChunk is the size of a block in bytes unless told otherwise.
const DefaultChunk = 16 << 10

// Take returns n zero bytes whose capacity is n, aligned to align, a power of two
// up to 8. Pieces longer than a quarter of a block get memory of their own,
// unless blocks are kept.
func (c *Chunk) Take(n, align int) []byte {
	start := (c.used + align - 1) &^ (align - 1) // blocks are aligned to more than 8
	if n > len(c.block)-start {
		return c.refill(n)
	}
	c.used = start + n
	b := c.block[start:c.used:c.used]
	if c.Keep {
		clear(b)
	}
	return b
}

func (c *Chunk) refill(n int) []byte {
	size := c.Size
	if size == 0 {
		size = DefaultChunk
	}
	if c.Keep {
		return c.reuse(n, size)
	}
	if n > size/4 {
		return make([]byte, n)
	}
	c.block, c.used = make([]byte, size), n
	return c.block[:n:n]
}

// reuse goes on in the next kept block that holds n bytes, or in a new one.
func (c *Chunk) reuse(n, size int) []byte {
	for c.next < len(c.blocks) && len(c.blocks[c.next]) < n {
		c.next++
	}
	if c.next == len(c.blocks) {
		c.blocks = append(c.blocks, make([]byte, max(n, size)))
	}
	c.block, c.used = c.blocks[c.next], n
	c.next++
	b := c.block[:n:n]
	clear(b)
	return b
}

// Reset takes all kept memory back: nothing that was handed out may be used
// any more.
func (c *Chunk) Reset() {
	c.used = 0
	if c.next != 1 { // else the first block is in use already
		c.block, c.next = nil, 0
		if len(c.blocks) > 0 {
			c.block, c.next = c.blocks[0], 1
		}
	}
}

// Copy returns a copy of b.
func (c *Chunk) Copy(b []byte) []byte {
	if end := c.used + len(b); end <= len(c.block) && len(b) > 0 {
		s := c.block[c.used:end:end]
		c.used = end
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
