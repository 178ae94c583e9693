package cluster_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests which calls are made again, and how often.

// only makes one server of the fleet do f, the others nothing.
func (f *fleet) only(name string, do func(ctx context.Context) error) {
	for n, node := range f.node {
		if n == name {
			node.handle(do)
		}
	}
}

// fail returns what a handler does to answer with an exception.
func fail(t int32) func(context.Context) error {
	return func(context.Context) error { return &rpc.ApplicationException{Type: t, Message: "no"} }
}

func TestOnlySafeCallsAreRepeated(t *testing.T) {
	for name, c := range map[string]struct {
		opts     []rpc.ServerOption
		handler  func(context.Context) error
		attempts map[bool]int // whether the method is idempotent → attempts
	}{
		"the application's exception": {nil, fail(rpc.InternalError), map[bool]int{false: 1, true: 1}},
		"a timeout of the server":     {nil, fail(rpc.Timeout), map[bool]int{false: 1, true: 3}},
		"an exception passed on":      {nil, fail(rpc.LoadShedding), map[bool]int{false: 1, true: 1}},
		"a refusal":                   {[]rpc.ServerOption{rpc.Overloaded(func(rpc.CallInfo) error { return errors.New("no") })}, nil, map[bool]int{false: 3, true: 3}},
	} {
		for _, idempotent := range []bool{false, true} {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t)
				for _, n := range three {
					f.node[n] = &node{fleet: f, name: n, opts: c.opts}
					f.node[n].start()
					if c.handler != nil {
						f.node[n].handle(c.handler)
					}
				}
				defer f.stop()
				cl := f.client()
				defer cl.Close()
				warm(t, cl)
				ctx := t.Context()
				if idempotent {
					ctx = cluster.WithIdempotent(ctx)
				}
				err := echo(ctx, cl)
				var e *cluster.Error
				var cause *rpc.ApplicationException
				if !errors.As(err, &e) || !errors.As(err, &cause) || len(e.Attempts) != c.attempts[idempotent] {
					t.Fatalf("%s, idempotent %v: %v", name, idempotent, err)
				}
				seen := map[string]bool{}
				for i, a := range e.Attempts {
					if seen[a.Address.Addr] || a.Number != i+1 {
						t.Errorf("%s: attempt %d, numbered %d, is on %s again", name, i+1, a.Number, a.Address)
					}
					seen[a.Address.Addr] = true
				}
			})
		}
	}
}

func TestServersSeeTheNumberOfAnAttempt(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	bubble(t, three, []cluster.Option{cluster.Idempotent("echo")}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(func(ctx context.Context) error {
				info, _ := rpc.Info(ctx)
				text, _ := info.Header(cluster.AttemptHeader)
				mu.Lock()
				defer mu.Unlock()
				seen = append(seen, text)
				if len(seen) < 3 {
					return &rpc.ApplicationException{Type: rpc.Timeout}
				}
				return nil
			})
		}
		if err := echo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(seen, ","); got != ",2,3" {
			t.Errorf("servers saw %q", got)
		}
		if s := c.Stats(); s.Retries != 2 || s.Hedges != 0 {
			t.Errorf("counted: %+v", s)
		}
	})
}

func TestTheBudgetBoundsRetries(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.NoBreakers(), cluster.NoEjections(),
		cluster.Retries(cluster.Retry{Budget: cluster.Budget{Share: 0.2, PerSecond: 1}})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(fail(rpc.Timeout))
		}
		const calls = 1000
		denied := 0
		for range calls {
			if err := echo(t.Context(), c); errors.Is(err, cluster.ErrBudget) {
				denied++
			} else if err == nil {
				t.Fatal("no error")
			}
		}
		var sum int64
		for _, n := range f.counts() {
			sum += n
		}
		s := c.Stats()
		if extra := sum - calls; extra < 100 || extra > calls/5+100 || s.Retries != uint64(extra) || s.BudgetDenied != uint64(denied) {
			t.Errorf("%d further attempts for %d calls, %d denied: %+v", extra, calls, denied, s)
		}
	})
}

