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

	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds a client's connection, whatever its calls are: sending
// requests so that callers share writes, and the end of calls.

// pendingCall is a call from its encoding to its end. The connection ends it
// by a token in done, after it has set err or the reply; then it does not touch
// it any more, so that another call may have it.
type pendingCall struct {
	method  string
	oneway  bool
	request *buffer
	room    callRoom // of the headers
	id      uint32
	heard   uint64        // reads that the connection had done when the call was queued
	done    chan struct{} // has room for the token

	// Of a call whose context a client of ours has made.
	limited *callctx.Context // nil for others
	due     time.Time        // when the connection gives the call up; zero for never
	conn    *clientConn      // that it waits on

	// Guarded by the connection's mutex until the call has ended.
	sending   bool // a writer has taken request, which may be on its way
	ended     bool
	moved     bool // and the call is to start on another connection, since this one has not sent it
	moves     int  // so far
	abandoned bool // the caller has gone; a reply is dropped

	err   error
	reply []byte           // nil of oneway calls
	block *transport.Block // that reply is a view of, unless it was compressed

	thrift thriftCall
}

// clientConn is one connection of a client.
//
// Invariants: pending holds the two-way calls, abandoned ones too, whose reply
// has not come; queue holds the calls that no writer has taken. live counts
// the calls, oneway ones too, and the streams that have not ended and not been abandoned. Who
// sets writing is the only one to write, until it finds nothing queued.
type clientConn struct {
	client *clientCore
	sock   *socket

	heard     atomic.Uint64 // reads that brought something
	promised  atomic.Bool   // the server says close_notify when it has answered all that it has read
	delivered atomic.Int32  // frames that the last of them brought

	// The writer's.
	out    outQueue
	oneway []*pendingCall // of what is being sent: they end with that, others with their replies

	mu      sync.Mutex
	err     error // why the connection has ended
	pending map[uint32]*pendingCall
	queue   []*pendingCall
	frames  outQueue // of streams, which no writer has taken
	spoke   uint64   // what heard was when a caller last wrote by itself
	writing bool
	live    int
	oneways int        // of live
	said    *onewayIDs // nil until a oneway call is sent
	retired bool       // new calls use another connection

	sweeper *time.Timer // of calls that are due; nil until there is one
	sweepAt time.Time   // when it fires; zero if it does not

	streams map[uint32]*trpcWire // that have not ended
	drained chan struct{}        // closed when the server has read enough for streams to go on; nil if none waits
}

func newClientConn(c *clientCore, nc net.Conn) *clientConn {
	cc := &clientConn{client: c, sock: newSocket(nc, &c.blocks), pending: map[uint32]*pendingCall{}, spoke: 1}
	cc.out.pool, cc.frames.pool = &c.buffers, &c.buffers
	return cc
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
	if len(cc.pending)+cc.oneways >= cc.client.opt.maxPending {
		return false, ErrTooManyCalls
	}
	if cc.pending[p.id] != nil { // after 2³² calls an old one may still wait
		return false, ErrTooManyCalls
	}
	p.heard = cc.heard.Load()
	if p.oneway {
		cc.oneways++
	} else {
		cc.pending[p.id] = p
	}
	cc.queue = append(cc.queue, p)
	cc.live++
	if !p.due.IsZero() {
		cc.sweepBy(p.due)
	}
	cc.kick()
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
	if p.oneway {
		cc.oneways--
	}
}

// endIfUnused ends a retired connection on which nobody waits. cc.mu is held.
func (cc *clientConn) endIfUnused() {
	if cc.retired && cc.live == 0 && cc.err == nil {
		go cc.fail(StageRead, errAbandoned)
	}
}

// kick sees to it that what is queued is sent. cc.mu is held, and may be let go meanwhile.
func (cc *clientConn) kick() {
	if cc.writing || cc.err != nil {
		return
	}
	cc.writing = true
	if cc.alone() {
		cc.writeAlone()
	} else {
		go cc.write()
	}
}

