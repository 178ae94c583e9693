package rpc_test

import (
	"bytes"
	"context"
	"encoding/binary"
	"fmt"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// patience is how long a test waits for what must happen before it fails. It
// is long, because it only passes when something is wrong.
const patience = 20 * time.Second

// noLeaks fails the test if it leaves goroutines behind.
func noLeaks(t *testing.T) {
	t.Helper()
	before := runtime.NumGoroutine()
	t.Cleanup(func() {
		for end := time.Now().Add(patience); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Now().After(end) {
				stacks := make([]byte, 1<<20)
				t.Errorf("goroutines: %d before, %d after\n%s", before, runtime.NumGoroutine(), stacks[:runtime.Stack(stacks, true)])
				return
			}
		}
	})
}

// logs collects what a server logs.
type logs struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *logs) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *logs) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

func (l *logs) option() rpc.ServerOption {
	return rpc.Logger(slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{Level: slog.LevelDebug})))
}

// await waits until the log contains text.
func (l *logs) await(t *testing.T, text string) {
	t.Helper()
	eventually(t, "the log has "+text, func() bool { return strings.Contains(l.String(), text) })
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("never: %s", what)
		}
	}
}

// inTime tries with more and more time until that is enough for this machine.
func inTime(t *testing.T, what string, try func(limit time.Duration) (enough bool)) {
	t.Helper()
	for limit := 10 * time.Millisecond; !try(limit); limit *= 2 {
		if limit > patience {
			t.Fatalf("never: %s", what)
		}
	}
}

// receive waits for a value.
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

// raw is a method on bytes.
func raw(name string, serve func(ctx context.Context, args, dst []byte) ([]byte, error)) rpc.Method {
	return rpc.Method{Name: name, Serve: serve}
}

// echo replies with its args struct.
var echo = raw("echo", func(_ context.Context, args, dst []byte) ([]byte, error) { return append(dst, args...), nil })

// newServer returns a server that logs nothing, and whose calls have any time unless opts say
// otherwise, since machines that run tests are slow.
func newServer(opts ...rpc.ServerOption) *rpc.Server {
	silent := rpc.Logger(slog.New(slog.DiscardHandler))
	return rpc.NewServer(append([]rpc.ServerOption{silent, rpc.QueueTimeout(0), rpc.TaskExpiry(0)}, opts...)...)
}

// listen lets a newServer with the methods of a service "S" serve on a TCP port.
func listen(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) (*rpc.Server, string) {
	t.Helper()
	noLeaks(t)
	server := serverOf(t, methods, opts...)
	return server, serveOn(t, server, "tcp")
}

// serverOf returns a newServer with the methods of a service "S"; when the test ends, after it was closed,
// it counts nothing any more.
func serverOf(t *testing.T, methods []rpc.Method, opts ...rpc.ServerOption) *rpc.Server {
	t.Helper()
	server := newServer(opts...)
	if err := server.Register(&rpc.Service{Name: "S", Methods: methods}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		eventually(t, "no call or connection is counted", func() bool {
			return rpc.InFlight(server) == 0 && rpc.Connections(server) == 0
		})
	})
	return server
}

// serveOn lets a server serve on a free address of a network, until the test ends.
func serveOn(t *testing.T, server *rpc.Server, network string) string {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = filepath.Join(t.TempDir(), "s")
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	serve(t, server, l)
	return l.Addr().String()
}

// serve lets a server serve on a listener until the test ends.
func serve(t *testing.T, server *rpc.Server, l net.Listener) {
	t.Helper()
	served := make(chan error, 1)
	go func() { served <- server.Serve(l) }()
	t.Cleanup(func() {
		server.Close()
		if err := receive(t, "Serve returns", served); err != rpc.ErrServerClosed {
			t.Errorf("Serve: %v", err)
		}
	})
}

