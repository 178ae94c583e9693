package rpc_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests calls over HTTP, which share the port of the other dialects.

// overHTTP has a client's options for each way to speak HTTP.
func overHTTP() map[string][]rpc.ClientOption {
	return map[string][]rpc.ClientOption{
		"HTTP/1.1":          {rpc.HTTP("http://shop.test/thrift")},
		"HTTP/1.1, compact": {rpc.HTTP("http://shop.test/thrift"), rpc.Compact(compact.Apache)},
		"HTTP/2":            {rpc.HTTP2("http://shop.test/thrift")},
		"HTTP/2, compact":   {rpc.HTTP2("http://shop.test/thrift"), rpc.Compact(compact.FBThrift)},
	}
}

// shop has a method of each form, and others that fail.
func shop(noted chan string) []rpc.Method {
	note := raw("note", func(_ context.Context, args, dst []byte) ([]byte, error) {
		noted <- textOf(args)
		return dst, nil
	})
	note.Oneway = true
	return []rpc.Method{
		echo, note,
		{Name: "callback", Callback: func(args []byte, r rpc.Responder) { r.ReplyViews(args) }},
		{Name: "future", Future: func(_ context.Context, args []byte, r rpc.Responder) { go r.Reply(args) }},
		raw("fail", func(context.Context, []byte, []byte) ([]byte, error) { return nil, errors.New("out of paper") }),
		raw("panic", func(context.Context, []byte, []byte) ([]byte, error) { panic("secret") }),
	}
}

func TestCallsOverHTTP(t *testing.T) {
	for name, opts := range overHTTP() {
		t.Run(name, func(t *testing.T) {
			noted := make(chan string, 1)
			server, address := listen(t, shop(noted))
			client := dial(t, "tcp", address, opts...)
			for _, c := range []rpc.Caller{client, rpc.Multiplexed(client, "S")} {
				for _, method := range []string{"echo", "callback", "future"} {
					for _, want := range []string{"a", strings.Repeat("b", 100_000)} {
						if got, err := invoke(t.Context(), c, method, want); err != nil || got != want {
							t.Errorf("%s: %d bytes, %v, want %d", method, len(got), err, len(want))
						}
					}
				}
				for method, code := range map[string]int32{"nothing": rpc.UnknownMethod, "fail": rpc.InternalError, "panic": rpc.InternalError} {
					_, err := invoke(t.Context(), c, method, "")
					var e *rpc.ApplicationException
					if !errors.As(err, &e) || e.Type != code || strings.Contains(e.Message, "secret") {
						t.Errorf("%s: %v", method, err)
					}
				}
				err := c.Invoke(t.Context(), &rpc.Invocation{Method: "note", Oneway: true,
					AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, textStruct("oneway")...), nil }})
				if err != nil {
					t.Errorf("oneway: %v", err)
				}
				if got := receive(t, "the oneway call runs", noted); got != "oneway" {
					t.Errorf("oneway: %q", got)
				}
			}
			done := make(chan error, 50)
			for i := range cap(done) {
				go func() {
					want := fmt.Sprint("caller ", i)
					got, err := invoke(t.Context(), client, "echo", want)
					if err == nil && got != want {
						err = fmt.Errorf("got %q, want %q", got, want)
					}
					done <- err
				}()
			}
			for range cap(done) {
				if err := receive(t, "every call is answered", done); err != nil {
					t.Error(err)
				}
			}
			eventually(t, "no memory is held", func() bool { return server.Stats().Memory == 0 })
		})
	}
}

