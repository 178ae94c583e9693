package rpcsuite

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the work slow-server: what a server that is slower than the other two does to the
// latency of calls by package cluster. Servers and client are one process: handlers wait, and burn nothing.

// A call takes a service time that is half fixed and half drawn from an exponential distribution, on the slow
// server so many times as long. Callers pause between calls, so that servers are not full.
const (
	slowMean    = 2 * time.Millisecond
	slowFactor  = 20
	slowCallers = 48
	slowPause   = 24 * time.Millisecond
)

// slowFleets are the fleets that are compared.
var slowFleets = []struct {
	name    string
	healthy bool
	opts    []cluster.Option
}{
	{"healthy", true, nil},
	{"round-robin", false, []cluster.Option{cluster.Balance(cluster.RoundRobin())}},
	{"power-of-two", false, nil},
	{"least-pending", false, []cluster.Option{cluster.Balance(cluster.LeastPending())}},
	{"peak-ewma", false, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}},
	{"hedging", false, []cluster.Option{cluster.Balance(cluster.LeastPending()), cluster.Idempotent("wait"),
		cluster.Hedging(cluster.Hedge{After: 2 * slowMean, Budget: cluster.Budget{Share: 0.2, PerSecond: 10}})}},
}

func (l *lab) slowWork(o harness.Options, report *harness.Report) error {
	const work = "rpc/slow-server"
	samples := map[string][]quantiles{}
	rounds, window := 3, 2*time.Second
	switch {
	case l.quick:
		rounds, window = 1, 100*time.Millisecond
	case l.short:
		rounds, window = 1, 800*time.Millisecond
	}
	for round := range rounds {
		for i := range slowFleets {
			fleet := slowFleets[(i+round)%len(slowFleets)]
			if o.Match != nil && !o.Match.MatchString(work+" "+fleet.name) {
				continue
			}
			q, err := slowRun(fleet.healthy, window, fleet.opts...)
			if err != nil {
				return fmt.Errorf("%s %s: %w", work, fleet.name, err)
			}
			samples[fleet.name] = append(samples[fleet.name], q)
		}
	}
	for _, fleet := range slowFleets {
		if len(samples[fleet.name]) > 0 {
			l.figure(report, work, fleet.name, medianQuantiles(samples[fleet.name]))
		}
	}
	return nil
}

// slowRun makes one run, on servers of its own.
func slowRun(healthy bool, window time.Duration, opts ...cluster.Option) (quantiles, error) {
	var hosts []string
	for i := range 3 {
		factor := 1
		if i == 1 && !healthy {
			factor = slowFactor
		}
		server, address, err := waitServer(factor)
		if err != nil {
			return quantiles{}, err
		}
		defer server.Close()
		hosts = append(hosts, address)
	}
	c, err := cluster.New(resolve.Hosts(hosts...), append([]cluster.Option{cluster.Dial(rpc.TTHeader()), cluster.WarmUp(0)}, opts...)...)
	if err != nil {
		return quantiles{}, err
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := c.Connect(ctx); err != nil {
		return quantiles{}, err
	}
	if _, err := slowLoad(ctx, c, window/2); err != nil { // in which the client learns how long calls take
		return quantiles{}, err
	}
	took, err := slowLoad(ctx, c, window)
	if err != nil {
		return quantiles{}, err
	}
	slices.Sort(took)
	at := func(share float64) time.Duration { return took[int(share*float64(len(took)-1))] }
	return quantiles{P50: at(0.5), P75: at(0.75), P90: at(0.9), P99: at(0.99)}, nil
}

// waitServer starts a server whose method takes its time, so many times as long as a healthy one's.
func waitServer(factor int) (*rpc.Server, string, error) {
	server := rpc.NewServer(rpc.Logger(slog.New(slog.NewTextHandler(io.Discard, nil))), rpc.Workers(4*slowCallers),
		rpc.QueueTimeout(time.Minute), rpc.TaskExpiry(time.Minute)) // calls are not refused because the machine had no time for them
	wait := rpc.Method{Name: "wait", Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
		half := float64(slowMean/2) * float64(factor)
		time.Sleep(time.Duration(half + half*rand.ExpFloat64()))
		return append(dst, args...), nil
	}}
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{wait}}); err != nil {
		return nil, "", err
	}
	l, err := listen()
	if err != nil {
		return nil, "", err
	}
	go server.Serve(l) // an error shows in the calls
	return server, l.Addr().String(), nil
}

// slowLoad makes calls for a time and returns how long each took.
func slowLoad(ctx context.Context, c rpc.Caller, window time.Duration) ([]time.Duration, error) {
	var mu sync.Mutex
	var took []time.Duration
	var failed error
	var wg sync.WaitGroup
	end := time.Now().Add(window)
	for range slowCallers {
		wg.Go(func() {
			var own []time.Duration
			var err error
			for err == nil && time.Now().Before(end) {
				time.Sleep(time.Duration(float64(slowPause) * rand.ExpFloat64()))
				began := time.Now()
				err = c.Invoke(ctx, &rpc.Invocation{Method: "wait"})
				own = append(own, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			took, failed = append(took, own...), cmp.Or(failed, err)
		})
	}
	wg.Wait()
	return took, failed
}
