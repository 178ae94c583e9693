//go:build unix

package handover_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests calls that cross the close of a connection inside TLS: whoever makes them knows whether they have run.

// gate is a connection on which what comes can be held back, as a slow network does.
type gate struct {
	net.Conn
	came, going, went atomic.Int64 // reads, and writes that have begun and ended

	mu   sync.Mutex
	open *sync.Cond
	shut bool
}

func newGate(c net.Conn) *gate {
	g := &gate{Conn: c}
	g.open = sync.NewCond(&g.mu)
	return g
}

// hold holds back what comes, until it is let through.
func (g *gate) hold(shut bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.shut = shut
	g.open.Broadcast()
}

func (g *gate) Read(b []byte) (int, error) {
	n, err := g.Conn.Read(b)
	g.came.Add(1)
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.shut {
		g.open.Wait()
	}
	return n, err
}

func (g *gate) Write(b []byte) (int, error) {
	g.going.Add(1)
	n, err := g.Conn.Write(b)
	g.went.Add(1)
	return n, err
}

func (g *gate) Close() error {
	g.hold(false)
	return g.Conn.Close()
}

// gates makes connections with gates, and knows the last to each address.
type gates struct {
	mu    sync.Mutex
	known map[string]*gate
}

func (g *gates) dial(ctx context.Context, network, address string) (net.Conn, error) {
	c, err := new(net.Dialer).DialContext(ctx, network, address)
	if err != nil {
		return nil, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.known == nil {
		g.known = map[string]*gate{}
	}
	g.known[address] = newGate(c)
	return g.known[address], nil
}

func (g *gates) to(address string) *gate {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.known[address]
}

// soon waits until something that no reply tells of has happened.
func soon(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// counting starts a server inside TLS that counts its calls.
func counting(t *testing.T, config *tls.Config) (address string, s *rpc.Server, calls *atomic.Int64) {
	t.Helper()
	calls = new(atomic.Int64)
	s = rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0),
		rpc.Grace(patience, time.Millisecond), rpc.TLS(config))
	method := rpc.Method{Name: "echo", Serve: func(ctx context.Context, args, dst []byte) ([]byte, error) {
		calls.Add(1)
		return echo(ctx, args, dst)
	}}
	note := rpc.Method{Name: "note", Oneway: true, Serve: method.Serve}
	if err := s.Register(&rpc.Service{Name: "Echo", Methods: []rpc.Method{method, note}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), s, calls
}

// authority returns the configurations of both sides.
func authority(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	ca := rpctest.NewCA(t)
	pair, err := tls.X509KeyPair(ca.Issue(t, time.Now().Add(time.Hour), "127.0.0.1"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: ca.Pool()}
}

// crossing makes a call while the end of the connection is on its way to the client, and returns its error.
func crossing(t *testing.T, c rpc.Caller, g *gate, end func()) error {
	t.Helper()
	if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	g.hold(true)
	came := g.came.Load()
	end()
	soon(t, "the server's end has come", func() bool { return g.came.Load() > came })
	soon(t, "the first call has gone", func() bool { return g.went.Load() == g.going.Load() })
	went := g.went.Load()
	failed := make(chan error, 1)
	go func() { failed <- c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}) }()
	soon(t, "the call has gone", func() bool { return g.went.Load() > went })
	g.hold(false)
	select {
	case err := <-failed:
		return err
	case <-time.After(patience):
		t.Fatal("the call does not end")
		return nil
	}
}

func TestACallThatCrossesACloseInOrderWasNotBegun(t *testing.T) {
	server, client := authority(t)
	address, s, calls := counting(t, server)
	var g gates
	c, err := rpc.Dial(t.Context(), "tcp", address, rpc.THeader(header.None), rpc.TLS(client), rpc.Dialer(g.dial))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	stopped := make(chan error, 1)
	err = crossing(t, c, g.to(address), func() { go func() { stopped <- s.Shutdown(context.Background()) }() })
	var e *rpc.Error
	if !errors.As(err, &e) || e.Sent || calls.Load() != 1 {
		t.Errorf("%v; %d calls have run", err, calls.Load())
	}
	if err := <-stopped; err != nil {
		t.Error(err)
	}
}

// A client whose IDL does not know that a method is oneway waits for a reply that never comes.
func TestACallThatTheServerTookForOnewayMayHaveRun(t *testing.T) {
	server, client := authority(t)
	address, s, calls := counting(t, server)
	c, err := rpc.Dial(t.Context(), "tcp", address, rpc.THeader(header.None), rpc.TLS(client))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
		t.Fatal(err)
	}
	for n := range int64(2) { // the second is of the method that the server knows already
		failed := make(chan error, 1)
		go func() { failed <- c.Invoke(t.Context(), &rpc.Invocation{Method: "note"}) }()
		soon(t, "the call has run", func() bool { return calls.Load() == n+2 })
		if n == 0 {
			continue
		}
		go s.Shutdown(context.Background())
		var e *rpc.Error
		if err := <-failed; !errors.As(err, &e) || !e.Sent {
			t.Errorf("%v, want an error of a call that was sent", err)
		}
	}
}