func TestOnePortHasEveryDialect(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo})
	dialects := overHTTP()
	dialects["framed"] = nil
	dialects["unframed compact"] = []rpc.ClientOption{rpc.Unframed(), rpc.Compact(compact.Apache)}
	dialects["THeader"] = []rpc.ClientOption{rpc.THeader(header.Zlib)}
	dialects["TTHeader"] = []rpc.ClientOption{rpc.TTHeader()}
	for name, opts := range dialects {
		if got, err := invoke(t.Context(), dial(t, "tcp", address, opts...), "echo", name); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestHTTPNeedsNoTCP(t *testing.T) {
	for name, opts := range overHTTP() {
		server, _ := listen(t, []rpc.Method{echo})
		for network, client := range map[string]*rpc.Client{
			"unix": dial(t, "unix", serveOn(t, server, "unix"), opts...), "memory": rpctest.Serve(t, server, opts...),
		} {
			if got, err := invoke(t.Context(), client, "echo", "hello"); err != nil || got != "hello" {
				t.Errorf("%s on %s: %q, %v", name, network, got, err)
			}
		}
	}
}

func TestApacheHTTPClientsAreServed(t *testing.T) {
	for name, protocol := range map[string]thrift.TProtocolFactory{
		"binary": thrift.NewTBinaryProtocolFactoryConf(nil), "compact": thrift.NewTCompactProtocolFactoryConf(nil),
	} {
		t.Run(name, func(t *testing.T) {
			noted := make(chan string, 1)
			_, address := listen(t, shop(noted))
			h := &http.Transport{}
			defer h.CloseIdleConnections()
			transport, err := thrift.NewTHttpClientWithOptions("http://"+address+"/", thrift.THttpClientOptions{Client: &http.Client{Transport: h}})
			if err != nil {
				t.Fatal(err)
			}
			defer transport.Close()
			p := protocol.GetProtocol(transport)
			client := thrift.NewTStandardClient(p, p)
			var got apacheText
			if _, err := client.Call(t.Context(), "echo", &apacheText{"hello"}, &got); err != nil || got.text != "hello" {
				t.Errorf("%q, %v", got.text, err)
			}
			if _, err := client.Call(t.Context(), "note", &apacheText{"oneway"}, nil); err != nil {
				t.Errorf("oneway: %v", err)
			}
			receive(t, "the oneway call runs", noted)
			for method, code := range map[string]int32{"nothing": thrift.UNKNOWN_METHOD, "fail": thrift.INTERNAL_ERROR} {
				_, err := client.Call(t.Context(), method, &apacheText{}, &apacheText{})
				var e thrift.TApplicationException
				if !errors.As(err, &e) || e.TypeId() != code {
					t.Errorf("%s: %v", method, err)
				}
			}
		})
	}
}

func TestApacheHTTPServersAreCalled(t *testing.T) {
	for name, c := range map[string]struct {
		protocol thrift.TProtocolFactory
		options  []rpc.ClientOption
	}{
		"binary":  {thrift.NewTBinaryProtocolFactoryConf(nil), nil},
		"compact": {thrift.NewTCompactProtocolFactoryConf(nil), []rpc.ClientOption{rpc.Compact(compact.Apache)}},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			noted := make(chan string, 1)
			server := httptest.NewServer(http.HandlerFunc(thrift.NewThriftHandlerFunc(&apacheProcessor{noted: noted}, c.protocol, c.protocol)))
			t.Cleanup(server.Close)
			client := dial(t, "tcp", server.Listener.Addr().String(), append(c.options, rpc.HTTP(server.URL))...)
			if got, err := invoke(t.Context(), client, "echo", "hello"); err != nil || got != "hello" {
				t.Errorf("%q, %v", got, err)
			}
			if err := client.Invoke(t.Context(), &rpc.Invocation{Method: "note", Oneway: true,
				AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, textStruct("oneway")...), nil }}); err != nil {
				t.Errorf("oneway: %v", err)
			}
			receive(t, "the oneway call runs", noted)
			var e *rpc.ApplicationException
			if _, err := invoke(t.Context(), client, "fail", ""); !errors.As(err, &e) || e.Message != "out of paper" {
				t.Errorf("fail: %v", err)
			}
		})
	}
}

