package kitex_test

import (
	"context"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/connpool"
	"github.com/cloudwego/kitex/transport"

	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/handover"
)

// successor serves what the server before it at path has served, and returns
// when that one has gone.
func successor(t *testing.T, path string) (address string, gone <-chan error) {
	t.Helper()
	s := newServer(rpc.Grace(500*time.Millisecond, 100*time.Millisecond))
	if err := s.Register(versionService(func(context.Context) (string, error) { return "still here", nil })); err != nil {
		t.Fatal(err)
	}
	h, err := handover.Begin(t.Context(), path, s)
	if err != nil {
		t.Fatal(err)
	}
	l, err := h.Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	ended := make(chan error, 1)
	go func() { ended <- h.Run(t.Context()) }()
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), ended
}

func TestKitexClientsLoseNoCallWhenServersTakeTurns(t *testing.T) {
	pool := client.WithLongConnection(connpool.IdleConfig{MaxIdlePerAddress: 10, MaxIdleGlobal: 10, MaxIdleTimeout: time.Minute})
	for name, opts := range map[string][]client.Option{
		"framed, a pool":            {client.WithTransportProtocol(transport.Framed), pool},
		"framed, a connection each": {client.WithTransportProtocol(transport.Framed), client.WithShortConnection()},
		"unframed, a pool":          {client.WithTransportProtocol(transport.PurePayload), pool},
		"ttheader, a pool":          {client.WithTransportProtocol(transport.TTHeader), pool},
		"ttheader, mux":             {client.WithTransportProtocol(transport.TTHeader), client.WithMuxConnection(1)},
	} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "h")
			address, gone := successor(t, path)
			c, err := full.NewClient("shop", append(opts, client.WithHostPorts(address), client.WithRPCTimeout(20*time.Second))...)
			if err != nil {
				t.Fatal(err)
			}
			var calls, failed atomic.Int64
			var load sync.WaitGroup
			end := make(chan struct{})
			for range 5 {
				load.Go(func() {
					for {
						select {
						case <-end:
							return
						default:
						}
						if text, err := c.Version(t.Context()); err != nil || text != "still here" {
							if failed.Add(1) < 4 {
								t.Errorf("%q, %v", text, err)
							}
						}
						calls.Add(1)
					}
				})
			}
			for range 4 {
				want := calls.Load() + 200
				eventually(t, "calls go on", func() bool { return calls.Load() > want || failed.Load() > 0 })
				_, next := successor(t, path)
				if err := <-gone; err != nil {
					t.Errorf("the server ends with %v", err)
				}
				gone = next
			}
			close(end)
			load.Wait()
			if failed.Load() > 0 {
				t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
			}
		})
	}
}
