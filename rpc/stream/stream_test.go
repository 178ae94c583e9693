package stream_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

func codeOf(err error) stream.Code {
	var e *stream.Error
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}

func TestBothHalvesRunAndEndOnce(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	if who := p.server.RecvHeader()["who"]; who != "tester" {
		t.Errorf("the server sees the header %q", who)
	}
	for i := range 100 {
		if err := p.client.Send(t.Context(), text(strconv.Itoa(i))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.client.CloseSend(t.Context()); err != nil {
		t.Fatal(err)
	}
	for i := range 100 {
		if got, err := next(p.server); err != nil || got != strconv.Itoa(i) {
			t.Fatalf("message %d is %q, %v", i, got, err)
		}
	}
	if _, err := next(p.server); err != io.EOF {
		t.Errorf("after the half-close: %v, want io.EOF", err)
	}
	p.server.SetHeader(stream.Metadata{"a": "1"})
	p.server.SetTrailer(stream.Metadata{"z": "26"})
	if err := p.server.Send(t.Context(), text("answer")); err != nil {
		t.Fatal(err)
	}
	if err := p.server.SetHeader(nil); codeOf(err) != stream.Misuse {
		t.Errorf("a header after the first message: %v", err)
	}
	if err := p.server.Finish(nil); err != nil {
		t.Fatal(err)
	}
	if err := p.server.Finish(nil); codeOf(err) != stream.Ended {
		t.Errorf("a second end: %v", err)
	}
	if md, err := p.client.Header(t.Context()); err != nil || md["a"] != "1" {
		t.Errorf("header %v, %v", md, err)
	}
	if got, err := next(p.client); err != nil || got != "answer" {
		t.Errorf("got %q, %v: what came before the end is still to be taken", got, err)
	}
	if _, err := next(p.client); err != io.EOF {
		t.Errorf("after the end: %v, want io.EOF", err)
	}
	if md := p.client.Trailer(); md["z"] != "26" {
		t.Errorf("trailer %v", md)
	}
	p.client.Cancel(nil)
	p.server.Cancel(nil)
	if p.clientWire.ended() != 1 || p.serverWire.ended() != 1 || p.clientWire.resets+p.serverWire.resets != 0 {
		t.Errorf("ended %d and %d times, want once each", p.clientWire.ended(), p.serverWire.ended())
	}
	if err := context.Cause(p.client.Context()); codeOf(err) != stream.Ended {
		t.Errorf("the context's cause is %v", err)
	}
}

func TestAnOutcomeReachesTheClientBehindTheMessages(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	outcome := errors.New("no more books")
	p.server.Send(t.Context(), text("one"))
	p.server.Finish(outcome)
	if got, err := next(p.client); got != "one" || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := next(p.client); err != outcome {
		t.Errorf("got %v, want the outcome", err)
	}
	if err := p.client.Send(t.Context(), text("late")); err != outcome {
		t.Errorf("sending after the end: %v, want the outcome", err)
	}
}

func TestTheContextEndsTheStreamOnBothSides(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	p := connect(t, ctx, stream.Options{}, stream.Options{})
	p.server.Send(t.Context(), text("dropped"))
	cancel()
	eventually(t, "the server's stream ends", func() bool { return p.serverWire.ended() == 1 })
	if _, err := next(p.client); !errors.Is(err, context.Canceled) || codeOf(err) != stream.Cancelled {
		t.Errorf("client: %v", err)
	}
	_, err := next(p.server)
	var e *stream.Error
	if !errors.As(err, &e) || e.Code != stream.Reset || !e.Remote {
		t.Errorf("server: %v, want a reset by the peer", err)
	}
	if p.server.Context().Err() == nil {
		t.Error("the handler's context goes on")
	}
	if p.clientWire.resets != 1 || p.clientWire.ended() != 1 {
		t.Errorf("%d resets and %d ends", p.clientWire.resets, p.clientWire.ended())
	}
}

func TestADeadlineIsOne(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	if err := p.client.Recv(ctx, nil); codeOf(err) != stream.DeadlineExceeded || !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v", err)
	}
	if p.clientWire.ended() != 0 {
		t.Error("the deadline of one Recv has ended the stream")
	}
}

func TestSendsWaitForCreditAndItComesByQuarters(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{Credited: true, Credit: 100}, stream.Options{Window: 100})
	sent := make(chan error)
	go func() {
		for range 100 {
			if err := p.client.Send(t.Context(), text("0123456789")); err != nil {
				sent <- err
				return
			}
		}
		sent <- p.client.CloseSend(t.Context())
	}()
	for n := 0; ; n++ {
		if _, err := next(p.server); err == io.EOF {
			if n != 100 {
				t.Errorf("%d messages have come, want 100", n)
			}
			break
		} else if err != nil {
			t.Fatal(err)
		}
	}
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestASenderWithoutCreditExpires(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{Credited: true, Credit: 1, Expiry: time.Millisecond}, stream.Options{})
	if err := p.client.Send(t.Context(), text("beyond its credit, as the last one may be")); err != nil {
		t.Fatal(err)
	}
	if err := p.client.Send(t.Context(), text("x")); codeOf(err) != stream.Expired {
		t.Errorf("got %v", err)
	}
}

