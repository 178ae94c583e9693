package load

import (
	"math"
	"runtime"
	"time"
)

// This file holds the pacer of an open loop.

const (
	// maxPause is how long the pacer sleeps at most: a writer that has just become
	// ready may be due before the others.
	maxPause = 100 * time.Microsecond
	// minPause bounds what the pacer itself costs.
	minPause = 50 * time.Microsecond
)

// pace wakes writers when their requests are due, until the run ends. One
// goroutine does so for all connections, asleep in the kernel, because Go's
// timers are up to a millisecond late where a program is otherwise idle: too
// much where a server takes tens of microseconds.
func (r *run) pace() {
	shortest := minPause
	if runtime.GOMAXPROCS(0) == 1 {
		// Nobody else runs until the runtime has noticed that this thread sleeps.
		shortest = maxPause
	}
	for {
		select {
		case <-r.ended:
			return
		default:
		}
		next, woken := r.wake()
		if woken {
			runtime.Gosched() // to the writers, and not to whoever finds them while this thread sleeps
			next, _ = r.wake()
		}
		pause(min(max(time.Duration(next-r.now()), shortest), maxPause))
	}
}

// wake wakes the writers that are due and returns when the next one is.
func (r *run) wake() (next int64, woken bool) {
	now := r.now()
	next = math.MaxInt64
	for _, c := range r.conns {
		switch due := c.due.Load(); {
		case due > now:
			next = min(next, due)
		case c.due.CompareAndSwap(due, math.MaxInt64):
			c.signal()
			woken = true
		}
	}
	return next, woken
}
