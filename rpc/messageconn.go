package rpc

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds a connection of a client of tRPC: queueing, writing, and
// matching of replies.

// pendingMessage is a call that waits for its reply. The connection ends it by
// sending on done, after it has set err or the reply.
type pendingMessage struct {
	id     uint32
	oneway bool
	batch  uint64 // that its request is part of
	heard  uint64 // reads that the connection had done when the call was queued
	done   chan struct{}

	// Guarded by the connection's mutex until done.
	ended, abandoned bool

	err   error
	stage Stage
	frame []byte
	block *transport.Block // that frame is a view of
}

// messageConn is one connection of a MessageClient.
//
// Invariants: pending holds the calls, abandoned ones too, whose reply has not
// come. live counts those that nobody has abandoned. Who sets writing is the only one to
// write, until it finds the queue empty.
type messageConn struct {
	client *MessageClient
	sock   *socket

	mu         sync.Mutex
	err        error // why the connection has ended
	stage      Stage // where that was
	pending    map[uint32]*pendingMessage
	out, spare outQueue // what is to be written, and what is being written
	batches    uint64   // that have been taken to be written
	writing    bool
	live       int
	retired    bool   // new calls use another connection
	heard      uint64 // reads that brought something
	free       []*pendingMessage

	streams map[uint32]*trpcWire // that have not ended
	drained chan struct{}        // closed when the server has read enough for streams to go on; nil if none waits
}

func newMessageConn(c *MessageClient, nc net.Conn) *messageConn {
	cc := &messageConn{client: c, sock: newSocket(nc, &c.base.blocks), pending: map[uint32]*pendingMessage{}}
	cc.out.pool, cc.spare.pool = &c.base.buffers, &c.base.buffers
	return cc
}

// maxFreePending bounds what a connection keeps for later calls.
const maxFreePending = 1024

// start queues a request, which it takes. It returns nil if the connection has ended, or ends.
func (cc *messageConn) start(id uint32, oneway bool, request *buffer) (*pendingMessage, error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	switch {
	case cc.err != nil || cc.retired:
		cc.client.base.buffers.put(request)
		return nil, nil
	case len(cc.pending) >= cc.client.base.opt.maxPending || cc.pending[id] != nil:
		cc.client.base.buffers.put(request)
		return nil, ErrTooManyCalls
	}
	var p *pendingMessage
	if n := len(cc.free); n > 0 {
		p, cc.free = cc.free[n-1], cc.free[:n-1]
	} else {
		p = &pendingMessage{done: make(chan struct{}, 1)}
	}
	*p = pendingMessage{id: id, oneway: oneway, batch: cc.batches, heard: cc.heard, done: p.done}
	if !oneway {
		cc.pending[id] = p
		cc.live++
	}
	cc.out.add(request)
	cc.kick()
	return p, nil
}

// kick sees to it that what is queued is written. cc.mu is held, and may be let go meanwhile.
func (cc *messageConn) kick() {
	if cc.writing || cc.out.size == 0 || cc.err != nil {
		return
	}
	cc.writing = true
	written, err := cc.writeSome()
	switch {
	case err == nil && written == cc.spare.size:
		cc.wrote(nil)
		if cc.out.size == 0 || cc.err != nil {
			cc.writing = false
			return
		}
		go cc.writeOn(0, false) // for others, while the caller goes on
	case err != nil:
		cc.wrote(err)
		cc.writing = false
	default:
		go cc.writeOn(written, true)
	}
}

// writeSome takes what is queued and writes of it what the system takes without waiting. cc.mu is
// held, and let go meanwhile.
func (cc *messageConn) writeSome() (written int, err error) {
	cc.out, cc.spare = cc.spare, cc.out
	cc.batches++
	if len(cc.spare.segments) != 1 {
		return 0, nil
	}
	cc.mu.Unlock()
	written, err = cc.sock.tryWrite(cc.spare.segments[0].view)
	cc.mu.Lock()
	return written, err
}

// writeOn writes until nothing is queued; taken says that a batch has been
// taken, and written of it so many bytes. It runs on its own goroutine and not
// on a caller's, which must be able to leave when its context ends.
func (cc *messageConn) writeOn(written int, taken bool) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	for taken || cc.out.size > 0 && cc.err == nil {
		var err error
		if !taken {
			written, err = cc.writeSome()
		}
		taken = false
		if err == nil && written < cc.spare.size {
			cc.mu.Unlock()
			if d := cc.client.base.opt.writeTimeout; d > 0 {
				cc.sock.nc.SetWriteDeadline(time.Now().Add(d))
			}
			err = cc.spare.writeTo(cc.sock.nc, written)
			cc.sock.nc.SetWriteDeadline(time.Time{}) // or it would fail tryWrite when it has passed
			cc.mu.Lock()
		}
		cc.wrote(err)
	}
	cc.writing = false
}

// wrote notes that a batch was written, or that it cannot be. cc.mu is held.
func (cc *messageConn) wrote(err error) {
	cc.spare.release()
	cc.wakeStreams()
	if err != nil {
		cc.end(StageWrite, err)
	}
}

