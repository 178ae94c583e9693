package trpc

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"trpc.group/trpc-go/trpc-go/client"
	"trpc.group/trpc-go/trpc-go/codec"
	"trpc.group/trpc-go/trpc-go/errs"
	"trpc.group/trpc-go/trpc-go/server"
	"trpc.group/trpc-go/trpc-go/stream"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// newStreamHandle returns what has trpc-go's server serve streams.
func newStreamHandle() server.StreamHandle { return stream.NewStreamDispatcher() }

const (
	split = "/test.Words/Split"
	join  = "/test.Words/Join"
	echo  = "/test.Words/Echo"
)

// thrumStreams are the methods that stream, by Thrum.
func thrumStreams() []rpc.Method {
	fail := func(text string) error {
		switch code, business := outcome(text); {
		case business:
			return &rpc.BizStatus{Code: int32(code), Message: "as asked"}
		case code != 0:
			return &rpc.StatusError{Code: trpc.Code(code), Message: "as asked"}
		}
		return nil
	}
	return []rpc.Method{
		flatrpc.ServerStream("Split", words.Verifier(), func(_ context.Context, req *words.Word, out *flatrpc.Sender) error {
			for i := range req.Count() {
				if err := out.Send(words.New(out.NewBuilder(), req.Text(), i)); err != nil {
					return err
				}
			}
			return fail(req.Text())
		}),
		flatrpc.ClientStream("Join", words.Verifier(), words.Join),
		flatrpc.Bidi("Echo", words.Verifier(), words.Echo),
	}
}

