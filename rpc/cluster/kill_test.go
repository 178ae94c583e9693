package cluster_test

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file kills servers that are processes of their own, under load.

var beServer = flag.Bool("serve", false, "be a server, for the tests that kill one")

func TestMain(m *testing.M) {
	flag.Parse()
	if !*beServer {
		os.Exit(m.Run())
	}
	if err := serveUntilKilled(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serveUntilKilled serves echo, in a millisecond, as long as the standard input is open: that of a
// test that has ended is closed.
func serveUntilKilled() error {
	server := rpc.NewServer(rpc.Logger(slog.New(slog.DiscardHandler)), rpc.QueueTimeout(0), rpc.TaskExpiry(0))
	method := rpc.Method{Name: "echo", Serve: func(_ context.Context, args, dst []byte) ([]byte, error) {
		time.Sleep(time.Millisecond)
		return append(dst, args...), nil
	}}
	if err := server.Register(&rpc.Service{Name: "S", Methods: []rpc.Method{method}}); err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	fmt.Println("serving", l.Addr())
	go func() {
		io.Copy(io.Discard, os.Stdin)
		server.Close()
	}()
	if err := server.Serve(l); err != rpc.ErrServerClosed {
		return err
	}
	return nil
}

// process is a server's process.
type process struct {
	*exec.Cmd
	address string
}

func startProcess(t *testing.T) process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-serve")
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this test, and the system cannot start its program by itself")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		in.Close()
		cmd.Process.Kill()
		cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	address, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	return process{cmd, address}
}

// killed is what became of the calls around a kill.
type killed struct {
	calls, inFlight int64 // of all; on the killed server when it was killed
	victim          string
	errs            []error
}

// killOneOfThree kills one of three processes, while callers make calls.
func killOneOfThree(t *testing.T, callers int, opts ...cluster.Option) killed {
	t.Helper()
	processes := []process{startProcess(t), startProcess(t), startProcess(t)}
	var hosts []string
	running := map[string]*atomic.Int64{}
	for _, p := range processes {
		hosts = append(hosts, p.address)
		running[p.address] = new(atomic.Int64)
	}
	c, err := cluster.New(resolve.Hosts(hosts...), append([]cluster.Option{
		cluster.Dial(rpc.TTHeader()), cluster.WarmUp(0), cluster.Timeout(patience),
		cluster.InterceptAttempts(func(_ context.Context, a cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
			n := running[a.Address.Addr]
			n.Add(1)
			return nil, func(cluster.AttemptResult) { n.Add(-1) }
		})}, opts...)...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	warm(t, c)
	k := killed{victim: hosts[1]}
	var calls atomic.Int64
	var mu sync.Mutex
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	for i := range callers {
		wg.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				err := named(t.Context(), c, fmt.Sprint(i, " ", n))
				calls.Add(1)
				if err != nil {
					mu.Lock()
					k.errs = append(k.errs, err)
					mu.Unlock()
				}
			}
		})
	}
	ended := func(host string) func() int64 {
		return func() int64 { return int64(statsOf(c, host).Attempts) }
	}
	counted(t, "calls run", ended(k.victim), 500)
	eventually(t, "a call runs", func() bool { return running[k.victim].Load() > 0 })
	if err := processes[1].Process.Kill(); err != nil {
		t.Fatal(err)
	}
	k.inFlight = running[k.victim].Load()
	processes[1].Wait()
	for _, other := range []string{hosts[0], hosts[2]} {
		counted(t, "calls go on", ended(other), ended(other)()+1000)
	}
	cancel()
	wg.Wait()
	k.calls = calls.Load()
	t.Logf("%d calls, about %d in flight on the server that was killed, %d failed", k.calls, k.inFlight, len(k.errs))
	return k
}

func TestKillingAServerFailsNoCallButThoseInFlightOnIt(t *testing.T) {
	const callers = 24
	k := killOneOfThree(t, callers)
	for _, err := range k.errs {
		var e *cluster.Error
		if !errors.As(err, &e) || !e.Sent() || e.Attempts[len(e.Attempts)-1].Address.Addr != k.victim {
			t.Errorf("a call failed that was not on the server that was killed: %v", err)
		}
	}
	if len(k.errs) > callers { // of whom each has one call in flight
		t.Errorf("%d of %d calls failed, with %d callers", len(k.errs), k.calls, callers)
	}
}

func TestKillingAServerFailsNoIdempotentCall(t *testing.T) {
	if k := killOneOfThree(t, 24, cluster.Idempotent("echo")); len(k.errs) > 0 {
		t.Errorf("%d of %d calls failed: %v", len(k.errs), k.calls, k.errs[0])
	}
}
