package rpc

import (
	"net"
	"sync"
)

// This file holds the buffers that messages are encoded into, and writing several at once.

// keptBuffer is the largest capacity in bytes that goes back to the pool:
// one large message must not occupy memory for good.
const keptBuffer = 64 << 10

// bufferPool holds buffers that are not in use. The zero value is ready.
type bufferPool struct{ buffers sync.Pool }

// get returns an empty buffer.
func (p *bufferPool) get() []byte {
	if b, ok := p.buffers.Get().(*[]byte); ok {
		return (*b)[:0]
	}
	return make([]byte, 0, 512)
}

// put takes a buffer back that nobody uses any more.
func (p *bufferPool) put(b []byte) {
	if cap(b) > 0 && cap(b) <= keptBuffer {
		p.buffers.Put(&b)
	}
}

// gatherLimit is the size in bytes up to which messages are joined to one
// buffer; beyond it they leave in a gathered write where the system has one.
const gatherLimit = 16 << 10

// writeAll writes messages with as few writes as it can.
func writeAll(nc net.Conn, messages net.Buffers, pool *bufferPool) error {
	total := 0
	for _, m := range messages {
		total += len(m)
	}
	if total > gatherLimit {
		_, err := messages.WriteTo(nc)
		return err
	}
	joined := pool.get()
	for _, m := range messages {
		joined = append(joined, m...)
	}
	_, err := nc.Write(joined)
	pool.put(joined)
	return err
}
