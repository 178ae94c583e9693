package rpc_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
)

// This file tests clients that fail in every dialect. In all of these tests
// other clients call the same server at the same time: their answers must be
// right, whatever happens beside them. What handlers do wrong is in
// fault_handler_test.go, what memory it costs in fault_memory_test.go, and
// what the system refuses in fault_system_test.go.

// host lets a server serve as listen does, for tests in which a machine with
// much to do must not refuse anybody for lack of time.
func host(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	server, address := listen(t, methods, append([]rpc.ServerOption{rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
	t.Cleanup(func() {
		eventually(t, "no memory is counted", func() bool { return server.Stats().Memory == 0 })
	})
	return server, address
}

// bystanders call echo in several dialects until the test ends, and check
// every answer. The function that is returned waits until each has had some
// more answers.
func bystanders(t *testing.T, address string) (served func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	answers := make([]atomic.Int64, 3)
	for i, opts := range [][]rpc.ClientOption{nil, {rpc.THeader(header.Zstd)}, {rpc.TTHeader()}} {
		client, err := rpc.Dial(ctx, "tcp", address, opts...)
		if err != nil {
			t.Fatal(err)
		}
		wg.Go(func() {
			defer client.Close()
			r := rand.New(rand.NewPCG(uint64(i), 5))
			for ctx.Err() == nil {
				call, stop := context.WithTimeout(context.Background(), patience)
				want := strings.Repeat(fmt.Sprint(i), r.IntN(3000))
				got, err := invoke(call, client, "echo", want)
				stop()
				if err != nil || got != want {
					t.Errorf("bystander %d: %d bytes of %d, %v", i, len(got), len(want), err)
					return
				}
				answers[i].Add(1)
				time.Sleep(time.Millisecond) // they are not the load
			}
		})
	}
	t.Cleanup(func() { cancel(); wg.Wait() })
	return func() {
		t.Helper()
		for i := range answers {
			n := answers[i].Load()
			eventually(t, "a bystander is served", func() bool { return t.Failed() || answers[i].Load() >= n+3 })
		}
	}
}

// exchange is a call and its reply as they went over the network.
type exchange struct{ request, reply []byte }

// tape is a connection that notes what passes.
type tape struct {
	net.Conn
	mu sync.Mutex
	exchange
}

func (c *tape) Write(b []byte) (int, error) {
	c.mu.Lock()
	c.request = append(c.request, b...)
	c.mu.Unlock()
	return c.Conn.Write(b)
}

func (c *tape) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reply = append(c.reply, b[:n]...)
	return n, err
}

// inEveryDialect runs a test with a call of echo in each dialect. The server
// answers the same bytes with the same bytes.
func inEveryDialect(t *testing.T, address string, test func(t *testing.T, e exchange)) {
	for name, opts := range dialects() {
		t.Run(name, func(t *testing.T) { test(t, record(t, address, opts, "echo", "an answer is an answer")) })
	}
}

// record makes a call and returns what went over the network.
func record(t *testing.T, address string, opts []rpc.ClientOption, method, text string) exchange {
	t.Helper()
	var c *tape
	opts = append(opts, rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
		nc, err := new(net.Dialer).DialContext(ctx, network, address)
		c = &tape{Conn: nc}
		return c, err
	}))
	client := dial(t, "tcp", address, opts...)
	defer client.Close()
	if got, err := invoke(t.Context(), client, method, text); err != nil || got != text {
		t.Fatalf("%q, %v", got, err)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.exchange
}

// open connects to a server.
func open(t testing.TB, address string) *net.TCPConn {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	c.SetDeadline(time.Now().Add(patience))
	return c.(*net.TCPConn)
}

// wantReply reads the reply of an exchange.
func (e exchange) wantReply(t *testing.T, c net.Conn) {
	t.Helper()
	c.SetReadDeadline(time.Now().Add(patience))
	got := make([]byte, len(e.reply))
	if n, err := io.ReadFull(c, got); err != nil || !bytes.Equal(got, e.reply) {
		t.Errorf("reply % x, %v\nwant % x", got[:n], err, e.reply)
	}
}

func TestMessagesOfEveryDialectMayArriveByteByByte(t *testing.T) {
	_, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		c := open(t, address)
		defer c.Close()
		for range 2 {
			for i := range e.request {
				c.Write(e.request[i : i+1]) // without Nagle's delay each travels alone
				runtime.Gosched()
			}
			e.wantReply(t, c)
		}
	})
	served()
}

// Every split of two calls in two reads.
func TestMessagesOfEveryDialectMayBeSplitAnywhere(t *testing.T) {
	_, address := host(t, []rpc.Method{echo})
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		c := open(t, address)
		defer c.Close()
		two := append(bytes.Clone(e.request), e.request...)
		for at := 1; at < len(two); at += 3 {
			c.Write(two[:at])
			if at%5 == 0 {
				time.Sleep(100 * time.Microsecond) // so that they do not meet in the socket
			}
			c.Write(two[at:])
			e.wantReply(t, c)
			e.wantReply(t, c)
		}
	})
}

func TestPeersThatAreKilledInMidFrameHarmNobody(t *testing.T) {
	server, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		for at := range e.request {
			c := open(t, address)
			c.Write(e.request[:at])
			if at%2 == 0 {
				c.SetLinger(0) // closes with a reset
			}
			c.Close()
		}
	})
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// The call was complete, but nobody takes the reply.
func TestPeersThatAreKilledBeforeTheReplyHarmNobody(t *testing.T) {
	server, address := host(t, []rpc.Method{echo})
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		for i := range 60 {
			c := open(t, address)
			c.Write(bytes.Repeat(e.request, 1+i%20))
			if i%2 == 0 {
				c.SetLinger(0)
			}
			c.Close()
		}
	})
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

