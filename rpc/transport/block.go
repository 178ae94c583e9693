package transport

import (
	"io"
	"sync"
	"sync/atomic"
)

// This file holds reading in blocks: one read fills a block with as many
// messages as have arrived, messages are views of the block, and the block
// goes back to its pool when the last of them has been released.

// BlockSize is the size of a pooled block in bytes. A larger message gets a
// block of its own, which grows as the message arrives.
const BlockSize = 8 << 10

// Pool holds blocks that are not in use. The zero value is ready; it is safe
// for concurrent use.
type Pool struct{ blocks sync.Pool }

// Block is a piece of a stream with a count of its users. Bytes that have
// been read into it never change while it has a user.
type Block struct {
	buf  []byte
	refs atomic.Int32
	pool *Pool
}

func (p *Pool) get(size int) *Block {
	if size <= BlockSize {
		if b, _ := p.blocks.Get().(*Block); b != nil {
			b.refs.Store(1)
			return b
		}
		size = BlockSize
	}
	b := &Block{buf: make([]byte, size), pool: p}
	b.refs.Store(1)
	return b
}

// Release ends the use of a block that Take returned: views of it must not be
// read afterwards. Each Take needs one Release.
func (b *Block) Release() {
	if b.refs.Add(-1) == 0 && len(b.buf) == BlockSize {
		b.pool.blocks.Put(b)
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
}

// NewReader returns a Reader of src that takes its blocks from pool.
func NewReader(src io.Reader, pool *Pool) *Reader {
	return &Reader{src: src, pool: pool}
}

// Bytes returns what has been read and not been taken. It is valid until the
// next call of Fill.
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
	r.block.refs.Add(1)
	return view, r.block
}

// Fill reads from the stream once. want is the number of bytes that Bytes
// should have for the message at its front, as far as is known; it only
// bounds how much memory is reserved, at most twice what has arrived or one block.
func (r *Reader) Fill(want int) error {
	r.makeRoom(want)
	n, err := r.src.Read(r.block.buf[r.end:])
	r.end += n
	if n > 0 {
		return nil // the next call meets the error again
	}
	if err == nil {
		return io.ErrNoProgress
	}
	return err
}

// makeRoom sees to it that there is room behind end.
func (r *Reader) makeRoom(want int) {
	have := r.end - r.start
	switch {
	case r.block == nil:
		r.block = r.pool.get(BlockSize)
		r.start, r.end = 0, 0
		return
	case r.block.refs.Load() == 1 && have == 0 && len(r.block.buf) == BlockSize:
		r.start, r.end = 0, 0 // nobody else uses the block: start over
		return
	case have == 0 && (len(r.block.buf) > BlockSize || len(r.block.buf)-r.end < BlockSize/4):
		// The block was made for one large message, or is nearly used up.
	case r.end < len(r.block.buf):
		return
	}
	next := r.pool.get(blockFor(have, want))
	copy(next.buf, r.block.buf[r.start:r.end])
	r.block.Release()
	r.block, r.start, r.end = next, 0, have
}

// blockFor returns the size of the block that continues a full one, of which
// have bytes belong to a message of at least want. It grows by a quarter at
// least, so that copying stays linear even if want is only just ahead.
func blockFor(have, want int) int {
	size := max(2*have, BlockSize)
	if want < size && want-have >= have/4 {
		return max(want, have+1)
	}
	return size
}

// Close gives the Reader's block back. Views stay valid until they are released.
func (r *Reader) Close() {
	if r.block != nil {
		r.block.Release()
		r.block, r.start, r.end = nil, 0, 0
	}
}
