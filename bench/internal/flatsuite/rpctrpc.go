package flatsuite

import (
	"context"
	"io"
	"net"

	google "github.com/google/flatbuffers/go"
	_ "trpc.group/trpc-go/trpc-go" // registers the protocol
	"trpc.group/trpc-go/trpc-go/client"
	"trpc.group/trpc-go/trpc-go/codec"
	"trpc.group/trpc-go/trpc-go/server"
	trpcstream "trpc.group/trpc-go/trpc-go/stream"

	"github.com/thrum-rpc/thrum/bench/internal/gen/flat"
	"github.com/thrum-rpc/thrum/bench/internal/rpcsuite"
)

// This file holds the side of trpc-go, with FlatBuffers by Google's runtime and
// with Protobuf by protobuf-go: with connections that callers share, requests in builders
// and messages that are used again, and replies in builders that begin with the room they need.

// googleTable is an accessor as flatc's code has it, of any shape.
type googleTable struct{ t google.Table }

func (t *googleTable) Init(b []byte, i google.UOffsetT) { t.t = google.Table{Bytes: b, Pos: i} }

func trpcServer() (net.Addr, func() error, error) {
	l, err := listenLocal()
	if err != nil {
		return nil, nil, err
	}
	s := server.New(server.WithListener(l), server.WithNetwork("tcp"), server.WithProtocol("trpc"), server.WithServiceName(service),
		server.WithAddress(l.Addr().String()))
	desc := &server.ServiceDesc{ServiceName: service, HandlerType: (*any)(nil), StreamHandle: trpcstream.NewStreamDispatcher()}
	for _, shape := range shapes() {
		desc.Methods = append(desc.Methods, shape.trpcMethod(), shape.trpcProtoMethod())
		desc.Streams = append(desc.Streams, shape.trpcStream(), shape.trpcProtoStream())
	}
	if err := s.Register(desc, nil); err != nil {
		return nil, nil, err
	}
	return l.Addr(), s.Serve, nil
}

// serveTRPC serves a call as the stubs of trpc-go do.
func serveTRPC[Req any](newRequest func() Req, handle func(Req) (any, error)) func(any, context.Context, server.FilterFunc) (any, error) {
	return func(_ any, ctx context.Context, f server.FilterFunc) (any, error) {
		req := newRequest()
		filters, err := f(req)
		if err != nil {
			return nil, err
		}
		return filters.Filter(ctx, req, func(_ context.Context, req any) (any, error) { return handle(req.(Req)) })
	}
}

// streamTRPC answers each message of a stream with one.
func streamTRPC[Req any](newRequest func() Req, handle func(Req) (any, error)) server.StreamHandlerWapper {
	return func(_ any, s server.Stream) error { return answerEach(s, newRequest, handle) }
}

// answer is the handler of calls in FlatBuffers.
func (s *shape) answer() func(*googleTable) (any, error) {
	want, room := s.sum(), 2*s.bytes
	return func(req *googleTable) (any, error) {
		if s.value.ReadGoogle(&req.t) != want {
			return nil, errOther
		}
		b := google.NewBuilder(room)
		b.Finish(s.value.BuildGoogle(b))
		return b, nil
	}
}

// protoAnswer is the handler of calls in Protobuf.
func (s *shape) protoAnswer() func(flat.ProtoMessage) (any, error) {
	want := s.sum()
	return func(req flat.ProtoMessage) (any, error) {
		if req.Read() != want {
			return nil, errOther
		}
		reply := s.value.NewProto()
		reply.Fill(s.value)
		return reply, nil
	}
}

func newGoogleTable() *googleTable { return &googleTable{} }

func (s *shape) trpcMethod() server.Method {
	return server.Method{Name: unaryMethod(s.name), Func: serveTRPC(newGoogleTable, s.answer())}
}

func (s *shape) trpcProtoMethod() server.Method {
	return server.Method{Name: protoMethod(s.name), Func: serveTRPC(s.value.NewProto, s.protoAnswer())}
}

func (s *shape) trpcStream() server.StreamDesc {
	return server.StreamDesc{StreamName: streamMethod(s.name), ServerStreams: true, ClientStreams: true, Handler: streamTRPC(newGoogleTable, s.answer())}
}

