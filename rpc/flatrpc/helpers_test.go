package flatrpc_test

import (
	"context"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 30 * time.Second

// repeat answers with the text of a request as many times as it says.
func repeat(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
	if req.Count() < 0 || req.Count() > 10_000 {
		return nil, &rpc.BizStatus{Code: 1, Message: "too often", Extra: map[string]string{"most": "10000"}}
	}
	return words.New(flatrpc.NewBuilder(ctx), strings.Repeat(req.Text(), int(req.Count())), req.Count()), nil
}

// serve lets a server with the methods of a service "test.Words" serve on a port, until the test ends. Calls
// have any time unless opts say otherwise.
func serve(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	server := rpc.NewServer(append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
	if err := server.Register(&rpc.Service{Name: "test.Words", Methods: methods}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			t.Errorf("shutdown: %v", err)
		}
		if err := <-served; err != rpc.ErrServerClosed {
			t.Error(err)
		}
	})
	return server, l.Addr().String()
}

// dial returns a client that is closed when the test ends.
func dial(t *testing.T, address string, opts ...rpc.ClientOption) *rpc.MessageClient {
	t.Helper()
	c, err := rpc.DialMessages(context.Background(), "tcp", address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}
