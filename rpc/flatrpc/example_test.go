package flatrpc_test

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// A service with one method, and a call of it. Word, its verifier and the
// function that builds one are what a generator writes.
func Example() {
	server := rpc.NewServer()
	shout := func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		return words.New(flatrpc.NewBuilder(ctx), req.Text()+"!", 1), nil
	}
	err := server.Register(&rpc.Service{Name: "test.Words", Methods: []rpc.Method{
		flatrpc.Unary("Shout", words.Verifier(), shout),
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	l := rpctest.NewListener()
	go server.Serve(l)
	defer server.Close()

	client, err := rpc.DialMessages(context.Background(), "memory", "", rpc.Dialer(l.DialContext))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	reply, err := flatrpc.Call[words.Word](context.Background(), client, "/test.Words/Shout", words.New(nil, "hello", 1), words.Verifier())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reply.Text())
	// Output: hello!
}
