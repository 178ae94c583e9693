package rpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
)

// This file holds the reading half of a server's connection: it turns bytes
// into calls. Running them and answering is in servercall.go.

// lingerTime is how long a connection that the server ends goes on discarding
// what the client sends. Closing with unread bytes would reset the connection,
// and the client might lose the last replies.
const lingerTime = 250 * time.Millisecond

// refusalTime is how long a connection that is refused has to send the call
// that is answered with the refusal.
const refusalTime = 5 * time.Second

// serverConn is one connection. Its life: the read goroutine accepts calls
// until the client ends the stream or breaks the protocol; workers run them;
// whoever completes the oldest unanswered call writes. When reading has ended,
// or the server stops, and nothing is left to answer, the connection is closed.
//
// Invariants: replies holds the calls that will be answered and wait for their
// turn, in order of arrival; ready those whose replies may leave. Only the goroutine that
// set writing takes from ready. A call is in queue until a worker takes it. A call holds its slot (inFlight, bytes)
// until its handler has returned and its reply has been written or dropped.
type serverConn struct {
	srv    *Server
	nc     net.Conn
	refuse bool // beyond MaxConnections: answer the first call with that
	ctx    context.Context
	cancel context.CancelFunc

	// Of the read goroutine alone.
	in    *transport.Reader
	scan  *framed.Scanner // nil until the dialect is known
	timed bool            // the message at the front has its read deadline
	armed bool            // a read deadline is set

	// Set before the first call and constant afterwards.
	form       form // of the connection: its dialect
	outOfOrder bool // replies go out as they complete

	mu       sync.Mutex
	room     sync.Cond // signalled when a slot is given back and when the connection ends
	queue    []*serverCall
	replies  []*serverCall
	ready    []*serverCall
	workers  int  // goroutines that run calls
	writing  bool // a goroutine writes
	inFlight int
	bytes    int // of requests in flight
	unsent   int // bytes of replies that are complete and not written
	draining bool
	readDone bool // no more calls will be accepted
	gone     bool // the client has closed its side, or the connection failed
	dead     bool // nothing more can be written
	finished bool // everything is answered; what still arrives is discarded
	exited   bool // the read goroutine has returned
}

func newServerConn(s *Server, nc net.Conn, refuse bool) *serverConn {
	c := &serverConn{srv: s, nc: nc, refuse: refuse, in: transport.NewReader(nc, &s.blocks)}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.room.L = &c.mu
	return c
}

// errRefused ends the reading of a connection that is refused.
var errRefused = errors.New("too many connections")

// read is the connection's read goroutine.
func (c *serverConn) read() {
	err := c.readCalls()
	c.mu.Lock()
	if !c.finished {
		c.ended(err)
	}
	for !c.finished && !c.gone {
		c.room.Wait()
	}
	linger := !c.gone
	c.mu.Unlock()
	if linger {
		c.discard()
	}
	c.in.Close()
	c.mu.Lock()
	c.exited = true
	c.end()
	c.mu.Unlock()
}

// ended notes why no more calls will be accepted. c.mu is held.
func (c *serverConn) ended(err error) {
	c.readDone = true
	switch {
	case c.dead: // whoever ended the connection has said so
	case isProtocolError(err):
		c.log(slog.LevelWarn, "rpc: connection closed", err)
	default:
		if n := len(c.in.Bytes()); n > 0 {
			err = fmt.Errorf("%d bytes into a message: %w", n, err)
		}
		c.log(slog.LevelDebug, "rpc: client went away", err)
		// A client that only closed its sending half still gets its replies,
		// but it cannot be told from one that has gone.
		c.gone = true
		c.cancel()
		if !errors.Is(err, io.EOF) {
			c.die()
		}
	}
	c.finish()
}

// isProtocolError reports whether the stream ended because of what the client
// sent, rather than because it ended.
func isProtocolError(err error) bool {
	var fault *diag.Fault
	return errors.As(err, &fault) || errors.Is(err, errRefused) || isTimeout(err)
}

