package rpc

import (
	"errors"
	"net"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
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

	srv   *Server // for good
	state atomic.Uint64
	ctx   atomic.Pointer[callContext]

	result result // of whoever has claimed the call

	// Guarded by the connection's mutex.
	prev, next *serverCall // in the list of calls
	behind     *serverCall // in the list of order
	holds      int         // reasons to stay: the handler has not ended, the reply is not queued
	counted    bool        // among the server's calls in flight
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
	call.due, call.patience, call.timeout = 0, 0, 0
	call.counted, call.withWorker, call.dropped, call.ready = false, false, false, false
	if r := &call.result; r.cuts != nil || r.message.Body != nil || r.message.Owner != nil {
		*r = result{}
	}
	call.result.b = nil
	call.state.Store(generation << generationBits)
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

// giveCalls gives the calls that are kept to the pool, at the end of a turn. c.mu is held.
func (c *serverConn) giveCalls() {
	if c.kept != nil {
		c.srv.calls.Put(c.kept)
	}
	if c.next != nil {
		c.srv.calls.Put(c.next)
	}
	c.kept, c.next = nil, nil
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
	c.mu.Unlock()
	if err != nil {
		return err
	}
	c.dispatch(call, refused)
	return nil
}

// open reads what stands around a call's arguments, and finds its method or
// the reason to refuse it.
func (c *serverConn) open(call *serverCall, frame []byte) (refusal, error) {
	c.arrivals++
	message, err := call.form.open(frame, &call.heads, &c.srv.transformer, c.srv.opt.maxFrame)
	unread := unreadable(err)
	if err != nil && unread == nil {
		return refusal{}, err
	}
	if err := c.checkFlags(&call.form); err != nil {
		return refusal{}, err
	}
	c.readHeads(call)
	call.oneway = call.form.dialect == transport.Header && call.form.sequence == header.OnewaySequence
	if unread != nil {
		call.seq = int32(call.form.sequence)
		return refusal{cause: RefusedMessage, exception: unread}, nil
	}
	call.size = max(call.size, cap(message)) // it is more than the frame if it was compressed
	m, n := call.form.envelope(message)
	if n < 0 {
		return refusal{}, &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken message envelope", Cause: thriftwire.Error(n)}
	}
	call.seq, call.args = m.SequenceID, message[n:]
	call.oneway = call.oneway || m.Type == thriftwire.Oneway
	return c.find(call, m), nil
}

// unreadable returns why a message cannot be read though the stream goes on,
// nil if it is not for that.
func unreadable(err error) *ApplicationException {
	if err == nil {
		return nil // before there is a variable, which takes memory
	}
	var e *ApplicationException
	errors.As(err, &e)
	return e
}

// find finds the method that a message calls, or the reason to refuse it.
func (c *serverConn) find(call *serverCall, m thriftwire.Message) refusal {
	if m.Type != thriftwire.Call && m.Type != thriftwire.Oneway {
		call.name = string(bareName(m.Name))
		return refusal{cause: RefusedMessage, exception: exceptionf(InvalidMessageType, "a server takes calls, not a %s", m.Type)}
	}
	method, unknown := c.latest, (*ApplicationException)(nil)
	if method == nil || c.latestOf != c.services || string(m.Name) != method.Name {
		method, unknown = c.services.lookup(m.Name, m.Type == thriftwire.Oneway)
	}
	if unknown != nil {
		call.name = string(bareName(m.Name))
		return refusal{cause: RefusedMethod, exception: unknown}
	}
	if method.form == formStream {
		call.name = method.Name
		return refusal{cause: RefusedMethod, exception: exceptionf(UnknownMethod, "method %q streams, and is called so", clip(m.Name))}
	}
	if !method.unknown && string(m.Name) == method.Name { // which stands for one service alone
		c.latest, c.latestOf = method, c.services
	}
	call.method, call.name = method, method.Name
	call.oneway = call.oneway || method.Oneway
	return refusal{}
}

// checkFlags sees to it that a connection's calls agree on the order of
// replies; the first one decides.
func (c *serverConn) checkFlags(f *form) error {
	if !f.hasHeaders() {
		return nil
	}
	anyOrder := f.flags&header.OutOfOrder != 0 // the same bit in TTHeader
	if !c.flagged {
		c.mu.Lock()
		c.flagged, c.anyOrder = true, anyOrder
		c.outOfOrder = anyOrder && !c.srv.opt.inOrder
		c.mu.Unlock()
	}
	if c.anyOrder != anyOrder {
		return diag.NewFault(diag.InvalidHeader, -1, "the client changed its mind about the order of replies")
	}
	f.flags &= header.OutOfOrder // no other is for a reply
	return nil
}

// consumeEnvelope reads a message's envelope. A message type that does not
// exist is no error, so that it can be answered.
func consumeEnvelope(b []byte) (thriftwire.Message, int) {
	m, n := thriftwire.ConsumeMessage(b)
	if n != thriftwire.ErrType {
		return m, n
	}
	m.Type = thriftwire.MessageType(b[3])
	name, n := thriftwire.ConsumeBytes(b[4:])
	if n < 0 {
		return m, n
	}
	seq, k := thriftwire.ConsumeI32(b[4+n:])
	if k < 0 {
		return m, k
	}
	m.Name, m.SequenceID = name, seq
	return m, 4 + n + k
}

// consumeLooseEnvelope reads the envelope of a message without a version: its
// name, type and sequence id.
func consumeLooseEnvelope(b []byte) (m thriftwire.Message, n int) {
	name, n := thriftwire.ConsumeBytes(b)
	switch {
	case n < 0:
		return m, n
	case len(b) <= n:
		return m, thriftwire.ErrEOF
	}
	seq, k := thriftwire.ConsumeI32(b[n+1:])
	if k < 0 {
		return m, k
	}
	return thriftwire.Message{Name: name, Type: thriftwire.MessageType(b[n]), SequenceID: seq}, n + 1 + k
}

// enter counts a call among those in flight. c.mu is held.
func (c *serverConn) enter(call *serverCall) error {
	if c.dead || c.finished {
		if call.counted {
			c.srv.inFlight.Add(-1)
		}
		call.block.Release()
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
	if call.due > 0 && !c.swept {
		c.swept = true
		c.srv.sweeper.add(c)
	}
	return nil
}

// leave gives up one reason for a call to stay. c.mu is held.
func (c *serverConn) leave(call *serverCall) {
	if call.holds--; call.holds > 0 {
		return
	}
	c.calls.remove(call)
	c.inFlight--
	c.bytes -= call.size
	if call.counted {
		n := c.srv.inFlight.Add(-1)
		if a := c.srv.adaptive; a != nil {
			now := c.srv.clock()
			a.Sample(now, now-call.arrived, int(n)+1)
		}
	}
	c.count(-call.size)
	if c.srv.favoured.Load() == c {
		c.srv.favoured.CompareAndSwap(c, nil)
	}
	if !call.lost {
		call.block.Release()
		c.keepCall(call)
	}
	c.room.Signal()
}

// refuseOversized answers a message that exceeds the limit, as far as its
// envelope has arrived.
func (c *serverConn) refuseOversized(err error) {
	var fault *diag.Fault
	if !errors.As(err, &fault) || fault.Code != diag.SizeLimit || c.form.hasHeaders() {
		return
	}
	if c.form.dialect == transport.TRPC {
		c.refuseOversizedTRPC(fault)
		return
	}
	message := c.sock.in.Bytes()
	if c.form.dialect == transport.Framed || c.form.dialect == transport.FramedCompact {
		message = message[framed.HeaderSize:]
	}
	call := c.srv.newCall(c)
	m, n := call.form.envelope(message)
	if n < 0 {
		return
	}
	call.name, call.seq, call.oneway = string(bareName(m.Name)), m.SequenceID, m.Type == thriftwire.Oneway
	_, call.block = c.sock.in.Take(0)
	c.mu.Lock()
	err = c.enter(call)
	c.mu.Unlock()
	if err == nil {
		c.dispatch(call, refusal{cause: RefusedMessage, exception: &ApplicationException{Type: ProtocolError, Message: fault.Detail}})
	}
}
