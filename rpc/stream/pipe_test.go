package stream_test

import (
	"bytes"
	"context"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds a wire in memory: what one stream sends, the other is told of.

// end is one end of such a wire.
type end struct {
	mu      sync.Mutex
	peer    *stream.Stream
	full    chan struct{} // Writable returns it
	resets  int
	endings int
	why     error
	lost    bool // frames vanish
}

func (e *end) to() *stream.Stream {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lost {
		return nil
	}
	return e.peer
}

func (e *end) Writable() <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.full
}

func (e *end) SendHeader(md stream.Metadata) error {
	if p := e.to(); p != nil {
		p.OnHeader(md)
	}
	return nil
}

func (e *end) SendData(appendTo func([]byte) ([]byte, error)) (int, error) {
	b, err := appendTo(nil)
	if err != nil {
		return 0, err
	}
	if p := e.to(); p != nil {
		p.OnData(b, nil)
	}
	return len(b), nil
}

func (e *end) SendCredit(n int) {
	if p := e.to(); p != nil {
		p.OnCredit(n)
	}
}

func (e *end) SendClose(outcome error, trailer stream.Metadata) error {
	if p := e.to(); p != nil {
		p.OnClose(outcome, trailer)
	}
	return nil
}

func (e *end) SendReset(reason *stream.Error) {
	e.mu.Lock()
	e.resets++
	e.mu.Unlock()
	if p := e.to(); p != nil {
		p.OnReset(reason)
	}
}

func (e *end) Ended(err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.endings++
	e.why = err
}

// ended returns how often the wire was told of the end.
func (e *end) ended() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.endings
}

// pair is a stream with both of its sides.
type pair struct {
	client, server         *stream.Stream
	clientWire, serverWire *end
}

// connect returns a pair whose client is open.
func connect(t testing.TB, ctx context.Context, client, server stream.Options) *pair {
	t.Helper()
	client.Role, server.Role = stream.Client, stream.Server
	p := &pair{clientWire: &end{}, serverWire: &end{}}
	p.client = stream.New(ctx, p.clientWire, client)
	p.server = stream.New(context.Background(), p.serverWire, server)
	p.clientWire.peer, p.serverWire.peer = p.server, p.client
	if err := p.client.Open(stream.Metadata{"who": "tester"}); err != nil {
		t.Fatal(err)
	}
	return p
}

// text appends a message.
func text(s string) func([]byte) ([]byte, error) {
	return func(dst []byte) ([]byte, error) { return append(dst, s...), nil }
}

// next receives a message.
func next(s *stream.Stream) (string, error) {
	var got []byte
	err := s.Recv(context.Background(), func(b []byte) error {
		got = bytes.Clone(b)
		return nil
	})
	return string(got), err
}

// eventually waits until ok.
func eventually(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for limit := time.Now().Add(30 * time.Second); !ok(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("not within 30 s: %s", what)
		}
	}
}
