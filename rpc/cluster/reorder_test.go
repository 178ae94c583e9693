package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests that what the package promises holds where connections overtake each other and bytes are lost. Nothing
// here asserts a time.

// named calls echo with a name, which must come back.
func named(ctx context.Context, c rpc.Caller, name string) error {
	args := thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 1), name))
	return c.Invoke(ctx, &rpc.Invocation{
		Method:     "echo",
		AppendArgs: func(b []byte) ([]byte, error) { return append(b, args...), nil },
		ReadResult: func(b []byte) error {
			if string(b) != string(args) {
				return fmt.Errorf("the reply to %s is %q", name, b)
			}
			return nil
		},
	})
}

// nameIn returns the name in the arguments of a call.
func nameIn(args string) string {
	name, _ := thriftwire.ConsumeBytes([]byte(args[3:]))
	return string(name)
}

// journal is calls with names, and how they ended.
type journal struct {
	mu     sync.Mutex
	number int
	ended  map[string]error
}

// run makes calls from some callers until stop is called. A call that may run twice has a name that says so.
func (j *journal) run(t *testing.T, c rpc.Caller, callers int) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	j.ended = map[string]error{}
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for ctx.Err() == nil {
				j.mu.Lock()
				j.number++
				name, call := fmt.Sprintf("once %d", j.number), t.Context()
				j.mu.Unlock()
				if i%2 == 0 {
					name, call = "again"+strings.TrimPrefix(name, "once"), cluster.WithIdempotent(call)
				}
				err := named(call, c, name)
				j.mu.Lock()
				j.ended[name] = err
				j.mu.Unlock()
			}
		})
	}
	return func() {
		cancel()
		wg.Wait()
	}
}

// check compares what callers were told with what servers have seen.
func (j *journal) check(t *testing.T, f *field, attempts int) {
	t.Helper()
	seen := map[string]int{}
	for _, s := range f.stations {
		for args, n := range s.arrived() {
			seen[nameIn(args)] += n
		}
	}
	for name, n := range seen {
		_, known := j.ended[name]
		switch {
		case !known:
			t.Errorf("a server has seen %q, which nobody has called", name)
		case n > 1 && strings.HasPrefix(name, "once"):
			t.Errorf("%q ran %d times", name, n)
		case n > attempts:
			t.Errorf("%q ran %d times", name, n)
		}
	}
	for name, err := range j.ended {
		var e *cluster.Error
		switch {
		case err == nil && seen[name] == 0:
			t.Errorf("%q was answered by nobody", name)
		case err != nil && (!errors.As(err, &e) || len(e.Attempts) == 0 || len(e.Attempts) > attempts):
			t.Errorf("%q: %v", name, err)
		case err != nil && strings.HasPrefix(name, "once") && !e.Sent():
			t.Errorf("%q could have been repeated: %v", name, err)
		}
	}
}

// In one dialect replies are matched by their order on a connection, in the other by their number.
var orders = map[string][]cluster.Option{
	"in order":  {cluster.Dial(rpc.Framed()), cluster.Connections(4)},
	"any order": {cluster.Dial(rpc.THeader(header.None)), cluster.Connections(4)},
}

