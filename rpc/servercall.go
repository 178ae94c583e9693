package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"runtime/debug"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/framed"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the life of a call on the server: accepted by the
// connection's read goroutine, run by a worker, completed once, written.

// serverCall is a call from its acceptance to its reply. Completing it may
// happen on any goroutine; complete keeps only the first reply.
type serverCall struct {
	method *Method
	form   form
	name   []byte // bare, as the reply carries it
	seq    int32
	oneway bool
	args   []byte           // in the form's protocol
	block  *transport.Block // that name and args are views of, unless they were compressed
	size   int              // in the connection's count of bytes

	// Guarded by the connection's mutex.
	holds int  // reasons to keep the slot and the block: the handler has not returned, the reply is not written
	load  int  // reasons to be in the server's count: the handler has not returned, the reply has not left for the network
	done  bool // a reply has been chosen, or none will be sent
	reply []byte
}

// accept takes the frame at the front of the stream, n bytes with its length,
// and lets the call in it wait for a worker or answers it with a refusal. An error
// means that the stream cannot go on.
func (c *serverConn) accept(frame []byte, n int) error {
	call := &serverCall{form: c.form, size: n}
	method, refusal, err := c.open(call, frame)
	if err != nil {
		return err
	}
	_, block := c.in.Take(n)
	call.block = block
	if method != nil {
		call.method = method
		call.oneway = call.oneway || method.Oneway
	}

	c.mu.Lock()
	defer c.mu.Unlock()
	for !c.dead && !c.finished && c.inFlight > 0 &&
		(c.inFlight >= c.srv.opt.maxPerConn || c.bytes+call.size > c.srv.opt.maxFrame+framed.HeaderSize) {
		c.room.Wait()
	}
	if c.dead || c.finished {
		block.Release()
		return net.ErrClosed
	}
	if c.draining && refusal == nil {
		refusal = &ApplicationException{Type: InternalError, Message: "the server is shutting down"}
	}
	if refusal == nil && c.srv.inFlight.Add(1) > int64(c.srv.opt.maxInFlight) {
		c.srv.inFlight.Add(-1)
		refusal = &ApplicationException{Type: LoadShedding, Message: "too many calls in flight"}
	}
	c.admitted(call, refusal)
	if c.refuse {
		return errRefused
	}
	return nil
}

// open reads what stands around a call's arguments, and finds its method or
// the reason to refuse it.
func (c *serverConn) open(call *serverCall, frame []byte) (*Method, *ApplicationException, error) {
	message, err := call.form.open(frame, &c.srv.transformer, c.srv.opt.maxFrame)
	var refusal *ApplicationException
	if err != nil && !errors.As(err, &refusal) {
		return nil, nil, err
	}
	if err := c.checkFlags(&call.form); err != nil {
		return nil, nil, err
	}
	call.oneway = call.form.dialect == transport.Header && call.form.sequence == header.OnewaySequence
	if refusal != nil {
		call.seq = int32(call.form.sequence)
		return nil, refusal, nil
	}
	call.size = max(call.size, cap(message)) // it is more than the frame if it was compressed
	m, n := call.form.envelope(message)
	if n < 0 {
		return nil, nil, &diag.Fault{Code: diag.InvalidHeader, Offset: 0, Detail: "broken message envelope", Cause: thriftwire.Error(n)}
	}
	call.name, call.seq, call.args = bareName(m.Name), m.SequenceID, message[n:]
	call.oneway = call.oneway || m.Type == thriftwire.Oneway
	method, refusal := c.admit(m)
	return method, refusal, nil
}

