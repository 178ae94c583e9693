package rpc

import (
	"context"
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/workers"
)

// This file holds what answers calls whose time has passed. A timer for each
// call would cost more than many calls do; so one goroutine looks, now and then,
// at the connections that have calls in flight, and ends when none has.

// sweepInterval is how often it looks, and so how late it may be.
const sweepInterval = 5 * time.Millisecond

// sweepRounds is how many rounds without work a sweeper waits before it ends.
const sweepRounds = 40

// sweeper looks now and then at connections: at those with calls that may expire, or in another
// one at those that may rest.
type sweeper struct {
	srv      *Server
	interval time.Duration
	look     func(c *serverConn, now int64) (again bool)
	round    func(now int64) // is called once a round; may be nil

	mu      sync.Mutex
	conns   []*serverConn
	running bool
}

// add makes the sweeper look at c until look says that it need not again.
func (s *sweeper) add(c *serverConn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.conns = append(s.conns, c)
	if !s.running {
		s.running = true
		go s.run()
	}
}

func (s *sweeper) run() {
	ticker := time.NewTicker(s.interval)
	defer ticker.Stop()
	var round []*serverConn
	for idle := 0; ; {
		select {
		case <-ticker.C:
		case <-s.srv.empty:
			return
		}
		s.mu.Lock()
		round, s.conns = s.conns, round[:0]
		if len(round) == 0 {
			if idle++; idle > sweepRounds {
				s.running = false
				s.mu.Unlock()
				return
			}
		} else {
			idle = 0
		}
		s.mu.Unlock()
		now := s.srv.clock()
		if s.round != nil {
			s.round(now)
		}
		kept := round[:0]
		for _, c := range round {
			if s.look(c, now) {
				kept = append(kept, c)
			}
		}
		clear(round[len(kept):])
		s.mu.Lock()
		s.conns = append(s.conns, kept...)
		s.mu.Unlock()
	}
}

// expire answers the calls whose time has passed, and reports whether the
// sweeper must look again.
func (c *serverConn) expire(now int64) (again bool) {
	var late []*callContext
	defer func() {
		for _, ctx := range late { // their interceptors are the user's
			ctx.finish(context.DeadlineExceeded)
		}
	}()
	c.mu.Lock()
	defer c.mu.Unlock()
	var due []*serverCall // all of them first: with one's reply others may leave, and be used again
	for call := c.calls.head; call != nil; call = call.next {
		switch {
		case call.due == 0 && call.given > 0 && now >= call.given: // it never expires, and its context says when it ends
			if ctx := call.ctx.Load(); ctx != nil {
				ctx.end(context.DeadlineExceeded)
			}
		case call.due > 0 && now >= call.due && call.claim(call.generation(), claimed|expired):
			due = append(due, call)
		}
	}
	for _, call := range due {
		if ctx := call.ctx.Load(); ctx != nil {
			late = append(late, ctx)
		}
		c.expired(call)
	}
	c.swept = c.calls.head != nil
	c.kick()
	c.finish()
	return c.swept
}

// expired answers a call that the sweeper has claimed. c.mu is held.
func (c *serverConn) expired(call *serverCall) {
	c.srv.counts.refused[RefusedExpired].Add(1)
	if call.unanswered() {
		c.srv.counts.unanswered.Add(1)
		c.log(slog.LevelDebug, "rpc: a handler has not answered in time", errors.New(call.method.Name))
	}
	// The handler of a callback or future may never end, and may look at the
	// arguments for ever.
	call.lost = call.method.form != formPlain
	lost := call.lost
	if !call.oneway {
		out := c.refusalReply(call, refusal{cause: RefusedExpired})
		c.queueReply(call, &out)
	}
	if lost {
		c.freeWorker(call)
		c.runWaiting()
		c.leave(call)
	}
}

// unanswered reports whether the handler of a call that expires has had it, and was to
// answer later. c.mu is held.
func (call *serverCall) unanswered() bool {
	if call.method.form == formCallback {
		return true
	}
	ctx := call.ctx.Load()
	if call.method.form != formFuture || ctx == nil {
		return false
	}
	ctx.mu.Lock()
	defer ctx.mu.Unlock()
	return ctx.begun
}

// maxLate is how many calls of each priority are looked at in a round, from the oldest on.
const maxLate = 256

// refuseLate refuses calls that have waited too long for a worker, and lets those go that have expired meanwhile. Workers
// would, when they take them; but these may all be stuck.
func (s *Server) refuseLate(now int64) {
	late := s.pool.Withdraw(maxLate, func(task workers.Task) bool {
		call := task.(*serverCall)
		if call.due > 0 && now >= call.due { // it is expire that answers
			return call.answered()
		}
		return call.answered() || call.patience > 0 && now-call.arrived > int64(call.patience)
	})
	for _, task := range late {
		if call := task.(*serverCall); call.answered() {
			call.conn.handled(call)
		} else {
			call.conn.refuseCall(call, refusal{cause: RefusedQueueTime})
		}
	}
}
