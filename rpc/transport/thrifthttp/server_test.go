package thrifthttp_test

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

func TestMessagesAreExchanged(t *testing.T) {
	for _, secure := range []bool{false, true} {
		t.Run(map[bool]string{false: "in the clear", true: "inside TLS"}[secure], func(t *testing.T) {
			both(t, func(t *testing.T, two bool) {
				seen := make(chan *thrifthttp.Request, 1)
				n := serve(t, thrifthttp.Options{Exchange: func(ctx context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
					seen <- r
					return echo(ctx, r)
				}}, secure)
				c := n.client(t, "/shop", thrifthttp.ClientOptions{HTTP2: two, Header: http.Header{"Traceparent": {"00-01"}}})
				for _, message := range []string{"\x80", strings.Repeat("x", 3000), strings.Repeat("y", 1<<20)} {
					answer, _, err := c.Post(t.Context(), []byte(message), http.Header{"Rpc-Transit-K": {"v"}})
					if err != nil {
						t.Fatal(err)
					}
					if string(answer.Message) != message {
						t.Errorf("%d bytes came back as %d", len(message), len(answer.Message))
					}
					answer.Block.Release()
					r := receive(t, "the exchange", seen)
					proto := map[bool]string{false: "HTTP/1.1", true: "HTTP/2.0"}[two]
					if r.Path != "/shop" || r.Header.Get("traceparent") != "00-01" || r.Header.Get("rpc-transit-k") != "v" || r.Proto != proto {
						t.Errorf("the exchange sees %s %q %v", r.Proto, r.Path, r.Header)
					}
					if (r.TLS != nil) != secure || r.RemoteAddr == nil || r.LocalAddr.String() != n.address {
						t.Errorf("the exchange sees TLS %v, from %v to %v", r.TLS, r.RemoteAddr, r.LocalAddr)
					}
				}
			})
		})
	}
}

func TestRepliesAreReleasedAfterTheyAreWritten(t *testing.T) {
	released := make(chan struct{}, 1)
	n := serve(t, thrifthttp.Options{
		Exchange: func(context.Context, *thrifthttp.Request) (thrifthttp.Reply, error) {
			return thrifthttp.Reply{
				Message: [][]byte{[]byte("re"), nil, []byte("ply")},
				Header:  http.Header{"Rpc-Backward-K": {"v"}},
				Release: func() { released <- struct{}{} },
			}, nil
		},
	}, false)
	answer, _, err := n.client(t, "/", thrifthttp.ClientOptions{}).Post(t.Context(), []byte("call"), nil)
	if err != nil || string(answer.Message) != "reply" || answer.Header.Get("rpc-backward-k") != "v" {
		t.Errorf("%q, %v, %v", answer.Message, answer.Header, err)
	}
	receive(t, "the reply is released", released)
}

// The clients of Apache in C++, Go, Node and Java take no status but 200, and the one in C++ needs a length.
func TestOnewayCallsAreAnsweredWithNothing(t *testing.T) {
	both(t, func(t *testing.T, two bool) {
		n := serve(t, thrifthttp.Options{Exchange: func(context.Context, *thrifthttp.Request) (thrifthttp.Reply, error) {
			return thrifthttp.Reply{}, nil
		}}, false)
		reply, body := n.do(t, two, n.post(t, strings.NewReader("oneway"), 6))
		if reply.StatusCode != http.StatusOK || reply.Header.Get("Content-Length") != "0" || len(body) > 0 {
			t.Errorf("%s, %v, %q", reply.Status, reply.Header, body)
		}
		answer, sent, err := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two}).Post(t.Context(), []byte("oneway"), nil)
		if err != nil || !sent || answer.Message != nil || answer.Block != nil {
			t.Errorf("the client has %v, %v, %v", answer, sent, err)
		}
	})
}

