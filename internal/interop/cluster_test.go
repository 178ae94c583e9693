package interop

// Servers in other languages as the addresses of one service, behind Thrum's client of many addresses; clients in
// other languages reach them through a proxy of Thrum's.

import (
	"context"
	"log/slog"
	"net"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/schema"
)

// fleet is servers of several peers that answer the same calls.
type fleet struct {
	client *cluster.Client
	kill   []func()
	hosts  []string
	calls  []call // that all of them can answer
}

// newFleet starts a server of each peer, and a client of all.
func newFleet(t *testing.T, calls []call, w wiring, dialect rpc.ClientOption, servers ...peer) *fleet {
	t.Helper()
	for _, s := range servers {
		calls = s.able(asServer, w, calls)
	}
	f := &fleet{calls: calls}
	for _, s := range servers {
		port, _, kill := s.serveUntilKilled(t, calls, w)
		f.hosts, f.kill = append(f.hosts, "127.0.0.1:"+port), append(f.kill, kill)
	}
	var err error
	f.client, err = cluster.New(resolve.Hosts(f.hosts...), cluster.Dial(dialect), cluster.WarmUp(0), cluster.Balance(cluster.RoundRobin()),
		cluster.IdempotentFunc(func(call *rpc.Invocation) bool { return !call.Oneway }), cluster.Timeout(time.Minute))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.client.Close() })
	if err := f.client.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	return f
}

// of returns what is known of a server.
func (f *fleet) of(host string) cluster.AddressStats {
	for _, a := range f.client.Stats().Addresses {
		if a.Address.Addr == host {
			return a
		}
	}
	return cluster.AddressStats{}
}

// each checks that every server has answered calls and none has failed.
func (f *fleet) each(t *testing.T, hosts ...string) {
	t.Helper()
	for _, host := range hosts {
		if a := f.of(host); a.Attempts == 0 || a.Failed > 0 || a.Refused > 0 || a.Ejected {
			t.Errorf("%+v", a)
		}
	}
}

// killFirst kills the first server and waits until its client knows.
func (f *fleet) killFirst(t *testing.T) {
	t.Helper()
	f.kill[0]()
	for end := time.Now().Add(30 * time.Second); f.of(f.hosts[0]).Connections > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("nobody notices that the server is gone")
		}
	}
}

// proxy serves what the fleet answers, and returns its port.
func (f *fleet) proxy(t *testing.T) string {
	t.Helper()
	server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0)) // some calls fail as they should
	relay := generic.Relay("Shop", func(context.Context, string, dynamic.Node) (rpc.Caller, error) { return f.client, nil })
	if err := server.Register(relay); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port)
}

func (f *fleet) callAll(t *testing.T, service *schema.Service, rounds int) {
	t.Helper()
	for range rounds {
		for _, c := range f.calls {
			compare(t, service, c, invoke(t, f.client, service, c))
		}
	}
}

// stateless are the calls that one server answers like another: what a shop remembers is in one of them.
func stateless(calls []call) []call {
	same := map[string]bool{"echo": true, "describe": true, "version": true, "ping": true, "getBook": true, "search": true,
		"cover": true, "subjects": true, "shelves": true}
	return slices.DeleteFunc(calls, func(c call) bool { return !same[c.Method] })
}

// TestAClusterOfServersInThreeLanguages makes calls of the list to one service that is served in Python,
// Java and JavaScript, by Thrum's client and by clients in each of these languages; then one server is killed.
func TestAClusterOfServersInThreeLanguages(t *testing.T) {
	service, w := loadShop(t), wiring{"framed", "binary", ""}
	all := []peer{pythonPeer(t), javaPeer(t), nodePeer(t)}
	f := newFleet(t, stateless(loadCalls(t)), w, rpc.Framed(), all...)
	f.callAll(t, service, 3)
	f.each(t, f.hosts...)
	port := f.proxy(t)
	f.killFirst(t)
	for _, p := range all {
		calls := p.able(asClient, w, f.calls)
		for i, got := range p.call(t, calls, port, w) {
			compare(t, service, calls[i], got)
		}
	}
	f.callAll(t, service, 2)
	f.each(t, f.hosts[1:]...)
}

// TestAClusterOfHeaderServers is the same in THeader, which Apache's Python alone serves without a gap.
func TestAClusterOfHeaderServers(t *testing.T) {
	service, p, w := loadShop(t), pythonPeer(t), wiring{"header", "binary", ""}
	f := newFleet(t, loadCalls(t), w, rpc.THeader(header.None), p, p)
	f.callAll(t, service, 2)
	f.each(t, f.hosts...)
	f.killFirst(t)
	f.callAll(t, service, 1)
	f.each(t, f.hosts[1])
}
