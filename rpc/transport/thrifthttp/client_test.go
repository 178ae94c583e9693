package thrifthttp_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

func TestURLsThatAreNoneAreRefused(t *testing.T) {
	for _, address := range []string{"", "127.0.0.1:80", "ftp://host/", "http://", "http://host:port/", "/path"} {
		if _, err := thrifthttp.NewClient(address, thrifthttp.ClientOptions{}); err == nil {
			t.Errorf("%q is taken", address)
		}
	}
}

func TestNothingIsSentWithoutAConnection(t *testing.T) {
	refused := errors.New("refused")
	c, err := thrifthttp.NewClient("http://nowhere/", thrifthttp.ClientOptions{
		Dial: func(context.Context, string, string) (net.Conn, error) { return nil, refused },
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, sent, err := c.Post(t.Context(), []byte("call"), nil); sent || !errors.Is(err, refused) {
		t.Errorf("%v, %v", sent, err)
	}
}

func TestRepliesThatAreNoMessagesAreErrors(t *testing.T) {
	noLeaks(t)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/status":
			http.Error(w, strings.Repeat("no ", 1000), http.StatusTeapot)
		case "/large":
			w.Write(make([]byte, 101))
		case "/larger":
			w.Write(make([]byte, 101))
			w.(http.Flusher).Flush() // without a length
		case "/coded":
			w.Header().Set("Content-Encoding", "br")
		case "/short":
			w.Header().Set("Content-Length", "10")
			w.Write([]byte("1234"))
		case "/redirect":
			http.Redirect(w, r, "/large", http.StatusTemporaryRedirect)
		}
	}))
	defer server.Close()
	for path, want := range map[string]string{
		"/status": "HTTP status 418 I'm a teapot: no no", "/large": "101 bytes", "/larger": "exceeds 100 bytes", "/coded": `"br"`,
		"/short": "unexpected EOF", "/redirect": "HTTP status 307",
	} {
		c, err := thrifthttp.NewClient(server.URL+path, thrifthttp.ClientOptions{MaxReply: 100})
		if err != nil {
			t.Fatal(err)
		}
		_, sent, err := c.Post(t.Context(), []byte("call"), nil)
		if !sent || err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 1000 {
			t.Errorf("%s: %v, %v", path, sent, err)
		}
		if path == "/short" != errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("%s: %v", path, err)
		}
		c.Close()
	}
}

func TestCallersShareConnections(t *testing.T) {
	both(t, func(t *testing.T, two bool) {
		n := serve(t, thrifthttp.Options{}, false)
		dials := make(chan struct{}, 100)
		c := n.client(t, "/", thrifthttp.ClientOptions{HTTP2: two, MaxConns: 2, Dial: func(ctx context.Context, network, address string) (net.Conn, error) {
			dials <- struct{}{}
			return new(net.Dialer).DialContext(ctx, network, address)
		}})
		done := make(chan error, 50)
		for range cap(done) {
			go func() {
				answer, _, err := c.Post(t.Context(), []byte("call"), nil)
				if err == nil && string(answer.Message) != "call" {
					err = errors.New("another reply")
				}
				done <- err
			}()
		}
		for range cap(done) {
			if err := receive(t, "every call is answered", done); err != nil {
				t.Error(err)
			}
		}
		if len(dials) > 2 {
			t.Errorf("%d connections", len(dials))
		}
	})
}
