package thrifthttp_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http/httptest"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

func Example() {
	server := httptest.NewServer(thrifthttp.New(thrifthttp.Options{
		Exchange: func(_ context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
			defer r.Block.Release()
			return thrifthttp.Reply{Message: [][]byte{bytes.ToUpper(r.Message)}}, nil // a real one calls a method
		},
	}))
	defer server.Close()

	client, err := thrifthttp.NewClient(server.URL+"/shop", thrifthttp.ClientOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	answer, _, err := client.Post(context.Background(), []byte("message"), nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%s\n", answer.Message)
	answer.Block.Release()
	// Output: MESSAGE
}