// peerStreams are the same methods by trpc-go.
func peerStreams() []server.StreamDesc {
	return []server.StreamDesc{
		{StreamName: split, ServerStreams: true, Handler: func(_ any, s server.Stream) error {
			req := &GoogleWord{}
			if err := s.RecvMsg(req); err != nil {
				return err
			}
			for i := range req.Count() {
				if err := s.SendMsg(googleWord(req.Text(), i)); err != nil {
					return err
				}
			}
			if code, _ := outcome(req.Text()); code != 0 {
				return errs.New(code, "as asked")
			}
			return nil
		}},
		{StreamName: join, ClientStreams: true, Handler: func(_ any, s server.Stream) error {
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
		{StreamName: echo, ServerStreams: true, ClientStreams: true, Handler: func(_ any, s server.Stream) error {
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

// messages is how many messages a stream of the tests has, of which size in
// bytes: several windows.
const messages, size = 100, 3000

// open opens a stream by trpc-go.
func open(t *testing.T, method string, server, client_ bool, opts []client.Option) client.ClientStream {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 4*patience) // for thousands of messages
	t.Cleanup(cancel)
	ctx, msg := codec.WithCloneMessage(ctx)
	msg.WithCalleeServiceName(service)
	s, err := stream.DefaultStreamClient.NewStream(ctx, &client.ClientStreamDesc{StreamName: method, ServerStreams: server, ClientStreams: client_}, method, opts...)
	if err != nil {
		t.Fatalf("%s: %v", method, err)
	}
	return s
}

func TestThePeersClientStreamsWithThrumsServer(t *testing.T) {
	address := thrumServer(t, thrumStreams()...)
	text := strings.Repeat("x", size)
	for _, c := range compressions {
		opts := peerOptions(address, c)
		s := open(t, split, true, false, opts)
		err := s.SendMsg(googleWord(text, messages))
		if err == nil {
			err = s.CloseSend()
		}
		for i := range int32(messages) {
			w := &GoogleWord{}
			if err == nil {
				err = s.RecvMsg(w)
			}
			if err != nil || w.Text() != text || w.Count() != i {
				t.Fatalf("%s: message %d: %v", c, i, err)
			}
		}
		if err := s.RecvMsg(&GoogleWord{}); err != io.EOF {
			t.Errorf("%s: at the end: %v", c, err)
		}

		s = open(t, join, false, true, opts)
		for range messages {
			if err := s.SendMsg(googleWord(text, 1)); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		}
		w := &GoogleWord{}
		if err := s.CloseSend(); err != nil {
			t.Fatal(err)
		}
		if err := s.RecvMsg(w); err != nil || w.Text() != strings.Repeat(text, messages) || w.Count() != messages {
			t.Errorf("%s: the reply: %v", c, err)
		}

		s = open(t, echo, true, true, opts)
		go func() {
			for i := range int32(messages) {
				if s.SendMsg(googleWord(text, i)) != nil {
					return
				}
			}
			s.CloseSend()
		}()
		for i := range int32(messages) {
			w := &GoogleWord{}
			if err := s.RecvMsg(w); err != nil || w.Text() != text+"!" || w.Count() != i {
				t.Fatalf("%s: message %d comes back: %v", c, i, err)
			}
		}
		if err := s.RecvMsg(&GoogleWord{}); err != io.EOF {
			t.Errorf("%s: at the end of both: %v", c, err)
		}
	}
}

// Small messages grow by compression, and trpc-go's client gives credit for
// what they were before; streams must go on all the same.
func TestThePeersCountOfCompressedMessagesStopsNoStream(t *testing.T) {
	s := open(t, split, true, false, peerOptions(thrumServer(t, thrumStreams()...), trpc.Gzip))
	const n = 6000
	err := s.SendMsg(googleWord("ab", n))
	for i := range int32(n) {
		w := &GoogleWord{}
		if err == nil {
			err = s.RecvMsg(w)
		}
		if err != nil || w.Count() != i {
			t.Fatalf("message %d: %v", i, err)
		}
	}
}

func TestThePeersClientGetsTheOutcomeOfThrumsStreams(t *testing.T) {
	address := thrumServer(t, thrumStreams()...)
	for text, want := range map[string]int{"sold out": 4711, "invalid": int(trpc.ServerValidate)} {
		s := open(t, split, true, false, peerOptions(address, trpc.None))
		err := s.SendMsg(googleWord(text, 1))
		for err == nil {
			err = s.RecvMsg(&GoogleWord{})
		}
		cause := errors.Unwrap(err) // the peer wraps every end of a stream
		if int(errs.Code(cause)) != want || errs.Msg(cause) != "as asked" {
			t.Errorf("%s: %v", text, err)
		}
	}
	ctx, msg := codec.WithCloneMessage(context.Background())
	msg.WithCalleeServiceName(service)
	_, err := stream.DefaultStreamClient.NewStream(ctx, &client.ClientStreamDesc{ServerStreams: true}, "/test.Words/Other", peerOptions(address, trpc.None)...)
	if errs.Code(err) != errs.RetServerNoFunc {
		t.Error(err)
	}
}

func TestThrumsClientStreamsWithThePeersServer(t *testing.T) {
	address := peerServer(t, peerStreams()...)
	text := strings.Repeat("x", size)
	for _, c := range compressions {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		thrum := dial(t, address, c)
		d, err := flatrpc.OpenServerStream[words.Word](ctx, thrum, split, words.New(nil, text, messages), words.Verifier())
		if err != nil {
			t.Fatalf("%s: %v", c, err)
		}
		for i := range int32(messages) {
			if w, err := d.Recv(); err != nil || w.Text() != text || w.Count() != i {
				t.Fatalf("%s: message %d: %v", c, i, err)
			}
		}
		if _, err := d.Recv(); err != io.EOF {
			t.Errorf("%s: at the end: %v", c, err)
		}

		u, err := flatrpc.OpenClientStream[words.Word](ctx, thrum, join, words.Verifier())
		if err != nil {
			t.Fatal(err)
		}
		for range messages {
			if err := u.Send(words.New(nil, text, 1)); err != nil {
				t.Fatalf("%s: %v", c, err)
			}
		}
		if w, err := u.CloseAndRecv(); err != nil || w.Text() != strings.Repeat(text, messages) || w.Count() != messages {
			t.Errorf("%s: the reply: %v", c, err)
		}
		if err := echoes(ctx, thrum, text); err != nil {
			t.Errorf("%s: %v", c, err)
		}
	}
}

// echoes streams both ways by Thrum.
func echoes(ctx context.Context, c rpc.MessageCaller, text string) error {
	b, err := flatrpc.OpenBidi[words.Word](ctx, c, echo, words.Verifier())
	if err != nil {
		return err
	}
	sent := make(chan error, 1)
	go func() {
		for i := range int32(messages) {
			if err := b.Send(words.New(nil, text, i)); err != nil {
				sent <- err
				return
			}
		}
		sent <- b.CloseSend()
	}()
	for i := range int32(messages) {
		if w, err := b.Recv(); err != nil || w.Text() != text+"!" || w.Count() != i {
			return fmt.Errorf("message %d comes back: %w", i, err)
		}
	}
	if _, err := b.Recv(); err != io.EOF {
		return fmt.Errorf("at the end of both: %w", err)
	}
	return <-sent
}

func TestThrumsClientGetsTheOutcomeOfThePeersStreams(t *testing.T) {
	thrum := dial(t, peerServer(t, peerStreams()...), trpc.None)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	d, err := flatrpc.OpenServerStream[words.Word](ctx, thrum, split, words.New(nil, "sold out", 2), words.Verifier())
	for err == nil {
		_, err = d.Recv()
	}
	var status *rpc.StatusError // the peer sends codes of applications where its own go
	if !errors.As(err, &status) || status.Code != 4711 || status.Message != "as asked" {
		t.Error(err)
	}
	d, err = flatrpc.OpenServerStream[words.Word](ctx, thrum, "/test.Words/Other", words.New(nil, "a", 2), words.Verifier())
	for err == nil {
		_, err = d.Recv()
	}
	if !errors.As(err, &status) || status.Code != trpc.NoFunc {
		t.Error(err)
	}
}
