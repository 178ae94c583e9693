package rpc

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds streams over tRPC on the server. They share their connection
// with calls; their handlers run on goroutines of their own.

// MessageStreamHandler serves streams of a method on messages. The stream ends
// when it returns, with its error as the outcome.
type MessageStreamHandler func(ctx context.Context, s *MessageStream) error

// acceptStream takes a frame of a stream, which has n bytes.
func (c *serverConn) acceptStream(head trpc.Head, frame []byte, n int) error {
	defer c.cede()
	if head.Stream == trpc.StreamInit {
		if c.clogged.Load() { // or answers to a client that does not read would pile up
			c.awaitRoom(0)
		}
		err := c.openStream(head, frame)
		_, block := c.sock.in.Take(n)
		block.Release()
		return err
	}
	c.mu.Lock()
	w := c.streaming[head.ID]
	c.mu.Unlock()
	_, block := c.sock.in.Take(n)
	if w == nil || !w.receive(head, frame, block) { // it has ended here, and the client does not know yet
		block.Release()
	}
	return nil
}

// openStream opens a stream, or answers why not.
func (c *serverConn) openStream(head trpc.Head, frame []byte) error {
	c.arrivals++
	var in trpc.Init
	x := &callContext{conn: c, dialect: transport.TRPC, closed: true, extras: &callExtras{in: &metadata{}}}
	r := refusal{}
	if err := in.Parse(frame[trpc.HeadSize+int(head.Header):]); err != nil {
		r = c.unreadableTRPC(err)
	} else {
		x.extras.in.headers = metadataOf(in.TransInfo)
		r = c.admitStream(head.ID, &in, x)
	}
	answer := trpc.Init{IsResponse: true, ContentType: in.ContentType, Encoding: in.Encoding}
	if r.cause == 0 {
		c.startStream(head.ID, &in, x, &answer)
		return nil
	}
	c.srv.counts.refused[r.cause].Add(1)
	status := r.status(&serverCall{})
	answer.Ret, answer.Message = status.Code, []byte(clipText(status.Message))
	buf := c.newFrame()
	buf.b = answer.Append(buf.b, head.ID, nil)
	c.queueFrame(buf)
	switch {
	case c.refuse:
		return errRefused
	case c.insecure:
		return errInsecure
	}
	return nil
}

// admitStream finds the method of a stream, and decides on it in the order
// that calls have. An admitted stream is counted until leaveStream.
func (c *serverConn) admitStream(id uint32, in *trpc.Init, x *callContext) refusal {
	switch {
	case c.refuse:
		return refusal{cause: RefusedConnection}
	case c.insecure:
		return refusal{cause: RefusedInsecure}
	case !in.Encoding.Supported():
		return c.unreadableTRPC(fmt.Errorf("the messages are compressed by %s; gzip, zlib and snappy are known here", in.Encoding))
	}
	c.mu.Lock()
	_, taken := c.streaming[id]
	running := c.handlers // those of streams that have ended run, too
	c.mu.Unlock()
	if taken {
		return c.unreadableTRPC(fmt.Errorf("stream %d is open already", id))
	}
	return c.admitMessageStream(in.Func, running, x)
}

// admitMessageStream is admitStream but for what is tRPC's own; running are the
// streams of the connection whose handlers run.
func (c *serverConn) admitMessageStream(name []byte, running int, x *callContext) refusal {
	s := c.srv
	m, unknown := c.services.lookupMessage(name)
	switch {
	case unknown != nil:
		return refusal{cause: RefusedMethod, told: unknown}
	case m.MessageStream == nil:
		return refusal{cause: RefusedMethod, told: &StatusError{Code: trpc.NoFunc, Message: fmt.Sprintf("method %q has one reply, and no stream", clip(name))}}
	case s.closing.Load():
		return refusal{cause: RefusedStopping}
	}
	x.method, x.priority = m, m.Priority
	if x.priority == 0 {
		x.priority = Normal
	}
	if s.opt.overloaded != nil {
		if e := c.judge(x); e != nil {
			return refusal{cause: RefusedOverload, exception: e}
		}
	}
	switch {
	case running >= s.opt.maxStreams, s.inFlight.Load() >= int64(s.opt.maxInFlight):
		return refusal{cause: RefusedInFlight}
	case s.rate != nil && !s.rate.Take(s.clock()):
		return refusal{cause: RefusedRate}
	}
	return refusal{}
}

