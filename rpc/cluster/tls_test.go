package cluster_test

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/certs"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// This file tests clients that speak TLS, against servers of package rpc.

func tomorrow() time.Time { return time.Now().Add(24 * time.Hour) }

// writeFiles writes a certificate for names, its key, and the authority to trust.
func writeFiles(t *testing.T, dir string, ca *rpctest.CA, names ...string) certs.Files {
	t.Helper()
	cert, key := ca.Issue(t, tomorrow(), names...)
	f := certs.Files{Cert: filepath.Join(dir, "cert.pem"), Key: filepath.Join(dir, "key.pem"), CA: filepath.Join(dir, "ca.pem")}
	for name, content := range map[string][]byte{f.Cert: cert, f.Key: key, f.CA: ca.PEM()} {
		if err := os.WriteFile(name, content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return f
}

// store loads certificates for names, to be changed by writing to dir again.
func store(t *testing.T, dir string, ca *rpctest.CA, names ...string) *certs.Store {
	t.Helper()
	s, err := certs.Load(writeFiles(t, dir, ca, names...), certs.Options{ClientAuth: tls.RequireAndVerifyClientCert})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// secured starts a server that wants certificates of its clients.
func secured(t *testing.T, s *certs.Store) *station {
	t.Helper()
	config, err := s.ServerConfig()
	if err != nil {
		t.Fatal(err)
	}
	return newStation(t, rpc.TLS(config))
}

// callTLS makes one call by a client of its own.
func callTLS(t *testing.T, set []resolve.Address, opts ...cluster.Option) error {
	t.Helper()
	c, err := cluster.New(resolve.Static(set...), append([]cluster.Option{cluster.DialTimeout(patience), cluster.Timeout(patience)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Connect(t.Context()); err != nil {
		return err
	}
	for range 10 {
		if err := echo(t.Context(), c); err != nil {
			return err
		}
	}
	return nil
}

// byStore is the option of a client whose certificates a store has.
func byStore(s *certs.Store) cluster.Option {
	return cluster.TLSFor(func(a resolve.Address) *tls.Config { return s.ClientConfig(a.Host()) })
}

func TestEachAddressHasItsServerName(t *testing.T) {
	noLeaks(t)
	ca := rpctest.NewCA(t)
	first, second := secured(t, store(t, t.TempDir(), ca, "one.test")), secured(t, store(t, t.TempDir(), ca, "127.0.0.1"))
	client := byStore(store(t, t.TempDir(), ca, "reader"))
	good := []resolve.Address{{Addr: first.address, TLSName: "one.test"}, {Addr: second.address}}
	if err := callTLS(t, good, client, cluster.Balance(cluster.RoundRobin())); err != nil {
		t.Error(err)
	}
	if first.calls.Load() == 0 || second.calls.Load() == 0 {
		t.Errorf("%d and %d calls", first.calls.Load(), second.calls.Load())
	}
	wrong := []resolve.Address{{Addr: first.address, TLSName: "two.test"}}
	var name x509.HostnameError
	if err := callTLS(t, wrong, client); !errors.Is(err, cluster.ErrUnavailable) || !strings.Contains(err.Error(), "two.test") {
		t.Errorf("another name: %v, %v", err, name)
	}
	plain := &tls.Config{RootCAs: ca.Pool()}
	cert, key := ca.Issue(t, tomorrow(), "reader")
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	plain.Certificates = []tls.Certificate{pair}
	if err := callTLS(t, good, cluster.TLS(plain)); err != nil {
		t.Errorf("with one configuration for all: %v", err)
	}
	plain.Certificates = nil
	if err := callTLS(t, good, cluster.TLS(plain)); err == nil {
		t.Error("without a certificate of the client")
	}
}

func TestNewConnectionsUseNewCertificates(t *testing.T) {
	noLeaks(t)
	old, fresh := rpctest.NewCA(t), rpctest.NewCA(t)
	serverDir, clientDir := t.TempDir(), t.TempDir()
	ss, cs := store(t, serverDir, old, "shop.test"), store(t, clientDir, old, "reader")
	s := secured(t, ss)
	c, err := cluster.New(resolve.Static(resolve.Address{Addr: s.address, TLSName: "shop.test"}), byStore(cs),
		cluster.Idempotent("echo"), cluster.WaitForAddress(), cluster.DialTimeout(patience), cluster.Timeout(patience),
		cluster.Reconnect(resolve.Backoff{Base: time.Millisecond, Max: 10 * time.Millisecond}))
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := echo(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	writeFiles(t, serverDir, fresh, "shop.test")
	if _, err := ss.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := echo(t.Context(), c); err != nil {
		t.Errorf("the connection that stands: %v", err)
	}
	s.reset()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if err := echo(ctx, c); err == nil {
		t.Error("a server of an unknown authority is trusted")
	}
	writeFiles(t, clientDir, fresh, "reader")
	if _, err := cs.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := echo(t.Context(), c); err != nil {
		t.Errorf("with the new certificates: %v", err)
	}
}

// keyOf returns the pin of a certificate in PEM.
func keyOf(t *testing.T, text []byte) [sha256.Size]byte {
	t.Helper()
	block, _ := pem.Decode(text)
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return sha256.Sum256(c.RawSubjectPublicKeyInfo)
}

func TestPinnedKeysAreWanted(t *testing.T) {
	noLeaks(t)
	ca, other := rpctest.NewCA(t), rpctest.NewCA(t)
	dir := t.TempDir()
	s := secured(t, store(t, dir, ca, "shop.test"))
	own, err := os.ReadFile(filepath.Join(dir, "cert.pem"))
	if err != nil {
		t.Fatal(err)
	}
	set := []resolve.Address{{Addr: s.address, TLSName: "shop.test"}}
	reader := store(t, t.TempDir(), ca, "reader")
	pair, err := tls.X509KeyPair(ca.Issue(t, tomorrow(), "reader"))
	if err != nil {
		t.Fatal(err)
	}
	plain := cluster.TLS(&tls.Config{RootCAs: ca.Pool(), Certificates: []tls.Certificate{pair}})
	for name, c := range map[string]struct {
		tls  cluster.Option
		pin  [sha256.Size]byte
		want bool
	}{
		"the server's":           {byStore(reader), keyOf(t, own), true},
		"the server's, plain":    {plain, keyOf(t, own), true},
		"its authority's, plain": {plain, keyOf(t, ca.PEM()), true},
		"another":                {byStore(reader), keyOf(t, other.PEM()), false},
		"another, plain":         {plain, keyOf(t, other.PEM()), false},
	} {
		err := callTLS(t, set, c.tls, cluster.PinTLS(cluster.PinKeys(c.pin)))
		if (err == nil) != c.want || err != nil && !strings.Contains(err.Error(), "pinned key") {
			t.Errorf("%s: %v", name, err)
		}
	}
	stranger := byStore(store(t, t.TempDir(), other, "reader"))
	if err := callTLS(t, set, stranger, cluster.PinTLS(cluster.PinKeys(keyOf(t, own)))); err == nil || strings.Contains(err.Error(), "pinned key") {
		t.Errorf("a pinned key of an unknown authority: %v", err)
	}
}