func TestConnectionsThatOvertakeEachOtherMixNothingUp(t *testing.T) {
	for name, opts := range orders {
		t.Run(name, func(t *testing.T) {
			f := newField(t, append(opts, cluster.NoBreakers(), cluster.NoEjections())...)
			for _, s := range f.stations {
				s.change(crossed)
			}
			var j journal
			stop := j.run(t, f.client, 24)
			counted(t, "calls overtake each other", f.overtaken, 20)
			stop()
			j.check(t, f, 3)
			for name, err := range j.ended {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, s := range f.stations {
				s.proxy.mu.Lock()
				made := s.made
				s.proxy.mu.Unlock()
				if made < 2 {
					t.Errorf("%d connections to a server", made)
				}
			}
		})
	}
}

// overtaken returns how many calls came to a server before one that had begun earlier.
func (f *field) overtaken() (n int64) {
	for _, s := range f.stations {
		s.mu.Lock()
		order := slices.Clone(s.order)
		s.mu.Unlock()
		last := 0
		for _, args := range order {
			var number int
			_, name, _ := strings.Cut(nameIn(args), " ")
			fmt.Sscan(name, &number)
			if number < last {
				n++
			}
			last = max(last, number)
		}
	}
	return n
}

func TestLostBytesFailNoCall(t *testing.T) {
	for name, opts := range orders {
		t.Run(name, func(t *testing.T) {
			f := newField(t, append(opts, cluster.NoBreakers(), cluster.NoEjections())...)
			for _, s := range f.stations {
				s.change(lossy)
			}
			var j journal
			stop := j.run(t, f.client, 12)
			more(t, 30, f.stations[:]...)
			stop()
			j.check(t, f, 3)
			for name, err := range j.ended {
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
		})
	}
}

// Everything at the same time: what is not idempotent never runs twice, what has succeeded has run, and what
// has failed was not safe to repeat.
func TestNoCallRunsTwiceThatMustNotInAnyWeather(t *testing.T) {
	for name, opts := range orders {
		t.Run(name, func(t *testing.T) {
			const pause = 50 * time.Millisecond
			f := newField(t, append(opts,
				cluster.Ejections(cluster.Ejection{Time: pause, MaxTime: pause}), cluster.Breakers(cluster.Breaker{Pause: pause, MaxPause: pause}),
				cluster.Hedging(cluster.Hedge{After: 10 * time.Millisecond, Budget: cluster.Budget{Share: 0.5, PerSecond: 100}}),
				cluster.Retries(cluster.Retry{Attempts: 3, Budget: cluster.Budget{Share: 10, PerSecond: 1000}}))...)
			var j journal
			stop := j.run(t, f.client, 16)
			for round, w := range []weather{crossed, lossy, crossed, slow, lossy} {
				s := f.stations[round%3]
				s.change(w)
				more(t, 20, f.stations[(round+1)%3], f.stations[(round+2)%3])
				s.reset()
				more(t, 20, f.stations[(round+1)%3])
				s.change(fair)
			}
			stop()
			j.check(t, f, 4) // three, and one beside
		})
	}
}

func TestHedgesStayWithinTheirBudgetWhereBytesAreLost(t *testing.T) {
	var attempts atomic.Int64
	f := newField(t, cluster.NoBreakers(), cluster.NoEjections(),
		cluster.Hedging(cluster.Hedge{After: time.Millisecond, Budget: cluster.Budget{Share: 0.1}}),
		cluster.Retries(cluster.Retry{Attempts: 1}),
		cluster.InterceptAttempts(func(context.Context, cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
			return nil, func(r cluster.AttemptResult) {
				var e *rpc.Error
				if !errors.As(r.Err, &e) || e.Sent || e.Stage != rpc.StageDial { // one that found its connection lost is made again at once
					attempts.Add(1)
				}
			}
		}))
	for _, s := range f.stations {
		s.change(crossed)
	}
	var j journal
	stop := j.run(t, f.client, 16)
	more(t, 30, f.stations[:]...)
	stop()
	j.check(t, f, 2)
	f.client.Close() // second attempts that nobody waits for may run yet
	calls, hedges := int64(j.number), int64(f.client.Stats().Hedges)
	if hedges == 0 || hedges > calls/10+1 || attempts.Load() > calls+hedges {
		t.Errorf("%d calls, %d hedges, %d attempts", calls, hedges, attempts.Load())
	}
}

func TestALossyAddressGetsFewerCalls(t *testing.T) {
	f := newField(t, cluster.Balance(cluster.LeastPending()), cluster.NoBreakers(), cluster.NoEjections())
	b := f.stations[1]
	b.change(lossy)
	stop := f.load(t, 12)
	more(t, 2000, f.stations[0], f.stations[2])
	if errs := stop(); len(errs) > 0 {
		t.Errorf("%d calls failed: %v", len(errs), errs[0])
	}
	if n, rest := b.calls.Load(), f.stations[0].calls.Load()+f.stations[2].calls.Load(); n > rest/2 {
		t.Errorf("%d calls on the lossy address, %d on the others", n, rest)
	}
}

// What comes from a connection that was given up, later than everything else, counts for nothing.
func TestRepliesThatComeTooLateChangeNothing(t *testing.T) {
	f := newField(t, cluster.NoEjections(), cluster.Retries(cluster.Retry{Attempts: 2, AttemptTimeout: lateness * 2 / 3, Budget: cluster.Budget{Share: 10, PerSecond: 1000}}),
		// So many calls that a machine which stands still for some attempts' time opens no breaker of a good address.
		cluster.Breakers(cluster.Breaker{Window: time.Hour, Calls: 20, Share: 0.9, Pause: time.Hour, MaxPause: time.Hour}))
	b := f.stations[1]
	b.change(slow)
	var j journal
	stop := j.run(t, f.client, 6)
	eventually(t, "the breaker opens", func() bool { return f.attempts(b).Breaker == cluster.Open })
	came := b.calls.Load()
	eventually(t, "late calls come", func() bool { return b.calls.Load() > came || f.stations[0].calls.Load() > 500 })
	b.change(fair)
	more(t, 100, f.stations[0], f.stations[2])
	stop()
	j.check(t, f, 2)
	if a := f.attempts(b); a.Breaker != cluster.Open {
		t.Errorf("the breaker is %v", a.Breaker)
	}
}