func (s *shape) trpcProtoStream() server.StreamDesc {
	return server.StreamDesc{StreamName: protoMethod(s.name) + "Stream", ServerStreams: true, ClientStreams: true, Handler: streamTRPC(s.value.NewProto, s.protoAnswer())}
}

func openTRPC(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) {
	return openTRPCIn(load, codec.SerializationTypeFlatBuffer, func(s *shape, kind string) (string, exchange) {
		method := unaryMethod(s.name)
		if kind == stream {
			method = streamMethod(s.name)
		}
		return method, googleExchange(s)
	})
}

// googleExchange is by Google's runtime.
func googleExchange(s *shape) exchange {
	b, want := google.NewBuilder(0), s.sum()
	return func(trip func(req, reply any) error) error {
		b.Reset()
		b.Finish(s.value.BuildGoogle(b))
		reply := &googleTable{}
		err := trip(b, reply)
		if err == nil && s.value.ReadGoogle(&reply.t) != want {
			err = errOther
		}
		return err
	}
}

func openTRPCProtobuf(load rpcsuite.Load) ([]rpcsuite.Call, []io.Closer, error) {
	return openTRPCIn(load, codec.SerializationTypePB, func(s *shape, kind string) (string, exchange) {
		method := protoMethod(s.name)
		if kind == stream {
			method += "Stream"
		}
		return method, protoExchange(s)
	})
}

// protoExchange is by protobuf-go.
func protoExchange(s *shape) exchange {
	req, reply, want := s.value.NewProto(), s.value.NewProto(), s.sum()
	return func(trip func(req, reply any) error) error {
		req.Fill(s.value)
		err := trip(req, reply)
		if err == nil && reply.Read() != want {
			err = errOther
		}
		return err
	}
}

// exchange makes a request, has trip bring it to the server and the reply
// back, and reads that. It is for one caller.
type exchange func(trip func(req, reply any) error) error

func openTRPCIn(load rpcsuite.Load, format int, exchangeOf func(s *shape, kind string) (method string, e exchange)) ([]rpcsuite.Call, []io.Closer, error) {
	s, kind, err := loadShape(load.Shape)
	if err != nil {
		return nil, nil, err
	}
	opts := []client.Option{client.WithTarget("ip://" + load.Address), client.WithNetwork("tcp"), client.WithProtocol("trpc"),
		client.WithSerializationType(format), client.WithMultiplexed(true)}
	var made []rpcsuite.Call
	var ends []io.Closer
	for range load.Callers {
		method, e := exchangeOf(s, kind)
		call := trpcCall(method, e, opts)
		if kind == stream {
			opened, err := openTRPCStream(method, opts)
			if err != nil {
				return nil, ends, err
			}
			ends, call = append(ends, streamEnd{opened}), exchangeOn(opened, e)
		}
		made = append(made, call)
	}
	return made, ends, nil
}

// streamEnd ends a stream whose calls have: or it would stay, on both sides, for all that is
// measured afterwards.
type streamEnd struct{ s client.ClientStream }

func (e streamEnd) Close() error {
	if err := e.s.CloseSend(); err != nil {
		return err
	}
	err := e.s.RecvMsg(newGoogleTable())
	if err == io.EOF {
		return nil
	}
	return err
}

// trpcCall makes calls as the stubs of trpc-go do.
func trpcCall(method string, e exchange, opts []client.Option) rpcsuite.Call {
	return func(ctx context.Context) error {
		return e(func(req, reply any) error {
			ctx, msg := codec.WithCloneMessage(ctx)
			defer codec.PutBackMessage(msg)
			msg.WithClientRPCName(method)
			msg.WithCalleeServiceName(service)
			return client.DefaultClient.Invoke(ctx, req, reply, opts...)
		})
	}
}

func openTRPCStream(method string, opts []client.Option) (client.ClientStream, error) {
	ctx, msg := codec.WithCloneMessage(context.Background())
	msg.WithCalleeServiceName(service)
	return trpcstream.DefaultStreamClient.NewStream(ctx, &client.ClientStreamDesc{StreamName: method, ServerStreams: true, ClientStreams: true}, method, opts...)
}
