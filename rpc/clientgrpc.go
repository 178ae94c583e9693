package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds calls of methods on messages over gRPC on the client.
// Connections are those of net/http.

// grpcClient makes the calls of a MessageClient that speaks gRPC.
type grpcClient struct {
	base       *clientCore // whose options and way to connect it has
	transport  *thrifthttp.Transport
	compressor trpc.Compressor
	scheme     string
	host       string
	pending    atomic.Int64    // calls and streams
	life       context.Context // of the client
	endLife    context.CancelFunc
	use        context.Context // of its connections, which their last call may outlast a little
	endUse     context.CancelFunc
}

// newGRPCClient returns a client with the options of base, which makes
// connections when it needs them.
func newGRPCClient(base *clientCore) *grpcClient {
	g := &grpcClient{base: base, scheme: "http", host: base.address}
	if base.opt.tls != nil {
		g.scheme = "https"
	}
	if !strings.HasPrefix(base.network, "tcp") { // as a Unix socket, which has no host
		g.host = "localhost"
	} else if strings.HasPrefix(g.host, ":") {
		g.host = "localhost" + g.host
	}
	g.transport = thrifthttp.NewTransport(thrifthttp.ClientOptions{
		Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
			if d := base.opt.dialTimeout; d > 0 {
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, d)
				defer cancel()
			}
			c, err := base.opt.dial(ctx, base.network, base.address)
			if err != nil {
				return nil, err
			}
			return newGRPCConn(g, base.gather(c)), nil
		},
		TLS: base.opt.tls, HTTP2: true, HandshakeTime: base.opt.dialTimeout,
	})
	g.life, g.endLife = context.WithCancel(context.Background())
	g.use, g.endUse = context.WithCancel(context.Background())
	return g
}

// close ends the calls and streams, and the connections with them.
func (g *grpcClient) close() {
	g.endLife()
	if g.pending.Load() == 0 {
		g.endUse()
	}
}

// enter counts a call or stream, until leave, unless there are too many.
func (g *grpcClient) enter(method string) error {
	switch {
	case g.life.Err() != nil:
		return &Error{Stage: StageDial, Method: method, Err: ErrClientClosed}
	case g.pending.Add(1) > int64(g.base.opt.maxPending):
		g.leave()
		return &Error{Stage: StageQueue, Method: method, Err: ErrTooManyCalls}
	}
	return nil
}

// leave ends the count. The connections of a closed client go with its last call.
func (g *grpcClient) leave() {
	if g.pending.Add(-1) == 0 && g.life.Err() != nil {
		g.endUse()
	}
}

// request returns a request without a body.
func (g *grpcClient) request(ctx context.Context, method string, t transport.ContentType) (*http.Request, error) {
	subtype := t.Subtype()
	switch {
	case !strings.HasPrefix(method, "/"):
		return nil, fmt.Errorf("a method is called as /package.Service/Method, and not as %q", method)
	case subtype == "":
		return nil, fmt.Errorf("gRPC has no name for %s", t)
	}
	h := grpcFields(requestHeads(ctx, transport.GRPC, new(callRoom)).pairs)
	if h == nil {
		h = http.Header{}
	}
	h["Content-Type"] = []string{grpc.ContentType + "+" + subtype}
	h["Te"] = []string{"trailers"}
	h["Grpc-Accept-Encoding"] = []string{"gzip"}
	h["User-Agent"] = []string{"thrum"}
	if g.base.opt.packing == trpc.Gzip {
		h["Grpc-Encoding"] = []string{"gzip"}
	}
	if deadline, ok := ctx.Deadline(); ok {
		h["Grpc-Timeout"] = []string{grpc.FormatTimeout(time.Until(deadline))}
	}
	r := &http.Request{
		Method: http.MethodPost, URL: &url.URL{Scheme: g.scheme, Host: g.host, Path: method}, Host: g.host,
		Proto: "HTTP/2.0", ProtoMajor: 2, Header: h,
	}
	return r.WithContext(ctx), nil
}

