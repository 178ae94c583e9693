package cluster_test

import (
	"context"
	"log/slog"
	"net"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// BenchmarkComforts measures what the client of many addresses costs above
// that of one: over TCP, with a hundred callers, against three servers in the same process.
func BenchmarkComforts(b *testing.B) {
	var hosts []string
	for range 3 {
		server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)))
		method := rpc.Method{Name: "noop", Callback: func(_ []byte, r rpc.Responder) { r.Done() }}
		if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{method}}); err != nil {
			b.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		go server.Serve(l)
		b.Cleanup(func() { server.Close() })
		hosts = append(hosts, l.Addr().String())
	}
	dial := rpc.THeader(header.None)
	none := []cluster.Option{cluster.Dial(dial), cluster.Timeout(0), cluster.NoBreakers(), cluster.NoEjections(),
		cluster.Retries(cluster.Retry{Attempts: 1}), cluster.Balance(cluster.RoundRobin())}
	hedge := cluster.Hedging(cluster.Hedge{Quantile: 0.99, After: 10 * time.Millisecond})
	for name, opts := range map[string][]cluster.Option{
		"none":     none,
		"defaults": {cluster.Dial(dial)},
		"latency":  {cluster.Dial(dial), cluster.Balance(cluster.PeakEWMA())},
		"all":      {cluster.Dial(dial), cluster.Idempotent("noop"), hedge},
		"hedging":  append([]cluster.Option{cluster.Idempotent("noop"), hedge}, none...),
		"timeout":  append(none[:len(none):len(none)], cluster.Timeout(10*time.Second)),
	} {
		b.Run(name, func(b *testing.B) {
			c, err := cluster.New(resolve.Hosts(hosts...), opts...)
			if err != nil {
				b.Fatal(err)
			}
			defer c.Close()
			if err := c.Connect(context.Background()); err != nil {
				b.Fatal(err)
			}
			benchmark(b, c)
		})
	}
	b.Run("client", func(b *testing.B) {
		c, err := rpc.Dial(context.Background(), "tcp", hosts[0], dial)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		benchmark(b, c)
	})
}

func benchmark(b *testing.B, c rpc.Caller) {
	call := &rpc.Invocation{Method: "noop"}
	b.ReportAllocs()
	b.SetParallelism(100)
	b.RunParallel(func(pb *testing.PB) {
		for pb.Next() {
			if err := c.Invoke(context.Background(), call); err != nil {
				b.Error(err)
				return
			}
		}
	})
}