func TestRequestsThatHoldNoMessageAreRefused(t *testing.T) {
	var reports atomic.Int32
	n := serve(t, thrifthttp.Options{MaxBody: 100, Report: func(*http.Request, int, error) { reports.Add(1) }}, false)
	cases := []struct {
		name   string
		status int
		change func(r *http.Request)
	}{
		{"a query", 405, func(r *http.Request) { r.Method = "GET"; r.Body = nil; r.ContentLength = 0 }},
		{"a query that claims to be Thrift", 405, func(r *http.Request) { r.Method = "PUT" }},
		{"JSON", 415, func(r *http.Request) { r.Header.Set("Content-Type", "application/json") }},
		{"Thrift's JSON protocol", 415, func(r *http.Request) { r.Header.Set("Content-Type", "application/vnd.apache.thrift.json") }},
		{"a coding that nobody knows", 415, func(r *http.Request) { r.Header.Set("Content-Encoding", "br") }},
		{"what claims to be gzip", 400, func(r *http.Request) { r.Header.Set("Content-Encoding", "gzip") }},
		{"nothing", 400, func(r *http.Request) { r.Body = http.NoBody; r.ContentLength = 0 }},
		{"nothing in chunks", 400, func(r *http.Request) { r.Body = io.NopCloser(strings.NewReader("")); r.ContentLength = -1 }},
		{"too much", 413, func(r *http.Request) {
			r.Body = io.NopCloser(bytes.NewReader(make([]byte, 101)))
			r.ContentLength = 101
		}},
		{"too much in chunks", 413, func(r *http.Request) { r.Body = io.NopCloser(bytes.NewReader(make([]byte, 101))); r.ContentLength = -1 }},
	}
	both(t, func(t *testing.T, two bool) {
		for _, c := range cases {
			t.Run(c.name, func(t *testing.T) {
				before := reports.Load()
				r := n.post(t, strings.NewReader("some bytes"), 10)
				c.change(r)
				reply, body := n.do(t, two, r)
				wantProblem(t, reply, body, c.status)
				if reports.Load() != before+1 {
					t.Error("the refusal is not reported")
				}
				if c.status == 405 && reply.Header.Get("Allow") != "POST" {
					t.Errorf("Allow is %q", reply.Header.Get("Allow"))
				}
			})
		}
	})
}

func TestBodiesWithoutLengthAndCompressedOnesAreRead(t *testing.T) {
	n := serve(t, thrifthttp.Options{}, false)
	want := bytes.Repeat([]byte("0123456789"), 3000)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	z.Write(want)
	z.Close()
	both(t, func(t *testing.T, two bool) {
		for range 2 { // the second takes what the first has used
			if reply, body := n.do(t, two, n.post(t, io.MultiReader(bytes.NewReader(want)), -1)); !bytes.Equal(body, want) {
				t.Errorf("without length: %s, %d bytes", reply.Status, len(body))
			}
			r := n.post(t, bytes.NewReader(packed.Bytes()), int64(packed.Len()))
			r.Header.Set("Content-Encoding", "gzip")
			r.Header.Set("Content-Type", "application/vnd.apache.thrift.compact; charset=x")
			reply, body := n.do(t, two, r)
			if !bytes.Equal(body, want) || reply.Header.Get("Content-Type") != "application/vnd.apache.thrift.compact" {
				t.Errorf("gzip: %s, %d bytes, %v", reply.Status, len(body), reply.Header)
			}
		}
	})
}

func TestCompressionBombsAreRefused(t *testing.T) {
	for _, o := range []thrifthttp.Options{{MaxBody: 1 << 16}, {MaxUnpacked: 1 << 16}} {
		n := serve(t, o, false)
		var packed bytes.Buffer
		z := gzip.NewWriter(&packed)
		z.Write(make([]byte, 8<<20))
		z.Close()
		r := n.post(t, bytes.NewReader(packed.Bytes()), int64(packed.Len()))
		r.Header.Set("Content-Encoding", "gzip")
		reply, body := n.do(t, false, r)
		wantProblem(t, reply, body, http.StatusRequestEntityTooLarge)
	}
}

