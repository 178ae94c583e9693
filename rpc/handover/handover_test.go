//go:build unix

package handover_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/handover"
)

// This file tests what processes say to each other, in one process.

// patience is how long a test waits for what must happen.
const patience = 30 * time.Second

// shop is a server in this process.
type shop struct {
	*rpc.Server
	*handover.Handover
	address string
	ran     chan error
}

func open(t *testing.T, path, network, address string) *shop {
	t.Helper()
	s := &shop{Server: rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0),
		rpc.Grace(time.Second, 0)), ran: make(chan error, 1)}
	if err := s.Register(&rpc.Service{Name: "Echo", Methods: []rpc.Method{{Name: "echo", Serve: echo}}}); err != nil {
		t.Fatal(err)
	}
	h, err := handover.Begin(t.Context(), path, s.Server)
	if err != nil {
		t.Fatal(err)
	}
	s.Handover = h
	l, err := h.Listen(t.Context(), network, address)
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	go s.Serve(l)
	t.Cleanup(func() {
		s.Handover.Close()
		s.Server.Close()
	})
	return s
}

// run starts Run.
func (s *shop) run(ctx context.Context) {
	go func() { s.ran <- s.Run(ctx) }()
}

func receive[T any](t *testing.T, what string, c <-chan T) T {
	t.Helper()
	select {
	case v := <-c:
		return v
	case <-time.After(patience):
		t.Fatalf("never: %s", what)
		panic("unreachable")
	}
}

func TestASuccessorThatGoesBeforeItServesChangesNothing(t *testing.T) {
	dir := t.TempDir()
	path, socket := filepath.Join(dir, "h"), filepath.Join(dir, "s")
	first := open(t, path, "unix", socket)
	first.run(t.Context())
	for range 3 {
		failed := open(t, path, "unix", socket)
		failed.Server.Close()
		failed.Handover.Close()
	}
	for _, garbage := range []string{"", "x", "\x01\x00\x00\x00\x01?", "\x01\xff\xff\xff\xff", strings.Repeat("\x00", 100)} {
		c, err := net.Dial("unix", path)
		if err != nil {
			t.Fatal(err)
		}
		c.Write([]byte(garbage))
		c.Close()
	}
	client, err := rpc.Dial(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, err := invoke(t.Context(), client, "still there"); err != nil || got != "still there" {
		t.Errorf("%q, %v", got, err)
	}
	second := open(t, path, "unix", socket)
	second.run(t.Context())
	if err := receive(t, "the first has gone", first.ran); err != nil {
		t.Error(err)
	}
	if got, err := invoke(t.Context(), client, "and now"); err != nil || got != "and now" {
		t.Errorf("%q, %v", got, err)
	}
}

// What follows a part of a message would be taken for the rest of it.
func TestASuccessorThatTakesTooLongIsLeftBehind(t *testing.T) {
	dir := t.TempDir()
	path, socket := filepath.Join(dir, "h"), filepath.Join(dir, "s")
	first := open(t, path, "unix", socket)
	first.Start(10 * time.Millisecond)
	first.run(t.Context())
	slow := open(t, path, "unix", socket)
	// The first one is free for another successor when it has given up the slow one.
	next := open(t, path, "unix", socket)
	slow.run(t.Context())
	if err := receive(t, "the slow one has given up", slow.ran); err != handover.ErrTooLate {
		t.Errorf("the slow one ended with %v", err)
	}
	slow.Server.Close()
	client, err := rpc.Dial(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if got, err := invoke(t.Context(), client, "still there"); err != nil || got != "still there" {
		t.Errorf("%q, %v", got, err)
	}
	next.Server.Close()
	next.Handover.Close()
	if len(first.ran) > 0 {
		t.Errorf("the first one has gone, with %v", <-first.ran)
	}
}

func TestNothingFollowsAMessageThatCouldNotBeSent(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	l, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	to := c.(*net.UnixConn)
	defer to.Close()
	to.SetWriteDeadline(time.Now().Add(2 * time.Second)) // in which a part is sent, however busy the machine is
	if err := handover.Give(to, make([]byte, 8<<20), to); err == nil {
		t.Fatal("nobody reads, and all was sent")
	}
	to.SetWriteDeadline(time.Time{})
	if _, err := to.Write([]byte("more")); !errors.Is(err, net.ErrClosed) {
		t.Errorf("after that: %v", err)
	}
}

// The last word to the successor has a time of its own, however long ago the
// last connection was given.
func TestAServerMayTakeLongToGo(t *testing.T) {
	dir := t.TempDir()
	path, socket := filepath.Join(dir, "h"), filepath.Join(dir, "s")
	first := open(t, path, "unix", socket)
	const answer = 2 * time.Second
	first.Answer(answer)
	started, release := make(chan struct{}), make(chan struct{})
	if err := first.Register(&rpc.Service{Name: "Slow", Methods: []rpc.Method{{
		Name: "slow", Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
			close(started)
			<-release
			return append(dst, args...), nil
		},
	}}}); err != nil {
		t.Fatal(err)
	}
	first.run(t.Context())
	clients := make([]*rpc.Client, 2)
	for i, opts := range [][]rpc.ClientOption{{rpc.HTTP("http://shop/")}, nil} { // the first of which is not given
		c, err := rpc.Dial(t.Context(), "unix", socket, opts...)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if _, err := invoke(t.Context(), c, "hello"); err != nil {
			t.Fatal(err)
		}
		clients[i] = c
	}
	ended := make(chan error, 1)
	go func() { ended <- clients[0].Invoke(t.Context(), &rpc.Invocation{Method: "slow"}) }()
	receive(t, "the call runs", started)
	second := open(t, path, "unix", socket)
	second.run(t.Context())
	if got, err := invoke(t.Context(), clients[1], "to the second"); err != nil || got != "to the second" {
		t.Errorf("%q, %v", got, err)
	}
	time.Sleep(answer + answer/10) // what was said when that connection was given is old now
	close(release)
	if err := receive(t, "the call ends", ended); err != nil {
		t.Error(err)
	}
	if err := receive(t, "the first has gone", first.ran); err != nil {
		t.Error(err)
	}
}

func TestRunEndsWithItsContextAndLeavesNoPath(t *testing.T) {
	dir := t.TempDir()
	path, socket := filepath.Join(dir, "h"), filepath.Join(dir, "s")
	first := open(t, path, "unix", socket)
	first.run(t.Context())
	s := open(t, path, "unix", socket)
	ctx, cancel := context.WithCancel(t.Context())
	s.run(ctx)
	if err := receive(t, "the first has gone", first.ran); err != nil {
		t.Error(err)
	}
	cancel()
	if err := receive(t, "Run returns", s.ran); err != context.Canceled {
		t.Errorf("Run: %v", err)
	}
	s.Server.Close()
	for _, p := range []string{path, socket} {
		for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
			if _, err := os.Stat(p); errors.Is(err, os.ErrNotExist) {
				break
			} else if time.Now().After(end) {
				t.Fatalf("%s: %v", p, err)
			}
		}
	}
}

