package grpc

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"log/slog"
	"net"
	"strings"
	"testing"
	"time"

	google "github.com/google/flatbuffers/go"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/credentials/insecure"
	_ "google.golang.org/grpc/encoding/gzip" // registers it
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	wire "github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds the service Words, by both sides, and how they are reached.

// patience is how long a call may take before a test fails.
const patience = 30 * time.Second

const (
	service = "test.Words"
	repeat  = "/test.Words/Repeat"
	split   = "/test.Words/Split"
	join    = "/test.Words/Join"
	echo    = "/test.Words/Echo"
)

// within returns a context for one call.
func within(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// waits tells tests when a handler has begun to wait, and why it has stopped.
type waits struct {
	begun chan struct{}
	ended chan error
}

func newWaits() *waits { return &waits{make(chan struct{}, 1), make(chan error, 1)} }

// wait waits until ctx ends.
func (w *waits) wait(ctx context.Context) error {
	w.begun <- struct{}{}
	<-ctx.Done()
	w.ended <- context.Cause(ctx)
	return ctx.Err()
}

// expired makes a call whose deadline ends while its handler waits, of a server that start starts and run calls, and returns
// the call's error. A call whose deadline has ended before is made again, to another server, with more time.
func expired(t *testing.T, start func(w *waits) (run func(ctx context.Context) error)) error {
	t.Helper()
	for d := 200 * time.Millisecond; d < patience; d *= 4 {
		w := newWaits()
		run := start(w)
		ctx, cancel := context.WithTimeout(t.Context(), d)
		err := run(ctx)
		cancel()
		select {
		case <-w.begun:
			receive(t, "the handler ends with its deadline", w.ended)
			return err
		default:
		}
	}
	t.Fatal("no handler begins")
	return nil
}

// failure is what the handlers of Thrum do with a text: an error, or none.
func failure(text string) error {
	switch text {
	case "not found":
		return &wire.Status{Code: wire.NotFound, Message: "as asked: 100 % ä\n", Details: []byte{1, 2, 3}}
	case "sold out":
		return &rpc.BizStatus{Code: 4711, Message: "as asked"}
	case "invalid":
		return &rpc.StatusError{Code: trpc.ServerValidate, Message: "as asked"}
	case "plain":
		return errors.New("as asked")
	case "panic":
		panic("as asked")
	}
	return nil
}

// thrumServer serves Words by Thrum until the test ends.
func thrumServer(t *testing.T, w *waits, opts ...rpc.ServerOption) (string, *rpc.Server) {
	t.Helper()
	opts = append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)
	s := rpc.NewServer(opts...)
	methods := append(thrumStreams(w), flatrpc.Unary("Repeat", words.Verifier(), func(ctx context.Context, req *words.Word) (*flatbuf.Builder, error) {
		info, _ := rpc.Info(ctx)
		for _, key := range []string{"who", "trace-bin"} {
			if who, ok := info.Header(key); ok {
				info.SetReplyHeader("seen-"+key, who)
			}
		}
		if req.Text() == "wait" {
			return nil, w.wait(ctx)
		}
		if err := failure(req.Text()); err != nil {
			return nil, err
		}
		return words.New(flatrpc.NewBuilder(ctx), strings.Repeat(req.Text(), int(req.Count())), req.Count()), nil
	}))
	if err := s.Register(&rpc.Service{Name: service, Methods: methods}); err != nil {
		t.Fatal(err)
	}
	l := listen(t)
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	return l.Addr().String(), s
}