func TestMessagesHeldAreBounded(t *testing.T) {
	entered, leave := make(chan struct{}, 2), make(chan struct{})
	const large = 70_000
	n := serve(t, thrifthttp.Options{MaxHeld: 100_000, Exchange: func(_ context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
		entered <- struct{}{}
		<-leave
		r.Block.Release()
		return thrifthttp.Reply{Message: [][]byte{{0}}}, nil // which leaves when nothing is held any more
	}}, false)
	c := n.client(t, "/", thrifthttp.ClientOptions{})
	first := make(chan error, 1)
	go func() {
		_, _, err := c.Post(t.Context(), make([]byte, large), nil)
		first <- err
	}()
	receive(t, "the first message is in", entered)
	var status *thrifthttp.StatusError
	if _, _, err := c.Post(t.Context(), make([]byte, large), nil); !errors.As(err, &status) || status.Status != http.StatusServiceUnavailable {
		t.Errorf("the second message: %v", err)
	}
	small := make(chan error, 1)
	go func() {
		_, _, err := c.Post(t.Context(), make([]byte, 50_000), nil)
		small <- err
	}()
	receive(t, "a small message is in", entered)
	close(leave)
	if err := receive(t, "the small one is answered", small); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the first is answered", first); err != nil {
		t.Error(err)
	}
	if _, _, err := c.Post(t.Context(), make([]byte, large), nil); err != nil {
		t.Errorf("after the first has gone: %v", err)
	}
	<-entered
	if _, _, err := c.Post(t.Context(), make([]byte, 2*large), nil); err != nil {
		t.Errorf("one that exceeds the limit alone: %v", err)
	}
	<-entered
}

// readTime is the time of a request whose body never comes. Its header must, so it is longer than a busy machine stands still.
const readTime = 500 * time.Millisecond

func TestSlowBodiesEndWithTheirTime(t *testing.T) {
	n := serve(t, thrifthttp.Options{ReadTime: readTime}, false)
	both(t, func(t *testing.T, two bool) {
		body, w := io.Pipe()
		go w.Write([]byte("half of i"))
		defer w.Close()
		reply, text := n.do(t, two, n.post(t, body, 100))
		wantProblem(t, reply, text, http.StatusRequestTimeout)
	})
}

func TestSlowHeadersEndWithTheirTime(t *testing.T) {
	n := serve(t, thrifthttp.Options{ReadTime: 50 * time.Millisecond, IdleTime: 50 * time.Millisecond}, false)
	for _, start := range []string{"POST / HTTP/1.1\r\nHost:", "PRI * HTTP/2.0\r\n\r\nS", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00\x00\x00\xff\x01"} {
		c, err := net.Dial("tcp", n.address)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		c.SetDeadline(time.Now().Add(patience))
		io.WriteString(c, start)
		if _, err := io.Copy(io.Discard, c); err != nil && errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("%q: the connection stays open", start)
		}
	}
}

func TestSlowExchangesOutliveTheTimeForReading(t *testing.T) {
	n := serve(t, thrifthttp.Options{ReadTime: readTime, WriteTime: readTime,
		Exchange: func(ctx context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
			select {
			case <-ctx.Done():
				return thrifthttp.Reply{}, ctx.Err()
			case <-time.After(2 * readTime):
				return echo(ctx, r)
			}
		}}, false)
	both(t, func(t *testing.T, two bool) {
		if _, _, err := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two}).Post(t.Context(), []byte("slow"), nil); err != nil {
			t.Error(err)
		}
	})
}

func TestClientsThatExpectToContinueMay(t *testing.T) {
	n := serve(t, thrifthttp.Options{MaxBody: 100}, false)
	r := n.post(t, strings.NewReader("go on"), 5)
	r.Header.Set("Expect", "100-continue")
	if reply, body := n.do(t, false, r); string(body) != "go on" {
		t.Errorf("%s, %q", reply.Status, body)
	}
	body := &counted{Reader: bytes.NewReader(make([]byte, 101))}
	r = n.post(t, body, 101)
	r.Header.Set("Expect", "100-continue")
	if reply, _ := n.do(t, false, r); reply.StatusCode != http.StatusRequestEntityTooLarge || body.n.Load() > 0 {
		t.Errorf("%s, and the client has read %d bytes of its body", reply.Status, body.n.Load())
	}
}

