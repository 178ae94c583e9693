package rpc

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds a call on the server from its arrival to its admission.

// serverCall is a call from its arrival until it leaves: until its handler
// has ended and its reply is queued for the network. It is then used for another
// call; who holds on to it, as a Responder does, has the generation that it had.
//
// Invariant: of all that want to answer a call, its handler, its expiry and
// the end of its connection, the one whose claim succeeds does.
type serverCall struct {
	conn       *serverConn
	method     *Method // nil if the call is refused
	form       form
	heads      heads
	name       string // bare, as the reply carries it
	seq        int32
	oneway     bool
	priority   Priority
	args       []byte           // in the form's protocol
	attachment []byte           // beside the arguments, over tRPC
	block      *transport.Block // that name, args and heads are views of, unless they were compressed
	size       int              // in the connection's count of bytes
	arrived    int64            // on the server's clock
	due        int64            // when it expires, on the server's clock; 0 for never
	patience   time.Duration    // that it may wait for a worker; 0 for any time
	timeout    time.Duration    // that the client waits for the reply; 0 if it has not said
	given      int64            // when it stops to, on the server's clock; 0 if it has not said

	srv   *Server // for good
	spare *buffer // for the handler's reply; nil for one of the pool
	state atomic.Uint64
	ctx   atomic.Pointer[callContext]

	result result // of whoever has claimed the call

	// Guarded by the connection's mutex.
	prev, next *serverCall // in the list of calls
	behind     *serverCall // in the list of order
	holds      int         // reasons to stay: the handler has not ended, the reply is not queued
	counted    bool        // among the server's calls in flight
	admitted   bool        // and served, so that its time says how fast the server is
	withWorker bool        // counts as running
	dropped    bool        // nobody can be told
	lost       bool        // it has expired, and its handler may still look at it
	ready      bool        // reply is complete, or there is none to come
	reply      reply
}

// The state of a call is its generation, and behind it whether somebody has
// claimed to answer it, and whether that was its expiry.
const (
	claimed        = 1
	expired        = 2
	generationBits = 2
)

// generation returns what a holder must remember to claim the call later.
func (call *serverCall) generation() uint64 { return call.state.Load() >> generationBits }

// open reports whether the call is that of the generation, and has no answer.
func (call *serverCall) open(generation uint64) bool {
	return call.state.Load() == generation<<generationBits
}

// answered reports whether somebody has claimed to answer the call.
func (call *serverCall) answered() bool { return call.state.Load()&claimed != 0 }

// claim reports whether the caller is the one who answers; as says how.
func (call *serverCall) claim(generation, as uint64) bool {
	return call.state.CompareAndSwap(generation<<generationBits, generation<<generationBits|as)
}

// callList is a list of calls in order of arrival.
type callList struct{ head, tail *serverCall }

func (l *callList) push(call *serverCall) {
	call.prev, call.next = l.tail, nil
	if l.tail != nil {
		l.tail.next = call
	} else {
		l.head = call
	}
	l.tail = call
}

func (l *callList) remove(call *serverCall) {
	if call.prev != nil {
		call.prev.next = call.next
	} else {
		l.head = call.next
	}
	if call.next != nil {
		call.next.prev = call.prev
	} else {
		l.tail = call.prev
	}
	call.prev, call.next = nil, nil
}

// orderList is a queue of the calls whose replies keep their order.
type orderList struct{ head, tail *serverCall }

func (l *orderList) push(call *serverCall) {
	if l.tail != nil {
		l.tail.behind = call
	} else {
		l.head = call
	}
	l.tail = call
}

func (l *orderList) pop() {
	first := l.head
	l.head = first.behind
	if l.head == nil {
		l.tail = nil
	}
	first.behind = nil
}

// newCall returns a call that has arrived on c.
func (s *Server) newCall(c *serverConn) *serverCall {
	call, _ := s.calls.Get().(*serverCall)
	if call == nil {
		call = &serverCall{srv: s}
	}
	call.conn, call.form, call.arrived = c, c.form, c.arrived
	return call
}

