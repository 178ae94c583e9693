package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests what stands between a caller and its client's streams.

func TestInterceptorsStandAroundStreamsInTheirOrder(t *testing.T) {
	var onServer []string
	ended := make(chan struct{})
	_, address := listen(t, []rpc.Method{rpc.BidiStreaming("echo", echoNotes)},
		rpc.Intercept(func(_ context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
			return nil, func(error) {
				sent, received := call.Stream().Counts()
				onServer = append(onServer, fmt.Sprint(call.Method(), " ", sent, " ", received))
				close(ended)
			}, nil
		}))
	var seen []string
	watch := func(name string) rpc.StreamInterceptor {
		return func(ctx context.Context, call *rpc.StreamCall, to rpc.Target, next rpc.Streamer) (*stream.Stream, error) {
			seen = append(seen, fmt.Sprintf("%s: %s.%s %t", name, call.Service, call.Method, to.Address == address))
			return next.OpenStream(ctx, call)
		}
	}
	inner := dial(t, "tcp", address, rpc.TTHeader(), rpc.InterceptStreams(watch("a"), watch("b")))
	to := rpc.Target{Address: address}
	outer := rpc.InterceptedStreams(inner, to, watch("outer"))
	// Interceptors of calls let streams pass.
	c := rpc.Intercepted(outer, to, func(context.Context, *rpc.Invocation, rpc.Target, rpc.Caller) error { return errors.New("no call") })
	s := openEcho(t, t.Context(), c)
	if err := s.Send(t.Context(), &note{Text: "x"}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(t.Context()); err != io.EOF {
		t.Fatal(err)
	}
	receive(t, "the end of the stream", ended)
	if want := []string{"outer: S.echo true", "a: S.echo true", "b: S.echo true"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	if want := []string{"echo 1 1"}; !slices.Equal(onServer, want) {
		t.Errorf("the server's interceptor saw %q, want %q", onServer, want)
	}
}

func TestAnInterceptorMayRefuseAStream(t *testing.T) {
	_, address := listen(t, []rpc.Method{rpc.BidiStreaming("echo", echoNotes)})
	refused := errors.New("not today")
	c := dial(t, "tcp", address, rpc.TTHeader(), rpc.InterceptStreams(func(context.Context, *rpc.StreamCall, rpc.Target, rpc.Streamer) (*stream.Stream, error) {
		return nil, refused
	}))
	if _, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo"); err != refused {
		t.Errorf("%v", err)
	}
}

// aCaller makes calls, and opens no streams.
type aCaller struct{}

func (aCaller) Invoke(context.Context, *rpc.Invocation) error         { return nil }
func (aCaller) InvokeMessage(context.Context, *rpc.MessageCall) error { return nil }

func TestInterceptorsOfACallerThatOpensNoStreamsSaySo(t *testing.T) {
	var failed *rpc.Error
	c := rpc.InterceptedStreams(aCaller{}, rpc.Target{}, func(ctx context.Context, call *rpc.StreamCall, _ rpc.Target, next rpc.Streamer) (*stream.Stream, error) {
		return next.OpenStream(ctx, call)
	})
	if _, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo"); !errors.As(err, &failed) || failed.Sent {
		t.Errorf("%v", err)
	}
	m := rpc.InterceptedMessageStreams(aCaller{}, rpc.Target{}, func(ctx context.Context, call *rpc.MessageStreamCall, _ rpc.Target, next rpc.MessageStreamer) (*rpc.MessageStream, error) {
		return next.OpenMessageStream(ctx, call)
	}).(rpc.MessageStreamer)
	if _, err := m.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/S/Stream"}); !errors.As(err, &failed) || failed.Sent {
		t.Errorf("%v", err)
	}
}

func TestInterceptorsSeeStreamsOfMessages(t *testing.T) {
	_, address := listen(t, messageStreams(func(context.Context, *rpc.MessageStream) error { return nil }))
	var seen []string
	note := func(name string) rpc.MessageStreamInterceptor {
		return func(ctx context.Context, call *rpc.MessageStreamCall, to rpc.Target, next rpc.MessageStreamer) (*rpc.MessageStream, error) {
			seen = append(seen, fmt.Sprint(name, " ", call.Method, " ", to.Dialect == transport.TRPC))
			return next.OpenMessageStream(ctx, call)
		}
	}
	c, err := rpc.DialMessages(t.Context(), "tcp", address, rpc.InterceptMessageStreams(note("inner")))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	outer := rpc.InterceptedMessageStreams(c, rpc.Target{}, note("outer"))
	outer = rpc.InterceptedMessages(outer, rpc.Target{}, func(context.Context, *rpc.MessageCall, rpc.Target, rpc.MessageCaller) error {
		return errors.New("no call")
	})
	s, err := outer.(rpc.MessageStreamer).OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/S/Stream"})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Recv(t.Context(), func([]byte) error { return nil }); err != io.EOF {
		t.Errorf("%v", err)
	}
	if want := []string{"outer /S/Stream false", "inner /S/Stream true"}; !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
}

func TestALostConnectionOfMessagesIsTold(t *testing.T) {
	server, address := listen(t, messageStreams(func(context.Context, *rpc.MessageStream) error { return nil }))
	lost := make(chan rpc.Loss, 8)
	c, err := rpc.DialMessages(t.Context(), "tcp", address, rpc.Disconnected(func(why rpc.Loss) { lost <- why }))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	server.Close()
	if why := receive(t, "the loss", lost); why != rpc.ConnectionFailed {
		t.Errorf("lost for %v", why)
	}
}