// counted counts what is read.
type counted struct {
	io.Reader
	n atomic.Int64
}

func (c *counted) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n.Add(int64(n))
	return n, err
}

func TestExchangesEndWithTheirClient(t *testing.T) {
	both(t, func(t *testing.T, two bool) {
		entered, ended := make(chan struct{}), make(chan error, 1)
		n := serve(t, thrifthttp.Options{Exchange: func(ctx context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
			close(entered)
			<-ctx.Done()
			ended <- ctx.Err()
			return thrifthttp.Reply{}, ctx.Err()
		}}, false)
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-entered
			cancel()
		}()
		if _, sent, err := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two}).Post(ctx, []byte("call"), nil); !errors.Is(err, context.Canceled) || !sent {
			t.Errorf("the client has %v, %v", sent, err)
		}
		if err := receive(t, "the exchange ends", ended); err == nil {
			t.Error("the context has no error")
		}
	})
}

func TestErrorsAndPanicsOfExchangesAreAnswered(t *testing.T) {
	reasons := make(chan string, 1)
	n := serve(t, thrifthttp.Options{
		Exchange: func(_ context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
			switch string(r.Message) {
			case "garbage":
				return thrifthttp.Reply{}, fmt.Errorf("wrapped: %w", &thrifthttp.StatusError{Status: 400, Detail: "this is no message"})
			case "panic":
				panic("boo")
			}
			return thrifthttp.Reply{}, errors.New("secret")
		},
		Report: func(_ *http.Request, status int, reason error) { reasons <- fmt.Sprint(status, " ", reason) },
	}, false)
	both(t, func(t *testing.T, two bool) {
		c := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two})
		for message, want := range map[string]struct {
			status int
			detail string
			reason string
		}{
			"garbage": {400, "this is no message", "400 wrapped: HTTP status 400 Bad Request: this is no message"},
			"panic":   {500, "the call failed", "500 panic: boo"},
			"error":   {500, "the call failed", "500 secret"},
		} {
			_, _, err := c.Post(t.Context(), []byte(message), nil)
			var status *thrifthttp.StatusError
			if !errors.As(err, &status) || status.Status != want.status || !strings.Contains(status.Detail, want.detail) || strings.Contains(status.Detail, "secret") {
				t.Errorf("%s: %v", message, err)
			}
			if reason := receive(t, "the report", reasons); reason != want.reason {
				t.Errorf("%s: reported as %q", message, reason)
			}
		}
	})
}

func TestOtherRequestsGoToTheFallback(t *testing.T) {
	fallback := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		fmt.Fprintf(w, "%s %s TLS=%v %q %v", r.Method, r.URL.Path, r.TLS != nil, body, err)
		http.NewResponseController(w).Flush()
	})
	for _, secure := range []bool{false, true} {
		n := serve(t, thrifthttp.Options{Fallback: fallback, MaxBody: 10}, secure)
		both(t, func(t *testing.T, two bool) {
			r := n.post(t, strings.NewReader(`{"a":"not our limit"}`), 21)
			r.Header.Set("Content-Type", "application/json")
			if _, body := n.do(t, two, r); string(body) != fmt.Sprintf(`POST / TLS=%v "{\"a\":\"not our limit\"}" <nil>`, secure) {
				t.Errorf("%s", body)
			}
			r, err := http.NewRequest("GET", n.url("/index"), nil)
			if err != nil {
				t.Fatal(err)
			}
			if _, body := n.do(t, two, r); string(body) != fmt.Sprintf(`GET /index TLS=%v "" <nil>`, secure) {
				t.Errorf("%s", body)
			}
		})
	}
}

func TestSlowBodiesOfTheFallbackEndWithTheirTime(t *testing.T) {
	ended := make(chan error, 1)
	n := serve(t, thrifthttp.Options{ReadTime: readTime, Fallback: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, err := io.ReadAll(r.Body)
		ended <- err
	})}, false)
	both(t, func(t *testing.T, two bool) {
		body, w := io.Pipe()
		go w.Write([]byte("half of i"))
		defer w.Close()
		r := n.post(t, body, 100)
		r.Header.Set("Content-Type", "text/plain")
		n.do(t, two, r)
		if err := receive(t, "the handler gets an error", ended); err == nil {
			t.Error("the body ended well")
		}
	})
}

