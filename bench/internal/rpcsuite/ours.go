package rpcsuite

import (
	"context"
	"net"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds our server, with the structs that our generator would write
// for idl/rpc.thrift.

type (
	noopArgs   struct{}
	noopResult struct{}
	echoArgs   struct {
		Data []byte `thrift:"data,1,default,binary"`
	}
	echoResult struct {
		Success []byte `thrift:"success,0,optional,binary"`
	}
	burnArgs struct {
		Micros int32 `thrift:"micros,1"`
	}
)

// form is the form of the handlers.
type form uint8

const plainForm form = iota // on the worker pool

func oursServer(f form) (net.Addr, func() error, error) {
	server := rpc.NewServer(rpc.MaxConnections(20_000), rpc.MaxInFlightPerConn(1024))
	if err := server.Register(&rpc.Service{Name: "Bench", Methods: methods(f)}); err != nil {
		return nil, nil, err
	}
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	return l.Addr(), func() error { return server.Serve(l) }, nil
}

func methods(form) []rpc.Method {
	return []rpc.Method{
		rpc.Unary("noop", func(context.Context, *noopArgs, *noopResult) error { return nil }),
		rpc.Unary("echo", func(_ context.Context, args *echoArgs, result *echoResult) error {
			result.Success = args.Data
			return nil
		}),
		rpc.Unary("burn", func(_ context.Context, args *burnArgs, _ *noopResult) error {
			burn(args.Micros)
			return nil
		}),
	}
}
