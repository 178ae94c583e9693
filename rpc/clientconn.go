package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds a client's connection: sending requests and matching replies.

// pendingCall is a call from its encoding to its end. The connection ends it
// by a token in done, after it has set err or the reply; then it does not touch
// it any more, so that another call may have it.
type pendingCall struct {
	invocation *Invocation
	name       string // as sent
	request    *buffer
	heads      []transport.Pair // that HTTP has beside the message
	room       callRoom         // of the headers
	seq        int32
	heard      uint64        // reads that the connection had done when the call was queued
	wanted     *ReplyHeaders // where the caller wants the headers of the reply, nil for nowhere
	done       chan struct{} // has room for the token

	// Guarded by the connection's mutex until the call has ended.
	sending   bool // a writer has taken request, which may be on its way
	ended     bool
	moved     bool // and the call is to start on another connection, since this one has not sent it
	moves     int  // so far
	abandoned bool // the caller has gone; a reply is dropped

	err        error
	replyType  thriftwire.MessageType
	reply      []byte           // in the protocol of form
	form       form             // of the reply
	status     *BizStatus       // that the reply carries, nil for none
	code       string           // that an exception came with, empty for none
	block      *transport.Block // that reply is a view of, unless it was compressed
	replyHeads *metadata        // if they are wanted
}

// clientConn is one connection of a Client.
//
// Invariants: pending holds the two-way calls, abandoned ones too, whose reply
// has not come; queue holds the calls that no writer has taken. live counts
// the calls, oneway ones too, that have not ended and not been abandoned.
type clientConn struct {
	client *Client
	nc     net.Conn

	out   outQueue      // the writer's
	heard atomic.Uint64 // reads that brought something

	mu      sync.Mutex
	err     error // why the connection has ended
	pending map[int32]*pendingCall
	queue   []*pendingCall
	writing bool
	live    int
	oneway  int  // of live
	retired bool // new calls use another connection
}

func newClientConn(c *Client, nc net.Conn) *clientConn {
	return &clientConn{client: c, nc: nc, out: outQueue{pool: &c.buffers}, pending: map[int32]*pendingCall{}}
}

// errAbandoned ends a connection on which nobody waits any more.
var errAbandoned = errors.New("rpc: the only call on the connection was given up")

// start queues a call. It reports false if the connection has ended, or ends.
func (cc *clientConn) start(p *pendingCall) (bool, error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil || cc.retired {
		return false, nil
	}
	if len(cc.pending)+cc.oneway >= cc.client.opt.maxPending {
		return false, ErrTooManyCalls
	}
	if cc.pending[p.seq] != nil { // after 2³² calls an old one may still wait
		return false, ErrTooManyCalls
	}
	p.heard = cc.heard.Load()
	if p.invocation.Oneway {
		cc.oneway++
	} else {
		cc.pending[p.seq] = p
	}
	cc.queue = append(cc.queue, p)
	cc.live++
	if !cc.writing {
		cc.writing = true
		go cc.write()
	}
	return true, nil
}

// end ends a call unless it has ended. cc.mu is held.
func (cc *clientConn) end(p *pendingCall, err error) {
	if p.ended {
		return
	}
	p.ended = true
	p.err = err
	if !p.abandoned {
		cc.leave(p)
		cc.endIfUnused()
	}
	p.done <- struct{}{}
}

// leave notes that nobody waits for a call any more. cc.mu is held.
func (cc *clientConn) leave(p *pendingCall) {
	cc.live--
	if p.invocation.Oneway {
		cc.oneway--
	}
}

// endIfUnused ends a retired connection on which nobody waits. cc.mu is held.
func (cc *clientConn) endIfUnused() {
	if cc.retired && cc.live == 0 && cc.err == nil {
		go cc.fail(StageRead, errAbandoned)
	}
}

