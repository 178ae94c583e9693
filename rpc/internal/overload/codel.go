package overload

import (
	"sync/atomic"
	"time"
)

// This file holds the limit on the time that requests wait.

// Defaults of CoDel, which are fbthrift's.
const (
	DefaultCoDelInterval = 100 * time.Millisecond
	DefaultCoDelTarget   = 5 * time.Millisecond
)

// CoDel tells a queue that stands from one that a burst has made: a good
// queue is empty now and then, so that the shortest wait in an interval is
// short. While the shortest wait of the last interval exceeded the target,
// requests that have waited for more than twice the target are to be dropped.
// Its methods are safe for concurrent use.
type CoDel struct {
	interval, target int64

	end      atomic.Int64 // of this interval
	least    atomic.Int64 // shortest wait in it
	standing atomic.Bool  // the last interval had a queue that stands
}

// NewCoDel returns a CoDel that has seen no wait; zeros mean the defaults.
func NewCoDel(interval, target time.Duration) *CoDel {
	if interval <= 0 {
		interval = DefaultCoDelInterval
	}
	if target <= 0 {
		target = DefaultCoDelTarget
	}
	return &CoDel{interval: int64(interval), target: int64(target)}
}

// Overloaded notes that a request leaves the queue, in which it was for delay
// nanoseconds, and reports whether it is to be dropped.
func (c *CoDel) Overloaded(now, delay int64) bool {
	end := c.end.Load()
	if now >= end || now < end-c.interval {
		if c.end.CompareAndSwap(end, now+c.interval) {
			least := c.least.Swap(delay)
			// An interval without requests had no queue either.
			c.standing.Store(least > c.target && now-end < c.interval && now >= end)
		}
	} else {
		for least := c.least.Load(); delay < least && !c.least.CompareAndSwap(least, delay); {
			least = c.least.Load()
		}
	}
	return delay > 2*c.target && c.standing.Load()
}
