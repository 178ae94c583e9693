package rpc_test

import (
	"context"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests that callers share the writes of their connection, whatever
// they call.

// gate is a connection whose first write waits until it is opened, or fails.
type gate struct {
	net.Conn
	writing chan struct{} // closed when the first write has begun
	open    chan error    // its result
	writes  atomic.Int32
}

func (g *gate) Write(b []byte) (int, error) {
	if g.writes.Add(1) == 1 {
		close(g.writing)
		if err := <-g.open; err != nil {
			return 0, err
		}
	}
	return g.Conn.Write(b)
}

// gated makes the first connection of a client one with a gate.
func gated(g *gate) rpc.ClientOption {
	g.writing, g.open = make(chan struct{}), make(chan error, 1)
	first := true
	return rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := (&net.Dialer{}).DialContext(ctx, network, address)
		if err != nil || !first {
			return nc, err
		}
		first = false
		g.Conn = nc
		return g, nil
	})
}

// sharers are a call on a client of each kind, and how many calls it has queued.
var sharers = map[string]func(t *testing.T, opt rpc.ClientOption) (call func() error, queued func() int){
	"structs": func(t *testing.T, opt rpc.ClientOption) (func() error, func() int) {
		_, address := listen(t, []rpc.Method{echo})
		c := dial(t, "tcp", address, opt)
		return func() error {
			_, err := invoke(t.Context(), c, "echo", "x")
			return err
		}, func() int { return rpc.Queued(c) }
	},
	"messages": func(t *testing.T, opt rpc.ClientOption) (func() error, func() int) {
		_, address := listen(t, []rpc.Method{{Name: "Echo", Message: func(_ context.Context, in rpc.Message) (rpc.Message, error) {
			return rpc.Message{Type: in.Type, Body: []byte("x")}, nil
		}}})
		c, err := rpc.DialMessages(t.Context(), "tcp", address, opt)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return func() error {
			return c.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/S/Echo", Request: rpc.Message{Type: transport.JSON}})
		}, func() int { return rpc.QueuedMessages(c) }
	},
}

func TestCallersShareWrites(t *testing.T) {
	for name, sharer := range sharers {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			var g gate
			call, queued := sharer(t, gated(&g))
			var all sync.WaitGroup
			start := func(n int) {
				for range n {
					all.Go(func() {
						if err := call(); err != nil {
							t.Error(err)
						}
					})
				}
			}
			start(1)
			receive(t, "the first write", g.writing)
			start(100)
			eventually(t, "all wait", func() bool { return queued() == 100 })
			g.open <- nil
			all.Wait()
			if n := g.writes.Load(); n != 2 {
				t.Errorf("%d writes for a call, and a hundred that waited behind it", n)
			}
		})
	}
}

// What was queued when the connection broke has not been sent, and so is no
// call that is repeated.
func TestCallsThatWereNotSentGoToAnotherConnection(t *testing.T) {
	for name, sharer := range sharers {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			var g gate
			call, queued := sharer(t, gated(&g))
			first := make(chan error, 1)
			go func() { first <- call() }()
			receive(t, "the first write", g.writing)
			var all sync.WaitGroup
			for range 20 {
				all.Go(func() {
					if err := call(); err != nil {
						t.Error(err)
					}
				})
			}
			eventually(t, "all wait", func() bool { return queued() == 20 })
			broken := errors.New("broken")
			g.open <- broken
			all.Wait()
			wantError(t, receive(t, "the result", first), rpc.StageWrite, true, broken)
		})
	}
}
