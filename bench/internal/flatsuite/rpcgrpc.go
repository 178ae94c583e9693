package flatsuite

import (
	"context"
	"fmt"
	"io"
	"net"
	"runtime"

	google "github.com/google/flatbuffers/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials/insecure"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds the calls over gRPC: ours with FlatBuffers against grpc-go with
// FlatBuffers, by the codec of Google's runtime, and with Protobuf by protobuf-go. Both have one connection and
// build and read messages as the sides of trpc-go do.

// grpcSides are the contestants over gRPC.
var grpcSides = []rpcsuite.Side{
	{Name: harness.Ours, Server: "flat-thrum", Client: "flat-thrum-grpc"},
	{Name: "grpc-flatbuffers", Server: "flat-grpc", Client: "flat-grpc"},
	{Name: "grpc-protobuf", Server: "flat-grpc-protobuf", Client: "flat-grpc-protobuf"},
}

// grpcCallers are the numbers of callers at a time: a connection of net/http's server has 256 streams.
var grpcCallers = []int{1, 100}

// grpcMatches are the calls over gRPC, of which a short run has one.
func grpcMatches(short bool) []rpcsuite.Match {
	var list []rpcsuite.Match
	for _, s := range shapes() {
		for _, kind := range []string{unary, stream} {
			for _, n := range grpcCallers {
				if !s.streamed() || short && (s.name != "f286" || kind != unary || n != 100) {
					continue
				}
				list = append(list, rpcsuite.Match{
					Work: "rpc-cpu", Shape: fmt.Sprintf("%s/%s/c1d%d/grpc", s.name, kind, n), Calls: s.name + "/" + kind,
					Bytes: s.bytes, Callers: n, Sides: grpcSides,
				})
			}
		}
	}
	return list
}

func grpcServer() (net.Addr, func() error, error) {
	return serveGRPC(grpc.ForceServerCodec(google.FlatbuffersCodec{}), func(s *shape) (unary grpc.MethodDesc, streams grpc.StreamDesc) {
		return grpcMethods(s.name, newGoogleTable, s.answer())
	})
}

func grpcProtobufServer() (net.Addr, func() error, error) {
	return serveGRPC(grpc.EmptyServerOption{}, func(s *shape) (unary grpc.MethodDesc, streams grpc.StreamDesc) {
		return grpcMethods(s.name, s.value.NewProto, s.protoAnswer())
	})
}

// serveGRPC serves the methods of all shapes, set up as grpc-go's documentation says for speed.
func serveGRPC(codec grpc.ServerOption, methods func(*shape) (grpc.MethodDesc, grpc.StreamDesc)) (net.Addr, func() error, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, nil, err
	}
	desc := &grpc.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil)}
	for _, s := range shapes() {
		unary, streams := methods(&s)
		desc.Methods, desc.Streams = append(desc.Methods, unary), append(desc.Streams, streams)
	}
	s := grpc.NewServer(codec, grpc.NumStreamWorkers(uint32(runtime.GOMAXPROCS(0))), grpc.MaxConcurrentStreams(1024))
	s.RegisterService(desc, nil)
	return l.Addr(), func() error { return s.Serve(l) }, nil
}

// grpcMethods are what protoc would write for the methods of a shape.
func grpcMethods[Req any](name string, newRequest func() Req, handle func(Req) (any, error)) (grpc.MethodDesc, grpc.StreamDesc) {
	return grpc.MethodDesc{MethodName: name, Handler: func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			req := newRequest()
			if err := decode(req); err != nil {
				return nil, err
			}
			return handle(req)
		}}, grpc.StreamDesc{StreamName: name + "Stream", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			return answerEach(s, newRequest, handle)
		}}
}

func openThrumGRPC(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) {
	return openThrumBy(load, rpc.GRPC())
}

func openGRPC(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) {
	return openGRPCIn(load, googleExchange, grpc.WithDefaultCallOptions(grpc.ForceCodec(google.FlatbuffersCodec{})))
}

func openGRPCProtobuf(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) {
	return openGRPCIn(load, protoExchange)
}

func openGRPCIn(load rpcsuite.Load, exchangeOf func(*shape) exchange, opts ...grpc.DialOption) ([]rpcsuite.Call, []io.Closer, error) {
	s, kind, err := loadShape(load.Shape)
	if err != nil {
		return nil, nil, err
	}
	c, err := grpc.NewClient("passthrough:///"+load.Address, append(opts, grpc.WithTransportCredentials(insecure.NewCredentials()))...)
	if err != nil {
		return nil, nil, err
	}
	var made []rpcsuite.Call
	for range load.Callers {
		e := exchangeOf(s)
		call := func(ctx context.Context) error {
			return e(func(req, reply any) error { return c.Invoke(ctx, unaryMethod(s.name), req, reply) })
		}
		if kind == stream {
			if call, err = grpcStreamCall(c, streamMethod(s.name), e); err != nil {
				return nil, []io.Closer{c}, err
			}
		}
		made = append(made, call)
	}
	return made, []io.Closer{c}, nil
}

func grpcStreamCall(c *grpc.ClientConn, method string, e exchange) (rpcsuite.Call, error) {
	s, err := c.NewStream(context.Background(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, method)
	if err != nil {
		return nil, err
	}
	return exchangeOn(s, e), nil
}
