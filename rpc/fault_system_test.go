package rpc_test

import (
	"errors"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// This file tests what the operating system may do to a server: refuse
// descriptors, and let time jump. The real limit on descriptors is tested in
// fault_rlimit_test.go.

// exhausted is a listener that has no descriptors for some time.
type exhausted struct {
	net.Listener
	failures atomic.Int32 // still to come
	accepts  atomic.Int32
}

func (l *exhausted) Accept() (net.Conn, error) {
	l.accepts.Add(1)
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Addr: l.Addr(), Err: syscall.EMFILE}
	}
	return l.Listener.Accept()
}

func TestAServerWithoutDescriptorsServesWhomItHasAndWaits(t *testing.T) {
	var log logs
	server, address := host(t, []rpc.Method{echo}, log.option())
	served := bystanders(t, address)
	inner, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &exhausted{Listener: inner}
	l.failures.Store(6)
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	p := connect(t, inner.Addr().String(), true) // in the backlog
	served()
	p.send(p.call("echo", 1, "patience"))
	p.want(1, "patience")
	if n := l.accepts.Load(); n > 6+2 {
		t.Errorf("%d attempts to accept, for 6 failures and one connection", n)
	}
	log.await(t, syscall.EMFILE.Error())
	l.Close()
	if err := receive(t, "Serve returns", done); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Serve: %v", err)
	}
}

// A listener that is broken for good is its owner's business, and the other
// listeners go on.
func TestABrokenListenerEndsItsServeOnly(t *testing.T) {
	server, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	broken := errors.New("broken")
	if err := server.Serve(brokenListener{broken}); err != broken {
		t.Errorf("Serve: %v", err)
	}
	served()
}

type brokenListener struct{ err error }

func (l brokenListener) Accept() (net.Conn, error) { return nil, l.err }
func (l brokenListener) Close() error              { return nil }
func (l brokenListener) Addr() net.Addr            { return &net.UnixAddr{} }

// In a bubble time stands still and jumps.
func TestTimeThatJumpsEndsNoIdleConnection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rpc.NewServer(new(logs).option(), rpc.ReadTimeout(time.Second), rpc.WriteTimeout(time.Second), rpc.TaskExpiry(time.Second))
		if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
			t.Fatal(err)
		}
		client := rpctest.Serve(t, server)
		for _, pause := range []time.Duration{0, time.Second, time.Hour, 100 * 24 * time.Hour, 100 * 365 * 24 * time.Hour} {
			time.Sleep(pause)
			if got, err := invoke(t.Context(), client, "echo", "then"); err != nil || got != "then" {
				t.Errorf("after %v: %q, %v", pause, got, err)
			}
		}
		if n := rpc.Connections(server); n != 1 {
			t.Errorf("%d connections", n)
		}
	})
}

func TestTimeThatJumpsEndsWhatHasALimit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		server := rpc.NewServer(new(logs).option(), rpc.ReadTimeout(time.Second), rpc.IdleTimeout(time.Minute))
		if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
			t.Fatal(err)
		}
		l := rpctest.NewListener()
		done := make(chan error, 1)
		go func() { done <- server.Serve(l) }()
		for _, sent := range []int{0, 3, 9, 20} {
			c, err := l.DialContext(t.Context(), "", "")
			if err != nil {
				t.Fatal(err)
			}
			if sent > 0 {
				c.Write((&peer{framed: true}).call("echo", 1, "never complete")[:sent])
			}
		}
		synctest.Wait()
		if n := rpc.Connections(server); n != 4 {
			t.Errorf("%d connections before the jump", n)
		}
		time.Sleep(1000 * time.Hour)
		synctest.Wait()
		if n := rpc.Connections(server); n != 0 {
			t.Errorf("%d connections after it", n)
		}
		server.Close()
		<-done
	})
}
