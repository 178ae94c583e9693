package gateway_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"

	"github.com/thrum-rpc/thrum/gateway"
	"github.com/thrum-rpc/thrum/idl/thriftidl"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

func ExampleNew() {
	file, list := thriftidl.Load("clock.thrift", thriftidl.Sources(map[string][]byte{"clock.thrift": []byte(`
		service Clock { i32 hour(1: string city (api.path = "city")) (api.get = "/hours/:city") }`)}))
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	// A backend is usually an *rpc.Client; this one answers 12 to everything.
	noon := callerFunc(func(_ context.Context, call *rpc.Invocation) error {
		b := thriftwire.AppendField(nil, thriftwire.I32, 0)
		return call.ReadResult(thriftwire.AppendStop(thriftwire.AppendI32(b, 12)))
	})
	g, err := gateway.New([]*schema.File{file}, noon)
	if err != nil {
		fmt.Println(err)
		return
	}
	server := httptest.NewServer(g)
	defer server.Close()
	reply, err := http.Get(server.URL + "/hours/Berlin")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer reply.Body.Close()
	body, _ := io.ReadAll(reply.Body)
	fmt.Print(reply.Status, " ", string(body))
	// Output: 200 OK 12
}
