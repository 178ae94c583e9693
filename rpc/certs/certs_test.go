package certs_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/certs"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 20 * time.Second

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// write writes a certificate of ca and its key, and the authority trusted, to files.
func write(t *testing.T, dir string, ca, trusted *rpctest.CA, names ...string) certs.Files {
	t.Helper()
	cert, key := ca.Issue(t, tomorrow(), names...)
	f := certs.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	put(t, f.Cert, cert)
	put(t, f.Key, key)
	put(t, f.CA, trusted.PEM())
	return f
}

func put(t *testing.T, name string, content []byte) {
	t.Helper()
	if err := os.WriteFile(name, content, 0o600); err != nil {
		t.Fatal(err)
	}
}

// replace changes a file that may be read at any moment: the reader finds what it was or what it is to be.
func replace(t *testing.T, name string, content []byte) {
	t.Helper()
	put(t, name+".new", content)
	if err := os.Rename(name+".new", name); err != nil {
		t.Fatal(err)
	}
}

func load(t *testing.T, f certs.Files, o certs.Options) *certs.Store {
	t.Helper()
	s, err := certs.Load(f, o)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func server(t *testing.T, s *certs.Store) *tls.Config {
	t.Helper()
	c, err := s.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// handshake connects a client to a server and returns what both say; a byte goes to and fro, because
// with TLS 1.3 a client only learns then that it was refused.
func handshake(t *testing.T, server, client *tls.Config) (serverState, clientState tls.ConnectionState, serverErr, clientErr error) {
	t.Helper()
	a, b := connected(t)
	defer a.Close()
	deadline := time.Now().Add(patience)
	a.SetDeadline(deadline)
	b.SetDeadline(deadline)
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer b.Close()
		c := tls.Server(b, server)
		if serverErr = c.Handshake(); serverErr == nil {
			serverState = c.ConnectionState()
			_, serverErr = io.CopyN(c, c, 1)
		}
	}()
	c := tls.Client(a, client)
	if clientErr = c.Handshake(); clientErr == nil {
		if _, clientErr = c.Write([]byte("x")); clientErr == nil {
			_, clientErr = io.ReadFull(c, make([]byte, 1))
		}
		clientState = c.ConnectionState()
	}
	a.Close()
	<-done
	return serverState, clientState, serverErr, clientErr
}

// connected returns both ends of a connection. A pipe has no buffer, and TLS 1.3 writes on both sides at once.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

func commonName(s tls.ConnectionState) string {
	if len(s.PeerCertificates) == 0 {
		return ""
	}
	return s.PeerCertificates[0].Subject.CommonName
}

func TestBothSidesShowWhoTheyAre(t *testing.T) {
	ca := rpctest.NewCA(t)
	s := load(t, write(t, t.TempDir(), ca, ca, "shop.test", "10.0.0.1"), certs.Options{})
	c := load(t, write(t, t.TempDir(), ca, ca, "reader"), certs.Options{})
	for _, name := range []string{"shop.test", "10.0.0.1"} {
		ss, cs, serverErr, clientErr := handshake(t, server(t, s), c.ClientConfig(name))
		if serverErr != nil || clientErr != nil || commonName(ss) != "reader" || commonName(cs) != "shop.test" || cs.NegotiatedProtocol != "thrift" {
			t.Errorf("%s: %v, %v, client %q, server %q, protocol %q", name, serverErr, clientErr, commonName(ss), commonName(cs), cs.NegotiatedProtocol)
		}
	}
	later := c.ClientConfig("")
	later.ServerName = "shop.test"
	if _, _, _, err := handshake(t, server(t, s), later); err != nil {
		t.Errorf("with a name that is set later: %v", err)
	}
}

func TestWrongCertificatesAreRefused(t *testing.T) {
	ca, other := rpctest.NewCA(t), rpctest.NewCA(t)
	s := load(t, write(t, t.TempDir(), ca, ca, "shop.test"), certs.Options{})
	good := load(t, write(t, t.TempDir(), ca, ca, "reader"), certs.Options{})
	bare := write(t, t.TempDir(), ca, ca, "reader")
	bare.Cert, bare.Key = "", ""
	address := good.ClientConfig("")
	address.ServerName = "10.0.0.1"
	var verification *tls.CertificateVerificationError
	for name, c := range map[string]struct {
		client    *tls.Config
		byServer  bool
		byClient  any
		clientHas string
	}{
		"a client of another authority":          {client: load(t, write(t, t.TempDir(), other, ca, "reader"), certs.Options{}).ClientConfig("shop.test"), byServer: true},
		"a client without a certificate":         {client: load(t, bare, certs.Options{}).ClientConfig("shop.test"), byServer: true},
		"a client that trusts another authority": {client: load(t, write(t, t.TempDir(), ca, other, "reader"), certs.Options{}).ClientConfig("shop.test"), byClient: new(x509.UnknownAuthorityError)},
		"a server with another name":             {client: good.ClientConfig("bank.test"), byClient: new(x509.HostnameError)},
		"a server whose name is not known":       {client: good.ClientConfig(""), clientHas: "pass it to ClientConfig"},
		"a server whose address is not shown":    {client: address, clientHas: "pass it to ClientConfig"},
	} {
		_, _, serverErr, clientErr := handshake(t, server(t, s), c.client)
		if serverErr == nil || clientErr == nil {
			t.Errorf("%s: the server has %v, the client %v", name, serverErr, clientErr)
		}
		if c.byServer && !errors.As(serverErr, &verification) && !strings.Contains(serverErr.Error(), "didn't provide a certificate") {
			t.Errorf("%s: the server has %v", name, serverErr)
		}
		if c.byClient != nil && (!errors.As(clientErr, &verification) || !errors.As(clientErr, c.byClient)) {
			t.Errorf("%s: the client has %v", name, clientErr)
		}
		if !strings.Contains(clientErr.Error(), c.clientHas) {
			t.Errorf("%s: the client has %v", name, clientErr)
		}
	}
}

func TestOptionsReachTheHandshake(t *testing.T) {
	ca := rpctest.NewCA(t)
	s := load(t, write(t, t.TempDir(), ca, ca, "shop.test"),
		certs.Options{ClientAuth: tls.VerifyClientCertIfGiven, MinVersion: tls.VersionTLS13, NextProtos: []string{"own"}})
	f := write(t, t.TempDir(), ca, ca, "reader")
	f.Cert, f.Key = "", ""
	ss, _, serverErr, clientErr := handshake(t, server(t, s), load(t, f, certs.Options{NextProtos: []string{"own"}}).ClientConfig("shop.test"))
	if serverErr != nil || clientErr != nil || ss.NegotiatedProtocol != "own" {
		t.Errorf("without a certificate: %v, %v, %q", serverErr, clientErr, ss.NegotiatedProtocol)
	}
	old := load(t, f, certs.Options{NextProtos: []string{"own"}}).ClientConfig("shop.test")
	old.MaxVersion = tls.VersionTLS12
	if _, _, err, _ := handshake(t, server(t, s), old); err == nil {
		t.Error("TLS 1.2 is taken")
	}
}

func TestRunningConfigurationsTakeNewFiles(t *testing.T) {
	first, second := rpctest.NewCA(t), rpctest.NewCA(t)
	serverDir, clientDir := t.TempDir(), t.TempDir()
	s := load(t, write(t, serverDir, first, first, "shop.test"), certs.Options{})
	c := load(t, write(t, clientDir, first, first, "reader"), certs.Options{})
	sc, cc := server(t, s), c.ClientConfig("shop.test")
	cc.ClientSessionCache = tls.NewLRUClientSessionCache(1)
	connect := func(want bool, when string) {
		t.Helper()
		if _, _, serverErr, clientErr := handshake(t, sc, cc); (serverErr == nil && clientErr == nil) != want {
			t.Errorf("%s: %v, %v", when, serverErr, clientErr)
		}
	}
	reload := func(s *certs.Store, want bool) {
		t.Helper()
		if changed, err := s.Reload(); changed != want || err != nil {
			t.Errorf("reloaded: %v, %v", changed, err)
		}
	}
	connect(true, "at first") // which could leave a session to resume
	reload(s, false)
	write(t, serverDir, second, second, "shop.test")
	reload(s, true)
	connect(false, "when the server has gone to another authority")
	write(t, clientDir, second, second, "reader")
	reload(c, true)
	connect(true, "when both have")
	connect(true, "when both have, again")
	if until := s.Expires(); until.Before(time.Now()) || until.After(tomorrow()) {
		t.Errorf("expires %v", until)
	}
}

func TestFilesThatMakeNoSenseChangeNothing(t *testing.T) {
	ca := rpctest.NewCA(t)
	dir := t.TempDir()
	f := write(t, dir, ca, ca, "shop.test")
	s := load(t, f, certs.Options{})
	c := load(t, write(t, t.TempDir(), ca, ca, "reader"), certs.Options{})
	sc := server(t, s)
	expired, expiredKey := ca.Issue(t, time.Now().Add(-time.Minute), "shop.test")
	another, _ := ca.Issue(t, tomorrow(), "shop.test")
	for name, damage := range map[string]func(){
		"no certificate":         func() { put(t, f.Cert, nil) },
		"garbage":                func() { put(t, f.Cert, []byte("garbage")) },
		"another key's":          func() { put(t, f.Cert, another) },
		"expired":                func() { put(t, f.Cert, expired); put(t, f.Key, expiredKey) },
		"authorities without":    func() { put(t, f.CA, []byte("none")) },
		"a file that is missing": func() { os.Remove(f.Key) },
	} {
		write(t, dir, ca, ca, "shop.test")
		if _, err := s.Reload(); err != nil {
			t.Fatal(err)
		}
		damage()
		if changed, err := s.Reload(); changed || err == nil || !strings.Contains(err.Error(), dir) {
			t.Errorf("%s: %v, %v", name, changed, err)
		}
		if _, err := certs.Load(f, certs.Options{}); err == nil {
			t.Errorf("%s: loaded", name)
		}
		if _, _, serverErr, clientErr := handshake(t, sc, c.ClientConfig("shop.test")); serverErr != nil || clientErr != nil {
			t.Errorf("%s: afterwards %v, %v", name, serverErr, clientErr)
		}
	}
}

func TestFilesThatDoNotGoTogetherAreRefused(t *testing.T) {
	ca := rpctest.NewCA(t)
	f := write(t, t.TempDir(), ca, ca, "shop.test")
	for _, files := range []certs.Files{{Cert: f.Cert}, {Key: f.Key}} {
		if _, err := certs.Load(files, certs.Options{}); err == nil {
			t.Errorf("%v is taken", files)
		}
	}
	if _, err := certs.Load(certs.Files{Cert: f.Cert, Key: f.Key}, certs.Options{ClientAuth: tls.RequireAndVerifyClientCert}); err == nil {
		t.Error("clients are verified by nobody")
	}
	if _, err := load(t, certs.Files{CA: f.CA}, certs.Options{}).ServerConfig(); err == nil {
		t.Error("a server without a certificate")
	}
	if c := load(t, certs.Files{}, certs.Options{}).ClientConfig("shop.test"); c.InsecureSkipVerify || c.RootCAs != nil {
		t.Error("without authorities the system's are not used")
	}
}

func TestWatchTakesChangesAndComplainsOnce(t *testing.T) {
	ca := rpctest.NewCA(t)
	dir := t.TempDir()
	f := write(t, dir, ca, ca, "shop.test")
	good, err := os.ReadFile(f.Cert)
	if err != nil {
		t.Fatal(err)
	}
	var text log
	s := load(t, f, certs.Options{Logger: slog.New(slog.NewTextHandler(&text, nil))})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		s.Watch(ctx, time.Millisecond)
	}()
	const reloaded, kept = "certs: reloaded", "the old certificates stay in use"
	replace(t, f.Cert, []byte("garbage"))
	text.await(t, kept, 1)
	replace(t, f.CA, append(ca.PEM(), rpctest.NewCA(t).PEM()...)) // as long as the certificate is garbage this is no change
	replace(t, f.Cert, good)
	text.await(t, reloaded, 1)
	replace(t, f.Cert, []byte("garbage"))
	text.await(t, kept, 2)
	time.Sleep(20 * time.Millisecond) // time for the same complaint again
	cancel()
	<-done
	if n := strings.Count(text.String(), "level=WARN"); n != 2 {
		t.Errorf("%d complaints:\n%s", n, text.String())
	}
}

// log is a log that can be waited for.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// await waits until the log has text n times.
func (l *log) await(t *testing.T, text string, n int) {
	t.Helper()
	for end := time.Now().Add(patience); strings.Count(l.String(), text) < n; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %q\n%s", text, l.String())
		}
	}
}

func Example() {
	// A server's files. A wrong one is found out when it is loaded, or
	// reloaded, and not at the next handshake.
	_, err := certs.Load(certs.Files{Cert: "shop.pem", Key: "shop.key", CA: "clients.pem"}, certs.Options{})
	fmt.Println(errors.Is(err, os.ErrNotExist))
	// Output: true
}
