package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"

	"github.com/thrum-rpc/thrum/rpc"
)

// Generated code writes such structs for the method
//
//	i64 stock(1: string title) throws (1: NoSuchBook unknown)
type stockArgs struct {
	Title string `thrift:"title,1"`
}

type stockResult struct {
	Success *int64      `thrift:"success,0,optional"`
	Unknown *noSuchBook `thrift:"unknown,1,optional"`
}

type noSuchBook struct {
	Title string `thrift:"title,1"`
}

func stock(_ context.Context, args *stockArgs, result *stockResult) error {
	switch args.Title {
	case "Emma":
		n := int64(3)
		result.Success = &n
	case "":
		return errors.New("no title given")
	default:
		result.Unknown = &noSuchBook{Title: args.Title}
	}
	return nil
}

func Example() {
	server := rpc.NewServer()
	err := server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{rpc.Unary("stock", stock)}})
	if err != nil {
		fmt.Println(err)
		return
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(l)
	defer server.Shutdown(context.Background())

	ctx := context.Background()
	client, err := rpc.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	for _, title := range []string{"Emma", "Persuasion", ""} {
		var result stockResult
		err := rpc.Call(ctx, client, "stock", &stockArgs{Title: title}, &result)
		switch {
		case err != nil:
			fmt.Println("error:", err)
		case result.Unknown != nil:
			fmt.Println("no such book:", result.Unknown.Title)
		default:
			fmt.Println(title, *result.Success)
		}
	}
	// Output:
	// Emma 3
	// no such book: Persuasion
	// error: internal error: no title given
}

// Two services that both have a method stock share one connection.
func ExampleMultiplexed() {
	server := rpc.NewServer()
	for _, name := range []string{"Shop", "Library"} {
		err := server.Register(&rpc.Service{Name: name, Methods: []rpc.Method{rpc.Unary("stock", stock)}})
		if err != nil {
			fmt.Println(err)
			return
		}
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	go server.Serve(l)
	defer server.Close()

	ctx := context.Background()
	client, err := rpc.Dial(ctx, "tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	var result stockResult
	err = rpc.Call(ctx, rpc.Multiplexed(client, "Library"), "stock", &stockArgs{Title: "Emma"}, &result)
	fmt.Println(*result.Success, err)
	err = rpc.Call(ctx, client, "stock", &stockArgs{Title: "Emma"}, &result)
	fmt.Println(err)
	// Output:
	// 3 <nil>
	// unknown method: method "stock" is in the services Shop, Library: call one of them by "Service:method"
}

// One port serves Thrift in every dialect, posts among them, and other HTTP requests.
func ExampleHTTP() {
	server := rpc.NewServer(rpc.HTTPFallback(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, "nothing but Thrift here") // a gateway.Gateway, for example
	})))
	if err := server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{rpc.Unary("stock", stock)}}); err != nil {
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

	ctx, address := context.Background(), l.Addr().String()
	for _, dialect := range []rpc.ClientOption{rpc.TTHeader(), rpc.HTTP("http://" + address + "/shop"), rpc.HTTP2("http://" + address + "/shop")} {
		client, err := rpc.Dial(ctx, "tcp", address, dialect)
		if err != nil {
			fmt.Println(err)
			return
		}
		var result stockResult
		err = rpc.Call(ctx, client, "stock", &stockArgs{Title: "Emma"}, &result)
		fmt.Println(*result.Success, err)
		client.Close()
	}
	page, err := http.Get("http://" + address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer page.Body.Close()
	text, err := io.ReadAll(page.Body)
	fmt.Println(string(text), err)
	// Output:
	// 3 <nil>
	// 3 <nil>
	// 3 <nil>
	// nothing but Thrift here <nil>
}

func ExampleInterceptCalls() {
	timed := func(ctx context.Context, call *rpc.Invocation, to rpc.Target, next rpc.Caller) error {
		err := next.Invoke(ctx, call)
		fmt.Printf("%s.%s over %s: %v\n", to.Service, call.Method, to.Dialect, err)
		return err
	}
	server, address := shopServer()
	defer server.Close()
	client, err := rpc.Dial(context.Background(), "tcp", address, rpc.ServiceName("Shop"), rpc.InterceptCalls(timed))
	if err != nil {
		panic(err)
	}
	defer client.Close()
	var result stockResult
	if err := rpc.Call(context.Background(), client, "stock", &stockArgs{Title: "Emma"}, &result); err != nil {
		panic(err)
	}
	// Output:
	// Shop.stock over framed binary: <nil>
}

func ExampleWithReplyHeaders() {
	load := rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
		call.SetReplyHeader("load", "0.5")
		return nil, nil, nil
	})
	server, address := shopServer(load)
	defer server.Close()
	client, err := rpc.Dial(context.Background(), "tcp", address, rpc.TTHeader())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	ctx, headers := rpc.WithReplyHeaders(rpc.WithPersistent(context.Background(), "tenant", "acme"))
	var result stockResult
	if err := rpc.Call(ctx, client, "stock", &stockArgs{Title: "Emma"}, &result); err != nil {
		panic(err)
	}
	fmt.Println(headers.Get("load"))
	// Output:
	// 0.5 true
}

// shopServer serves stock on a free port.
func shopServer(opts ...rpc.ServerOption) (*rpc.Server, string) {
	server := rpc.NewServer(opts...)
	if err := server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{rpc.Unary("stock", stock)}}); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(l)
	return server, l.Addr().String()
}