func TestMetadataTravelsOverHTTP(t *testing.T) {
	seen := make(chan map[string]string, 1)
	method := raw("look", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		found := map[string]string{"dialect": info.Dialect().String(), "TLS": fmt.Sprint(info.TLS() != nil)}
		for _, key := range []string{"traceparent", "USER", "client_timeout"} {
			found[key], _ = info.Header(key)
		}
		found["LOG"], _ = info.Persistent("LOG")
		_, timed := ctx.Deadline()
		found["timed"] = fmt.Sprint(timed)
		info.SetReplyHeader("cost", "3")
		info.SetReplyHeader("bad name", "x")
		seen <- found
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{method})
	for name, opts := range overHTTP() {
		ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
		ctx = rpc.WithHeader(rpc.WithHeader(ctx, "traceparent", "00-01"), "USER", "7")
		ctx = rpc.WithPersistent(ctx, "LOG", "x y")
		if _, err := invoke(ctx, dial(t, "tcp", address, opts...), "look", ""); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		cancel()
		got := receive(t, "the call", seen)
		if got["traceparent"] != "00-01" || got["USER"] != "7" || got["LOG"] != "x y" || got["timed"] != "true" ||
			got["client_timeout"] == "" || got["dialect"] != transport.HTTP.String() || got["TLS"] != "false" {
			t.Errorf("%s: the handler sees %v", name, got)
		}
	}
	// Kitex's names, and the reply's header, as they are on the wire.
	message := append([]byte("\x80\x01\x00\x01\x00\x00\x00\x04look\x00\x00\x00\x07"), textStruct("")...)
	r, err := http.NewRequest("POST", "http://"+address+"/", bytes.NewReader(message))
	if err != nil {
		t.Fatal(err)
	}
	r.Header = http.Header{"Content-Type": {thrifthttp.ContentType}, "rpc-transit-user": {"7"}, "rpc-persist-log": {"x y"}}
	reply, _ := roundTrip(t, r)
	if got := receive(t, "the call", seen); got["USER"] != "7" || got["LOG"] != "x y" || reply.Header.Get("cost") != "3" {
		t.Errorf("the handler sees %v, the client %v", got, reply.Header)
	}
	// A refusal has its code beside the exception.
	r, _ = http.NewRequest("POST", "http://"+address+"/", strings.NewReader("\x80\x01\x00\x01\x00\x00\x00\x04nope\x00\x00\x00\x07\x00"))
	r.Header.Set("Content-Type", thrifthttp.ContentType)
	if reply, body := roundTrip(t, r); reply.StatusCode != http.StatusOK || reply.Header.Get("ex") != "25" || len(body) == 0 {
		t.Errorf("%s, %v", reply.Status, reply.Header)
	}
}

// roundTrip sends a request, and reads the whole reply.
func roundTrip(t *testing.T, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	h := &http.Transport{DisableKeepAlives: true}
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	reply, err := h.RoundTrip(r.WithContext(ctx))
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	body, err := io.ReadAll(reply.Body)
	if err != nil {
		t.Fatal(err)
	}
	return reply, body
}

func TestHTTPRequestsThatHoldNoCallAreRefused(t *testing.T) {
	var l logs
	server, address := listen(t, []rpc.Method{echo}, l.option(), rpc.MaxFrameSize(100))
	for want, body := range map[int]string{400: "garbage", 413: strings.Repeat("x", 101)} {
		r, err := http.NewRequest("POST", "http://"+address+"/", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", thrifthttp.ContentType)
		if reply, body := roundTrip(t, r); reply.StatusCode != want {
			t.Errorf("%s, %s, want %d", reply.Status, body, want)
		}
		l.await(t, fmt.Sprintf("status=%d", want))
	}
	if n := server.Stats().HTTPRefused; n != 2 {
		t.Errorf("%d refusals are counted", n)
	}
	client := dial(t, "tcp", address, rpc.HTTP("http://shop.test/"), rpc.MaxFrameSize(1000))
	_, err := invoke(t.Context(), client, "echo", strings.Repeat("x", 200))
	var e *rpc.Error
	var status *thrifthttp.StatusError
	if !errors.As(err, &e) || e.Stage != rpc.StageRead || !errors.As(err, &status) || status.Status != 413 {
		t.Errorf("the client has %v", err)
	}
}

func TestRefusalsOverHTTPAreTyped(t *testing.T) {
	for name, opts := range overHTTP() {
		t.Run(name, func(t *testing.T) {
			method, started, release := blocked()
			_, address := listen(t, []rpc.Method{method}, rpc.MaxInFlight(1))
			client := dial(t, "tcp", address, opts...)
			first := make(chan error, 1)
			go func() {
				_, err := invoke(t.Context(), client, "blocked", "")
				first <- err
			}()
			receive(t, "the first call runs", started)
			var e *rpc.ApplicationException
			if _, err := invoke(t.Context(), client, "blocked", ""); !errors.As(err, &e) || e.Type != rpc.LoadShedding {
				t.Errorf("the second: %v", err)
			}
			close(release)
			if err := receive(t, "the first call is answered", first); err != nil {
				t.Errorf("the first: %v", err)
			}
			stuck, _, release := blocked()
			_, address = listen(t, []rpc.Method{stuck}, rpc.TaskExpiry(20*time.Millisecond))
			if _, err := invoke(t.Context(), dial(t, "tcp", address, opts...), "blocked", ""); !errors.As(err, &e) || e.Type != rpc.Timeout {
				t.Errorf("a call that expires: %v", err)
			}
			close(release)
		})
	}
}

func TestCallsEndWithTheirHTTPClient(t *testing.T) {
	for name, opts := range overHTTP() {
		t.Run(name, func(t *testing.T) {
			started, ended := make(chan struct{}), make(chan error, 1)
			_, address := listen(t, []rpc.Method{raw("wait", func(ctx context.Context, _, dst []byte) ([]byte, error) {
				close(started)
				<-ctx.Done()
				ended <- ctx.Err()
				return dst, ctx.Err()
			})}, rpc.TaskExpiry(0))
			ctx, cancel := context.WithCancel(t.Context())
			go func() {
				<-started
				cancel()
			}()
			_, err := invoke(ctx, dial(t, "tcp", address, opts...), "wait", "")
			var e *rpc.Error
			if !errors.As(err, &e) || e.Stage != rpc.StageWait || !e.Sent || !errors.Is(err, context.Canceled) {
				t.Errorf("the client has %v", err)
			}
			if err := receive(t, "the handler ends", ended); !errors.Is(err, context.Canceled) {
				t.Errorf("the handler has %v", err)
			}
		})
	}
}

func TestHTTPConnectionsAreBounded(t *testing.T) {
	server, address := listen(t, []rpc.Method{echo}, rpc.MaxConnections(1))
	first := dial(t, "tcp", address, rpc.HTTP("http://shop.test/"))
	if _, err := invoke(t.Context(), first, "echo", ""); err != nil {
		t.Fatal(err)
	}
	_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.HTTP("http://shop.test/")), "echo", "")
	var status *thrifthttp.StatusError
	if !errors.As(err, &status) || status.Status != http.StatusServiceUnavailable {
		t.Errorf("the second connection: %v", err)
	}
	if n := server.Stats().Refused[rpc.RefusedConnection]; n != 1 {
		t.Errorf("%d refusals are counted", n)
	}
	first.Close()
	eventually(t, "the connection is forgotten", func() bool { return rpc.Connections(server) == 0 })
	if _, err := invoke(t.Context(), dial(t, "tcp", address, rpc.HTTP("http://shop.test/")), "echo", ""); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
}