// write sends what is queued until nothing is. It runs on its own goroutine
// and not on a caller's, which must be able to leave when its context ends.
func (cc *clientConn) write() {
	var oneway []*pendingCall // of what is being sent: they end with that, others with their replies
	for {
		runtime.Gosched() // whoever is about to call joins this write
		var more bool
		if oneway, more = cc.take(oneway[:0]); !more {
			return
		}
		if d := cc.client.opt.writeTimeout; d > 0 {
			cc.nc.SetWriteDeadline(time.Now().Add(d))
		}
		err := cc.out.writeTo(cc.nc, 0)
		cc.out.release()
		if err != nil {
			cc.fail(StageWrite, err)
		}
		if len(oneway) > 0 {
			cc.endOneway(oneway, err)
		}
	}
}

// take moves what is queued into out, and appends the oneway calls of it to
// list. Without any, the connection has no writer from now on.
func (cc *clientConn) take(list []*pendingCall) (oneway []*pendingCall, more bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if len(cc.queue) == 0 || cc.err != nil {
		cc.writing = false
		return nil, false
	}
	for _, p := range cc.queue {
		p.sending = true
		cc.out.add(p.request)
		p.request = nil
		if p.invocation.Oneway {
			list = append(list, p)
		}
	}
	clear(cc.queue)
	cc.queue = cc.queue[:0]
	return list, true
}

// endOneway ends oneway calls that have been sent, or could not be.
func (cc *clientConn) endOneway(calls []*pendingCall, err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	for _, p := range calls {
		if err != nil {
			cc.end(p, &Error{Stage: StageWrite, Method: p.invocation.Method, Sent: true, Err: err})
		} else {
			cc.end(p, nil)
		}
	}
	clear(calls)
}

// abandon leaves a call whose context has ended. It reports whether the
// server may have received it, and false for abandoned if the call has ended meanwhile.
func (cc *clientConn) abandon(p *pendingCall, reason error) (sent, abandoned bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if p.ended {
		return true, false
	}
	p.abandoned = true
	cc.leave(p)
	if !p.sending {
		cc.queue = slices.DeleteFunc(cc.queue, func(q *pendingCall) bool { return q == p })
		delete(cc.pending, p.seq)
		return false, true
	}
	// Closing tells the server of a call that nobody waits for; a connection
	// that is silent beyond a deadline may have lost its server.
	silent := errors.Is(reason, context.DeadlineExceeded) && p.heard == cc.heard.Load()
	if cc.live == 0 || silent {
		cc.retired = true
		why := GivenUp
		if silent {
			why = ConnectionFailed
		}
		cc.client.retire(cc, why)
		cc.endIfUnused()
	}
	return true, true
}

// fail ends the connection and every call on it.
func (cc *clientConn) fail(stage Stage, err error) {
	cc.client.remove(cc)
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return
	}
	cc.err = err
	cc.nc.Close()
	cc.moveQueue(err)
	for _, p := range cc.pending {
		cc.end(p, &Error{Stage: stage, Method: p.invocation.Method, Sent: true, Err: err})
	}
	cc.pending, cc.queue = nil, nil
}

// read takes replies until the connection ends.
func (cc *clientConn) read() {
	in := transport.NewReader(cc.nc, &cc.client.blocks)
	defer in.Close()
	scan := cc.client.opt.form.scanner(cc.client.opt.maxFrame)
	want, first := 0, true
	for {
		if err := in.Fill(want); err != nil {
			cc.fail(StageRead, fmt.Errorf("connection lost: %w", err))
			return
		}
		cc.heard.Add(1)
		for {
			start := in.Bytes()
			message, n, err := scan.Next(start)
			if n == 0 && err == nil {
				break
			}
			theirs := transport.Unknown
			if first {
				theirs, _ = transport.Detect(start)
			}
			if err == nil {
				view, block := in.Take(n)
				err = cc.deliver(view[n-len(message):], block)
			}
			if err != nil {
				cc.fail(StageRead, cc.client.opt.foreign(theirs, err))
				return
			}
			first = false
		}
		want = scan.Want()
	}
}

// foreign adds to err what a server speaks whose first reply cannot be
// followed, if it is another dialect than the client's.
func (o *clientOptions) foreign(theirs transport.Dialect, err error) error {
	if theirs == transport.Unknown || theirs == o.form.dialect {
		return err
	}
	return fmt.Errorf("the server speaks %s, not %s: %w", theirs, o.form.dialect, err)
}

