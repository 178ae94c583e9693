package rpc

import (
	"fmt"
	"time"
)

// This file holds how a connection's loop reads, and how long it waits for what.

// fill reads once, with the deadline that fits what is being waited for.
func (c *serverConn) fill(want int) error {
	for {
		if c.awaitAnswers() {
			return errParting
		}
		partial := len(c.sock.in.Bytes()) > 0
		c.setReadDeadline(partial)
		err := c.sock.fill(want)
		if err == nil || !isTimeout(err) {
			return err
		}
		if more, err := c.timedOut(partial, want, err); more || err != nil {
			return err
		}
	}
}

// timedOut decides what follows from the deadline of a read, which has passed
// or was moved to wake the loop: an error, that a last look has brought more, or to go on waiting.
func (c *serverConn) timedOut(partial bool, want int, cause error) (more bool, err error) {
	c.mu.Lock()
	resting := c.resting
	c.woken, c.resting, c.stale = false, false, true
	c.mu.Unlock()
	if c.timed && !time.Now().Before(c.deadline) {
		if c.refuse {
			return false, fmt.Errorf("%w, and no call to answer", errRefused)
		}
		return false, fmt.Errorf("message incomplete after %v: %w", c.srv.opt.readTimeout, cause)
	}
	if c.until > 0 && c.srv.clock() >= c.until {
		c.mu.Lock()
		c.retire()
		c.mu.Unlock()
	}
	if c.mayEnd(partial) {
		if c.mayPart() {
			return false, errParting
		}
		return c.lastLook(want, errDrained) // at what the system has taken before the client could know
	}
	if limit := c.srv.opt.idleTimeout; limit > 0 && !partial {
		if quiet := c.quiet(); quiet >= limit {
			return c.lastLook(want, fmt.Errorf("%w for %v", errIdle, limit)) // as on a machine that was too busy to read
		}
	}
	if c.goesOn = resting && !partial; c.goesOn {
		return false, errRest
	}
	return false, nil
}

// lastLook reads what has come already; where nothing has, the connection ends for the cause.
func (c *serverConn) lastLook(want int, cause error) (more bool, err error) {
	if err := c.sock.fillNow(want); !isTimeout(err) {
		return err == nil, err
	}
	return false, cause
}

// noteServed notes when the last call or stream has ended: from then on the connection may be idle. What ends in
// its turn has arrived with it. c.mu is held.
func (c *serverConn) noteServed() {
	if c.srv.opt.idleTimeout > 0 && !c.inTurn && c.inFlight == 0 && c.handlers == 0 {
		c.servedAt = c.srv.clock()
	}
}

// quiet returns how long nothing has happened. A call in flight is something.
func (c *serverConn) quiet() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.inFlight > 0 || c.handlers > 0 {
		return 0
	}
	return time.Duration(c.srv.clock() - max(c.arrived, c.servedAt))
}

// setReadDeadline sets the deadline of the next read; partial says that a
// message has begun to arrive.
func (c *serverConn) setReadDeadline(partial bool) {
	var limit time.Duration
	switch {
	case c.timed && !c.stale: // the message keeps the deadline that it began with
		return
	case c.timed:
	case c.refuse:
		limit = refusalTime
	case partial:
		limit = c.srv.opt.readTimeout
	default:
		limit = c.waitTime()
		if c.goesOn && !c.deadline.IsZero() {
			limit = min(limit, max(time.Until(c.deadline), time.Millisecond))
		}
	}
	c.goesOn = false
	if limit <= 0 && !c.timed && !c.armed && !c.stale {
		return
	}
	if !c.timed {
		c.deadline = time.Time{}
		if limit > 0 {
			c.deadline = time.Now().Add(limit)
		}
		c.timed = limit > 0 && (c.refuse || partial)
	}
	c.armed = !c.deadline.IsZero()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.stale = false
	if !c.finished && !c.woken { // finish and wake have set deadlines of their own
		c.sock.nc.SetReadDeadline(c.deadline)
	}
}

// waitTime returns how long the loop waits for a message to begin; 0 for any time.
func (c *serverConn) waitTime() time.Duration {
	limit := c.srv.opt.idleTimeout
	atMost := func(d time.Duration) {
		if d = max(d, time.Millisecond); limit <= 0 || d < limit {
			limit = d
		}
	}
	if c.until > 0 {
		atMost(time.Duration(c.until - c.srv.clock()))
	}
	if c.leaving.Load() {
		atMost(c.srv.opt.quiet)
	}
	return limit
}

// discard reads until the client closes its side or the linger deadline passes.
func (c *serverConn) discard() {
	for c.sock.fill(0) == nil {
		_, block := c.sock.in.Take(len(c.sock.in.Bytes()))
		block.Release()
	}
}
