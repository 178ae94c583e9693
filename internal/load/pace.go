package load

import (
	"runtime"
	"time"
)

// This file holds the pacer of an open loop.

// pace wakes writers when their requests are due, until the run ends. One
// goroutine does so for all connections, on a thread of its own, because Go's
// timers are up to a millisecond late where a program is otherwise idle: too
// much where a server takes tens of microseconds.
func (r *run) pace() {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	sharpen()
	for {
		select {
		case <-r.ended:
			return
		default:
		}
		now := r.now()
		next := now + int64(maxPause)
		for _, c := range r.conns {
			switch due := c.due.Load(); {
			case due <= now:
				if c.due.CompareAndSwap(due, 1<<63-1) {
					c.signal()
				}
			case due < next:
				next = due
			}
		}
		pause(time.Duration(next - now))
	}
}

// maxPause is how long the pacer sleeps at most: a writer that has just become
// ready may be due before the others.
const maxPause = 100 * time.Microsecond
