package flatrpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds calls and streams over gRPC between our own sides. Those
// with grpc-go on the other side are in contrib/grpc.

func TestCallsAndStreamsGoOverGRPC(t *testing.T) {
	_, address := serve(t, append(streaming(), flatrpc.Unary("Repeat", words.Verifier(), repeat)))
	for _, packing := range []trpc.Compression{trpc.None, trpc.Gzip} {
		c := dial(t, address, rpc.GRPC(), rpc.CompressMessages(packing))
		if c.Dialect() != transport.GRPC {
			t.Errorf("the client speaks %s", c.Dialect())
		}
		var all sync.WaitGroup
		for i := range 20 {
			all.Go(func() {
				text := strings.Repeat(fmt.Sprint(i), 1+i*1000)
				w, err := callRepeat(mustEnd(t), c, text, 3)
				if err != nil || w.Text() != strings.Repeat(text, 3) {
					t.Errorf("call: %v", err)
				}
				if err := errors.Join(download(mustEnd(t), c, text, 50), upload(mustEnd(t), c, text, 50), bothWays(mustEnd(t), c, text, 50)); err != nil {
					t.Errorf("streams: %v", err)
				}
			})
		}
		all.Wait()
	}
}

func TestAConnectionOfGRPCMayHaveServicesOfItsOwn(t *testing.T) {
	own := func(_ context.Context, req *words.Word) (*flatbuf.Builder, error) {
		return words.New(flatrpc.NewBuilder(context.Background()), "own "+req.Text(), 1), nil
	}
	var asked atomic.Int32
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)}, rpc.ServicesFor(func(c rpc.ConnInfo) []*rpc.Service {
		if c.Dialect != transport.GRPC || asked.Add(1) > 1 {
			return nil
		}
		return []*rpc.Service{{Name: "test.Words", Methods: []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), own)}}}
	}))
	for _, want := range []string{"own x", "xx"} {
		c := dial(t, address, rpc.GRPC())
		for range 3 {
			if w, err := callRepeat(mustEnd(t), c, "x", 2); err != nil || w.Text() != want {
				t.Errorf("%v, want %q", err, want)
			}
		}
	}
	if n := asked.Load(); n != 2 {
		t.Errorf("asked %d times for two connections", n)
	}
}

func TestOverGRPCTypesOfFailuresStay(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)}, rpc.MaxFrameSize(1<<16))
	c := dial(t, address, rpc.GRPC())
	var biz *rpc.BizStatus
	if _, err := callRepeat(mustEnd(t), c, "x", -1); !errors.As(err, &biz) || biz.Code != 1 || biz.Message != "too often" || biz.Extra["most"] != "10000" {
		t.Errorf("the application's: %v, %v", err, biz.Extra)
	}
	var status *grpc.Status
	if _, err := callRepeat(mustEnd(t), c, strings.Repeat("x", 10_000), 10); !errors.As(err, &status) || status.Code != grpc.ResourceExhausted {
		t.Errorf("a reply that is too large: %v", err)
	}
	if _, err := callRepeat(mustEnd(t), c, strings.Repeat("x", 100_000), 1); !errors.As(err, &status) || status.Code != grpc.ResourceExhausted {
		t.Errorf("a request that is too large: %v", err)
	}
	call := &rpc.MessageCall{Method: repeatMethod, Request: rpc.Message{Type: transport.FlatBuffers, Body: []byte("no message")}}
	if err := c.InvokeMessage(mustEnd(t), call); !errors.As(err, &status) || status.Code != grpc.InvalidArgument {
		t.Errorf("no message: %v", err)
	}
	call.Attachment = []byte("x")
	var e *rpc.Error
	if err := c.InvokeMessage(mustEnd(t), call); !errors.As(err, &e) || e.Stage != rpc.StageEncode {
		t.Errorf("an attachment: %v", err)
	}
	var told *rpc.StatusError
	if _, err := flatrpc.Call[words.Word](mustEnd(t), c, "/test.Words/Shout", words.New(nil, "x", 1), words.Verifier()); !errors.As(err, &told) || told.Code != trpc.NoFunc {
		t.Errorf("no such method: %v", err)
	}
}

