package rpcsuite

import (
	"context"
	"net"
	"runtime"

	"github.com/apache/thrift/lib/go/thrift"
	"github.com/cloudwego/kitex/pkg/klog"
	"github.com/cloudwego/kitex/server"
	"google.golang.org/grpc"
	"google.golang.org/protobuf/types/known/emptypb"
	"google.golang.org/protobuf/types/known/wrapperspb"

	apachecalls "github.com/thrum-rpc/thrum/bench/internal/gen/apache/calls"
	kitexbench "github.com/thrum-rpc/thrum/bench/internal/gen/kitex/calls/bench"
)

// This file holds the peers that are in Go, each set up as its documentation
// says for speed.

// handler answers as every server does. Its methods are those of the code that
// Kitex and Apache generate.
type handler struct{}

func (handler) Noop(context.Context) error                          { return nil }
func (handler) Echo(_ context.Context, data []byte) ([]byte, error) { return data, nil }
func (handler) Burn(_ context.Context, micros int32) error          { burn(micros); return nil }

func apacheServer(header bool) (net.Addr, func() error, error) {
	socket, err := thrift.NewTServerSocket("127.0.0.1:0")
	if err != nil {
		return nil, nil, err
	}
	if err := socket.Listen(); err != nil {
		return nil, nil, err
	}
	// Its framed transport reads through a buffer of its own.
	transport := thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), nil)
	protocol := thrift.TProtocolFactory(thrift.NewTBinaryProtocolFactoryConf(nil))
	if header {
		transport = thrift.NewTHeaderTransportFactoryConf(thrift.NewTTransportFactory(), nil)
		protocol = thrift.NewTHeaderProtocolFactoryConf(nil)
	}
	s := thrift.NewTSimpleServer4(apachecalls.NewBenchProcessor(handler{}), socket, transport, protocol)
	return socket.Addr(), s.Serve, nil
}

func kitexServer(mux bool) (net.Addr, func() error, error) {
	klog.SetLevel(klog.LevelFatal)
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	options := []server.Option{server.WithListener(l)}
	if mux {
		options = append(options, server.WithMuxTransport())
	}
	return l.Addr(), kitexbench.NewServer(&handler{}, options...).Run, nil
}

// grpcService is what protoc would write for a service of well-known messages,
// which need no generated code.
var grpcService = grpc.ServiceDesc{
	ServiceName: "Bench",
	HandlerType: (*any)(nil),
	Methods: []grpc.MethodDesc{
		{MethodName: "noop", Handler: grpcUnary(func(*emptypb.Empty) *emptypb.Empty { return &emptypb.Empty{} })},
		{MethodName: "echo", Handler: grpcUnary(func(m *wrapperspb.BytesValue) *wrapperspb.BytesValue {
			return &wrapperspb.BytesValue{Value: m.Value}
		})},
	},
}

func grpcUnary[Q, A any](f func(*Q) *A) grpc.MethodHandler {
	return func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		q := new(Q)
		if err := decode(q); err != nil {
			return nil, err
		}
		return f(q), nil
	}
}

func grpcServer() (net.Addr, func() error, error) {
	l, err := listen()
	if err != nil {
		return nil, nil, err
	}
	// A worker keeps its stack, which a goroutine for each call grows anew.
	s := grpc.NewServer(grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), grpc.MaxConcurrentStreams(1024))
	s.RegisterService(&grpcService, nil)
	return l.Addr(), func() error { return s.Serve(l) }, nil
}
