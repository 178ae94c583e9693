package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttstream"
)

// This file holds the reading half of a server's connection: it turns bytes
// into calls, a block full of them at a time. What becomes of them is in
// servercall.go, how they are answered in serverreply.go.

// lingerTime is how long a connection that the server ends goes on discarding
// what the client sends. Closing with unread bytes would reset the connection,
// and the client might lose the last replies.
const lingerTime = 250 * time.Millisecond

// refusalTime is how long a connection that is refused has to send the call
// that is answered with the refusal.
const refusalTime = 5 * time.Second

// serverConn is one connection. Its life: the read goroutine, its loop, takes
// every call that one read has brought, runs those that run inline and hands
// the others to the workers, and writes what has been answered by then. What
// is answered later is written by whoever answers. When reading has ended, or the
// server stops, and nothing is left to answer, the connection is closed.
//
// Invariants: calls holds what has been accepted and not left (see
// serverCall); order those of them, if replies keep the order of arrival,
// whose reply has not been queued. Who sets writing is the only one to
// write, until it finds the queue empty. In a turn the loop writes at its end, so that
// nobody else needs to.
type serverConn struct {
	srv    *Server
	sock   *socket
	remote net.Addr
	tls    *tls.ConnectionState // of TLS, once its handshake is done; else nil; set before the first call
	refuse bool                 // beyond MaxConnections: answer the first call with that

	// Of the loop alone.
	scan     scanner          // nil until the dialect is known
	timed    bool             // deadline is that of the message at the front
	armed    bool             // a read deadline is set
	stale    bool             // and has passed, so that another must be
	goesOn   bool             // the wait for a message that another goroutine began, for as long as that would have
	deadline time.Time        // of the next read; zero for none
	batch    *batch           // calls for the workers that wait for the end of the turn; nil for none
	batched  Priority         // of batch
	until    int64            // when the connection is too old; 0 for never
	arrivals int64            // calls of the turn
	partial  int              // bytes of a large message that has not arrived whole, in the server's count
	arrived  int64            // when the last read brought something
	services *registry        // that the calls of a turn find
	latest   *Method          // that a call has found, nil for none
	latestOf *registry        // there
	head     string           // of a message in the binary protocol that calls it; "" if that was another
	next     *serverCall      // for the next call of the turn, nil for one of the pool
	methods  *registry        // of this connection alone, nil if the server's serve it
	insecure bool             // TLS is required and not spoken: the first call is answered with that
	sticky   []transport.Pair // persistent headers of the connection

	// Set before the first call and constant afterwards.
	form       form // of the connection: its dialect
	flagged    bool // the client has said in which order it takes replies
	anyOrder   bool // that it takes them in any order
	outOfOrder bool // replies go out as they complete

	aged     atomic.Bool // the server leaves the connection for its age
	leaving  atomic.Bool // the server is stopping; written with mu held
	clogged  atomic.Bool // unsent exceeds its limit; written with mu held
	gone     atomic.Bool // the client has closed its side, or the connection failed; written with mu held
	promised atomic.Bool // the client has been told what a close_notify means

	mu        sync.Mutex
	room      sync.Cond // signalled when a call has left and when the connection ends
	calls     callList
	order     orderList
	out       outQueue
	spare     outQueue         // what is being written, or an empty one
	kept      *serverCall      // that has left in this turn, and becomes next; nil for none
	freed     *buffer          // likewise, for the next call; nil for none
	block     *transport.Block // that the calls of the turn are in
	returned  int              // uses of it that have ended in the turn
	waiting   []*serverCall    // for others of the connection to end, or for the client to read
	uncounted int              // bytes that the server's count lacks
	unsent    int              // bytes of replies that are complete and not written
	running   int              // calls that the workers have
	inFlight  int
	bytes     int    // of requests in flight
	turns     uint64 // that there were
	rested    uint64 // and when it was last looked at whether the connection may rest
	inTurn    bool
	vacant    bool  // a place in the server's count of calls in flight is kept for the next call of the turn
	holding   bool  // the loop has a call for which there is no room yet
	writing   bool  // somebody writes, or is about to
	swept     bool  // the sweeper looks at the connection
	restless  bool  // the sweeper of those that have had calls does
	resting   bool  // the loop is woken to go on with a fresh stack
	woken     bool  // the read deadline was moved to wake the loop
	shaking   bool  // hands, in TLS, which must not be disturbed
	servedAt  int64 // when its last call or stream has ended, where it may be idle
	told      int64 // when the server began to leave
	wroteAt   int64 // when it has last answered since
	parting   bool  // nothing more is read, and another server gets it then
	draining  bool  // it ends when its calls have been answered
	mute      bool  // a call that was served has no reply, so that the connection cannot end in order
	readDone  bool  // no more calls will be accepted
	dead      bool  // nothing more can be written
	finished  bool  // everything is answered; what still arrives is discarded
	exited    bool  // the loop has returned
	handed    bool  // to the server's HTTP, or to streams, which close it

	streams *ttstream.Conn // that it is handed to

	// Of tRPC.
	streaming map[uint32]*trpcWire // streams that have not ended
	handlers  int                  // of streams that run
	spoke     uint64               // and in which the only stream has last written by itself
	drained   chan struct{}        // closed when the client has read enough for streams to go on; nil if none waits

	// Of the exchange of one message over HTTP, which is a connection of its own: see serverhttp.go.
	replied    chan struct{}    // closed when the reply is in out, or will not come; nil for others
	replyHeads []transport.Pair // that go beside the reply
	replyEnd   http.Header      // over gRPC: how the call has failed; nil for success
	web        *httpConn        // that a request over gRPC has come by, nil if another server has taken it; of a connection that is HTTP, what it has become
}