// wait waits for the end of a call and reads its reply.
func (cc *messageConn) wait(ctx context.Context, p *pendingMessage, call *MessageCall) error {
	if p.oneway {
		cc.recycle(p)
		return nil
	}
	select {
	case <-p.done:
	case <-ctx.Done():
		if cc.abandon(p, ctx.Err()) {
			return &Error{Stage: StageWait, Method: call.Method, Sent: true, Err: ctx.Err()}
		}
		<-p.done // it has ended meanwhile
	}
	if p.err != nil {
		return &Error{Stage: p.stage, Method: call.Method, Sent: p.stage != StageWrite, Err: p.err}
	}
	defer p.block.Release()
	err := cc.client.read(ctx, p.frame, call)
	cc.recycle(p)
	return err
}

// recycle keeps what has ended for another call.
func (cc *messageConn) recycle(p *pendingMessage) {
	cc.mu.Lock()
	if len(cc.free) < maxFreePending {
		cc.free = append(cc.free, p)
	}
	cc.mu.Unlock()
}

// abandon leaves a call whose context has ended, and reports false if the call has ended meanwhile.
func (cc *messageConn) abandon(p *pendingMessage, reason error) bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if p.ended {
		return false
	}
	p.abandoned = true
	cc.live--
	// Closing tells the server of a call that nobody waits for; a connection
	// that is silent beyond a deadline may have lost its server.
	silent := errors.Is(reason, context.DeadlineExceeded) && p.heard == cc.heard
	if cc.live == 0 || silent {
		cc.retired = true
		why := GivenUp
		if silent {
			why = ConnectionFailed
		}
		cc.client.retire(cc, why)
		cc.endIfUnused()
	}
	return true
}

// endIfUnused ends a retired connection on which nobody waits. cc.mu is held.
func (cc *messageConn) endIfUnused() {
	if cc.retired && cc.live == 0 && cc.err == nil {
		go cc.fail(StageRead, errAbandoned)
	}
}

// finish ends a call. cc.mu is held.
func (cc *messageConn) finish(p *pendingMessage) {
	p.ended = true
	if !p.abandoned {
		cc.live--
	}
	p.done <- struct{}{} // has room for it
}

// fail ends the connection and every call on it.
func (cc *messageConn) fail(stage Stage, err error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.end(stage, err)
}

// end is fail with cc.mu held.
func (cc *messageConn) end(stage Stage, err error) {
	if cc.err != nil {
		return
	}
	cc.err, cc.stage = err, stage
	cc.sock.close()
	for _, p := range cc.pending {
		p.err, p.stage = err, stage
		if p.batch >= cc.batches {
			p.stage = StageWrite // it never left
		}
		cc.finish(p)
	}
	cc.pending = nil
	cc.out.release()
	cc.wakeStreams()
	for _, w := range cc.streams {
		go w.ms.OnLost(err) // which asks for cc.mu
	}
	cc.client.remove(cc)
}

// read takes replies until the connection ends.
func (cc *messageConn) read() {
	defer cc.sock.in.Close()
	scan := trpc.NewScanner(trpcLimit(cc.client.base.opt.maxFrame))
	for want := 0; ; want = scan.Want() {
		if err := cc.sock.fill(want); err != nil {
			cc.fail(StageRead, fmt.Errorf("connection lost: %w", err))
			return
		}
		if err := cc.deliverAll(scan); err != nil {
			cc.fail(StageRead, err)
			return
		}
	}
}

// deliverAll hands out the frames that have arrived whole.
func (cc *messageConn) deliverAll(scan *trpc.Scanner) error {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.heard++
	for {
		start := cc.sock.in.Bytes()
		_, n, err := scan.Next(start)
		if err != nil {
			if theirs, _ := transport.Detect(start); theirs != transport.TRPC && theirs != transport.Unknown {
				err = fmt.Errorf("the server speaks %s, not tRPC: %w", theirs, err)
			}
			return err
		}
		if n == 0 {
			return nil
		}
		frame, block := cc.sock.in.Take(n)
		if err := cc.deliver(frame, block); err != nil {
			block.Release()
			return err
		}
	}
}

// deliver hands a reply to the call that waits for it, and the block with it. cc.mu is held.
func (cc *messageConn) deliver(frame []byte, block *transport.Block) error {
	switch t := trpc.FrameType(frame[2]); t {
	case trpc.Unary:
	case trpc.Stream:
		return cc.deliverStream(frame, block)
	default:
		return diag.NewFault(diag.InvalidHeader, 2, fmt.Sprintf("a frame of type %d, which nobody waits for", t))
	}
	id := binary.BigEndian.Uint32(frame[10:])
	p := cc.pending[id]
	if p == nil {
		return diag.NewFault(diag.InvalidHeader, 10, fmt.Sprintf("a reply to call %d, which there is not", id))
	}
	delete(cc.pending, id)
	if p.abandoned {
		block.Release()
		return nil
	}
	p.frame, p.block = frame, block
	cc.finish(p)
	if cc.retired {
		cc.endIfUnused()
	}
	return nil
}