func TestSlowReadersEndWithTheirTime(t *testing.T) {
	both(t, func(t *testing.T, two bool) {
		released := make(chan struct{}, 1)
		n := serve(t, thrifthttp.Options{WriteTime: 50 * time.Millisecond,
			Exchange: func(context.Context, *thrifthttp.Request) (thrifthttp.Reply, error) {
				return thrifthttp.Reply{Message: [][]byte{make([]byte, 32<<20)}, Release: func() { released <- struct{}{} }}, nil
			},
		}, false)
		protocols := new(http.Protocols)
		protocols.SetHTTP1(!two)
		protocols.SetUnencryptedHTTP2(two)
		h := &http.Transport{Protocols: protocols}
		defer h.CloseIdleConnections()
		reply, err := h.RoundTrip(n.post(t, strings.NewReader("call"), 4))
		if err != nil {
			t.Fatal(err)
		}
		receive(t, "the server gives up", released)
		reply.Body.Close()
	})
}

func TestConnectionsAreClosedOnce(t *testing.T) {
	closed := make(chan struct{}, 10)
	s := thrifthttp.New(thrifthttp.Options{Exchange: echo})
	client, server := net.Pipe()
	s.ServeConn(&closing{server, closed}, []byte("GET"), nil)
	go io.WriteString(client, " / HTTP/1.1\r\nHost: x\r\n\r\n")
	reply, err := http.ReadResponse(bufio.NewReader(client), nil)
	if err != nil || reply.StatusCode != http.StatusMethodNotAllowed {
		t.Errorf("%v, %v", reply, err)
	}
	s.Close()
	s.Close()
	receive(t, "the connection is closed", closed)
	_, server = net.Pipe()
	s.ServeConn(&closing{server, closed}, nil, nil)
	receive(t, "a connection that comes too late is closed", closed)
	if len(closed) > 0 {
		t.Error("a connection was closed again")
	}
}

type closing struct {
	net.Conn
	closed chan<- struct{}
}

func (c *closing) Close() error {
	c.closed <- struct{}{}
	return c.Conn.Close()
}

func TestShutdownAnswersWhatHasArrived(t *testing.T) {
	both(t, func(t *testing.T, two bool) {
		entered, leave := make(chan struct{}), make(chan struct{})
		n := serve(t, thrifthttp.Options{Exchange: func(ctx context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
			close(entered)
			<-leave
			return echo(ctx, r)
		}}, false)
		c := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two})
		answered, stopped := make(chan error, 1), make(chan error, 1)
		go func() {
			_, _, err := c.Post(t.Context(), []byte("call"), nil)
			answered <- err
		}()
		receive(t, "the call arrives", entered)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		go func() { stopped <- n.Shutdown(ctx) }()
		close(leave)
		if err := receive(t, "the call is answered", answered); err != nil {
			t.Error(err)
		}
		if err := receive(t, "the server has stopped", stopped); err != nil {
			t.Error(err)
		}
		if _, _, err := c.Post(t.Context(), []byte("call"), nil); err == nil {
			t.Error("a stopped server answers")
		}
	})
}

// net/http keeps the bound; here it is only announced.
func TestStreamsOfAConnectionAreBounded(t *testing.T) {
	n := serve(t, thrifthttp.Options{MaxStreams: 7}, false)
	c, err := net.Dial("tcp", n.address)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	c.SetDeadline(time.Now().Add(patience))
	io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00") // with empty settings
	settings := make([]byte, 9)
	if _, err := io.ReadFull(c, settings); err != nil || settings[3] != 4 {
		t.Fatalf("% x, %v: want the server's settings", settings, err)
	}
	values := make([]byte, settings[2])
	if _, err := io.ReadFull(c, values); err != nil || !bytes.Contains(values, []byte{0, 3, 0, 0, 0, 7}) {
		t.Errorf("settings % x, %v: want 7 concurrent streams", values, err)
	}
}
