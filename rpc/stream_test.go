package rpc_test

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

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// note is the message of the tests' streams.
type note struct {
	Text string `frugal:"1,default,string"`
	N    int32  `frugal:"2,default,i32"`
}

// The methods of the tests' streams.
func echoNotes(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		n.N++
		if err := s.Send(ctx, n); err != nil {
			return err
		}
	}
}

func countNotes(ctx context.Context, n *note, s stream.ServerStreamingServer[note]) error {
	for i := range n.N {
		if err := s.Send(ctx, &note{Text: n.Text, N: i}); err != nil {
			return err
		}
	}
	return nil
}

func joinNotes(ctx context.Context, s stream.ClientStreamingServer[note, note]) error {
	var all []string
	for {
		n, err := s.Recv(ctx)
		if err == io.EOF {
			return s.SendAndClose(ctx, &note{Text: strings.Join(all, " "), N: int32(len(all))})
		}
		if err != nil {
			return err
		}
		all = append(all, n.Text)
	}
}

// streamers are a server with these methods and more, and a client of it.
func streamers(t *testing.T, more []rpc.Method, opts ...rpc.ServerOption) (*rpc.Server, *rpc.Client) {
	t.Helper()
	methods := append([]rpc.Method{
		rpc.BidiStreaming("echo", echoNotes),
		rpc.ServerStreaming("count", countNotes),
		rpc.ClientStreaming("join", joinNotes),
		raw("unary", func(_ context.Context, args, dst []byte) ([]byte, error) { return append(dst, args...), nil }),
	}, more...)
	server, address := listen(t, methods, opts...)
	client, err := rpc.Dial(t.Context(), "tcp", address, rpc.TTHeader())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return server, client
}

func openEcho(t *testing.T, ctx context.Context, c rpc.Caller) stream.BidiStreamingClient[note, note] {
	t.Helper()
	s, err := rpc.OpenBidiStream[note, note](ctx, c, "S", "echo")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func streamCode(err error) stream.Code {
	var e *stream.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestStreamsOfAllModes(t *testing.T) {
	_, c := streamers(t, nil)
	ctx := t.Context()

	bidi := openEcho(t, ctx, c)
	for i := range int32(50) {
		if err := bidi.Send(ctx, &note{Text: "ping", N: i}); err != nil {
			t.Fatal(err)
		}
		if n, err := bidi.Recv(ctx); err != nil || n.N != i+1 {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if err := bidi.CloseSend(ctx); err != nil {
		t.Fatal(err)
	}
	if _, err := bidi.Recv(ctx); err != io.EOF {
		t.Errorf("after the half-close: %v", err)
	}

	counting, err := rpc.OpenServerStream[note, note](ctx, c, "S", "count", &note{Text: "x", N: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(1000) {
		if n, err := counting.Recv(ctx); err != nil || n.N != i {
			t.Fatalf("got %v, %v", n, err)
		}
	}
	if _, err := counting.Recv(ctx); err != io.EOF {
		t.Errorf("after the last response: %v", err)
	}

	joining, err := rpc.OpenClientStream[note, note](ctx, c, "", "join") // found without its service, too
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"all", "in", "one"} {
		if err := joining.Send(ctx, &note{Text: word}); err != nil {
			t.Fatal(err)
		}
	}
	if n, err := joining.CloseAndRecv(ctx); err != nil || n.Text != "all in one" {
		t.Errorf("got %v, %v", n, err)
	}
}

func TestAStreamEndsWithItsHandlersError(t *testing.T) {
	status := &rpc.BizStatus{Code: 404, Message: "no such book", Extra: map[string]string{"isbn": "0"}}
	failing := func(err error) func(context.Context, stream.BidiStreamingServer[note, note]) error {
		return func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
			s.SetTrailer(stream.Metadata{"why": "test"})
			s.Send(ctx, &note{Text: "first"})
			return err
		}
	}
	_, c := streamers(t, []rpc.Method{
		rpc.BidiStreaming("plain", failing(errors.New("out of paper"))),
		rpc.BidiStreaming("typed", failing(&rpc.ApplicationException{Type: 77, Message: "typed"})),
		rpc.BidiStreaming("status", failing(fmt.Errorf("wrapped: %w", status))),
		rpc.BidiStreaming("panics", func(context.Context, stream.BidiStreamingServer[note, note]) error { panic("secret") }),
		rpc.BidiStreaming("nilError", failing((*rpc.Error)(nil))),
	})
	end := func(method string) (stream.Metadata, error) {
		s, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", method)
		if err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = s.Recv(t.Context())
		}
		return s.Trailer(), err
	}
	var e *rpc.ApplicationException
	if md, err := end("plain"); !errors.As(err, &e) || e.Type != rpc.InternalError || e.Message != "out of paper" || md["why"] != "test" {
		t.Errorf("plain: %v, trailer %v", err, md)
	}
	if _, err := end("typed"); !errors.As(err, &e) || e.Type != 77 {
		t.Errorf("typed: %v", err)
	}
	var b *rpc.BizStatus
	if _, err := end("status"); !errors.As(err, &b) || b.Code != 404 || b.Extra["isbn"] != "0" {
		t.Errorf("status: %v", err)
	}
	if _, err := end("panics"); !errors.As(err, &e) || e.Type != rpc.InternalError || strings.Contains(e.Message, "secret") {
		t.Errorf("panics: %v", err)
	}
	if _, err := end("nilError"); !errors.As(err, &e) || e.Type != rpc.InternalError {
		t.Errorf("nilError: %v", err)
	}
	if _, err := end("nowhere"); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("nowhere: %v", err)
	}
	if _, err := end("unary"); !errors.As(err, &e) || e.Type != rpc.UnknownMethod || !strings.Contains(e.Message, "no stream") {
		t.Errorf("a unary method, as a stream: %v", err)
	}
	if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "echo"}); !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("a stream, as a unary call: %v", err)
	}
}