func newServerConn(s *Server, nc net.Conn, refuse bool) *serverConn {
	c := &serverConn{srv: s, sock: newSocket(nc, &s.blocks), remote: nc.RemoteAddr(), refuse: refuse}
	c.room.L = &c.mu
	c.out.pool, c.spare.pool = &s.buffers, &s.buffers
	c.form.maxHead = s.opt.maxHead
	if age := s.opt.maxAge; age > 0 {
		spread := rand.Int64N(int64(age)/5 + 1) // or all clients would come back together
		c.until = s.clock() + int64(age) - int64(age)/10 + spread
	}
	return c
}

// errRefused ends the reading of a connection that is refused.
var errRefused = errors.New("too many connections")

// errLoopEnded ends a connection whose loop has ended in the middle of a turn.
var errLoopEnded = errors.New("a callback has ended the goroutine that reads the connection")

// loop is the connection's read goroutine.
func (c *serverConn) loop() {
	returned := false
	defer func() {
		if !returned {
			go func() {
				c.endTurn()
				c.over(errLoopEnded)
			}()
		}
	}()
	err := c.readCalls()
	returned = true
	if err == errRest {
		go c.loop()
		return
	}
	if err == errHTTP && c.handOver() || err == errStreams && c.serveStreams() {
		return
	}
	c.over(err)
}

// over ends a connection from which no more calls are read, because of err.
func (c *serverConn) over(err error) {
	c.uncountPartial()
	if err == errParting && !c.giveAway() {
		err = errDrained
	}
	c.mu.Lock()
	if !c.finished {
		c.ended(err)
	}
	for !c.finished && !c.gone.Load() {
		c.room.Wait()
	}
	linger := !c.gone.Load()
	c.mu.Unlock()
	if linger {
		c.discard()
	}
	c.sock.in.Close()
	c.mu.Lock()
	c.exited = true
	c.end()
	c.mu.Unlock()
}

// ended notes why no more calls will be accepted. c.mu is held.
func (c *serverConn) ended(err error) {
	c.readDone = true
	c.loseStreams(err) // to which nothing can come any more
	switch {
	case c.dead: // whoever ended the connection has said so
	case isProtocolError(err):
		c.log(c.srv.countEnd(err), "rpc: connection closed", err)
	case err == errDrained:
	default:
		if n := len(c.sock.in.Bytes()); n > 0 {
			err = fmt.Errorf("%d bytes into a message: %w", n, err)
		}
		c.log(slog.LevelDebug, "rpc: client went away", err)
		// A client that only closed its sending half still gets its replies,
		// but it cannot be told from one that has gone.
		c.gone.Store(true)
		c.cancelCalls(context.Canceled)
		if !errors.Is(err, io.EOF) {
			c.die()
		}
	}
	c.finish()
}

