package rpctest

import (
	"context"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// stopTime is how long the end of a test waits for calls that still run.
const stopTime = 5 * time.Second

// Start serves services in memory until tb ends and returns a client of them.
// It ends the test if a service cannot be registered.
func Start(tb testing.TB, services ...*rpc.Service) *rpc.Client {
	tb.Helper()
	return Serve(tb, register(tb, services))
}

// StartMessages is [Start] for services that are called by messages, over tRPC.
func StartMessages(tb testing.TB, services ...*rpc.Service) *rpc.MessageClient {
	tb.Helper()
	return ServeMessages(tb, register(tb, services))
}

// StartStreams is [Start] with a client that opens streams: it speaks TTHeader.
func StartStreams(tb testing.TB, services ...*rpc.Service) *rpc.Client {
	tb.Helper()
	return Serve(tb, register(tb, services), rpc.TTHeader())
}

// register returns a server with services. Its calls may wait for workers as long as they run, since machines that run
// tests are slow.
func register(tb testing.TB, services []*rpc.Service) *rpc.Server {
	tb.Helper()
	server := rpc.NewServer(rpc.QueueTimeout(0))
	for _, s := range services {
		if err := server.Register(s); err != nil {
			tb.Fatal(err)
		}
	}
	return server
}

// Serve lets server serve in memory until tb ends and returns a client of it.
// At the end it closes the client and shuts the server down, and fails the
// test if calls run on for five seconds.
func Serve(tb testing.TB, server *rpc.Server, opts ...rpc.ClientOption) *rpc.Client {
	tb.Helper()
	return serve(tb, server, func(l *Listener) (*rpc.Client, error) { return Dial(l, opts...) })
}

// ServeMessages is [Serve] with a client that calls by messages, over tRPC.
func ServeMessages(tb testing.TB, server *rpc.Server, opts ...rpc.ClientOption) *rpc.MessageClient {
	tb.Helper()
	return serve(tb, server, func(l *Listener) (*rpc.MessageClient, error) {
		opts = append([]rpc.ClientOption{rpc.Dialer(l.DialContext)}, opts...)
		return rpc.DialMessages(context.Background(), "memory", l.Addr().String(), opts...)
	})
}

// serve lets server serve in memory until tb ends, and returns the client that dial makes.
func serve[C interface{ Close() error }](tb testing.TB, server *rpc.Server, dial func(l *Listener) (C, error)) C {
	tb.Helper()
	l := NewListener()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	client, err := dial(l)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		client.Close()
		ctx, cancel := context.WithTimeout(context.Background(), stopTime)
		defer cancel()
		if err := server.Shutdown(ctx); err != nil {
			tb.Errorf("rpctest: calls still run at the end of the test: %v", err)
		}
		if err := <-served; err != rpc.ErrServerClosed {
			tb.Errorf("rpctest: %v", err)
		}
	})
	return client
}

// Dial returns another client of what serves on l, which the caller closes.
func Dial(l *Listener, opts ...rpc.ClientOption) (*rpc.Client, error) {
	opts = append([]rpc.ClientOption{rpc.Dialer(l.DialContext)}, opts...)
	return rpc.Dial(context.Background(), "memory", l.Addr().String(), opts...)
}

// Listener is a net.Listener whose connections are pipes in memory: a write
// waits for the read that takes it. It is safe for concurrent use.
type Listener struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

// NewListener returns a Listener that waits for DialContext.
func NewListener() *Listener {
	return &Listener{conns: make(chan net.Conn), closed: make(chan struct{})}
}

// DialContext connects to the listener, whatever the network and address. It
// waits for Accept until ctx ends or the listener is closed.
func (l *Listener) DialContext(ctx context.Context, _, _ string) (net.Conn, error) {
	client, server := net.Pipe()
	select {
	case l.conns <- server:
		return client, nil
	case <-l.closed:
		return nil, net.ErrClosed
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// Accept returns the server's end of the next connection.
func (l *Listener) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

// Close ends Accept and DialContext. Connections stay open.
func (l *Listener) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

// Addr returns the address "memory".
func (l *Listener) Addr() net.Addr { return address{} }

type address struct{}

func (address) Network() string { return "memory" }
func (address) String() string  { return "memory" }
