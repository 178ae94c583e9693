package rpc_test

import (
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// This file holds servers and clients for tests of time. They run in bubbles of testing/synctest, over pipes
// in memory: time passes there only when nothing else can happen, so a machine with much to do makes no call late.

// listenInBubble is listen for a bubble.
func listenInBubble(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) (*rpc.Server, *rpctest.Listener) {
	t.Helper()
	server, l := serverOf(t, methods, opts...), rpctest.NewListener()
	serve(t, server, l)
	return server, l
}

// connectInBubble is connect for a bubble. What it sends has been read by the server when send returns.
func connectInBubble(t *testing.T, l *rpctest.Listener, framed bool) *peer {
	t.Helper()
	c, err := l.DialContext(t.Context(), "", "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &peer{t, c, framed}
}

// dialInBubble is dial for a bubble.
func dialInBubble(t *testing.T, l *rpctest.Listener, opts ...rpc.ClientOption) *rpc.Client {
	t.Helper()
	client, err := rpctest.Dial(l, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}
