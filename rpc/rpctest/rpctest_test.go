package rpctest_test

import (
	"context"
	"errors"
	"net"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

func TestAServiceIsCalledInMemory(t *testing.T) {
	client := rpctest.Start(t, &rpc.Service{Name: "Calculator", Methods: []rpc.Method{rpc.Unary("add", add)}})
	for i := range int64(100) {
		var result addResult
		err := rpc.Call(t.Context(), rpc.Multiplexed(client, "Calculator"), "add", &addArgs{A: i, B: 1}, &result)
		if err != nil || *result.Success != i+1 {
			t.Fatalf("%d + 1 = %v, %v", i, result.Success, err)
		}
	}
}

func TestAServerOfOnesOwnIsCalledInEitherFraming(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{"framed": nil, "unframed": {rpc.Unframed()}} {
		t.Run(name, func(t *testing.T) {
			server := rpc.NewServer(rpc.MaxFrameSize(64))
			if err := server.Register(&rpc.Service{Methods: []rpc.Method{rpc.Unary("add", add)}}); err != nil {
				t.Fatal(err)
			}
			client := rpctest.Serve(t, server, opts...)
			var result addResult
			if err := rpc.Call(t.Context(), client, "add", &addArgs{A: 2, B: 3}, &result); err != nil || *result.Success != 5 {
				t.Errorf("2 + 3 = %v, %v", result.Success, err)
			}
		})
	}
}

func TestAClosedListenerRefuses(t *testing.T) {
	l := rpctest.NewListener()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := l.DialContext(ctx, "", ""); !errors.Is(err, context.Canceled) {
		t.Errorf("nobody accepts: %v", err)
	}
	l.Close()
	l.Close()
	if _, err := l.Accept(); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Accept: %v", err)
	}
	if _, err := rpctest.Dial(l); !errors.Is(err, net.ErrClosed) {
		t.Errorf("Dial: %v", err)
	}
}
