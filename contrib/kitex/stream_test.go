package kitex_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/bytedance/gopkg/cloud/metainfo"
	"github.com/cloudwego/gopkg/protocol/thrift"
	"github.com/cloudwego/kitex/client"
	"github.com/cloudwego/kitex/pkg/kerrors"
	"github.com/cloudwego/kitex/transport"

	"github.com/thrum-rpc/thrum/contrib/kitex/internal/chat"
	kitexnotes "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/streams/chat"
	kitexchat "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/streams/chat/chat"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file lets Kitex and Thrum stream to each other, with code that both
// generators made of chat.thrift.

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// kitexServer is the service as Kitex serves it.
type kitexServer struct{ ended chan error }

func (k kitexServer) Echo(ctx context.Context, s kitexnotes.Chat_echoServer) error {
	tenant, _ := metainfo.GetValue(ctx, "TENANT")
	s.SetHeader(map[string]string{"tenant": tenant})
	s.SetTrailer(map[string]string{"tail": "wagged"})
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			k.tell(err)
			return err
		}
		n.Number++
		if err := s.Send(ctx, n); err != nil {
			return err
		}
	}
}

func (k kitexServer) tell(err error) {
	select {
	case k.ended <- err:
	default:
	}
}

func (kitexServer) Count(ctx context.Context, req *kitexnotes.Note, s kitexnotes.Chat_countServer) error {
	for i := range req.Number {
		if err := s.Send(ctx, &kitexnotes.Note{Text: req.Text, Number: i}); err != nil {
			return err
		}
	}
	return nil
}

func (kitexServer) Join(ctx context.Context, s kitexnotes.Chat_joinServer) error {
	var all []string
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return s.SendAndClose(ctx, &kitexnotes.Note{Text: strings.Join(all, " ")})
		}
		if err != nil {
			return err
		}
		all = append(all, n.Text)
	}
}

func (kitexServer) Fail(ctx context.Context, req *kitexnotes.Note, s kitexnotes.Chat_failServer) error {
	s.Send(ctx, req)
	switch req.Text {
	case "status":
		return kerrors.NewBizStatusErrorWithExtra(404, "no such note", map[string]string{"k": "v"})
	case "typed":
		return thrift.NewApplicationException(77, "typed")
	case "panic":
		panic("on request")
	}
	return errors.New("plain")
}

func (kitexServer) Plain(_ context.Context, n *kitexnotes.Note) (*kitexnotes.Note, error) {
	return n, nil
}

// thrumServer is the service as Thrum serves it.
type thrumServer struct{ ended chan error }

func (k thrumServer) Echo(ctx context.Context, s stream.BidiStreamingServer[chat.Note, chat.Note]) error {
	info, _ := rpc.Info(ctx)
	tenant, _ := info.Header("TENANT")
	s.SetHeader(stream.Metadata{"tenant": tenant})
	s.SetTrailer(stream.Metadata{"tail": "wagged"})
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			kitexServer(k).tell(err)
			return err
		}
		n.Number++
		if err := s.Send(ctx, n); err != nil {
			return err
		}
	}
}

func (thrumServer) Count(ctx context.Context, req *chat.Note, s stream.ServerStreamingServer[chat.Note]) error {
	for i := range req.Number {
		if err := s.Send(ctx, &chat.Note{Text: req.Text, Number: i}); err != nil {
			return err
		}
	}
	return nil
}

func (thrumServer) Join(ctx context.Context, s stream.ClientStreamingServer[chat.Note, chat.Note]) error {
	var all []string
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return s.SendAndClose(ctx, &chat.Note{Text: strings.Join(all, " ")})
		}
		if err != nil {
			return err
		}
		all = append(all, n.Text)
	}
}

func (thrumServer) Fail(ctx context.Context, req *chat.Note, s stream.ServerStreamingServer[chat.Note]) error {
	s.Send(ctx, req)
	switch req.Text {
	case "status":
		return &rpc.BizStatus{Code: 404, Message: "no such note", Extra: map[string]string{"k": "v"}}
	case "typed":
		return &rpc.ApplicationException{Type: 77, Message: "typed"}
	case "panic":
		panic("on request")
	}
	return errors.New("plain")
}

func (thrumServer) Plain(_ context.Context, n *chat.Note) (*chat.Note, error) { return n, nil }

// thrumToKitex is Thrum's client of Kitex's server.
func thrumToKitex(t *testing.T) (*chat.ChatClient, *kitexServer) {
	t.Helper()
	k := &kitexServer{make(chan error, 1)}
	c, err := rpc.Dial(t.Context(), "tcp", run(t, kitexchat.NewServiceInfo(), k), rpc.TTHeader())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return chat.NewChatClient(c), k
}

// kitexToThrum is Kitex's client of Thrum's server.
func kitexToThrum(t *testing.T, opts ...rpc.ServerOption) (kitexchat.Client, thrumServer, *rpc.Server) {
	t.Helper()
	k := thrumServer{make(chan error, 1)}
	s := newServer(opts...)
	if err := s.Register(chat.NewChatService(k)); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go s.Serve(l)
	t.Cleanup(func() { s.Close() })
	c, err := kitexchat.NewClient("chat", client.WithHostPorts(l.Addr().String()), client.WithTransportProtocol(transport.TTHeaderStreaming))
	if err != nil {
		t.Fatal(err)
	}
	return c, k, s
}