// checkFlags sees to it that a connection's calls agree on the order of
// replies; the first one decides.
func (c *serverConn) checkFlags(f *form) error {
	if !f.hasHeaders() {
		return nil
	}
	outOfOrder := f.flags&header.OutOfOrder != 0 // the same bit in TTHeader
	if !c.form.flagged {
		c.form.flagged = true
		c.outOfOrder = outOfOrder
	}
	if c.outOfOrder != outOfOrder {
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

// admit finds the method that a message calls, or the reason to refuse it.
func (c *serverConn) admit(m thriftwire.Message) (*Method, *ApplicationException) {
	if c.refuse {
		return nil, &ApplicationException{Type: LoadShedding, Message: errRefused.Error()}
	}
	if m.Type != thriftwire.Call && m.Type != thriftwire.Oneway {
		return nil, exceptionf(InvalidMessageType, "a server takes calls, not a %s", m.Type)
	}
	return c.srv.registry.Load().lookup(m.Name, m.Type == thriftwire.Oneway)
}

// admitted gives a call its slot and queues it, or completes it with a
// refusal. c.mu is held.
func (c *serverConn) admitted(call *serverCall, refusal *ApplicationException) {
	if refusal != nil && call.oneway {
		call.block.Release()
		return
	}
	c.inFlight++
	c.bytes += call.size
	if !call.oneway {
		call.holds++
		call.load++
		c.replies = append(c.replies, call)
	}
	if refusal != nil {
		call.load = 0 // not in the server's count
		c.complete(call, c.exceptionReply(call, refusal))
		c.flushReady(true)
		return
	}
	call.holds++
	call.load++
	c.queue = append(c.queue, call)
	c.startWorker()
}

// refuseOversized answers a message that exceeds the limit, as far as its
// envelope has arrived.
func (c *serverConn) refuseOversized(err error) {
	var fault *diag.Fault
	if !errors.As(err, &fault) || fault.Code != diag.SizeLimit || c.form.hasHeaders() {
		return
	}
	message := c.in.Bytes()
	if c.form.dialect == transport.Framed || c.form.dialect == transport.FramedCompact {
		message = message[framed.HeaderSize:]
	}
	call := &serverCall{form: c.form}
	m, n := call.form.envelope(message)
	if n < 0 {
		return
	}
	call.name, call.seq, call.oneway = bareName(m.Name), m.SequenceID, m.Type == thriftwire.Oneway
	_, call.block = c.in.Take(0)
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.finished {
		call.block.Release()
		return
	}
	c.admitted(call, &ApplicationException{Type: ProtocolError, Message: fault.Detail})
}

// release gives up one reason to keep the call's slot. c.mu is held.
func (c *serverConn) release(call *serverCall) {
	call.holds--
	if call.holds > 0 {
		return
	}
	c.inFlight--
	c.bytes -= call.size
	call.block.Release()
	c.room.Signal()
}

// unload gives up one reason to count the call among the server's. It comes
// before the reply is written, so that a client that has its reply is not
// refused the next call. c.mu is held.
func (c *serverConn) unload(call *serverCall) {
	if call.load > 0 {
		call.load--
		if call.load == 0 {
			c.srv.inFlight.Add(-1)
		}
	}
}

// handled notes that a call's handler has returned or will never run. c.mu is held.
func (c *serverConn) handled(call *serverCall) {
	c.unload(call)
	c.release(call)
}

// startWorker starts a worker if a call waits and may run. c.mu is held.
func (c *serverConn) startWorker() {
	if len(c.queue) > 0 && c.workers < c.srv.opt.maxConcurrent && c.unsent <= c.srv.opt.maxFrame {
		c.workers++
		go c.work()
	}
}

// work runs calls until none waits.
func (c *serverConn) work() {
	var call *serverCall
	defer func() {
		if call != nil { // the handler ended the goroutine by runtime.Goexit
			c.mu.Lock()
			c.complete(call, c.exceptionReply(call, &ApplicationException{Type: InternalError, Message: "the handler ended its goroutine"}))
			c.handled(call)
			c.flushReady(true)
			c.mu.Unlock()
			go c.work()
		}
	}()
	c.mu.Lock()
	for len(c.queue) > 0 && c.unsent <= c.srv.opt.maxFrame {
		call = c.queue[0]
		c.queue[0] = nil
		c.queue = c.queue[1:]
		c.mu.Unlock()
		reply := c.run(call)
		c.mu.Lock()
		c.complete(call, reply)
		c.handled(call)
		call = nil
		// With more to run, let another goroutine write: it will find several
		// replies to write at once.
		c.flushReady(len(c.queue) > 0)
	}
	c.workers--
	c.finish()
	c.mu.Unlock()
}

// run runs a call's handler and returns the encoded reply, nil for a oneway call.
func (c *serverConn) run(call *serverCall) []byte {
	ctx := c.ctx
	if d := c.srv.opt.handlerTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
		stop := context.AfterFunc(ctx, func() { c.expire(ctx, call) })
		defer stop()
	}
	args, err := call.form.toBinary(call.args)
	if err != nil {
		return c.exceptionReply(call, exceptionf(ProtocolError, "the arguments of %s: %v", clip(call.name), err))
	}
	if call.oneway {
		dst := c.srv.replies.get()
		_, err := c.serve(ctx, call, args, dst)
		if err != nil {
			c.log(slog.LevelDebug, "rpc: oneway call failed", fmt.Errorf("%s: %w", clip(call.name), err))
		}
		c.srv.replies.put(dst)
		return nil
	}
	reply, err := c.answer(ctx, call, args)
	if err != nil {
		e := asException(err)
		if ctx.Err() == context.DeadlineExceeded && errors.Is(err, context.DeadlineExceeded) {
			e = timeoutException(c.srv.opt.handlerTimeout)
		}
		return c.exceptionReply(call, e)
	}
	return reply
}

// answer runs a call's handler and returns the encoded reply with its result.
func (c *serverConn) answer(ctx context.Context, call *serverCall, args []byte) ([]byte, error) {
	dst, message := call.form.begin(c.srv.replies.get(), thriftwire.Reply, string(call.name), call.seq)
	result := dst // where the handler appends
	if call.form.protocol != 0 {
		result = c.srv.replies.get()
	}
	out, err := c.serve(ctx, call, args, result)
	if err == nil && len(out) < len(result) {
		err = fmt.Errorf("the handler of %s dropped what it was to append to", clip(call.name))
	}
	if err == nil && call.form.protocol != 0 {
		binary := out
		if out, err = call.form.appendStruct(dst, binary); err != nil {
			err = fmt.Errorf("the result of %s cannot be written in the compact protocol: %w", clip(call.name), err)
		}
		c.srv.replies.put(binary)
	}
	if size := len(out) - message; err == nil && size > c.srv.opt.maxFrame {
		err = fmt.Errorf("reply of %d bytes exceeds the limit of %d", size, c.srv.opt.maxFrame)
	}
	if err == nil {
		out, err = call.form.finish(out, message, &c.srv.transformer)
	}
	if err != nil {
		c.srv.replies.put(dst)
		return nil, err
	}
	return out, nil
}

// serve calls the handler and turns a panic into an error.
func (c *serverConn) serve(ctx context.Context, call *serverCall, args, dst []byte) (out []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			c.log(slog.LevelError, "rpc: handler panicked", fmt.Errorf("%s: %v\n%s", clip(call.name), p, debug.Stack()))
			out, err = dst, exceptionf(InternalError, "panic in %s", clip(call.name)) // the value may hold secrets
		}
	}()
	return call.method.Serve(ctx, args, dst)
}

