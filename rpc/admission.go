package rpc

import (
	"fmt"
	"strconv"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/overload"
)

// This file holds whether a call is served or refused, and how a refusal reads
// on the wire. The codes are fbthrift's.

// Refusal is why a server refused or gave up a call.
type Refusal uint8

const (
	RefusedConnection  Refusal = iota + 1 // MaxConnections
	RefusedInsecure                       // TLS is required, and the client speaks in the clear
	RefusedMessage                        // a message that cannot be read, is too large, or is no call
	RefusedMethod                         // no such method
	RefusedStopping                       // the server is shutting down
	RefusedOverload                       // the user's function of Overloaded
	RefusedInFlight                       // MaxInFlight
	RefusedRate                           // MaxRate
	RefusedConcurrency                    // AdaptiveConcurrency
	RefusedQueueFull                      // MaxQueue
	RefusedQueueTime                      // QueueTimeout, or what the client allows
	RefusedDelay                          // CoDel
	RefusedExpired                        // TaskExpiry, or the client's timeout
	refusals
)

// refusalTexts are how refusals read: the exception's type and message, the
// code of the header "ex", and the name in statistics.
var refusalTexts = [refusals]struct {
	exception int32
	ex        int
	name      string
	message   string
}{
	RefusedConnection:  {LoadShedding, 1, "connections", "too many connections"},
	RefusedInsecure:    {UnsupportedClientType, 28, "insecure", "this server requires TLS"},
	RefusedMessage:     {ProtocolError, 28, "message", "the message cannot be read"},
	RefusedMethod:      {UnknownMethod, 25, "method", "no such method"},
	RefusedStopping:    {InternalError, 5, "stopping", "the server is shutting down"},
	RefusedOverload:    {LoadShedding, 22, "overload", "the server is overloaded"},
	RefusedInFlight:    {LoadShedding, 1, "in_flight", "too many calls in flight"},
	RefusedRate:        {LoadShedding, 1, "rate", "too many calls per second"},
	RefusedConcurrency: {LoadShedding, 1, "concurrency", "too many calls for the server's latency"},
	RefusedQueueFull:   {LoadShedding, 22, "queue_full", "too many calls wait for a worker"},
	RefusedQueueTime:   {Timeout, 15, "queue_time", "the call has waited too long for a worker"},
	RefusedDelay:       {LoadShedding, 22, "delay", "calls wait too long for a worker"},
	RefusedExpired:     {Timeout, 2, "expired", "the call's time has passed"},
}

// String returns the name of r in statistics, such as "queue_full".
func (r Refusal) String() string {
	if r > 0 && r < refusals {
		return refusalTexts[r].name
	}
	return "refusal " + strconv.Itoa(int(r))
}

// refusal is why a call is not served; the zero value is that it is.
type refusal struct {
	cause     Refusal
	exception *ApplicationException // nil for the cause's own text
	told      *StatusError          // what a client of tRPC is told; nil for what the exception says
}

// reply returns what the client is told.
func (r refusal) reply() (*ApplicationException, int) {
	text := refusalTexts[r.cause]
	if r.exception != nil {
		return r.exception, text.ex
	}
	return &ApplicationException{Type: text.exception, Message: text.message}, text.ex
}

// admit decides on a call whose method has been found, in the order that
// fbthrift's server has, and sets its deadlines. c.mu is held, and let go while
// the user's function is asked.
func (c *serverConn) admit(call *serverCall) refusal {
	s := c.srv
	call.setTimes(&s.opt)
	if s.closing.Load() && !c.movable() { // what goes to another server is served until it does
		return refusal{cause: RefusedStopping}
	}
	if s.opt.overloaded != nil {
		if e := c.askOverloaded(call); e != nil {
			return refusal{cause: RefusedOverload, exception: e}
		}
	}
	inFlight := c.occupy()
	call.counted = true
	switch {
	case inFlight > int64(s.opt.maxInFlight):
		return refusal{cause: RefusedInFlight}
	case s.adaptive != nil && inFlight > int64(s.adaptive.Limit()):
		return refusal{cause: RefusedConcurrency}
	case s.rate != nil && !s.rate.Take(call.arrived):
		return refusal{cause: RefusedRate}
	}
	call.admitted = true
	return refusal{}
}

