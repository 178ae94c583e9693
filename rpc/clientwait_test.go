package rpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests calls whose time the connection looks after.

// within returns a context of a call that ends after d, unless that is 0.
func within(t *testing.T, d time.Duration) *callctx.Context {
	var deadline time.Time
	if d > 0 {
		deadline = time.Now().Add(d)
	}
	c := callctx.New(t.Context(), deadline)
	t.Cleanup(c.Cancel)
	return c
}

func TestEachCallOfAConnectionEndsAtItsOwnTime(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method, echo}, rpc.Workers(64)) // the handlers of calls that are given up stay
	client := dial(t, "tcp", address, rpc.THeader(header.None))          // whose replies come in any order
	var all sync.WaitGroup
	all.Go(func() {
		if got, err := invoke(within(t, time.Hour), client, "blocked", "long"); err != nil || got != "long" {
			t.Errorf("the call with time: %q, %v", got, err)
		}
	})
	receive(t, "the call with time runs", started)
	err := sentInTime(t, func(unit time.Duration) error {
		var short sync.WaitGroup
		failures := make(chan error, 3)
		for _, n := range []time.Duration{3, 1, 2} { // the timer was set for a later one, each time but the last
			short.Go(func() {
				_, err := invoke(within(t, n*unit), client, "blocked", "")
				failures <- err
			})
		}
		short.Wait()
		close(failures)
		var last error
		for err := range failures {
			var e *rpc.Error
			if last = err; !errors.As(err, &e) || !e.Sent {
				break // its connection was one too many that said nothing, and there was no time for another
			}
			wantError(t, err, rpc.StageWait, true, context.DeadlineExceeded)
		}
		return last
	})
	wantError(t, err, rpc.StageWait, true, context.DeadlineExceeded)
	if got, err := invoke(within(t, time.Hour), client, "echo", "beside"); err != nil || got != "beside" {
		t.Errorf("a call beside them: %q, %v", got, err)
	}
	close(release)
	all.Wait()
}

func TestACallEndsWithItsContext(t *testing.T) {
	method, started, release := blocked()
	defer close(release)
	_, address := listen(t, []rpc.Method{method, echo}, rpc.Workers(16)) // the handlers of calls that are given up stay
	client := dial(t, "tcp", address)
	parent, cancel := context.WithCancel(t.Context())
	for name, c := range map[string]struct {
		ctx *callctx.Context
		end func()
	}{
		"canceled":                 {within(t, 0), nil},
		"canceled before its time": {within(t, time.Hour), nil},
		"its parent is":            {callctx.New(parent, time.Now().Add(time.Hour)), cancel},
	} {
		if c.end == nil {
			c.end = c.ctx.Cancel
		}
		go func() {
			<-started
			c.end()
		}()
		_, err := invoke(c.ctx, client, "blocked", "")
		wantError(t, err, rpc.StageWait, true, context.Canceled)
		if got, err := invoke(t.Context(), client, "echo", name); err != nil || got != name {
			t.Errorf("%s: the next call: %q, %v", name, got, err)
		}
		_, err = invoke(c.ctx, client, "blocked", "")
		wantError(t, err, rpc.StageWait, false, context.Canceled)
	}
}

func TestCallsThatEndAtTheSameTimeAsTheirRepliesGetOneOfBoth(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	client := dial(t, "tcp", address)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for n := range 200 {
				ctx := callctx.New(t.Context(), time.Now().Add(time.Duration(i*n)*time.Microsecond))
				if n%3 == 0 {
					go ctx.Cancel()
				}
				got, err := invoke(ctx, client, "echo", "x")
				ctx.Cancel()
				var timeout net.Error // while another connection is made, the network's own
				if err == nil && got != "x" || err != nil && !errors.Is(err, context.Canceled) && !(errors.As(err, &timeout) && timeout.Timeout()) {
					t.Errorf("%q, %v", got, err)
				}
			}
		})
	}
	all.Wait()
	if got, err := invoke(t.Context(), client, "echo", "after"); err != nil || got != "after" {
		t.Errorf("a call behind them: %q, %v", got, err)
	}
}

func TestAnInterceptorMayMakeCallsBesideEachOther(t *testing.T) {
	method, started, release := blocked()
	defer close(release)
	_, address := listen(t, []rpc.Method{method, echo}, rpc.Workers(16))
	pass := func(ctx context.Context, call *rpc.Invocation, _ rpc.Target, next rpc.Caller) error {
		return next.Invoke(ctx, call)
	}
	other := dial(t, "tcp", address, rpc.THeader(header.None), rpc.InterceptCalls(pass))
	for name, via := range map[string]rpc.Caller{"of this client": nil, "of another client": other} {
		slow := make(chan error, 1)
		client := dial(t, "tcp", address, rpc.THeader(header.None), rpc.CallTimeout(time.Hour),
			rpc.InterceptCalls(func(ctx context.Context, call *rpc.Invocation, _ rpc.Target, next rpc.Caller) error {
				beside := via
				if beside == nil {
					beside = next
				}
				go func() {
					_, err := invoke(ctx, beside, "blocked", "")
					slow <- err
				}()
				receive(t, "the slow call runs", started)
				return next.Invoke(ctx, call)
			}))
		if got, err := invoke(t.Context(), client, "echo", "x"); err != nil || got != "x" {
			t.Fatalf("%q, %v", got, err)
		}
		select {
		case err := <-slow: // whose context has ended with the other
			wantError(t, err, rpc.StageWait, true, context.Canceled)
		case <-time.After(patience):
			t.Fatalf("a slow call %s goes on when the one that it was made for has ended", name)
		}
	}
}