func TestRetriesEndWithTheDeadline(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Retries(cluster.Retry{
		Attempts: 5, Backoff: resolve.Backoff{Base: time.Hour, Max: time.Hour}})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(fail(rpc.Timeout))
		}
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
		defer cancel()
		err := echo(ctx, c)
		var e *cluster.Error
		if !errors.As(err, &e) || len(e.Attempts) != 1 || time.Since(start) > 0 {
			t.Errorf("after %v: %v", time.Since(start), err)
		}
	})
}

func TestAnAttemptHasItsOwnTime(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Retries(cluster.Retry{AttemptTimeout: time.Second})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		var left atomic.Int64
		f.only("b", func(ctx context.Context) error {
			deadline, _ := ctx.Deadline()
			left.Store(int64(time.Until(deadline)))
			<-ctx.Done()
			return ctx.Err()
		})
		for range 30 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if got := time.Duration(left.Load()); f.node["b"].calls.Load() == 0 || got < 990*time.Millisecond || got > time.Second+10*time.Millisecond {
			t.Errorf("%d calls on b, which knew of %v", f.node["b"].calls.Load(), got)
		}
	})
}

func TestOnewayCallsAreMadeOnce(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Idempotent("echo")}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for range 10 {
			if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo", Oneway: true}); err != nil {
				t.Fatal(err)
			}
		}
		synctest.Wait()
		var sum int64
		for _, n := range f.counts() {
			sum += n
		}
		if sum != 10 {
			t.Errorf("%d calls on servers, made 10", sum)
		}
	})
}

func TestASlowServerIsHedged(t *testing.T) {
	for name, contextOf := range map[string]func(*testing.T) context.Context{
		"a context that nobody ends": func(*testing.T) context.Context { return context.Background() },
		"one with values":            func(*testing.T) context.Context { return cluster.WithKey(context.Background(), "key") },
		"one that can be cancelled":  (*testing.T).Context,
	} {
		t.Run(name, func(t *testing.T) { testHedging(t, contextOf) })
	}
}

func testHedging(t *testing.T, contextOf func(*testing.T) context.Context) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Balance(cluster.RoundRobin()),
		cluster.Hedging(cluster.Hedge{After: 10 * time.Millisecond, Budget: cluster.Budget{Share: 1, PerSecond: 1}})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.node["b"].slow(time.Second)
		for i := range 300 {
			synctest.Wait() // the connection of a call that was given up is made again
			start := time.Now()
			text, read := []byte{11, 0, 1, 0, 0, 0, 1, 'x', 0}, 0
			err := c.Invoke(contextOf(t), &rpc.Invocation{Method: "echo",
				AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, text...), nil },
				ReadResult: func(b []byte) error {
					if read++; string(b) != string(text) {
						return errors.New("another result")
					}
					return nil
				}})
			if took := time.Since(start); err != nil || read != 1 || took > 10*time.Millisecond {
				t.Fatalf("call %d: %v after %v, read %d times", i, err, took, read)
			}
		}
		s := c.Stats()
		if n := f.node["b"].calls.Load(); n < 2 || s.Hedges == 0 || s.Hedges > uint64(n) {
			t.Errorf("%d calls on the slow server, %d hedges", n, s.Hedges)
		}
		for _, a := range s.Addresses {
			if a.Failed != 0 || a.Ejected {
				t.Errorf("%s failed %d times for being overtaken", a.Address, a.Failed)
			}
		}
	})
}

