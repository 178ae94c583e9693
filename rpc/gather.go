package rpc

import (
	"fmt"
	"net"
	"runtime"
	"sync"
	"time"
)

// This file holds how a connection of net/http's HTTP/2 meets the network. net/http writes the parts of a message one by
// one, and its server reads the head and the body of each frame by itself; with short calls these system calls are most of
// what a call costs. So what is written leaves together with what follows at once, and one read takes all that has arrived.

const (
	// gatherLimit is how many bytes may wait to leave. Who writes more waits for the peer, as on any connection.
	gatherLimit = 32 << 10
	// gatheredPiece is the size in bytes from which on a piece is not copied, but written by whoever brings it.
	gatheredPiece = 16 << 10
	// closeTime is how long what is queued may hold up Close, if the system has taken all that was written before.
	closeTime = time.Second
)

// gatheredConn is a net.Conn that writes short pieces in the background: Write returns when they are queued, and an error that
// they meet is that of a later Write, and of Read. Close sends what is queued, unless the peer does not read.
//
// Invariants: while writing is set a goroutine runs that writes until nothing is queued; who has set busy is the only one
// inside Write of the connection below.
type gatheredConn struct {
	net.Conn
	sock     *socket // of who reads
	buffers  *bufferPool
	patience time.Duration // that the peer may take until it has read something; 0 for any time

	mu      sync.Mutex
	changed sync.Cond // signalled when bytes have left, or cannot
	queue   *buffer   // nil if nothing is queued
	writing bool
	busy    bool
	closed  bool
	err     error     // why nothing can be written any more
	bye     *farewell // of a server; else nil
}

// newGatheredConn returns a connection that goes on where sock has read.
func newGatheredConn(sock *socket, buffers *bufferPool, patience time.Duration) *gatheredConn {
	g := &gatheredConn{Conn: sock.nc, sock: sock, buffers: buffers, patience: patience}
	g.changed.L = &g.mu
	return g
}

// gather returns a client's connection with its reads and writes gathered.
func (c *clientCore) gather(nc net.Conn) *gatheredConn {
	return newGatheredConn(newSocket(nc, &c.blocks), &c.buffers, 0)
}

// Read returns what has arrived. While it waits a plain socket holds no memory.
func (g *gatheredConn) Read(b []byte) (int, error) {
	in := g.sock.in
	if len(b) > 0 && len(in.Bytes()) == 0 {
		if err := g.sock.fill(0); err != nil {
			in.Yield()
			return 0, g.reason(err)
		}
	}
	n := copy(b, in.Bytes())
	if n > 0 {
		in.Take(n)
		in.Return(1)
	}
	return n, nil
}

// reason returns why nothing can be read: err, or what has failed before, of which net/http is to hear as of a connection
// that it has closed itself.
func (g *gatheredConn) reason(err error) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.err != nil && !g.closed {
		return fmt.Errorf("%w: %w", net.ErrClosed, g.err)
	}
	return err
}

// Write queues b, which leaves soon, or writes it if it is long.
func (g *gatheredConn) Write(b []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	long := len(b) >= gatheredPiece
	if long {
		g.drain()
	}
	for g.over() == nil && g.queue != nil && len(g.queue.b)+len(b) > gatherLimit {
		g.changed.Wait()
	}
	if err := g.over(); err != nil {
		return 0, err
	}
	if g.bye != nil {
		g.bye.follow(b)
		defer g.sayBye()
	}
	if long {
		return g.send(b)
	}
	g.enqueue(b)
	return len(b), nil
}

// enqueue queues b. g.mu is held.
func (g *gatheredConn) enqueue(b []byte) {
	if g.queue == nil {
		g.queue = g.buffers.get()
	}
	g.queue.b = append(g.queue.b, b...)
	if !g.writing {
		g.writing = true
		go g.writeQueued()
	}
}

// over returns why nothing more may be written, nil if it may. g.mu is held.
func (g *gatheredConn) over() error {
	if g.err == nil && g.closed {
		return net.ErrClosed
	}
	return g.err
}

// writeQueued writes what is queued, until nothing is.
func (g *gatheredConn) writeQueued() {
	runtime.Gosched() // who is about to write joins
	g.mu.Lock()
	defer g.mu.Unlock()
	g.drain()
	g.writing = false
}

// drain writes until nothing is queued and nobody writes. g.mu is held, and let go meanwhile.
func (g *gatheredConn) drain() {
	for g.err == nil && (g.busy || g.queue != nil) {
		if g.busy {
			g.changed.Wait()
			continue
		}
		taken := g.queue
		g.queue = nil
		g.send(taken.b)
		g.buffers.put(taken)
	}
}

// send writes b, for which the peer gets more time whenever it has read something. Nobody is busy; g.mu is held, and let
// go meanwhile.
func (g *gatheredConn) send(b []byte) (n int, err error) {
	g.busy = true
	for more := true; more; {
		switch {
		case g.closed:
			g.Conn.SetWriteDeadline(time.Now().Add(closeTime))
		case g.patience > 0:
			g.Conn.SetWriteDeadline(time.Now().Add(g.patience))
		}
		g.mu.Unlock()
		var k int
		k, err = g.Conn.Write(b[n:])
		g.mu.Lock()
		n += k
		more = err != nil && k > 0 && g.patience > 0 && !g.closed && isTimeout(err)
	}
	g.busy = false
	g.changed.Broadcast()
	if err != nil && g.err == nil {
		g.err = err
		if !g.closed {
			g.sock.close() // or nobody who only reads would hear of it
		}
	}
	return n, err
}

// SetWriteDeadline does nothing where the connection has time limits of its own, which net/http would set for
// every Write again.
func (g *gatheredConn) SetWriteDeadline(t time.Time) error {
	if g.patience > 0 {
		return nil
	}
	return g.Conn.SetWriteDeadline(t)
}

// Close sends what is queued, unless the peer does not read, and closes the connection.
func (g *gatheredConn) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return net.ErrClosed
	}
	g.closed = true
	if g.err == nil && (g.busy || g.queue != nil) {
		if g.busy {
			g.Conn.SetWriteDeadline(time.Unix(1, 0)) // ends a Write that waits for the peer
		}
		giveUp := time.AfterFunc(2*closeTime, g.sock.close) // one that heeds no deadline
		g.drain()
		giveUp.Stop()
	}
	failed := g.err != nil
	if !failed {
		g.err = net.ErrClosed
	}
	g.changed.Broadcast()
	g.mu.Unlock()
	if failed {
		g.sock.close() // TLS would wait to say so
		return nil
	}
	return g.Conn.Close()
}
