package rpc

import (
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net/http"
	"runtime"
	"slices"
	"strconv"
	"time"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds how calls are answered: replies are encoded into buffers,
// queued in the order that the client takes, and written together.

// reply is an encoded reply; the zero value is none.
type reply struct {
	buf   *buffer
	cuts  []codec.Cut      // what is sent from where it is
	heads []transport.Pair // that HTTP has beside the message
	end   http.Header      // that gRPC has instead of a message, for a failure
	body  Message          // that stands behind buf, and is sent from where it is
	tail  []byte           // that stands behind body
}

// size returns the bytes of the reply.
func (r *reply) size() int {
	if r.buf == nil {
		return 0
	}
	n := len(r.buf.b)
	for _, c := range r.cuts {
		n += len(c.Data)
	}
	return n + len(r.body.Body) + len(r.tail)
}

// discard gives up a reply that is not sent.
func (s *Server) discard(r *reply) {
	s.buffers.put(r.buf)
	r.body.release()
}

// cutSize is the size in bytes from which on strings and binaries are sent
// from where they are.
const cutSize = 16 << 10

// encode makes out, which is empty, the reply with the result that appendResult appends.
func (c *serverConn) encode(call *serverCall, ctx *callContext, out *reply, appendResult func(*result) error) (err error) {
	switch call.form.dialect {
	case transport.TRPC:
		*out, err = c.encodeMessage(call, ctx, appendResult, c.messageReply)
		return err
	case transport.GRPC:
		*out, err = c.encodeMessage(call, ctx, appendResult, c.grpcReply)
		return err
	}
	buf := call.buffer()
	b, message := call.form.begin(buf.b, thriftwire.Reply, call.name, call.seq, outHeads{})
	body := len(b)
	r := &call.result
	r.b, r.room = b, cutSize
	if call.form.transform != header.None {
		r.room = math.MaxInt // what is compressed is one piece
	}
	err = appendResult(r)
	if err != nil {
		c.srv.buffers.put(buf)
		return err
	}
	buf.b = r.b
	if ctx != nil && len(c.srv.opt.interceptors) > 0 {
		ctx.noteField(&call.form, firstOf(r, body))
	}
	pairs := c.replyPairs(ctx) // which the handler may have set
	if len(pairs) > 0 && call.form.hasHeaders() {
		buf, message = c.rehead(call, buf, body, pairs, r.cuts)
	}
	out.buf, out.cuts, out.heads = buf, r.cuts, pairs
	if size := out.size() - message; size > c.srv.opt.maxFrame {
		err = &tooLargeError{size, c.srv.opt.maxFrame}
	} else {
		buf.b, err = call.form.finish(buf.b, message, out.size()-len(buf.b), &c.srv.transformer)
	}
	if err != nil {
		buf.b = buf.b[:0]
		c.srv.buffers.put(buf)
		*out = reply{}
	}
	return err
}

// firstOf returns the bytes that a result starts with.
func firstOf(r *result, body int) []byte {
	if len(r.cuts) > 0 && r.cuts[0].Offset == body {
		return r.cuts[0].Data
	}
	return r.b[body:]
}

// rehead returns a reply whose body stands in old from body on behind a head with headers.
func (c *serverConn) rehead(call *serverCall, old *buffer, body int, pairs []transport.Pair, cuts []codec.Cut) (*buffer, int) {
	buf := c.srv.buffers.get()
	b, message := call.form.begin(buf.b, thriftwire.Reply, call.name, call.seq, outHeads{pairs: pairs})
	for i := range cuts {
		cuts[i].Offset += len(b) - body
	}
	buf.b = append(b, old.b[body:]...)
	c.srv.buffers.put(old)
	return buf, message
}

// tooLargeError is a reply beyond the limit.
type tooLargeError struct{ size, limit int }

func (e *tooLargeError) Error() string {
	return fmt.Sprintf("reply of %d bytes exceeds the limit of %d", e.size, e.limit)
}

// The codes of the header "ex" for calls whose handler failed.
const (
	exTooLarge = 17
	exHandler  = 24
)

// errorReply encodes what the client is told of a handler's error.
func (c *serverConn) errorReply(call *serverCall, err error) reply {
	switch call.form.dialect {
	case transport.TRPC:
		return c.trpcFailure(call, statusOf(err))
	case transport.GRPC:
		return c.grpcFailure(call, err)
	}
	if status, ok := bizStatus(err); ok && call.form.dialect == transport.TTHeader {
		if out, err := c.bizReply(call, status); err == nil {
			return out
		}
	}
	var tooLarge *tooLargeError
	if errors.As(err, &tooLarge) {
		return c.exceptionReply(call, asException(err), exTooLarge, nil)
	}
	e := asException(err)
	return c.exceptionReply(call, e, exHandler, []transport.Pair{{Key: "uexw", Value: printable(e.Message)}})
}

// bizReply encodes a reply with a status and an empty result.
func (c *serverConn) bizReply(call *serverCall, b *BizStatus) (reply, error) {
	buf := c.srv.buffers.get()
	out, message := call.form.begin(buf.b, thriftwire.Reply, call.name, call.seq, outHeads{pairs: c.failurePairs(call, b.pairs())})
	out, err := call.form.finish(append(out, emptyStruct...), message, 0, &c.srv.transformer)
	if err != nil {
		c.srv.buffers.put(buf)
		return reply{}, err
	}
	buf.b = out
	return reply{buf: buf}, nil
}

// exceptionReply encodes the reply that tells the client of e, with the code
// of the header "ex" where the dialect has headers.
func (c *serverConn) exceptionReply(call *serverCall, e *ApplicationException, code int, more []transport.Pair) reply {
	switch call.form.dialect {
	case transport.TRPC:
		return c.trpcFailure(call, statusOf(e))
	case transport.GRPC:
		return c.grpcFailure(call, e)
	}
	buf := c.srv.buffers.get()
	var pairs []transport.Pair
	if call.form.carriesPairs() {
		pairs = c.failurePairs(call, append(more, transport.Pair{Key: keyExceptionCode, Value: strconv.Itoa(code)}))
	}
	b, message := call.form.begin(buf.b, thriftwire.Exception, call.name, call.seq, outHeads{pairs: pairs})
	b, err := call.form.appendStruct(b, e.append(nil))
	if err == nil {
		b, err = call.form.finish(b, message, 0, &c.srv.transformer)
	}
	if err != nil { // of a compressor without memory, at the most
		c.log(slog.LevelError, "rpc: cannot answer with an exception", err)
		c.srv.buffers.put(buf)
		return reply{}
	}
	buf.b = b
	return reply{buf: buf, heads: pairs}
}

// refusalReply encodes the reply that tells the client why its call is not served.
func (c *serverConn) refusalReply(call *serverCall, r refusal) reply {
	switch call.form.dialect {
	case transport.TRPC:
		return c.trpcFailure(call, r.status(call))
	case transport.GRPC:
		out := c.grpcFailure(call, r.status(call))
		r.addCode(out.end)
		return out
	}
	e, code := r.reply()
	return c.exceptionReply(call, e, code, nil)
}

// complete answers a call that the caller has claimed, and whose handler has
// ended. A reply without a buffer answers with nothing.
func (c *serverConn) complete(call *serverCall, out *reply) {
	c.mu.Lock()
	c.queueReply(call, out)
	c.ranOut(call)
	c.kick()
	c.mu.Unlock()
}

// handled notes that the handler of a call, which somebody else has answered,
// has ended.
func (c *serverConn) handled(call *serverCall) {
	c.mu.Lock()
	c.ranOut(call)
	c.kick()
	c.mu.Unlock()
}

// ranOut ends the call's handler. c.mu is held.
func (c *serverConn) ranOut(call *serverCall) {
	c.freeWorker(call)
	c.runWaiting()
	if call.lost {
		return
	}
	c.leave(call)
	c.finish()
}

// freeWorker ends the call's count among those that run. c.mu is held.
func (c *serverConn) freeWorker(call *serverCall) {
	if call.withWorker {
		call.withWorker = false
		c.running--
	}
}

// mustWait takes a call back from a worker if the connection holds too many
// replies that its client does not read, and reports whether it has.
func (c *serverConn) mustWait(call *serverCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.clogged.Load() || c.dead || c.mayPass(call) {
		return false
	}
	at := len(c.waiting)
	if call.withWorker {
		at = 0 // it was before those that wait
	}
	c.freeWorker(call)
	c.waiting = slices.Insert(c.waiting, at, call)
	c.runWaiting()
	return true
}

// mayPass reports whether a call may run though the connection is clogged:
// the one for whose reply the others wait, if these are what clogs it. c.mu is held.
func (c *serverConn) mayPass(call *serverCall) bool {
	return c.order.head == call && c.out.size+c.spare.size <= c.srv.opt.maxFrame
}

// runWaiting hands calls that have waited for others of their connection, or
// for its client, to the workers, as many as may run now. c.mu is held.
func (c *serverConn) runWaiting() {
	limit := c.srv.opt.maxConcurrent
	for len(c.waiting) > 0 && (limit == 0 || c.running < limit) {
		i := 0
		if c.clogged.Load() {
			if i = slices.IndexFunc(c.waiting, c.mayPass); i < 0 {
				return
			}
		}
		call := c.waiting[i]
		c.waiting = slices.Delete(c.waiting, i, i+1)
		c.running++
		call.withWorker = true
		call.arrived = c.srv.clock() // it has waited for its connection, not for a worker
		if c.srv.pool.Submit(int(call.priority)-1, call) == 0 {
			go c.refuseTask(call)
		}
	}
}

// dropWaiting gives up the calls that wait, after the connection has died, but for those that outlive it. c.mu is held.
func (c *serverConn) dropWaiting() {
	waiting := c.waiting
	c.waiting = nil
	for _, call := range waiting {
		if call.lost { // it has left
			continue
		}
		if c.outlives(call) {
			c.waiting = append(c.waiting, call)
			continue
		}
		if call.claim(call.generation(), claimed) {
			c.queueReply(call, &reply{})
		}
		c.leave(call)
	}
}

// hold counts bytes of replies that are complete and not written, or no longer
// if n is negative. c.mu is held.
func (c *serverConn) hold(n int) {
	c.count(n)
	c.unsent += n
	if clogged := c.unsent > c.srv.opt.maxFrame; clogged != c.clogged.Load() {
		c.clogged.Store(clogged)
	}
}

// queueReply queues a call's reply, and those that waited for it. c.mu is held.
func (c *serverConn) queueReply(call *serverCall, out *reply) {
	if call.oneway || call.dropped {
		c.srv.discard(out)
		return
	}
	c.hold(out.size())
	if c.outOfOrder {
		c.send(call, out)
		return
	}
	if c.order.head != call {
		call.ready, call.reply = true, *out
	} else {
		c.order.pop()
		c.send(call, out)
		for first := c.order.head; first != nil && first.ready; first = c.order.head {
			c.order.pop()
			out := first.reply
			first.reply = reply{}
			c.send(first, &out)
		}
	}
	if c.clogged.Load() {
		c.runWaiting() // the first of them may be next
	}
}

// send queues the reply of a call whose turn it is. c.mu is held.
func (c *serverConn) send(call *serverCall, out *reply) {
	switch {
	case c.dead || out.buf == nil:
		c.mute = c.mute || out.buf == nil
		c.hold(-out.size())
		c.srv.discard(out)
	default:
		c.reuse(c.out.addReply(out, call.block))
	}
	if c.replied != nil {
		c.replyHeads, c.replyEnd = out.heads, out.end
		close(c.replied)
	}
	c.leave(call)
}

// answered notes that a call's reply will never be sent. c.mu is held.
func (c *serverConn) answered(call *serverCall) {
	if call.ready {
		c.hold(-call.reply.size())
		c.srv.discard(&call.reply)
		call.reply = reply{}
		c.leave(call)
		return
	}
	call.dropped = true
	c.leave(call)
}

// kick sees to it that what is queued is written: by the caller if nothing
// else is likely to follow soon, else by a goroutine that finds more. In a
// turn the loop does. c.mu is held.
func (c *serverConn) kick() {
	if c.inTurn || c.writing || c.out.size == 0 || c.dead {
		return
	}
	c.writing = true
	if c.inFlight > 0 || c.handlers > 0 && !c.streamAlone() {
		streams := c.handlers > 0
		go func() {
			if streams {
				runtime.Gosched() // the handlers that have just got a message answer it by this write
			}
			c.mu.Lock()
			c.flush(true)
			c.mu.Unlock()
		}()
		return
	}
	c.flush(false)
}

// streamAlone reports whether the only stream, without calls, has its turn
// after the client's: nothing is likely to join what it sends. c.mu is held.
func (c *serverConn) streamAlone() bool {
	if c.handlers > 1 || c.spoke == c.turns {
		return false
	}
	c.spoke = c.turns
	return true
}

// flush writes what is queued until nothing is. c.mu is held, and let go
// meanwhile; the caller has set writing. If it may not wait for the
// client, another goroutine does.
func (c *serverConn) flush(mayWait bool) {
	for c.out.size > 0 && !c.dead {
		c.out, c.spare = c.spare, c.out
		c.mu.Unlock()
		written, err := 0, error(nil)
		if len(c.spare.segments) == 1 {
			written, err = c.sock.tryWrite(c.spare.segments[0].view)
		}
		if err == nil && written < c.spare.size {
			if !mayWait {
				c.mu.Lock()
				go c.flushSlowly(written)
				return
			}
			err = c.writeRest(written)
		}
		c.mu.Lock()
		c.wrote(err)
	}
	c.writing = false
	c.finish()
}

// flushSlowly goes on with a flush that has to wait for the client.
func (c *serverConn) flushSlowly(written int) {
	err := c.writeRest(written)
	c.mu.Lock()
	c.wrote(err)
	c.flush(true)
	c.mu.Unlock()
}

// writeRest writes what is left after the first bytes.
func (c *serverConn) writeRest(written int) error {
	if d := c.srv.opt.writeTimeout; d > 0 {
		c.sock.nc.SetWriteDeadline(time.Now().Add(d))
		defer c.sock.nc.SetWriteDeadline(time.Time{}) // or it would fail tryWrite when it has passed
	}
	return c.spare.writeTo(c.sock.nc, written)
}

// wrote notes that everything was written, or that it cannot be. c.mu is held.
func (c *serverConn) wrote(err error) {
	c.hold(-c.spare.size)
	c.spare.release()
	if c.leaving.Load() {
		c.wroteAt = c.srv.clock()
	}
	c.settle()
	c.runWaiting()
	c.wakeStreams()
	c.room.Signal()
	if err != nil && !c.dead {
		level := slog.LevelDebug
		if isTimeout(err) {
			c.srv.counts.slowWriters.Add(1)
			level = slog.LevelWarn
		}
		c.log(level, "rpc: cannot write a reply", err)
		c.die()
	}
}

// cancelCalls ends the contexts of the calls in flight, but for those that outlive the connection. c.mu is held.
func (c *serverConn) cancelCalls(reason error) {
	for call := c.calls.head; call != nil; call = call.next {
		if ctx := call.ctx.Load(); ctx != nil && !c.outlives(call) {
			ctx.end(reason)
		}
	}
}

// outlives reports whether a call goes on when its client has gone. A client may go as soon as it has sent a oneway
// call: nobody waits for the end of that one, which is no less wanted. It ends with the server.
func (c *serverConn) outlives(call *serverCall) bool { return call.oneway && !c.srv.closed.Load() }