func TestShutdownAnswersWhatRunsOverHTTP(t *testing.T) {
	for name, opts := range overHTTP() {
		t.Run(name, func(t *testing.T) {
			method, started, release := blocked()
			server, address := listen(t, []rpc.Method{method}, rpc.TaskExpiry(0))
			client := dial(t, "tcp", address, opts...)
			answered, stopped := make(chan error, 1), make(chan error, 1)
			go func() {
				_, err := invoke(t.Context(), client, "blocked", "")
				answered <- err
			}()
			receive(t, "the call runs", started)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			go func() { stopped <- server.Shutdown(ctx) }()
			eventually(t, "the server stops", server.Stopping) // which the answer then says
			select {
			case err := <-stopped:
				t.Errorf("Shutdown returned %v while a call runs", err)
			case <-time.After(10 * time.Millisecond):
			}
			close(release)
			if err := receive(t, "the call is answered", answered); err != nil {
				t.Error(err)
			}
			if err := receive(t, "Shutdown returns", stopped); err != nil {
				t.Error(err)
			}
			var e *rpc.Error
			if _, err := invoke(t.Context(), client, "blocked", ""); !errors.As(err, &e) || e.Sent {
				t.Errorf("afterwards: %v", err)
			}
		})
	}
}

func TestShutdownOfHTTPGivesUpWhenItsContextEnds(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method}, rpc.TaskExpiry(0))
	client := dial(t, "tcp", address, rpc.HTTP2("http://shop.test/"))
	answered := make(chan error, 1)
	go func() {
		_, err := invoke(t.Context(), client, "blocked", "")
		answered <- err
	}()
	receive(t, "the call runs", started)
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := server.Shutdown(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Shutdown: %v", err)
	}
	if err := receive(t, "the call ends", answered); err == nil {
		t.Error("the call was answered")
	}
	close(release)
}

func TestClosedHTTPClientsMakeNoCalls(t *testing.T) {
	method, started, release := blocked()
	_, address := listen(t, []rpc.Method{method}, rpc.TaskExpiry(0))
	client := dial(t, "tcp", address, rpc.HTTP("http://shop.test/"), rpc.MaxPending(1))
	ended := make(chan error, 1)
	go func() {
		_, err := invoke(t.Context(), client, "blocked", "")
		ended <- err
	}()
	receive(t, "the call runs", started)
	if _, err := invoke(t.Context(), client, "blocked", ""); !errors.Is(err, rpc.ErrTooManyCalls) {
		t.Errorf("another call: %v", err)
	}
	client.Close()
	if err := receive(t, "the call ends", ended); !errors.Is(err, rpc.ErrClientClosed) {
		t.Errorf("the call that waits: %v", err)
	}
	if _, err := invoke(t.Context(), client, "blocked", ""); !errors.Is(err, rpc.ErrClientClosed) {
		t.Errorf("a later one: %v", err)
	}
	close(release)
	if _, err := rpc.Dial(t.Context(), "tcp", address, rpc.HTTP("no URL")); err == nil {
		t.Error("a URL that is none is taken")
	}
}

