package rpc_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http/httptrace"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests calls over gRPC whose time ends at the moment when they do.

// mirror is a method on messages that answers with its request.
var mirror = rpc.Method{Name: "Mirror", Message: func(_ context.Context, in rpc.Message) (rpc.Message, error) {
	return rpc.Message{Type: in.Type, Body: append([]byte(nil), in.Body...)}, nil
}}

// What limits the time to write must not touch an answer that has ended: net/http panics then.
func TestTheTimeToWriteMayEndWithTheAnswer(t *testing.T) {
	_, address := listen(t, []rpc.Method{mirror}, rpc.WriteTimeout(10*time.Microsecond))
	c, err := rpc.DialMessages(t.Context(), "tcp", address, rpc.GRPC())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 200 { // whether they are answered depends on the machine
				call := &rpc.MessageCall{Method: "/S/Mirror", Request: rpc.Message{Type: transport.Protobuf, Body: []byte("x")}}
				_ = c.InvokeMessage(t.Context(), call)
			}
		})
	}
	all.Wait()
}

// A server that says nothing, as one that hangs: a client writes no request to it, and leaves when it is closed.
func TestAClosedClientLeavesAServerThatSaysNothing(t *testing.T) {
	noLeaks(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	began, ended := make(chan struct{}, 1), make(chan struct{})
	go func() {
		defer close(ended)
		c, err := l.Accept()
		if err != nil {
			return
		}
		defer c.Close()
		io.Copy(io.Discard, c)
	}()
	c, err := rpc.DialMessages(t.Context(), "tcp", l.Addr().String(), rpc.GRPC())
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	traced := httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { began <- struct{}{} }})
	failed := make(chan error, 1)
	go func() {
		failed <- c.InvokeMessage(traced, &rpc.MessageCall{Method: "/S/Mirror", Request: rpc.Message{Type: transport.Protobuf, Body: []byte("x")}})
	}()
	receive(t, "the call has a connection", began)
	cancel()
	var e *rpc.Error
	if err := receive(t, "the call ends", failed); !errors.As(err, &e) || e.Sent {
		t.Error(err)
	}
	c.Close()
	receive(t, "the connection is closed", ended)
}