// startStream answers that a stream is open, and runs its handler.
func (c *serverConn) startStream(id uint32, in *trpc.Init, x *callContext, answer *trpc.Init) {
	o := c.srv.opt.stream.limits()
	o.Role, o.Loose = stream.Server, true
	o.Hold = func(n int) { c.srv.memory.Add(int64(n)) }
	if in.Window > 0 {
		o.Credited, o.Credit, o.Window = true, windowSize(in.Window), trpc.DefaultWindow
		answer.Window = trpc.DefaultWindow
	}
	ms := &MessageStream{Type: in.ContentType, packing: in.Encoding, compressor: &c.srv.compressor, limit: trpcLimit(c.srv.opt.maxFrame)}
	w := &trpcWire{conn: c, id: id, ms: ms}
	buf := c.newFrame()
	buf.b = answer.Append(buf.b, id, nil)
	ms.Stream = stream.New(x, w, o)
	ms.OnHeader(x.extras.in.headers)
	x.extras.stream = ms.Stream
	c.mu.Lock()
	if c.streaming == nil {
		c.streaming = map[uint32]*trpcWire{}
	}
	c.streaming[id] = w
	c.handlers++
	c.srv.inFlight.Add(1)
	gone := c.gone.Load()
	c.mu.Unlock()
	c.queueFrame(buf)
	if gone {
		ms.OnLost(errStreamOver)
	}
	go c.runStream(x, ms)
}

// runStream runs the handler of a stream, and ends the stream with its outcome.
func (c *serverConn) runStream(x *callContext, ms *MessageStream) {
	defer c.leaveStream()
	err := error(errHandlerExit)
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(x.method, p)
		}
		if ended := ms.Finish(err); err == nil && ended != nil {
			err = ended
		}
		x.finish(err)
	}()
	err = c.serveStream(x, ms)
}

// serveStream asks the interceptors and calls the handler.
func (c *serverConn) serveStream(x *callContext, ms *MessageStream) error {
	ctx, err := c.srv.interceptFrom(ms.Context(), x)
	if err != nil {
		return err
	}
	return x.method.MessageStream(ctx, ms)
}

// leaveStream ends the count of a stream, whose handler has returned.
func (c *serverConn) leaveStream() {
	if c.web != nil {
		c.web.streams.Add(-1)
	}
	c.mu.Lock()
	c.handlers--
	c.noteServed()
	c.srv.inFlight.Add(-1)
	c.finish()
	c.mu.Unlock()
}

// loseStreams ends the streams of a connection that has. c.mu is held.
func (c *serverConn) loseStreams(reason error) {
	for _, w := range c.streaming {
		go w.ms.OnLost(reason) // which asks for c.mu
	}
}

func (c *serverConn) newFrame() *buffer          { return c.srv.buffers.get() }
func (c *serverConn) dropFrame(buf *buffer)      { c.srv.buffers.put(buf) }
func (c *serverConn) blockPool() *transport.Pool { return &c.srv.blocks }
func (c *serverConn) forgetStream(w *trpcWire) {
	c.mu.Lock()
	delete(c.streaming, w.id)
	c.mu.Unlock()
}

// queueFrame queues a frame that belongs to no call.
func (c *serverConn) queueFrame(buf *buffer) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dead || c.finished {
		c.srv.buffers.put(buf)
		return false
	}
	c.hold(len(buf.b))
	c.out.add(buf)
	c.kick()
	return true
}

// writable returns nil if the client reads what it is sent, else what is
// closed when it has.
func (c *serverConn) writable() <-chan struct{} {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.unsent <= maxShared || c.dead {
		return nil
	}
	if c.drained == nil {
		c.drained = make(chan struct{})
	}
	return c.drained
}

// wakeStreams wakes the streams that wait until the client has read. c.mu is held.
func (c *serverConn) wakeStreams() {
	if c.drained != nil && (c.unsent <= maxShared || c.dead) {
		close(c.drained)
		c.drained = nil
	}
}