// alone reports whether a write by the caller itself is cheapest, because
// nobody is likely to join it: the only user of the connection has its turn after
// the server's. cc.mu is held.
func (cc *clientConn) alone() bool {
	return cc.live == 1 && cc.spoke != cc.heard.Load() && cc.delivered.Load() <= 1 && cc.sock.raw != nil
}

// writeAlone sends what is queued as far as the system takes it at once: the
// caller must be able to leave when its context ends. cc.mu is held, and let go meanwhile.
func (cc *clientConn) writeAlone() {
	cc.spoke = cc.heard.Load()
	cc.take()
	cc.mu.Unlock()
	written, err := cc.tryWrite()
	whole := err != nil || written == cc.out.size
	if whole {
		cc.wrote(err)
	}
	cc.mu.Lock()
	switch {
	case !whole:
		go func() {
			cc.wrote(cc.writeRest(written))
			cc.write()
		}()
	case cc.queued():
		go cc.write()
	default:
		cc.writing = false
		cc.wakeStreams()
	}
}

// write sends what is queued until nothing is. It runs on its own goroutine
// and not on a caller's, which must be able to leave when its context ends.
func (cc *clientConn) write() {
	for {
		runtime.Gosched() // whoever is about to call joins this write
		cc.mu.Lock()
		more := cc.take()
		cc.mu.Unlock()
		if !more {
			return
		}
		written, err := cc.tryWrite()
		if err == nil && written < cc.out.size {
			err = cc.writeRest(written)
		}
		cc.wrote(err)
	}
}

// queued reports whether something waits for a writer. cc.mu is held.
func (cc *clientConn) queued() bool {
	return cc.err == nil && (len(cc.queue) > 0 || cc.frames.size > 0)
}

// take moves what is queued into out, and the oneway calls of it into oneway.
// Without any, the connection has no writer from now on. cc.mu is held.
func (cc *clientConn) take() (more bool) {
	cc.wakeStreams() // since what was taken before has been written
	if !cc.queued() {
		cc.writing = false
		return false
	}
	cc.out, cc.frames = cc.frames, cc.out
	for _, p := range cc.queue {
		p.sending = true
		cc.out.add(p.request)
		p.request = nil
		if p.oneway {
			cc.oneway = append(cc.oneway, p)
			if cc.said == nil {
				cc.said = new(onewayIDs)
			}
			cc.said.add(p.id)
		}
	}
	clear(cc.queue)
	cc.queue = cc.queue[:0]
	return true
}

// onewayIDs are the sequence ids of the last oneway calls. Apache's servers answer one whose method they do not know.
type onewayIDs struct {
	ids [256]uint32
	n   uint
}

func (o *onewayIDs) add(id uint32) {
	o.ids[o.n%uint(len(o.ids))] = id
	o.n++
}

func (o *onewayIDs) has(id uint32) bool {
	return o != nil && slices.Contains(o.ids[:min(o.n, uint(len(o.ids)))], id)
}

// tryWrite writes of out what the system takes without waiting.
func (cc *clientConn) tryWrite() (int, error) {
	if len(cc.out.segments) != 1 {
		return 0, nil
	}
	return cc.sock.tryWrite(cc.out.segments[0].view)
}

// writeRest writes what is left of out after the first bytes.
func (cc *clientConn) writeRest(written int) error {
	if d := cc.client.opt.writeTimeout; d > 0 {
		cc.sock.nc.SetWriteDeadline(time.Now().Add(d))
		defer cc.sock.nc.SetWriteDeadline(time.Time{}) // or it would fail tryWrite when it has passed
	}
	return cc.out.writeTo(cc.sock.nc, written)
}

// wrote notes that out was written, or that it cannot be.
func (cc *clientConn) wrote(err error) {
	cc.out.release()
	switch {
	case err == nil:
	case cc.promised.Load(): // what can be read may say that the calls were not begun; for others there is another connection
		cc.leaveFor(ConnectionFailed, err)
		time.AfterFunc(unreadTime, func() { cc.fail(StageWrite, err) })
	default:
		cc.fail(StageWrite, err)
	}
	if len(cc.oneway) > 0 {
		cc.endOneway(err)
	}
}

