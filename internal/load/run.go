package load

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds a run from its first connection to its result.

// run is one run. Times in it are nanoseconds since start.
type run struct {
	cfg       *Config
	ctx       context.Context
	kinds     []string
	kindOf    []uint16                 // of each request
	order     []uint16                 // of requests
	ordered   bool                     // replies come in the order of requests
	expect    []atomic.Pointer[[]byte] // of each request, nil for any payload
	recorders []recorder
	conns     []*conn

	start time.Time
	begin int64         // of what is measured
	end   atomic.Int64  // no request is sent from then on
	stop  atomic.Int64  // no reply is waited for from then on
	ended chan struct{} // closed when end has been reached
}

// Run drives a server as cfg says until the time is over or ctx ends; the
// result then is about the time until then. An error means that there is no
// result: cfg cannot be, or a first connection could not be made.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	if err := cfg.complete(); err != nil {
		return nil, err
	}
	r := &run{cfg: &cfg, ctx: ctx, ordered: cfg.Form.Ordered(), ended: make(chan struct{})}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	if err := r.dial(); err != nil {
		for _, c := range r.conns {
			c.close()
		}
		return nil, err
	}
	res := new(Result)
	r.begin = int64(cfg.Warmup)
	r.end.Store(math.MaxInt64)
	r.stop.Store(math.MaxInt64)
	if cfg.Duration > 0 {
		r.end.Store(r.begin + int64(cfg.Duration))
	}
	r.start = time.Now()
	var wg sync.WaitGroup
	for _, c := range r.conns {
		wg.Go(c.run)
	}
	if cfg.Rate > 0 {
		wg.Go(r.pace)
	}
	r.watch(res)
	defer context.AfterFunc(ctx, r.abandon)()
	wg.Wait()
	r.result(res)
	return res, nil
}

// now returns the time since the start.
func (r *run) now() int64 { return int64(time.Since(r.start)) }

// prepare makes what connections share.
func (r *run) prepare() error {
	rng := rand.New(rand.NewPCG(r.cfg.Seed, 1))
	r.expect = make([]atomic.Pointer[[]byte], len(r.cfg.Requests))
	for i := range r.cfg.Requests {
		if want := &r.cfg.Requests[i].Expect; *want != nil {
			r.expect[i].Store(want)
		}
		name := r.cfg.Requests[i].Kind
		k := slices.Index(r.kinds, name)
		if k < 0 {
			k = len(r.kinds)
			r.kinds = append(r.kinds, name)
		}
		r.kindOf = append(r.kindOf, uint16(k))
	}
	if len(r.kinds) > maxKinds {
		return fmt.Errorf("load: %d kinds of requests; there can be %d", len(r.kinds), maxKinds)
	}
	r.order = order(r.cfg.Requests, rng.Shuffle)
	r.recorders = make([]recorder, min(shards, r.cfg.Connections))
	for i := range r.recorders {
		r.recorders[i].kinds = make([]histogram, len(r.kinds))
	}
	r.conns = make([]*conn, r.cfg.Connections)
	for i := range r.conns {
		r.conns[i] = newConn(r, i, rng.IntN(len(r.order)))
	}
	return nil
}

// maxKinds is how many kinds of requests have histograms.
const maxKinds = 64

// dial makes the first connections, several at a time.
func (r *run) dial() error {
	var wg sync.WaitGroup
	var next atomic.Int64
	errs := make([]error, min(64, len(r.conns)))
	for w := range errs {
		wg.Go(func() {
			for i := next.Add(1) - 1; i < int64(len(r.conns)) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = r.conns[i].dial()
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// watch goes along with a run to its end: it calls the hooks, notes the series
// and ends what the context ends.
func (r *run) watch(res *Result) {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	if r.sleep(r.begin, ticker.C, func() { r.progress(Second{}, r.total()) }) {
		r.finish()
		return
	}
	ticker.Reset(time.Second)
	if r.cfg.Begin != nil {
		r.cfg.Begin()
	}
	first := r.total()
	last, begin := first, time.Since(r.start)
	at := begin
	mark := func(final bool) {
		now, t := time.Since(r.start), r.total()
		s := second(last, t, now-begin, now-at)
		if n := len(res.Series); final && n > 0 && s.Length < time.Second/10 { // too short to stand alone
			res.Series[n-1].add(s)
		} else {
			res.Series = append(res.Series, s)
		}
		last, at = t, now
		if !final {
			r.progress(res.Series[len(res.Series)-1], t)
		}
	}
	r.sleep(r.end.Load(), ticker.C, func() { mark(false) })
	mark(true)
	if r.cfg.End != nil {
		r.cfg.End()
	}
	r.finish()
	res.Elapsed = at - begin
	res.Replies = last.replies - first.replies
	if res.Elapsed > 0 {
		res.Throughput = float64(res.Replies) / res.Elapsed.Seconds()
	}
}

// sleep waits for a time and calls tick meanwhile. It reports whether the context
// has ended.
func (r *run) sleep(until int64, ticks <-chan time.Time, tick func()) bool {
	t := time.NewTimer(time.Duration(until - r.now()))
	defer t.Stop()
	for {
		select {
		case <-r.ctx.Done():
			return true
		case <-t.C:
			return false
		case <-ticks:
			tick()
		}
	}
}

// progress tells the user how far the run has come.
func (r *run) progress(s Second, t *total) {
	if r.cfg.Progress == nil {
		return
	}
	r.cfg.Progress(Progress{Elapsed: time.Since(r.start), Warmup: s.Length == 0, Replies: t.replies, Errors: t.failed, Last: s})
}

// grace is how long replies are waited for when the context has ended.
const grace = time.Second / 2

// finish ends sending. Replies are waited for as long as they may take.
func (r *run) finish() {
	now := r.now()
	r.end.Store(min(now, r.end.Load()))
	close(r.ended)
	r.stop.Store(now + int64(r.cfg.Timeout)*5/4) // when all have timed out
	for _, c := range r.conns {
		c.poke()
	}
}

// abandon ends waiting for replies, since the context has ended.
func (r *run) abandon() {
	r.stop.Store(r.now() + int64(min(grace, r.cfg.Timeout)))
	for _, c := range r.conns {
		c.poke()
	}
}
