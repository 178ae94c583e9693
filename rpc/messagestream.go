package rpc

import (
	"context"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds streams over tRPC on the client, which share a connection with calls.

// MessageStreamer opens streams of messages. [*MessageClient] is one.
type MessageStreamer interface {
	// OpenMessageStream opens a stream and sends its header. The stream ends when ctx does. An error is
	// an [*Error], or a [*stream.Error].
	OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error)
}

// MessageStreamCall is one call of a method that streams messages.
type MessageStreamCall struct {
	Method string // "/package.Service/Method"
	Type   transport.ContentType
}

// OpenMessageStream opens a stream. Over tRPC messages can be sent once the server has
// answered; Send waits for that. The limit of [CallTimeout] does not count for streams.
func (c *MessageClient) OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	if c.streams != nil {
		return c.streams.OpenMessageStream(ctx, call)
	}
	return c.openStream(ctx, call)
}

// openStream opens a stream, behind the interceptors.
func (c *MessageClient) openStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	if c.grpc != nil {
		return c.grpc.open(ctx, call)
	}
	for {
		cc, err := c.connection(ctx)
		if err != nil {
			return nil, &Error{Stage: StageDial, Method: call.Method, Err: err}
		}
		w := c.newWire(ctx, cc, call)
		switch opened, err := cc.open(w); {
		case err != nil:
			return nil, err
		case opened:
			return w.ms, nil
		}
	}
}

// open opens a stream on the connection. It reports false if the connection has ended, or ends.
func (cc *clientConn) open(w *trpcWire) (bool, error) {
	switch started, err := cc.startStream(w); {
	case err != nil:
		w.ms.OnLost(err)
		return false, &Error{Stage: StageQueue, Method: string(w.init.Func), Err: err}
	case !started:
		w.ms.OnLost(errStreamOver)
		return false, nil
	}
	if err := w.ms.Open(nil); err != nil {
		cc.forgetStream(w) // which it may have asked for before the connection knew it
		return false, err
	}
	return true, nil
}

// newWire returns a stream that has not begun.
func (c *MessageClient) newWire(ctx context.Context, cc *clientConn, call *MessageStreamCall) *trpcWire {
	ms := &MessageStream{Type: call.Type, packing: c.opt.packing, compressor: &c.compressor, limit: trpcLimit(c.opt.maxFrame)}
	w := &trpcWire{
		conn: cc, id: c.nextID(), ms: ms, pairs: requestHeads(ctx, transport.TRPC, new(callRoom)).pairs,
		init: &trpc.Init{
			IsRequest: true, Callee: []byte(serviceOf(call.Method)), Func: []byte(call.Method),
			Window: trpc.DefaultWindow, ContentType: call.Type, Encoding: c.opt.packing,
		},
	}
	o := c.opt.stream.limits()
	o.Role, o.Loose, o.Window, o.Credited = stream.Client, true, trpc.DefaultWindow, true
	ms.Stream = stream.New(ctx, w, o)
	return w
}

// startStream makes the connection one of the stream. It reports false if the connection has ended, or ends.
func (cc *clientConn) startStream(w *trpcWire) (bool, error) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	switch {
	case cc.err != nil || cc.retired:
		return false, nil
	case len(cc.streams) >= cc.client.opt.maxPending:
		return false, ErrTooManyCalls
	}
	if cc.streams == nil {
		cc.streams = map[uint32]*trpcWire{}
	}
	cc.streams[w.id] = w
	cc.live++
	return true, nil
}

// forgetStream forgets a stream that has ended.
func (cc *clientConn) forgetStream(w *trpcWire) {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.streams[w.id] == w {
		delete(cc.streams, w.id)
		cc.live--
		cc.endIfUnused()
	}
}

// deliverStream hands a frame to its stream.
func (cc *clientConn) deliverStream(frame []byte, block *transport.Block) (taken bool, err error) {
	head, err := trpc.ParseHead(frame)
	if err != nil {
		return false, err
	}
	cc.mu.Lock()
	w := cc.streams[head.ID]
	cc.mu.Unlock()
	// Without a stream it has ended here, and the server does not know yet.
	return w != nil && w.receive(head, frame, block), nil
}

func (cc *clientConn) newFrame() *buffer          { return cc.client.buffers.get() }
func (cc *clientConn) dropFrame(buf *buffer)      { cc.client.buffers.put(buf) }
func (cc *clientConn) blockPool() *transport.Pool { return &cc.client.blocks }

// queueFrame queues a frame that belongs to no call.
func (cc *clientConn) queueFrame(buf *buffer) bool {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.err != nil {
		cc.client.buffers.put(buf)
		return false
	}
	cc.frames.add(buf)
	cc.kick()
	return true
}

// writable returns nil if the server reads what it is sent, else what is
// closed when it has.
func (cc *clientConn) writable() <-chan struct{} {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	if cc.frames.size <= maxShared || cc.err != nil {
		return nil
	}
	if cc.drained == nil {
		cc.drained = make(chan struct{})
	}
	return cc.drained
}

// wakeStreams wakes the streams that wait until the server has read. cc.mu is held.
func (cc *clientConn) wakeStreams() {
	if cc.drained != nil && (cc.frames.size <= maxShared || cc.err != nil) {
		close(cc.drained)
		cc.drained = nil
	}
}