func TestAPeerBeyondItsCreditIsReset(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{Window: 10})
	p.client.Send(t.Context(), text("0123456789ab"))
	p.client.Send(t.Context(), text("c"))
	if _, err := next(p.server); codeOf(err) != stream.Overflow {
		t.Errorf("the server's stream: %v", err)
	}
	if _, err := next(p.client); codeOf(err) != stream.Reset {
		t.Errorf("the client's stream: %v", err)
	}
}

func TestWithoutCreditsTheQueueIsBounded(t *testing.T) {
	var held int
	var mu sync.Mutex
	hold := func(n int) {
		mu.Lock()
		defer mu.Unlock()
		held += n
	}
	p := connect(t, t.Context(), stream.Options{}, stream.Options{MaxMessages: 3, Hold: hold})
	for range 3 {
		if !p.server.AwaitRoom(1, time.Minute) {
			t.Fatal("no room in an empty queue")
		}
		p.client.Send(t.Context(), text("x"))
	}
	if held == 0 {
		t.Error("nobody was told of the queue's memory")
	}
	go next(p.server)
	if !p.server.AwaitRoom(1, time.Minute) {
		t.Error("no room after a message was taken")
	}
	p.client.Send(t.Context(), text("x"))
	if p.server.AwaitRoom(1, time.Millisecond) {
		t.Error("room in a full queue")
	}
	if _, err := next(p.client); codeOf(err) != stream.Reset {
		t.Errorf("the client's stream: %v", err)
	}
	if held != 0 {
		t.Errorf("%d bytes are held after the end", held)
	}
}

func TestAWireThatIsFullHoldsUpSends(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	full := make(chan struct{})
	p.clientWire.full = full
	sent := make(chan error)
	go func() { sent <- p.client.Send(t.Context(), text("x")) }()
	p.clientWire.mu.Lock()
	p.clientWire.full = nil
	p.clientWire.mu.Unlock()
	close(full)
	if err := <-sent; err != nil {
		t.Fatal(err)
	}
}

func TestAQuietStreamEnds(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{Idle: time.Millisecond})
	if _, err := next(p.server); codeOf(err) != stream.Idle {
		t.Errorf("got %v", err)
	}
}

func TestWhatCannotBeDoneIsMisuse(t *testing.T) {
	p := connect(t, t.Context(), stream.Options{}, stream.Options{})
	p.client.CloseSend(t.Context())
	if err := p.client.CloseSend(t.Context()); err != nil {
		t.Errorf("a second half-close: %v", err)
	}
	if err := p.client.Send(t.Context(), text("x")); codeOf(err) != stream.Misuse {
		t.Errorf("a message after the half-close: %v", err)
	}
	broken := errors.New("cannot be encoded")
	q := connect(t, t.Context(), stream.Options{}, stream.Options{})
	if err := q.client.Send(t.Context(), func(b []byte) ([]byte, error) { return b, broken }); err != broken {
		t.Errorf("got %v", err)
	}
	if err := q.client.Send(t.Context(), text("x")); err != nil {
		t.Errorf("after a message that could not be encoded: %v", err)
	}
}

func TestEverythingAtOnceEndsOnce(t *testing.T) {
	for range 200 {
		ctx, cancel := context.WithCancel(t.Context())
		p := connect(t, ctx, stream.Options{}, stream.Options{})
		var all sync.WaitGroup
		for _, f := range []func(){
			cancel,
			func() { p.server.Finish(nil) },
			func() { p.client.OnLost(io.ErrUnexpectedEOF) },
			func() { p.server.Send(ctx, text("x")) },
			func() { p.client.Send(ctx, text("x")) },
			func() { p.client.CloseSend(ctx) },
			func() { next(p.client) },
			func() { next(p.server) },
		} {
			all.Go(f)
		}
		all.Wait()
		eventually(t, "both sides end", func() bool { return p.clientWire.ended() == 1 && p.serverWire.ended() == 1 })
	}
}

// A wire whose header takes its time: the stream ends before it has gone out.
type lateWire struct {
	end
	before func()
	sent   []string
}

func (w *lateWire) SendHeader(stream.Metadata) error {
	w.before()
	w.sent = append(w.sent, "header")
	return nil
}

func (w *lateWire) SendReset(*stream.Error) { w.sent = append(w.sent, "reset") }

// The peer knows of no stream before its header: a reset that came first would
// leave it with one that never ends.
func TestAStreamThatEndsWhileItOpensIsResetBehindItsHeader(t *testing.T) {
	w := &lateWire{}
	s := stream.New(t.Context(), w, stream.Options{Role: stream.Client})
	w.before = func() { s.Cancel(nil) }
	if err := s.Open(nil); codeOf(err) != stream.Cancelled {
		t.Errorf("Open: %v", err)
	}
	if !slices.Equal(w.sent, []string{"header", "reset"}) || w.ended() != 1 {
		t.Errorf("sent %q, ended %d times", w.sent, w.ended())
	}
}