// askOverloaded asks the user's function, and returns what the client is told
// if it refuses the call or panics.
func (c *serverConn) askOverloaded(call *serverCall) (e *ApplicationException) {
	c.mu.Unlock()
	e = c.judge(c.contextOf(call, call.generation()))
	c.mu.Lock() // not deferred: if the function ends the goroutine, nobody is left to unlock it
	return e
}

// judge is askOverloaded for a call or stream that is known by its context.
func (c *serverConn) judge(x *callContext) (e *ApplicationException) {
	defer func() {
		if p := recover(); p != nil {
			c.panicked(x.method, p)
			e = exceptionf(LoadShedding, "panic where the load was to be judged")
		}
	}()
	if err := c.srv.opt.overloaded(CallInfo{x}); err != nil {
		return &ApplicationException{Type: LoadShedding, Message: err.Error()}
	}
	return nil
}

// setTimes sets how long a call may wait and run: the client's word on its
// queue time wins; where calls expire, one whose client has a timeout does a
// little later than that.
func (call *serverCall) setTimes(o *serverOptions) {
	if call.patience == 0 {
		call.patience = o.queueTimeout
	}
	expiry := o.taskExpiry
	if d := call.method.Expiry; d != 0 {
		expiry = d
	}
	if call.timeout > 0 {
		call.given = call.arrived + int64(call.timeout)
	}
	if expiry > 0 && call.timeout > 0 {
		expiry = call.timeout + call.timeout/10
	}
	if expiry > 0 {
		call.due = call.arrived + int64(expiry)
		call.patience = min(call.patience, expiry)
	}
	if call.priority == 0 {
		call.priority = call.method.Priority
	}
	if call.priority == 0 || call.priority > BestEffort {
		call.priority = Normal
	}
}

// late decides on a call that a worker takes at now.
func (s *Server) late(call *serverCall, now int64) Refusal {
	waited := now - call.arrived
	switch {
	case call.due > 0 && now >= call.due:
		return RefusedExpired
	case call.patience > 0 && waited > int64(call.patience):
		return RefusedQueueTime
	case s.codel != nil && s.codel.Overloaded(now, waited):
		return RefusedDelay
	}
	return 0
}

// Priority says which calls go first when more wait than workers are free.
// The numbers on the wire are fbthrift's, one less than these.
type Priority uint8

const (
	HighImportant Priority = iota + 1
	High
	Important
	Normal // the default
	BestEffort
)

var priorityNames = [...]string{"default", "high important", "high", "important", "normal", "best effort"}

// String returns the priority's name, such as "best effort".
func (p Priority) String() string {
	if int(p) < len(priorityNames) {
		return priorityNames[p]
	}
	return fmt.Sprintf("priority %d", uint8(p))
}

// newOverload makes the parts of admission that the options ask for.
func (s *Server) newOverload() {
	if s.opt.rate > 0 {
		s.rate = overload.NewTokenBucket(s.opt.rate, s.opt.burst, s.clock())
	}
	if o := s.opt.codel; o != nil {
		s.codel = overload.NewCoDel(o.interval, o.target)
	}
	if s.opt.adaptive != nil {
		s.adaptive = overload.NewAdaptive(*s.opt.adaptive, s.clock())
	}
}

// milliseconds reads a duration that a header gives, 0 if it is none.
func milliseconds(text []byte) time.Duration {
	if len(text) > 9 {
		return 0
	}
	n, err := strconv.ParseUint(string(text), 10, 32)
	if err != nil {
		return 0
	}
	return time.Duration(n) * time.Millisecond
}