func TestThrumStreamsToKitex(t *testing.T) {
	c, _ := thrumToKitex(t)
	ctx := rpc.WithHeader(t.Context(), "TENANT", "acme")

	echo, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(20) {
		if err := echo.Send(ctx, &chat.Note{Text: "x", Number: i}); err != nil {
			t.Fatal(err)
		}
		if n, err := echo.Recv(ctx); err != nil || n.Number != i+1 {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if md, err := echo.Header(ctx); err != nil || md["tenant"] != "acme" {
		t.Errorf("header %v, %v", md, err)
	}
	echo.CloseSend(ctx)
	if _, err := echo.Recv(ctx); err != io.EOF || echo.Trailer()["tail"] != "wagged" {
		t.Errorf("end %v, trailer %v", err, echo.Trailer())
	}

	count, err := c.Count(ctx, &chat.Note{Number: 500})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(500) {
		if n, err := count.Recv(ctx); err != nil || n.Number != i {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if _, err := count.Recv(ctx); err != io.EOF {
		t.Errorf("end %v", err)
	}

	join, err := c.Join(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"over", "and", "out"} {
		join.Send(ctx, &chat.Note{Text: w})
	}
	if n, err := join.CloseAndRecv(ctx); err != nil || n.Text != "over and out" {
		t.Errorf("got %v, %v", n, err)
	}
	if n, err := c.Plain(ctx, &chat.Note{Text: "unary"}); err != nil || n.Text != "unary" {
		t.Errorf("the unary method: %v, %v", n, err)
	}
}

func TestKitexStreamsToThrum(t *testing.T) {
	c, _, _ := kitexToThrum(t)
	ctx := metainfo.WithValue(t.Context(), "TENANT", "acme")

	echo, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(20) {
		if err := echo.Send(ctx, &kitexnotes.Note{Text: "x", Number: i}); err != nil {
			t.Fatal(err)
		}
		if n, err := echo.Recv(ctx); err != nil || n.Number != i+1 {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if md, err := echo.Header(); err != nil || md["tenant"] != "acme" {
		t.Errorf("header %v, %v", md, err)
	}
	echo.CloseSend(ctx)
	if _, err := echo.Recv(ctx); err != io.EOF {
		t.Errorf("end %v", err)
	}
	if md, err := echo.Trailer(); err != nil || md["tail"] != "wagged" {
		t.Errorf("trailer %v, %v", md, err)
	}

	count, err := c.Count(ctx, &kitexnotes.Note{Number: 500})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(500) {
		if n, err := count.Recv(ctx); err != nil || n.Number != i {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if _, err := count.Recv(ctx); err != io.EOF {
		t.Errorf("end %v", err)
	}

	join, err := c.Join(ctx)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range []string{"over", "and", "out"} {
		join.Send(ctx, &kitexnotes.Note{Text: w})
	}
	if n, err := join.CloseAndRecv(ctx); err != nil || n.Text != "over and out" {
		t.Errorf("got %v, %v", n, err)
	}
	if n, err := c.Plain(ctx, &kitexnotes.Note{Text: "unary"}); err != nil || n.Text != "unary" {
		t.Errorf("the unary method: %v, %v", n, err)
	}
}

func TestThrumGetsKitexsOutcomes(t *testing.T) {
	c, _ := thrumToKitex(t)
	end := func(how string) error {
		s, err := c.Fail(t.Context(), &chat.Note{Text: how})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = s.Recv(t.Context())
		}
		return err
	}
	var e *rpc.ApplicationException
	if err := end("plain"); !errors.As(err, &e) || e.Type != rpc.InternalError || !strings.Contains(e.Message, "plain") {
		t.Errorf("plain: %v", err)
	}
	var status *rpc.BizStatus
	if err := end("status"); !errors.As(err, &status) || status.Code != 404 || status.Extra["k"] != "v" {
		t.Errorf("status: %v", err)
	}
	if err := end("typed"); !errors.As(err, &e) {
		t.Errorf("typed: %v", err)
	}
	if err := end("panic"); !errors.As(err, &e) || !strings.Contains(e.Message, "panic") {
		t.Errorf("panic: %v", err)
	}
}

func TestKitexGetsThrumsOutcomes(t *testing.T) {
	c, _, _ := kitexToThrum(t)
	end := func(how string) error {
		s, err := c.Fail(t.Context(), &kitexnotes.Note{Text: how})
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = s.Recv(t.Context())
		}
		return err
	}
	for how, want := range map[string]string{"plain": "plain", "typed": "typed", "panic": "panic in fail"} {
		if err := end(how); err == io.EOF || !strings.Contains(fmt.Sprint(err), want) {
			t.Errorf("%s: %v", how, err)
		}
	}
	if status, ok := kerrors.FromBizStatusError(end("status")); !ok || status.BizStatusCode() != 404 || status.BizExtra()["k"] != "v" {
		t.Errorf("status: %v", status)
	}
}

func TestThrumCancelsAStreamAtKitex(t *testing.T) {
	c, k := thrumToKitex(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Send(ctx, &chat.Note{})
	if _, err := s.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	if _, err := s.Recv(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("the client gets %v", err)
	}
	select {
	case err := <-k.ended:
		if !errors.Is(err, kerrors.ErrStreamingCanceled) {
			t.Errorf("Kitex's handler gets %v", err)
		}
	case <-time.After(patience):
		t.Error("Kitex's handler goes on")
	}
}

func TestKitexCancelsAStreamAtThrum(t *testing.T) {
	c, k, _ := kitexToThrum(t)
	ctx, cancel := context.WithCancel(t.Context())
	s, err := c.Echo(ctx)
	if err != nil {
		t.Fatal(err)
	}
	s.Send(ctx, &kitexnotes.Note{})
	if _, err := s.Recv(ctx); err != nil {
		t.Fatal(err)
	}
	cancel()
	go s.Recv(ctx) // Kitex looks at the context while it receives
	select {
	case err := <-k.ended:
		var e *stream.Error
		if !errors.As(err, &e) || e.Code != stream.Reset || !e.Remote {
			t.Errorf("the handler gets %v", err)
		}
	case <-time.After(patience):
		t.Error("the handler goes on")
	}
}

func TestAStreamsDeadlineEndsItAtKitex(t *testing.T) {
	c, k := thrumToKitex(t)
	opened := false
	for d := 50 * time.Millisecond; !opened && d < patience; d *= 4 { // until the time was enough to open it
		ctx, cancel := context.WithTimeout(t.Context(), d)
		defer cancel()
		s, err := c.Echo(ctx)
		if opened = err == nil; opened {
			_, err = s.Recv(t.Context())
		}
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("the client gets %v", err)
		}
	}
	select {
	case <-k.ended:
	case <-time.After(patience):
		t.Error("Kitex's handler goes on")
	}
}

func TestAHundredStreamsOfKitexAndAsManyOfThrum(t *testing.T) {
	ours, _ := thrumToKitex(t)
	theirs, _, _ := kitexToThrum(t)
	var all sync.WaitGroup
	for i := range int32(100) {
		all.Go(func() {
			s, err := ours.Echo(t.Context())
			for j := int32(0); err == nil && j < 10; j++ {
				err = s.Send(t.Context(), &chat.Note{Number: i + j})
				if err == nil {
					var n *chat.Note
					if n, err = s.Recv(t.Context()); err == nil && n.Number != i+j+1 {
						t.Errorf("got %d", n.Number)
					}
				}
			}
			if err != nil {
				t.Errorf("Thrum's stream: %v", err)
				return
			}
			s.CloseSend(t.Context())
			s.Recv(t.Context())
		})
		all.Go(func() {
			s, err := theirs.Echo(t.Context())
			for j := int32(0); err == nil && j < 10; j++ {
				err = s.Send(t.Context(), &kitexnotes.Note{Number: i + j})
				if err == nil {
					var n *kitexnotes.Note
					if n, err = s.Recv(t.Context()); err == nil && n.Number != i+j+1 {
						t.Errorf("got %d", n.Number)
					}
				}
			}
			if err != nil {
				t.Errorf("Kitex's stream: %v", err)
				return
			}
			s.CloseSend(t.Context())
			s.Recv(t.Context())
		})
	}
	all.Wait()
}

func TestASlowReaderOfKitexsServerLosesNothing(t *testing.T) {
	c, _ := thrumToKitex(t)
	const messages = 5000
	s, err := c.Count(t.Context(), &chat.Note{Text: strings.Repeat("z", 1000), Number: messages})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(messages) {
		if i%1000 == 0 {
			time.Sleep(time.Millisecond)
		}
		if n, err := s.Recv(t.Context()); err != nil || n.Number != i {
			t.Fatalf("message %d: %v, %v", i, n, err)
		}
	}
}

func TestKitexsStreamsEndWhenThrumIsKilled(t *testing.T) {
	c, _, server := kitexToThrum(t)
	s, err := c.Echo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Send(t.Context(), &kitexnotes.Note{})
	if _, err := s.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := s.Recv(t.Context()); err == nil || err == io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestKitexsStreamsEndRegularlyWhileThrumShutsDown(t *testing.T) {
	c, _, server := kitexToThrum(t, rpc.Grace(patience, 500*time.Millisecond))
	s, err := c.Echo(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.Send(t.Context(), &kitexnotes.Note{})
	if _, err := s.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	down := make(chan error, 1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	go func() { down <- server.Shutdown(ctx) }()
	eventually(t, "the server stops", server.Stopping)
	for i := range int32(50) {
		time.Sleep(time.Millisecond)
		s.Send(t.Context(), &kitexnotes.Note{Number: i})
		if n, err := s.Recv(t.Context()); err != nil || n.Number != i+1 {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	s.CloseSend(t.Context())
	if _, err := s.Recv(t.Context()); err != io.EOF {
		t.Errorf("end %v", err)
	}
	if err := <-down; err != nil {
		t.Error(err)
	}
}
