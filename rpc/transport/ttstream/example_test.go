package ttstream_test

import (
	"context"
	"fmt"
	"net"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/rpc/transport/ttstream"
)

// Example opens one stream on a connection in memory, and serves it.
func Example() {
	ctx := context.Background()
	near, far := net.Pipe()
	var blocks transport.Pool
	options := ttstream.Options{
		MaxFrame: 1 << 20, MaxStreams: 10,
		Outcome:     func(error) ([]transport.Pair, []byte) { return nil, []byte{0} },
		ReadOutcome: func([]byte, ttheader.StringPairs) error { return nil },
	}

	serving := options
	serving.Role = stream.Server
	serving.Accept = func(in *ttstream.Incoming) {
		s := in.Start(ctx, stream.Options{})
		go func() {
			s.Recv(ctx, func(b []byte) error {
				return s.Send(ctx, func(dst []byte) ([]byte, error) { return append(dst, "hello, "+string(b)...), nil })
			})
			s.Finish(nil)
		}()
	}
	go ttstream.New(far, transport.NewReader(far, &blocks), nil, serving).Serve()

	options.Role = stream.Client
	conn := ttstream.New(near, transport.NewReader(near, &blocks), nil, options)
	go conn.Serve()
	s, _ := conn.Open(ctx, "greet", nil, nil, nil)
	s.Send(ctx, func(dst []byte) ([]byte, error) { return append(dst, "world"...), nil })
	s.Recv(ctx, func(b []byte) error {
		fmt.Println(string(b))
		return nil
	})
	fmt.Println(s.Recv(ctx, nil))
	conn.Close(nil)
	// Output:
	// hello, world
	// EOF
}
