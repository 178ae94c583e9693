package rpc

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds calls over gRPC on the server. HTTP/2 is that of net/http;
// each request is a connection of its own to the engine, with one call, as a message over HTTP is.

// grpcRequest is one request, until it is a call or a stream.
type grpcRequest struct {
	srv     *Server
	w       http.ResponseWriter
	r       *http.Request
	control *http.ResponseController
	conn    *serverConn // of this request alone, to the engine
	media   string      // the content type, which the answer has too
	content transport.ContentType
	packing trpc.Compression // of the messages that are compressed, and of replies
	timeout time.Duration    // that the client waits; 0 if it has not said
	pairs   []transport.Pair
}

// serveGRPC serves one request.
func (s *Server) serveGRPC(w http.ResponseWriter, r *http.Request) {
	if r.ProtoMajor < 2 {
		s.reportHTTP(r, http.StatusHTTPVersionNotSupported, errors.New("gRPC over HTTP/1"))
		http.Error(w, "gRPC needs HTTP/2", http.StatusHTTPVersionNotSupported)
		return
	}
	g := &grpcRequest{srv: s, w: w, r: r, control: http.NewResponseController(w), media: grpc.ContentType}
	var remote net.Addr
	web, _ := thrifthttp.ConnOf(r).(*httpConn)
	if web != nil {
		remote = web.RemoteAddr()
	}
	g.conn = s.newExchange(transport.GRPC, remote, r.TLS)
	var err error
	if g.conn.services, err = web.services(s, transport.GRPC); err != nil {
		panic(http.ErrAbortHandler) // the connection has been closed
	}
	g.conn.web = web
	switch m, refused := g.open(); {
	case refused.cause != 0:
		g.refuse(refused)
	case m.MessageStream == nil:
		g.serveCall(m)
	default:
		g.serveStream()
	}
}

// longestTimeout is what the server makes of longer ones, so that sums of times do not overflow.
const longestTimeout = 100 * 365 * 24 * time.Hour

// open reads the header of a request and finds its method, or the reason to refuse it.
func (g *grpcRequest) open() (*Method, refusal) {
	h := g.r.Header
	subtype, _ := grpc.ParseContentType(h.Get("Content-Type"))
	var ok bool
	if g.content, ok = transport.ParseSubtype(subtype); !ok && subtype != "" {
		return nil, refuseGRPC(grpc.Unimplemented, fmt.Sprintf("no messages in %q are served", clip([]byte(subtype))))
	}
	switch encoding := h.Get("Grpc-Encoding"); encoding {
	case "", "identity":
	case "gzip":
		g.packing = trpc.Gzip
	default:
		return nil, refuseGRPC(grpc.Unimplemented, fmt.Sprintf("messages are compressed by %q; gzip is known here", clip([]byte(encoding))))
	}
	var err error
	if text := h.Get("Grpc-Timeout"); text != "" {
		g.timeout, err = grpc.ParseTimeout(text)
		g.timeout = min(max(g.timeout, time.Nanosecond), longestTimeout) // 0 is over at once, and not never
	}
	if err == nil {
		g.pairs, err = grpcPairs(h)
	}
	if err != nil {
		return nil, refuseGRPC(grpc.Internal, err.Error())
	}
	m, unknown := g.conn.services.lookupMessage([]byte(g.r.URL.Path))
	if unknown != nil {
		return nil, refusal{cause: RefusedMethod, told: unknown}
	}
	if subtype == "" {
		g.content = m.Untold
	} else {
		g.media += "+" + subtype
	}
	return m, refusal{}
}

// refuseGRPC refuses a request that cannot be read.
func refuseGRPC(code grpc.Code, text string) refusal {
	return refusal{cause: RefusedMessage, told: statusError(&grpc.Status{Code: code, Message: text})}
}

// refuse answers a request that the engine has not seen.
func (g *grpcRequest) refuse(r refusal) {
	g.srv.counts.calls.Add(1)
	g.srv.counts.refused[r.cause].Add(1)
	g.header(nil)
	end := grpcTrailer(r.status(&serverCall{timeout: g.timeout}))
	r.addCode(end)
	g.fail(end)
}

