package cluster_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests over TCP, with a bad network between, that what the package promises holds. Nothing here asserts a time.

// field is three servers behind proxies, and a client of all.
type field struct {
	stations [3]*station
	client   *cluster.Client
}

func newField(t *testing.T, opts ...cluster.Option) *field {
	t.Helper()
	return newFieldAt(t, func(s *station) string { return s.address }, opts...)
}

// newFieldAt is newField for a client that calls other addresses than the proxies'.
func newFieldAt(t *testing.T, address func(*station) string, opts ...cluster.Option) *field {
	t.Helper()
	noLeaks(t)
	f := &field{}
	var hosts []string
	for i := range f.stations {
		f.stations[i] = newStation(t)
		hosts = append(hosts, address(f.stations[i]))
	}
	dial := func(ctx context.Context, network, address string) (net.Conn, error) {
		for _, s := range f.stations {
			if s.address == address {
				return s.dial(ctx, network, address)
			}
		}
		return new(net.Dialer).DialContext(ctx, network, address)
	}
	// An address that a test has made fail comes back before the test's patience ends.
	const pause = 100 * time.Millisecond
	opts = append([]cluster.Option{cluster.Dialer(dial), cluster.Dial(rpc.THeader(header.None)), cluster.WarmUp(0), cluster.Timeout(patience),
		cluster.Ejections(cluster.Ejection{Time: pause, MaxTime: pause}), cluster.Breakers(cluster.Breaker{Pause: pause, MaxPause: pause}),
		cluster.Reconnect(resolve.Backoff{Base: 10 * time.Millisecond, Max: pause})}, opts...)
	var err error
	if f.client, err = cluster.New(resolve.Hosts(hosts...), opts...); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		f.client.Close()
		for _, s := range f.stations {
			s.change(fair) // in which ends come through
			eventually(t, "no connection is left", func() bool { return s.held() == 0 && s.server.Stats().Connections == 0 })
		}
	})
	warm(t, f.client)
	return f
}

// load makes calls from some callers until stop is called, which returns the errors.
func (f *field) load(t *testing.T, callers int) (stop func() []error) {
	ctx, cancel := context.WithCancel(t.Context())
	var mu sync.Mutex
	var errs []error
	var wg sync.WaitGroup
	for range callers {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for ctx.Err() == nil {
				if err := echo(t.Context(), f.client); err != nil {
					mu.Lock()
					errs = append(errs, err)
					mu.Unlock()
				}
			}
		}()
	}
	return func() []error {
		cancel()
		wg.Wait()
		return errs
	}
}

// more waits until n more calls have come to each of some stations.
func more(t *testing.T, n int64, stations ...*station) {
	t.Helper()
	for _, s := range stations {
		counted(t, "more calls come", s.calls.Load, s.calls.Load()+n)
	}
}

// attempts returns what ended on an address.
func (f *field) attempts(s *station) cluster.AddressStats {
	for _, a := range f.client.Stats().Addresses {
		if a.Address.Addr == s.address {
			return a
		}
	}
	return cluster.AddressStats{}
}

// silence is how long a call waits before it takes an address for silent. It is longer than a busy machine stands
// still: else one pause would have good addresses ejected, or their breakers open, for as long as the test runs.
const silence = 2 * time.Second

func TestResetConnectionsFailNoIdempotentCall(t *testing.T) {
	f := newField(t, cluster.Idempotent("echo"))
	stop := f.load(t, 8)
	b := f.stations[1] // one of them: an attempt elsewhere finds a connection that stands
	for range 10 {
		more(t, 10, b)
		b.reset()
	}
	if errs := stop(); len(errs) > 0 {
		t.Errorf("%d calls failed: %v", len(errs), errs[0])
	}
}

func TestResetConnectionsFailOtherCallsOnlyWhereTheyRan(t *testing.T) {
	f := newField(t)
	stop := f.load(t, 8)
	b := f.stations[1]
	for range 10 {
		more(t, 10, b)
		b.reset()
	}
	for _, err := range stop() {
		var e *cluster.Error
		if !errors.As(err, &e) || len(e.Attempts) == 0 || e.Attempts[len(e.Attempts)-1].Address.Addr != b.address || !e.Sent() {
			t.Errorf("a call failed that could be repeated: %v", err)
		}
	}
}

func TestARefusingAddressFailsNoCall(t *testing.T) {
	f := newField(t)
	b := f.stations[1]
	b.close()
	eventually(t, "the loss is noticed", func() bool { return f.attempts(b).Connections == 0 })
	stop := f.load(t, 8)
	more(t, 100, f.stations[0], f.stations[2])
	b.open()
	more(t, 10, b)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("%d calls failed: %v", len(errs), errs[0])
	}
}

