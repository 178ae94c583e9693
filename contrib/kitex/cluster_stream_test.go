package kitex_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/cloudwego/kitex/server"

	"github.com/thrum-rpc/thrum/contrib/kitex/internal/chat"
	kitexchat "github.com/thrum-rpc/thrum/contrib/kitex/internal/gen/streams/chat/chat"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file tests streams and calls by Thrum's client of many addresses while one of Kitex's servers leaves. These are
// processes of their own: Kitex's servers stop with their process, and netpoll closes the number of a listener's file more than once.

var beServer = flag.Bool("serve", false, "be a server of Kitex, for the test in which one leaves")

// exitWait is how long a server of Kitex that leaves goes on with connections that have streams. It does not tell their clients.
const exitWait = 10 * time.Second

// serveChat serves until a signal ends the process, or its standard input, as the end of the test does.
func serveChat() error {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := server.NewServer(server.WithListener(l), server.WithExitWaitTime(exitWait))
	if err := s.RegisterService(kitexchat.NewServiceInfo(), &kitexServer{make(chan error, 1)}); err != nil {
		return err
	}
	fmt.Println("serving", l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		os.Exit(0)
	}()
	return s.Run()
}

// chatProcess starts a server and returns its address, how it is told to leave, and what is closed when it has gone.
func chatProcess(t *testing.T) (address string, leave func(), gone <-chan struct{}) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-serve")
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	ended := make(chan struct{})
	go func() {
		cmd.Wait()
		close(ended)
	}()
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		<-ended
	})
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return address, func() { cmd.Process.Signal(syscall.SIGTERM) }, ended
}

// chatLoad is callers who stream and call until they are stopped.
type chatLoad struct {
	done atomic.Int64 // that went well

	mu     sync.Mutex
	failed []error
}

func (l *chatLoad) run(t *testing.T, c *chat.ChatClient) (stop func()) {
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	for i, f := range []func(context.Context, *chat.ChatClient) error{countByCluster, joinByCluster, plainByCluster, countByCluster, joinByCluster, plainByCluster} {
		work.Go(func() {
			for ctx.Err() == nil {
				each, end := context.WithTimeout(t.Context(), patience)
				err := f(each, c)
				end()
				if err == nil {
					l.done.Add(1)
					continue
				}
				l.mu.Lock()
				l.failed = append(l.failed, fmt.Errorf("caller %d: %w", i, err))
				l.mu.Unlock()
			}
		})
	}
	return func() {
		cancel()
		work.Wait()
	}
}

// more waits until more has gone well.
func (l *chatLoad) more(t *testing.T, what string) {
	t.Helper()
	from := l.done.Load()
	eventually(t, what, func() bool { return l.done.Load() > from+200 })
}

// lost returns what has failed, and forgets it.
func (l *chatLoad) lost() []error {
	l.mu.Lock()
	defer l.mu.Unlock()
	lost := l.failed
	l.failed = nil
	return lost
}

func countByCluster(ctx context.Context, c *chat.ChatClient) error {
	s, err := c.Count(ctx, &chat.Note{Number: 5})
	if err != nil {
		return err
	}
	for i := int32(0); ; i++ {
		n, err := s.Recv(ctx)
		switch {
		case err == io.EOF && i == 5:
			return nil
		case err != nil:
			return err
		case n.Number != i:
			return fmt.Errorf("message %d is %v", i, n)
		}
	}
}

func joinByCluster(ctx context.Context, c *chat.ChatClient) error {
	s, err := c.Join(ctx)
	if err != nil {
		return err
	}
	for _, w := range []string{"over", "and", "out"} {
		if err := s.Send(ctx, &chat.Note{Text: w}); err != nil {
			break // the reply says why
		}
	}
	n, err := s.CloseAndRecv(ctx)
	if err == nil && n.Text != "over and out" {
		err = fmt.Errorf("joined to %q", n.Text)
	}
	return err
}

func plainByCluster(ctx context.Context, c *chat.ChatClient) error {
	n, err := c.Plain(cluster.WithIdempotent(ctx), &chat.Note{Text: "unary"})
	if err == nil && n.Text != "unary" {
		err = fmt.Errorf("echoed as %q", n.Text)
	}
	return err
}

func TestStreamsGoOnWhenAServerOfKitexLeaves(t *testing.T) {
	var hosts []string
	var leave func()
	var gone <-chan struct{}
	for i := range 3 {
		address, l, g := chatProcess(t)
		if hosts = append(hosts, address); i == 1 {
			leave, gone = l, g
		}
	}
	many, err := cluster.New(resolve.Hosts(hosts...), cluster.Dial(rpc.TTHeader()), cluster.WarmUp(0), cluster.Timeout(patience))
	if err != nil {
		t.Fatal(err)
	}
	defer many.Close()
	if err := many.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := chat.NewChatClient(many)
	streams := func() (n int) {
		for _, a := range many.Stats().Addresses {
			if a.Address.Addr == hosts[1] {
				n = a.Streams
			}
		}
		return n
	}
	var running []interface {
		Send(context.Context, *chat.Note) error
		Recv(context.Context) (*chat.Note, error)
		CloseSend(context.Context) error
	}
	for streams() < 3 {
		s, err := c.Echo(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		running = append(running, s)
	}
	roundTrip := func() {
		for i, s := range running {
			if err := s.Send(t.Context(), &chat.Note{Number: int32(i)}); err != nil {
				t.Fatalf("stream %d: %v", i, err)
			}
			if n, err := s.Recv(t.Context()); err != nil || n.Number != int32(i+1) {
				t.Fatalf("stream %d: %v, %v", i, n, err)
			}
		}
	}
	roundTrip()
	var load chatLoad
	stop := load.run(t, c)
	load.more(t, "all serve")

	leave()
	eventually(t, "the server takes connections", func() bool {
		nc, err := net.Dial("tcp", hosts[1])
		if err == nil {
			nc.Close()
		}
		return err != nil
	})
	roundTrip() // those on the server that leaves, too
	for i, s := range running {
		s.CloseSend(t.Context())
		if _, err := s.Recv(t.Context()); err != io.EOF {
			t.Errorf("stream %d ends with %v", i, err)
		}
	}
	load.more(t, "nothing goes on while the server leaves")
	select {
	case <-gone:
	case <-time.After(patience):
		t.Fatal("the server does not leave")
	}
	load.more(t, "nothing goes on without the server")
	// It has said nothing on the connection of streams before it closed it: those that ran then are lost, one of each caller.
	lost := load.lost()
	if len(lost) > 4 {
		t.Errorf("%d failed", len(lost))
	}
	for _, err := range lost {
		var e *stream.Error
		if !errors.As(err, &e) || e.Code != stream.Lost {
			t.Errorf("%v", err)
		}
	}
	load.more(t, "nothing goes on later")
	stop()
	if lost := load.lost(); len(lost) > 0 {
		t.Errorf("%d failed when the server had long gone: %v", len(lost), lost[0])
	}
}