// invoke makes one call.
func (g *grpcClient) invoke(ctx context.Context, call *MessageCall) error {
	if err := g.enter(call.Method); err != nil {
		return err
	}
	defer g.leave()
	inner, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(g.life, cancel)()
	var sent grpcSent
	r, err := g.encode(sent.trace(inner), call)
	if err != nil {
		return &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	reply, err := g.transport.RoundTrip(r)
	if err == nil {
		defer reply.Body.Close()
		err = g.read(ctx, reply, call)
	}
	return g.failure(ctx, call.Method, sent.maybe(), err)
}

// encode returns the request of a call. Its body is not used again, because
// the network may read it when the call has ended.
func (g *grpcClient) encode(ctx context.Context, call *MessageCall) (*http.Request, error) {
	r, err := g.request(ctx, call.Method, call.Request.Type)
	if err != nil {
		return nil, err
	}
	if len(call.Attachment) > 0 {
		return nil, errors.New("gRPC has no attachments")
	}
	packing := g.base.opt.packing
	if len(call.Request.Body) == 0 {
		packing = trpc.None
	}
	b, err := g.compressor.Compress(make([]byte, grpc.PrefixSize, grpc.PrefixSize+len(call.Request.Body)), call.Request.Body, packing)
	if err != nil {
		return nil, err
	}
	size := len(b) - grpc.PrefixSize
	if limit := g.base.opt.maxFrame; size > limit {
		return nil, diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("request of %d bytes exceeds the limit of %d", size, limit))
	}
	grpc.PutPrefix(b, size, packing != trpc.None)
	r.ContentLength = int64(len(b))
	r.Body = io.NopCloser(bytes.NewReader(b))
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(b)), nil }
	return r, nil
}

// failure returns why a call has failed, if it has.
func (g *grpcClient) failure(ctx context.Context, method string, sent bool, err error) error {
	var status *StatusError
	var biz *BizStatus
	var known *Error
	switch {
	case err == nil || errors.As(err, &known):
		return err
	case g.life.Err() != nil:
		return &Error{Stage: StageRead, Method: method, Sent: sent, Err: ErrClientClosed}
	case ctx.Err() != nil:
		return &Error{Stage: StageWait, Method: method, Sent: sent, Err: ctx.Err()}
	case errors.As(err, &status), errors.As(err, &biz):
		return err
	case !sent:
		return &Error{Stage: StageDial, Method: method, Err: err}
	}
	status = resetStatus(err)
	switch {
	case status == nil:
		return &Error{Stage: StageRead, Method: method, Sent: true, Err: err}
	case outlived(ctx, status):
		return &Error{Stage: StageWait, Method: method, Sent: true, Err: context.DeadlineExceeded}
	}
	return status
}

// outlived reports whether a call was reset because its deadline has passed,
// of which the server's clock may know first.
func outlived(ctx context.Context, status *StatusError) bool {
	deadline, ok := ctx.Deadline()
	return ok && status.wire.Code == grpc.Canceled && time.Until(deadline) <= 0
}

// read reads the answer of a call.
func (g *grpcClient) read(ctx context.Context, reply *http.Response, call *MessageCall) error {
	t, packing, err := g.header(reply, call.Request.Type)
	if err != nil {
		return err
	}
	in := grpc.NewReader(reply.Body, &g.base.blocks, g.base.opt.maxFrame, nil)
	defer in.Close()
	message, compressed, block, err := in.Next()
	if err == nil {
		defer block.Release()
		var second *transport.Block
		if _, _, second, err = in.Next(); err == nil {
			second.Release()
			return &Error{Stage: StageRead, Method: call.Method, Sent: true, Err: errors.New("the server has sent more than one message")}
		}
	}
	if err != io.EOF {
		return err
	}
	if wanted := wantedHeaders(ctx, &form{dialect: transport.GRPC}); wanted != nil {
		h := heads{given: metadataOfAnswer(reply)}
		wanted.set(h.copyOf())
	}
	outcome, ok := outcomeOf(reply)
	switch {
	case outcome != nil:
		return outcome
	case !ok:
		return errNoStatus
	case block == nil && call.Oneway, call.ReadReply == nil:
		return nil
	case block == nil:
		return &Error{Stage: StageRead, Method: call.Method, Sent: true, Err: errors.New("the server has sent no reply")}
	}
	if err := g.readReply(Message{Type: t, Body: message}, compressed, packing, call); err != nil {
		return &Error{Stage: StageDecode, Method: call.Method, Sent: true, Err: err}
	}
	return nil
}