func TestASilentConnectionFailsNoIdempotentCallAndIsLeft(t *testing.T) {
	for name, w := range map[string]weather{"lost both ways": void, "half open": deaf} {
		t.Run(name, func(t *testing.T) {
			const callers = 8
			f := newField(t, cluster.Idempotent("echo"), cluster.Retries(cluster.Retry{AttemptTimeout: silence}),
				cluster.Ejections(cluster.Ejection{Time: time.Hour}))
			b := f.stations[1]
			b.change(w)
			stop := f.load(t, callers)
			eventually(t, "the address is ejected", func() bool { return f.attempts(b).Ejected })
			before := f.attempts(b)
			more(t, 200, f.stations[0], f.stations[2])
			after := f.attempts(b)
			if errs := stop(); len(errs) > 0 {
				t.Errorf("%d calls failed: %v", len(errs), errs[0])
			}
			if after.Attempts > before.Attempts+callers || after.Attempts > 5*callers {
				t.Errorf("%d calls on the address that is ejected, after %d", after.Attempts, before.Attempts)
			}
		})
	}
}

func TestALateAddressGetsFewCalls(t *testing.T) {
	for name, opts := range map[string][]cluster.Option{
		"least pending": {cluster.Balance(cluster.LeastPending())},
		"hedging": {cluster.Balance(cluster.PowerOfTwo()), cluster.Idempotent("echo"),
			cluster.Hedging(cluster.Hedge{After: lateness / 4, Budget: cluster.Budget{Share: 0.3, PerSecond: 10}})},
	} {
		for _, w := range []weather{slow, narrow} {
			t.Run(name, func(t *testing.T) {
				f := newField(t, append(opts, cluster.NoBreakers(), cluster.NoEjections())...)
				b := f.stations[1]
				b.change(w)
				stop := f.load(t, 12)
				more(t, 500, f.stations[0], f.stations[2])
				if errs := stop(); len(errs) > 0 {
					t.Errorf("%d calls failed: %v", len(errs), errs[0])
				}
				rest := f.stations[0].calls.Load() + f.stations[2].calls.Load()
				if n := f.attempts(b); n.Attempts > uint64(rest)/4 {
					t.Errorf("%d calls on the late address, %d on the others", n.Attempts, rest)
				}
			})
		}
	}
}

func TestABreakerKeepsCallsFromAnAddressThatFails(t *testing.T) {
	const callers = 8
	f := newField(t, cluster.NoEjections(), cluster.Retries(cluster.Retry{Attempts: 1}), cluster.Timeout(silence),
		cluster.Breakers(cluster.Breaker{Window: time.Hour, Calls: 5, Pause: time.Hour, MaxPause: time.Hour}))
	b := f.stations[1]
	b.change(deaf)
	stop := f.load(t, callers)
	eventually(t, "the breaker opens", func() bool { return f.attempts(b).Breaker == cluster.Open })
	before := b.calls.Load()
	more(t, 200, f.stations[0], f.stations[2])
	if n := b.calls.Load() - before; n > callers {
		t.Errorf("%d calls through an open breaker", n)
	}
	stop()
}

func TestServersStopOneAfterAnotherWithoutAFailedCall(t *testing.T) {
	// Without proxies, which take connections for a server that does not. No method is idempotent.
	f := newFieldAt(t, func(s *station) string { return s.target })
	stop := f.load(t, 8)
	for i, s := range f.stations[:2] {
		more(t, 50, s)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		if err := s.server.Shutdown(ctx); err != nil {
			t.Errorf("server %d: %v", i, err)
		}
		cancel()
		more(t, 50, f.stations[2])
	}
	if errs := stop(); len(errs) > 0 {
		t.Errorf("%d calls failed: %v", len(errs), errs[0])
	}
}

func TestNothingIsLeftOfAClientThatIsClosedInBadWeather(t *testing.T) {
	f := newField(t, cluster.Idempotent("echo"), cluster.Hedging(cluster.Hedge{After: time.Millisecond}))
	stop := f.load(t, 8)
	f.stations[0].change(void)
	f.stations[1].close()
	more(t, 10, f.stations[2])
	go func() { f.client.Close() }()
	for _, err := range stop() {
		if !errors.Is(err, rpc.ErrClientClosed) && !errors.Is(err, cluster.ErrUnavailable) {
			t.Errorf("a call ended with %v", err)
		}
	}
}
