package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file tests streams over gRPC that are being opened while a server leaves, against a peer that writes the frames of
// HTTP/2 by hand.

const (
	http2Preface = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"

	dataFrame, headersFrame, settingsFrame, goAwayFrame, windowFrame = 0, 1, 4, 7, 8
	endOfStream, endOfHeaders                                        = 1, 4
)

// http2Frame returns a frame.
func http2Frame(kind, flags byte, id uint32, payload string) string {
	head := binary.BigEndian.AppendUint32([]byte{byte(len(payload) >> 16), byte(len(payload) >> 8), byte(len(payload)), kind, flags}, id)
	return string(head) + payload
}

// readFrame reads a frame.
func readFrame(r io.Reader) (kind, flags byte, id uint32, payload string, err error) {
	var head [9]byte
	if _, err = io.ReadFull(r, head[:]); err != nil {
		return
	}
	b := make([]byte, int(head[0])<<16|int(head[1])<<8|int(head[2]))
	_, err = io.ReadFull(r, b)
	return head[3], head[4], binary.BigEndian.Uint32(head[5:]), string(b), err
}

// fields returns header fields in HPACK, each a literal.
func fields(pairs ...string) string {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		b.WriteByte(0)
		for _, text := range pairs[i : i+2] {
			b.WriteByte(byte(len(text)))
			b.WriteString(text)
		}
	}
	return b.String()
}

// http2Hi is a stream over gRPC that sends "hi".
var http2Hi = http2Frame(headersFrame, endOfHeaders, 1, fields(":method", "POST", ":scheme", "http", ":path", "/S/Stream", ":authority", "x",
	"content-type", "application/grpc+proto", "te", "trailers")) + http2Frame(dataFrame, endOfStream, 1, "\x00\x00\x00\x00\x02hi")

// echoStreams answers each message of a stream with itself.
var echoStreams = messageStreams(func(ctx context.Context, s *rpc.MessageStream) error {
	for {
		b, err := s.RecvOwn(ctx)
		if err == io.EOF {
			return nil
		}
		if err == nil {
			err = s.SendBytes(ctx, b)
		}
		if err != nil {
			return err
		}
	}
})

func TestAStreamThatIsOnItsWayToAServerThatLeavesIsServed(t *testing.T) {
	server, address := listen(t, echoStreams, rpc.Grace(time.Minute, time.Minute)) // on a busy machine, too, until the client has gone
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, http2Preface+http2Frame(settingsFrame, 0, 0, ""))
	await := func(what string, ok func(kind, flags byte, id uint32, payload string) bool) {
		t.Helper()
		for {
			kind, flags, id, payload, err := readFrame(c)
			if err != nil {
				t.Fatalf("instead of %s: %v", what, err)
			}
			if kind == goAwayFrame && !strings.HasPrefix(payload, "\x7f\xff\xff\xff\x00\x00\x00\x00") && what != "the end" {
				t.Fatalf("before %s: GOAWAY % x", what, payload)
			}
			if ok(kind, flags, id, payload) {
				return
			}
		}
	}
	await("settings", func(kind, _ byte, _ uint32, _ string) bool { return kind == settingsFrame })
	left := make(chan error, 1)
	go func() { left <- server.Shutdown(context.Background()) }()
	await("GOAWAY", func(kind, _ byte, _ uint32, _ string) bool { return kind == goAwayFrame })
	io.WriteString(c, http2Hi)
	await("the echo", func(kind, _ byte, id uint32, payload string) bool {
		return kind == dataFrame && id == 1 && payload == "\x00\x00\x00\x00\x02hi"
	})
	await("the end of the stream", func(kind, flags byte, id uint32, _ string) bool {
		return kind == headersFrame && id == 1 && flags&endOfStream != 0
	})
	c.Close()
	if err := receive(t, "the server has left", left); err != nil {
		t.Error(err)
	}
}

// A client that was idle when its connection became too old has not been told: streams that it opens meanwhile are served.
func TestAnIdleClientIsToldBeforeItsOldConnectionEnds(t *testing.T) {
	_, address := listen(t, echoStreams, rpc.MaxConnectionAge(10*time.Millisecond))
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	io.WriteString(c, http2Preface+http2Frame(settingsFrame, 0, 0, ""))
	time.Sleep(1100 * time.Millisecond) // longer than those who have been told have time to leave
	io.WriteString(c, http2Hi)
	for {
		kind, _, _, payload, err := readFrame(c)
		if err != nil {
			t.Fatal(err)
		}
		if kind == goAwayFrame {
			if !strings.HasPrefix(payload, "\x7f\xff\xff\xff\x00\x00\x00\x00") {
				t.Errorf("it is told % x", payload)
			}
			return
		}
	}
}

