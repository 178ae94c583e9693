package rpc

import (
	"bytes"
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
// the stream has queued, read by net/http, and the answer's is read by a goroutine. What was read is kept until the server
// has answered, because one that leaves may not have begun with the stream.

// open opens a stream, and waits until its header is on a connection: a stream whose header never was can be opened
// elsewhere, and a server of ours serves one whose header was written before it had said that it leaves.
func (g *grpcClient) open(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	if err := g.enter(call.Method); err != nil {
		return nil, err
	}
	ms := &MessageStream{Type: call.Type}
	w := &grpcClientWire{client: g, got: make(chan struct{}, 1), ended: make(chan struct{})}
	w.init(ms, &g.base.buffers, &g.compressor, g.base.opt.packing, g.base.opt.maxFrame)
	w.spare.pool, w.sent.wrote = w.buffers, w.begun
	o := g.base.opt.stream.limits()
	o.Role = stream.Client
	ms.Stream = stream.New(ctx, w, o)
	r, err := g.request(w.sent.trace(ms.Context()), call.Method, call.Type)
	if err != nil {
		ms.OnLost(err)
		return nil, &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	r.Body, r.GetBody, w.request = w.newBody(nil), w.replay, r
	stop := context.AfterFunc(g.life, func() { ms.OnLost(ErrClientClosed) })
	context.AfterFunc(ms.Context(), func() { stop() })
	if err := ms.Open(nil); err != nil {
		return nil, err
	}
	if err := w.awaitConn(); err != nil {
		return nil, g.failure(ctx, call.Method, false, err)
	}
	return ms, nil
}

// awaitConn waits until the stream has begun on a connection with a server behind it, or returns why it has not. A context
// that ends is a reason, too.
func (w *grpcClientWire) awaitConn() error {
	for {
		select {
		case <-w.got:
		case <-w.ended:
			return w.unsent()
		}
		c := w.sent.conn.Load()
		if c == nil {
			return nil
		}
		select {
		case <-c.ready:
			if c.served.Load() {
				return nil
			}
		case <-w.ended:
			return w.unsent()
		}
	}
}

// grpcClientWire sends the messages of a client's stream, which the bodies of the request read.
type grpcClientWire struct {
	grpcQueue
	client  *grpcClient
	request *http.Request
	cut     bool // the stream has ended before SendClose; guarded by the queue's mutex

	sent   grpcSent
	got    chan struct{} // has something when the request's header is on a connection
	ended  chan struct{} // closed when the request has failed
	failed error         // why; written before ended is closed

	reading sync.Mutex // held by the body that reads
	body    *grpcBody  // that may
	spare   outQueue   // what is being read
	at      int        // bytes of it that have been
	kept    []byte     // all that has been read, for as long as another server may have to get it
	settled bool       // none may any more, or too much has been read
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

// grpcBody is the body of a request that opens a stream.
type grpcBody struct {
	wire    *grpcClientWire
	replay  []byte // what goes before that which nobody has read yet
	closing sync.Once
	closed  chan struct{} // closed when nobody wants the body any more
}

// newBody returns a body that takes the place of those before. w.reading is held, or the stream is new.
func (w *grpcClientWire) newBody(replay []byte) *grpcBody {
	w.body = &grpcBody{wire: w, replay: replay, closed: make(chan struct{})}
	return w.body
}

// maxReplay is how many bytes of a stream are kept until its server has answered.
const maxReplay = 64 << 10

// errSentTooMuch is why a stream that a server has not begun with is not opened elsewhere.
var errSentTooMuch = errors.New("the server leaves without the stream, which has sent too much to be repeated")

// replay returns a body for another connection, from the beginning: net/http asks for one when a server has said that it did not
// begin with the request, as one that leaves does.
func (w *grpcClientWire) replay() (io.ReadCloser, error) {
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.settled {
		return nil, errSentTooMuch
	}
	return w.newBody(bytes.Clone(w.kept)), nil
}

// keep remembers what a body has given to net/http. w.reading is held.
func (w *grpcClientWire) keep(b []byte) {
	switch {
	case w.settled:
	case len(w.kept)+len(b) > maxReplay:
		w.kept, w.settled = nil, true
	default:
		w.kept = append(w.kept, b...)
	}
}

// settle forgets what was kept, when the server has begun.
func (w *grpcClientWire) settle() {
	w.reading.Lock()
	defer w.reading.Unlock()
	w.kept, w.settled = nil, true
}

// Read gives what is queued to net/http, which sends it.
func (b *grpcBody) Read(p []byte) (int, error) {
	w := b.wire
	for {
		if n, err := b.readNow(p); n > 0 || err != nil {
			return n, err
		}
		select {
		case <-w.wake:
		case <-b.closed:
			return 0, http.ErrBodyReadAfterClose
		case <-w.request.Context().Done():
			return 0, w.request.Context().Err()
		}
	}
}

// readNow reads what there is.
func (b *grpcBody) readNow(p []byte) (int, error) {
	w := b.wire
	w.reading.Lock()
	defer w.reading.Unlock()
	if w.body != b {
		w.signal() // the one in its place
		return 0, http.ErrBodyReadAfterClose
	}
	if len(b.replay) > 0 {
		n := copy(p, b.replay)
		b.replay = b.replay[n:]
		return n, nil
	}
	for {
		if n := w.copyTo(p); n > 0 {
			w.keep(p[:n])
			return n, nil
		}
		if over := w.take(&w.spare); w.spare.size == 0 {
			if over {
				return 0, w.bodyEnd()
			}
			return 0, nil
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
func (b *grpcBody) Close() error {
	b.closing.Do(func() { close(b.closed) })
	return nil
}

// unsent returns why the request has failed, nil if a server may have had it: then it is the stream's end.
func (w *grpcClientWire) unsent() error {
	if w.sent.maybe() {
		return nil
	}
	return w.failed
}

// begun notes that the request's header is on a connection.
func (w *grpcClientWire) begun() {
	select {
	case w.got <- struct{}{}:
	default:
	}
}

// receive makes the request, and hands what is answered to the stream.
func (w *grpcClientWire) receive() {
	ctx := w.request.Context()
	reply, err := w.client.transport.RoundTrip(w.request)
	if err != nil {
		w.broke(ctx, err)
		w.failed = err
		close(w.ended)
		return
	}
	defer reply.Body.Close()
	w.settle()
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
	unpack := func(b []byte) ([]byte, error) { return unpackGRPC(w.compressor, b, packing, w.limit) }
	for {
		if err := w.deliver(in, unpack); err != nil {
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
