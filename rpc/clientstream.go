package rpc

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/rpc/transport/ttstream"
)

// This file holds a client's streams. They have a connection of their own
// beside that of the calls: Kitex's servers take one kind or the other, by the first frame.

// clientStreams is the connection that new streams use, and those before it
// that still have some.
type clientStreams struct {
	dialing chan struct{} // holds a token, as that of the Client; calls must not wait for streams

	mu     sync.Mutex
	closed bool
	conn   *ttstream.Conn // that new streams use; nil if one must be made
	all    map[*ttstream.Conn]struct{}
}

var _ Streamer = (*Client)(nil)

// OpenStream opens a stream on the connection that the client's streams share.
// It is made when there is none, and again when it has failed or its server is leaving. The limit of
// [CallTimeout] does not count for streams. It is for clients of [TTHeader].
func (c *Client) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	if c.streamChain != nil {
		return c.streamChain.OpenStream(ctx, call)
	}
	return c.openStream(ctx, call)
}

// openStream opens a stream, behind the interceptors.
func (c *Client) openStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	if c.opt.form.dialect != transport.TTHeader {
		return nil, &Error{Stage: StageDial, Method: call.Method, Err: fmt.Errorf("streams go over TTHeader, and the client speaks %s", c.opt.form.dialect)}
	}
	heads := requestHeads(ctx, transport.TTHeader, new(callRoom))
	if call.Service != "" {
		heads.pairs = append(heads.pairs, transport.Pair{Key: ttheader.KeyServiceName, Value: call.Service})
	}
	for {
		conn, err := c.streamConn(ctx)
		if err != nil {
			return nil, &Error{Stage: StageDial, Method: call.Method, Err: err}
		}
		s, err := conn.Open(ctx, call.Method, nil, heads.pairs, heads.ints)
		switch {
		case err == nil:
			return s, nil
		case errors.Is(err, ttstream.ErrTooManyStreams):
			return nil, &Error{Stage: StageQueue, Method: call.Method, Err: ErrTooManyCalls}
		case !errors.Is(err, ttstream.ErrClosing):
			return nil, err
		}
		c.streams.leave(conn)
	}
}

// streamConn returns the connection that new streams use, and makes one if
// there is none.
func (c *Client) streamConn(ctx context.Context) (*ttstream.Conn, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if conn, err := c.streams.current(); conn != nil || err != nil {
		return conn, err
	}
	select {
	case c.streams.dialing <- struct{}{}:
		defer func() { <-c.streams.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if conn, err := c.streams.current(); conn != nil || err != nil {
		return conn, err
	}
	if c.opt.dialTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.dialTimeout)
		defer cancel()
	}
	nc, err := c.dialTLS(ctx)
	if err != nil {
		return nil, err
	}
	o := ttstream.Options{
		Role: stream.Client, Stream: c.opt.stream.limits(), Outcome: outcomePairs, ReadOutcome: readOutcome,
		MaxFrame: c.opt.maxFrame, MaxStreams: c.opt.maxPending, Stall: c.opt.stream.stall, WriteTimeout: c.opt.writeTimeout,
	}
	var conn *ttstream.Conn
	o.Closing = func() { c.streams.leave(conn) }
	conn = ttstream.New(nc, transport.NewReader(nc, &c.blocks), nil, o)
	if err := c.streams.adopt(conn); err != nil {
		conn.Close(err)
		return nil, err
	}
	go func() {
		conn.Serve()
		c.streams.forget(conn)
	}()
	return conn, nil
}

// current returns the connection that new streams use, nil if one must be made.
func (s *clientStreams) current() (*ttstream.Conn, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClientClosed
	}
	return s.conn, nil
}

// adopt makes conn the connection that new streams use.
func (s *clientStreams) adopt(conn *ttstream.Conn) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return ErrClientClosed
	}
	if s.all == nil {
		s.all = map[*ttstream.Conn]struct{}{}
	}
	s.conn, s.all[conn] = conn, struct{}{}
	return nil
}

// leave keeps new streams away from conn, which ends with its last one.
func (s *clientStreams) leave(conn *ttstream.Conn) {
	s.mu.Lock()
	if s.conn == conn {
		s.conn = nil
	}
	s.mu.Unlock()
	conn.Drain()
}

// forget forgets a connection that has ended.
func (s *clientStreams) forget(conn *ttstream.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.conn == conn {
		s.conn = nil
	}
	delete(s.all, conn)
}

// close ends all connections, and the streams on them.
func (s *clientStreams) close() {
	s.mu.Lock()
	s.closed = true
	all := s.all
	s.conn, s.all = nil, nil
	s.mu.Unlock()
	for conn := range all {
		conn.Close(ErrClientClosed)
	}
}
