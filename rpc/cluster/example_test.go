package cluster_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// Generated code writes such structs for the method
//
//	i64 stock(1: string title)
type stockArgs struct {
	Title string `thrift:"title,1"`
}

type stockResult struct {
	Success *int64 `thrift:"success,0,optional"`
}

// serveStock serves the method on a free port.
func serveStock() (address string, stop func()) {
	server := rpc.NewServer()
	stock := rpc.Unary("stock", func(_ context.Context, args *stockArgs, result *stockResult) error {
		n := int64(len(args.Title))
		result.Success = &n
		return nil
	})
	if err := server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{stock}}); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(l)
	return l.Addr().String(), func() { server.Close() }
}

// One of three servers is killed, and calls go on.
func Example() {
	first, stopFirst := serveStock()
	second, stopSecond := serveStock()
	third, stopThird := serveStock()
	defer stopSecond()
	defer stopThird()

	client, err := cluster.New(resolve.Hosts(first, second, third),
		cluster.Dial(rpc.TTHeader()),
		cluster.Idempotent("stock"),
		cluster.Timeout(5*time.Second))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for i := range 300 {
		if i == 100 {
			stopFirst()
		}
		var result stockResult
		if err := rpc.Call(context.Background(), client, "stock", &stockArgs{Title: "Emma"}, &result); err != nil {
			fmt.Println(err)
			return
		}
	}
	fmt.Println("300 calls answered")
	// Output:
	// 300 calls answered
}

// A cache is asked for a key where it has it.
func ExampleConsistentHash() {
	client, err := cluster.New(resolve.Hosts("10.0.0.1:9090", "10.0.0.2:9090"),
		cluster.Balance(cluster.ConsistentHash(nil)))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	ctx := cluster.WithKey(context.Background(), "user 42")
	_ = ctx // calls with ctx go to the same address each time
}

// Slow calls get a second attempt on another address after the time in which
// nineteen of twenty are answered.
func ExampleHedging() {
	client, err := cluster.New(resolve.Hosts("10.0.0.1:9090", "10.0.0.2:9090"),
		cluster.Idempotent("stock"),
		cluster.Hedging(cluster.Hedge{Quantile: 0.95}))
	if err != nil {
		fmt.Println(err)
		return
	}
	client.Close()
}

// A client of methods on messages finds the server that is up.
func ExampleNewMessages() {
	server := rpc.NewServer()
	echo := rpc.Method{Name: "Echo", Message: func(_ context.Context, in rpc.Message) (rpc.Message, error) {
		return rpc.Message{Type: in.Type, Body: append([]byte("you said "), in.Body...)}, nil
	}}
	if err := server.Register(&rpc.Service{Name: "demo.Talk", Methods: []rpc.Method{echo}}); err != nil {
		fmt.Println(err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(l)
	defer server.Close()

	client, err := cluster.NewMessages(resolve.Hosts("127.0.0.1:1", l.Addr().String()))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	err = client.InvokeMessage(context.Background(), &rpc.MessageCall{
		Method: "/demo.Talk/Echo", Request: rpc.Message{Type: transport.FlatBuffers, Body: []byte("hello")},
		ReadReply: func(reply rpc.Message, _ []byte) error {
			fmt.Println(string(reply.Body))
			return nil
		},
	})
	if err != nil {
		fmt.Println(err)
	}
	// Output: you said hello
}

// One machine of the fleet is older than the others, and has fewer of the calls.
func ExamplePeakEWMA() {
	client, err := cluster.New(resolve.Hosts("10.0.0.1:9090", "10.0.0.2:9090"),
		cluster.Balance(cluster.PeakEWMA()))
	if err != nil {
		fmt.Println(err)
		return
	}
	client.Close()
}
