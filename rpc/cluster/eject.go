package cluster

import (
	"sync/atomic"
	"time"
)

// This file holds ejection: addresses that fail more than the others do get
// no calls for a while.

// Ejection configures which addresses are ejected, and for how long. The zero value of a field is its default.
type Ejection struct {
	Consecutive int           // failures in a row that eject; default 5
	Interval    time.Duration // between comparisons of addresses; default 10 s
	Calls       int           // of an address in an interval, below which it is not compared; default 50
	Gap         float64       // by which the share of successes must be below that of all others together; default 0.3
	Time        time.Duration // of the first ejection; the n-th lasts n times as long; default 15 s
	MaxTime     time.Duration // default 5 min
	MaxShare    float64       // of the addresses that may be ejected, one of two or more in any case; default 0.5
}

func (e Ejection) withDefaults() *Ejection {
	setDefault(&e.Consecutive, 5)
	setDefault(&e.Interval, 10*time.Second)
	setDefault(&e.Calls, 50)
	setDefault(&e.Gap, 0.3)
	setDefault(&e.Time, 15*time.Second)
	setDefault(&e.MaxTime, 5*time.Minute)
	setDefault(&e.MaxShare, 0.5)
	return &e
}

// most returns how many of n addresses may be ejected.
func (e *Ejection) most(n int) int {
	if n < 2 {
		return 0
	}
	return min(max(int(e.MaxShare*float64(n)), 1), n-1)
}

// health is what is known of one address for ejection.
type health struct {
	failures atomic.Int32 // in a row
	until    atomic.Int64 // when the ejection ends; 0 if there is none

	overtaken atomic.Int32 // attempts in a row beside which another one was faster
	late      atomic.Int64 // until when it gets calls only if no other address does

	// Guarded by the client's mu.
	times    int   // ejections, of which good times take away
	returned int64 // when the last one ended
	attempts uint64
	failed   uint64 // both as they were at the last comparison
}

// eject ejects h from now on.
func (e *Ejection) eject(h *health, now int64) {
	h.times = max(h.times-int((now-h.returned)/int64(e.Interval)), 0) + 1
	d := min(time.Duration(h.times)*e.Time, e.MaxTime)
	h.returned = now + int64(d)
	h.failures.Store(0)
	h.until.Store(h.returned)
}

// The numbers of attempts in a row that were overtaken from which on an address is left alone for a while, and
// to which the while grows: delays of the second attempt, doubled for each.
const (
	overtakenFew  = 2
	overtakenMost = 6
)

// overtake notes that a second attempt, made after delay, was faster than one on the address.
// Cancelled attempts make a slow address look idle, so that it would get the next call, too. After the
// while it gets one call at a time, until one is not overtaken.
func (h *health) overtake(now int64, delay time.Duration) {
	if n := min(h.overtaken.Add(1), overtakenMost); n >= overtakenFew {
		h.late.Store(now + int64(delay)<<n)
	}
}

// record is what an address has done in an interval.
type record struct{ attempts, failed uint64 }

// outliers returns the indexes of the records that are too far below all
// others together.
func (e *Ejection) outliers(records []record) []int {
	var all record
	for _, r := range records {
		all.attempts += r.attempts
		all.failed += r.failed
	}
	var out []int
	for i, r := range records {
		others := record{all.attempts - r.attempts, all.failed - r.failed}
		if r.attempts < uint64(e.Calls) || others.attempts < uint64(e.Calls) {
			continue
		}
		if r.success() < others.success()-e.Gap {
			out = append(out, i)
		}
	}
	return out
}

func (r record) success() float64 { return 1 - float64(r.failed)/float64(r.attempts) }
