package cluster_test

import (
	"context"
	"errors"
	"net"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests calls over a fleet: which server gets them, and what becomes
// of those that fail. Time is a bubble's, so nothing here waits.

// bubble runs a test of a client with a fleet of its own.
func bubble(t *testing.T, names []string, opts []cluster.Option, test func(t *testing.T, f *fleet, c *cluster.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, names...)
		c := f.client(opts...)
		defer c.Close()
		defer f.stop()
		warm(t, c)
		test(t, f, c)
	})
}

var three = []string{"a", "b", "c"}

func TestCallsGoRound(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Balance(cluster.RoundRobin())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for range 30 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		for name, n := range f.counts() {
			if n != 10 {
				t.Errorf("%s has %d calls of 30", name, n)
			}
		}
	})
}

func TestAKilledServerFailsOnlyWhatRunsOnIt(t *testing.T) {
	for _, idempotent := range []bool{false, true} {
		var opts []cluster.Option
		if idempotent {
			opts = append(opts, cluster.Idempotent("echo"))
		}
		bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
			for _, n := range f.node {
				n.slow(time.Second)
			}
			const callers = 60
			var mu sync.Mutex
			var failed []error
			var wg sync.WaitGroup
			call := func() {
				defer wg.Done()
				if err := echo(t.Context(), c); err != nil {
					mu.Lock()
					defer mu.Unlock()
					failed = append(failed, err)
				}
			}
			for range callers {
				wg.Add(1)
				go call()
			}
			synctest.Wait()
			running := f.node["b"].calls.Load()
			f.node["b"].stop()
			if !idempotent {
				synctest.Wait() // a call that is written before the loss is noticed may have run, too
			}
			for range callers {
				wg.Add(1)
				go call()
			}
			wg.Wait()
			if want := int64(0); running == 0 || idempotent && int64(len(failed)) != want || !idempotent && int64(len(failed)) != running {
				t.Errorf("idempotent %v: %d calls failed where %d ran on the server: %v", idempotent, len(failed), running, errors.Join(failed...))
			}
			for _, err := range failed {
				var e *cluster.Error
				var cause *rpc.Error
				if !errors.As(err, &e) || len(e.Attempts) != 1 || e.Attempts[0].Address.Addr != "b" || !e.Sent() ||
					!errors.As(err, &cause) || !cause.Sent || !strings.Contains(err.Error(), "b: rpc: ") {
					t.Errorf("the error says %v", err)
				}
			}
		})
	}
}

func TestARestartedServerGetsCallsAgain(t *testing.T) {
	bubble(t, three, nil, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.node["b"].stop()
		time.Sleep(time.Minute)
		for range 100 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		dials := f.node["b"].dials.Load()
		if dials < 5 || dials > 200 {
			t.Errorf("%d attempts to connect in a minute", dials)
		}
		f.reset()
		f.node["b"].start()
		time.Sleep(11 * time.Second)
		for range 100 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if f.counts()["b"] == 0 {
			t.Errorf("the server that is back gets none of %v", f.counts())
		}
	})
}

func TestASilentAddressHoldsUpNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		f.node["a"].hush(true)
		c := f.client()
		defer c.Close()
		start := time.Now()
		for range 100 {
			if err := echo(t.Context(), c); err != nil {
				t.Fatal(err)
			}
		}
		if took := time.Since(start); took > 0 {
			t.Errorf("calls waited %v", took)
		}
	})
}

func TestCallsWaitForTheFirstConnectionOnly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, "a")
		defer f.stop()
		f.node["a"].stop()
		c := f.client()
		defer c.Close()
		err := echo(t.Context(), c)
		var cause *rpc.Error
		if !errors.Is(err, cluster.ErrUnavailable) || !errors.As(err, &cause) || cause.Sent || !strings.Contains(err.Error(), "a: rpc: dial: connection refused") {
			t.Errorf("without a server: %v", err)
		}
		waiting := f.client(cluster.WaitForAddress(), cluster.Timeout(time.Minute))
		defer waiting.Close()
		ended := make(chan error, 1)
		go func() { ended <- echo(t.Context(), waiting) }()
		time.Sleep(5 * time.Second)
		f.node["a"].start()
		if err := <-ended; err != nil {
			t.Errorf("a call that waits: %v", err)
		}
		f.node["a"].stop()
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		time.Sleep(time.Second / 2)
		if err := echo(ctx, waiting); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("a call that waits in vain: %v", err)
		}
	})
}

// meanwhile is a balancer that lets something happen after a call has looked at all addresses in vain, and has begun to
// wait for one.
type meanwhile struct {
	happen func()
	looks  *int
	set    []*cluster.Endpoint
}

func (m meanwhile) Build(set []*cluster.Endpoint) cluster.Picker {
	m.set = set
	return m
}

func (m meanwhile) Pick(p cluster.Pick) *cluster.Endpoint {
	for _, e := range m.set {
		if p.Usable(e) {
			return e
		}
	}
	if p.Last() {
		if *m.looks++; *m.looks == 2 { // the first look is that of calls which need not wait
			m.happen()
		}
	}
	return nil
}

