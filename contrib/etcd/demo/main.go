// Command demo shows three bookshops that register in an etcd of its own, and
// a client that finds them there. "thrum demo --etcd" runs it.
package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/url"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.etcd.io/etcd/server/v3/embed"
	"go.uber.org/zap"

	"github.com/thrum-rpc/thrum/contrib/etcd"
	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/store"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

const (
	service = "shop"
	// patience is how long etcd may take to start or answer, and calls to end.
	patience = 30 * time.Second
	// leaveTime is how long a server serves on when it has withdrawn its address, until clients know.
	leaveTime = 300 * time.Millisecond
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdin, os.Stdout, time.Second); err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(1)
	}
}

// run runs the demo until ctx ends. Each line of in restarts the servers; what
// the client has done is printed at intervals.
func run(ctx context.Context, in io.Reader, out io.Writer, interval time.Duration) error {
	dir, err := os.MkdirTemp("", "thrum-etcd")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	member, err := startEtcd(dir)
	if err != nil {
		return err
	}
	defer member.Close()
	address := "http://" + member.Clients[0].Addr().String()
	registry, err := clientv3.New(clientv3.Config{Endpoints: []string{address}, Logger: zap.NewNop()})
	if err != nil {
		return err
	}
	defer registry.Close()

	f := &fleet{registry: registry}
	defer f.close()
	for i, zone := range []string{"north", "south", "south"} {
		if err := f.open(ctx, i, zone); err != nil {
			return err
		}
	}
	client, err := cluster.New(etcd.NewResolver(registry, service), cluster.WaitForAddress(), cluster.Timeout(patience))
	if err != nil {
		return err
	}
	defer client.Close()
	print(out, address, f)

	var work sync.WaitGroup
	defer work.Wait()
	c := &calls{client: shop.NewShopClient(client)}
	for range 10 {
		work.Go(func() { c.make(ctx) })
	}
	lines := make(chan struct{})
	go readLines(ctx, in, lines)
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
			c.report(out, client)
		case <-lines:
			if err := f.restart(ctx, out); err != nil && ctx.Err() == nil {
				return err
			}
		}
	}
}

// freePort returns a port that was free just now. etcd's JSON gateway has to
// know the port of its clients before there is one.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	return l.Addr().String(), nil
}

// startEtcd starts an etcd on free ports.
func startEtcd(dir string) (*embed.Etcd, error) {
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	config := embed.NewConfig()
	config.Dir = dir
	config.ZapLoggerBuilder = embed.NewZapLoggerBuilder(zap.NewNop())
	config.ListenClientUrls = []url.URL{{Scheme: "http", Host: port}}
	config.ListenPeerUrls = []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	member, err := embed.StartEtcd(config)
	if err != nil {
		return nil, err
	}
	select {
	case <-member.Server.ReadyNotify():
		return member, nil
	case err = <-member.Err():
	case <-time.After(patience):
		err = errors.New("etcd does not start")
	}
	member.Close()
	return nil, err
}

// fleet is the servers.
type fleet struct {
	registry *clientv3.Client
	servers  [3]*bookshop
}

// bookshop is one server.
type bookshop struct {
	*rpc.Server
	registration *etcd.Registration
	address      resolve.Address
}

// open starts a server on a free port and registers it.
func (f *fleet) open(ctx context.Context, i int, zone string) error {
	s := &bookshop{Server: rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)))}
	if err := s.Register(shop.NewShopService(store.New())); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	go s.Serve(l)
	s.address = resolve.Address{Addr: l.Addr().String(), Zone: zone, Dialect: resolve.TTHeader}
	asking, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	if s.registration, err = etcd.Register(asking, f.registry, service, s.address); err != nil {
		s.Server.Close()
		return err
	}
	f.servers[i] = s
	return nil
}

// leave withdraws the server's address, and stops it when clients have gone.
func (s *bookshop) leave(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	err := s.registration.Close(ctx)
	select {
	case <-ctx.Done():
	case <-time.After(leaveTime):
	}
	return errors.Join(err, s.Shutdown(ctx))
}

// restart puts a new server in the place of each, one after the other.
func (f *fleet) restart(ctx context.Context, out io.Writer) error {
	for i, old := range f.servers {
		if err := f.open(ctx, i, old.address.Zone); err != nil {
			return err
		}
		if err := old.leave(ctx); err != nil {
			return err
		}
		fmt.Fprintf(out, "server %d is now %s instead of %s\n", i+1, f.servers[i].address, old.address)
	}
	return nil
}

func (f *fleet) close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	for _, s := range f.servers {
		if s != nil {
			s.registration.Close(ctx)
			s.Server.Close()
		}
	}
}

// calls are the client's.
type calls struct {
	client       *shop.ShopClient
	made, failed atomic.Int64
	last         atomic.Value // the error of the last one that failed, as text
}

// make makes calls until ctx ends.
func (c *calls) make(ctx context.Context) {
	for ctx.Err() == nil {
		if _, err := c.client.Version(ctx); err != nil && ctx.Err() == nil {
			c.failed.Add(1)
			c.last.Store(err.Error())
		}
		c.made.Add(1)
		select {
		case <-ctx.Done():
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// report prints what the client has done, and on which servers.
func (c *calls) report(out io.Writer, client *cluster.Client) {
	fmt.Fprintf(out, "%d calls, %d failed;", c.made.Load(), c.failed.Load())
	for _, a := range client.Stats().Addresses {
		fmt.Fprintf(out, "  %s (%s) %d", a.Address, a.Address.Zone, a.Attempts)
	}
	if text, ok := c.last.Load().(string); ok {
		fmt.Fprintf(out, "  last failure: %s", text)
	}
	fmt.Fprintln(out)
}

// readLines tells of each line of in.
func readLines(ctx context.Context, in io.Reader, lines chan<- struct{}) {
	for s := bufio.NewScanner(in); s.Scan(); {
		select {
		case lines <- struct{}{}:
		case <-ctx.Done():
			return
		}
	}
}

func print(out io.Writer, address string, f *fleet) {
	fmt.Fprintf(out, "Three bookshops have registered in etcd, and a client calls them.\n\n  etcd    %s\n", address)
	for i, s := range f.servers {
		fmt.Fprintf(out, "  server  %s  (zone %s)\n", f.servers[i].address, s.address.Zone)
	}
	fmt.Fprintf(out, `
Try, in another terminal:

  curl -s %[1]s/v3/kv/range -d '{"key": "L3RocnVtL3NlcnZpY2VzLw==", "range_end": "L3RocnVtL3NlcnZpY2VzMA=="}'

  go run ./cmd/thrum call %[2]s Shop.search '{"search": {"text": "invisibili"}}' --idl examples/shop/shop.thrift

Enter restarts the three servers, one after the other.
Ctrl-C ends it.
`, address, f.servers[0].address)
}
