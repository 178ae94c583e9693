package grpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	wire "github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds calls and streams by Thrum's client to the servers of both sides.

// servers starts a server of each side.
func servers(t *testing.T, w *waits) map[string]string {
	thrum, _ := thrumServer(t, w)
	return map[string]string{"thrum": thrum, "grpc-go": peerServer(t, w)}
}

// each runs a test against both servers.
func each(t *testing.T, test func(t *testing.T, address string, w *waits)) {
	w := newWaits()
	for name, address := range servers(t, w) {
		t.Run(name, func(t *testing.T) { test(t, address, w) })
	}
}

// askThrum makes a call by Thrum.
func askThrum(ctx context.Context, c rpc.MessageCaller, text string, count int32) (string, error) {
	reply, err := flatrpc.Call[words.Word](ctx, c, repeat, words.New(nil, text, count), words.Verifier())
	if err != nil {
		return "", err
	}
	return reply.Text(), nil
}

func TestCallsOfServersAreAnswered(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		for _, packing := range []trpc.Compression{trpc.None, trpc.Gzip} {
			c := thrumClient(t, address, rpc.CompressMessages(packing))
			for _, text := range []string{"", "a", large} {
				if got, err := askThrum(within(t), c, text, 2); err != nil || got != text+text {
					t.Errorf("%d bytes came back as %d, %v", len(text), len(got), err)
				}
			}
		}
	})
}

func TestFailuresOfServersHaveTheirCodes(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		c := thrumClient(t, address)
		for text, want := range map[string]wire.Code{"not found": wire.NotFound, "invalid": wire.InvalidArgument, "plain": wire.Unknown} {
			_, err := askThrum(within(t), c, text, 1)
			var status *wire.Status
			if !errors.As(err, &status) || status.Code != want || text == "not found" && status.Message != "as asked: 100 % ä\n" {
				t.Errorf("%q: %v", text, err)
			}
		}
		_, err := flatrpc.Call[words.Word](within(t), c, "/test.Words/Shout", words.New(nil, "a", 1), words.Verifier())
		var status *rpc.StatusError
		if !errors.As(err, &status) || status.Code != trpc.NoFunc {
			t.Errorf("a method that there is not: %v", err)
		}
	})
}

func TestStatusesOfApplicationsComeBack(t *testing.T) {
	address, _ := thrumServer(t, newWaits())
	_, err := askThrum(within(t), thrumClient(t, address), "sold out", 1)
	var biz *rpc.BizStatus
	if !errors.As(err, &biz) || biz.Code != 4711 || biz.Message != "as asked" {
		t.Errorf("got %v", err)
	}
	_, err = askThrum(within(t), thrumClient(t, address), "not found", 1)
	var status *wire.Status
	if !errors.As(err, &status) || string(status.Details) != "\x01\x02\x03" {
		t.Errorf("got %v", err)
	}
}

func TestMetadataOfCallsGoesBothWays(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		ctx, replied := rpc.WithReplyHeaders(rpc.WithHeader(rpc.WithHeader(within(t), "who", "tester"), "trace-bin", "\x00\xff\x01"))
		if _, err := askThrum(ctx, thrumClient(t, address), "a", 1); err != nil {
			t.Fatal(err)
		}
		who, _ := replied.Get("seen-who")
		trace, _ := replied.Get("seen-trace-bin")
		if who != "tester" || trace != "\x00\xff\x01" {
			t.Errorf("the answer has %q and %q", who, trace)
		}
	})
}