func TestACallMissesNoAddressThatComesWhileItLooks(t *testing.T) {
	for name, set := range map[string][]resolve.Address{"is connected": addresses("a"), "follows another": addresses("b")} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := newFleet(t, "a", "b")
				defer f.stop()
				s, gate, looks := make(source), make(chan struct{}), 0
				happen := func() {
					close(gate)
					s <- set
					synctest.Wait()
				}
				c := f.clientOf(s, cluster.Balance(meanwhile{happen: happen, looks: &looks}), cluster.Dialer(
					func(ctx context.Context, network, address string) (net.Conn, error) {
						select {
						case <-gate:
							return f.dial(ctx, network, address)
						case <-ctx.Done():
							return nil, ctx.Err()
						}
					}))
				defer c.Close()
				s <- addresses("a")
				synctest.Wait()
				if err := echo(t.Context(), c); err != nil || looks < 2 {
					t.Errorf("%v, after %d looks", err, looks)
				}
			})
		})
	}
}

func TestALeavingServerGetsNoNewCalls(t *testing.T) {
	bubble(t, three, nil, func(t *testing.T, f *fleet, c *cluster.Client) {
		n := f.node["b"]
		release := make(chan struct{})
		for _, n := range f.node {
			n.handle(func(context.Context) error {
				<-release
				return nil
			})
		}
		ended := make(chan error, 60)
		for range 60 {
			go func() { ended <- echo(t.Context(), c) }()
		}
		synctest.Wait()
		running := n.calls.Load()
		f.mu.Lock()
		server, served := n.server, n.served
		n.server, n.listener = nil, nil
		f.mu.Unlock()
		stopped := make(chan error, 1)
		go func() { stopped <- server.Shutdown(context.Background()) }()
		synctest.Wait()
		for range 60 { // the first of them on b are refused, and made elsewhere
			go func() { ended <- echo(t.Context(), c) }()
		}
		synctest.Wait()
		close(release)
		for range 120 {
			if err := <-ended; err != nil {
				t.Errorf("a call: %v", err)
			}
		}
		if err := <-stopped; err != nil || n.calls.Load() != running || running == 0 {
			t.Errorf("stopped with %v after %d calls, of which %d began later", err, running, n.calls.Load()-running)
		}
		<-served
	})
}

func TestTheSetFollowsItsResolver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		s, log := make(source), new(eventLog)
		c := f.clientOf(s, cluster.OnEvent(log.add))
		defer c.Close()
		broken := errors.New("the registry is broken")
		ended := make(chan error, 1)
		go func() { ended <- echo(t.Context(), c) }() // waits for the set
		synctest.Wait()
		s <- broken
		if err := <-ended; !errors.Is(err, broken) {
			t.Errorf("without a set: %v", err)
		}
		s <- addresses("a", "b")
		synctest.Wait()
		warm(t, c)
		f.node["a"].slow(time.Minute)
		f.node["b"].slow(time.Minute)
		go func() { ended <- echo(context.WithoutCancel(t.Context()), c) }()
		synctest.Wait()
		for _, v := range []any{addresses("c"), broken, addresses()} { // a failure and an empty set change nothing
			s <- v
			synctest.Wait()
			for range 20 {
				if err := echo(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
		}
		counts := f.counts()
		if counts["a"]+counts["b"] != 1 || counts["c"] != 60 {
			t.Errorf("calls: %v", counts)
		}
		f.node["a"].slow(0)
		if err := <-ended; !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the call that ran on an address that was removed: %v", err)
		}
		if log.count("removed a") != 1 || log.count("added c") != 1 || log.count("resolve failed ") != 3 {
			t.Errorf("events: %q", log.lines)
		}
	})
}

func TestAClosedClientCallsNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.client(cluster.Idempotent("echo"))
		warm(t, c)
		for _, n := range f.node {
			n.slow(time.Minute)
		}
		ended := make(chan error, 10)
		for range 10 {
			go func() { ended <- echo(t.Context(), c) }()
		}
		synctest.Wait()
		c.Close()
		c.Close()
		for range 10 {
			if err := <-ended; !errors.Is(err, rpc.ErrClientClosed) {
				t.Errorf("a call that ran: %v", err)
			}
		}
		if err := echo(t.Context(), c); !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("a later call: %v", err)
		}
		if err := c.Connect(t.Context()); !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("Connect: %v", err)
		}
	})
}

func TestAnAddressNamesItsDialect(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		for _, d := range []resolve.Dialect{"", resolve.Framed, resolve.Unframed, resolve.THeader, resolve.TTHeader} {
			c := f.clientOf(resolve.Static(resolve.Address{Addr: "a", Dialect: d}))
			if err := echo(t.Context(), c); err != nil {
				t.Errorf("%q: %v", d, err)
			}
			c.Close()
		}
		c := f.clientOf(resolve.Static(resolve.Address{Addr: "a", Dialect: "morse"}))
		defer c.Close()
		if err := echo(t.Context(), c); err == nil || !strings.Contains(err.Error(), "morse") {
			t.Errorf("an unknown one: %v", err)
		}
	})
}

func TestInOrderDialectsHaveSeveralConnections(t *testing.T) {
	for dialect, want := range map[resolve.Dialect]int{resolve.Framed: 4, resolve.TTHeader: 1} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, "a")
			defer f.stop()
			c := f.clientOf(resolve.Static(resolve.Address{Addr: "a", Dialect: dialect}))
			defer c.Close()
			warm(t, c)
			f.node["a"].slow(time.Second)
			var wg sync.WaitGroup
			for range 16 {
				wg.Add(1)
				go func() {
					defer wg.Done()
					if err := echo(t.Context(), c); err != nil {
						t.Error(err)
					}
				}()
				synctest.Wait()
			}
			if s := c.Stats().Addresses[0]; s.Connections != want || s.Pending != 16 {
				t.Errorf("%s: %d connections, %d calls", dialect, s.Connections, s.Pending)
			}
			wg.Wait()
		})
	}
}
