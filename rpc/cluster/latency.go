package cluster

import (
	"math/bits"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the quantile of recent latencies, after which a call is hedged.

const (
	sampleEvery = 4                // calls of which one is counted
	minSamples  = 16               // below which there is no quantile
	generation  = 10 * time.Second // of latencies, of which the last two count
	recompute   = 100 * time.Millisecond
	slots       = 4 * 64 // four for each power of two of nanoseconds
)

// latencies counts latencies with an error of at most a quarter, and forgets those older than two generations.
type latencies struct {
	quantile float64
	value    atomic.Int64 // the quantile as it was last computed; 0 for not known
	due      atomic.Int64 // when it is computed again

	mu      sync.Mutex
	counts  [2][slots]atomic.Uint32
	current atomic.Int32 // generation that is counted in
	turned  int64        // when it began
}

// add counts a latency that ended at now.
func (l *latencies) add(now int64, d time.Duration) {
	l.counts[l.current.Load()][slotOf(d)].Add(1)
}

// get returns the quantile, 0 while too few latencies are known.
func (l *latencies) get(now int64) time.Duration {
	if due := l.due.Load(); now >= due && l.due.CompareAndSwap(due, now+int64(recompute)) {
		l.value.Store(int64(l.compute(now)))
	}
	return time.Duration(l.value.Load())
}

func (l *latencies) compute(now int64) time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now-l.turned >= int64(generation) {
		next := 1 - l.current.Load()
		for i := range l.counts[next] {
			l.counts[next][i].Store(0)
		}
		l.current.Store(next)
		if now-l.turned >= int64(2*generation) { // the other one is old, too
			for i := range l.counts[1-next] {
				l.counts[1-next][i].Store(0)
			}
		}
		l.turned = now
	}
	var sums [slots]uint64
	var total uint64
	for i := range sums {
		sums[i] = uint64(l.counts[0][i].Load()) + uint64(l.counts[1][i].Load())
		total += sums[i]
	}
	if total < minSamples {
		return 0
	}
	left := uint64(l.quantile * float64(total))
	for i, n := range sums {
		if n > left {
			return slotEnd(i)
		}
		left -= n
	}
	return slotEnd(slots - 1)
}

// slotOf returns the slot of d: its power of two, and the two bits below.
func slotOf(d time.Duration) int {
	n := uint64(max(d, 4))
	top := bits.Len64(n) - 1
	return 4*top + int(n>>(top-2)&3)
}

// slotEnd returns the first duration beyond slot i.
func slotEnd(i int) time.Duration {
	top, part := i/4, uint64(i%4)
	if top >= 62 {
		return 1<<63 - 1
	}
	if top < 2 {
		return 4
	}
	return time.Duration((5 + part) << (top - 2))
}