func TestDeadlinesAndCancellationsEndCalls(t *testing.T) {
	each(t, func(t *testing.T, address string, w *waits) {
		side := strings.TrimPrefix(t.Name(), "TestDeadlinesAndCancellationsEndCalls/")
		err := expired(t, func(w *waits) func(context.Context) error {
			c := thrumClient(t, servers(t, w)[side])
			return func(ctx context.Context) error {
				_, err := askThrum(ctx, c, "wait", 1)
				return err
			}
		})
		var status *wire.Status
		if !errors.Is(err, context.DeadlineExceeded) && !(errors.As(err, &status) && status.Code == wire.DeadlineExceeded) {
			t.Errorf("with a deadline: %v", err)
		}

		c := thrumClient(t, address)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() {
			_, err := askThrum(ctx, c, "wait", 1)
			done <- err
		}()
		receive(t, "the handler begins", w.begun)
		cancel()
		if err := receive(t, "the call ends", done); !errors.Is(err, context.Canceled) {
			t.Errorf("cancelled: %v", err)
		}
		receive(t, "the handler ends with its call", w.ended)
	})
}

func TestStreamsOfServersAreUsed(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		for _, packing := range []trpc.Compression{trpc.None, trpc.Gzip} {
			c := thrumClient(t, address, rpc.CompressMessages(packing))
			for text, count := range map[string]int32{"a": 1000, "": 0, large[:1<<20]: 20} {
				if n, err := splitByThrum(within(t), c, text, count); n != count || err != nil {
					t.Errorf("split: %d messages, %v", n, err)
				}
			}
			n, err := splitByThrum(within(t), c, "not found", 3)
			var status *wire.Status
			if n != 3 || !errors.As(err, &status) || status.Code != wire.NotFound {
				t.Errorf("a stream that fails: %d messages, %v", n, err)
			}
			joinByThrum(t, c)
			echoByThrum(t, c, 100)
		}
	})
}

func splitByThrum(ctx context.Context, c rpc.MessageCaller, text string, count int32) (n int32, err error) {
	s, err := flatrpc.OpenServerStream[words.Word](ctx, c, split, words.New(nil, text, count), words.Verifier())
	if err != nil {
		return 0, err
	}
	for ; ; n++ {
		switch w, err := s.Recv(); {
		case err == io.EOF:
			return n, nil
		case err != nil:
			return n, err
		case w.Text() != text || w.Count() != n:
			return n, fmt.Errorf("message %d is %q, %d", n, w.Text(), w.Count())
		}
	}
}

