package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// fleet is some servers in memory, which can be reached by their names. In a synctest bubble its
// time is that of the bubble.
type fleet struct {
	t    *testing.T
	mu   sync.Mutex
	node map[string]*node
}

// node is one server of a fleet.
type node struct {
	fleet    *fleet
	name     string
	opts     []rpc.ServerOption
	listener *rpctest.Listener // nil while it is down
	server   *rpc.Server
	served   chan error
	silent   bool // takes no connections, and says nothing

	calls   atomic.Int64                                    // that have begun
	dials   atomic.Int64                                    // that were tried
	handler atomic.Pointer[func(ctx context.Context) error] // nil to answer at once
}

func newFleet(t *testing.T, names ...string) *fleet {
	f := &fleet{t: t, node: map[string]*node{}}
	for _, name := range names {
		n := &node{fleet: f, name: name}
		f.node[name] = n
		n.start()
	}
	t.Cleanup(f.stop)
	return f
}

// stop stops all servers. Within a bubble it is called before the bubble ends.
func (f *fleet) stop() {
	for _, n := range f.node {
		n.stop()
	}
}

// start lets the server serve.
func (n *node) start() {
	server := rpc.NewServer(append([]rpc.ServerOption{rpc.Logger(slog.New(slog.DiscardHandler)), rpc.Workers(256)}, n.opts...)...)
	method := rpc.Method{Name: "echo", Serve: func(ctx context.Context, args, dst []byte) ([]byte, error) {
		n.calls.Add(1)
		if h := n.handler.Load(); h != nil {
			if err := (*h)(ctx); err != nil {
				return nil, err
			}
		}
		return append(dst, args...), nil
	}}
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{method, rpc.BidiStreaming("chat", n.chat)}}); err != nil {
		n.fleet.t.Fatal(err)
	}
	if err := server.Register(&rpc.Service{Name: "pkg.M", Methods: n.onMessages()}); err != nil {
		n.fleet.t.Fatal(err)
	}
	l, served := rpctest.NewListener(), make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	n.fleet.mu.Lock()
	defer n.fleet.mu.Unlock()
	n.server, n.listener, n.served = server, l, served
}

// stop kills the server: connections break, and new ones are refused.
func (n *node) stop() {
	n.fleet.mu.Lock()
	server, served := n.server, n.served
	n.server, n.listener = nil, nil
	n.fleet.mu.Unlock()
	if server != nil {
		server.Close()
		<-served
	}
}

// handle sets what calls do before they are answered.
func (n *node) handle(f func(ctx context.Context) error) { n.handler.Store(&f) }

// slow makes calls take time.
func (n *node) slow(d time.Duration) {
	n.handle(func(ctx context.Context) error {
		select {
		case <-time.After(d):
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	})
}

var errRefused = errors.New("connection refused")

// dial connects to a server of the fleet.
func (f *fleet) dial(ctx context.Context, _, address string) (net.Conn, error) {
	f.mu.Lock()
	n := f.node[address]
	var l *rpctest.Listener
	silent := false
	if n != nil {
		l, silent = n.listener, n.silent
		n.dials.Add(1)
	}
	f.mu.Unlock()
	if silent {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if l == nil {
		return nil, errRefused
	}
	return l.DialContext(ctx, "", "")
}

// hush makes a server take no connections and say nothing.
func (n *node) hush(silent bool) {
	n.fleet.mu.Lock()
	defer n.fleet.mu.Unlock()
	n.silent = silent
}

// client returns a client of all servers of the fleet, which the caller closes.
func (f *fleet) client(opts ...cluster.Option) *cluster.Client {
	f.t.Helper()
	var set []resolve.Address
	for name := range f.node {
		set = append(set, resolve.Address{Addr: name})
	}
	return f.clientOf(resolve.Static(set...), opts...)
}

func (f *fleet) clientOf(r resolve.Resolver, opts ...cluster.Option) *cluster.Client {
	f.t.Helper()
	opts = append([]cluster.Option{cluster.Dialer(f.dial), cluster.Dial(rpc.TTHeader()), cluster.WarmUp(0)}, opts...)
	c, err := cluster.New(r, opts...)
	if err != nil {
		f.t.Fatal(err)
	}
	return c
}

// counts returns the calls that began on each server.
func (f *fleet) counts() map[string]int64 {
	m := map[string]int64{}
	for name, n := range f.node {
		m[name] = n.calls.Load()
	}
	return m
}

// reset forgets the calls that were counted.
func (f *fleet) reset() {
	for _, n := range f.node {
		n.calls.Store(0)
		n.dials.Store(0)
	}
}

func echo(ctx context.Context, c rpc.Caller) error {
	return c.Invoke(ctx, &rpc.Invocation{Method: "echo"})
}

// warm connects c to its whole fleet.
func warm(t *testing.T, c *cluster.Client) {
	t.Helper()
	if err := c.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// source is a resolver that says what a test tells it.
type source chan any // []resolve.Address or error

func (s source) Resolve(ctx context.Context, l resolve.Listener) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case v := <-s:
			switch v := v.(type) {
			case []resolve.Address:
				l.Addresses(v)
			case error:
				l.Failed(v)
			}
		}
	}
}

func addresses(names ...string) []resolve.Address {
	var set []resolve.Address
	for _, n := range names {
		set = append(set, resolve.Address{Addr: n})
	}
	return set
}

// log gathers events.
type eventLog struct {
	mu    sync.Mutex
	lines []string
}

func (l *eventLog) add(e cluster.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	line := fmt.Sprint(e.Kind, " ", e.Address)
	if e.Kind == cluster.BreakerChanged {
		line = fmt.Sprint("breaker ", e.Breaker, " ", e.Address)
	}
	l.lines = append(l.lines, line)
}

// has reports how often an event was.
func (l *eventLog) count(line string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, x := range l.lines {
		if x == line {
			n++
		}
	}
	return n
}