// isProtocolError reports whether the stream ended because of what the client
// sent, or did not send in time, rather than because it ended.
func isProtocolError(err error) bool {
	var fault *diag.Fault
	return errors.As(err, &fault) || errors.Is(err, errRefused) || errors.Is(err, errInsecure) || err == errLoopEnded || isIdle(err) || isTimeout(err)
}

// errIdle ends a connection on which nothing has happened for too long.
var errIdle = errors.New("idle")

// isIdle reports whether a connection, or one of streams, ended for that.
func isIdle(err error) bool { return errors.Is(err, errIdle) || errors.Is(err, ttstream.ErrIdle) }

// countEnd counts why the server has ended a connection, and returns the level at
// which to say so.
func (s *Server) countEnd(err error) slog.Level {
	switch {
	case isIdle(err):
		s.counts.idle.Add(1)
		return slog.LevelDebug
	case errors.Is(err, errRefused) || errors.Is(err, errInsecure): // the refusal is counted
	case isTimeout(err):
		s.counts.late.Add(1)
	default:
		s.counts.brokenConns.Add(1)
	}
	return slog.LevelWarn
}

// isTimeout reports whether a deadline of the connection has passed.
func isTimeout(err error) bool {
	var timeout net.Error
	return errors.As(err, &timeout) && timeout.Timeout()
}

// readCalls accepts calls until the stream ends or cannot be followed.
func (c *serverConn) readCalls() error {
	want, resumed := 0, len(c.sock.in.Bytes()) > 0
	for {
		c.awaitMemory(want)
		if !resumed {
			if err := c.fill(want); err != nil {
				return err
			}
		}
		resumed = false
		if c.scan == nil {
			if known, err := c.detect(); err != nil {
				return err
			} else if !known {
				continue
			}
		}
		c.beginTurn()
		err := c.takeCalls()
		c.endTurn()
		if err != nil {
			return err
		}
		want = c.scan.Want()
	}
}

// takeCalls accepts the calls that have arrived whole.
func (c *serverConn) takeCalls() error {
	for {
		message, n, err := c.scan.Next(c.sock.in.Bytes())
		if err != nil {
			c.refuseOversized(err)
			return err
		}
		if n == 0 {
			c.countPartial()
			return nil
		}
		c.timed = false
		if err := c.accept(message, n); err != nil {
			return err
		}
	}
}

// detect finds out which dialect the client speaks, and reports false if more
// bytes must come first.
func (c *serverConn) detect() (bool, error) {
	start := c.sock.in.Bytes()
	dialect, ok := transport.Detect(start)
	if !ok {
		return false, nil
	}
	loose := false
	if dialect == transport.Unknown && c.srv.opt.nonStrict {
		dialect = transport.DetectLoose(start)
		loose = dialect != transport.Unknown
	}
	switch {
	case dialect == transport.TLS && c.srv.opt.tls != nil && c.tls == nil:
		return false, c.startTLS()
	case c.srv.opt.tls != nil && c.tls == nil && !c.srv.opt.tlsPermitted && c.refuseInsecure(dialect):
		return false, errInsecure
	case dialect == transport.HTTP:
		return false, c.refuseHTTP()
	case !serves(dialect):
		c.srv.counts.unknownDialect.Add(1)
		return false, diag.NewFault(diag.InvalidHeader, 0, fmt.Sprintf("the client speaks %s, first bytes % x",
			dialect, start[:min(transport.DetectBytes, len(start))]))
	}
	c.mu.Lock()
	c.form.dialect, c.form.loose = dialect, loose
	if dialect == transport.TRPC { // whose clients all take replies in any order
		c.flagged, c.anyOrder, c.outOfOrder = true, true, !c.srv.opt.inOrder
	}
	c.mu.Unlock()
	if err := c.ownServices(); err != nil {
		return false, err
	}
	if dialect == transport.TTHeader && ttstream.IsStream(start) {
		return false, errStreams
	}
	c.scan = c.form.scanner(c.srv.opt.maxFrame)
	return true, nil
}