func TestTrailersOfStreamsComeBack(t *testing.T) {
	c := thrumClient(t, peerServer(t, newWaits()))
	s, err := flatrpc.OpenServerStream[words.Word](within(t), c, split, words.New(nil, "a", 0), words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(); err != io.EOF || s.Trailer()["served-by"] != "grpc-go" {
		t.Errorf("the trailer is %v, %v", s.Trailer(), err)
	}
}

func joinByThrum(t *testing.T, c rpc.MessageCaller) {
	t.Helper()
	s, err := flatrpc.OpenClientStream[words.Word](within(t), c, join, words.Verifier())
	if err != nil {
		t.Fatal(err)
	}
	for range 100 {
		if err := s.Send(words.New(nil, large[:30_000], 1)); err != nil {
			t.Fatal(err)
		}
	}
	if reply, err := s.CloseAndRecv(); err != nil || reply.Count() != 100 || len(reply.Text()) != 100*30_000 {
		t.Errorf("join: %v", err)
	}
}

func echoByThrum(t *testing.T, c rpc.MessageCaller, n int32) {
	t.Helper()
	s, err := flatrpc.OpenBidi[words.Word](within(t), c, echo, words.Verifier())
	if err != nil {
		t.Error(err)
		return
	}
	for i := range n {
		if err := s.Send(words.New(nil, "ping", i)); err != nil {
			t.Error(err)
			return
		}
		if w, err := s.Recv(); err != nil || w.Text() != "ping!" || w.Count() != i {
			t.Errorf("echo %d: %v", i, err)
			return
		}
	}
	if err := s.CloseSend(); err != nil {
		t.Error(err)
	}
	if _, err := s.Recv(); err != io.EOF {
		t.Errorf("after the half-close: %v", err)
	}
}

func TestStreamsEndWithTheirContexts(t *testing.T) {
	each(t, func(t *testing.T, address string, w *waits) {
		c := thrumClient(t, address)
		ctx, cancel := context.WithCancel(t.Context())
		s, err := flatrpc.OpenServerStream[words.Word](ctx, c, split, words.New(nil, "wait", 1), words.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(); err != nil {
			t.Fatal(err)
		}
		receive(t, "the handler waits", w.begun)
		cancel()
		var e *stream.Error
		if _, err := s.Recv(); !errors.As(err, &e) || e.Code != stream.Cancelled {
			t.Errorf("cancelled: %v", err)
		}
		receive(t, "the handler ends with its stream", w.ended)

		closing := thrumClient(t, address)
		s, err = flatrpc.OpenServerStream[words.Word](within(t), closing, split, words.New(nil, "wait", 1), words.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		receive(t, "another handler waits", w.begun)
		closing.Close()
		for err == nil {
			_, err = s.Recv()
		}
		if !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("the client closed: %v", err)
		}
		receive(t, "its handler ends with the client", w.ended)
		if _, err := askThrum(within(t), closing, "a", 1); !errors.Is(err, rpc.ErrClientClosed) {
			t.Errorf("a call of a closed client: %v", err)
		}
	})
}

func TestManyCallAtATime(t *testing.T) {
	each(t, func(t *testing.T, address string, _ *waits) {
		c := thrumClient(t, address)
		var all sync.WaitGroup
		for i := range 100 {
			all.Go(func() {
				for range 20 {
					text := fmt.Sprint("caller ", i)
					if got, err := askThrum(within(t), c, text, 1); err != nil || got != text {
						t.Errorf("%q, %v", got, err)
						return
					}
				}
				echoByThrum(t, c, 5)
			})
		}
		all.Wait()
	})
}

func TestServersAreCalledInsideTLS(t *testing.T) {
	server, client := secured(t)
	thrum, _ := thrumServer(t, newWaits(), rpc.TLS(server))
	for name, address := range map[string]string{
		"thrum": thrum, "grpc-go": peerServer(t, newWaits(), grpc.Creds(credentials.NewTLS(server.Clone()))),
	} {
		t.Run(name, func(t *testing.T) {
			c := thrumClient(t, address, rpc.TLS(client))
			if got, err := askThrum(within(t), c, large, 1); err != nil || got != large {
				t.Errorf("%d bytes, %v", len(got), err)
			}
			echoByThrum(t, c, 10)
		})
	}
}

func TestWhatNoServerHasAcceptedWasNotSent(t *testing.T) {
	for name, call := range map[string]func(*rpc.MessageClient) error{
		"a call": func(c *rpc.MessageClient) error {
			_, err := askThrum(within(t), c, "a", 1)
			return err
		},
		"a stream": func(c *rpc.MessageClient) error {
			_, err := splitByThrum(within(t), c, "a", 1)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			l, connected := listen(t), make(chan struct{}, 10)
			c := thrumClient(t, l.Addr().String(), rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := new(net.Dialer).DialContext(ctx, network, address)
				if err == nil {
					connected <- struct{}{}
				}
				return nc, err
			}))
			ended := make(chan error, 1)
			go func() { ended <- call(c) }()
			receive(t, "the system has made the connection", connected)
			l.Close()
			var e *rpc.Error
			if err := receive(t, "the call fails", ended); !errors.As(err, &e) || e.Sent {
				t.Errorf("%v", err)
			}
		})
	}
}

func TestServersThatAreNotThereFailCalls(t *testing.T) {
	l := listen(t)
	l.Close()
	c := thrumClient(t, l.Addr().String())
	var e *rpc.Error
	if _, err := askThrum(within(t), c, "a", 1); !errors.As(err, &e) || e.Stage != rpc.StageDial || e.Sent {
		t.Errorf("a call: %v", err)
	}
	if _, err := splitByThrum(within(t), c, "a", 1); err == nil {
		t.Error("a stream is served by nobody")
	}
}