func TestAFailureOverGRPCSaysWhatItIs(t *testing.T) {
	for code, want := range map[grpc.Code]string{grpc.NotFound: "not found: no pen", grpc.Aborted: "aborted: no pen", grpc.Unknown: "unknown error: no pen"} {
		_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), func(context.Context, *words.Word) (*flatbuf.Builder, error) {
			return nil, &grpc.Status{Code: code, Message: "no pen"}
		})})
		if _, err := callRepeat(mustEnd(t), dial(t, address, rpc.GRPC()), "x", 1); err == nil || err.Error() != want {
			t.Errorf("%v is shown as %v", code, err)
		}
	}
}

func TestCompressionBombsAreRefusedOverGRPC(t *testing.T) {
	_, address := serve(t, append(streaming(), flatrpc.Unary("Repeat", words.Verifier(), repeat)), rpc.MaxFrameSize(1<<16))
	c := dial(t, address, rpc.GRPC(), rpc.CompressMessages(trpc.Gzip), rpc.MaxFrameSize(64<<20))
	bomb := strings.Repeat("x", 16<<20)
	var status *grpc.Status
	if _, err := callRepeat(mustEnd(t), c, bomb, 1); !errors.As(err, &status) || status.Code != grpc.ResourceExhausted {
		t.Errorf("a call: %v", err)
	}
	if err := upload(mustEnd(t), c, bomb, 3); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a stream: %v", err)
	}
	if _, err := callRepeat(mustEnd(t), c, "still", 3); err != nil {
		t.Error(err)
	}
}

func TestThriftsClientsDoNotSpeakGRPC(t *testing.T) {
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)})
	if c, err := rpc.Dial(mustEnd(t), "tcp", address, rpc.GRPC()); err == nil {
		c.Close()
		t.Error("a client of structs dials by gRPC")
	}
	if c, err := rpc.DialMessages(mustEnd(t), "tcp", address, rpc.GRPC(), rpc.CompressMessages(trpc.Zlib)); err == nil {
		c.Close()
		t.Error("gRPC has a name for zlib")
	}
}

func TestAStreamOverGRPCThatIsNotReadEnds(t *testing.T) {
	ended := make(chan error, 1)
	flood := flatrpc.ServerStream("Flood", words.Verifier(), func(_ context.Context, req *words.Word, out *flatrpc.Sender) error {
		for {
			if err := out.Send(words.New(out.NewBuilder(), req.Text(), 1)); err != nil {
				ended <- err
				return err
			}
		}
	})
	_, address := serve(t, append(streaming(), flood), rpc.StreamExpiry(50*time.Millisecond))
	c := dial(t, address, rpc.GRPC())
	s, err := flatrpc.OpenServerStream[words.Word](mustEnd(t), c, "/test.Words/Flood", words.New(nil, strings.Repeat("x", 50_000), 1), words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	var e *stream.Error
	select {
	case err := <-ended:
		if !errors.As(err, &e) || e.Code != stream.Expired {
			t.Errorf("the handler is told %v", err)
		}
	case <-time.After(patience):
		t.Fatal("the handler sends without end")
	}
	if err := bothWays(mustEnd(t), c, "beside it", 5); err != nil {
		t.Errorf("another stream of the connection: %v", err)
	}
	for err == nil {
		_, err = s.Recv()
	}
	if errors.Is(err, io.EOF) || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the client is told %v", err)
	}
}

