//go:build unix

package handover_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/handover"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file restarts servers that are processes of their own, while clients
// of every dialect call them.

var (
	restartCalls = flag.Int64("restart-calls", 20_000, "calls that the test of restarts makes at the least")
	child        = flag.String("serve", "", "be a server: path of the hand-over, network, address, and files of certificate and key, separated by commas")
)

func TestMain(m *testing.M) {
	flag.Parse()
	if *child == "" {
		os.Exit(m.Run())
	}
	if err := serve(strings.Split(*child, ",")); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// serve is a server until a successor has come.
func serve(args []string) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute) // if the test is killed
	defer cancel()
	path, network, address := args[0], args[1], args[2]
	pair, err := tls.LoadX509KeyPair(args[3], args[4])
	if err != nil {
		return err
	}
	server := rpc.NewServer(rpc.Logger(slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))),
		rpc.Grace(30*time.Second, 5*time.Second), rpc.QueueTimeout(0), rpc.TaskExpiry(0),
		rpc.TLS(&tls.Config{Certificates: []tls.Certificate{pair}}), rpc.TLSPermitted())
	if err := server.Register(&rpc.Service{Name: "Echo", Methods: []rpc.Method{{Name: "echo", Serve: echo}}}); err != nil {
		return err
	}
	h, err := handover.Begin(ctx, path, server)
	if err != nil {
		return err
	}
	l, err := h.Listen(ctx, network, address)
	if err != nil {
		return err
	}
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	fmt.Println("serving", l.Addr())
	if err := h.Run(ctx); err != nil {
		return err
	}
	if err := <-served; err != rpc.ErrServerClosed {
		return err
	}
	return nil
}

func echo(_ context.Context, args, dst []byte) ([]byte, error) { return append(dst, args...), nil }

// process is a server's process.
type process struct {
	*exec.Cmd
	address string
}

// start starts a server and waits until it serves.
func (n *node) start(t *testing.T) *process {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-serve="+strings.Join([]string{n.path, n.network, n.address, n.files[0], n.files[1]}, ","))
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); errors.Is(err, syscall.ENOEXEC) {
		t.Skip("an emulator runs this test, and the system cannot start its program by itself")
	} else if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	at, ok := strings.CutPrefix(strings.TrimSpace(line), "serving ")
	if err != nil || !ok {
		t.Fatalf("the server says %q, %v", line, err)
	}
	go io.Copy(io.Discard, out)
	return &process{cmd, at}
}

// node is a place with a server, whichever process that is.
type node struct {
	path, network, address string
	files                  [2]string // of certificate and key
	now                    *process
}

// restart puts a new process in the place of the one that serves.
func (n *node) restart(t *testing.T) {
	t.Helper()
	next := n.start(t)
	if err := n.now.Wait(); err != nil {
		t.Errorf("the old server ends with %v", err)
	}
	if next.address != n.now.address {
		t.Errorf("%s became %s", n.now.address, next.address)
	}
	n.now = next
}

// dialects are what clients speak.
var dialects = map[string][]rpc.ClientOption{
	"framed":           nil,
	"unframed":         {rpc.Unframed()},
	"framed compact":   {rpc.Compact(compact.Apache)},
	"unframed compact": {rpc.Unframed(), rpc.Compact(compact.FBThrift)},
	"THeader":          {rpc.THeader(header.None)},
	"THeader zstd":     {rpc.THeader(header.Zstd), rpc.Compact(compact.FBThrift)},
	"TTHeader":         {rpc.TTHeader()},
	"HTTP/1.1":         {rpc.HTTP("http://echo/")},
	"HTTP/2":           {rpc.HTTP2("http://echo/")},
}

// secured returns the dialects with those that can say goodbye inside TLS, where connections are not handed over, at any
// time. THeader says it in replies alone: a client that was quiet for longer than the server waits can call at the moment at
// which the connection is closed, as with every server that closes quiet connections.
func secured(ca *rpctest.CA) map[string][]rpc.ClientOption {
	all := maps.Clone(dialects)
	secure := rpc.TLS(&tls.Config{RootCAs: ca.Pool(), ServerName: "echo"})
	all["TTHeader in TLS"] = []rpc.ClientOption{rpc.TTHeader(), secure}
	all["HTTP/1.1 in TLS"] = []rpc.ClientOption{rpc.HTTP("https://echo/"), secure}
	all["HTTP/2 in TLS"] = []rpc.ClientOption{rpc.HTTP2("https://echo/"), secure}
	return all
}

func TestARollingRestartLosesNoCall(t *testing.T) {
	dir := t.TempDir()
	nodes := []*node{{network: "tcp", address: "127.0.0.1:0"}, {network: "tcp", address: "localhost:0"}, {network: "unix", address: filepath.Join(dir, "s")}}
	ca := rpctest.NewCA(t)
	files := [2]string{filepath.Join(dir, "cert.pem"), filepath.Join(dir, "key.pem")}
	cert, key := ca.Issue(t, time.Now().Add(24*time.Hour), "echo")
	for i, b := range [][]byte{cert, key} {
		if err := os.WriteFile(files[i], b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for i, n := range nodes {
		n.path, n.files = filepath.Join(dir, fmt.Sprint(i)), files
		n.now = n.start(t)
	}
	l := newLoad(t, nodes, secured(ca))
	rounds := 0
	for l.calls.Load() < *restartCalls && l.failed.Load() == 0 || rounds == 0 {
		rounds++
		for _, n := range nodes {
			n.restart(t)
		}
	}
	l.stop()
	t.Logf("%d calls, %d restarts of each of %d servers", l.calls.Load(), rounds, len(nodes))
	if n := l.failed.Load(); n > 0 {
		t.Errorf("%d calls failed", n)
	}
	for _, n := range nodes {
		n.now.Process.Kill()
		n.now.Wait()
	}
}

// load is calls in every dialect, shared out to all nodes in turn.
type load struct {
	calls, failed atomic.Int64
	end           chan struct{}
	callers       sync.WaitGroup
}

func newLoad(t *testing.T, nodes []*node, dialects map[string][]rpc.ClientOption) *load {
	l := &load{end: make(chan struct{})}
	for name, opts := range dialects {
		var clients []*rpc.Client
		for _, n := range nodes {
			c, err := rpc.Dial(t.Context(), n.network, n.now.address, opts...)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			clients = append(clients, c)
		}
		for i := range 4 {
			l.callers.Go(func() { l.run(t, name, i, clients) })
		}
	}
	return l
}

func (l *load) run(t *testing.T, name string, caller int, clients []*rpc.Client) {
	for n := 0; ; n++ {
		select {
		case <-l.end:
			return
		default:
		}
		text := fmt.Sprint(name, caller, n)
		if got, err := invoke(t.Context(), clients[n%len(clients)], text); err != nil || got != text {
			if l.failed.Add(1) < 10 {
				t.Errorf("%s: call %d of %d: %q, %v", name, n, caller, got, err)
			}
		}
		l.calls.Add(1)
	}
}

func (l *load) stop() {
	close(l.end)
	l.callers.Wait()
}

// invoke calls echo with the args {1: text}.
func invoke(ctx context.Context, c rpc.Caller, text string) (string, error) {
	var got string
	err := c.Invoke(ctx, &rpc.Invocation{
		Method: "echo",
		AppendArgs: func(b []byte) ([]byte, error) {
			return thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(b, thriftwire.String, 1), text)), nil
		},
		ReadResult: func(b []byte) error {
			value, n := thriftwire.ConsumeBytes(b[3:])
			if n < 0 {
				return thriftwire.Error(n)
			}
			got = string(value)
			return nil
		},
	})
	return got, err
}
