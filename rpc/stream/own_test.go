package stream_test

import (
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file tests messages that are sent whole, and received as the receiver's own.

// block is memory that is used again once it is released.
type block struct{ b []byte }

func (b *block) Release() { copy(b.b, "used again") }

func TestAMessageOfOnesOwnStaysWhatItWas(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	shared := &block{[]byte("a view")}
	p.server.OnData(shared.b, shared)
	if err := p.client.SendBytes(t.Context(), []byte("whole")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"a view", "whole"} {
		if got, err := p.server.RecvOwn(t.Context()); err != nil || string(got) != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
	p.client.Cancel(nil)
	if _, err := p.server.RecvOwn(t.Context()); codeOf(err) != stream.Reset {
		t.Errorf("after the end: %v", err)
	}
}

// What fails before the network spoils nothing of what follows.
func TestAMessageThatCannotBeAppendedLeavesNothingBehind(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	broken := errors.New("broken")
	func() {
		defer func() { recover() }()
		p.client.Send(t.Context(), func([]byte) ([]byte, error) { panic("as asked") })
	}()
	if err := p.client.Send(t.Context(), func(dst []byte) ([]byte, error) { return dst, broken }); err != broken {
		t.Errorf("%v, want the error of what appends", err)
	}
	if err := p.client.SendBytes(t.Context(), nil); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Send(t.Context(), text("after")); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"", "after"} {
		if got, err := next(p.server); err != nil || got != want {
			t.Errorf("%q, %v, want %q", got, err, want)
		}
	}
}
