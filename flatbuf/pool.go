package flatbuf

import (
	"sync"
	"sync/atomic"
)

// Pool keeps Builders for the messages of one kind, and learns how large these
// are. The zero value is ready. It is safe for concurrent use.
type Pool struct {
	// InitialSize is the size in bytes of the memory that the first builders start with; 0
	// lets the pool learn it from the first messages.
	InitialSize int
	// MaxSize is the size in bytes beyond which a builder's memory is not kept; 0 means
	// DefaultMaxSize.
	MaxSize int

	builders sync.Pool
	learned  atomic.Int64 // bytes of the larger ones of recent messages
}

// DefaultMaxSize is the memory in bytes that a pooled builder keeps at most
// unless Pool.MaxSize says otherwise.
const DefaultMaxSize = 1 << 20

// Get returns an empty Builder, one that was Put if there is one.
func (p *Pool) Get() *Builder {
	if b, _ := p.builders.Get().(*Builder); b != nil {
		b.home = p
		return b
	}
	return &Builder{want: max(p.InitialSize, int(p.learned.Load())), home: p}
}

// Release puts the builder back into the pool that it came from by Get, once.
// It does nothing for another builder, which is left to the garbage collector. Who is handed a
// builder with a message calls it when the message has been sent.
func (b *Builder) Release() {
	if b != nil && b.home != nil {
		b.home.Put(b)
	}
}

// Put takes a Builder back. Nothing that it returned may be used any more,
// except for what Detach did: a transport that sends FinishedBytes puts the
// builder back when they are sent.
func (p *Pool) Put(b *Builder) {
	if b == nil {
		return
	}
	b.home = nil
	limit := p.MaxSize
	if limit <= 0 {
		limit = DefaultMaxSize
	}
	if b.finished || b.want > 0 {
		p.learn(int64(max(int(b.Offset()), b.want)))
	}
	if cap(b.Bytes) > limit {
		b.Bytes = nil
	}
	b.want = max(p.InitialSize, int(min(p.learned.Load(), int64(limit))))
	b.Reset()
	p.builders.Put(b)
}

// learn follows large messages at once and small ones slowly.
func (p *Pool) learn(n int64) {
	old := p.learned.Load()
	switch {
	case n > old:
		p.learned.CompareAndSwap(old, n) // who loses the race has learnt as much
	case n < old:
		p.learned.CompareAndSwap(old, old-(old-n+15)/16)
	}
}
