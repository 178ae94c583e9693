package generic_test

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/schema"
)

func Example() {
	file, list := thriftidl.Load("greeter.thrift", thriftidl.Sources(map[string][]byte{"greeter.thrift": []byte(`
		service Greeter { string greet(1: string name) }
	`)}), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	greeter := file.Service("Greeter")
	handler := func(_ context.Context, m *schema.Method, args dynamic.Value) (any, error) {
		name, err := args.Get(dynamic.Name("name"))
		if err != nil {
			return nil, err
		}
		text, err := name.Text()
		return "Hello, " + text, err
	}

	server := rpc.NewServer()
	if err := server.Register(generic.Serve(greeter, handler)); err != nil {
		fmt.Println(err)
		return
	}
	listener := rpctest.NewListener() // a net.Listener in memory
	go server.Serve(listener)
	defer server.Close()
	conn, err := rpctest.Dial(listener)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer conn.Close()

	client := generic.New(conn, greeter)
	fmt.Println(client.Call(context.Background(), "greet", map[string]any{"name": "Ada"}))
	// Output:
	// Hello, Ada <nil>
}