// isTimeout reports whether a deadline of the connection has passed.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// readCalls accepts calls until the stream ends or cannot be followed.
func (c *serverConn) readCalls() error {
	want := 0
	for {
		if err := c.fill(want); err != nil {
			return err
		}
		if c.scan == nil {
			dialect, ok := transport.Detect(c.in.Bytes())
			if !ok {
				continue
			}
			if !serves(dialect) {
				return diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("the client speaks %s, first bytes % x",
					dialect, c.in.Bytes()[:min(transport.DetectBytes, len(c.in.Bytes()))]))
			}
			c.form.dialect = dialect
			c.scan = c.form.scanner(c.srv.opt.maxFrame)
		}
		for {
			message, n, err := c.scan.Next(c.in.Bytes())
			if err != nil {
				c.refuseOversized(err)
				return err
			}
			if n == 0 {
				break
			}
			c.timed = false
			if err := c.accept(message, n); err != nil {
				return err
			}
		}
		want = c.scan.Want()
	}
}

// fill reads once, with the deadline that fits what is being waited for.
func (c *serverConn) fill(want int) error {
	for {
		partial := len(c.in.Bytes()) > 0
		c.setReadDeadline(partial)
		err := c.in.Fill(want)
		switch {
		case err == nil || !isTimeout(err):
			return err
		case c.refuse:
			return fmt.Errorf("%w, and no call to answer", errRefused)
		case partial:
			return fmt.Errorf("message incomplete after %v: %w", c.srv.opt.readTimeout, err)
		}
		c.mu.Lock()
		idle := c.inFlight == 0
		c.mu.Unlock()
		if idle {
			return fmt.Errorf("idle for %v: %w", c.srv.opt.idleTimeout, err)
		}
	}
}

// setReadDeadline sets the deadline of the next read; partial says that a
// message has begun to arrive.
func (c *serverConn) setReadDeadline(partial bool) {
	var limit time.Duration
	switch {
	case c.timed: // the message keeps the deadline that it began with
		return
	case c.refuse:
		limit, c.timed = refusalTime, true
	case partial:
		limit, c.timed = c.srv.opt.readTimeout, true
	default:
		limit = c.srv.opt.idleTimeout
	}
	if limit <= 0 && !c.armed {
		return
	}
	var deadline time.Time
	if limit > 0 {
		deadline = time.Now().Add(limit)
	}
	c.armed = limit > 0
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.finished { // finish has set a deadline of its own
		c.nc.SetReadDeadline(deadline)
	}
}

// discard reads until the client closes its side or the linger deadline passes.
func (c *serverConn) discard() {
	for {
		if c.in.Fill(0) != nil {
			return
		}
		_, block := c.in.Take(len(c.in.Bytes()))
		block.Release()
	}
}

// finish ends the connection if nothing is left to read or answer. c.mu is held.
func (c *serverConn) finish() {
	busy := len(c.queue) > 0 || len(c.replies) > 0 || len(c.ready) > 0 || c.workers > 0 || c.writing
	if c.finished || busy || !(c.readDone || c.draining) {
		return
	}
	c.finished = true
	c.cancel()
	c.room.Broadcast()
	half, ok := c.nc.(interface{ CloseWrite() error })
	if ok && !c.gone && half.CloseWrite() == nil {
		c.nc.SetReadDeadline(time.Now().Add(lingerTime))
	} else {
		c.gone = true
		c.nc.Close()
	}
	c.end()
}

// end removes the connection from the server once both halves are done. c.mu is held.
func (c *serverConn) end() {
	if c.finished && c.exited {
		c.nc.Close()
		c.srv.remove(c)
	}
}

// drain makes the connection end when its calls have been answered.
func (c *serverConn) drain() {
	c.mu.Lock()
	c.draining = true
	c.finish()
	c.mu.Unlock()
}

// abort ends the connection at once.
func (c *serverConn) abort() {
	c.mu.Lock()
	c.readDone = true
	c.die()
	c.finish()
	c.mu.Unlock()
}

// die drops what waits to run or to be written, after the connection has
// failed. c.mu is held.
func (c *serverConn) die() {
	if c.dead {
		return
	}
	c.dead, c.gone = true, true
	c.cancel()
	c.nc.Close()
	for _, call := range c.queue {
		c.handled(call)
	}
	c.queue = nil
	if !c.writing { // else flush will
		c.dropReplies()
	}
	c.room.Broadcast()
}

// log says why something happened to the connection.
func (c *serverConn) log(level slog.Level, message string, reason error) {
	c.srv.opt.logger.LogAttrs(context.Background(), level, message,
		slog.Any("remote", c.nc.RemoteAddr()), slog.Any("reason", reason))
}
