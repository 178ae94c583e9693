package rpc_test

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/apache/thrift/lib/go/thrift"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/certs"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests TLS, which every dialect can be inside of.

// issue writes a certificate of ca, and the authority trusted, to files in dir.
func issue(t *testing.T, dir string, ca, trusted *rpctest.CA, names ...string) certs.Files {
	t.Helper()
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), names...)
	f := certs.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	for name, content := range map[string][]byte{f.Cert: cert, f.Key: key, f.CA: trusted.PEM()} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

func store(t *testing.T, f certs.Files) *certs.Store {
	t.Helper()
	s, err := certs.Load(f, certs.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secure returns the option of a server that shop.test and 127.0.0.1 are names of.
func secure(t *testing.T, ca *rpctest.CA) rpc.Option {
	t.Helper()
	config, err := store(t, issue(t, t.TempDir(), ca, ca, "shop.test", "127.0.0.1")).ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	return rpc.TLS(config)
}

// reader returns the option of a client with a certificate.
func reader(t *testing.T, ca *rpctest.CA) rpc.Option {
	t.Helper()
	return rpc.TLS(store(t, issue(t, t.TempDir(), ca, ca, "reader")).ClientConfig("shop.test"))
}

func TestEveryDialectInsideTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	callers := make(chan string, 1)
	who := raw("who", func(ctx context.Context, args, dst []byte) ([]byte, error) {
		info, _ := rpc.Info(ctx)
		name := "nobody"
		if state := info.TLS(); state != nil && len(state.PeerCertificates) > 0 {
			name = state.PeerCertificates[0].Subject.CommonName
		}
		callers <- name
		return append(dst, args...), nil
	})
	_, address := listen(t, []rpc.Method{who, echo}, secure(t, ca))
	for name, opts := range map[string][]rpc.ClientOption{
		"framed":             nil,
		"framed compact":     {rpc.Compact(compact.Apache)},
		"unframed":           {rpc.Unframed()},
		"unframed compact":   {rpc.Unframed(), rpc.Compact(compact.FBThrift)},
		"THeader":            {rpc.THeader(header.None)},
		"THeader, zstd":      {rpc.THeader(header.Zstd), rpc.Compact(compact.Apache)},
		"TTHeader":           {rpc.TTHeader()},
		"HTTP/1.1":           {rpc.HTTP("https://shop.test/")},
		"HTTP/2":             {rpc.HTTP2("https://shop.test/")},
		"HTTP/2 and compact": {rpc.HTTP2("https://shop.test/"), rpc.Compact(compact.Apache)},
	} {
		t.Run(name, func(t *testing.T) {
			client := dial(t, "tcp", address, append(opts, reader(t, ca))...)
			for _, want := range []string{name, strings.Repeat("long ", 50_000)} {
				if got, err := invoke(t.Context(), client, "who", want); err != nil || got != want {
					t.Fatalf("%d bytes, %v", len(got), err)
				}
				if caller := receive(t, "the call", callers); caller != "reader" {
					t.Errorf("the caller is %s", caller)
				}
			}
			done := make(chan error, 20)
			for range cap(done) {
				go func() {
					_, err := invoke(t.Context(), client, "echo", name)
					done <- err
				}()
			}
			for range cap(done) {
				if err := receive(t, "every call is answered", done); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestClientsExpectTheHostOfTheirAddress(t *testing.T) {
	ca := rpctest.NewCA(t)
	cert, key := ca.Issue(t, time.Now().Add(time.Hour), "127.0.0.1")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	_, address := listen(t, []rpc.Method{echo}, rpc.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}))
	config := &tls.Config{RootCAs: ca.Pool(), NextProtos: []string{"thrift"}}
	if got, err := invoke(t.Context(), dial(t, "tcp", address, rpc.TLS(config)), "echo", "hello"); err != nil || got != "hello" {
		t.Errorf("%q, %v", got, err)
	}
	_, port, _ := net.SplitHostPort(address)
	_, err = rpc.Dial(t.Context(), "tcp", "localhost:"+port, rpc.TLS(config))
	var e *rpc.Error
	var verification *tls.CertificateVerificationError
	if !errors.As(err, &e) || e.Stage != rpc.StageDial || !errors.As(err, &verification) {
		t.Errorf("another name: %v", err)
	}
	if config.ServerName != "" {
		t.Error("the configuration was changed")
	}
	if _, err := rpc.Dial(t.Context(), "tcp", address, rpc.TLS(config), rpc.HTTP("http://shop.test/")); err == nil {
		t.Error("TLS is given, and a URL in the clear is taken")
	}
	nowhere := rpc.Dialer(func(context.Context, string, string) (net.Conn, error) {
		a, b := net.Pipe()
		b.Close()
		return a, nil
	})
	if _, err := rpc.Dial(t.Context(), "unix", "/run/shop.sock", rpc.TLS(config), nowhere); err == nil || !strings.Contains(err.Error(), "ServerName") {
		t.Errorf("a Unix socket without a name: %v", err)
	}
}

func TestClientsWithoutTheRightCertificateAreRefused(t *testing.T) {
	ca, other := rpctest.NewCA(t), rpctest.NewCA(t)
	var l logs
	server, address := listen(t, []rpc.Method{echo}, secure(t, ca), l.option())
	for reason, client := range map[string]rpc.Option{
		"certificate signed by unknown authority": rpc.TLS(store(t, issue(t, t.TempDir(), other, ca, "reader")).ClientConfig("shop.test")),
		"client didn't provide a certificate":     rpc.TLS(store(t, certs.Files{CA: issue(t, t.TempDir(), ca, ca, "x").CA}).ClientConfig("shop.test")),
	} {
		before := server.Stats().Handshakes
		for _, opts := range [][]rpc.ClientOption{{client}, {client, rpc.HTTP2("https://shop.test/")}} {
			// With TLS 1.3 a client learns of it after its own handshake.
			c, err := rpc.Dial(t.Context(), "tcp", address, opts...)
			if err == nil {
				_, err = invoke(t.Context(), c, "echo", "")
				c.Close()
			}
			if err == nil {
				t.Errorf("%s: the client is served", reason)
			}
		}
		l.await(t, reason)
		eventually(t, "the failures are counted", func() bool { return server.Stats().Handshakes >= before+2 })
	}
	if text := l.String(); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "TLS handshake failed") {
		t.Errorf("log: %s", text)
	}
}

func TestClientsInTheClearAreToldThatTLSIsRequired(t *testing.T) {
	ca := rpctest.NewCA(t)
	var l logs
	server, address := listen(t, []rpc.Method{echo}, secure(t, ca), l.option())
	for name, opts := range map[string][]rpc.ClientOption{
		"framed": nil, "unframed compact": {rpc.Unframed(), rpc.Compact(compact.Apache)},
		"THeader": {rpc.THeader(header.None)}, "TTHeader": {rpc.TTHeader()},
	} {
		_, err := invoke(t.Context(), dial(t, "tcp", address, opts...), "echo", "")
		var e *rpc.ApplicationException
		if !errors.As(err, &e) || e.Type != rpc.UnsupportedClientType || !strings.Contains(e.Message, "TLS") {
			t.Errorf("%s: %v", name, err)
		}
	}
	var status *thrifthttp.StatusError
	_, err := invoke(t.Context(), dial(t, "tcp", address, rpc.HTTP("http://shop.test/")), "echo", "")
	if !errors.As(err, &status) || status.Status != http.StatusBadRequest || !strings.Contains(status.Detail, "TLS") {
		t.Errorf("HTTP: %v", err)
	}
	l.await(t, "the client speaks in the clear, and TLS is required")
	if n := server.Stats().Refused[rpc.RefusedInsecure]; n != 5 {
		t.Errorf("%d refusals are counted", n)
	}
}

func TestBothAreServedWhereTLSIsPermitted(t *testing.T) {
	ca := rpctest.NewCA(t)
	_, address := listen(t, []rpc.Method{echo}, secure(t, ca), rpc.TLSPermitted())
	for name, opts := range map[string][]rpc.ClientOption{
		"framed": nil, "framed inside TLS": {reader(t, ca)},
		"HTTP/2": {rpc.HTTP2("http://shop.test/")}, "HTTP/2 inside TLS": {rpc.HTTP2("https://shop.test/"), reader(t, ca)},
	} {
		if got, err := invoke(t.Context(), dial(t, "tcp", address, opts...), "echo", name); err != nil || got != name {
			t.Errorf("%s: %q, %v", name, got, err)
		}
	}
}

func TestServersInTheClearAreToldFromTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	var l logs
	_, address := listen(t, []rpc.Method{echo}, l.option())
	if _, err := rpc.Dial(t.Context(), "tcp", address, reader(t, ca)); err == nil {
		t.Error("there is a connection")
	}
	l.await(t, "the client speaks TLS")
	mute, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	go func() {
		if c, err := mute.Accept(); err == nil {
			io.WriteString(c, "220 mail.test ready\r\n")
			c.Close()
		}
	}()
	if _, err := rpc.Dial(t.Context(), "tcp", mute.Addr().String(), reader(t, ca)); err == nil || !strings.Contains(err.Error(), "does not speak TLS") {
		t.Errorf("a mail server: %v", err)
	}
}

func TestHandshakesHaveTheTimeOfDialing(t *testing.T) {
	ca := rpctest.NewCA(t)
	mute, err := net.Listen("tcp", "127.0.0.1:0") // which accepts and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer mute.Close()
	_, err = rpc.Dial(t.Context(), "tcp", mute.Addr().String(), reader(t, ca), rpc.DialTimeout(20*time.Millisecond))
	if !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("dial: %v", err)
	}
}

func TestCertificatesAreReloadedWhileServing(t *testing.T) {
	first, second := rpctest.NewCA(t), rpctest.NewCA(t)
	serverDir, clientDir := t.TempDir(), t.TempDir()
	serverStore := store(t, issue(t, serverDir, first, first, "shop.test"))
	clientStore := store(t, issue(t, clientDir, first, first, "reader"))
	config, err := serverStore.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	_, address := listen(t, []rpc.Method{echo}, rpc.TLS(config))
	option := rpc.TLS(clientStore.ClientConfig("shop.test"))
	old := dial(t, "tcp", address, option)
	if _, err := invoke(t.Context(), old, "echo", ""); err != nil {
		t.Fatal(err)
	}
	issue(t, serverDir, second, second, "shop.test")
	issue(t, clientDir, second, second, "reader")
	if changed, err := serverStore.Reload(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if _, err := rpc.Dial(t.Context(), "tcp", address, option); err == nil {
		t.Error("a client with old files is served")
	}
	if changed, err := clientStore.Reload(); !changed || err != nil {
		t.Fatal(changed, err)
	}
	if got, err := invoke(t.Context(), dial(t, "tcp", address, option), "echo", "new"); err != nil || got != "new" {
		t.Errorf("a new connection: %q, %v", got, err)
	}
	if got, err := invoke(t.Context(), old, "echo", "old"); err != nil || got != "old" {
		t.Errorf("a connection that stands: %q, %v", got, err)
	}
}

func TestShutdownInsideTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method}, secure(t, ca), rpc.TaskExpiry(0))
	answered, stopped := make(chan error, 2), make(chan error, 1)
	for _, opts := range [][]rpc.ClientOption{{reader(t, ca)}, {reader(t, ca), rpc.HTTP2("https://shop.test/")}} {
		client := dial(t, "tcp", address, opts...)
		go func() {
			_, err := invoke(t.Context(), client, "blocked", "")
			answered <- err
		}()
		receive(t, "the call runs", started)
	}
	idle := dial(t, "tcp", address, reader(t, ca))
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	go func() { stopped <- server.Shutdown(ctx) }()
	eventually(t, "the server is stopping", func() bool { return rpc.Draining(server) })
	if _, err := invoke(t.Context(), idle, "blocked", ""); err == nil {
		t.Error("a new call is taken")
	}
	close(release)
	for range cap(answered) {
		if err := receive(t, "the call is answered", answered); err != nil {
			t.Error(err)
		}
	}
	if err := receive(t, "Shutdown returns", stopped); err != nil {
		t.Error(err)
	}
}

