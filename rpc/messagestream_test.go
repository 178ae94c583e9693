package rpc_test

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"log/slog"
	"math"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file tests the bounds of streams over tRPC, and that those which fail
// leave nothing behind.

// messageStreams is a method that serves streams of messages by serve.
func messageStreams(serve rpc.MessageStreamHandler) []rpc.Method {
	return []rpc.Method{{Name: "Stream", MessageStream: serve}}
}

func dialMessages(t *testing.T, address string) *rpc.MessageClient {
	t.Helper()
	c, err := rpc.DialMessages(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// A connection on which nobody waits is closed, so nothing may begin on it.
func TestNothingStartsOnAConnectionThatIsBeingGivenUp(t *testing.T) {
	_, address := listen(t, messageStreams(func(context.Context, *rpc.MessageStream) error { return nil }))
	if call, stream := rpc.StartRetired(dialMessages(t, address)); call || stream {
		t.Errorf("started: call %v, stream %v", call, stream)
	}
}

func TestAStreamThatEndsBeforeItBeginsLeavesNothingBehind(t *testing.T) {
	_, address := listen(t, messageStreams(func(context.Context, *rpc.MessageStream) error { return nil }))
	if n, err := rpc.OpenLate(dialMessages(t, address)); n != 0 || err == nil {
		t.Errorf("%d streams are left, opening returned %v", n, err)
	}
}

// A stream that the client has reset counts as long as its handler runs, or a
// client could have any number of them run.
func TestHandlersOfStreamsThatWereResetCount(t *testing.T) {
	release := make(chan struct{})
	var running atomic.Int32
	_, address := listen(t, messageStreams(func(context.Context, *rpc.MessageStream) error {
		running.Add(1)
		<-release
		return nil
	}), rpc.MaxStreamsPerConn(2))
	c := dialMessages(t, address)
	open := func() *rpc.MessageStream {
		s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/S/Stream"})
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	keep := open()
	open().Cancel(nil)
	eventually(t, "both handlers run", func() bool { return running.Load() == 2 })
	s := open()
	answered := make(chan error, 1)
	go func() { answered <- s.Recv(t.Context(), func([]byte) error { return nil }) }()
	eventually(t, "the third is answered", func() bool { return running.Load() > 2 || len(answered) > 0 })
	close(release)
	var status *rpc.StatusError
	if err := receive(t, "an answer", answered); running.Load() != 2 || !errors.As(err, &status) || status.Code != trpc.ServerOverload {
		t.Errorf("%d handlers ran, the third stream ended with %v", running.Load(), err)
	}
	keep.Cancel(nil)
}

// Each stream that a client tries to open is answered, so a client that does not
// read must not be read either.
func TestAnswersToStreamsDoNotPileUp(t *testing.T) {
	noLeaks(t)
	begin := make(chan struct{})
	var messages atomic.Int32
	server := rpc.NewServer(rpc.MaxFrameSize(32<<10), rpc.WriteTimeout(patience), rpc.Logger(slog.New(slog.DiscardHandler)))
	if err := server.Register(&rpc.Service{Name: "S", Methods: messageStreams(func(ctx context.Context, s *rpc.MessageStream) error {
		for <-begin; ; messages.Add(1) {
			if err := s.Send(ctx, func(dst []byte) ([]byte, error) { return append(dst, make([]byte, 8<<10)...), nil }); err != nil {
				return err
			}
		}
	})}); err != nil {
		t.Fatal(err)
	}
	address := serveOn(t, server, "unix") // whose buffers in the system are small
	nc, err := net.Dial("unix", address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	busy := trpc.Init{IsRequest: true, Func: []byte("/S/Stream")} // whose messages the client does not read either
	nc.Write(busy.Append(nil, trpc.FirstStreamID, nil))
	if _, err := io.ReadFull(nc, make([]byte, trpc.HeadSize)); err != nil {
		t.Fatal(err)
	}
	close(begin)
	eventually(t, "a handler's messages wait", func() bool { return messages.Load() > 30 })
	var frames []byte
	for id := range uint32(1000) {
		init := trpc.Init{IsRequest: true, Func: []byte("/none/Stream")}
		frames = init.Append(frames, trpc.FirstStreamID+1+id, nil)
	}
	sent := make(chan error, 1)
	var written atomic.Int32
	go func() {
		var err error
		for range 100 {
			if _, err = nc.Write(frames); err != nil {
				break
			}
			written.Add(1)
		}
		sent <- err
	}()
	// It waits for room, or with its own answers for the client to read.
	last, since := int32(-1), time.Now()
	eventually(t, "the server stops reading", func() bool {
		if n := written.Load(); n != last {
			last, since = n, time.Now()
		}
		return rpc.Holding(server) || len(sent) > 0 || time.Since(since) > 3*time.Second
	})
	if len(sent) > 0 {
		t.Errorf("the server has taken everything: %v", <-sent)
	}
}

// Where memory is short one connection at a time goes on with a large message, also when the last one was of a stream.
func TestALargeMessageOfAStreamLeavesOthersTheirTurn(t *testing.T) {
	methods := append(messageStreams(func(ctx context.Context, s *rpc.MessageStream) error {
		<-ctx.Done() // and takes nothing
		return nil
	}), rpc.Method{Name: "Echo", Message: func(_ context.Context, m rpc.Message) (rpc.Message, error) { return m, nil }})
	server, address := listen(t, methods, rpc.MaxMemory(1))
	large := make([]byte, 100<<10)
	c := dialMessages(t, address)
	for range 2 {
		s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/S/Stream"})
		if err != nil {
			t.Fatal(err)
		}
		if err := s.SendBytes(t.Context(), large); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "the messages wait in their streams", func() bool { return server.Stats().Memory > int64(2*len(large)) })
	answered := make(chan error, 1)
	other := dialMessages(t, address)
	go func() {
		answered <- other.InvokeMessage(t.Context(), &rpc.MessageCall{Method: "/S/Echo", Request: rpc.Message{Body: large}})
	}()
	if err := receive(t, "a large call is answered", answered); err != nil {
		t.Error(err)
	}
}

// owner is a block's.
type owner struct{}

func (owner) Release() {}

func TestAShortMessageThatWaitsKeepsNoBlock(t *testing.T) {
	if rpc.KeepsBlock(100, owner{}) || !rpc.KeepsBlock(64<<10, owner{}) {
		t.Errorf("100 bytes keep a block: %v; 64 KiB are copied: %v", rpc.KeepsBlock(100, owner{}), !rpc.KeepsBlock(64<<10, owner{}))
	}
}

// A message beyond this side's limit cannot be sent, and the stream ends with it: on the other side too, which
// would wait for the rest for ever.
func TestAMessageThatIsTooLargeToSendEndsTheStreamOnBothSides(t *testing.T) {
	for name, dialect := range map[string][]rpc.ClientOption{"tRPC": nil, "gRPC": {rpc.GRPC()}} {
		t.Run(name, func(t *testing.T) {
			told := make(chan error, 1)
			_, address := listen(t, []rpc.Method{
				{Name: "Send", MessageStream: func(ctx context.Context, s *rpc.MessageStream) error {
					return s.SendBytes(ctx, make([]byte, 2000))
				}},
				{Name: "Receive", MessageStream: func(ctx context.Context, s *rpc.MessageStream) error {
					_, err := s.RecvOwn(ctx)
					told <- err
					return err
				}},
			}, rpc.MaxFrameSize(1000))
			c, err := rpc.DialMessages(t.Context(), "tcp", address, append(dialect, rpc.MaxFrameSize(1500))...)
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			s, err := c.OpenMessageStream(ctx, &rpc.MessageStreamCall{Method: "/S/Send", Type: transport.FlatBuffers})
			if err != nil {
				t.Fatal(err)
			}
			var status *rpc.StatusError
			if _, err := s.RecvOwn(ctx); !errors.As(err, &status) || !strings.Contains(status.Message, "exceeds the limit of 1000") {
				t.Errorf("the client of a server that sends too much gets %v", err)
			}
			s, err = c.OpenMessageStream(ctx, &rpc.MessageStreamCall{Method: "/S/Receive", Type: transport.FlatBuffers})
			if err != nil {
				t.Fatal(err)
			}
			if err := s.SendBytes(ctx, make([]byte, 2000)); streamCode(err) != stream.Overflow {
				t.Errorf("a client that sends too much gets %v", err)
			}
			if err := receive(t, "the handler is told", told); streamCode(err) != stream.Reset {
				t.Errorf("the handler is told %v", err)
			}
		})
	}
}

// A window of 2 GiB or more is one, also where an int has 32 bits.
func TestTheLargestWindowIsNoLimit(t *testing.T) {
	_, address := listen(t, messageStreams(func(ctx context.Context, s *rpc.MessageStream) error {
		return s.SendBytes(ctx, []byte("message"))
	}))
	nc, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	nc.SetDeadline(time.Now().Add(patience))
	init := trpc.Init{IsRequest: true, Func: []byte("/S/Stream"), Window: math.MaxUint32}
	nc.Write(init.Append(nil, trpc.FirstStreamID, nil))
	for _, want := range []trpc.StreamType{trpc.StreamInit, trpc.StreamData} {
		frame := make([]byte, trpc.HeadSize)
		if _, err := io.ReadFull(nc, frame); err != nil {
			t.Fatal(err)
		}
		frame = append(frame, make([]byte, binary.BigEndian.Uint32(frame[4:])-trpc.HeadSize)...)
		if _, err := io.ReadFull(nc, frame[trpc.HeadSize:]); err != nil {
			t.Fatal(err)
		}
		if head, err := trpc.ParseHead(frame); err != nil || head.Stream != want {
			t.Fatalf("a frame of type %v, %v, want %v", head.Stream, err, want)
		}
	}
}
