package load

import (
	"cmp"
	"slices"
	"sync"
	"time"
)

// This file holds what connections note and how it is put together.

// shards is the number of recorders at most: a histogram is 35 kB, so
// connections share them.
const shards = 16

// recorder holds what some connections have noted. Its mutex is taken once for
// all replies of a read.
type recorder struct {
	mu         sync.Mutex
	kinds      []histogram // of good replies to measured requests
	refused    histogram
	lag        histogram
	replies    int64 // good ones, from the start
	failed     int64 // sum of errors
	errors     [errorKinds]int64
	declared   int64
	exceptions []Exception
	first      string
	sent       int64 // bytes
	received   int64
	reconnects int64
	_          [64]byte // recorders do not share cache lines
}

// fail counts n failures of a kind. Only the first is described.
func (r *recorder) fail(k ErrorKind, n int, describe func() string) {
	if n == 0 {
		return
	}
	r.errors[k] += int64(n)
	r.failed += int64(n)
	if r.first == "" {
		r.first = k.String()
		if describe != nil {
			r.first += ": " + describe()
		}
	}
}

// maxExceptions is how many kinds of exceptions are told apart. The rest are
// counted as the last.
const maxExceptions = 64

// refuse counts an exception.
func (r *recorder) refuse(code int32, ex []byte) {
	for i := range r.exceptions {
		if e := &r.exceptions[i]; e.Type == code && e.Ex == string(ex) || i == maxExceptions-1 {
			e.Count++
			return
		}
	}
	r.exceptions = append(r.exceptions, Exception{Type: code, Ex: string(ex[:min(len(ex), 256)]), Count: 1})
}

// total is the sum of all recorders at one time.
type total struct {
	replies, failed int64
	latency         histogram
}

// total sums up what the series needs.
func (r *run) total() *total {
	t := new(total)
	for i := range r.recorders {
		rec := &r.recorders[i]
		rec.mu.Lock()
		t.replies += rec.replies
		t.failed += rec.failed
		for k := range rec.kinds {
			t.latency.merge(&rec.kinds[k])
		}
		rec.mu.Unlock()
	}
	return t
}

// second returns what lies between two totals.
func second(before, after *total, at, length time.Duration) Second {
	d := after.latency.since(&before.latency)
	s := Second{
		At: at, Length: length,
		Replies: after.replies - before.replies, Errors: after.failed - before.failed,
	}
	if d.n > 0 {
		s.P50, s.P99, s.Max = d.quantile(0.5), d.quantile(0.99), time.Duration(d.max)
	}
	return s
}

// add adds a part of a second that follows, too short to change the percentiles.
func (s *Second) add(next Second) {
	s.At = next.At
	s.Length += next.Length
	s.Replies += next.Replies
	s.Errors += next.Errors
	s.Max = max(s.Max, next.Max)
}

// result puts the notes of all connections together, which have ended.
func (r *run) result(res *Result) {
	c := r.cfg
	res.Connections, res.Depth, res.Rate, res.Poisson = c.Connections, c.Depth, c.Rate, c.Poisson && c.Rate > 0
	kinds := make([]histogram, len(r.kinds))
	var all, refused, lag histogram
	exceptions := map[Exception]int64{}
	res.Errors = map[ErrorKind]int64{}
	for i := range r.recorders {
		rec := &r.recorders[i]
		for k := range kinds {
			kinds[k].merge(&rec.kinds[k])
			all.merge(&rec.kinds[k])
		}
		refused.merge(&rec.refused)
		lag.merge(&rec.lag)
		for k, n := range rec.errors {
			if n > 0 {
				res.Errors[ErrorKind(k)] += n
			}
		}
		for _, e := range rec.exceptions {
			exceptions[Exception{Type: e.Type, Ex: e.Ex}] += e.Count
		}
		res.BytesSent += rec.sent
		res.BytesReceived += rec.received
		res.Declared += rec.declared
		res.Reconnects += rec.reconnects
		if res.FirstError == "" {
			res.FirstError = rec.first
		}
	}
	res.Latency, res.Refused, res.Lag = all.summary(), refused.summary(), lag.summary()
	res.Percentiles = all.points()
	res.Kinds = make([]Kind, len(kinds))
	for k := range kinds {
		res.Kinds[k] = Kind{Name: r.kinds[k], Latency: kinds[k].summary()}
	}
	res.Exceptions = make([]Exception, 0, len(exceptions))
	for e, n := range exceptions {
		e.Count = n
		res.Exceptions = append(res.Exceptions, e)
	}
	slices.SortFunc(res.Exceptions, func(a, b Exception) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Type, b.Type), cmp.Compare(a.Ex, b.Ex))
	})
}
