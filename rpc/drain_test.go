package rpc_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file tests that a server which stops loses no call of a client that
// can be told, and none that has arrived of the others.

// forever is a grace that only the quiet of clients ends.
const forever = time.Hour

// brief is a quiet that tests wait for.
const brief = 200 * time.Millisecond

func TestAServerThatStopsServesUntilTheClientIsQuiet(t *testing.T) {
	bothFramings(t, func(t *testing.T, framed bool) {
		synctest.Test(t, func(t *testing.T) {
			server, l := listenInBubble(t, []rpc.Method{echo}, rpc.Grace(forever, time.Second))
			p := connectInBubble(t, l, framed)
			p.send(p.call("echo", 1, "before"))
			p.want(1, "before")
			stopped := make(chan error, 1)
			go func() { stopped <- server.Shutdown(t.Context()) }()
			eventually(t, "the server leaves", func() bool { return rpc.Leaving(server) })
			for seq := range int32(5) {
				time.Sleep(900 * time.Millisecond)
				p.send(p.call("echo", seq+2, "meanwhile"))
				p.want(seq+2, "meanwhile")
			}
			p.wantClosed()
			p.Close()
			if err := receive(t, "Shutdown returns", stopped); err != nil {
				t.Error(err)
			}
		})
	})
}

func TestTheGraceOfAServerThatStopsEnds(t *testing.T) {
	method, started, release := blocked()
	server, address := listen(t, []rpc.Method{method, echo}, rpc.Grace(time.Millisecond, forever))
	p := connect(t, address, true)
	p.send(p.call("blocked", 1, "runs"))
	receive(t, "the call runs", started)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(t.Context()) }()
	eventually(t, "the grace is over", func() bool { return rpc.Draining(server) })
	p.send(p.call("echo", 2, "too late"))
	close(release)
	p.want(1, "runs")
	p.wantException(2, rpc.InternalError)
	p.wantClosed()
	p.Close()
	receive(t, "Shutdown returns", stopped)
}

// A call that the system has taken for the server, but which the server has
// not read, is answered.
func TestCallsInTheSystemsBufferAreAnsweredBeforeTheEnd(t *testing.T) {
	release := make(chan struct{})
	started := make(chan struct{}, 2)
	slow := rpc.Method{Name: "slow", Callback: func(args []byte, r rpc.Responder) { // which keeps the loop from reading
		started <- struct{}{}
		<-release
		r.Reply(textStruct("slow"))
	}}
	server, address := listen(t, []rpc.Method{slow, echo}, rpc.Grace(0, 0))
	p := connect(t, address, true)
	p.send(p.call("slow", 1, ""))
	receive(t, "the call runs", started)
	p.send(p.call("echo", 2, "waits in the buffer"))
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(t.Context()) }()
	eventually(t, "the server closes", func() bool { return rpc.Draining(server) })
	close(release)
	p.want(1, "slow")
	p.wantException(2, rpc.InternalError)
	p.wantClosed()
	p.Close()
	receive(t, "Shutdown returns", stopped)
}

// Connections that a listener has taken before the server stopped, and whose
// first call comes afterwards, are served.
func TestConnectionsThatWaitAtAStoppingServerAreServed(t *testing.T) {
	server := newServer(rpc.Grace(forever, forever))
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{echo}}); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	slow := &slowListener{TCPListener: l.(*net.TCPListener), asked: make(chan struct{}), limited: make(chan struct{})}
	served := make(chan error, 1)
	go func() { served <- server.Serve(slow) }()
	defer server.Close()
	receive(t, "the server accepts", slow.asked)
	var peers []*peer
	for range 20 {
		peers = append(peers, connect(t, l.Addr().String(), true))
	}
	stopped := make(chan error, 1)
	go func() { stopped <- server.Shutdown(t.Context()) }()
	for i, p := range peers {
		p.send(p.call("echo", int32(i), "first"))
		p.want(int32(i), "first")
		p.Close()
	}
	if err := receive(t, "Shutdown returns", stopped); err != nil {
		t.Error(err)
	}
	if err := receive(t, "Serve returns", served); err != rpc.ErrServerClosed {
		t.Errorf("Serve: %v", err)
	}
}