func TestInterceptorsSeeTheStreamsOfGRPC(t *testing.T) {
	seen := make(chan *stream.Stream, 1)
	ended := make(chan [2]int, 1)
	_, address := serve(t, streaming(), rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
		s := call.Stream()
		seen <- s
		return nil, func(error) {
			if s != nil {
				sent, received := s.Counts()
				ended <- [2]int{sent, received}
			}
		}, nil
	}))
	for name, opts := range map[string][]rpc.ClientOption{"tRPC": nil, "gRPC": {rpc.GRPC()}} {
		if err := bothWays(mustEnd(t), dial(t, address, opts...), "x", 5); err != nil {
			t.Fatal(err)
		}
		if <-seen == nil {
			t.Errorf("over %s interceptors are not told of the stream", name)
			continue
		}
		if n := <-ended; n != [2]int{5, 5} {
			t.Errorf("over %s %d messages went and came", name, n)
		}
	}
}

func TestACanceledStreamOverGRPCIsNoWholeOne(t *testing.T) {
	told := make(chan error, 1)
	_, address := serve(t, []rpc.Method{flatrpc.Bidi("Echo", words.Verifier(), func(_ context.Context, in *flatrpc.Receiver[*words.Word], out *flatrpc.Sender) error {
		w, err := in.Recv()
		if err == nil {
			err = out.Send(words.New(out.NewBuilder(), w.Text(), w.Count()))
		}
		if err == nil {
			_, err = in.Recv()
		}
		told <- err
		return err
	})})
	c := dial(t, address, rpc.GRPC())
	for range 500 { // since the end of the body and the reset race
		ctx, cancel := context.WithCancel(mustEnd(t))
		s, err := flatrpc.OpenBidi[words.Word](ctx, c, "/test.Words/Echo", words.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Send(words.New(nil, "x", 1)); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		cancel()
		var e *stream.Error
		if err := <-told; !errors.As(err, &e) || e.Code != stream.Reset {
			t.Fatalf("the handler is told %v", err)
		}
	}
}

func TestOverGRPCOnlyRefusalsSayThatACallWasNotBegun(t *testing.T) {
	shed := errors.New("no more")
	_, address := serve(t, []rpc.Method{flatrpc.Unary("Repeat", words.Verifier(), repeat)}, rpc.MaxFrameSize(1<<16),
		rpc.Overloaded(func(call rpc.CallInfo) error {
			if call.Priority() == rpc.BestEffort {
				return shed
			}
			return nil
		}))
	c := dial(t, address, rpc.GRPC())
	var e *rpc.ApplicationException
	if _, err := callRepeat(mustEnd(t), c, strings.Repeat("x", 10_000), 10); !errors.As(err, &e) || e.Refused() {
		t.Errorf("a call that was served, whose reply is too large: %v, refused %v", err, e.Refused())
	}
	if _, err := callRepeat(rpc.WithCallPriority(mustEnd(t), rpc.BestEffort), c, "x", 1); !errors.As(err, &e) || !e.Refused() {
		t.Errorf("a call that was not: %v, refused %v", err, e.Refused())
	}
}

// A message of a stream takes the memory of what it holds, however little it has on the wire.
func TestCompressedStreamsOverGRPCHaveTheServersLimitOfMemory(t *testing.T) {
	const size, held, streams = 1 << 20, 3, 16 // one more of them would exceed the limit
	ended := make(chan error, streams)
	_, address := serve(t, []rpc.Method{flatrpc.Bidi("Wait", words.Verifier(), func(ctx context.Context, _ *flatrpc.Receiver[*words.Word], _ *flatrpc.Sender) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	})}, rpc.MaxMemory((held+1)*size))
	c := dial(t, address, rpc.GRPC(), rpc.CompressMessages(trpc.Gzip))
	for range streams {
		s, err := flatrpc.OpenBidi[words.Word](t.Context(), c, "/test.Words/Wait", words.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if err := s.Send(words.New(nil, strings.Repeat("x", size), 1)); err != nil {
			t.Fatal(err)
		}
	}
	enough := time.After(patience)
	for n := range streams - held {
		select {
		case err := <-ended:
			if e := (*stream.Error)(nil); !errors.As(err, &e) || e.Code != stream.Overflow {
				t.Errorf("a stream ends with %v", err)
			}
		case <-enough:
			t.Fatalf("%d streams were refused, want %d", n, streams-held)
		}
	}
}
