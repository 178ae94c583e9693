package rpc_test

import (
	"context"
	"net"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests clients whose server is lost without a word, over pipes whose time is the test's.

// deafConn is a connection on which nothing arrives any more once it is deaf.
type deafConn struct {
	net.Conn
	deaf, closed atomic.Bool
}

func (c *deafConn) Close() error {
	c.closed.Store(true)
	return c.Conn.Close()
}

func (c *deafConn) Read(b []byte) (int, error) {
	for {
		n, err := c.Conn.Read(b)
		if err != nil || !c.deaf.Load() {
			return n, err
		}
	}
}

func TestALostServerIsAskedAgainOnANewConnection(t *testing.T) {
	messages := func(t *testing.T, opts ...rpc.ClientOption) func(context.Context) error {
		c, err := rpc.DialMessages(t.Context(), "memory", "", opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return func(ctx context.Context) error {
			return c.InvokeMessage(ctx, &rpc.MessageCall{Method: "/S/Mirror", Request: rpc.Message{Type: transport.Protobuf, Body: []byte("x")}})
		}
	}
	thrift := func(t *testing.T, opts ...rpc.ClientOption) func(context.Context) error {
		c, err := rpc.Dial(t.Context(), "memory", "", opts...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return func(ctx context.Context) error {
			_, err := invoke(ctx, c, "echo", "x")
			return err
		}
	}
	for name, c := range map[string]struct {
		client  func(*testing.T, ...rpc.ClientOption) (call func(context.Context) error)
		dialect []rpc.ClientOption
	}{
		"tRPC":   {messages, nil},
		"gRPC":   {messages, []rpc.ClientOption{rpc.GRPC()}},
		"framed": {thrift, nil},
		"HTTP":   {thrift, []rpc.ClientOption{rpc.HTTP("http://s/")}},
		"HTTP/2": {thrift, []rpc.ClientOption{rpc.HTTP2("http://s/")}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				_, l := listenInBubble(t, []rpc.Method{mirror, echo})
				var last atomic.Pointer[deafConn]
				call := c.client(t, append(c.dialect, rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
					nc, err := l.DialContext(ctx, network, address)
					if err != nil {
						return nil, err
					}
					last.Store(&deafConn{Conn: nc})
					return last.Load(), nil
				}))...)
				ctx, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := call(ctx); err != nil {
					t.Fatal(err)
				}
				lost := last.Load()
				lost.deaf.Store(true)
				wantError(t, call(ctx), rpc.StageWait, true, context.DeadlineExceeded)
				ctx, cancel = context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if err := call(ctx); err != nil {
					t.Errorf("the next call: %v", err)
				}
				time.Sleep(10 * time.Second)
				if !lost.closed.Load() {
					t.Error("the connection on which nothing arrives is kept")
				}
			})
		})
	}
}