func listen(t *testing.T) net.Listener {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// thrumStreams are the methods that stream, by Thrum.
func thrumStreams(w *waits) []rpc.Method {
	return []rpc.Method{
		flatrpc.ServerStream("Split", words.Verifier(), func(ctx context.Context, req *words.Word, out *flatrpc.Sender) error {
			for i := range req.Count() {
				if err := out.Send(words.New(out.NewBuilder(), req.Text(), i)); err != nil {
					return err
				}
			}
			if req.Text() == "wait" {
				return w.wait(ctx)
			}
			return failure(req.Text())
		}),
		flatrpc.ClientStream("Join", words.Verifier(), words.Join),
		flatrpc.Bidi("Echo", words.Verifier(), words.Echo),
	}
}

// peerClient returns a client of grpc-go with Google's codec.
func peerClient(t *testing.T, address string, opts ...grpc.DialOption) *grpc.ClientConn {
	t.Helper()
	opts = append([]grpc.DialOption{
		grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.ForceCodec(google.FlatbuffersCodec{}), grpc.MaxCallRecvMsgSize(64<<20)),
	}, opts...)
	c, err := grpc.NewClient(address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// peerServer serves Words by grpc-go until the test ends.
func peerServer(t *testing.T, w *waits, opts ...grpc.ServerOption) string {
	t.Helper()
	address, _ := startPeer(t, w, opts...)
	return address
}

// startPeer is peerServer for who stops the server itself.
func startPeer(t *testing.T, w *waits, opts ...grpc.ServerOption) (string, *grpc.Server) {
	t.Helper()
	s, l := newPeer(w, opts...), listen(t)
	go s.Serve(l)
	t.Cleanup(s.Stop)
	return l.Addr().String(), s
}

// newPeer is Words by grpc-go.
func newPeer(w *waits, opts ...grpc.ServerOption) *grpc.Server {
	opts = append([]grpc.ServerOption{grpc.ForceServerCodec(google.FlatbuffersCodec{}), grpc.MaxRecvMsgSize(64 << 20)}, opts...)
	s := grpc.NewServer(opts...)
	s.RegisterService(&grpc.ServiceDesc{
		ServiceName: service, HandlerType: (*any)(nil), Streams: peerStreams(w),
		Methods: []grpc.MethodDesc{{MethodName: "Repeat", Handler: func(_ any, ctx context.Context, dec func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
			req := &GoogleWord{}
			if err := dec(req); err != nil {
				return nil, err
			}
			in, _ := metadata.FromIncomingContext(ctx)
			for _, key := range []string{"who", "trace-bin"} {
				if who := in.Get(key); len(who) > 0 {
					grpc.SetHeader(ctx, metadata.Pairs("seen-"+key, who[0]))
				}
			}
			if req.Text() == "wait" {
				return nil, w.wait(ctx)
			}
			if err := peerFailure(req.Text()); err != nil {
				return nil, err
			}
			return googleWord(strings.Repeat(req.Text(), int(req.Count())), req.Count()), nil
		}}},
	}, nil)
	return s
}

func peerFailure(text string) error {
	switch text {
	case "not found":
		return status.Error(codes.NotFound, "as asked: 100 % ä\n")
	case "invalid":
		return status.Error(codes.InvalidArgument, "as asked")
	case "plain":
		return errors.New("as asked")
	}
	return nil
}

// peerStreams are the methods that stream, by grpc-go.
func peerStreams(w *waits) []grpc.StreamDesc {
	return []grpc.StreamDesc{
		{StreamName: "Split", ServerStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			req := &GoogleWord{}
			if err := s.RecvMsg(req); err != nil {
				return err
			}
			for i := range req.Count() {
				if err := s.SendMsg(googleWord(req.Text(), i)); err != nil {
					return err
				}
			}
			if req.Text() == "wait" {
				return w.wait(s.Context())
			}
			s.SetTrailer(metadata.Pairs("served-by", "grpc-go"))
			return peerFailure(req.Text())
		}},
		{StreamName: "Join", ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			var text strings.Builder
			for n := int32(0); ; n++ {
				w := &GoogleWord{}
				err := s.RecvMsg(w)
				if err == io.EOF {
					return s.SendMsg(googleWord(text.String(), n))
				}
				if err != nil {
					return err
				}
				text.WriteString(w.Text())
			}
		}},
		{StreamName: "Echo", ServerStreams: true, ClientStreams: true, Handler: func(_ any, s grpc.ServerStream) error {
			for {
				w := &GoogleWord{}
				err := s.RecvMsg(w)
				if err == io.EOF {
					return nil
				}
				if err == nil {
					err = s.SendMsg(googleWord(w.Text()+"!", w.Count()))
				}
				if err != nil {
					return err
				}
			}
		}},
	}
}

// thrumClient returns a client of Thrum.
func thrumClient(t *testing.T, address string, opts ...rpc.ClientOption) *rpc.MessageClient {
	t.Helper()
	c, err := rpc.DialMessages(within(t), "tcp", address, append([]rpc.ClientOption{rpc.GRPC()}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// receive waits for what a channel brings.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("not within %v: %s", patience, what)
		panic("unreachable")
	}
}

// secured returns the configurations of both sides of TLS, by an authority of the test's own.
func secured(t *testing.T) (server, client *tls.Config) {
	t.Helper()
	ca := rpctest.NewCA(t)
	pair, err := tls.X509KeyPair(ca.Issue(t, time.Now().Add(time.Hour), "127.0.0.1", "localhost"))
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}, &tls.Config{RootCAs: ca.Pool(), ServerName: "localhost"}
}

func transportCredentials(config *tls.Config) grpc.DialOption {
	return grpc.WithTransportCredentials(credentials.NewTLS(config))
}

// large is a text that needs several windows of HTTP/2, and more than grpc-go takes by default.
var large = string(bytes.Repeat([]byte("0123456789abcdef"), 5<<16))
