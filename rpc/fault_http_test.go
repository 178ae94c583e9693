package rpc_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// This file tests clients that fail over HTTP and inside TLS. Their bytes are
// never the same twice, so the faults lie in the connections of real clients.

// web serves echo and others on a port that has TLS for who wants it, and
// returns the options of clients.
func web(t *testing.T, opts ...rpc.ServerOption) (server *rpc.Server, address string, clients map[string][]rpc.ClientOption) {
	t.Helper()
	ca := rpctest.NewCA(t)
	secured := reader(t, ca)
	opts = append([]rpc.ServerOption{secure(t, ca), rpc.TLSPermitted(), rpc.MaxFrameSize(1 << 20)}, opts...)
	server, address = host(t, []rpc.Method{echo}, opts...)
	return server, address, map[string][]rpc.ClientOption{
		"HTTP/1.1":          {rpc.HTTP("http://shop.test/")},
		"HTTP/2":            {rpc.HTTP2("http://shop.test/")},
		"framed in TLS":     {secured},
		"TTHeader in TLS":   {rpc.TTHeader(), secured},
		"HTTP/1.1 in TLS":   {rpc.HTTP("https://shop.test/"), secured},
		"HTTP/2 inside TLS": {rpc.HTTP2("https://shop.test/"), secured},
	}
}

// through lets a client's connections go through a fault.
func through(opts []rpc.ClientOption, fault func(net.Conn) net.Conn) []rpc.ClientOption {
	return append(append([]rpc.ClientOption(nil), opts...), rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		c, err := new(net.Dialer).DialContext(ctx, network, address)
		if err != nil {
			return nil, err
		}
		return fault(c), nil
	}))
}

// callOnce makes a call on a client of its own.
func callOnce(address, text string, opts []rpc.ClientOption) (string, error) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	client, err := rpc.Dial(ctx, "tcp", address, opts...)
	if err != nil {
		return "", err
	}
	defer client.Close()
	return invoke(ctx, client, "echo", text)
}

// dripping sends a byte at a time.
type dripping struct{ net.Conn }

func (d dripping) Write(b []byte) (int, error) {
	for i := range b {
		if _, err := d.Conn.Write(b[i : i+1]); err != nil {
			return i, err
		}
	}
	return len(b), nil
}

func TestWebClientsMaySendAndReadSlowly(t *testing.T) {
	_, address, clients := web(t)
	served := bystanders(t, address)
	for name, opts := range clients {
		t.Run(name, func(t *testing.T) {
			if got, err := callOnce(address, "drop by drop", through(opts, func(c net.Conn) net.Conn { return dripping{c} })); err != nil || got != "drop by drop" {
				t.Errorf("%q, %v", got, err)
			}
			long := strings.Repeat("slowly ", 10_000)
			if got, err := callOnce(address, long, through(opts, func(c net.Conn) net.Conn { return slowReader{c} })); err != nil || got != long {
				t.Errorf("%d bytes of %d, %v", len(got), len(long), err)
			}
		})
	}
	served()
}

// dying lets so many bytes out and then dies.
type dying struct {
	net.Conn
	left  int
	reset bool
}

func (d *dying) Write(b []byte) (int, error) {
	if len(b) <= d.left {
		d.left -= len(b)
		return d.Conn.Write(b)
	}
	n, _ := d.Conn.Write(b[:d.left])
	d.left = 0
	if d.reset {
		d.Conn.(*net.TCPConn).SetLinger(0)
	}
	d.Conn.Close()
	return n, errors.New("died")
}

func TestWebClientsThatAreKilledHarmNobody(t *testing.T) {
	server, address, clients := web(t)
	served := bystanders(t, address)
	for name, opts := range clients {
		t.Run(name, func(t *testing.T) {
			for at := 1; ; at += 1 + at/15 {
				got, err := callOnce(address, "never mind", through(opts, func(c net.Conn) net.Conn {
					return &dying{Conn: c, left: at, reset: at%2 == 0}
				}))
				if err == nil && got == "never mind" {
					break
				}
				if err == nil || at > 1<<20 {
					t.Fatalf("killed after %d bytes: %q, %v", at, got, err)
				}
			}
		})
	}
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// noisy damages a byte that it sends.
type noisy struct {
	net.Conn
	at   int
	flip byte
}

func (d *noisy) Write(b []byte) (int, error) {
	if d.at < len(b) && d.at >= 0 {
		damaged := append([]byte(nil), b...)
		damaged[d.at] ^= d.flip
		b = damaged
	}
	d.at -= len(b)
	return d.Conn.Write(b)
}

// The answer may be anything but a wrong one that was not asked for: the
// server and the others go on.
func TestGarbageFromWebClientsHarmsNobody(t *testing.T) {
	server, address, clients := web(t, rpc.ReadTimeout(200*time.Millisecond), rpc.IdleTimeout(5*time.Second))
	served := bystanders(t, address)
	r := rand.New(rand.NewPCG(3, 1))
	for name, opts := range clients {
		t.Run(name, func(t *testing.T) {
			var wg sync.WaitGroup
			for range 40 {
				at, flip := r.IntN(400), byte(1<<r.IntN(8))
				call := through(opts, func(c net.Conn) net.Conn { return &noisy{c, at, flip} })
				wg.Go(func() {
					callOnce(address, "garbled", append(call, rpc.CallTimeout(300*time.Millisecond), rpc.DialTimeout(300*time.Millisecond)))
				})
			}
			wg.Wait()
		})
	}
	var wg sync.WaitGroup
	for range 200 { // and what speaks nothing at all after a beginning that looks good
		c := open(t, address)
		start := []string{"POST /thrift HTTP/1.1\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"}[r.IntN(4)]
		noise := make([]byte, r.IntN(300))
		for i := range noise {
			noise[i] = byte(r.Uint32())
		}
		wg.Go(func() {
			defer c.Close()
			io.WriteString(c, start+string(noise))
			c.CloseWrite()
			if n, err := io.Copy(io.Discard, c); isTimeout(err) || n > 1<<12 {
				t.Errorf("%d bytes, %v after %q and noise", n, err, start)
			}
		})
	}
	wg.Wait()
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// Requests that claim to be large, or never end.
func TestWebClientsCostWhatTheySend(t *testing.T) {
	server, address, _ := web(t, rpc.ReadTimeout(patience))
	served := bystanders(t, address)
	before := memory()
	const clients = 100
	for i := range clients {
		c := open(t, address)
		defer c.Close()
		switch i % 4 {
		case 0: // a body of a megabyte, of which a kilobyte comes
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-thrift\r\nContent-Length: 1000000\r\n\r\n%s", strings.Repeat("x", 1000))
		case 1: // headers without end
			fmt.Fprintf(c, "POST / HTTP/1.1\r\nHost: x\r\nX: %s", strings.Repeat("x", 1000))
		case 2: // HTTP/2 that says hello and no more
			io.WriteString(c, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\x00\x00\x00\x04\x00\x00\x00\x00\x00")
		case 3: // a handshake that does not go on
			io.WriteString(c, "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03")
		}
	}
	eventually(t, "all are connected", func() bool { return rpc.Connections(server) == clients+3 })
	wantMemory(t, "100 clients that have sent a kilobyte", before, clients*128<<10)
	served()
}
