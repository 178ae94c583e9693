package thrifthttp_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"runtime"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 20 * time.Second

// noLeaks fails the test if it leaves goroutines behind.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Errorf("goroutines: %d before, %d after\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	})
}

// echo replies with the message.
func echo(_ context.Context, r *thrifthttp.Request) (thrifthttp.Reply, error) {
	defer r.Block.Release()
	return thrifthttp.Reply{Message: [][]byte{bytes.Clone(r.Message)}}, nil
}

// node is a server with a listener, which reads the first bytes of every connection itself.
type node struct {
	*thrifthttp.Server
	address string
	config  *tls.Config // of clients; nil without TLS
}

// serve lets a server serve until the test ends.
func serve(t *testing.T, o thrifthttp.Options, secure bool) *node {
	t.Helper()
	noLeaks(t)
	if o.Exchange == nil {
		o.Exchange = echo
	}
	n := &node{Server: thrifthttp.New(o)}
	var config *tls.Config
	if secure {
		config, n.config = certificates(t)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	n.address = l.Addr().String()
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go n.handOver(c, config)
		}
	}()
	t.Cleanup(func() {
		l.Close()
		<-done
		n.Close()
	})
	return n
}

// handOver reads what tells that a connection is HTTP, and hands it over.
func (n *node) handOver(c net.Conn, config *tls.Config) {
	var state *tls.ConnectionState
	if config != nil {
		secured := tls.Server(c, config)
		if secured.Handshake() != nil {
			c.Close()
			return
		}
		of := secured.ConnectionState()
		c, state = secured, &of
	}
	first := make([]byte, 4)
	if _, err := io.ReadFull(c, first); err != nil {
		c.Close()
		return
	}
	n.ServeConn(c, first, state)
}

// certificates returns configurations of a server and its clients, from net/http/httptest.
func certificates(t *testing.T) (server, client *tls.Config) {
	h := httptest.NewTLSServer(nil)
	defer h.Close()
	server = &tls.Config{Certificates: h.TLS.Certificates, NextProtos: []string{"h2", "http/1.1"}}
	return server, h.Client().Transport.(*http.Transport).TLSClientConfig
}

// url returns the address of a path.
func (n *node) url(path string) string {
	if n.config != nil {
		return "https://" + n.address + path
	}
	return "http://" + n.address + path
}

// client returns a client of the node.
func (n *node) client(t *testing.T, path string, o thrifthttp.ClientOptions) *thrifthttp.Client {
	t.Helper()
	o.TLS = n.config
	c, err := thrifthttp.NewClient(n.url(path), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// do sends a request with net/http's client in a version of HTTP, and reads the whole reply.
func (n *node) do(t *testing.T, two bool, r *http.Request) (*http.Response, []byte) {
	t.Helper()
	protocols := new(http.Protocols)
	protocols.SetHTTP1(!two)
	protocols.SetHTTP2(two)
	protocols.SetUnencryptedHTTP2(two)
	h := &http.Transport{Protocols: protocols, TLSClientConfig: n.config, DisableCompression: true, ExpectContinueTimeout: patience}
	defer h.CloseIdleConnections()
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

// post returns a request with a body of unknown length if size is -1.
func (n *node) post(t *testing.T, body io.Reader, size int64) *http.Request {
	t.Helper()
	r, err := http.NewRequest(http.MethodPost, n.url("/"), body)
	if err != nil {
		t.Fatal(err)
	}
	r.ContentLength = size
	r.Header.Set("Content-Type", thrifthttp.ContentType)
	return r
}

// wantProblem checks that a reply is a problem document of a status.
func wantProblem(t *testing.T, reply *http.Response, body []byte, status int) {
	t.Helper()
	var p struct {
		Status        int
		Title, Detail string
	}
	err := json.Unmarshal(body, &p)
	if reply.StatusCode != status || err != nil || p.Status != status || p.Title == "" || p.Detail == "" ||
		reply.Header.Get("Content-Type") != "application/problem+json" {
		t.Errorf("%s, %s, %s: want a problem with status %d", reply.Status, reply.Header.Get("Content-Type"), body, status)
	}
}

// both runs a test over HTTP/1.1 and HTTP/2.
func both(t *testing.T, f func(t *testing.T, two bool)) {
	for name, two := range map[string]bool{"HTTP/1.1": false, "HTTP/2": true} {
		t.Run(name, func(t *testing.T) { f(t, two) })
	}
}

// receive waits for a value.
func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}