func TestGarbageInEveryDialectHarmsNobody(t *testing.T) {
	server, address := host(t, []rpc.Method{echo}, rpc.ReadTimeout(time.Second))
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		r := rand.New(rand.NewPCG(1, uint64(len(e.request))))
		for at := range e.request {
			c := open(t, address)
			// A good call first, so that the dialect is known, then a damaged one.
			damaged := bytes.Clone(e.request)
			switch at % 3 {
			case 0: // a bit
				damaged[at] ^= 1 << r.IntN(8)
			case 1: // a byte
				damaged[at] = byte(r.Uint32())
			case 2: // all that follows
				for i := range damaged[at:] {
					damaged[at+i] = byte(r.Uint32())
				}
			}
			c.Write(e.request)
			e.wantReply(t, c)
			c.Write(damaged)
			c.CloseWrite()
			if _, err := io.Copy(io.Discard, c); isTimeout(err) {
				t.Errorf("the connection is still open after % x", damaged)
			}
			c.Close()
		}
	})
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// Every length in a frame, made what no frame has.
func TestLengthsThatCannotBeAreRefused(t *testing.T) {
	server, address := host(t, []rpc.Method{echo}, rpc.MaxFrameSize(1<<20))
	served := bystanders(t, address)
	inEveryDialect(t, address, func(t *testing.T, e exchange) {
		for _, length := range []string{"\xff\xff\xff\xff", "\x80\x00\x00\x00", "\x7f\xff\xff\xff", "\x00\x10\x00\x01", "\x3f\xff\xff\xff", "\xff\xff\xff\xff\x7f"} {
			for at := range len(e.request) - len(length) {
				c := open(t, address)
				damaged := bytes.Clone(e.request)
				copy(damaged[at:], length)
				c.Write(damaged)
				c.CloseWrite()
				if got, err := io.ReadAll(c); isTimeout(err) || len(got) > 1<<12 {
					t.Errorf("%d bytes, %v from % x", len(got), err, damaged)
				}
				c.Close()
			}
		}
	})
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// Connections that come and go, faster than they can be served.
func TestAStormOfConnectionsHarmsNobody(t *testing.T) {
	server, address := host(t, []rpc.Method{echo}, rpc.MaxConnections(40))
	served := bystanders(t, address)
	e := record(t, address, nil, "echo", "x")
	before := runtime.NumGoroutine()
	var most atomic.Int64
	var storm sync.WaitGroup
	for i := range 8 {
		storm.Go(func() {
			for n := range 200 {
				c, err := net.Dial("tcp", address)
				if err != nil {
					continue // the backlog is full
				}
				c.SetDeadline(time.Now().Add(patience))
				switch (n + i) % 4 {
				case 0:
					c.(*net.TCPConn).SetLinger(0)
				case 1:
					c.Write(e.request)
				case 2:
					c.Write(e.request[:5])
				case 3: // served or told why not
					c.Write(e.request)
					if _, err := c.Read(make([]byte, 1)); isTimeout(err) {
						t.Error("neither a reply nor the end")
					}
				}
				c.Close()
				if n := int64(runtime.NumGoroutine()); n > most.Load() {
					most.Store(n)
				}
			}
		})
	}
	storm.Wait()
	// A few for each connection that is served, and one for each that is being refused.
	if grown := most.Load() - int64(before); grown > 8+40*4+200 {
		t.Errorf("%d goroutines more than before", grown)
	}
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
}

// A half-open connection: the client's machine is gone, so nothing arrives
// any more, not even an end, and what is written is lost in buffers.
func TestHalfOpenConnectionsEndWhenTheyAreIdle(t *testing.T) {
	server, address := host(t, []rpc.Method{echo}, rpc.IdleTimeout(2*time.Second), rpc.ReadTimeout(200*time.Millisecond)) // which no bystander reaches
	served := bystanders(t, address)
	e := record(t, address, nil, "echo", "x")
	l := &halfOpen{conns: make(chan net.Conn, 30), closed: make(chan struct{})}
	for i := range cap(l.conns) {
		sent := [][]byte{nil, e.request[:9], e.request}[i%3]
		l.conns <- newLostConn(sent)
	}
	done := make(chan error, 1)
	go func() { done <- server.Serve(l) }()
	eventually(t, "all have come", func() bool { return len(l.conns) == 0 })
	eventually(t, "only the bystanders are connected", func() bool { return rpc.Connections(server) == 3 })
	served()
	l.Close()
	receive(t, "Serve returns", done)
}

// halfOpen is a listener of connections whose clients are lost.
type halfOpen struct {
	conns  chan net.Conn
	once   sync.Once
	closed chan struct{}
}

func (l *halfOpen) Accept() (net.Conn, error) {
	select {
	case c := <-l.conns:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *halfOpen) Close() error {
	l.once.Do(func() { close(l.closed) })
	return nil
}

func (l *halfOpen) Addr() net.Addr { return &net.UnixAddr{Name: "lost"} }

// lostConn is a connection to a client that has sent something and is lost.
type lostConn struct {
	net.Conn // to itself, for the deadlines
	other    net.Conn
	sent     []byte
}

func newLostConn(sent []byte) *lostConn {
	a, b := net.Pipe()
	return &lostConn{a, b, sent}
}

func (c *lostConn) Read(b []byte) (int, error) {
	if len(c.sent) > 0 {
		n := copy(b, c.sent)
		c.sent = c.sent[n:]
		return n, nil
	}
	return c.Conn.Read(b)
}

func (c *lostConn) Write(b []byte) (int, error) { return len(b), nil }

func (c *lostConn) Close() error {
	c.other.Close()
	return c.Conn.Close()
}