func TestACallThatCrossesACloseIsMadeElsewhere(t *testing.T) {
	server, client := authority(t)
	first, s, calls := counting(t, server)
	second, _, others := counting(t, server)
	var g gates
	c, err := cluster.New(resolve.Hosts(first, second), cluster.Dial(rpc.THeader(header.None)), cluster.TLS(client),
		cluster.Dialer(g.dial), cluster.WarmUp(0), cluster.Timeout(patience), cluster.Balance(cluster.RoundRobin()))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	for range 4 { // two for each
		if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
			t.Fatal(err)
		}
	}
	held := g.to(first)
	held.hold(true)
	came := held.came.Load()
	go s.Shutdown(context.Background())
	soon(t, "the server's end has come", func() bool { return held.came.Load() > came })
	soon(t, "the calls before have gone", func() bool { return held.went.Load() == held.going.Load() })
	went := held.went.Load()
	errs := make(chan error, 2)
	for range 2 {
		go func() { errs <- c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}) }()
	}
	soon(t, "a call has gone", func() bool { return held.went.Load() > went })
	held.hold(false)
	for range 2 {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	if calls.Load() != 2 || others.Load() != 4 {
		t.Errorf("%d and %d calls have run", calls.Load(), others.Load())
	}
}

func TestACallThatMayHaveRunIsKnownToHave(t *testing.T) {
	server, client := authority(t)
	address, s, _ := counting(t, server)
	t.Run("the server is killed", func(t *testing.T) {
		var g gates
		c, err := rpc.Dial(t.Context(), "tcp", address, rpc.THeader(header.None), rpc.TLS(client), rpc.Dialer(g.dial))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var e *rpc.Error
		if err := crossing(t, c, g.to(address), func() { s.Close() }); !errors.As(err, &e) || !e.Sent {
			t.Errorf("%v", err)
		}
	})
	t.Run("a proxy ends TLS", func(t *testing.T) {
		address, _, _ := counting(t, server)
		l, err := tls.Listen("tcp", "127.0.0.1:0", server)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		accepted := make(chan net.Conn, 1)
		go func() {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := tls.Dial("tcp", address, client)
			if err != nil {
				near.Close()
				return
			}
			accepted <- near
			go io.Copy(far, near)
			io.Copy(near, far)
		}()
		var g gates
		c, err := rpc.Dial(t.Context(), "tcp", l.Addr().String(), rpc.THeader(header.None), rpc.TLS(client), rpc.Dialer(g.dial))
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		var e *rpc.Error
		err = crossing(t, c, g.to(l.Addr().String()), func() { (<-accepted).(*tls.Conn).CloseWrite() })
		if !errors.As(err, &e) || !e.Sent {
			t.Errorf("%v", err)
		}
	})
}

// failing is a connection whose writes fail from some time on, though it can be read.
type failing struct {
	net.Conn
	broken *atomic.Bool
	failed chan struct{} // has something when a write has
}

func (f *failing) Write(b []byte) (int, error) {
	if f.broken.Load() {
		select {
		case f.failed <- struct{}{}:
		default:
		}
		return 0, errors.New("no way through")
	}
	return f.Conn.Write(b)
}

// A call that could not be written may still be found not begun. Others do not wait for that, nor fail with it.
func TestNoCallFollowsOneThatCouldNotBeWritten(t *testing.T) {
	server, client := authority(t)
	address, _, _ := counting(t, server)
	var broken atomic.Bool
	failed := make(chan struct{}, 1)
	dialed := 0
	c, err := rpc.Dial(t.Context(), "tcp", address, rpc.THeader(header.None), rpc.TLS(client), rpc.Dialer(
		func(ctx context.Context, network, address string) (net.Conn, error) {
			nc, err := new(net.Dialer).DialContext(ctx, network, address)
			if dialed++; err != nil || dialed > 1 {
				return nc, err
			}
			return &failing{nc, &broken, failed}, nil
		}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil { // with whose reply the promise comes
		t.Fatal(err)
	}
	broken.Store(true)
	first := make(chan error, 1)
	go func() { first <- c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}) }()
	select {
	case <-failed:
	case <-time.After(patience):
		t.Fatal("nothing is written")
	}
	broken.Store(false) // which TLS has no use for
	if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); err != nil {
		t.Errorf("a call after that: %v", err)
	}
	if err := <-first; err == nil {
		t.Error("what was not written has a reply")
	}
}
