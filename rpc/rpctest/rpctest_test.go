package rpctest_test

import (
	"context"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

func TestAServiceIsCalledInMemory(t *testing.T) {
	client := rpctest.Start(t, &rpc.Service{Name: "Echo", Methods: []rpc.Method{{
		Name:  "echo",
		Serve: func(_ context.Context, args, dst []byte) ([]byte, error) { return append(dst, args...), nil },
	}}})
	var got string
	err := rpc.Multiplexed(client, "Echo").Invoke(t.Context(), &rpc.Invocation{
		Method:     "echo",
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, "\x02\x00\x01\x01\x00"...), nil },
		ReadResult: func(b []byte) error { got = string(b); return nil },
	})
	if err != nil || got != "\x02\x00\x01\x01\x00" {
		t.Errorf("got %q, %v", got, err)
	}
}