func TestAPathThatAKilledProcessLeftIsTaken(t *testing.T) {
	path := filepath.Join(t.TempDir(), "h")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: path})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	l.Close()
	open(t, path, "tcp", "127.0.0.1:0")

	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := handover.Begin(t.Context(), file, rpc.NewServer()); err == nil {
		t.Error("a file is taken for a socket")
	}
	if b, err := os.ReadFile(file); string(b) != "precious" {
		t.Errorf("the file is %q, %v", b, err)
	}
}

func TestAnAddressIsListenedOnOnce(t *testing.T) {
	s := open(t, filepath.Join(t.TempDir(), "h"), "tcp", "127.0.0.1:0")
	if _, err := s.Listen(t.Context(), "tcp", "127.0.0.1:0"); !errors.Is(err, syscall.EADDRINUSE) {
		t.Errorf("again: %v", err)
	}
	s.Handover.Close()
	if _, err := s.Listen(t.Context(), "tcp", "localhost:0"); !errors.Is(err, net.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestSocketsGoByTheirNumbers(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	files, err := handover.Files(l)
	if err != nil {
		t.Fatal(err)
	}
	fd, err := syscall.Dup(int(files[0].Fd())) // as if the process had started with it
	files[0].Close()
	if err != nil {
		t.Fatal(err)
	}
	sockets, err := handover.ActivatedFrom(fd, fmt.Sprint(os.Getpid()), "1", "front")
	if err != nil || len(sockets) != 1 || sockets[0].Name != "front" || sockets[0].Listener.Addr().String() != l.Addr().String() {
		t.Fatalf("%v, %v", sockets, err)
	}
	same := sockets[0].Listener
	defer same.Close()
	l.Close()
	c, err := net.Dial("tcp", same.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if a, err := same.Accept(); err != nil {
		t.Error(err)
	} else {
		a.Close()
	}
}

func TestSocketsOfAnotherProcessAreLeftAlone(t *testing.T) {
	for _, c := range []struct {
		pid, fds string
		broken   bool
	}{
		{"", "", false}, {fmt.Sprint(os.Getpid()), "", false}, {"", "3", false}, {"1", "3", false},
		{"x", "3", true}, {fmt.Sprint(os.Getpid()), "x", true}, {fmt.Sprint(os.Getpid()), "-1", true},
	} {
		if sockets, err := handover.Activated(c.pid, c.fds, ""); sockets != nil || (err != nil) != c.broken {
			t.Errorf("%q, %q: %v, %v", c.pid, c.fds, sockets, err)
		}
	}
	if l, err := handover.Inherit(1<<20, 2); l != nil || err == nil {
		t.Errorf("descriptors that are not open: %v, %v", l, err)
	}
}

func TestAnAddressCanBeShared(t *testing.T) {
	first, err := handover.ListenShared(t.Context(), "tcp", "127.0.0.1:0")
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	second, err := handover.ListenShared(t.Context(), "tcp", first.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	second.Close()
}
