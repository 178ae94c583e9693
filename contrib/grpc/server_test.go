package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds calls and streams by grpc-go's client to Thrum's server.

// ask makes a call by grpc-go.
func ask(ctx context.Context, c *grpc.ClientConn, text string, count int32, opts ...grpc.CallOption) (string, error) {
	reply := &GoogleWord{}
	if err := c.Invoke(ctx, repeat, googleWord(text, count), reply, opts...); err != nil {
		return "", err
	}
	return reply.Text(), nil
}

func TestPeersCallsAreAnswered(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	c := peerClient(t, address)
	for _, text := range []string{"", "a", large} {
		if got, err := ask(within(t), c, text, 2); err != nil || got != text+text {
			t.Errorf("%d bytes came back as %d, %v", len(text), len(got), err)
		}
	}
}

func TestPeersCompressedCallsAreAnsweredAlike(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	c := peerClient(t, address)
	var header metadata.MD
	for _, text := range []string{"a", large} {
		got, err := ask(within(t), c, text, 1, grpc.UseCompressor("gzip"), grpc.Header(&header))
		if err != nil || got != text {
			t.Errorf("%d bytes came back as %d, %v", len(text), len(got), err)
		}
	}
}

func TestPeersReadTheCodesOfFailures(t *testing.T) {
	address, _ := thrumServer(t, newWaits(), rpc.MaxFrameSize(1<<20))
	c := peerClient(t, address)
	for text, want := range map[string]codes.Code{
		"not found": codes.NotFound, "sold out": codes.Unknown, "invalid": codes.InvalidArgument, "plain": codes.Unknown, "panic": codes.Internal,
	} {
		_, err := ask(within(t), c, text, 1)
		s, _ := status.FromError(err)
		if s.Code() != want || text == "not found" && s.Message() != "as asked: 100 % ä\n" || text == "sold out" && s.Message() != "as asked" {
			t.Errorf("%q: %v", text, err)
		}
	}
	if _, err := ask(within(t), c, large, 1); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("too large: %v", err)
	}
	if _, err := ask(within(t), c, large[:600_000], 2); status.Code(err) != codes.ResourceExhausted {
		t.Errorf("a reply that is too large: %v", err)
	}
	for _, method := range []string{"/test.Words/Shout", "/test.Others/Repeat", "/x"} {
		if err := c.Invoke(within(t), method, googleWord("a", 1), &GoogleWord{}); status.Code(err) != codes.Unimplemented {
			t.Errorf("%s: %v", method, err)
		}
	}
	if got, err := ask(within(t), c, "a", 1); err != nil || got != "a" {
		t.Errorf("after all these: %q, %v", got, err)
	}
}

func TestPeersMetadataGoesBothWays(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	c := peerClient(t, address)
	ctx := metadata.AppendToOutgoingContext(within(t), "who", "tester", "trace-bin", "\x00\xff\x01")
	var header metadata.MD
	if _, err := ask(ctx, c, "a", 1, grpc.Header(&header)); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(header.Get("seen-who"), []string{"tester"}) || !slices.Equal(header.Get("seen-trace-bin"), []string{"\x00\xff\x01"}) {
		t.Errorf("the answer has %v", header)
	}
}

func TestPeersDeadlinesAndCancellationsEndHandlers(t *testing.T) {
	open := func(ctx context.Context, c *grpc.ClientConn) error {
		s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, split)
		if err == nil {
			err = s.SendMsg(googleWord("wait", 0))
		}
		if err == nil {
			err = s.CloseSend()
		}
		if err == nil {
			err = s.RecvMsg(&GoogleWord{})
		}
		return err
	}
	call := func(ctx context.Context, c *grpc.ClientConn) error {
		_, err := ask(ctx, c, "wait", 1)
		return err
	}
	for name, run := range map[string]func(context.Context, *grpc.ClientConn) error{"call": call, "stream": open} {
		t.Run(name, func(t *testing.T) {
			start := func(w *waits) func(context.Context) error {
				address, _ := thrumServer(t, w)
				c := peerClient(t, address)
				return func(ctx context.Context) error { return run(ctx, c) }
			}
			if err := expired(t, start); status.Code(err) != codes.DeadlineExceeded {
				t.Errorf("with a deadline: %v", err)
			}

			w := newWaits()
			again := start(w)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() { done <- again(ctx) }()
			receive(t, "the handler begins", w.begun)
			cancel()
			if err := receive(t, "the call ends", done); status.Code(err) != codes.Canceled {
				t.Errorf("cancelled: %v", err)
			}
			if err := receive(t, "the handler ends with its call", w.ended); err == nil {
				t.Error("the handler's context has no cause")
			}
		})
	}
}

