package rpc

import (
	"context"
	"errors"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds how the server leaves its connections so that no call is
// lost: it tells the clients, serves them until they have gone or are quiet, and
// looks a last time whether something has arrived before it closes.

// errDrained ends the reading of a connection that the server leaves, and on
// which nothing happens any more.
var errDrained = errors.New("the server has left")

// Shutdown stops the server gracefully. It accepts no more connections than
// have been made, and tells the clients that it leaves, where their dialect has a way
// to say so: by "connection=goaway" in THeader, by "crrst" in TTHeader, by
// "Connection: close" or GOAWAY over HTTP. It goes on serving what they send
// until they have closed their connections or been quiet, as the option [Grace] says. Calls that arrive
// later are answered with InternalError, and each connection is closed when its last answer is out.
// When ctx ends first, Shutdown does what Close does and returns the error of ctx.
func (s *Server) Shutdown(ctx context.Context) error {
	conns, empty := s.stop(true)
	for _, c := range conns {
		c.drain()
	}
	quiet := min(s.opt.quiet, s.opt.grace)
	await(ctx, empty, quiet)
	web := make(chan error, 1)
	go func() { web <- s.http.Shutdown(ctx) }() // what is idle there has been quiet
	await(ctx, empty, s.opt.grace-quiet)
	s.closing.Store(true)
	for _, c := range s.open() {
		c.hurry()
	}
	if err := <-web; err != nil {
		s.Close()
		return err
	}
	select {
	case <-empty:
		return s.pool.Close(ctx)
	case <-ctx.Done():
		s.Close()
		return ctx.Err()
	}
}

// await waits for an event, but not longer than d or until ctx ends.
func await(ctx context.Context, event <-chan struct{}, d time.Duration) {
	if d <= 0 {
		return
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-event:
	case <-ctx.Done():
	case <-t.C:
	}
}

// lastAccept is how long a listener goes on after the server has begun to
// stop: connections that the system has made for it would be reset if it closed at once.
const lastAccept = 5 * time.Millisecond

// lastLooks is how often in a row a listener must have found nothing before it
// is closed. One look is not enough: on a busy machine its time may pass before the system has been
// asked. Clients that come again at once do not keep it open: after lastAccepts, lastConns are enough.
const (
	lastLooks   = 2
	lastAccepts = 20 * time.Millisecond
	lastConns   = 128
)

// limited is a listener whose Accept can be given a time.
type limited interface{ SetDeadline(time.Time) error }

// acceptLast accepts the connections that still wait at a listener of a server
// that stops. err is why Accept has failed.
func (s *Server) acceptLast(l net.Listener, err error) {
	timed, ok := l.(limited)
	if !ok || !isTimeout(err) {
		return
	}
	end := time.Now().Add(lastAccepts)
	for looks, n := 0, 0; looks < lastLooks && (n < lastConns || time.Now().Before(end)); {
		timed.SetDeadline(time.Now().Add(lastAccept))
		nc, err := l.Accept()
		switch {
		case err == nil:
			s.start(nc)
			looks = 0
			n++
		case isTimeout(err):
			looks++
		default:
			return
		}
	}
}

// stop ends the listeners, at once unless they may accept what waits for
// them, and returns the connections, and a channel that is closed when none is left.
func (s *Server) stop(gently bool) ([]*serverConn, <-chan struct{}) {
	s.mu.Lock()
	s.stopping.Store(true)
	for l := range s.listeners {
		if timed, ok := l.(limited); gently && ok {
			if timed.SetDeadline(time.Now().Add(lastAccept)) == nil {
				continue
			}
		}
		l.Close()
	}
	s.checkEmpty()
	s.mu.Unlock()
	return s.open(), s.empty
}

// open returns the open connections.
func (s *Server) open() []*serverConn {
	s.mu.Lock()
	defer s.mu.Unlock()
	conns := make([]*serverConn, 0, len(s.conns))
	for c := range s.conns {
		conns = append(conns, c)
	}
	return conns
}

// farewellTime is how long a client that can be told that the server leaves
// an old connection has to leave it first, so that no call of it is lost.
const farewellTime = time.Second

// retire makes the connection end for its age, when its calls have been
// answered, and those of the farewell. c.mu is held.
func (c *serverConn) retire() {
	c.until = 0
	if told := c.aged.Swap(true); c.form.hasHeaders() && !told {
		c.until = c.srv.clock() + int64(farewellTime)
		c.announce()
		return
	}
	c.srv.counts.aged.Add(1)
	c.draining = true
	c.finish()
}

// drain tells the client that the server stops, and makes the connection end
// when the client is quiet.
func (c *serverConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.streams != nil {
		go c.streams.Leave(c.srv.opt.quiet)
	}
	if c.handed { // answers over HTTP/1.1 say so
		if c.web != nil && c.web.http2 != nil {
			c.web.http2.leave()
		}
		return
	}
	c.told = c.srv.clock()
	c.leaving.Store(true) // which handOver heeds
	c.draining = c.draining || c.refuse
	// Replies in order wait for slow calls anyway. What takes others is not held up by them.
	c.parting = !c.outOfOrder
	c.announce()
	c.wake()
}

// hurry makes the connection end when its calls have been answered.
func (c *serverConn) hurry() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining, c.parting = true, true
	if c.movable() {
		c.wake()
	}
	c.finish()
	if c.streams != nil {
		go c.streams.Drain()
	}
}