// endOneway ends oneway calls that have been sent, or could not be.
func (cc *clientConn) endOneway(err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	for _, p := range cc.oneway {
		if err != nil {
			cc.end(p, &Error{Stage: StageWrite, Method: p.method, Sent: true, Err: err})
		} else {
			cc.end(p, nil)
		}
	}
	clear(cc.oneway)
	cc.oneway = cc.oneway[:0]
}

// abandon leaves a call whose context has ended. It reports whether the
// server may have received it, and false for abandoned if the call has ended meanwhile.
func (cc *clientConn) abandon(p *pendingCall, reason error) (sent, abandoned bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	return cc.giveUp(p, reason)
}

// giveUp is abandon with cc.mu held.
func (cc *clientConn) giveUp(p *pendingCall, reason error) (sent, abandoned bool) {
	if p.ended {
		return true, false
	}
	p.abandoned = true
	cc.leave(p)
	if !p.sending {
		cc.queue = slices.DeleteFunc(cc.queue, func(q *pendingCall) bool { return q == p })
		delete(cc.pending, p.id)
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

// fail ends the connection and every call and stream on it.
func (cc *clientConn) fail(stage Stage, err error) { cc.failAs(stage, err, true) }

// failAs is fail for calls that the server may have read, or has not.
func (cc *clientConn) failAs(stage Stage, err error, sent bool) {
	cc.client.remove(cc)
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		return
	}
	cc.err = err
	if cc.sweeper != nil {
		cc.sweeper.Stop()
	}
	cc.sock.close()
	cc.moveQueue(err)
	for _, p := range cc.pending {
		cc.end(p, &Error{Stage: stage, Method: p.method, Sent: sent, Err: err})
	}
	cc.pending, cc.queue = nil, nil
	cc.frames.release()
	cc.wakeStreams()
	for _, w := range cc.streams {
		go w.ms.OnLost(err) // which asks for cc.mu
	}
}

// read takes what the server sends until the connection ends.
func (cc *clientConn) read() {
	defer cc.sock.in.Close()
	opt := &cc.client.opt
	scan := opt.form.scanner(opt.maxFrame)
	for want, first := 0, true; ; want = scan.Want() {
		if err := cc.sock.fill(want); err != nil {
			cc.failAs(StageRead, fmt.Errorf("connection lost: %w", err), !cc.unread(err))
			return
		}
		cc.heard.Add(1)
		frames := int32(0)
		for {
			start := cc.sock.in.Bytes()
			message, n, err := scan.Next(start)
			if n == 0 && err == nil {
				break
			}
			theirs := transport.Unknown
			if first {
				theirs, _ = transport.Detect(start)
			}
			if err == nil {
				view, block := cc.sock.in.Take(n)
				err = cc.deliver(view[n-len(message):], block)
			}
			if err != nil {
				cc.fail(StageRead, opt.foreign(theirs, err))
				return
			}
			first = false
			frames++
		}
		cc.delivered.Store(frames)
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

// deliver hands a frame to whom it is for, and the block with it.
func (cc *clientConn) deliver(frame []byte, block *transport.Block) error {
	taken, err := cc.client.kind.deliver(cc, frame, block)
	if !taken {
		block.Release()
	}
	return err
}

// leaveAlone keeps new calls away from the connection, and ends it when those
// that wait have ended.
func (cc *clientConn) leaveAlone() { cc.leaveFor(ServerLeaves, errLeft) }

// leaveFor is leaveAlone for a reason that calls are told which can move no more.
func (cc *clientConn) leaveFor(why Loss, reason error) {
	cc.client.retire(cc, why)
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.retired = true
	cc.moveQueue(reason)
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
		delete(cc.pending, p.id) // where the two-way calls of the queue are too
		p.moved = p.moves < maxMoves && reason != ErrClientClosed
		cc.end(p, &Error{Stage: StageWrite, Method: p.method, Err: reason})
	}
	clear(cc.queue)
	cc.queue = cc.queue[:0]
}
