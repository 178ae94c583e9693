package cluster

import (
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the circuit breaker of one address, as arithmetic on a clock
// that is passed in: nanoseconds since the client was made.

// BreakerState is what a circuit breaker does with calls.
type BreakerState int32

const (
	Closed   BreakerState = iota // calls pass
	Open                         // calls go elsewhere, or fail
	HalfOpen                     // one call at a time tries the address
)

// String returns the name of s, such as "half-open".
func (s BreakerState) String() string { return [...]string{"closed", "open", "half-open"}[s] }

// buckets is the number of parts of a breaker's window, each of which is forgotten as a whole.
const buckets = 10

// never is the part of a bucket that counts nothing.
const never = math.MinInt64

// breaker decides whether one address may be called.
//
// Invariants: all but state and window are guarded by mu. testing is true
// only while HalfOpen, from a test's admission to its end.
type breaker struct {
	opt    *Breaker // nil for none
	state  atomic.Int32
	window [buckets]bucket

	mu      sync.Mutex
	until   int64 // when Open ends
	opened  int   // times since it was last closed for good
	testing bool
	passed  int // tests in a row
}

// bucket counts the ends of calls in one part of the window.
type bucket struct {
	part         atomic.Int64 // whose counts these are, which says when they are old
	good, failed atomic.Int32
}

// usable reports whether enter would admit a call.
func (b *breaker) usable(now int64) bool {
	if b.state.Load() == int32(Closed) {
		return true
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.admits(now)
}

func (b *breaker) admits(now int64) bool {
	switch BreakerState(b.state.Load()) {
	case Open:
		return now >= b.until
	case HalfOpen:
		return !b.testing
	}
	return true
}

// enter admits a call. test says that it decides what becomes of the breaker,
// and must be given to leave.
func (b *breaker) enter(now int64) (admitted, test bool) {
	if b.state.Load() == int32(Closed) {
		return true, false
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if !b.admits(now) {
		return false, false
	}
	if b.state.Load() == int32(Closed) {
		return true, false
	}
	b.state.Store(int32(HalfOpen))
	b.testing = true
	return true, true
}

// leave notes the end of a call. It reports whether the state has become another.
func (b *breaker) leave(now int64, o Outcome, test bool) (changed bool) {
	if b.opt == nil {
		return false
	}
	if test {
		return b.leaveTest(now, o)
	}
	switch o {
	case Succeeded:
		b.bucket(now).good.Add(1)
	case Failed, Refused:
		b.bucket(now).failed.Add(1)
		if b.state.Load() == int32(Closed) && b.tooMany(now) {
			b.mu.Lock()
			defer b.mu.Unlock()
			if b.state.Load() != int32(Closed) {
				return false
			}
			b.open(now)
			return true
		}
	}
	return false
}

// leaveTest notes the end of a test.
func (b *breaker) leaveTest(now int64, o Outcome) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.testing = false
	switch o {
	case Succeeded:
		if b.passed++; b.passed < b.opt.Tests {
			return false
		}
		b.opened, b.passed = 0, 0
		for i := range b.window {
			b.window[i].part.Store(never)
		}
		b.state.Store(int32(Closed))
		return true
	case Failed, Refused:
		b.open(now)
		return true
	}
	return false // a call that was given up says nothing
}

// open opens the breaker. b.mu is held.
func (b *breaker) open(now int64) {
	d := b.opt.Pause
	for range min(b.opened, 30) {
		d = min(2*d, b.opt.MaxPause)
	}
	b.opened++
	b.passed = 0
	// Half of the pause is random, so that clients do not test all at the same time.
	b.until = now + int64(d/2) + rand.Int64N(int64(d/2)+1)
	b.state.Store(int32(Open))
}

// tooMany reports whether the window holds enough failures to open the breaker.
func (b *breaker) tooMany(now int64) bool {
	part := b.part(now)
	var good, failed int
	for i := range b.window {
		if w := &b.window[i]; w.part.Load() > part-buckets {
			good += int(w.good.Load())
			failed += int(w.failed.Load())
		}
	}
	return good+failed >= b.opt.Calls && float64(failed) >= b.opt.Share*float64(good+failed)
}

func (b *breaker) part(now int64) int64 { return now / max(int64(b.opt.Window)/buckets, 1) }

// bucket returns the bucket of now, empty if it was an old one. A count that arrives
// while another call empties it may be lost, which a share of many calls does not feel.
func (b *breaker) bucket(now int64) *bucket {
	part := b.part(now)
	w := &b.window[part%buckets]
	if old := w.part.Load(); old != part && w.part.CompareAndSwap(old, part) {
		w.good.Store(0)
		w.failed.Store(0)
	}
	return w
}

func newBreaker(opt *Breaker) *breaker {
	b := &breaker{opt: opt}
	for i := range b.window {
		b.window[i].part.Store(never)
	}
	return b
}

// Breaker configures circuit breakers, one for each address. While one is
// open its address gets no calls, and if all are open calls fail at once: that is what gives servers the
// rest to recover, where ejection only moves load to others.
type Breaker struct {
	Window   time.Duration // over which calls are counted; default 10 s
	Calls    int           // below which nothing is concluded from a window; default 20
	Share    float64       // of failures that opens it; default 0.5
	Pause    time.Duration // of the first opening; each without success between doubles it; default 1 s
	MaxPause time.Duration // default 30 s
	Tests    int           // calls that must succeed one after another to close it; default 3
}

func (b Breaker) withDefaults() *Breaker {
	setDefault(&b.Window, 10*time.Second)
	setDefault(&b.Calls, 20)
	setDefault(&b.Share, 0.5)
	setDefault(&b.Pause, time.Second)
	setDefault(&b.MaxPause, 30*time.Second)
	setDefault(&b.Tests, 3)
	b.MaxPause = max(b.MaxPause, b.Pause)
	return &b
}

// setDefault sets what is not positive.
func setDefault[T int | float64 | time.Duration](v *T, d T) {
	if *v <= 0 {
		*v = d
	}
}
