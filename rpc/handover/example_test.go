//go:build unix

package handover_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/handover"
)

// Two servers follow each other; in earnest each is a process of its own. The client
// has one connection all the time.
func Example() {
	dir, err := os.MkdirTemp("", "shop")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	serve := func(version string) (string, <-chan error) {
		server := rpc.NewServer()
		defer fmt.Println("version", version, "serves")
		server.Register(&rpc.Service{Name: "Shop", Methods: []rpc.Method{{Name: "echo",
			Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
				fmt.Println("version", version, "is called")
				return append(dst, args...), nil
			}}}})
		h, err := handover.Begin(ctx, filepath.Join(dir, "handover"), server)
		if err != nil {
			fmt.Println(err)
			return "", nil
		}
		l, err := h.Listen(ctx, "tcp", "127.0.0.1:0") // in earnest a port of one's own
		if err != nil {
			fmt.Println(err)
			return "", nil
		}
		go server.Serve(l)
		done := make(chan error, 1)
		go func() { done <- h.Run(ctx) }()
		return l.Addr().String(), done
	}

	address, done := serve("1")
	client, err := rpc.Dial(ctx, "tcp", address)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer client.Close()
	fmt.Println(invoke(ctx, client, "hello"))

	serve("2")
	fmt.Println("version 1 ends:", <-done)
	fmt.Println(invoke(ctx, client, "hello again"))
	// Output:
	// version 1 serves
	// version 1 is called
	// hello <nil>
	// version 2 serves
	// version 1 ends: <nil>
	// version 2 is called
	// hello again <nil>
}
