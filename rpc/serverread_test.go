package rpc

import (
	"context"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// A connection that rests waits no longer than it would have without.
func TestAWaitThatGoesOnKeepsItsDeadline(t *testing.T) {
	srv := NewServer(IdleTimeout(time.Hour))
	defer srv.Close()
	c := newServerConn(srv, newTurns(nil, 0, 0, 0), false)
	c.setReadDeadline(false)
	begun := c.deadline
	if left := time.Until(begun); left < 50*time.Minute {
		t.Fatalf("the wait is %v", left)
	}
	c.deadline = begun.Add(-30 * time.Minute) // which have passed
	c.stale, c.goesOn = true, true
	c.setReadDeadline(false)
	if c.deadline.After(begun.Add(-20 * time.Minute)) {
		t.Errorf("the wait goes on for %v", time.Until(c.deadline))
	}
	c.stale = true
	if c.setReadDeadline(false); c.deadline.Before(begun) {
		t.Errorf("the next wait is %v", time.Until(c.deadline))
	}
}

// lateTurns are turns of which one comes when the time to wait for it has passed, as on
// a machine that is too busy to read.
type lateTurns struct {
	*turns
	inTime int // those before
}

func (t *lateTurns) Read(b []byte) (int, error) {
	if t.inTime--; t.inTime == -1 {
		time.Sleep(2 * time.Millisecond)
		return 0, os.ErrDeadlineExceeded
	}
	return t.turns.Read(b)
}

func TestACallThatHasComeIsServedThoughItsConnectionLooksIdle(t *testing.T) {
	called := make(chan struct{}, 1)
	srv := NewServer(IdleTimeout(time.Millisecond))
	defer srv.Close()
	noted := Method{Name: "m", Oneway: true, Callback: func([]byte, Responder) { called <- struct{}{} }}
	if err := srv.Register(&Service{Name: "S", Methods: []Method{noted}}); err != nil {
		t.Fatal(err)
	}
	call := append(thriftwire.AppendMessage([]byte{0, 0, 0, 14}, thriftwire.Oneway, "m", 1), 0)
	c := newServerConn(srv, &lateTurns{turns: newTurns(call, 0, 1, 1)}, false)
	if err := c.readCalls(); err != io.EOF {
		t.Errorf("reading ends with %v", err)
	}
	if len(called) != 1 {
		t.Error("the call is lost")
	}
}

func TestAStreamThatHasComeIsServedThoughItsConnectionLooksIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		served := 0
		srv := NewServer(IdleTimeout(time.Millisecond))
		defer srv.Close()
		counted := Method{Name: "m", Stream: func(context.Context, *stream.Stream) error { served++; return nil }}
		if err := srv.Register(&Service{Name: "S", Methods: []Method{counted}}); err != nil {
			t.Fatal(err)
		}
		frame, err := (&ttheader.Outgoing{Flags: ttheader.Streaming, SequenceID: 1, Protocol: ttheader.StreamData,
			Ints: []ttheader.IntPair{{Key: ttheader.FrameType, Value: "2"}, {Key: ttheader.ToMethod, Value: "m"}}}).Append(nil)
		if err != nil {
			t.Fatal(err)
		}
		ttheader.Seal(frame, 0)
		newServerConn(srv, &lateTurns{turns: newTurns(frame, 0, 1, 2), inTime: 1}, false).loop()
		if served != 2 { // the second one after the first has ended
			t.Errorf("%d streams were served", served)
		}
	})
}

// Whether a connection can be given away is asked of a server, too, that has not been asked to give any.
func TestAConnectionMayEndWhileItsServerBeginsToHandOver(t *testing.T) {
	srv := NewServer(Grace(0, 0))
	c := newServerConn(srv, newTurns(nil, 0, 0, 0), false)
	var wg sync.WaitGroup
	wg.Go(func() { srv.HandOver(t.Context(), func(net.Conn, []byte) error { return nil }) })
	wg.Go(func() { c.mayPart() })
	wg.Wait()
}

// A call that expires while a worker finds that it is too late is refused once.
func TestACallIsCountedAsRefusedOnce(t *testing.T) {
	srv := NewServer()
	defer srv.Close()
	c := newServerConn(srv, newTurns(nil, 0, 0, 0), false)
	call := srv.newCall(c)
	call.method, call.oneway = &Method{Name: "m", form: formPlain}, true
	c.sock.in.Room(1)
	_, call.block = c.sock.in.Take(0)
	c.mu.Lock()
	err := c.enter(call)
	call.due = 1 // which has passed
	c.mu.Unlock()
	if err != nil {
		t.Fatal(err)
	}
	c.expire(srv.clock())
	c.refuseCall(call, refusal{cause: srv.late(call, srv.clock())})
	if n := srv.Stats().Refused[RefusedExpired]; n != 1 {
		t.Errorf("the call counts %d times", n)
	}
}