// deliver hands a reply to the call that waits for it, and the block with it.
// An error means that the connection cannot be trusted any more.
func (cc *clientConn) deliver(frame []byte, block *transport.Block) error {
	handed, err := cc.hand(frame, block)
	if !handed {
		block.Release()
	}
	return err
}

// hand is deliver, but for the block of a reply that nobody takes.
func (cc *clientConn) hand(frame []byte, block *transport.Block) (handed bool, err error) {
	c := cc.client
	f := form{dialect: c.opt.form.dialect}
	var h heads
	message, err := f.open(frame, &h, &c.transformer, c.opt.maxFrame)
	if err != nil {
		return false, err
	}
	if h.closing() {
		cc.leaveAlone()
		if f.dialect == transport.TTHeader && f.sequence == 0 {
			return false, nil // it answers no call
		}
	}
	m, n := f.envelope(message)
	if n < 0 {
		return false, &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken reply envelope", Cause: thriftwire.Error(n)}
	}
	if m.Type != thriftwire.Reply && m.Type != thriftwire.Exception {
		return false, exceptionf(InvalidMessageType, "the server sent a %s", m.Type)
	}
	if f.hasHeaders() {
		m.SequenceID = int32(f.sequence) // fbthrift's servers answer that one
	}
	cc.mu.Lock()
	defer cc.mu.Unlock()
	p := cc.pending[m.SequenceID]
	if p == nil || !p.sending {
		return false, exceptionf(BadSequenceID, "reply to %q has sequence id %d, which no call has", clip(m.Name), m.SequenceID)
	}
	if !p.answeredBy(m) {
		return false, exceptionf(WrongMethodName, "reply to %q where one to %q was expected", clip(m.Name), p.name)
	}
	delete(cc.pending, m.SequenceID)
	if p.abandoned {
		return false, nil
	}
	p.replyType, p.reply, p.form, p.block = m.Type, message[n:], f, block
	p.status = readBizStatus(h.strings)
	if p.wanted != nil {
		p.replyHeads = h.copyOfReply()
	}
	if m.Type == thriftwire.Exception {
		p.code = h.exceptionCode()
	}
	cc.end(p, nil)
	return true, nil
}

// exceptionCode returns the code that an exception comes with, empty for none.
func (h *heads) exceptionCode() string {
	code, ok := h.pairs.Get(keyExceptionCode)
	if !ok {
		code, _ = h.strings.Get(keyExceptionCode)
	}
	return string(code)
}

// closing tells whether the headers of a reply say that the server is stopping.
func (h *heads) closing() bool {
	if v, ok := h.strings.Get(ttheader.KeyClosing); ok && string(v) == "1" {
		return true
	}
	v, ok := h.pairs.Get("connection")
	return ok && string(v) == "goaway"
}

// leaveAlone keeps new calls away from the connection, and ends it when those
// that wait have ended.
func (cc *clientConn) leaveAlone() {
	cc.client.retire(cc, ServerLeaves)
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.retired = true
	cc.moveQueue(errLeft)
	cc.endIfUnused()
}

// errLeft is why a call is not sent on a connection that the server leaves.
var errLeft = errors.New("the server is shutting down")

// maxMoves is how often a call may go to another connection because the one
// before has ended without sending it.
const maxMoves = 3

// moveQueue lets the calls that have not been sent, because of reason, start
// on another connection. cc.mu is held.
func (cc *clientConn) moveQueue(reason error) {
	for _, p := range cc.queue {
		delete(cc.pending, p.seq) // where the two-way calls of the queue are too
		p.moved = p.moves < maxMoves && reason != ErrClientClosed
		cc.end(p, &Error{Stage: StageWrite, Method: p.invocation.Method, Err: reason})
	}
	clear(cc.queue)
	cc.queue = cc.queue[:0]
}

// answeredBy reports whether the name of a reply is that of the call. Servers
// leave the service away; some send exceptions without a name.
func (p *pendingCall) answeredBy(m thriftwire.Message) bool {
	return string(m.Name) == p.invocation.Method || string(m.Name) == p.name ||
		(m.Type == thriftwire.Exception && len(m.Name) == 0)
}
