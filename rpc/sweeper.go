package rpc

import (
	"sync"
	"time"
)

// This file holds what answers calls whose time has passed. A timer for each
// call would cost more than many calls do; so one goroutine looks, now and then,
// at the connections that have calls in flight, and ends when none has.

// sweepInterval is how often the sweeper looks, and so how late it may be.
const sweepInterval = 5 * time.Millisecond

// sweepRounds is how many rounds without work the sweeper waits before it ends.
const sweepRounds = 40

// sweeper knows the connections with calls that may expire.
type sweeper struct {
	srv *Server

	mu      sync.Mutex
	conns   []*serverConn
	running bool
}

// add makes the sweeper look at c until it has no calls.
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
	ticker := time.NewTicker(sweepInterval)
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
		kept := round[:0]
		for _, c := range round {
			if c.expire(now) {
				kept = append(kept, c)
			}
		}
		clear(round[len(kept):])
		s.mu.Lock()
		s.conns = append(s.conns, kept...)
		s.mu.Unlock()
	}
}
