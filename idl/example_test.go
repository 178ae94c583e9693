package idl_test

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

// A server and a client of IDL that gains a method while they run.
func Example() {
	source, err := idl.Open(idl.Memory(map[string][]byte{"clock.thrift": []byte(`service Clock { i32 hour() }`)}))
	if err != nil {
		fmt.Println(err)
		return
	}
	server := rpc.NewServer()
	handler := func(_ context.Context, m *schema.Method, _ dynamic.Value) (any, error) { return len(m.Name()), nil }
	var client *generic.Client
	listener := rpctest.NewListener()
	go server.Serve(listener)
	defer server.Close()
	conn, err := rpctest.Dial(listener)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	stop, err := source.Follow(func(set *idl.Set) error {
		clock, err := set.Service("Clock")
		if err != nil {
			return err
		}
		if client == nil {
			client = generic.New(conn, clock)
		} else {
			client.Replace(clock)
		}
		return server.Replace(generic.Serve(clock, handler))
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer stop()

	call := func(method string) { fmt.Println(client.Call(context.Background(), method, nil)) }
	call("hour")
	call("minutes")
	if err := source.Replace(idl.Memory(map[string][]byte{"clock.thrift": []byte(`service Clock { i32 hour() i32 minutes() }`)})); err != nil {
		fmt.Println(err)
		return
	}
	call("minutes")
	// A source with files would now do: go source.Watch(ctx, time.Second)

	// Output:
	// 4 <nil>
	// <nil> unknown method: Clock has no method "minutes"
	// 7 <nil>
}