// readReply decompresses the reply, if it is compressed, and hands it to the caller.
func (g *grpcClient) readReply(m Message, compressed bool, packing trpc.Compression, call *MessageCall) (err error) {
	if compressed {
		if m.Body, err = unpackGRPC(&g.compressor, m.Body, packing, g.base.opt.unpacked(g.base.opt.maxFrame)); err != nil {
			return err
		}
	}
	return call.ReadReply(m, nil)
}

// errNoStatus is an answer that ends without saying how.
var errNoStatus = errors.New("the server has sent no status")

// header reads the header of an answer: the format of its messages, and how those are compressed
// that are. It is an error if it is no answer of gRPC.
func (g *grpcClient) header(reply *http.Response, asked transport.ContentType) (transport.ContentType, trpc.Compression, error) {
	if reply.StatusCode != http.StatusOK {
		if outcome, _ := grpcOutcome(reply.Header); outcome != nil { // which counts more
			return 0, 0, outcome
		}
		return 0, 0, statusError(&grpc.Status{Code: grpc.CodeOfHTTP(reply.StatusCode), Message: "HTTP status " + reply.Status})
	}
	media := reply.Header.Get("Content-Type")
	subtype, ok := grpc.ParseContentType(media)
	if !ok {
		return 0, 0, statusError(&grpc.Status{Code: grpc.Unknown, Message: fmt.Sprintf("the answer has the content type %q", clip([]byte(media)))})
	}
	t, known := transport.ParseSubtype(subtype)
	if !known {
		t = asked
	}
	switch encoding := reply.Header.Get("Grpc-Encoding"); encoding {
	case "", "identity":
		return t, trpc.None, nil
	case "gzip":
		return t, trpc.Gzip, nil
	default:
		return 0, 0, statusError(&grpc.Status{Code: grpc.Internal, Message: fmt.Sprintf("the answer is compressed by %q", clip([]byte(encoding)))})
	}
}

// outcomeOf returns how a call has ended whose answer has been read, and whether it says so.
func outcomeOf(reply *http.Response) (error, bool) {
	if outcome, ok := grpcOutcome(reply.Trailer); ok {
		return outcome, true
	}
	return grpcOutcome(reply.Header)
}

// metadataOfAnswer returns the metadata of an answer, that of its trailer
// included. What cannot be read is none.
func metadataOfAnswer(reply *http.Response) []transport.Pair {
	pairs, _ := grpcPairs(reply.Header)
	trailer, _ := grpcPairs(reply.Trailer)
	return append(pairs, trailer...)
}

// streamError is what the errors of net/http make of themselves when a stream of HTTP/2 was reset.
type streamError struct {
	StreamID uint32
	Code     uint32
	Cause    error
}

func (e streamError) Error() string {
	return fmt.Sprintf("stream %d was reset with code %d", e.StreamID, e.Code)
}

// The codes of HTTP/2 that have a meaning of their own in gRPC.
const (
	resetRefused    = 7
	resetCancel     = 8
	resetTooMuch    = 11
	resetInsecurity = 12
)

// resetStatus returns the status that stands for a stream that was reset, nil for other errors.
func resetStatus(err error) *StatusError {
	var reset streamError
	if !errors.As(err, &reset) {
		return nil
	}
	code := grpc.Internal
	switch reset.Code {
	case resetRefused:
		code = grpc.Unavailable
	case resetCancel:
		code = grpc.Canceled
	case resetTooMuch:
		code = grpc.ResourceExhausted
	case resetInsecurity:
		code = grpc.PermissionDenied
	}
	status := statusError(&grpc.Status{Code: code, Message: reset.Error()})
	if reset.Code == resetRefused {
		status.code = queueFull
	}
	return status
}