// leaver is a server that says, when a client has sent want bytes on a stream, that it leaves without it. Its next
// connection leads to another server.
func leaver(t *testing.T, address string, want int) string {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	t.Cleanup(func() {
		l.Close()
		<-ended
	})
	go func() {
		defer close(ended)
		first, err := l.Accept()
		if err != nil {
			return
		}
		defer first.Close()
		const much = "\x00\x10\x00\x00"
		io.WriteString(first, http2Frame(settingsFrame, 0, 0, "\x00\x04"+much)+http2Frame(windowFrame, 0, 0, much))
		io.ReadFull(first, make([]byte, len(http2Preface)))
		for got := 0; got < want; {
			kind, _, _, payload, err := readFrame(first)
			if err != nil {
				t.Error(err)
				return
			}
			if kind == dataFrame {
				got += len(payload)
			}
		}
		io.WriteString(first, http2Frame(goAwayFrame, 0, 0, "\x00\x00\x00\x00\x00\x00\x00\x00"))
		second, err := l.Accept()
		if err != nil {
			return
		}
		defer second.Close()
		behind, err := net.Dial("tcp", address)
		if err != nil {
			t.Error(err)
			return
		}
		defer behind.Close()
		go func() {
			io.Copy(behind, second)
			behind.Close()
		}()
		io.Copy(second, behind)
	}()
	return l.Addr().String()
}

// openOver opens a stream over gRPC.
func openOver(t *testing.T, address string) *rpc.MessageStream {
	t.Helper()
	c, err := rpc.DialMessages(t.Context(), "tcp", address, rpc.GRPC())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	s, err := c.OpenMessageStream(t.Context(), &rpc.MessageStreamCall{Method: "/S/Stream", Type: transport.Protobuf})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestAStreamThatAServerLeavesWithoutGoesToTheNext(t *testing.T) {
	_, address := listen(t, echoStreams)
	messages := []string{"one", strings.Repeat("two", 5000), "", "four"}
	want := 0
	for _, m := range messages[:3] {
		want += len(m) + 5
	}
	s := openOver(t, leaver(t, address, want))
	for _, m := range messages[:3] {
		if err := s.SendBytes(t.Context(), []byte(m)); err != nil {
			t.Fatal(err)
		}
	}
	for i, m := range messages {
		if i == 3 {
			if err := s.SendBytes(t.Context(), []byte(m)); err != nil {
				t.Fatal(err)
			}
		}
		if b, err := s.RecvOwn(t.Context()); err != nil || string(b) != m {
			t.Fatalf("message %d: %d bytes, %v", i, len(b), err)
		}
	}
	if err := s.CloseSend(t.Context()); err != nil {
		t.Fatal(err)
	}
	if _, err := s.RecvOwn(t.Context()); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestAStreamThatHasEndedGoesToTheNextServerWhole(t *testing.T) {
	_, address := listen(t, echoStreams)
	s := openOver(t, leaver(t, address, len("only")+5))
	if err := errors.Join(s.SendBytes(t.Context(), []byte("only")), s.CloseSend(t.Context())); err != nil {
		t.Fatal(err)
	}
	if b, err := s.RecvOwn(t.Context()); err != nil || string(b) != "only" {
		t.Fatalf("%q, %v", b, err)
	}
	if _, err := s.RecvOwn(t.Context()); err != io.EOF {
		t.Errorf("the stream ends with %v", err)
	}
}

func TestAStreamThatHasSentTooMuchIsLostWithItsServer(t *testing.T) {
	_, address := listen(t, echoStreams)
	s := openOver(t, leaver(t, address, 100_000))
	if err := s.SendBytes(t.Context(), bytes.Repeat([]byte("much"), 30_000)); err != nil {
		t.Fatal(err)
	}
	var e *stream.Error
	if _, err := s.RecvOwn(t.Context()); !errors.As(err, &e) || e.Code != stream.Lost || !strings.Contains(err.Error(), "too much") {
		t.Errorf("the stream ends with %v", err)
	}
}
