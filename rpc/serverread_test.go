package rpc

import (
	"io"
	"os"
	"testing"
	"time"

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

// lateTurns are turns of which the first comes when the time to wait for it has passed, as on
// a machine that is too busy to read.
type lateTurns struct {
	*turns
	late bool
}

func (t *lateTurns) Read(b []byte) (int, error) {
	if !t.late {
		t.late = true
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
