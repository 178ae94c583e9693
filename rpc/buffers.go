package rpc

import (
	"net"
	"sync"

	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the buffers that messages are encoded into, and the queue of
// what a connection is to write.

// keptBuffer is the largest capacity in bytes that goes back to the pool:
// one large message must not occupy memory for good.
const keptBuffer = 64 << 10

// buffer is memory for messages. It is passed by its address, so that giving
// it back takes no memory.
type buffer struct{ b []byte }

// bufferPool holds buffers that are not in use. The zero value is ready.
type bufferPool struct{ buffers sync.Pool }

// get returns an empty buffer.
func (p *bufferPool) get() *buffer {
	if b, ok := p.buffers.Get().(*buffer); ok {
		b.b = b.b[:0]
		return b
	}
	return &buffer{b: make([]byte, 0, 512)}
}

// put takes a buffer back that nobody uses any more; nil is no buffer.
func (p *bufferPool) put(b *buffer) {
	if b != nil && cap(b.b) <= keptBuffer {
		p.buffers.Put(b)
	}
}

// segment is a piece of what is to be written.
type segment struct {
	view  []byte
	buf   *buffer          // that goes back to the pool once everything is written; may be nil
	block *transport.Block // that is released then; may be nil
	owner Releaser         // likewise
}

// outQueue is what is to be written, in its order.
type outQueue struct {
	pool     *bufferPool
	segments []segment
	size     int  // bytes of segments
	open     bool // short messages may be joined to the last segment
}

// joinLimit is the size in bytes up to which messages are copied behind one
// another, because that is cheaper than a segment; and of what they become.
const (
	joinLimit   = 4 << 10
	joinedLimit = 64 << 10
)

// add queues a message, and takes its buffer.
func (q *outQueue) add(b *buffer) { q.pool.put(q.join(b)) }

// join is add that gives the buffer back if the message was copied, else nil.
func (q *outQueue) join(b *buffer) *buffer {
	q.size += len(b.b)
	if n := len(q.segments); q.open && n > 0 && len(b.b) <= joinLimit {
		last := &q.segments[n-1]
		if len(last.view)+len(b.b) <= joinedLimit {
			if need := len(last.view) + len(b.b); need > cap(last.buf.b) {
				// No larger than what goes back to the pool.
				last.buf.b = append(make([]byte, 0, min(4*need, joinedLimit)), last.buf.b...)
			}
			last.buf.b = append(last.buf.b, b.b...)
			last.view = last.buf.b
			return b
		}
	}
	q.segments = append(q.segments, segment{view: b.b, buf: b})
	q.open = len(b.b) <= joinLimit
	return nil
}

// addSegment queues bytes that must not change until they are written.
func (q *outQueue) addSegment(s segment) {
	q.size += len(s.view)
	q.segments = append(q.segments, s)
	q.open = false
}

// addReply queues a reply, whose cuts may be views of block. It gives the
// reply's buffer back if it is free again, else nil.
func (q *outQueue) addReply(r *reply, block *transport.Block) *buffer {
	if len(r.body.Body)+len(r.tail) > 0 {
		q.addMessage(r, block)
		return nil
	}
	if len(r.cuts) == 0 {
		return q.join(r.buf)
	}
	whole, at := r.buf.b, 0
	for _, c := range r.cuts {
		if c.Offset > at {
			q.addSegment(segment{view: whole[at:c.Offset]})
			at = c.Offset
		}
		block.Retain()
		q.addSegment(segment{view: c.Data, block: block})
	}
	q.addSegment(segment{view: whole[at:], buf: r.buf})
	return nil
}

// addMessage queues a reply whose body is sent from where it is, which may be block.
func (q *outQueue) addMessage(r *reply, block *transport.Block) {
	q.addSegment(segment{view: r.buf.b, buf: r.buf})
	block.Retain()
	q.addSegment(segment{view: r.body.Body, block: block, owner: r.body.Owner})
	if len(r.tail) > 0 {
		block.Retain()
		q.addSegment(segment{view: r.tail, block: block})
	}
}

// reuse takes a buffer that is free, for the next call of the turn; nil is none. c.mu is held.
func (c *serverConn) reuse(b *buffer) {
	if c.inTurn && c.freed == nil && b != nil && cap(b.b) <= keptBuffer {
		c.freed = b
	} else {
		c.srv.buffers.put(b)
	}
}

// release gives up what has been written, or never will be.
func (q *outQueue) release() {
	for i := range q.segments {
		s := &q.segments[i]
		q.pool.put(s.buf)
		if s.block != nil {
			s.block.Release()
		}
		if s.owner != nil {
			s.owner.Release()
		}
	}
	clear(q.segments)
	if cap(q.segments) > 64 { // one burst must not occupy memory for good
		q.segments = nil
	}
	q.segments, q.size, q.open = q.segments[:0], 0, false
}

// writeTo writes everything from the byte skip on, in one gathered write
// where the system has one.
func (q *outQueue) writeTo(nc net.Conn, skip int) error {
	if len(q.segments) == 1 {
		_, err := nc.Write(q.segments[0].view[skip:])
		return err
	}
	rest := make(net.Buffers, 0, len(q.segments))
	for i := range q.segments {
		b := q.segments[i].view
		n := min(skip, len(b))
		if skip -= n; n < len(b) {
			rest = append(rest, b[n:])
		}
	}
	_, err := rest.WriteTo(nc)
	return err
}
