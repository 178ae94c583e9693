package rpc

import (
	"maps"
	"slices"
	"sync/atomic"
)

// This file holds what servers and clients count.

// counters are what a server has counted since it was made.
type counters struct {
	conns, calls             atomic.Int64
	refused                  [refusals]atomic.Int64
	panics, secondReplies    atomic.Int64
	unknownDialect           atomic.Int64
	handshakes, httpRefused  atomic.Int64
	brokenConns, slowWriters atomic.Int64
	idle, aged, late         atomic.Int64
	paused, unanswered       atomic.Int64
}

// Stats is what a server has done since it was made, and holds at the moment. Of connections that are
// HTTP, Late, SlowClients and Idle know nothing: net/http closes them.
type Stats struct {
	Connections    int   // open
	InFlight       int   // calls that are accepted and not answered
	Waiting        int   // of these, for a worker
	Memory         int64 // bytes of requests in flight and of replies that wait to be sent
	Accepted       int64 // connections
	Calls          int64 // that arrived, refused ones too
	Refused        map[Refusal]int64
	Panics         int64 // of handlers
	SecondReplies  int64 // calls that a handler answered again
	UnknownDialect int64 // connections whose first bytes are none that is served
	Handshakes     int64 // of TLS that failed, as with a certificate that is missing or wrong
	HTTPRefused    int64 // requests over HTTP that hold no message that can be answered
	Unanswered     int64 // calls that a callback or future had not answered when their time was over; they stand in Refused, too
	Broken         int64 // connections that were closed for what the client sent
	Late           int64 // connections that were closed because a message did not arrive whole in ReadTimeout
	SlowClients    int64 // connections that were closed because the client did not read for WriteTimeout
	Idle           int64 // connections that were closed by IdleTimeout
	Aged           int64 // connections that were closed by MaxConnectionAge
	Paused         int64 // times that reading a connection waited for room, by MaxInFlightPerConn or MaxMemory
	Concurrency    int   // the limit of AdaptiveConcurrency at the moment; 0 without it
}

// Stopping reports whether Shutdown or Close was called, so that calls should go elsewhere.
func (s *Server) Stopping() bool { return s.stopping.Load() }

// ClientStats is what a client holds at the moment.
type ClientStats struct {
	Connections int // open; not counted over HTTP
	Pending     int // calls that wait for their end
}

// Stats returns the client's statistics. The numbers may be of slightly
// different moments.
func (c *Client) Stats() ClientStats {
	c.mu.Lock()
	conns := slices.Collect(maps.Keys(c.conns))
	c.mu.Unlock()
	out := ClientStats{Connections: len(conns), Pending: int(c.posts.Load())}
	for _, cc := range conns {
		cc.mu.Lock()
		out.Pending += cc.live
		cc.mu.Unlock()
	}
	return out
}

// Stats returns the server's statistics. The numbers are read one after
// another and may be of slightly different moments.
func (s *Server) Stats() Stats {
	s.mu.Lock()
	open := len(s.conns)
	s.mu.Unlock()
	out := Stats{
		Connections: open, InFlight: int(s.inFlight.Load()), Waiting: s.pool.Waiting(), Memory: s.memory.Load(),
		Accepted: s.counts.conns.Load(), Calls: s.counts.calls.Load(), Refused: map[Refusal]int64{},
		Panics: s.counts.panics.Load(), SecondReplies: s.counts.secondReplies.Load(),
		UnknownDialect: s.counts.unknownDialect.Load(),
		Handshakes:     s.counts.handshakes.Load(), HTTPRefused: s.counts.httpRefused.Load(),
		Unanswered: s.counts.unanswered.Load(), Paused: s.counts.paused.Load(),
		Broken: s.counts.brokenConns.Load(), Late: s.counts.late.Load(), SlowClients: s.counts.slowWriters.Load(),
		Idle: s.counts.idle.Load(), Aged: s.counts.aged.Load(),
	}
	if s.adaptive != nil {
		out.Concurrency = s.adaptive.Limit()
	}
	for r := range refusals {
		if n := s.counts.refused[r].Load(); n > 0 {
			out.Refused[r] = n
		}
	}
	return out
}