func TestCancellingAStreamReachesItsHandler(t *testing.T) {
	ended := make(chan error, 1)
	_, c := streamers(t, []rpc.Method{rpc.BidiStreaming("wait", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
		<-ctx.Done()
		_, err := s.Recv(ctx)
		ended <- err
		return err
	})})
	ctx, cancel := context.WithCancel(t.Context())
	s, err := rpc.OpenBidiStream[note, note](ctx, c, "S", "wait")
	if err != nil {
		t.Fatal(err)
	}
	other := openEcho(t, t.Context(), c)
	cancel()
	if _, err := s.Recv(t.Context()); !errors.Is(err, context.Canceled) {
		t.Errorf("the client gets %v", err)
	}
	err = receive(t, "the handler's end", ended)
	var e *stream.Error
	var why *rpc.ApplicationException
	if !errors.As(err, &e) || e.Code != stream.Reset || !e.Remote || !errors.As(err, &why) || why.Type != 12007 {
		t.Errorf("the handler gets %v", err)
	}
	if err := other.Send(t.Context(), &note{}); err != nil {
		t.Errorf("the other stream of the connection: %v", err)
	}
	if _, err := other.Recv(t.Context()); err != nil {
		t.Errorf("the other stream of the connection: %v", err)
	}
	other.Cancel(nil)
}

func TestADeadlineTravelsWithTheStream(t *testing.T) {
	var begun atomic.Int32
	deadlines := make(chan bool, 100)
	_, c := streamers(t, []rpc.Method{rpc.BidiStreaming("wait", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
		begun.Add(1)
		_, ok := ctx.Deadline()
		<-ctx.Done()
		deadlines <- ok
		return ctx.Err()
	})})
	inTime(t, "a handler runs before the deadline", func(timeout time.Duration) bool {
		ctx, cancel := context.WithTimeout(t.Context(), timeout)
		s, err := rpc.OpenBidiStream[note, note](ctx, c, "S", "wait")
		if err == nil {
			_, err = s.Recv(t.Context())
		}
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			// The server's clock was first: its handler's error or a reset has come.
			var e *stream.Error
			var x *rpc.ApplicationException
			if !errors.As(err, &x) && (!errors.As(err, &e) || e.Code != stream.Reset) {
				t.Errorf("the client gets %v", err)
			}
		}
		return begun.Load() > 0
	})
	if !receive(t, "the handler's end", deadlines) {
		t.Error("the handler's context has no deadline")
	}
}