// reset makes a call that has left ready for another one. What claims it by
// its old generation fails from now on. Its reply has been taken.
func (call *serverCall) reset() {
	generation := call.generation() + 1
	call.conn, call.method = nil, nil
	if call.ctx.Load() != nil {
		call.ctx.Store(nil)
	}
	if call.form.carriesPairs() {
		call.heads = heads{}
	}
	call.name, call.args, call.attachment, call.block = "", nil, nil, nil
	call.oneway, call.priority = false, 0
	call.due, call.patience, call.timeout, call.given = 0, 0, 0, 0
	call.counted, call.admitted, call.withWorker, call.dropped, call.ready = false, false, false, false, false
	if r := &call.result; r.cuts != nil || r.message.Body != nil || r.message.Owner != nil {
		*r = result{}
	}
	call.result.b = nil
	call.state.Store(generation << generationBits)
}

// buffer returns a buffer for the reply of the call's handler.
func (call *serverCall) buffer() *buffer {
	b := call.spare
	if b == nil {
		return call.srv.buffers.get()
	}
	call.spare = nil
	b.b = b.b[:0]
	return b
}

// keepCall makes a call that has left ready for another one: in a turn for the next of
// the connection, which costs less than the pool. c.mu is held.
func (c *serverConn) keepCall(call *serverCall) {
	call.reset()
	if c.inTurn && c.kept == nil {
		c.kept = call
	} else {
		c.srv.calls.Put(call)
	}
}

// nextCall is newCall, for the loop.
func (c *serverConn) nextCall() *serverCall {
	call := c.next
	if call == nil {
		return c.srv.newCall(c)
	}
	c.next = nil
	call.conn, call.form, call.arrived = c, c.form, c.arrived
	return call
}

// returnUses returns the uses of the turn's block that ended with calls. c.mu is held, by the loop.
func (c *serverConn) returnUses() {
	if c.returned > 0 {
		c.sock.in.Return(c.returned)
		c.returned = 0
	}
}

// giveCalls gives what is kept for the calls of a turn to the pools, at its end. c.mu is held.
func (c *serverConn) giveCalls() {
	if c.kept != nil {
		c.srv.calls.Put(c.kept)
	}
	if c.next != nil {
		c.srv.calls.Put(c.next)
	}
	c.srv.buffers.put(c.freed)
	c.kept, c.next, c.freed = nil, nil, nil
}

// accept takes the frame at the front of the stream, n bytes with its length,
// and runs the call in it, hands it to the workers or answers it with a refusal. An error
// means that the stream cannot go on.
func (c *serverConn) accept(frame []byte, n int) error {
	if c.form.dialect == transport.TRPC {
		return c.acceptTRPC(frame, n)
	}
	call := c.nextCall()
	call.size = n
	packed := c.form.dialect == transport.Header && compressed(frame)
	if packed {
		c.beginUnpacking(frame, n)
		call.arrived = c.arrived
	}
	refused, err := c.open(call, frame)
	if packed {
		c.endUnpacking(call.size)
	}
	if err != nil {
		return err
	}
	_, call.block = c.sock.in.Take(n)
	return c.takeFrame(call, refused)
}

// takeFrame takes a call whose frame has been taken. An error means that the
// connection was refused with it.
func (c *serverConn) takeFrame(call *serverCall, refused refusal) error {
	if err := c.take(call, refused); err != nil {
		return err
	}
	switch {
	case c.refuse:
		return errRefused
	case c.insecure:
		return errInsecure
	}
	return nil
}

// take takes a call that has been opened, once there is room for it.
func (c *serverConn) take(call *serverCall, refused refusal) error {
	switch {
	case refused.cause != 0:
	case c.refuse:
		refused = refusal{cause: RefusedConnection}
	case c.insecure:
		refused = refusal{cause: RefusedInsecure}
	}
	c.mu.Lock()
	if c.full(call.size) || c.starved(call.size-c.partial) {
		c.mu.Unlock()
		c.awaitRoom(call.size)
		call.arrived = c.arrived // its time begins when the server takes it
		c.mu.Lock()
	}
	if refused.cause == 0 {
		refused = c.admit(call)
	}
	err := c.enter(call)
	if c.next == nil {
		c.next, c.kept = c.kept, nil
	}
	if call.spare == nil {
		call.spare, c.freed = c.freed, nil
	}
	c.returnUses()
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.dispatch(call, refused)
	return nil
}

