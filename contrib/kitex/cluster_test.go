package kitex_test

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cloudwego/kitex/pkg/transmeta"
	"github.com/cloudwego/kitex/server"

	full "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/full/shop/shop"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests Kitex's servers behind Thrum's client of many addresses.

// wire passes connections on to a server, so that the server can be killed as the network sees it.
type wire struct {
	address string
	l       net.Listener
	work    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func newWire(t *testing.T, target string) *wire {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &wire{address: l.Addr().String(), l: l}
	w.work.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", target)
			if err != nil {
				c.Close()
				continue
			}
			w.mu.Lock()
			w.conns = append(w.conns, c, s)
			w.mu.Unlock()
			for _, pair := range [][2]net.Conn{{c, s}, {s, c}} {
				w.work.Go(func() {
					io.Copy(pair[0], pair[1])
					pair[0].Close()
					pair[1].Close()
				})
			}
		}
	})
	t.Cleanup(func() {
		w.kill()
		w.work.Wait()
	})
	return w
}

// kill refuses connections, and resets those that stand.
func (w *wire) kill() {
	w.l.Close()
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, c := range w.conns {
		c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
}

func TestAClusterOfKitexServersLosesOne(t *testing.T) {
	for name, dialect := range map[string]rpc.ClientOption{"framed": rpc.Framed(), "unframed": rpc.Unframed(), "TTHeader": rpc.TTHeader()} {
		t.Run(name, func(t *testing.T) {
			var wires []*wire
			var hosts []string
			for _, who := range []string{"a", "b", "c"} {
				address := run(t, full.NewServiceInfo(), &shopkeeper{version: func(context.Context) (string, error) { return who, nil }},
					server.WithMetaHandler(transmeta.ServerTTHeaderHandler))
				w := newWire(t, address)
				wires, hosts = append(wires, w), append(hosts, w.address)
			}
			c, err := cluster.New(resolve.Hosts(hosts...), cluster.Dial(dialect), cluster.WarmUp(0), cluster.Idempotent("version"), cluster.Timeout(time.Minute))
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			if err := c.Connect(t.Context()); err != nil {
				t.Fatal(err)
			}
			var answered [3]atomic.Int64
			ctx, cancel := context.WithCancel(t.Context())
			var wg sync.WaitGroup
			for range 8 {
				wg.Go(func() {
					for ctx.Err() == nil {
						who, err := callVersion(t.Context(), c)
						if err != nil || len(who) != 1 || !strings.Contains("abc", who) {
							t.Errorf("%q, %v", who, err)
							return
						}
						answered[who[0]-'a'].Add(1)
					}
				})
			}
			more := func(n int64, servers ...int) {
				for _, i := range servers {
					from := answered[i].Load()
					eventually(t, "no more calls are answered", func() bool { return answered[i].Load() >= from+n })
				}
			}
			more(100, 0, 1, 2)
			wires[1].kill()
			more(300, 0, 2)
			cancel()
			wg.Wait()
			// An exception of the framework is an answer: it fails no address.
			var exception *rpc.ApplicationException
			if err := c.Invoke(t.Context(), &rpc.Invocation{Method: "fly"}); !errors.As(err, &exception) {
				t.Errorf("a method that there is not: %v", err)
			}
		})
	}
}