func TestMetadataTravelsBothWays(t *testing.T) {
	_, c := streamers(t, []rpc.Method{rpc.BidiStreaming("meta", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
		info, _ := rpc.Info(ctx)
		tenant, _ := info.Header("tenant")
		trace, _ := info.Persistent("trace")
		s.SetHeader(stream.Metadata{"one": tenant, "method": info.Method()})
		if err := s.SendHeader(stream.Metadata{"two": trace}); err != nil {
			return err
		}
		return s.SetTrailer(stream.Metadata{"three": "3"})
	})})
	ctx := rpc.WithPersistent(rpc.WithHeader(t.Context(), "tenant", "acme"), "trace", "t1")
	s, err := rpc.OpenBidiStream[note, note](ctx, c, "S", "meta")
	if err != nil {
		t.Fatal(err)
	}
	md, err := s.Header(ctx)
	if err != nil || md["one"] != "acme" || md["two"] != "t1" || md["method"] != "meta" {
		t.Errorf("header %v, %v", md, err)
	}
	if _, err := s.Recv(ctx); err != io.EOF {
		t.Errorf("got %v", err)
	}
	if md := s.Trailer(); md["three"] != "3" {
		t.Errorf("trailer %v", md)
	}
}

func TestInterceptorsSeeStreams(t *testing.T) {
	var mu sync.Mutex
	var seen []string
	_, c := streamers(t, nil, rpc.Intercept(func(ctx context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
		if call.Method() == "count" {
			return nil, nil, errors.New("not today")
		}
		return ctx, func(err error) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprint(call.Service(), ".", call.Method(), " ", err))
		}, nil
	}))
	s := openEcho(t, t.Context(), c)
	s.CloseSend(t.Context())
	s.Recv(t.Context())
	eventually(t, "the interceptor is told of the end", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(seen) == 1 && seen[0] == "S.echo <nil>"
	})
	counting, err := rpc.OpenServerStream[note, note](t.Context(), c, "S", "count", &note{})
	if err == nil {
		_, err = counting.Recv(t.Context())
	}
	if err == nil || !strings.Contains(err.Error(), "not today") {
		t.Errorf("got %v", err)
	}
}

func TestAHundredStreamsShareAConnection(t *testing.T) {
	server, c := streamers(t, nil)
	var all sync.WaitGroup
	for i := range int32(100) {
		all.Go(func() {
			s, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo")
			if err != nil {
				t.Error(err)
				return
			}
			for j := range int32(20) {
				if err := s.Send(t.Context(), &note{Text: strings.Repeat("x", int(i)), N: i*1000 + j}); err != nil {
					t.Error(err)
					return
				}
			}
			s.CloseSend(t.Context())
			for j := range int32(20) {
				if n, err := s.Recv(t.Context()); err != nil || n.N != i*1000+j+1 || len(n.Text) != int(i) {
					t.Errorf("stream %d, message %d: %v, %v", i, j, n, err)
					return
				}
			}
			if _, err := s.Recv(t.Context()); err != io.EOF {
				t.Errorf("stream %d ends with %v", i, err)
			}
		})
	}
	all.Wait()
	if n := rpc.Connections(server); n != 2 {
		t.Errorf("%d connections, want one for calls and one for streams", n)
	}
}

func TestASlowReaderHoldsUpItsSenderAndLosesNothing(t *testing.T) {
	_, c := streamers(t, nil)
	const messages = 20_000
	s, err := rpc.OpenServerStream[note, note](t.Context(), c, "S", "count", &note{Text: strings.Repeat("y", 1000), N: messages})
	if err != nil {
		t.Fatal(err)
	}
	for i := range int32(messages) {
		if i%2000 == 0 {
			time.Sleep(time.Millisecond)
		}
		if n, err := s.Recv(t.Context()); err != nil || n.N != i {
			t.Fatalf("message %d: %v, %v", i, n, err)
		}
	}
	if _, err := s.Recv(t.Context()); err != io.EOF {
		t.Errorf("got %v", err)
	}
}

func TestAStreamOfWhichNothingIsTakenIsResetAndTheOthersGoOn(t *testing.T) {
	ended := make(chan error, 1)
	_, c := streamers(t, []rpc.Method{rpc.BidiStreaming("deaf", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
		<-ctx.Done()
		ended <- context.Cause(ctx)
		return nil
	})}, rpc.StreamQueue(1000, 10), rpc.StreamStall(20*time.Millisecond))
	deaf, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "deaf")
	if err != nil {
		t.Fatal(err)
	}
	for err == nil {
		err = deaf.Send(t.Context(), &note{Text: "hello?"})
	}
	if streamCode(err) != stream.Reset {
		t.Errorf("the sender gets %v", err)
	}
	if err := receive(t, "the handler's end", ended); streamCode(err) != stream.Overflow {
		t.Errorf("the handler gets %v", err)
	}
	other := openEcho(t, t.Context(), c)
	other.Send(t.Context(), &note{N: 1})
	if n, err := other.Recv(t.Context()); err != nil || n.N != 2 {
		t.Errorf("another stream: %v, %v", n, err)
	}
	other.Cancel(nil)
}

