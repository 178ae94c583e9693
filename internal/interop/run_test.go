package interop

// Running the peers: as a client that makes the calls of the list, and as a
// server that answers them.

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/examples/shop/store"
)

// program prepares a run of the peer.
func (p peer) program(ctx context.Context, args ...string) *exec.Cmd {
	all := append(p.command[1:len(p.command):len(p.command)], args...)
	cmd := exec.CommandContext(ctx, p.command[0], all...)
	cmd.Env = append(os.Environ(), p.env...)
	return cmd
}

// writeCalls writes the calls for a peer to read and returns the path.
func writeCalls(t *testing.T, calls []call) string {
	t.Helper()
	text, err := json.Marshal(calls)
	if err != nil {
		t.Fatal(err)
	}
	name := filepath.Join(t.TempDir(), "calls.json")
	if err := os.WriteFile(name, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return name
}

// call lets the peer make the calls to a server on this machine and returns
// the results in the order of the calls.
func (p peer) call(t *testing.T, calls []call, port string, w wiring) []json.RawMessage {
	t.Helper()
	if p.forwards {
		return p.forwarded(t, calls, port, w)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	args := []string{"client", writeCalls(t, calls), port, w.transport, w.protocol}
	if w.service != "" {
		args = append(args, w.service)
	}
	cmd := p.program(ctx, args...)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatalf("the %s client: %v\n%s", p.name, err, stderr.String())
	}
	var results []json.RawMessage
	if err := json.Unmarshal(stdout.Bytes(), &results); err != nil {
		t.Fatalf("the %s client printed %q: %v", p.name, stdout.String(), err)
	}
	if len(results) != len(calls) {
		t.Fatalf("the %s client printed %d results of %d calls", p.name, len(results), len(calls))
	}
	return results
}

// plainest is how Thrum talks to the side of a forwarding peer that is not
// being tested.
var plainest = wiring{"framed", "binary", ""}

// forwarded makes the calls through the peer's client.
func (p peer) forwarded(t *testing.T, calls []call, port string, w wiring) []json.RawMessage {
	t.Helper()
	service := loadShop(t)
	front := dial(t, p.forward(t, plainest, port, w), plainest)
	var results []json.RawMessage
	for _, c := range calls {
		results = append(results, invoke(t, front, service, c))
	}
	return results
}

// forward starts a peer that forwards what it is called in one way in another.
func (p peer) forward(t *testing.T, front wiring, port string, back wiring) string {
	t.Helper()
	return p.listen(t, front.transport, front.protocol, front.service, port, back.transport, back.protocol, back.service)
}

// serve starts the peer's server and returns its port. A server that forwards
// has the demo behind it, whose store comes back; others answer from the list.
func (p peer) serve(t *testing.T, calls []call, w wiring) (port string, books *store.Store) {
	t.Helper()
	port, books, _ = p.serveUntilKilled(t, calls, w)
	return port, books
}

// serveUntilKilled is serve for a server that is killed before the test ends.
func (p peer) serveUntilKilled(t *testing.T, calls []call, w wiring) (port string, books *store.Store, kill func()) {
	t.Helper()
	if !p.forwards {
		port, kill = p.start(t, "server", writeCalls(t, calls), w.transport, w.protocol)
		return port, nil, kill
	}
	books, demo := startShop(t)
	port, kill = p.start(t, w.transport, w.protocol, w.service, demo, plainest.transport, plainest.protocol, plainest.service)
	return port, books, kill
}

// listen starts a program of the peer that prints its port. What it says on
// its standard error is a failure of the test: that a call came with other
// arguments than those of the list, for one.
func (p peer) listen(t *testing.T, args ...string) (port string) {
	t.Helper()
	port, _ = p.start(t, args...)
	return port
}

// start is listen for a program that may be killed before the test ends.
func (p peer) start(t *testing.T, args ...string) (port string, kill func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	cmd := p.program(ctx, args...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := cmd.Wait(); err != nil && !errors.As(err, new(*exec.ExitError)) {
			t.Error(err)
		}
		if stderr.Len() > 0 {
			t.Errorf("the %s server says:\n%s", p.name, stderr.String())
		}
	})
	line := make(chan string, 1)
	go func() {
		text, _ := bufio.NewReader(stdout).ReadString('\n')
		line <- strings.TrimSpace(text)
	}()
	select {
	case port = <-line:
	case <-time.After(time.Minute):
	}
	if port == "" {
		t.Fatalf("the %s server printed no port", p.name)
	}
	return port, cancel
}
