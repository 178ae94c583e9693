package load_test

import (
	"context"
	"fmt"
	"net"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc"
)

func ExampleRun() {
	s := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0)) // its calls have any time
	if err := s.Register(&rpc.Service{Name: "Test", Methods: methods()}); err != nil {
		panic(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go s.Serve(l)
	defer s.Close()

	form := load.Form{Dialect: load.TTHeader}
	request, err := form.Request("noop", []byte{0}) // an empty struct
	if err != nil {
		panic(err)
	}
	res, err := load.Run(context.Background(), load.Config{
		Network: "tcp", Address: l.Addr().String(),
		Form: form, Requests: []load.Request{request},
		Rate: 1000, Depth: 100, Duration: 100 * time.Millisecond,
	})
	if err != nil {
		panic(err)
	}
	fmt.Println(res.Latency.Count+res.Errors[load.Unsent], "requests were due, failed:", res.Failed()-res.Errors[load.Unsent])
	// Output: 100 requests were due, failed: 0
}
