package rpc

import (
	"context"
	"errors"
	"io"
	"net/http"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
)

// This file holds streams over gRPC on the server. The goroutine that net/http
// has for a request writes the answer; another one reads the body, and a third runs the handler, which
// may go on for a while when the stream has ended.

// serveStream serves a stream.
func (g *grpcRequest) serveStream() {
	c, s := g.conn, g.srv
	md := metadataOfPairs(g.pairs)
	x := &callContext{conn: c, dialect: transport.GRPC, closed: true, extras: &callExtras{in: &metadata{headers: md}}}
	running := int64(0)
	if c.web != nil { // counted first, as requests of one connection come beside each other
		running = c.web.streams.Add(1) - 1
	}
	if r := c.admitMessageStream([]byte(g.r.URL.Path), int(running), x); r.cause != 0 {
		if c.web != nil {
			c.web.streams.Add(-1)
		}
		g.refuse(r)
		return
	}
	s.counts.calls.Add(1)
	s.inFlight.Add(1)
	c.handlers++
	ctx, cancel := context.Context(x), context.CancelFunc(func() {})
	if g.timeout > 0 {
		ctx, cancel = context.WithTimeout(x, g.timeout)
	}
	w := &grpcServerWire{control: g.control, patience: s.opt.writeTimeout}
	ms := &MessageStream{Type: g.content}
	w.init(ms, &s.buffers, &s.compressor, g.packing, s.opt.maxFrame)
	o := s.opt.stream.limits()
	o.Role = stream.Server
	o.Hold = func(n int) { s.memory.Add(int64(n)) }
	ms.Stream = stream.New(ctx, w, o)
	ms.OnHeader(md)
	x.extras.stream = ms.Stream
	go func() {
		defer cancel()
		c.runStream(x, ms)
	}()
	read := make(chan struct{})
	go func() {
		defer close(read)
		g.receive(w)
	}()
	g.send(w)
	ms.OnLost(errStreamOver) // unless it has ended
	g.control.SetReadDeadline(time.Unix(1, 0))
	<-read
}

// receive reads the body and hands its messages to the stream.
func (g *grpcRequest) receive(w *grpcServerWire) {
	in := grpc.NewReader(g.r.Body, &g.srv.blocks, g.srv.opt.maxFrame, g.conn.countArrived)
	defer in.Close()
	defer g.conn.uncountPartial()
	for {
		err := w.deliver(in, g.unpack)
		switch {
		case err == nil:
			g.conn.uncountPartial()
			continue
		case err == io.EOF:
			w.ms.OnClose(nil, nil)
		case errors.Is(err, errStreamOver):
		default:
			if e := brokenBody(g.r.Context(), err); e.Code == stream.Overflow || e.Code == stream.Protocol {
				w.ms.Cancel(e)
			} else { // the client has gone, which the context may not know yet
				w.ms.OnReset(context.Canceled)
			}
		}
		return
	}
}

// unpack decompresses a message of a stream, as one of a call is, and counts what it holds.
func (g *grpcRequest) unpack(b []byte) ([]byte, error) {
	g.srv.unpacking <- struct{}{}
	defer func() { <-g.srv.unpacking }()
	out, err := unpackGRPC(&g.srv.compressor, b, g.packing, g.srv.opt.maxFrame)
	if err == nil {
		err = g.conn.countArrived(cap(out))
	}
	return out, err
}

// send writes the answer, until the stream has ended or the client has gone.
func (g *grpcRequest) send(w *grpcServerWire) {
	var spare outQueue
	spare.pool = w.buffers
	defer spare.release()
	defer w.leave()
	begun := false
	for {
		select {
		case <-w.wake:
		case <-g.r.Context().Done():
			w.ms.OnReset(context.Canceled)
			return
		}
		over := w.take(&spare)
		head, end := w.state()
		if !begun && (head != nil || spare.size > 0) {
			begun = true
			g.header(sortedPairs(head))
			g.w.WriteHeader(http.StatusOK)
		}
		for _, s := range spare.segments {
			if _, err := g.w.Write(s.view); err != nil {
				w.ms.OnReset(context.Canceled)
				return
			}
		}
		w.wrote(&spare)
		switch {
		case over && end == nil: // the client has ended it
			return
		case over && begun:
			g.trailer(end)
			return
		case over:
			g.header(nil)
			g.fail(end)
			return
		case begun:
			if err := g.control.Flush(); err != nil {
				w.ms.OnReset(context.Canceled)
				return
			}
		}
	}
}

// grpcServerWire sends the messages of a server's stream.
type grpcServerWire struct {
	grpcQueue
	patience time.Duration // that the end may take to leave; 0 for any time

	// Guarded by the queue's mutex.
	control *http.ResponseController // nil when the request is over
	head    stream.Metadata          // to be sent; nil before SendHeader
	last    http.Header              // how the stream has ended; nil if the client knows
}

// leave notes that the request is over.
func (w *grpcServerWire) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(true)
	w.control = nil
}

// state returns what goes before the messages, and behind them.
func (w *grpcServerWire) state() (head stream.Metadata, end http.Header) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.head, w.last
}

// SendHeader queues the header.
func (w *grpcServerWire) SendHeader(md stream.Metadata) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.head = md; md == nil {
		w.head = stream.Metadata{}
	}
	w.signal()
	return nil
}

// SendClose queues the trailer.
func (w *grpcServerWire) SendClose(outcome error, trailer stream.Metadata) error {
	end := grpcTrailer(outcome)
	for name, values := range grpcFields(sortedPairs(trailer)) {
		if _, taken := end[name]; !taken {
			end[name] = values
		}
	}
	w.close(end, w.patience, false)
	return nil
}

// SendReset ends the stream: with a trailer in the place of what is queued, if
// the client reads what is on its way.
func (w *grpcServerWire) SendReset(reason *stream.Error) {
	w.close(grpcTrailer(reason), resetTime, true)
}

// resetTime is how long a message that is on its way may hold up the end of a
// stream that is reset. Then HTTP/2 resets it, and the client is not told why.
const resetTime = time.Second

// close ends the answer, for which the client has some time.
func (w *grpcServerWire) close(end http.Header, patience time.Duration, drop bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.over {
		return
	}
	w.last = end
	if w.control != nil && patience > 0 {
		w.control.SetWriteDeadline(time.Now().Add(patience))
	}
	w.end(drop)
}

// Ended ends what no trailer has.
func (w *grpcServerWire) Ended(error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.end(true)
}
