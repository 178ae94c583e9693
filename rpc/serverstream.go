package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/rpc/transport/ttstream"
)

// This file holds connections that carry streams instead of calls: which
// method serves a stream, whether it is admitted, and how its handler runs.

// errStreams ends the reading of calls on a connection that carries streams.
var errStreams = errors.New("streams")

// streamServer is what a connection of streams has beside its wire.
type streamServer struct {
	srv      *Server
	conn     *serverConn
	services *registry // of this connection alone, nil if the server's serve it

	mu       sync.Mutex
	running  int // handlers
	handlers sync.WaitGroup

	waiting atomic.Int64 // bytes of messages that have arrived and not been taken
}

// serveStreams serves a connection that carries streams. It reports false if
// the connection has ended.
func (c *serverConn) serveStreams() bool {
	s := &streamServer{srv: c.srv, conn: c, services: c.methods}
	o := &c.srv.opt
	idle := o.idleTimeout
	if c.refuse {
		idle = refusalTime
	}
	conn := ttstream.New(c.sock.nc, c.sock.in, s.fill, ttstream.Options{
		Role: stream.Server, Accept: s.accept, Outcome: outcomePairs, ReadOutcome: readOutcome,
		MaxFrame: o.maxFrame, MaxHead: o.maxHead, Stall: o.stream.stall,
		WriteTimeout: o.writeTimeout, ReadTimeout: o.readTimeout, IdleTimeout: idle,
		Starved: s.starved, Look: c.sock.fillNow,
	})
	c.mu.Lock()
	if c.dead || c.finished {
		c.mu.Unlock()
		return false
	}
	c.handed, c.streams = true, conn
	leaving, draining := c.leaving.Load(), c.draining
	c.mu.Unlock()
	switch {
	case draining:
		conn.Drain()
	case leaving:
		conn.Leave(o.quiet)
	}
	if c.until > 0 {
		left := time.Duration(c.until - c.srv.clock())
		defer time.AfterFunc(left, func() {
			c.srv.counts.aged.Add(1)
			conn.Leave(farewellTime)
		}).Stop()
		defer time.AfterFunc(left+farewellTime, conn.Drain).Stop()
	}
	err := errLoopEnded // unless Serve returns
	defer func() {
		c.uncountPartial()
		level := slog.LevelDebug
		if isProtocolError(err) && !c.refuse {
			level = c.srv.countEnd(err)
		}
		c.log(level, "rpc: connection of streams closed", err)
		s.handlers.Wait()
		c.srv.remove(c)
	}()
	err = conn.Serve()
	return true
}

// fill reads once. What has arrived of a large message counts as memory in use, and where that is short the rest waits.
func (s *streamServer) fill(want int) error {
	c := s.conn
	c.countPartial()
	if c.partial == 0 && s.waiting.Load() == 0 {
		c.unfavour() // or a large message to a stream that has ended would keep others from the memory
	}
	c.awaitMemory(want)
	err := c.sock.fill(want)
	c.countPartial()
	return err
}

// starved tells whether there is no memory for a message. One that has been counted as it arrived has its own.
func (s *streamServer) starved(size int) bool {
	size -= s.conn.partial
	return size > 0 && s.srv.outOfMemory(size)
}

// hold counts bytes of messages that wait to be taken from streams. The favoured connection stays it until one has
// been, but not for longer than a stream may hold up its connection.
func (s *streamServer) hold(n int) {
	s.srv.memory.Add(int64(n))
	s.waiting.Add(int64(n))
	switch {
	case n < 0:
		s.conn.unfavour()
	case s.srv.favoured.Load() == s.conn:
		time.AfterFunc(s.srv.opt.stream.stall, s.conn.unfavour)
	}
}

// accept takes a stream that the client opens, on the connection's reading goroutine.
func (s *streamServer) accept(in *ttstream.Incoming) {
	c := s.conn
	s.srv.counts.calls.Add(1)
	x := &callContext{conn: c, dialect: transport.TTHeader, closed: true, extras: &callExtras{in: &metadata{headers: in.Metadata, ints: in.Ints}}}
	refused := s.admit(in, x)
	if refused.cause != 0 {
		s.refuse(in, refused)
		return
	}
	o := s.srv.opt.stream.limits()
	o.Hold = s.hold
	ctx, cancel := context.Context(x), context.CancelFunc(func() {})
	if timeout := milliseconds([]byte(in.Ints[ttheader.RPCTimeout])); timeout > 0 {
		ctx, cancel = context.WithTimeout(x, timeout)
	}
	st := in.Start(ctx, o)
	if st == nil {
		cancel()
		s.left()
		s.refuse(in, refusal{cause: RefusedStopping})
		return
	}
	x.extras.stream = st
	go s.run(x, st, cancel)
}