// slowListener is one on a busy machine: its first Accept gets no time
// before the deadline passes that the server sets when it stops.
type slowListener struct {
	*net.TCPListener
	asked, limited chan struct{}
	first, stopped sync.Once
}

func (l *slowListener) Accept() (net.Conn, error) {
	late := false
	l.first.Do(func() {
		close(l.asked)
		<-l.limited
		late = true
	})
	if late {
		return nil, os.ErrDeadlineExceeded
	}
	return l.TCPListener.Accept()
}

func (l *slowListener) SetDeadline(t time.Time) error {
	l.stopped.Do(func() { close(l.limited) })
	return l.TCPListener.SetDeadline(t)
}

// Clients of every dialect that can be told that the server leaves go to
// the next one without losing a call, though nothing is handed over.
func TestClientsThatAreToldLoseNoCallWhenServersTakeTurns(t *testing.T) {
	for name, opts := range map[string][]rpc.ClientOption{
		"THeader":         {rpc.THeader(header.None)},
		"THeader compact": {rpc.THeader(header.Zstd), rpc.Compact(compact.FBThrift)},
		"TTHeader":        {rpc.TTHeader()},
		"HTTP/1.1":        {rpc.HTTP("http://shop/")},
		"HTTP/2":          {rpc.HTTP2("http://shop/")},
	} {
		t.Run(name, func(t *testing.T) {
			noLeaks(t)
			quiet := 2 * time.Second // of which no client needs any
			if strings.HasPrefix(name, "HTTP") {
				quiet = brief // after which connections that are idle end
			}
			turns := newTurns(t, false, quiet)
			client := dial(t, "tcp", "whichever serves", append(opts, rpc.Dialer(turns.dial))...)
			takeTurns(t, turns, client)
		})
	}
}

// takeTurns has calls made while servers take turns.
func takeTurns(t *testing.T, turns *turns, client rpc.Caller) {
	t.Helper()
	var calls, failed atomic.Int64
	var load sync.WaitGroup
	end := make(chan struct{})
	for i := range 8 {
		load.Go(func() {
			for n := 0; ; n++ {
				select {
				case <-end:
					return
				default:
				}
				text := fmt.Sprint(i, n)
				if got, err := invoke(t.Context(), client, "echo", text); err != nil || got != text {
					if failed.Add(1) < 5 {
						t.Errorf("%q: %q, %v", text, got, err)
					}
				}
				calls.Add(1)
			}
		})
	}
	for range 5 {
		for range 10 {
			want := calls.Load() + 20
			eventually(t, "calls go on", func() bool { return calls.Load() > want || failed.Load() > 0 })
		}
		turns.next(t)
	}
	close(end)
	load.Wait()
	if failed.Load() > 0 {
		t.Errorf("%d of %d calls failed", failed.Load(), calls.Load())
	}
}

// turns are servers of which one serves at a time.
type turns struct {
	handOver bool // the connections, too
	quiet    time.Duration

	mu      sync.Mutex
	server  *rpc.Server
	address string
}

func newTurns(t *testing.T, handOver bool, quiet time.Duration) *turns {
	u := &turns{handOver: handOver, quiet: quiet}
	u.next(t)
	t.Cleanup(func() { u.server.Close() })
	return u
}

// next starts a server and stops the one before.
func (u *turns) next(t *testing.T) {
	t.Helper()
	server, address := listen(t, []rpc.Method{echo}, rpc.Grace(patience, u.quiet))
	u.mu.Lock()
	old := u.server
	u.server, u.address = server, address
	u.mu.Unlock()
	if old == nil {
		return
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	stop := old.Shutdown
	if u.handOver {
		stop = func(ctx context.Context) error { return old.HandOver(ctx, adopting(server)) }
	}
	if err := stop(ctx); err != nil {
		t.Errorf("the server stops with %v", err)
	}
}

// dial connects to the server whose turn it is.
func (u *turns) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	u.mu.Lock()
	address := u.address
	u.mu.Unlock()
	return new(net.Dialer).DialContext(ctx, "tcp", address)
}