// addCode says in a trailer why a call is refused, so that clients know whether to repeat it is safe.
func (r refusal) addCode(end http.Header) {
	_, code := r.reply()
	end.Set(keyExceptionCode, strconv.Itoa(code))
}

// Values of fields that most answers have. net/http copies the first, and only reads the second.
var (
	gzipField = []string{"gzip"}
	okField   = []string{"0"}
)

// header sets the header of the answer, with metadata.
func (g *grpcRequest) header(pairs []transport.Pair) {
	h := g.w.Header()
	for name, values := range g.srv.leaving(g.conn.web, grpcFields(pairs)) {
		h[name] = values
	}
	h["Content-Type"] = []string{g.media}
	h["Grpc-Accept-Encoding"] = gzipField
	if g.packing == trpc.Gzip {
		h["Grpc-Encoding"] = gzipField
	}
}

// fail answers with a header alone, which says how the call has failed.
func (g *grpcRequest) fail(end http.Header) {
	h := g.w.Header()
	delete(h, "Grpc-Encoding") // of no message
	for name, values := range end {
		h[name] = values
	}
	g.w.WriteHeader(http.StatusOK)
}

// trailer says how a call has ended, behind its messages.
func (g *grpcRequest) trailer(end http.Header) {
	h := g.w.Header()
	for name, values := range end {
		h[http.TrailerPrefix+name] = values
	}
}

// serveCall serves a call of one message.
func (g *grpcRequest) serveCall(m *Method) {
	message, compressed, block, err := g.readMessage()
	c := g.conn
	if err != nil {
		c.uncountPartial()
		g.refuse(unreadableGRPC(err))
		return
	}
	taken := false
	defer c.abandon(&taken)
	g.take(m, message, compressed, block)
	taken = true
	select {
	case <-c.replied:
		g.answer()
	case <-g.r.Context().Done():
		c.giveUp()
	}
}

// endAfter lets set, which sets the deadline of reading or writing a request, end that after d, unless
// stop is called before. Once stop has returned, set is not called and does not run: net/http panics where it is
// after the request's end. In HTTP/2 a deadline that lies in the future is two messages to the goroutine that serves
// the connection, which cost more than a timer here.
func endAfter(d time.Duration, set func(time.Time) error) (stop func()) {
	if d <= 0 {
		return func() {}
	}
	var l struct {
		sync.Mutex
		stopped bool
	}
	t := time.AfterFunc(d, func() {
		l.Lock()
		defer l.Unlock()
		if !l.stopped {
			set(time.Unix(1, 0))
		}
	})
	return func() {
		if t.Stop() {
			return
		}
		l.Lock() // the function has begun, or will
		l.stopped = true
		l.Unlock()
	}
}

// errCardinality is a call of one message that has another number of them.
var errCardinality = diag.NewFault(diag.InvalidLength, -1, "a call of this method has one message, and no more")

// readMessage reads the only message of a call.
func (g *grpcRequest) readMessage() ([]byte, bool, *transport.Block, error) {
	defer endAfter(g.srv.opt.readTimeout, g.control.SetReadDeadline)()
	in := grpc.NewReader(g.r.Body, &g.srv.blocks, g.srv.opt.maxFrame, g.conn.countArrived)
	defer in.Close()
	message, compressed, block, err := in.Next()
	if err == io.EOF {
		return nil, false, nil, errCardinality
	}
	if err != nil {
		return nil, false, nil, err
	}
	_, _, second, err := in.Next()
	if err == nil {
		second.Release()
		err = errCardinality
	}
	if err != io.EOF {
		block.Release()
		return nil, false, nil, err
	}
	return message, compressed, block, nil
}

// unreadableGRPC refuses a call whose message cannot be read.
func unreadableGRPC(err error) refusal {
	var status *StatusError
	var fault *diag.Fault
	switch {
	case errors.As(err, &status):
		return refusal{cause: RefusedMessage, told: status}
	case errors.As(err, &fault) && fault.Code == diag.SizeLimit:
		return refuseGRPC(grpc.ResourceExhausted, fault.Detail)
	case isTimeout(err):
		return refuseGRPC(grpc.DeadlineExceeded, "the message did not arrive in time")
	}
	return refuseGRPC(grpc.Internal, err.Error())
}