func TestCallsWithoutADeadlineEndInTime(t *testing.T) {
	for name, more := range map[string][]cluster.Option{
		"plain":                            nil,
		"hedged":                           {cluster.Hedging(cluster.Hedge{After: time.Second, Budget: cluster.Budget{Share: 1, PerSecond: 10}})},
		"hedged beyond the budget":         {cluster.Hedging(cluster.Hedge{After: time.Second, Budget: cluster.Budget{Share: 1e-9}})},
		"to be hedged after the deadline":  {cluster.Hedging(cluster.Hedge{After: time.Minute})},
		"hedged, with time for an attempt": {cluster.Hedging(cluster.Hedge{After: time.Second}), cluster.Retries(cluster.Retry{AttemptTimeout: time.Minute})},
	} {
		opts := append([]cluster.Option{cluster.Idempotent("echo"), cluster.Timeout(5 * time.Second), cluster.NoBreakers()}, more...)
		bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
			for _, n := range f.node {
				n.slow(time.Hour)
			}
			for range 3 {
				start := time.Now()
				ctx := cluster.WithKey(context.Background(), "key")
				err := echo(ctx, c)
				if took := time.Since(start); !errors.Is(err, context.DeadlineExceeded) || took < 5*time.Second || took > 5*time.Second*65/64 {
					t.Errorf("%s: %v after %v", name, err, took)
				}
				synctest.Wait()
			}
		})
	}
}

func TestHedgesHaveABudgetAndAQuantile(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Balance(cluster.RoundRobin()),
		cluster.Hedging(cluster.Hedge{Quantile: 0.5, Budget: cluster.Budget{Share: 0.1}})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.slow(20 * time.Millisecond)
		}
		for range 300 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.Stats().Hedges; n != 0 {
			t.Errorf("%d hedges of calls that are as fast as most", n)
		}
		var begun atomic.Int64
		for _, n := range f.node { // each is slow now and then, or it would be left alone
			n.handle(func(ctx context.Context) error {
				wait := 20 * time.Millisecond
				if begun.Add(1)%3 == 0 {
					wait = 5 * time.Second
				}
				select {
				case <-time.After(wait):
					return nil
				case <-ctx.Done():
					return ctx.Err()
				}
			})
		}
		for range 150 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		// Half of the calls at most want a hedge, and a tenth get one.
		if n := c.Stats().Hedges; n < 10 || n > 45 {
			t.Errorf("%d hedges of 450 calls", n)
		}
	})
}

func TestMethodsThatAreNotIdempotentAreNotHedged(t *testing.T) {
	opts := []cluster.Option{cluster.Hedging(cluster.Hedge{After: time.Millisecond})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.slow(time.Second)
		}
		for range 10 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if n := c.Stats().Hedges; n != 0 {
			t.Errorf("%d hedges", n)
		}
	})
}

func TestAHedgedCallThatFailsTellsOfBothAttempts(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Retries(cluster.Retry{Attempts: 1}),
		cluster.Hedging(cluster.Hedge{After: time.Second, Budget: cluster.Budget{Share: 1, PerSecond: 1}})}
	bubble(t, []string{"a", "b"}, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(func(context.Context) error {
				time.Sleep(2 * time.Second)
				return &rpc.ApplicationException{Type: rpc.Timeout}
			})
		}
		err := echo(t.Context(), c)
		var e *cluster.Error
		if !errors.As(err, &e) || len(e.Attempts) != 2 || e.Attempts[0].Hedge == e.Attempts[1].Hedge ||
			!strings.Contains(err.Error(), "hedge") || !strings.Contains(err.Error(), "(2 attempts)") {
			t.Errorf("%v", err)
		}
	})
}

func TestCancelledCallsLeaveNothingRunning(t *testing.T) {
	opts := []cluster.Option{cluster.Idempotent("echo"),
		cluster.Hedging(cluster.Hedge{After: time.Second, Budget: cluster.Budget{Share: 1, PerSecond: 1}})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		var running atomic.Int64
		for _, n := range f.node {
			n.handle(func(ctx context.Context) error {
				running.Add(1)
				defer running.Add(-1)
				<-ctx.Done()
				return ctx.Err()
			})
		}
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- echo(ctx, c) }()
		time.Sleep(2 * time.Second)
		if n := running.Load(); n != 2 {
			t.Errorf("%d attempts run", n)
		}
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
		synctest.Wait()
		for _, a := range c.Stats().Addresses {
			if a.Pending != 0 || a.Failed != 0 {
				t.Errorf("%s: %d calls run, %d failed", a.Address, a.Pending, a.Failed)
			}
		}
		if n := running.Load(); n != 0 { // closing the connections has told the servers
			t.Errorf("%d handlers run on", n)
		}
	})
}
