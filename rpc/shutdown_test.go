package rpc_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file tests how a server stops.

// blocked returns a method that tells when it runs and then waits.
func blocked() (m rpc.Method, started, release chan struct{}) {
	started, release = make(chan struct{}, 100), make(chan struct{})
	return raw("blocked", func(_ context.Context, args, dst []byte) ([]byte, error) {
		started <- struct{}{}
		<-release
		return append(dst, args...), nil
	}), started, release
}

func TestShutdownAnswersWhatRuns(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		method, started, release := blocked()
		server, address := listen(t, []rpc.Method{method}, rpc.MaxConcurrentPerConn(1), rpc.Grace(0, 0))
		busy, idle := connect(t, address, framed), connect(t, address, framed)
		busy.send(append(busy.call("blocked", 1, "runs"), busy.call("blocked", 2, "waits to run")...))
		receive(t, "the call runs", started)
		eventually(t, "the idle connection is accepted", func() bool { return rpc.Connections(server) == 2 })

		stopped := make(chan error, 1)
		go func() { stopped <- server.Shutdown(t.Context()) }()
		idle.wantClosed()
		eventually(t, "the server listens no more", func() bool {
			c, err := net.DialTimeout("tcp", address, time.Second)
			if err == nil {
				c.Close()
			}
			return err != nil
		})
		eventually(t, "the busy connection takes no more calls", func() bool { return rpc.Draining(server) })
		busy.send(busy.call("blocked", 3, "too late"))
		select {
		case err := <-stopped:
			t.Errorf("Shutdown returned %v while a call runs", err)
		case <-time.After(10 * time.Millisecond):
		}
		close(release)
		busy.want(1, "runs")
		busy.want(2, "waits to run")
		busy.wantException(3, rpc.InternalError)
		busy.wantClosed()
		busy.Close()
		if err := receive(t, "Shutdown returns", stopped); err != nil {
			t.Errorf("Shutdown: %v", err)
		}
	})
}

func TestShutdownGivesUpWhenItsContextEnds(t *testing.T) {
	method, started, release := blocked()
	defer close(release)
	server, address := listen(t, []rpc.Method{method})
	p := connect(t, address, true)
	p.send(p.call("blocked", 1, ""))
	receive(t, "the call runs", started)
	ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	p.wantClosed()
}

func TestCloseEndsTheContextsOfRunningCalls(t *testing.T) {
	started, ended := make(chan struct{}), make(chan error, 1)
	wait := raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
		started <- struct{}{}
		<-ctx.Done()
		ended <- ctx.Err()
		return dst, ctx.Err()
	})
	server, address := listen(t, []rpc.Method{wait})
	p := connect(t, address, true)
	p.send(p.call("wait", 1, ""))
	receive(t, "the call runs", started)
	server.Close()
	receive(t, "the context ends", ended)
	p.wantClosed()
}

func TestAStoppedServerServesNoMore(t *testing.T) {
	noLeaks(t)
	server := rpc.NewServer()
	if err := server.Shutdown(t.Context()); err != nil {
		t.Errorf("Shutdown of a server that never served: %v", err)
	}
	if err := server.Shutdown(t.Context()); err != nil {
		t.Errorf("again: %v", err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := server.Serve(l); err != rpc.ErrServerClosed {
		t.Errorf("Serve: %v", err)
	}
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("the listener is open: %v", err)
	}
}

func TestShutdownAnswersCallsThatWaitForRoom(t *testing.T) {
	for range 20 {
		method, started, release := blocked()
		server, address := listen(t, []rpc.Method{method}, rpc.MaxInFlightPerConn(1), rpc.Grace(0, 0))
		p := connect(t, address, true)
		p.send(append(append(p.call("blocked", 1, "runs"), p.call("blocked", 2, "waits")...), p.call("blocked", 3, "waits")...))
		receive(t, "the call runs", started)
		eventually(t, "the second waits for room", func() bool { return server.Stats().Paused == 1 })
		stopped := make(chan error, 1)
		go func() { stopped <- server.Shutdown(t.Context()) }()
		eventually(t, "draining", func() bool { return rpc.Draining(server) })
		close(release)
		p.want(1, "runs")
		p.wantException(2, rpc.InternalError)
		p.wantException(3, rpc.InternalError)
		p.Close()
		receive(t, "stopped", stopped)
	}
}
