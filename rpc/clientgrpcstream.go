package rpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"sync"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds streams over gRPC on the client: the request's body is what
// the stream has queued, read by net/http, and the answer's is read by a goroutine.

// open opens a stream.
func (g *grpcClient) open(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	if err := g.enter(call.Method); err != nil {
		return nil, err
	}
	ms := &MessageStream{Type: call.Type}
	w := &grpcClientWire{client: g, closed: make(chan struct{})}
	w.init(ms, &g.base.buffers, &g.compressor, g.base.opt.packing, g.base.opt.maxFrame)
	w.spare.pool = w.buffers
	o := g.base.opt.stream.limits()
	o.Role = stream.Client
	ms.Stream = stream.New(ctx, w, o)
	r, err := g.request(ms.Context(), call.Method, call.Type)
	if err != nil {
		ms.OnLost(err)
		return nil, &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	r.Body, w.request = w, r
	stop := context.AfterFunc(g.life, func() { ms.OnLost(ErrClientClosed) })
	context.AfterFunc(ms.Context(), func() { stop() })
	if err := ms.Open(nil); err != nil {
		return nil, err
	}
	return ms, nil
}

// grpcClientWire sends the messages of a client's stream. It is the body of the
// request, too.
type grpcClientWire struct {
	grpcQueue
	client  *grpcClient
	request *http.Request
	closing sync.Once
	closed  chan struct{} // closed when nobody wants the body any more
	cut     bool          // the stream has ended before SendClose; guarded by the queue's mutex

	// Of who reads the body.
	spare outQueue // what is being read
	at    int      // bytes of it that have been
}

// SendHeader sends the request.
func (w *grpcClientWire) SendHeader(stream.Metadata) error {
	go w.receive()
	return nil
}

// SendClose ends the body.
func (w *grpcClientWire) SendClose(error, stream.Metadata) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(false)
	return nil
}

// SendReset does nothing: the context of the request is that of the stream.
func (w *grpcClientWire) SendReset(*stream.Error) {}

// Ended forgets the stream.
func (w *grpcClientWire) Ended(error) {
	w.mu.Lock()
	w.cut = !w.over
	w.end(true)
	w.mu.Unlock()
	w.client.leave()
}

// Read gives what is queued to net/http, which sends it.
func (w *grpcClientWire) Read(p []byte) (int, error) {
	for {
		if n := w.copyTo(p); n > 0 {
			return n, nil
		}
		if over := w.take(&w.spare); w.spare.size > 0 {
			continue
		} else if over {
			return 0, w.bodyEnd()
		}
		select {
		case <-w.wake:
		case <-w.closed:
			return 0, http.ErrBodyReadAfterClose
		case <-w.request.Context().Done():
			return 0, w.request.Context().Err()
		}
	}
}

// bodyEnd returns the error that ends the body: not io.EOF if messages are missing, which the server
// would take for the last one's end before it hears of the reset.
func (w *grpcClientWire) bodyEnd() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.cut {
		return errStreamOver
	}
	return io.EOF
}

// copyTo copies what was taken and not been read.
func (w *grpcClientWire) copyTo(p []byte) (n int) {
	at := w.at
	for _, s := range w.spare.segments {
		if at >= len(s.view) {
			at -= len(s.view)
			continue
		}
		n += copy(p[n:], s.view[at:])
		at = 0
	}
	if w.at += n; n > 0 && w.at == w.spare.size {
		w.wrote(&w.spare)
		w.at = 0
	}
	return n
}

// Close ends a Read that waits: net/http does not say that the request has failed before that has returned.
func (w *grpcClientWire) Close() error {
	w.closing.Do(func() { close(w.closed) })
	return nil
}

// receive makes the request, and hands what is answered to the stream.
func (w *grpcClientWire) receive() {
	ctx := w.request.Context()
	reply, err := w.client.transport.RoundTrip(w.request)
	if err != nil {
		w.broke(ctx, err)
		return
	}
	defer reply.Body.Close()
	_, packing, err := w.client.header(reply, w.ms.Type)
	if err != nil {
		w.ms.OnClose(err, nil)
		return
	}
	w.ms.OnHeader(metadataOfFields(reply.Header))
	if err := w.readAll(reply, packing); err != io.EOF {
		w.broke(ctx, err)
		return
	}
	outcome, ok := outcomeOf(reply)
	if !ok {
		outcome = statusError(&grpc.Status{Code: grpc.Internal, Message: errNoStatus.Error()})
	}
	trailer := reply.Trailer
	if _, alone := reply.Header["Grpc-Status"]; alone { // which is a trailer then
		trailer = reply.Header
	}
	w.ms.OnClose(outcome, metadataOfFields(trailer))
}

// readAll hands the messages of an answer to the stream, until the error that ends it.
func (w *grpcClientWire) readAll(reply *http.Response, packing trpc.Compression) error {
	in := grpc.NewReader(reply.Body, &w.client.base.blocks, w.limit, nil)
	defer in.Close()
	for {
		if err := w.deliver(in, packing); err != nil {
			return err
		}
	}
}

// broke ends the stream whose answer cannot be read any more.
func (w *grpcClientWire) broke(ctx context.Context, err error) {
	if ctx.Err() != nil { // which the stream may not have seen yet
		w.ms.Cancel(context.Cause(ctx))
		return
	}
	if status := resetStatus(err); status != nil {
		if outlived(ctx, status) {
			w.ms.Cancel(context.DeadlineExceeded)
		} else {
			w.ms.OnReset(status)
		}
		return
	}
	if e := brokenBody(ctx, err); e.Code != stream.Lost {
		w.ms.Cancel(e)
		return
	}
	w.lost(err)
}

// lost ends the stream whose connection has, or was not made.
func (w *grpcClientWire) lost(err error) {
	if !errors.Is(err, errStreamOver) {
		w.ms.OnLost(err)
	}
}
