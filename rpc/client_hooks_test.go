package rpc_test

import (
	"context"
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests what clients of many addresses need to know of a client of one.

func TestALostConnectionIsTold(t *testing.T) {
	lost := make(chan rpc.Loss, 8)
	server, address := listen(t, []rpc.Method{echo})
	client := dial(t, "tcp", address, rpc.THeader(header.None), rpc.Disconnected(func(why rpc.Loss) { lost <- why }))
	call := &rpc.Invocation{Method: "echo"}
	if err := client.Invoke(t.Context(), call); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if why := receive(t, "the loss", lost); why != rpc.ConnectionFailed {
		t.Errorf("lost for %v", why)
	}
	if err := client.Invoke(t.Context(), call); err == nil {
		t.Error("a call without a server")
	}
	if len(lost) != 0 {
		t.Error("a connection that was never made is lost")
	}
}

func TestAServerThatLeavesIsTold(t *testing.T) {
	running, release := make(chan struct{}, 2), make(chan struct{})
	slow := raw("slow", func(_ context.Context, args, dst []byte) ([]byte, error) {
		running <- struct{}{}
		<-release
		return append(dst, args...), nil
	})
	lost := make(chan rpc.Loss, 1)
	server, address := listen(t, []rpc.Method{slow, echo})
	client := dial(t, "tcp", address, rpc.TTHeader(), rpc.Disconnected(func(why rpc.Loss) {
		select {
		case lost <- why:
		default: // a call that follows may connect to the server once more
		}
	}))
	ended := make(chan error, 1)
	go func() { ended <- client.Invoke(t.Context(), &rpc.Invocation{Method: "slow"}) }()
	receive(t, "the call runs", running)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(t.Context()) }()
	// The refusal of a call that comes too late is what says so.
	eventually(t, "the server stops", func() bool {
		return client.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}) != nil
	})
	if why := receive(t, "the farewell", lost); why != rpc.ServerLeaves {
		t.Errorf("lost for %v", why)
	}
	close(release)
	if err := receive(t, "the end of the call", ended); err != nil {
		t.Errorf("the call that ran: %v", err)
	}
	if err := receive(t, "the end of the server", stopped); err != nil {
		t.Error(err)
	}
}

func TestARefusalSaysThatNothingHasRun(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo, raw("pass", func(context.Context, []byte, []byte) ([]byte, error) {
		return nil, &rpc.ApplicationException{Type: rpc.LoadShedding, Message: "of another server"}
	})}, rpc.Overloaded(func(call rpc.CallInfo) error {
		if call.Method() == "echo" {
			return errors.New("too much")
		}
		return nil
	}))
	for name, opts := range map[string][]rpc.ClientOption{
		"header": {rpc.THeader(header.None)}, "TTHeader": {rpc.TTHeader()}, "framed": {rpc.Framed()}, "HTTP": {rpc.HTTP("http://s/")},
	} {
		client := dial(t, "tcp", address, opts...)
		for method, want := range map[string]bool{"echo": true, "pass": name == "framed", "none": false} {
			err := client.Invoke(t.Context(), &rpc.Invocation{Method: method})
			var e *rpc.ApplicationException
			if !errors.As(err, &e) || e.Refused() != want {
				t.Errorf("%s: %s is refused: %v, want %v: %v", name, method, e != nil && e.Refused(), want, err)
			}
		}
	}
}
