package rpc

import (
	"errors"
	"time"
)

// This file holds how the stack of an idle connection becomes small. A turn makes it
// grow to 4 KiB or more, and the runtime never makes one that small smaller. So when there has
// been no call for a while, a goroutine with a fresh stack, of 2 KiB, goes on waiting.

// restInterval is how often connections are looked at that have had calls: those rest that
// have had none since the last time.
const restInterval = 2 * time.Second

// errRest ends a loop whose connection another goroutine goes on reading.
var errRest = errors.New("the connection rests")

// rest makes the loop of a connection that is idle go on with a fresh stack, and reports whether
// to look at it again.
func (c *serverConn) rest(int64) (again bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.finished || c.dead || c.handed || c.readDone:
		return false
	case c.turns != c.rested || c.inTurn || c.holding || !c.answeredAll():
		c.rested = c.turns
		return true
	}
	c.restless, c.resting = false, true
	c.wake()
	return false
}

// stir has the connection looked at, now that it has calls. c.mu is held, by the loop.
func (c *serverConn) stir() {
	if !c.restless && c.sock != nil && c.sock.raw != nil { // in TLS even waiting takes more stack
		c.restless = true
		c.srv.rests.add(c)
	}
}
