package transport

import (
	"io"
	"math/bits"
	"sync"
	"sync/atomic"
)

// This file holds reading in blocks: one read fills a block with as many
// messages as have arrived, messages are views of the block, and the block
// goes back to its pool when the last of them has been released.

// BlockSize is the size in bytes of the block that a stream starts with.
// WideBlock is the size that it reads into once it has filled one in a single read. A larger
// message gets a block of its own, which grows as the message arrives.
const (
	BlockSize = 8 << 10
	WideBlock = 64 << 10
)

// largestKept is the size in bytes of the largest block that is kept in a
// pool, until the garbage collector empties it.
const largestKept = 32 << 20

// Pool holds blocks that are not in use, by their size. The zero value is
// ready; it is safe for concurrent use.
type Pool struct{ blocks [classes]sync.Pool }

// classes are the sizes of blocks: four for each power of two from BlockSize
// to largestKept, so that a block is at most a quarter larger than it needs to be.
const classes = 4*12 + 1

// classOf returns the smallest class of blocks of at least size bytes, and
// its size. A class of -1 is not kept.
func classOf(size int) (class, rounded int) {
	if size <= BlockSize {
		return 0, BlockSize
	}
	if size > largestKept {
		return -1, size
	}
	step := 1 << (bits.Len(uint(size-1)) - 3) // a quarter of the power of two below
	rounded = (size + step - 1) &^ (step - 1)
	low := bits.Len(uint(rounded-1)) - 1 // rounded is in (1<<low, 2<<low]
	return 4*(low-13) + (rounded-1<<low)/step, rounded
}

// Block is a piece of a stream with a count of its users. Bytes that have
// been read into it never change while it has a user.
type Block struct {
	buf  []byte
	refs atomic.Int32
	pool *Pool
}

// get returns a block of at least size bytes.
func (p *Pool) get(size int) *Block {
	class, rounded := classOf(size)
	if b := p.kept(class); b != nil {
		return b
	}
	b := &Block{buf: make([]byte, rounded), pool: p}
	b.refs.Store(1)
	return b
}

// kept returns a block of a class if the pool has one, else nil.
func (p *Pool) kept(class int) *Block {
	if class < 0 {
		return nil
	}
	b, _ := p.blocks[class].Get().(*Block)
	if b != nil {
		b.refs.Store(1)
	}
	return b
}

// Copy returns a copy of b that is a view of a block of its own, which needs one Release.
func (p *Pool) Copy(b []byte) ([]byte, *Block) {
	block := p.get(len(b))
	n := copy(block.buf, b)
	return block.buf[:n:n], block
}

// Retain adds a use of the block, which needs a Release of its own.
func (b *Block) Retain() { b.refs.Add(1) }

// Release ends the use of a block that Take returned: views of it must not be
// read afterwards. Each Take needs one Release.
func (b *Block) Release() { b.release(1) }

func (b *Block) release(uses int32) {
	if b.refs.Add(-uses) > 0 {
		return
	}
	if class, rounded := classOf(len(b.buf)); class >= 0 && rounded == len(b.buf) {
		b.pool.blocks[class].Put(b)
	}
}

// Reader reads a stream in blocks. It is not safe for concurrent use, but the
// views that it hands out are, until they are released.
//
// Invariant: block.buf[start:end] is what has been read and not been taken;
// block.buf[:start] may be in use by views; block.buf[end:] is free.
type Reader struct {
	src        io.Reader
	pool       *Pool
	block      *Block
	start, end int
	spare      int32 // uses of block that were given back, and that Take hands out again
	wide       bool  // the last read filled its block: the next one may be larger
}

// NewReader returns a Reader of src that takes its blocks from pool. src may
// be nil if Fill is not called.
func NewReader(src io.Reader, pool *Pool) *Reader {
	return &Reader{src: src, pool: pool}
}

// Bytes returns what has been read and not been taken. It is valid until the
// next call of Fill or Room.
func (r *Reader) Bytes() []byte {
	if r.block == nil {
		return nil
	}
	return r.block.buf[r.start:r.end:r.end]
}

// Take takes n of the bytes that Bytes returns. They stay as they are until
// the returned block is released.
func (r *Reader) Take(n int) ([]byte, *Block) {
	view := r.block.buf[r.start : r.start+n : r.start+n]
	r.start += n
	if r.spare > 0 {
		r.spare--
	} else {
		r.block.refs.Add(1)
	}
	return view, r.block
}

// Block returns the block that Take takes from, nil for none.
func (r *Reader) Block() *Block { return r.block }

// Return is Release for n uses of the block that [Reader.Block] returns, and costs less:
// the next views are taken with them.
func (r *Reader) Return(n int) { r.spare += int32(n) }

// drop gives the Reader's own use of its block up, and those that were returned.
func (r *Reader) drop() {
	r.block.release(1 + r.spare)
	r.spare = 0
}

// Fill reads from the stream once. want is the number of bytes that Bytes
// should have for the message at its front, as far as is known; it only
// bounds how much memory is reserved: what the pool has at hand, else at most
// four times what has arrived or one block.
func (r *Reader) Fill(want int) error {
	n, err := r.src.Read(r.Room(want))
	r.Filled(n)
	if n > 0 {
		return nil // the next call meets the error again
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// Room returns free memory for whoever reads into it himself, as Fill does.
func (r *Reader) Room(want int) []byte {
	r.makeRoom(want)
	return r.block.buf[r.end:]
}

// Filled says that n bytes have been read into what Room returned.
func (r *Reader) Filled(n int) {
	r.end += n
	if n > 0 {
		r.wide = r.end == len(r.block.buf)
	}
}

// Yield gives the block back if nothing of it is left to take, so that a
// stream on which nothing happens holds no memory.
func (r *Reader) Yield() {
	if r.block != nil && r.start == r.end {
		r.Close()
	}
}

// makeRoom sees to it that there is room behind end.
func (r *Reader) makeRoom(want int) {
	have := r.end - r.start
	size := BlockSize
	if r.wide {
		size = WideBlock
	}
	switch {
	case r.block == nil:
		r.block = r.pool.get(size)
		r.start, r.end = 0, 0
		return
	case r.block.refs.Load() == 1+r.spare && have == 0 && len(r.block.buf) == size:
		r.start, r.end = 0, 0 // nobody else uses the block: start over
		return
	case have == 0 && (len(r.block.buf) > WideBlock || len(r.block.buf) < size || len(r.block.buf)-r.end < size/4):
		// The block was made for one large message, or is nearly used up.
	case r.end < len(r.block.buf) && (have == 0 || r.start+want <= len(r.block.buf)):
		return
	}
	next := r.whole(have, want)
	switch {
	case next == nil && r.end < len(r.block.buf):
		return
	case next == nil:
		next = r.pool.get(max(size, min(max(want, 2*have), 4*have)))
	}
	copy(next.buf, r.block.buf[r.start:r.end])
	r.drop()
	r.block, r.start, r.end = next, 0, have
}

// whole returns a block for a message of want bytes of which have bytes have
// arrived, unless that takes new memory for what is only claimed.
func (r *Reader) whole(have, want int) *Block {
	class, _ := classOf(want)
	switch {
	case want <= have || want <= BlockSize:
		return nil
	case want <= 4*have && want >= 2*have:
		return r.pool.get(want)
	}
	return r.pool.kept(class)
}

// Close gives the Reader's block back. Views stay valid until they are released.
func (r *Reader) Close() {
	if r.block != nil {
		r.drop()
		r.block, r.start, r.end = nil, 0, 0
	}
}