// What fits into no frame cannot be sent, and the other side, which would wait for it for ever, is told.
func TestAStreamThatCannotSendEndsOnBothSides(t *testing.T) {
	told := make(chan error, 1)
	_, c := streamers(t, []rpc.Method{
		rpc.BidiStreaming("wide", func(_ context.Context, s stream.BidiStreamingServer[note, note]) error {
			return s.SetHeader(stream.Metadata{"wide": strings.Repeat("w", 1<<20)})
		}),
		rpc.BidiStreaming("large", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
			return s.Send(ctx, &note{Text: strings.Repeat("y", 2000)})
		}),
		rpc.BidiStreaming("tell", func(ctx context.Context, s stream.BidiStreamingServer[note, note]) error {
			_, err := s.Recv(ctx)
			told <- err
			return err
		}),
	}, rpc.MaxFrameSize(1000))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, method := range []string{"large", "wide"} {
		s, err := rpc.OpenBidiStream[note, note](ctx, c, "S", method)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := s.Recv(ctx); streamCode(err) != stream.Reset {
			t.Errorf("%s: the client gets %v", method, err)
		}
	}
	tell, err := rpc.OpenBidiStream[note, note](ctx, c, "S", "tell")
	if err != nil {
		t.Fatal(err)
	}
	if err := tell.Send(ctx, &note{Text: strings.Repeat("z", rpc.DefaultMaxFrameSize)}); streamCode(err) != stream.Overflow {
		t.Errorf("a client that sends too much gets %v", err)
	}
	if err := receive(t, "the handler is told", told); streamCode(err) != stream.Reset {
		t.Errorf("the handler is told %v", err)
	}
}

func TestStreamsHaveLimits(t *testing.T) {
	server, c := streamers(t, nil, rpc.MaxStreamsPerConn(2), rpc.MaxFrameSize(1000), rpc.StreamIdle(time.Hour))
	one, two := openEcho(t, t.Context(), c), openEcho(t, t.Context(), c)
	three := openEcho(t, t.Context(), c)
	var e *rpc.ApplicationException
	if _, err := three.Recv(t.Context()); !errors.As(err, &e) || e.Type != rpc.LoadShedding {
		t.Errorf("a stream too many: %v", err)
	}
	if err := one.Send(t.Context(), &note{Text: strings.Repeat("z", 2000)}); err != nil { // the client's own limit is larger
		t.Fatal(err)
	}
	if _, err := one.Recv(t.Context()); streamCode(err) != stream.Reset {
		t.Errorf("a message too large: %v", err)
	}
	two.Send(t.Context(), &note{N: 1})
	if n, err := two.Recv(t.Context()); err != nil || n.N != 2 {
		t.Errorf("another stream: %v, %v", n, err)
	}
	eventually(t, "the broken stream has left", func() bool { return rpc.InFlight(server) == 1 })
	four := openEcho(t, t.Context(), c)
	four.Send(t.Context(), &note{N: 1})
	if n, err := four.Recv(t.Context()); err != nil || n.N != 2 {
		t.Errorf("a stream in the place of one that has ended: %v, %v", n, err)
	}
	two.Cancel(nil)
	four.Cancel(nil)
}

func TestAStreamOnAConnectionTooManyIsToldSo(t *testing.T) {
	_, c := streamers(t, nil, rpc.MaxConnections(1)) // which the client's calls have
	s := openEcho(t, t.Context(), c)
	var e *rpc.ApplicationException
	if _, err := s.Recv(t.Context()); !errors.As(err, &e) || e.Type != rpc.LoadShedding || !strings.Contains(e.Message, "connections") {
		t.Errorf("got %v", err)
	}
}

func TestStreamsInsideTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	_, address := listen(t, []rpc.Method{rpc.BidiStreaming("echo", echoNotes)}, secure(t, ca))
	open := func(opts ...rpc.ClientOption) stream.BidiStreamingClient[note, note] {
		c, err := rpc.Dial(t.Context(), "tcp", address, append(opts, rpc.TTHeader())...)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close() })
		return openEcho(t, t.Context(), c)
	}
	s := open(reader(t, ca))
	if err := s.Send(t.Context(), &note{N: 1}); err != nil {
		t.Fatal(err)
	}
	if n, err := s.Recv(t.Context()); err != nil || n.N != 2 {
		t.Errorf("got %v, %v", n, err)
	}
	s.CloseSend(t.Context())
	s.Recv(t.Context())
	var e *rpc.ApplicationException
	if _, err := open().Recv(t.Context()); !errors.As(err, &e) || e.Type != rpc.UnsupportedClientType {
		t.Errorf("in the clear: %v", err)
	}
}

func TestShutdownLetsStreamsEnd(t *testing.T) {
	server, c := streamers(t, nil)
	s := openEcho(t, t.Context(), c)
	if err := s.Send(t.Context(), &note{}); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	down := make(chan error, 1)
	go func() { down <- server.Shutdown(t.Context()) }()
	eventually(t, "the client opens no more streams there", func() bool {
		late, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo")
		if err == nil { // before the client has read that the server leaves
			late.CloseSend(t.Context())
			_, err = late.Recv(t.Context())
		}
		var e *rpc.Error
		return errors.As(err, &e) && e.Stage == rpc.StageDial // a new connection, which is refused
	})
	for i := range int32(10) {
		s.Send(t.Context(), &note{N: i})
		if n, err := s.Recv(t.Context()); err != nil || n.N != i+1 {
			t.Fatalf("a stream that ran before: %v, %v", n, err)
		}
	}
	s.CloseSend(t.Context())
	if _, err := s.Recv(t.Context()); err != io.EOF {
		t.Errorf("its end: %v", err)
	}
	if err := receive(t, "the server's end", down); err != nil {
		t.Error(err)
	}
}

func TestStreamsLeaveAnOldConnectionAndEndOnIt(t *testing.T) {
	var server *rpc.Server
	var c *rpc.Client
	var old stream.BidiStreamingClient[note, note]
	inTime(t, "a stream runs before its connection is old", func(age time.Duration) bool {
		server, c = streamers(t, nil, rpc.MaxConnectionAge(age))
		var err error
		if old, err = rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo"); err != nil {
			return false
		}
		old.Send(t.Context(), &note{})
		_, err = old.Recv(t.Context())
		return err == nil
	})
	accepted := server.Stats().Accepted
	eventually(t, "new streams use another connection", func() bool {
		s, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo")
		if err != nil {
			return false
		}
		defer s.Cancel(nil)
		if s.Send(t.Context(), &note{}) == nil {
			s.Recv(t.Context()) // or it was refused, as the client did not know yet
		}
		return server.Stats().Accepted > accepted+1
	})
	if err := old.Send(t.Context(), &note{N: 6}); err != nil {
		t.Fatal(err)
	}
	if n, err := old.Recv(t.Context()); err != nil || n.N != 7 {
		t.Errorf("a stream that ran before: %v, %v", n, err)
	}
	old.CloseSend(t.Context())
	if _, err := old.Recv(t.Context()); err != io.EOF {
		t.Errorf("its end: %v", err)
	}
}

func TestCloseEndsStreamsAtOnce(t *testing.T) {
	server, c := streamers(t, nil)
	s := openEcho(t, t.Context(), c)
	s.Send(t.Context(), &note{})
	if _, err := s.Recv(t.Context()); err != nil {
		t.Fatal(err)
	}
	server.Close()
	if _, err := s.Recv(t.Context()); streamCode(err) != stream.Lost {
		t.Errorf("got %v", err)
	}
	_, c2 := streamers(t, nil)
	s = openEcho(t, t.Context(), c2)
	c2.Close()
	if _, err := s.Recv(t.Context()); !errors.Is(err, rpc.ErrClientClosed) {
		t.Errorf("got %v", err)
	}
	if _, err := rpc.OpenBidiStream[note, note](t.Context(), c2, "S", "echo"); !errors.Is(err, rpc.ErrClientClosed) {
		t.Errorf("got %v", err)
	}
}

func TestOnlyTTHeaderStreams(t *testing.T) {
	_, address := listen(t, []rpc.Method{rpc.BidiStreaming("echo", echoNotes)})
	c, err := rpc.Dial(t.Context(), "tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := rpc.OpenBidiStream[note, note](t.Context(), c, "S", "echo"); err == nil || !strings.Contains(err.Error(), "TTHeader") {
		t.Errorf("got %v", err)
	}
}
