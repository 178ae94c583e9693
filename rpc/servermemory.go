package rpc

import (
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds how reading stops while a connection, or all of them
// together, hold as much memory as they may.
//
// What is short of memory must not stop what needs little, nor wait for ever
// for others that wait too. So a connection with nothing in flight may always
// take a small call; and one connection at a time, the favoured one, may read
// and run a large call whatever the others hold.

// smallCall is the size in bytes of a call that is taken in any case.
const smallCall = 64 << 10

// memoryPause is how long a loop waits before it looks again whether other
// connections have given memory back.
const memoryPause = 2 * time.Millisecond

// full tells whether the connection holds as much as it may. c.mu is held.
func (c *serverConn) full(size int) bool {
	if c.dead || c.finished {
		return false
	}
	limit := c.srv.opt.maxFrame + framed.HeaderSize
	return c.inFlight > 0 && (c.inFlight >= c.srv.opt.maxPerConn || c.bytes+size > limit) || c.clogged.Load()
}

// starved tells whether all connections together hold as much as they may,
// and this one is not to have more. c.mu is held.
func (c *serverConn) starved(size int) bool {
	if !c.srv.outOfMemory(size) || c.dead || c.finished || c.inFlight == 0 && size <= smallCall {
		return false
	}
	return !c.srv.favour(c)
}

// outOfMemory tells whether size bytes more are too many. What exceeds the
// limit alone is not.
func (s *Server) outOfMemory(size int) bool {
	held := s.memory.Load()
	return held > 0 && held+int64(size) > s.opt.maxMemory
}

// favour reports whether c is the favoured connection, and makes it that if
// there is none. It stays it until a call of it has left or it ends.
func (s *Server) favour(c *serverConn) bool {
	return s.favoured.CompareAndSwap(nil, c) || s.favoured.Load() == c
}

// cede lets another connection be the favoured one, when c has taken a message that is no call. While it has calls, it
// does when one of these leaves.
func (c *serverConn) cede() {
	if c.srv.favoured.Load() == c && c.isIdle() {
		c.unfavour()
	}
}

// unfavour lets another connection be the favoured one.
func (c *serverConn) unfavour() {
	if c.srv.favoured.Load() == c { // or all loops would write to it
		c.srv.favoured.CompareAndSwap(c, nil)
	}
}

// awaitRoom ends the turn, waits until there is room for a call, and begins another turn.
func (c *serverConn) awaitRoom(size int) {
	c.mu.Lock()
	c.holding = true // it is answered even if the server stops meanwhile
	c.mu.Unlock()
	c.srv.counts.paused.Add(1)
	c.endTurn()
	c.mu.Lock()
	for c.full(size) {
		c.room.Wait()
	}
	for c.starved(size - c.partial) {
		c.mu.Unlock()
		time.Sleep(memoryPause)
		c.mu.Lock()
	}
	c.mu.Unlock()
	c.beginTurn()
	c.mu.Lock()
	c.holding = false
	c.mu.Unlock()
}

// count adds to the memory of all connections. What a turn takes and gives back
// again need not be seen by others, so sums are kept for a while, of up to
// smallCall. c.mu is held.
func (c *serverConn) count(n int) {
	c.uncounted += n
	if c.uncounted > smallCall || c.uncounted < -smallCall {
		c.srv.memory.Add(int64(c.uncounted))
		c.uncounted = 0
	}
}

// settle counts what count has kept, unless the turn goes on. c.mu is held.
func (c *serverConn) settle() {
	if c.uncounted != 0 && !c.inTurn {
		c.srv.memory.Add(int64(c.uncounted))
		c.uncounted = 0
	}
}

// compressed reports whether a frame of THeader is, or might be: a byte with
// the protocol stands before the number of its transforms.
func compressed(frame []byte) bool {
	const at = transport.PrefixSize
	return len(frame) > at+1 && (frame[at] >= 0x80 || frame[at+1] != 0)
}

// beginUnpacking waits until a compressed call of n bytes may be decompressed:
// few at a time, so that the memory of each counts when the next asks for some.
// Where memory is short, what turns out to be a small call need not wait.
func (c *serverConn) beginUnpacking(frame []byte, n int) {
	for tried, small := false, false; ; {
		c.srv.unpacking <- struct{}{}
		if !c.srv.outOfMemory(n) || c.isOver() {
			return
		}
		first := !tried
		if first {
			tried, small = true, c.isSmall(frame)
		}
		if small && c.isIdle() || c.srv.favour(c) {
			return
		}
		if first {
			c.srv.counts.paused.Add(1)
		}
		<-c.srv.unpacking
		c.endTurn()
		time.Sleep(memoryPause)
		c.beginTurn()
	}
}

// isSmall reports whether a compressed call is small when it is decompressed.
func (c *serverConn) isSmall(frame []byte) bool {
	switch c.form.dialect {
	case transport.TRPC:
		return c.isSmallTRPC(frame)
	case transport.GRPC:
		_, err := c.srv.compressor.Decompress(nil, frame, trpc.Gzip, smallCall)
		return err == nil
	}
	var h header.Frame
	if h.Parse(frame) != nil {
		return true // and will be refused
	}
	_, err := c.srv.transformer.Undo(nil, &h, smallCall)
	return err == nil
}

// isIdle reports whether the connection has no call in flight.
func (c *serverConn) isIdle() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.inFlight == 0
}

// endUnpacking counts a call that has been decompressed to size bytes, before
// there is room for it.
func (c *serverConn) endUnpacking(size int) {
	c.srv.memory.Add(int64(size - c.partial))
	c.partial = size
	<-c.srv.unpacking
}

// isOver reports whether the connection takes no more calls.
func (c *serverConn) isOver() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.dead || c.finished
}

// awaitMemory waits until there is memory for the rest of a message of want
// bytes, but not longer than the message may take to arrive.
func (c *serverConn) awaitMemory(want int) {
	if want <= smallCall {
		return
	}
	start := c.srv.clock()
	for waits := false; c.srv.outOfMemory(want-c.partial) && !c.srv.favour(c); waits = true {
		if !waits {
			c.srv.counts.paused.Add(1)
		}
		if d := c.srv.opt.readTimeout; d > 0 && time.Duration(c.srv.clock()-start) > d {
			return // to be told by the read
		}
		if c.isOver() || c.streams != nil && c.streams.Err() != nil {
			return
		}
		time.Sleep(memoryPause)
	}
}

// countPartial counts what has arrived of a large message as memory in use.
func (c *serverConn) countPartial() {
	n := len(c.sock.in.Bytes())
	if n <= smallCall {
		n = 0
	}
	if n != c.partial { // or every read would write to what all loops share
		c.srv.memory.Add(int64(n - c.partial))
		c.partial = n
	}
}

// countArrived is countPartial for a message over gRPC of which n bytes have
// arrived, or says that there is no memory for it.
func (c *serverConn) countArrived(n int) error {
	if n <= smallCall {
		return nil
	}
	if c.srv.outOfMemory(n - c.partial) {
		return &StatusError{Code: trpc.ServerLimited, Message: "the server holds too many messages"}
	}
	c.srv.memory.Add(int64(n - c.partial))
	c.partial = n
	return nil
}

// uncountPartial ends that, when the message is complete or never will be.
func (c *serverConn) uncountPartial() {
	if c.partial > 0 {
		c.srv.memory.Add(-int64(c.partial))
		c.partial = 0
	}
}