// recorded is a connection that keeps what it reads.
type recorded struct {
	net.Conn
	mu   sync.Mutex
	text bytes.Buffer
}

func (r *recorded) Read(b []byte) (int, error) {
	n, err := r.Conn.Read(b)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.text.Write(b[:n])
	return n, err
}

func TestHandlersSetHeadersOfTheirReply(t *testing.T) {
	set := func(ctx context.Context) {
		if info, ok := rpc.Info(ctx); !ok || !info.SetReplyHeader("cost", "three") {
			t.Error("the header cannot be set")
		}
	}
	_, address := listen(t, []rpc.Method{
		raw("plain", func(ctx context.Context, args, dst []byte) ([]byte, error) {
			set(ctx)
			return append(dst, args...), nil
		}),
		{Name: "callback", Callback: func(args []byte, r rpc.Responder) {
			set(r.Context())
			r.ReplyViews(args)
		}},
	})
	dialects := overHTTP()
	dialects["THeader"] = []rpc.ClientOption{rpc.THeader(header.None)}
	dialects["TTHeader"] = []rpc.ClientOption{rpc.TTHeader()}
	for name, opts := range dialects {
		if strings.HasPrefix(name, "HTTP/2") {
			continue // which compresses header fields
		}
		for _, method := range []string{"plain", "callback"} {
			conns := make(chan *recorded, 1)
			client := dial(t, "tcp", address, append(opts, rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
				nc, err := new(net.Dialer).DialContext(ctx, network, address)
				r := &recorded{Conn: nc}
				conns <- r
				return r, err
			}))...)
			want := strings.Repeat("long ", 10_000)
			if got, err := invoke(t.Context(), client, method, want); err != nil || got != want {
				t.Errorf("%s: %s: %d bytes, %v", name, method, len(got), err)
			}
			r := receive(t, "a connection", conns)
			r.mu.Lock()
			if text := strings.ToLower(r.text.String()); !strings.Contains(text, "cost") || !strings.Contains(text, "three") {
				t.Errorf("%s: %s: the reply lacks the header", name, method)
			}
			r.mu.Unlock()
		}
	}
}

// Whatever is posted is answered with a message, or refused, and nothing of it is kept.
func FuzzMessagesOverHTTP(f *testing.F) {
	call := append(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 1), textStruct("x")...)
	f.Add(call)
	f.Add(append(thriftwire.AppendMessage(nil, thriftwire.Oneway, "S:echo", 1), textStruct("x")...))
	f.Add(append(compact.FBThrift.AppendMessage(nil, thriftwire.Call, "callback", 1), 0))
	f.Add(call[:len(call)-3])
	f.Fuzz(func(t *testing.T, message []byte) {
		server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.Workers(1))
		defer server.Close()
		if err := server.Register(&rpc.Service{Name: "S", Methods: shop(make(chan string, 1))}); err != nil {
			t.Fatal(err)
		}
		reply, err := rpc.Exchange(t.Context(), server, message)
		var status *thrifthttp.StatusError
		switch {
		case err != nil && (!errors.As(err, &status) || status.Status != http.StatusBadRequest):
			t.Errorf("refused with %v", err)
		case err == nil && len(reply) > 0 && reply[0] != 0x80 && reply[0] != 0x82:
			t.Errorf("% x is no message", reply)
		}
		eventually(t, "nothing is held", func() bool {
			s := server.Stats()
			return s.Memory == 0 && s.InFlight == 0
		})
	})
}

func TestOneLoopServesManyCallsOverHTTP(t *testing.T) {
	server, _ := listen(t, []rpc.Method{echo}, rpc.IOLoops(1))
	message := append(thriftwire.AppendMessage(nil, thriftwire.Call, "echo", 1), textStruct("hi")...)
	for _, m := range [][]byte{message, []byte("no message"), message, message} {
		done := make(chan struct{})
		go func() {
			defer close(done)
			rpc.Exchange(t.Context(), server, m)
		}()
		receive(t, "the call is answered", done)
	}
}
