package rpc

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// turns is a connection without a network: each read brings the same calls, once those of
// the last one have been answered, until there have been enough.
type turns struct {
	net.Conn
	calls   []byte
	unread  []byte // of the turn's
	left    int
	replies int // bytes of a turn's

	mu      sync.Mutex
	written sync.Cond
	owed    int // bytes of replies that have not come
	closed  bool
}

func newTurns(call []byte, reply, perTurn, n int) *turns {
	t := &turns{left: n, replies: reply * perTurn}
	t.written.L = &t.mu
	for range perTurn {
		t.calls = append(t.calls, call...)
	}
	return t
}

func (t *turns) Read(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.unread) == 0 {
		for t.owed > 0 && !t.closed {
			t.written.Wait()
		}
		if t.left == 0 || t.closed {
			return 0, io.EOF
		}
		t.left--
		t.unread, t.owed = t.calls, t.replies
	}
	n := copy(b, t.unread)
	t.unread = t.unread[n:]
	return n, nil
}

func (t *turns) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.owed -= len(b)
	t.written.Signal()
	return len(b), nil
}

func (t *turns) Close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	t.written.Signal()
	return nil
}

func (t *turns) CloseWrite() error                { return nil }
func (t *turns) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (t *turns) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (t *turns) SetReadDeadline(time.Time) error  { return nil }
func (t *turns) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkTurn serves noops of which each read brings a hundred, without a
// network: what the server itself spends on a call, which is what ns/op are for.
func BenchmarkTurn(b *testing.B) {
	type none struct{}
	framed := thriftwire.AppendMessage([]byte{0, 0, 0, 17}, thriftwire.Call, "noop", 7)
	framed = append(framed, 0)
	headed := func(ints ...ttheader.IntPair) []byte {
		frame, err := (&ttheader.Outgoing{SequenceID: 7, Ints: ints}).Append(nil)
		if err != nil {
			b.Fatal(err)
		}
		frame = append(thriftwire.AppendMessage(frame, thriftwire.Call, "noop", 7), 0)
		ttheader.Seal(frame, 0)
		return frame
	}
	kitex := headed( // as its clients send it
		ttheader.IntPair{Key: ttheader.FromService, Value: "bench.client"},
		ttheader.IntPair{Key: ttheader.ToService, Value: "bench"}, ttheader.IntPair{Key: ttheader.ToMethod, Value: "noop"})
	callback := UnaryCallback("noop", func(_ *none, reply Reply[none]) { reply.Result(&none{}) })
	plain := Unary("noop", func(context.Context, *none, *none) error { return nil })
	for _, bb := range []struct {
		name   string
		call   []byte
		reply  int // bytes
		method Method
	}{
		{"callback/framed", framed, len(framed), callback},
		{"callback/ttheader", kitex, len(headed()), callback},
		{"plain/framed", framed, len(framed), plain},
	} {
		b.Run(bb.name, func(b *testing.B) {
			srv := NewServer()
			defer srv.Close()
			if err := srv.Register(&Service{Name: "Bench", Methods: []Method{bb.method}}); err != nil {
				b.Fatal(err)
			}
			const perTurn = 100
			conn := newTurns(bb.call, bb.reply, perTurn, (b.N+perTurn-1)/perTurn)
			b.ReportAllocs()
			b.ResetTimer()
			newServerConn(srv, conn, false).loop()
			if conn.left > 0 || conn.owed != 0 {
				b.Fatalf("%d turns were not read, and %d bytes of replies are owed", conn.left, conn.owed)
			}
		})
	}
}
