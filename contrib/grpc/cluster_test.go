package grpc

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/conform/words"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests Thrum's client of many addresses over gRPC, against servers of both sides.

// fleet starts three servers and returns their addresses, and how the middle one leaves gracefully: what returns when
// it has gone.
type fleet func(t *testing.T) (hosts []string, leave func() error)

var fleets = map[string]fleet{
	"thrum": func(t *testing.T) (hosts []string, leave func() error) {
		for i := range 3 {
			address, s := thrumServer(t, newWaits(), rpc.Grace(patience, 5*time.Second)) // in which a stream on its way arrives on any machine
			hosts = append(hosts, address)
			if i == 1 {
				leave = func() error { return s.Shutdown(within(t)) }
			}
		}
		return hosts, leave
	},
	"grpc-go": func(t *testing.T) (hosts []string, leave func() error) {
		for i := range 3 {
			address, s := startPeer(t, newWaits())
			hosts = append(hosts, address)
			if i == 1 {
				leave = func() error {
					s.GracefulStop()
					return nil
				}
			}
		}
		return hosts, leave
	},
}

func clusterOf(t *testing.T, hosts []string, opts ...cluster.Option) *cluster.MessageClient {
	t.Helper()
	c, err := cluster.NewMessages(resolve.Hosts(hosts...),
		append([]cluster.Option{cluster.Dial(rpc.GRPC()), cluster.WarmUp(0), cluster.Timeout(patience)}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	if err := c.Connect(within(t)); err != nil {
		t.Fatal(err)
	}
	return c
}

// attempts returns how many attempts on an address have ended.
func attempts(c *cluster.MessageClient, host string) (ended uint64, streams int) {
	for _, a := range c.Stats().Addresses {
		if a.Address.Addr == host {
			return a.Attempts, a.Streams
		}
	}
	return 0, 0
}

// eventually waits until something that no reply tells of has happened.
func eventually(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// load makes calls and streams until stop is called; none may fail.
func load(t *testing.T, c rpc.MessageCaller) (done *atomic.Int64, stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	done = new(atomic.Int64)
	var work sync.WaitGroup
	for i := range 9 {
		work.Go(func() {
			for ctx.Err() == nil && !t.Failed() {
				switch i % 3 {
				case 0:
					if n, err := splitByThrum(within(t), c, "split", 5); n != 5 || err != nil {
						t.Errorf("split: %d messages, %v", n, err)
					}
				case 1:
					echoByThrum(t, c, 5)
				default:
					if got, err := askThrum(within(t), c, "ask", 2); got != "askask" || err != nil {
						t.Errorf("asked: %q, %v", got, err)
					}
				}
				done.Add(1)
			}
		})
	}
	stop = func() {
		cancel()
		work.Wait()
	}
	t.Cleanup(stop) // of a test that gives up, too
	return done, stop
}

func TestCallsAndStreamsGoOnWhenAServerLeaves(t *testing.T) {
	for name, start := range fleets {
		for means, balancer := range map[string]cluster.Balancer{"calls that run": cluster.PowerOfTwo(), "latency": cluster.PeakEWMA()} {
			t.Run(name+" by "+means, func(t *testing.T) {
				hosts, leave := start(t)
				c := clusterOf(t, hosts, cluster.Balance(balancer))
				done, stop := load(t, c)
				var running []*flatrpc.Duplex[*words.Word]
				for i := 0; ; i++ {
					if _, n := attempts(c, hosts[1]); n > 3 && i > 20 {
						break
					}
					s, err := flatrpc.OpenBidi[words.Word](within(t), c, echo, words.Verifier())
					if err != nil {
						t.Fatal(err)
					}
					running = append(running, s)
				}
				roundTrip := func() {
					for i, s := range running {
						if err := s.Send(words.New(nil, "ping", int32(i))); err != nil {
							t.Fatalf("stream %d: %v", i, err)
						}
						if w, err := s.Recv(); err != nil || w.Text() != "ping!" {
							t.Fatalf("stream %d: %v", i, err)
						}
					}
				}
				roundTrip()
				left := make(chan error, 1)
				go func() { left <- leave() }()
				from := done.Load()
				eventually(t, "calls and streams go on", func() bool { return done.Load() > from+300 || t.Failed() })
				roundTrip() // those on the server that leaves, too
				for i, s := range running {
					if err := s.CloseSend(); err != nil {
						t.Errorf("stream %d: %v", i, err)
					}
					if _, err := s.Recv(); err != io.EOF {
						t.Errorf("stream %d ends with %v", i, err)
					}
				}
				if err := receive(t, "the server has left", left); err != nil {
					t.Errorf("the server leaves with %v", err)
				}
				from = done.Load()
				eventually(t, "calls and streams go on without it", func() bool { return done.Load() > from+300 || t.Failed() })
				stop()
			})
		}
	}
}

func TestAServerThatReturnsIsUsedAgain(t *testing.T) {
	w := newWaits()
	var hosts []string
	for range 2 {
		address, _ := thrumServer(t, w)
		hosts = append(hosts, address)
	}
	address, s := startPeer(t, w)
	hosts = append(hosts, address)
	c := clusterOf(t, hosts, cluster.Ejections(cluster.Ejection{Time: 10 * time.Millisecond, MaxTime: 10 * time.Millisecond}),
		cluster.Breakers(cluster.Breaker{Pause: 10 * time.Millisecond, MaxPause: 10 * time.Millisecond}))
	s.GracefulStop()
	for range 50 {
		if _, err := askThrum(within(t), c, "a", 1); err != nil {
			t.Fatal(err)
		}
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Skipf("another process has taken the port: %v", err)
	}
	again := newPeer(w)
	go again.Serve(l)
	defer again.Stop()
	before, _ := attempts(c, address)
	eventually(t, "calls on the server that is back", func() bool {
		if _, err := askThrum(within(t), c, "a", 1); err != nil {
			t.Fatal(err)
		}
		now, _ := attempts(c, address)
		return now > before+20
	})
}

func TestCallsOfAClusterHaveTheirCodes(t *testing.T) {
	for name, start := range fleets {
		t.Run(name, func(t *testing.T) {
			hosts, _ := start(t)
			c := clusterOf(t, hosts)
			for range 30 { // more than would eject an address, or open its breaker, if they were its failures
				var status *rpc.StatusError
				_, err := askThrum(within(t), c, "invalid", 1)
				if !errors.As(err, &status) {
					t.Fatalf("got %v", err)
				}
			}
			for _, a := range c.Stats().Addresses {
				if a.Failed+a.Refused > 0 || a.Ejected {
					t.Errorf("%v: %+v", a.Address, a)
				}
			}
		})
	}
}
