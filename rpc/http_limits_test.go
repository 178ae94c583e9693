package rpc_test

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file tests that options which are about connections hold for those that are HTTP, too.

func TestAnHTTPConnectionMayHaveServicesOfItsOwn(t *testing.T) {
	say := func(text string) []rpc.Method {
		return []rpc.Method{raw("who", func(_ context.Context, _, dst []byte) ([]byte, error) { return append(dst, textStruct(text)...), nil })}
	}
	var asked []rpc.ConnInfo
	_, address := listen(t, say("everybody"), rpc.ServicesFor(func(c rpc.ConnInfo) []*rpc.Service {
		asked = append(asked, c)
		if len(asked)%2 == 0 {
			return nil
		}
		return []*rpc.Service{{Name: "S", Methods: say("the first")}}
	}))
	for name, opts := range overHTTP() {
		asked = nil
		for _, want := range []string{"the first", "everybody"} {
			client := dial(t, "tcp", address, opts...)
			for range 3 { // on one connection
				if got, err := invoke(t.Context(), client, "who", ""); err != nil || got != want {
					t.Errorf("%s: %q, %v, want %q", name, got, err, want)
				}
			}
			client.Close()
		}
		if len(asked) != 2 || asked[0].Dialect != transport.HTTP || asked[0].Remote == nil || asked[0].Local.String() != address || asked[0].TLS != nil {
			t.Errorf("%s: asked for %+v", name, asked)
		}
	}
}

func TestServicesThatCannotBeEndTheirHTTPConnection(t *testing.T) {
	for name, answer := range map[string]func() []*rpc.Service{
		"a panic":           func() []*rpc.Service { panic("no services") },
		"one without forms": func() []*rpc.Service { return []*rpc.Service{{Name: "S", Methods: []rpc.Method{{Name: "none"}}}} },
	} {
		for dialect, opts := range overHTTP() {
			var l logs
			server, address := listen(t, []rpc.Method{echo}, l.option(), rpc.ServicesFor(func(rpc.ConnInfo) []*rpc.Service { return answer() }))
			if _, err := invoke(t.Context(), dial(t, "tcp", address, opts...), "echo", ""); err == nil {
				t.Errorf("%s, %s: the call is served", name, dialect)
			}
			eventually(t, "the connection has ended", func() bool { return rpc.Connections(server) == 0 })
			l.await(t, "connection closed")
		}
	}
}

func TestOldHTTPConnectionsEndWithAnAnswer(t *testing.T) {
	const age = 50 * time.Millisecond
	for name, opts := range overHTTP() {
		server, address := listen(t, []rpc.Method{echo}, rpc.MaxConnectionAge(age))
		client := dial(t, "tcp", address, opts...)
		served := 0
		eventually(t, name+": two connections in a row have ended", func() bool {
			got, err := invoke(t.Context(), client, "echo", name)
			switch {
			case err == nil && got != name:
				t.Fatalf("%s: %q", name, got)
			case err == nil:
				served++
			default: // on a slow machine the time may pass before the first request, when there is nobody to tell
				t.Logf("%s: %v", name, err)
			}
			return served > 0 && server.Stats().Aged >= 2
		})
	}
}

// lateListener has connections whose time has passed when they are first read, though something has come: as on a
// machine that was too busy.
type lateListener struct {
	net.Listener
	sent chan struct{} // receives when something has come
}

func (l *lateListener) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	return &lateConn{Conn: c, sent: l.sent}, err
}

type lateConn struct {
	net.Conn
	sent  chan struct{}
	reads atomic.Int32
}

func (c *lateConn) Read(b []byte) (int, error) {
	if c.reads.Add(1) > 1 {
		return c.Conn.Read(b)
	}
	<-c.sent
	time.Sleep(10 * time.Millisecond)
	return 0, os.ErrDeadlineExceeded
}

// SetReadDeadline lets what has come be read, however late.
func (c *lateConn) SetReadDeadline(t time.Time) error {
	if c.reads.Load() < 2 {
		return nil
	}
	return c.Conn.SetReadDeadline(t)
}

func TestConnectionsThatAreOldBeforeTheirFirstCallEndWithAnAnswer(t *testing.T) {
	noLeaks(t)
	tcp, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &lateListener{tcp, make(chan struct{})}
	server := newServer(rpc.MaxConnectionAge(time.Millisecond))
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	defer server.Close()
	web := connect(t, tcp.Addr().String(), false)
	r, err := http.NewRequest("POST", "http://shop.test/", bytes.NewReader(web.call("echo", 1, "x")))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", thrifthttp.ContentType)
	var request bytes.Buffer
	if err := r.Write(&request); err != nil {
		t.Fatal(err)
	}
	web.send(request.Bytes())
	l.sent <- struct{}{}
	reply, err := http.ReadResponse(bufio.NewReader(web), r)
	if err != nil {
		t.Fatal(err)
	}
	defer reply.Body.Close()
	if body, err := io.ReadAll(reply.Body); err != nil || parseReply(body).text != "x" || !reply.Close {
		t.Errorf("HTTP: %v, %v, the last answer: %v", parseReply(body), err, reply.Close)
	}
	told := connect(t, tcp.Addr().String(), true)
	told.send(callWith(t, 2, "echo"))
	l.sent <- struct{}{}
	f, message := told.headerReply()
	if bye, _ := f.Headers.Get("connection"); parseReply(message).text != "x" || string(bye) != "goaway" {
		t.Errorf("THeader: %v, connection=%s", parseReply(message), bye)
	}
	eventually(t, "both are counted", func() bool { return server.Stats().Aged == 2 })
}

func TestMessagesWithoutAVersionComeOverHTTPToo(t *testing.T) {
	post := func(address string) (*http.Response, []byte) {
		b := binary.BigEndian.AppendUint32(nil, 4)
		b = append(append(b, "echo"...), byte(thriftwire.Call))
		b = append(binary.BigEndian.AppendUint32(b, 7), textStruct("old")...)
		r, err := http.NewRequest("POST", "http://"+address+"/", bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", thrifthttp.ContentType)
		return roundTrip(t, r)
	}
	_, address := listen(t, []rpc.Method{echo}, rpc.NonStrict())
	if reply, body := post(address); reply.StatusCode != 200 || parseReply(body).text != "old" || parseReply(body).seq != 7 {
		t.Errorf("%s, %v", reply.Status, parseReply(body))
	}
	_, address = listen(t, []rpc.Method{echo})
	if reply, _ := post(address); reply.StatusCode != 400 {
		t.Errorf("where it is not asked for: %s", reply.Status)
	}
}

func TestHeadersBeyondTheLimitAreRefusedOverHTTP(t *testing.T) {
	_, address := listen(t, []rpc.Method{echo}, rpc.MaxHeaderSize(1000))
	for name, opts := range overHTTP() {
		client := dial(t, "tcp", address, opts...)
		eventually(t, name+": the client knows why", func() bool { // a reset may overtake the answer
			_, err := invoke(rpc.WithHeader(t.Context(), "k", strings.Repeat("v", 20_000)), client, "echo", "")
			if err == nil {
				t.Fatalf("%s: the call is served", name)
			}
			var status *thrifthttp.StatusError
			known := errors.As(err, &status) && status.Status == http.StatusRequestHeaderFieldsTooLarge
			return known || strings.HasPrefix(name, "HTTP/2") // whose clients are told the limit, and may know better
		})
		if got, err := invoke(rpc.WithHeader(t.Context(), "k", "v"), client, "echo", "x"); err != nil || got != "x" {
			t.Errorf("%s, afterwards: %q, %v", name, got, err)
		}
	}
}
