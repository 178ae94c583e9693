package flatgeneric_test

import (
	"context"
	"fmt"
	"net"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatgeneric"
	"github.com/thrum-rpc/thrum/schema"
)

// A service is served, and called, with nothing but its schema.
func Example() {
	const idl = `
table Name { text:string; }
table Greeting { text:string; }
rpc_service Greeter { Greet(Name):Greeting; }
`
	file, list := fbsidl.Load("greeter.fbs", fbsidl.Sources(map[string][]byte{"greeter.fbs": []byte(idl)}), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	greeter := file.Service("Greeter")

	service, err := flatgeneric.ServeJSON(greeter, func(_ context.Context, m *schema.Method, req []byte) ([]byte, error) {
		fmt.Printf("%s got %s\n", m.Name(), req)
		return []byte(`{"text": "hello"}`), nil
	}, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := rpc.NewServer()
	if err := server.Register(service); err != nil {
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

	ctx := context.Background()
	client, err := rpc.DialMessages(ctx, "tcp", l.Addr().String())
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	greet, err := flatgeneric.NewMethod(greeter.Method("Greet"))
	if err != nil {
		fmt.Println(err)
		return
	}
	reply, err := greet.CallJSON(ctx, client, []byte(`{"text": "Ada"}`))
	fmt.Println(string(reply), err)
	// Output:
	// Greet got {"text":"Ada"}
	// {"text":"hello"} <nil>
}
