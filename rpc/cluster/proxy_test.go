package cluster_test

import (
	"context"
	"log/slog"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds servers over TCP with a bad network before them.

// patience is how long a test waits for what must happen before it fails. It
// is long, because it only passes when something is wrong.
const patience = 30 * time.Second

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// counted waits until a count has come to n. However long that takes: it fails when the count stands still.
func counted(t *testing.T, what string, count func() int64, n int64) {
	t.Helper()
	for have := count(); have < n; have = count() {
		eventually(t, what, func() bool { return count() > have })
	}
}

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

// station is a server behind a proxy.
type station struct {
	*proxy
	server *rpc.Server
	calls  atomic.Int64

	mu    sync.Mutex
	order []string // the arguments of calls, as they came; those without are left out
}

// arrived returns how often each call has come.
func (s *station) arrived() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	times := map[string]int{}
	for _, args := range s.order {
		times[args]++
	}
	return times
}

// newStation starts a server, which answers echo, and its proxy. Calls have any time unless opts say otherwise.
func newStation(t *testing.T, opts ...rpc.ServerOption) *station {
	t.Helper()
	s := &station{}
	s.server = rpc.NewServer(append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
	method := rpc.Method{Name: "echo", Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
		s.calls.Add(1)
		if len(args) > 1 {
			s.mu.Lock()
			s.order = append(s.order, string(args))
			s.mu.Unlock()
		}
		return append(dst, args...), nil
	}}
	if err := s.server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{method}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.server.Serve(l)
	}()
	s.proxy = newProxy(t, l.Addr().String())
	t.Cleanup(func() {
		s.server.Close()
		<-served
	})
	return s
}

// weather is what a proxy does to bytes.
type weather int32

const (
	fair    weather = iota
	slow            // bytes to the server come late
	narrow          // few bytes pass in a second, in either direction
	deaf            // what the server says is lost
	void            // all is lost; connections are made
	lossy           // some bytes are lost and sent again, so that they and all behind them come late
	crossed         // the older a connection, the later its bytes: those of a younger one overtake them
)

// lateness is how late bytes are in slow weather.
const lateness = 300 * time.Millisecond

// resent is after which time lost bytes come, and of how many pieces one is lost.
const (
	resent   = 200 * time.Millisecond
	lostOnce = 20
)

// proxy passes connections on to a server, as the weather is. It keeps its port as long as the
// test runs; who is to find it closed connects by dial.
type proxy struct {
	target, address string
	weather         atomic.Int32
	work            sync.WaitGroup
	l               net.Listener

	mu     sync.Mutex
	closed bool
	conns  map[net.Conn]struct{}
	made   int           // connections
	over   chan struct{} // closed when the test ends
}

func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{target: target, address: l.Addr().String(), l: l, conns: map[net.Conn]struct{}{}, over: make(chan struct{})}
	p.work.Add(1)
	go func() {
		defer p.work.Done()
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			p.serve(c)
		}
	}()
	t.Cleanup(func() {
		close(p.over)
		p.close()
		l.Close()
		p.work.Wait()
	})
	return p
}

// dial connects to the proxy, unless it is closed.
func (p *proxy) dial(ctx context.Context, network, address string) (net.Conn, error) {
	p.mu.Lock()
	closed := p.closed
	p.mu.Unlock()
	if closed {
		return nil, &net.OpError{Op: "dial", Net: network, Err: syscall.ECONNREFUSED}
	}
	return new(net.Dialer).DialContext(ctx, network, address)
}

// open takes connections again.
func (p *proxy) open() { p.shut(false) }

// close refuses connections, and resets those that stand.
func (p *proxy) close() {
	p.shut(true)
	p.reset()
}

func (p *proxy) shut(closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = closed
}

// held returns how many connections pass the proxy.
func (p *proxy) held() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.conns) / 2
}

// reset ends the connections that stand without a goodbye.
func (p *proxy) reset() {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

// change makes other weather.
func (p *proxy) change(w weather) { p.weather.Store(int32(w)) }

// serve passes one connection on.
func (p *proxy) serve(c net.Conn) {
	s, err := net.Dial("tcp", p.target)
	if err != nil {
		c.Close()
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		c.Close()
		s.Close()
		return
	}
	p.made++
	for _, x := range []net.Conn{c, s} {
		p.conns[x] = struct{}{}
	}
	p.work.Add(2)
	go p.pass(s, c, false, p.made)
	go p.pass(c, s, true, p.made)
}

// pass passes bytes from one side to the other until either ends. number is that of the connection.
func (p *proxy) pass(to, from net.Conn, answers bool, number int) {
	defer p.work.Done()
	defer func() {
		to.Close()
		from.Close()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.conns, to)
		delete(p.conns, from)
	}()
	b := make([]byte, 32<<10)
	for pieces := 1; ; pieces++ {
		size := len(b)
		if weather(p.weather.Load()) == narrow {
			size = 16
		}
		n, err := from.Read(b[:size])
		w := weather(p.weather.Load())
		switch {
		case w == slow && !answers:
			p.pause(lateness)
		case w == narrow:
			p.pause(50 * time.Millisecond)
		case w == lossy && pieces%lostOnce == 0:
			p.pause(resent)
		case w == crossed && !answers:
			p.pause(time.Duration(max(4-number, 0)) * 20 * time.Millisecond)
		case w == void, w == deaf && answers:
			n = 0
		}
		if _, failed := to.Write(b[:n]); failed != nil || err != nil {
			return
		}
	}
}

// pause waits, unless the test ends.
func (p *proxy) pause(d time.Duration) {
	select {
	case <-time.After(d):
	case <-p.over:
	}
}