// take hands the call to the engine.
func (g *grpcRequest) take(m *Method, message []byte, compressed bool, block *transport.Block) {
	c := g.conn
	c.beginTurn()
	defer c.endTurn()
	c.arrivals++
	call := c.srv.newCall(c)
	call.size, call.block, call.args = len(message), block, message
	call.form.trpc.content, call.form.trpc.encoding = g.content, g.packing
	call.heads.given = g.pairs
	call.method, call.name = m, m.Name
	c.readHeads(call)
	call.timeout = g.timeout
	var refused refusal
	if compressed {
		refused = c.unpackGRPC(call)
	}
	_ = c.take(call, refused) // whose connection lives as long as the request
}

// unpackGRPC decompresses the message of a call.
func (c *serverConn) unpackGRPC(call *serverCall) refusal {
	c.beginUnpacking(call.args, len(call.args))
	call.arrived = c.arrived
	body, err := unpackGRPC(&c.srv.compressor, call.args, call.form.trpc.encoding, c.srv.opt.unpacked(c.srv.opt.maxFrame))
	call.size = max(call.size, cap(body))
	c.endUnpacking(call.size)
	if err != nil {
		return unreadableGRPC(err)
	}
	call.args = body
	return refusal{}
}

// grpcReply returns the reply with a message, which is still the caller's if it fails.
func (c *serverConn) grpcReply(call *serverCall, ctx *callContext, m *Message) (reply, error) {
	var pairs []transport.Pair
	if ctx != nil {
		pairs = c.replyPairs(ctx)
	}
	if m.Type != call.form.trpc.content && len(m.Body) > 0 {
		return reply{}, &StatusError{Code: trpc.ServerEncode, Message: fmt.Sprintf("a call in %s was answered in %s", call.form.trpc.content, m.Type)}
	}
	compressed := call.form.trpc.encoding != trpc.None && len(m.Body) > 0
	if compressed {
		packed, err := c.srv.compressor.Compress(nil, m.Body, call.form.trpc.encoding)
		if err != nil {
			return reply{}, err
		}
		m.release()
		*m = Message{Type: m.Type, Body: packed}
	}
	if len(m.Body) > c.srv.opt.maxFrame {
		return reply{}, &tooLargeError{len(m.Body), c.srv.opt.maxFrame}
	}
	out := reply{buf: c.srv.buffers.get(), heads: pairs}
	var prefix [grpc.PrefixSize]byte
	grpc.PutPrefix(prefix[:], len(m.Body), compressed)
	out.buf.b = append(out.buf.b, prefix[:]...)
	if len(m.Body) > joinLimit {
		out.body = *m
		return out, nil
	}
	out.buf.b = append(out.buf.b, m.Body...)
	m.release()
	return out, nil
}

// grpcFailure returns the reply that tells the client of a failure.
func (c *serverConn) grpcFailure(call *serverCall, err error) reply {
	out := reply{buf: c.srv.buffers.get(), end: grpcTrailer(err)}
	if ctx := call.ctx.Load(); ctx != nil {
		out.heads = c.replyPairs(ctx)
	}
	return out
}

// answer writes the reply of a call.
func (g *grpcRequest) answer() {
	c := g.conn
	defer c.releaseReply()
	defer endAfter(g.srv.opt.writeTimeout, g.control.SetWriteDeadline)()
	c.mu.Lock()
	heads, end, segments := c.replyHeads, c.replyEnd, c.out.segments
	c.mu.Unlock()
	g.header(heads)
	if end != nil {
		g.fail(end)
		return
	}
	for _, s := range segments {
		if _, err := g.w.Write(s.view); err != nil {
			return // the client is gone; nobody is left to tell
		}
	}
	g.w.Header()[http.TrailerPrefix+"Grpc-Status"] = okField
	g.control.Flush() // within the time to write, and not when that no longer counts
}