// dial returns a client that is closed when the test ends.
func dial(t *testing.T, network, address string, opts ...rpc.ClientOption) *rpc.Client {
	t.Helper()
	client, err := rpc.Dial(t.Context(), network, address, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	return client
}

// peer is a client that works on bytes.
type peer struct {
	t *testing.T
	net.Conn
	framed bool
}

func connect(t *testing.T, address string, framed bool) *peer {
	t.Helper()
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return &peer{t, c, framed}
}

// Read reads, and waits for patience at most.
func (p *peer) Read(b []byte) (int, error) {
	p.SetReadDeadline(time.Now().Add(patience))
	return p.Conn.Read(b)
}

// textStruct is the struct {1: text}.
func textStruct(text string) []byte {
	return thriftwire.AppendStop(thriftwire.AppendString(thriftwire.AppendField(nil, thriftwire.String, 1), text))
}

// textOf reads what textStruct writes.
func textOf(b []byte) string {
	if len(b) < 8 {
		return fmt.Sprintf("not a text struct: % x", b)
	}
	text, _ := thriftwire.ConsumeBytes(b[3:])
	return string(text)
}

// message returns the bytes of a message.
func (p *peer) message(mt thriftwire.MessageType, name string, seq int32, body []byte) []byte {
	m := append(thriftwire.AppendMessage(nil, mt, name, seq), body...)
	if p.framed {
		m = append(binary.BigEndian.AppendUint32(nil, uint32(len(m))), m...)
	}
	return m
}

// call returns the bytes of a call with the args {1: text}.
func (p *peer) call(name string, seq int32, text string) []byte {
	return p.message(thriftwire.Call, name, seq, textStruct(text))
}

// send writes bytes; a failure shows in what is received.
func (p *peer) send(b []byte) {
	p.SetWriteDeadline(time.Now().Add(patience))
	p.Conn.Write(b)
}

// reply is a message from the server.
type reply struct {
	t         thriftwire.MessageType
	name      string
	seq       int32
	text      string // of a reply
	exception int32  // type, of an exception
}

func (r reply) String() string {
	return fmt.Sprintf("%v %s #%d %q (%d)", r.t, r.name, r.seq, r.text, r.exception)
}

// receive reads a reply, for which it waits with patience; io.EOF means that the server has closed the connection.
func (p *peer) receive() (reply, error) {
	var b []byte
	if p.framed {
		var size [4]byte
		if _, err := io.ReadFull(p, size[:]); err != nil {
			return reply{}, err
		}
		b = make([]byte, binary.BigEndian.Uint32(size[:]))
		if _, err := io.ReadFull(p, b); err != nil {
			return reply{}, err
		}
		return parseReply(b), nil
	}
	for {
		var c [1]byte
		if _, err := io.ReadFull(p, c[:]); err != nil {
			return reply{}, err
		}
		b = append(b, c[0])
		if _, n := thriftwire.ConsumeMessage(b); n > 0 && thriftwire.Skip(b[n:], thriftwire.Struct, 64) > 0 {
			return parseReply(b), nil
		}
	}
}

func parseReply(b []byte) reply {
	m, n := thriftwire.ConsumeMessage(b)
	if n < 0 {
		return reply{name: "broken"}
	}
	r := reply{t: m.Type, name: string(m.Name), seq: m.SequenceID, text: textOf(b[n:])}
	if m.Type == thriftwire.Exception {
		r.exception = int32(binary.BigEndian.Uint32(b[len(b)-5:]))
	}
	return r
}

// want receives a reply with the given sequence id and text.
func (p *peer) want(seq int32, text string) {
	p.t.Helper()
	r, err := p.receive()
	if err != nil || r.t != thriftwire.Reply || r.seq != seq || r.text != text {
		p.t.Errorf("received %v, %v, want a reply #%d %q", r, err, seq, text)
	}
}

// wantException receives an exception with the given sequence id and type.
func (p *peer) wantException(seq, code int32) reply {
	p.t.Helper()
	r, err := p.receive()
	if err != nil || r.t != thriftwire.Exception || r.seq != seq || r.exception != code {
		p.t.Errorf("received %v, %v, want an exception #%d of type %d", r, err, seq, code)
	}
	return r
}

// wantClosed waits until the server closes the connection, without a reply.
func (p *peer) wantClosed() {
	p.t.Helper()
	if b, err := io.ReadAll(p); len(b) > 0 || isTimeout(err) {
		p.t.Errorf("received % x, %v, want the end", b, err)
	}
}

func isTimeout(err error) bool {
	timeout, ok := err.(net.Error)
	return ok && timeout.Timeout()
}