// expire answers a call whose time has passed while its handler runs on.
func (c *serverConn) expire(ctx context.Context, call *serverCall) {
	if ctx.Err() != context.DeadlineExceeded || call.oneway {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if !call.done {
		c.complete(call, c.exceptionReply(call, timeoutException(c.srv.opt.handlerTimeout)))
		c.flushReady(true)
	}
}

func timeoutException(d time.Duration) *ApplicationException {
	return exceptionf(Timeout, "no result within %v", d)
}

// complete chooses the reply of a call, unless it has one. c.mu is held.
func (c *serverConn) complete(call *serverCall, reply []byte) {
	if call.done || call.oneway {
		c.srv.replies.put(reply)
		return
	}
	call.done = true
	call.reply = reply
	c.unsent += len(reply)
	if c.outOfOrder {
		i := slices.Index(c.replies, call)
		c.replies = slices.Delete(c.replies, i, i+1)
		c.ready = append(c.ready, call)
		return
	}
	n := 0
	for n < len(c.replies) && c.replies[n].done {
		n++
	}
	c.ready = append(c.ready, c.replies[:n]...)
	clear(c.replies[:n])
	c.replies = c.replies[n:]
}

// flushReady writes if a reply is ready and nobody writes yet; on a goroutine
// of its own if another is true. c.mu is held, and may be let go
// in between.
func (c *serverConn) flushReady(another bool) {
	if c.writing || len(c.ready) == 0 {
		return
	}
	c.writing = true
	if another {
		go func() {
			c.mu.Lock()
			c.flush()
			c.mu.Unlock()
		}()
		return
	}
	c.flush()
}

// flush writes ready replies until there are none. c.mu is held on entry and on
// return; c.writing was set by the caller.
func (c *serverConn) flush() {
	var batch []*serverCall
	for len(c.ready) > 0 || c.dead && len(c.replies) > 0 {
		if c.dead {
			c.dropReplies()
			break
		}
		batch, c.ready = c.ready, batch[:0]
		for _, call := range batch {
			c.unload(call)
		}
		c.mu.Unlock()
		err := c.write(batch)
		c.mu.Lock()
		for _, call := range batch {
			c.dropReply(call)
		}
		clear(batch)
		if err != nil && !c.dead {
			c.log(slog.LevelDebug, "rpc: cannot write a reply", err)
			c.die()
		}
		c.startWorker()
	}
	c.writing = false
	c.finish()
}

// dropReply gives up the reply of a call that has been written or never will be.
func (c *serverConn) dropReply(call *serverCall) {
	c.unsent -= len(call.reply)
	c.srv.replies.put(call.reply)
	call.reply = nil
	call.done = true
	c.release(call)
}

// dropReplies gives up every reply. c.mu is held.
func (c *serverConn) dropReplies() {
	for _, call := range append(c.ready, c.replies...) {
		c.unload(call)
		c.dropReply(call)
	}
	c.ready, c.replies = nil, nil
}

// write writes the replies of batch with as few writes as it can.
func (c *serverConn) write(batch []*serverCall) error {
	if d := c.srv.opt.writeTimeout; d > 0 {
		c.nc.SetWriteDeadline(time.Now().Add(d))
	}
	if len(batch) == 1 {
		_, err := c.nc.Write(batch[0].reply)
		return err
	}
	replies := make(net.Buffers, len(batch))
	for i, call := range batch {
		replies[i] = call.reply
	}
	return writeAll(c.nc, replies, &c.srv.replies)
}

// exceptionReply encodes the reply that tells the client of e.
func (c *serverConn) exceptionReply(call *serverCall, e *ApplicationException) []byte {
	b, message := call.form.begin(c.srv.replies.get(), thriftwire.Exception, string(call.name), call.seq)
	b, err := call.form.appendStruct(b, e.append(nil))
	if err == nil {
		b, err = call.form.finish(b, message, &c.srv.transformer)
	}
	if err != nil { // of a compressor without memory, at the most
		c.log(slog.LevelError, "rpc: cannot answer with an exception", err)
		return nil
	}
	return b
}
