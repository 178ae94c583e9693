package rpc_test

import (
	"context"
	"fmt"
	"io"
	"net"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// Word is a message of the example's stream.
type Word struct {
	Text string `frugal:"1,default,string"`
}

// ExampleBidiStreaming serves a method both of whose sides stream, and calls it.
func ExampleBidiStreaming() {
	server := rpc.NewServer()
	server.Register(&rpc.Service{Name: "Talk", Methods: []rpc.Method{
		rpc.BidiStreaming("echo", func(ctx context.Context, s stream.BidiStreamingServer[Word, Word]) error {
			for {
				w, err := s.Recv(ctx)
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
				if err := s.Send(ctx, &Word{Text: w.Text + "!"}); err != nil {
					return err
				}
			}
		}),
	}})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	go server.Serve(l)
	defer server.Close()

	ctx := context.Background()
	client, err := rpc.Dial(ctx, "tcp", l.Addr().String(), rpc.TTHeader())
	if err != nil {
		panic(err)
	}
	defer client.Close()
	s, err := rpc.OpenBidiStream[Word, Word](ctx, client, "Talk", "echo")
	if err != nil {
		panic(err)
	}
	for _, text := range []string{"one", "two"} {
		s.Send(ctx, &Word{Text: text})
		w, err := s.Recv(ctx)
		if err != nil {
			panic(err)
		}
		fmt.Println(w.Text)
	}
	s.CloseSend(ctx)
	_, err = s.Recv(ctx)
	fmt.Println(err)
	// Output:
	// one!
	// two!
	// EOF
}