// wake makes the loop look whether the connection is to end, if it waits for
// the client. c.mu is held.
func (c *serverConn) wake() {
	if c.handed || c.shaking || c.finished || c.dead {
		return
	}
	c.woken = true
	c.sock.nc.SetReadDeadline(time.Unix(1, 0))
}

// mayEnd reports whether the loop may end the connection: nothing is in
// flight, and the client is quiet or has had its time. partial says that a message has begun to arrive.
func (c *serverConn) mayEnd(partial bool) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.leaving.Load() && !partial && c.inFlight+c.handlers == 0 {
		since := max(c.arrived, c.told, c.wroteAt)
		c.draining = c.draining || time.Duration(c.srv.clock()-since) >= c.srv.opt.quiet
	}
	return c.draining && c.answeredAll() && (!partial || c.srv.closing.Load())
}

// answeredAll reports whether no call is in flight and no reply waits. c.mu is held.
func (c *serverConn) answeredAll() bool {
	return c.inFlight == 0 && c.handlers == 0 && c.out.size == 0 && !c.writing
}

// finish ends the connection if nothing is left to read or answer. If the
// server only wants it to end, its loop looks first whether more has arrived. c.mu is held.
func (c *serverConn) finish() {
	c.settle()
	if c.finished || c.handed || !c.answeredAll() {
		return
	}
	if !c.readDone {
		if c.parting {
			c.room.Broadcast()
		}
		if c.draining && !c.inTurn && !c.holding {
			c.wake()
		}
		return
	}
	c.finished = true
	c.room.Broadcast()
	if !c.gone.Load() && !c.mute && c.closeWrite() {
		c.sock.nc.SetReadDeadline(time.Now().Add(lingerTime))
	} else {
		c.gone.Store(true)
		c.sock.close()
	}
	c.end()
}

// announce tells a client that multiplexes TTHeader that the server is
// stopping, as Kitex does: in a frame that answers no call. Others learn it from their
// next reply, if its dialect has a way to say so. The frame holds no message: the client
// of Kitex 0.16 panics on one that does, and loses its calls; without one it ignores the frame.
// c.mu is held.
func (c *serverConn) announce() {
	if c.form.dialect != transport.TTHeader || !c.anyOrder || c.dead || c.finished {
		return
	}
	buf := c.srv.buffers.get()
	o := ttheader.Outgoing{Flags: header.OutOfOrder, Strings: c.goodbye(nil)}
	if b, err := o.Append(buf.b); err == nil {
		buf.b = b
		ttheader.Seal(buf.b, 0)
		c.hold(len(buf.b))
		c.out.add(buf)
		c.kick()
	}
}
