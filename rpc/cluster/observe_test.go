package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests what a client lets others see, and what they may decide.

func TestInterceptorsSeeEachAttempt(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	note := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		seen = append(seen, fmt.Sprintf(format, args...))
	}
	observe := func(name string) cluster.Option {
		return cluster.InterceptAttempts(func(ctx context.Context, a cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
			note("%s begins %s %d %v", name, a.Method, a.Number, a.Hedge)
			return rpc.WithHeader(ctx, "by", name), func(r cluster.AttemptResult) {
				note("%s ends %d %v %v %v", name, a.Number, r.Outcome, r.Err != nil, r.Duration)
			}
		})
	}
	none := cluster.InterceptAttempts(func(context.Context, cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
		return nil, nil
	})
	opts := []cluster.Option{cluster.Idempotent("echo"), cluster.Balance(cluster.RoundRobin()), observe("outer"), none, observe("inner"),
		cluster.Hedging(cluster.Hedge{After: time.Hour})}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		first := true
		for _, n := range f.node {
			n.handle(func(ctx context.Context) error {
				info, _ := rpc.Info(ctx)
				if by, _ := info.Header("by"); by != "inner" {
					note("header of %q", by)
				}
				time.Sleep(time.Second)
				if first {
					first = false
					return &rpc.ApplicationException{Type: rpc.Timeout}
				}
				return nil
			})
		}
		if err := echo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
		want := "outer begins echo 1 false, inner begins echo 1 false, inner ends 1 failed true 1s, outer ends 1 failed true 1s, " +
			"outer begins echo 2 false, inner begins echo 2 false, inner ends 2 succeeded false 1s, outer ends 2 succeeded false 1s"
		if got := strings.Join(seen, ", "); got != want {
			t.Errorf("seen:\n%s\nwant:\n%s", got, want)
		}
	})
}

func TestUsersJudgeErrors(t *testing.T) {
	broken := cluster.Judge(func(err error) (cluster.Outcome, bool) {
		var e *rpc.ApplicationException
		return cluster.Failed, errors.As(err, &e) && e.Type == rpc.InternalError
	})
	for name, c := range map[string]struct {
		opts []cluster.Option
		want bool
	}{"as usual": {nil, false}, "strictly": {[]cluster.Option{broken}, true}} {
		bubble(t, three, append(c.opts, cluster.Balance(cluster.RoundRobin())), func(t *testing.T, f *fleet, cl *cluster.Client) {
			f.node["b"].handle(fail(rpc.InternalError))
			for range 100 {
				echo(t.Context(), cl)
			}
			for _, a := range cl.Stats().Addresses {
				if a.Ejected != (c.want && a.Address.Addr == "b") {
					t.Errorf("%s: %s is ejected: %v", name, a.Address, a.Ejected)
				}
			}
		})
	}
}

func TestMethodsAreFoundIdempotentByAFunction(t *testing.T) {
	f := cluster.IdempotentFunc(func(call *rpc.Invocation) bool { return strings.HasPrefix(call.Method, "ec") })
	bubble(t, three, []cluster.Option{f}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(fail(rpc.Timeout))
		}
		var e *cluster.Error
		if err := echo(t.Context(), c); !errors.As(err, &e) || len(e.Attempts) != 3 {
			t.Errorf("%v", err)
		}
	})
}

func TestErrorsKeepWhatTheServerSaid(t *testing.T) {
	bubble(t, three, nil, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(func(context.Context) error { return &rpc.BizStatus{Code: 7, Message: "sold out"} })
		}
		err := echo(t.Context(), c)
		var status *rpc.BizStatus
		var attempt *cluster.AttemptError
		if !errors.As(err, &status) || status.Code != 7 || !errors.As(err, &attempt) || attempt.Number != 1 {
			t.Errorf("%v", err)
		}
		if rpc.ErrorType(err) != "biz_status" {
			t.Errorf("its type is %s", rpc.ErrorType(err))
		}
	})
}

func TestAPanicLeavesNoCallBehind(t *testing.T) {
	panics := cluster.InterceptAttempts(func(context.Context, cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
		panic("no")
	})
	bubble(t, three, []cluster.Option{panics}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for range 10 {
			func() {
				defer func() {
					if p := recover(); p != "no" {
						t.Errorf("recovered %v", p)
					}
				}()
				echo(t.Context(), c)
			}()
		}
		for _, a := range c.Stats().Addresses {
			if a.Pending != 0 || a.Attempts != 0 {
				t.Errorf("%s: %d calls run, %d ended", a.Address, a.Pending, a.Attempts)
			}
		}
	})
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for name, o := range map[string]cluster.Option{
		"no balancer":            cluster.Balance(nil),
		"a hedge without a time": cluster.Hedging(cluster.Hedge{}),
		"a quantile of all":      cluster.Hedging(cluster.Hedge{Quantile: 1}),
	} {
		if c, err := cluster.New(resolve.Hosts("a"), o); err == nil {
			c.Close()
			t.Errorf("%s is taken", name)
		}
	}
}

func TestCallsGoOverHTTP(t *testing.T) {
	for name, option := range map[string]func(string) rpc.ClientOption{"1": rpc.HTTP, "2": rpc.HTTP2} {
		t.Run(name, func(t *testing.T) {
			f := newField(t, cluster.Idempotent("echo"), cluster.Balance(cluster.RoundRobin()),
				cluster.DialFor(func(a resolve.Address) []rpc.ClientOption {
					return []rpc.ClientOption{option("http://" + a.Addr + "/")}
				}))
			stop := f.load(t, 4)
			more(t, 20, f.stations[:]...)
			f.stations[1].close()
			eventually(t, "the address that refuses is ejected", func() bool { return f.attempts(f.stations[1]).Ejected })
			more(t, 20, f.stations[0], f.stations[2])
			if errs := stop(); len(errs) > 0 {
				t.Errorf("%d calls failed: %v", len(errs), errs[0])
			}
		})
	}
}