// split asks for messages and returns how many have come.
func splitBy(ctx context.Context, c *grpc.ClientConn, text string, count int32, opts ...grpc.CallOption) (n int32, err error) {
	s, err := c.NewStream(ctx, &grpc.StreamDesc{ServerStreams: true}, split, opts...)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(s.SendMsg(googleWord(text, count)), s.CloseSend()); err != nil {
		return 0, err
	}
	for ; ; n++ {
		w := &GoogleWord{}
		switch err := s.RecvMsg(w); {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		case w.Text() != text || w.Count() != n:
			return n, fmt.Errorf("message %d is %q, %d", n, w.Text(), w.Count())
		}
	}
}

func TestPeersStreamsAreServed(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	c := peerClient(t, address)
	for _, opts := range [][]grpc.CallOption{nil, {grpc.UseCompressor("gzip")}} {
		for text, count := range map[string]int32{"a": 1000, "": 0, large[:1<<20]: 20} {
			if n, err := splitBy(within(t), c, text, count, opts...); n != count || err != nil {
				t.Errorf("split: %d messages, %v", n, err)
			}
		}
		if n, err := splitBy(within(t), c, "not found", 3, opts...); n != 3 || status.Code(err) != codes.NotFound {
			t.Errorf("a stream that fails: %d messages, %v", n, err)
		}
		joinBy(t, c, opts)
		echoBy(t, c, 100, opts)
	}
}

func joinBy(t *testing.T, c *grpc.ClientConn, opts []grpc.CallOption) {
	t.Helper()
	s, err := c.NewStream(within(t), &grpc.StreamDesc{ClientStreams: true}, join, opts...)
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := s.SendMsg(googleWord(large[:30_000], 1)); err != nil {
			t.Fatal(err)
		}
	}
	reply := &GoogleWord{}
	if err := errors.Join(s.CloseSend(), s.RecvMsg(reply)); err != nil || reply.Count() != 100 || len(reply.Text()) != 100*30_000 {
		t.Errorf("join: %d messages, %d bytes, %v", reply.Count(), len(reply.Text()), err)
	}
}

func echoBy(t *testing.T, c *grpc.ClientConn, n int32, opts []grpc.CallOption) {
	t.Helper()
	s, err := c.NewStream(within(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, echo, opts...)
	if err != nil {
		t.Error(err)
		return
	}
	for i := range n {
		if err := s.SendMsg(googleWord("ping", i)); err != nil {
			t.Error(err)
			return
		}
		w := &GoogleWord{}
		if err := s.RecvMsg(w); err != nil || w.Text() != "ping!" || w.Count() != i {
			t.Errorf("echo %d: %q, %v", i, w.Text(), err)
			return
		}
	}
	if err := errors.Join(s.CloseSend()); err != nil {
		t.Error(err)
	}
	if err := s.RecvMsg(&GoogleWord{}); err != io.EOF {
		t.Errorf("after the half-close: %v", err)
	}
}

func TestPeersCallManyAtATime(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	c := peerClient(t, address)
	var all sync.WaitGroup
	for i := range 100 {
		all.Go(func() {
			for range 20 {
				text := fmt.Sprint("caller ", i)
				if got, err := ask(within(t), c, text, 1); err != nil || got != text {
					t.Errorf("%q, %v", got, err)
					return
				}
			}
			echoBy(t, c, 5, nil)
		})
	}
	all.Wait()
}

func TestPeersSpeakTLS(t *testing.T) {
	server, client := secured(t)
	address, _ := thrumServer(t, newWaits(), rpc.TLS(server))
	c := peerClient(t, address, transportCredentials(client))
	if got, err := ask(within(t), c, large, 1); err != nil || got != large {
		t.Errorf("%d bytes, %v", len(got), err)
	}
	echoBy(t, c, 10, nil)
}

func TestPeersSeeTheServerLeave(t *testing.T) {
	w := newWaits()
	address, s := thrumServer(t, w)
	c := peerClient(t, address)
	stream, err := c.NewStream(within(t), &grpc.StreamDesc{ClientStreams: true, ServerStreams: true}, echo)
	if err != nil {
		t.Fatal(err)
	}
	roundTrip := func() error { return errors.Join(stream.SendMsg(googleWord("a", 1)), stream.RecvMsg(&GoogleWord{})) }
	if err := roundTrip(); err != nil {
		t.Fatal(err)
	}
	stopped := make(chan error, 1)
	go func() { stopped <- s.Shutdown(within(t)) }()
	for !s.Stopping() {
		time.Sleep(time.Millisecond)
	}
	if err := errors.Join(roundTrip(), stream.CloseSend()); err != nil {
		t.Errorf("a stream that runs while the server stops: %v", err)
	}
	if err := stream.RecvMsg(&GoogleWord{}); err != io.EOF {
		t.Errorf("its end: %v", err)
	}
	if err := receive(t, "the server has stopped", stopped); err != nil {
		t.Error(err)
	}
	if _, err := ask(within(t), c, "a", 1); status.Code(err) != codes.Unavailable {
		t.Errorf("a call to a server that has left: %v", err)
	}
}
