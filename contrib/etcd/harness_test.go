package etcd_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"sync"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"
	"google.golang.org/grpc"

	"github.com/thrum-rpc/thrum/contrib/etcd"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file starts, stops and cuts off an etcd, and listens to resolvers.

// patience is how long a test waits for what must happen.
const patience = 60 * time.Second

// registry is an etcd in this process, and the network that leads to it.
type registry struct {
	t   *testing.T
	dir string

	mu      sync.Mutex
	member  *embed.Etcd
	address string // empty while it is cut off
	conns   []net.Conn
}

func newRegistry(t *testing.T) *registry {
	t.Helper()
	r := &registry{t: t, dir: t.TempDir()}
	r.start()
	t.Cleanup(r.stop)
	return r
}

// start starts the member over the data of the last one.
func (r *registry) start() {
	r.t.Helper()
	member, err := startEtcd(r.dir)
	if err != nil {
		r.t.Fatal(err)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.member, r.address = member, member.Clients[0].Addr().String()
}

// startEtcd starts an etcd on free ports.
func startEtcd(dir string) (*embed.Etcd, error) {
	config := embed.NewConfig()
	config.Dir = dir
	config.TickMs, config.ElectionMs = 10, 100
	config.UnsafeNoFsync = true
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	free := url.URL{Scheme: "http", Host: "127.0.0.1:0"}
	config.ListenClientUrls, config.ListenPeerUrls = []url.URL{free}, []url.URL{free}
	member, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-member.Server.ReadyNotify():
		return member, nil
	case err := <-member.Err():
		return nil, err
	case <-time.After(patience):
		member.Close()
		return nil, errors.New("etcd does not start")
	}
}

func (r *registry) stop() {
	r.cut()
	if r.member != nil {
		r.member.Close()
		r.member = nil
	}
}

// cut cuts all clients off.
func (r *registry) cut() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.address = ""
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

// join ends that.
func (r *registry) join() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.address = r.member.Clients[0].Addr().String()
}

// dial leads to the member, wherever it listens.
func (r *registry) dial(ctx context.Context, _ string) (net.Conn, error) {
	r.mu.Lock()
	address := r.address
	r.mu.Unlock()
	if address == "" {
		return nil, errors.New("cut off")
	}
	c, err := new(net.Dialer).DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.address != address {
		c.Close()
		return nil, errors.New("cut off")
	}
	r.conns = append(r.conns, c)
	return c, nil
}

// client returns a client that is not cut off with the others if direct.
func (r *registry) client(direct bool) *clientv3.Client {
	r.t.Helper()
	config := clientv3.Config{Endpoints: []string{"http://etcd.test:2379"}, Logger: zap.NewNop()}
	if direct {
		config.Endpoints = []string{"http://" + r.member.Clients[0].Addr().String()}
	} else {
		config.DialOptions = []grpc.DialOption{grpc.WithContextDialer(r.dial)}
	}
	c, err := clientv3.New(config)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { c.Close() })
	return c
}

// register registers an address until the test ends.
func (r *registry) register(a resolve.Address, opts ...etcd.Option) *etcd.Registration {
	r.t.Helper()
	reg, err := etcd.Register(r.t.Context(), r.client(false), "shop", a, opts...)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), time.Second)
		defer cancel()
		reg.Close(ctx) // fails where etcd is gone
	})
	return reg
}

// listener hears what a resolver says.
type listener struct {
	t        *testing.T
	mu       sync.Mutex
	sets     int
	last     []resolve.Address
	failures []error
}

func (l *listener) Addresses(set []resolve.Address) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sets++
	l.last = set
}

func (l *listener) Failed(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failures = append(l.failures, err)
}

func (l *listener) Doubts() <-chan struct{} { return nil }

// set returns the last set.
func (l *listener) set() []resolve.Address {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.last
}

// resolve starts a resolver of the service, which ends with the test.
func (r *registry) resolve(opts ...etcd.Option) *listener {
	r.t.Helper()
	l := &listener{t: r.t}
	resolver := etcd.NewResolver(r.client(false), "shop", opts...)
	ctx, cancel := context.WithCancel(r.t.Context())
	ended := make(chan error, 1)
	go func() { ended <- resolver.Resolve(ctx, l) }()
	r.t.Cleanup(func() {
		cancel()
		select {
		case err := <-ended:
			if err != nil {
				r.t.Errorf("Resolve: %v", err)
			}
		case <-time.After(patience):
			r.t.Error("Resolve does not end")
		}
	})
	return l
}

// await waits until the addresses are these.
func (l *listener) await(want ...string) {
	l.t.Helper()
	got := []string{"nothing yet"}
	eventually(l.t, fmt.Sprint("the addresses are ", want), func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.sets == 0 {
			return false
		}
		got = nil
		for _, a := range l.last {
			got = append(got, a.Addr)
		}
		return slices.Equal(got, want)
	})
}

// failed waits until one of the failures is as wanted.
func (l *listener) failed(what string, ok func(error) bool) {
	l.t.Helper()
	eventually(l.t, what, func() bool {
		l.mu.Lock()
		defer l.mu.Unlock()
		return slices.ContainsFunc(l.failures, ok)
	})
}

func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}
