package stream_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

func TestWatchersSeeEachMessageOnce(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	var mu sync.Mutex
	var seen []string
	note := func(who string) func(stream.Passage) {
		return func(m stream.Passage) {
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, fmt.Sprintf("%s %t %d %d", who, m.Sent, m.Number, m.Size))
		}
	}
	send := func(s *stream.Stream, m string) {
		t.Helper()
		if err := s.Send(t.Context(), text(m)); err != nil {
			t.Fatal(err)
		}
	}
	send(p.client, "before")
	if sent, received := p.server.Watch(note("server")); sent != 0 || received != 1 {
		t.Errorf("before the server watched %d went and %d came", sent, received)
	}
	if sent, received := p.client.Watch(note("client")); sent != 1 || received != 0 {
		t.Errorf("before the client watched %d went and %d came", sent, received)
	}
	p.client.Watch(note("another"))
	send(p.client, "four")
	send(p.server, "sixsix")
	slices.Sort(seen)
	want := []string{"another false 1 6", "another true 2 4", "client false 1 6", "client true 2 4", "server false 2 4", "server true 1 6"}
	if !slices.Equal(seen, want) {
		t.Errorf("%q, want %q", seen, want)
	}
	if sent, received := p.server.Counts(); sent != 1 || received != 2 {
		t.Errorf("the server has sent %d and received %d", sent, received)
	}
	p.client.Cancel(nil)
	p.server.Cancel(nil)
}

func TestTheEndOfAStreamIsToldHoweverItsContextEnds(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := connect(t, ctx, stream.Options{}, stream.Options{})
	if ended, err := p.client.End(); ended || err != nil {
		t.Errorf("an open stream: %t, %v", ended, err)
	}
	outcome := errors.New("no more")
	p.server.Finish(outcome)
	cancel()
	if ended, err := p.client.End(); !ended || err != outcome {
		t.Errorf("after the outcome: %t, %v", ended, err)
	}
	if ended, err := p.server.End(); !ended || err != nil {
		t.Errorf("the server's side: %t, %v", ended, err)
	}
	q := connect(t, t.Context(), stream.Options{}, stream.Options{})
	q.client.Cancel(nil)
	if ended, err := q.client.End(); !ended || codeOf(err) != stream.Cancelled {
		t.Errorf("after a cancel: %t, %v", ended, err)
	}
	q.server.Cancel(nil)
}