// ownServices asks for the services of this connection alone.
func (c *serverConn) ownServices() (err error) {
	c.methods, err = c.srv.servicesFor(c.connInfo())
	return err
}

// servicesFor asks for the services of one connection, and returns nil if the server's serve it.
func (s *Server) servicesFor(conn ConnInfo) (own *registry, err error) {
	if s.opt.perConn == nil {
		return nil, nil
	}
	defer func() {
		if p := recover(); p != nil {
			s.counts.panics.Add(1)
			own, err = nil, diag.NewFault(diag.InvalidValue, -1, fmt.Sprintf("panic where the services of the connection were asked for: %v\n%s", p, debug.Stack()))
		}
	}()
	services := s.opt.perConn(conn)
	if services == nil {
		return nil, nil
	}
	own = &registry{}
	for _, service := range services {
		if own, err = own.with(service, false); err != nil {
			return nil, fmt.Errorf("the services of the connection: %w", err)
		}
	}
	return own, nil
}

// beginTurn notes that calls are taken, and that what is answered meanwhile is
// written at the end. It waits for one of the loops that may serve.
func (c *serverConn) beginTurn() {
	if c.srv.loops != nil {
		c.srv.loops <- struct{}{}
	}
	c.arrived = c.srv.clock()
	c.services = c.methods
	if c.services == nil {
		c.services = c.srv.registry.Load()
	}
	c.mu.Lock()
	c.inTurn = true
	if c.sock != nil { // as of all that do not come by HTTP
		c.block = c.sock.in.Block()
	}
	c.turns++
	c.stir()
	c.mu.Unlock()
}

// endTurn hands the calls that have gathered to the workers, and writes.
func (c *serverConn) endTurn() {
	c.srv.counts.calls.Add(c.arrivals)
	c.arrivals = 0
	c.submit()
	if c.srv.loops != nil {
		<-c.srv.loops
	}
	c.mu.Lock()
	c.inTurn = false
	if c.vacant {
		c.vacant = false
		c.srv.inFlight.Add(-1)
	}
	c.giveCalls()
	c.returnUses()
	c.block = nil
	if c.out.size > 0 && !c.writing {
		c.writing = true
		c.flush(true)
	}
	if c.until > 0 && c.srv.clock() >= c.until {
		c.retire()
	}
	c.finish()
	c.mu.Unlock()
}

// closeWrite tells the client that nothing more will come, where there is a
// way to. It does not wait, as TLS might: c.mu is held.
func (c *serverConn) closeWrite() bool {
	switch nc := c.sock.nc.(type) {
	case *tls.Conn:
		go nc.CloseWrite()
		return true
	case interface{ CloseWrite() error }:
		return nc.CloseWrite() == nil
	}
	return false
}

// end removes the connection from the server once both halves are done. c.mu is held.
func (c *serverConn) end() {
	if c.finished && c.exited {
		c.sock.close()
		c.srv.remove(c)
	}
}

// abort ends the connection at once.
func (c *serverConn) abort() {
	c.mu.Lock()
	c.readDone = true
	c.die()
	c.cancelCalls(context.Canceled) // those too that outlive a connection which had died before
	c.dropWaiting()
	if c.streams != nil { // the reading of which may wait for one of them
		go c.streams.Close(net.ErrClosed)
	}
	c.finish()
	c.mu.Unlock()
}

// die gives up what waits to be written, after the connection has failed, and
// ends the contexts of its calls. c.mu is held.
func (c *serverConn) die() {
	if c.dead {
		return
	}
	c.dead = true
	c.gone.Store(true)
	c.sock.close()
	c.cancelCalls(context.Canceled)
	c.dropWaiting()
	for call := c.order.head; call != nil; call = c.order.head {
		c.order.pop()
		c.answered(call)
	}
	c.hold(-c.out.size)
	c.out.release()
	c.wakeStreams()
	c.loseStreams(errStreamOver)
	c.room.Broadcast()
	c.runWaiting() // what outlives the connection, and waited for what it held
}

// log says why something happened to the connection.
func (c *serverConn) log(level slog.Level, message string, reason error) {
	c.srv.opt.logger.LogAttrs(context.Background(), level, message,
		slog.Any("remote", c.remote), slog.Any("reason", reason))
}