// refuse answers a stream that is not served, and ends a connection that is not.
func (s *streamServer) refuse(in *ttstream.Incoming, r refusal) {
	s.srv.counts.refused[r.cause].Add(1)
	e, _ := r.reply()
	in.Refuse(e)
	if s.conn.refuse || s.conn.insecure {
		s.conn.streams.Drain()
	}
}

// admit finds the method of a stream, and decides on it in the order that
// calls have. An admitted stream is counted until left is called.
func (s *streamServer) admit(in *ttstream.Incoming, x *callContext) refusal {
	opt := &s.srv.opt
	switch {
	case s.conn.refuse:
		return refusal{cause: RefusedConnection}
	case s.conn.insecure:
		return refusal{cause: RefusedInsecure}
	case in.Broken != nil:
		return refusal{cause: RefusedMessage, exception: exceptionf(ProtocolError, "%v", in.Broken)}
	}
	method, e := s.find(in)
	switch {
	case e != nil:
		return refusal{cause: RefusedMethod, exception: e}
	case s.srv.closing.Load():
		return refusal{cause: RefusedStopping}
	}
	x.method, x.priority = method, max(method.Priority, 0)
	if x.priority == 0 {
		x.priority = Normal
	}
	if opt.overloaded != nil {
		if e := s.conn.judge(x); e != nil {
			return refusal{cause: RefusedOverload, exception: e}
		}
	}
	if !s.enter() {
		return refusal{cause: RefusedInFlight, exception: exceptionf(LoadShedding, "too many streams on the connection")}
	}
	cause := Refusal(0)
	switch {
	case s.srv.inFlight.Load() > int64(opt.maxInFlight):
		cause = RefusedInFlight
	case s.srv.rate != nil && !s.srv.rate.Take(s.srv.clock()):
		cause = RefusedRate
	}
	if cause != 0 {
		s.left()
	}
	return refusal{cause: cause}
}

// find finds the method of a stream: in the service that the client names, if
// there is one of that name, else in any.
func (s *streamServer) find(in *ttstream.Incoming) (*Method, *ApplicationException) {
	services := s.services
	if services == nil {
		services = s.srv.registry.Load()
	}
	var m *Method
	e := exceptionf(UnknownMethod, "no method here")
	if service := in.Metadata[ttheader.KeyServiceName]; service != "" {
		m, e = services.lookup([]byte(service+separator+in.Method), false)
	}
	if e != nil {
		m, e = services.lookup([]byte(in.Method), false)
	}
	switch {
	case e != nil:
		return nil, e
	case m.Stream == nil:
		return nil, exceptionf(UnknownMethod, "method %q has one reply, and no stream", clip([]byte(in.Method)))
	}
	return m, nil
}

// enter counts a stream, unless there are too many on the connection.
func (s *streamServer) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.running >= s.srv.opt.maxStreams {
		return false
	}
	s.running++
	s.handlers.Add(1)
	s.srv.inFlight.Add(1)
	return true
}

// left ends the count of a stream.
func (s *streamServer) left() {
	s.mu.Lock()
	s.running--
	s.mu.Unlock()
	s.srv.inFlight.Add(-1)
	s.handlers.Done()
}

// run runs the handler of a stream, and ends the stream with its outcome.
func (s *streamServer) run(x *callContext, st *stream.Stream, cancel context.CancelFunc) {
	defer s.left()
	defer cancel()
	err := error(errHandlerExit)
	defer func() {
		if p := recover(); p != nil {
			err = s.conn.panicked(x.method, p)
		}
		if ended := st.Finish(err); err == nil && ended != nil {
			err = ended
		}
		x.finish(err)
	}()
	err = s.serve(x, st)
}

// serve asks the interceptors and calls the handler.
func (s *streamServer) serve(x *callContext, st *stream.Stream) error {
	ctx, err := s.srv.interceptFrom(st.Context(), x)
	if err != nil {
		return err
	}
	return x.method.Stream(ctx, st)
}

// outcomePairs returns how the outcome of a stream travels. An error that
// holds a nil pointer is no rare mistake, and its methods panic.
func outcomePairs(err error) (pairs []transport.Pair, exception []byte) {
	defer func() {
		if p := recover(); p != nil {
			pairs, exception = nil, exceptionf(InternalError, "an error of type %T without a message", err).append(nil)
		}
	}()
	if status, ok := bizStatus(err); ok {
		return status.pairs(), nil
	}
	return nil, asException(err).append(nil)
}

// readOutcome returns the outcome of a stream, nil for success.
func readOutcome(exception []byte, pairs ttheader.StringPairs) error {
	if exception != nil {
		e, err := consumeException(exception)
		if err != nil {
			return &stream.Error{Code: stream.Protocol, Err: fmt.Errorf("the outcome cannot be read: %w", err)}
		}
		return e
	}
	if status := readBizStatus(pairs); status != nil {
		return status
	}
	return nil
}