// A client that is inside TLS, or in its handshake, and reads no more must not hold up anybody.
func TestCloseDoesNotWaitForClientsInsideTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	server, address := listen(t, []rpc.Method{echo}, secure(t, ca))
	inside := tls.Client(connect(t, address, true).Conn, store(t, issue(t, t.TempDir(), ca, ca, "reader")).ClientConfig("shop.test"))
	if err := inside.Handshake(); err != nil {
		t.Fatal(err)
	}
	before := connect(t, address, true)
	before.send([]byte("\x16\x03\x01\x02\x00\x01\x00\x01"))
	eventually(t, "both are connected", func() bool { return rpc.Connections(server) == 2 })
	server.Close()
	eventually(t, "no connection is left", func() bool { return rpc.Connections(server) == 0 })
	before.wantClosed()
}

func TestApachePeersInsideTLS(t *testing.T) {
	ca := rpctest.NewCA(t)
	_, address := listen(t, []rpc.Method{echo}, secure(t, ca))
	config := store(t, issue(t, t.TempDir(), ca, ca, "reader")).ClientConfig("shop.test")
	socket := thrift.NewTSSLSocketConf(address, &thrift.TConfiguration{TLSConfig: config, ConnectTimeout: patience, SocketTimeout: patience})
	framed := thrift.NewTFramedTransportConf(socket, nil)
	if err := framed.Open(); err != nil {
		t.Fatal(err)
	}
	defer framed.Close()
	protocol := thrift.NewTBinaryProtocolConf(framed, nil)
	var got apacheText
	if _, err := thrift.NewTStandardClient(protocol, protocol).Call(t.Context(), "echo", &apacheText{"hello"}, &got); err != nil || got.text != "hello" {
		t.Errorf("Apache's client: %q, %v", got.text, err)
	}

	serverConfig, err := store(t, issue(t, t.TempDir(), ca, ca, "shop.test")).ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	listening, err := thrift.NewTSSLServerSocket("127.0.0.1:0", serverConfig)
	if err != nil {
		t.Fatal(err)
	}
	server := thrift.NewTSimpleServer4(&apacheProcessor{}, listening,
		thrift.NewTFramedTransportFactoryConf(thrift.NewTTransportFactory(), nil), thrift.NewTBinaryProtocolFactoryConf(nil))
	if err := server.Listen(); err != nil {
		t.Fatal(err)
	}
	go server.AcceptLoop()
	t.Cleanup(func() {
		listening.Close() // which Stop leaves open
		server.Stop()
	})
	client := dial(t, "tcp", listening.Addr().String(), reader(t, ca))
	if got, err := invoke(t.Context(), client, "echo", "hello"); err != nil || got != "hello" {
		t.Errorf("Apache's server: %q, %v", got, err)
	}
	client.Close()
}