// enter counts a call among those in flight. c.mu is held.
func (c *serverConn) enter(call *serverCall) error {
	if c.dead || c.finished {
		if call.counted {
			c.vacate()
		}
		call.block.Release()
		call.reset() // or what the user's function has been given would show what is in the block next
		return net.ErrClosed
	}
	c.calls.push(call)
	c.inFlight++
	c.bytes += call.size
	c.count(call.size)
	c.uncountPartial()
	call.holds = 1 // for the handler, or the refusal
	if !call.oneway {
		call.holds++
		if !c.outOfOrder {
			c.order.push(call)
		}
	}
	if !c.swept && (call.due > 0 || call.given > 0 || call.patience > 0 && call.waits()) {
		c.swept = true
		c.srv.sweeper.add(c)
	}
	return nil
}

// waits reports whether the call is one that waits for a worker.
func (call *serverCall) waits() bool { return call.method != nil && call.method.form != formCallback }

// leave gives up one reason for a call to stay. c.mu is held.
func (c *serverConn) leave(call *serverCall) {
	if call.holds--; call.holds > 0 {
		return
	}
	c.calls.remove(call)
	c.inFlight--
	c.noteServed()
	c.bytes -= call.size
	if call.counted {
		if a := c.srv.adaptive; a != nil && call.admitted {
			now := c.srv.clock()
			n := int(c.srv.inFlight.Load())
			if c.vacant {
				n--
			}
			a.Sample(now, now-call.arrived, n)
		}
		c.vacate()
	}
	c.count(-call.size)
	c.unfavour()
	if !call.lost {
		if c.inTurn && call.block == c.block {
			c.returned++
		} else {
			call.block.Release()
		}
		c.keepCall(call)
	}
	c.room.Signal()
}

// occupy counts a call among those of the server in flight, and returns how many there
// are. c.mu is held.
func (c *serverConn) occupy() int64 {
	if !c.vacant {
		return c.srv.inFlight.Add(1)
	}
	c.vacant = false
	return c.srv.inFlight.Load()
}

// vacate ends the count of a call. In a turn one place is kept for the next call of the
// connection, which spares processors that share the count. c.mu is held.
func (c *serverConn) vacate() {
	if c.inTurn && !c.vacant {
		c.vacant = true
	} else {
		c.srv.inFlight.Add(-1)
	}
}

// refuseOversized answers a message that exceeds the limit, as far as its
// envelope has arrived, or the headers that clients find their calls by.
func (c *serverConn) refuseOversized(err error) {
	var fault *diag.Fault
	if !errors.As(err, &fault) || fault.Code != diag.SizeLimit {
		return
	}
	if c.form.dialect == transport.TRPC {
		c.refuseOversizedTRPC(fault)
		return
	}
	message := c.sock.in.Bytes()
	if c.form.dialect != transport.Unframed && c.form.dialect != transport.UnframedCompact {
		message = message[framed.HeaderSize:]
	}
	call := c.srv.newCall(c)
	if call.form.hasHeaders() {
		var ok bool
		if message, ok = call.form.peek(message); !ok || c.checkFlags(&call.form) != nil {
			return
		}
		call.seq = int32(call.form.sequence)
		call.oneway = call.form.oneway()
	}
	if m, n := call.form.envelope(message); n >= 0 {
		call.name, call.seq, call.oneway = string(bareName(m.Name)), m.SequenceID, call.oneway || m.Type == thriftwire.Oneway
	} else if !call.form.hasHeaders() {
		return
	}
	_, call.block = c.sock.in.Take(0)
	c.mu.Lock()
	err = c.enter(call)
	c.mu.Unlock()
	if err == nil {
		c.dispatch(call, refusal{cause: RefusedMessage, exception: &ApplicationException{Type: ProtocolError, Message: fault.Detail}})
	}
}
