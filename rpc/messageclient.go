package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds the client of methods on messages: a call over tRPC from its
// message to its reply. What happens on a connection is in messageconn.go.

// MessageCaller makes calls of methods on messages. [*MessageClient] is one;
// generated clients call on one. Implementations are safe for concurrent use.
type MessageCaller interface {
	// InvokeMessage makes one call and returns when its reply has been read, or, for a
	// oneway call, when it has been handed to the network. A failure that the server's framework
	// reports is a [*StatusError], one of the application a [*BizStatus]; other
	// failures of a [*MessageClient] are an [*Error].
	InvokeMessage(ctx context.Context, call *MessageCall) error
}

// MessageCall is one call of a method on messages.
type MessageCall struct {
	Method     string // "/package.Service/Method"
	Oneway     bool
	Request    Message // whose body is the caller's again when InvokeMessage returns; its Owner is not asked
	Attachment []byte  // goes beside the message; likewise

	// ReadReply takes the reply. It runs at most once, before InvokeMessage
	// returns; body and attachment are valid until it does. nil ignores the reply.
	ReadReply func(reply Message, attachment []byte) error
}

// MessageClient is a [MessageCaller] that speaks tRPC to one address. Any number of
// goroutines share its connection, on which replies come in whatever order. When the connection
// has failed, the next call makes a new one; calls are never repeated. A call whose context ends
// returns at once; as in [Client] the connection is closed if no other call waits on it, or if
// the server has been silent for all of the call's time.
type MessageClient struct {
	base       Client // whose options and way to connect it has, and nothing else
	compressor trpc.Compressor
	last       atomic.Uint32
	chain      MessageCaller   // the interceptors and the client behind them; nil without
	streams    MessageStreamer // likewise, for streams
	dialing    chan struct{}   // holds a token; a lock that waiting for can be given up

	mu     sync.Mutex
	closed bool
	conn   *messageConn // that new calls use; nil if one must be made
	conns  map[*messageConn]struct{}
}

// DialMessages connects to a server of tRPC. network and address are those of
// net.Dial. Of the options those about dialects do not matter. An error is an [*Error]
// of StageDial.
func DialMessages(ctx context.Context, network, address string, opts ...ClientOption) (*MessageClient, error) {
	c := &MessageClient{dialing: make(chan struct{}, 1), conns: map[*messageConn]struct{}{}}
	c.base.opt, c.base.network, c.base.address = defaultClientOptions(), network, address
	for _, o := range opts {
		o.applyClient(&c.base.opt)
	}
	c.last.Store(trpc.FirstStreamID)
	if len(c.base.opt.messageInterceptors) > 0 {
		c.chain = InterceptedMessages(bareMessageClient{c}, c.target(), c.base.opt.messageInterceptors...)
	}
	if len(c.base.opt.messageStreamInterceptors) > 0 {
		c.streams = InterceptedMessageStreams(bareMessageClient{c}, c.target(), c.base.opt.messageStreamInterceptors...).(MessageStreamer)
	}
	if !c.base.opt.packing.Supported() {
		return nil, &Error{Stage: StageDial, Err: fmt.Errorf("messages cannot be compressed by %s", c.base.opt.packing)}
	}
	if _, err := c.connection(ctx); err != nil {
		return nil, &Error{Stage: StageDial, Err: err}
	}
	return c, nil
}

// Close closes the client: calls that wait fail with [ErrClientClosed], as
// later ones do.
func (c *MessageClient) Close() error {
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns, c.conn = nil, nil
	c.mu.Unlock()
	for cc := range conns {
		cc.fail(StageRead, ErrClientClosed)
	}
	return nil
}

// InvokeMessage makes one call.
func (c *MessageClient) InvokeMessage(ctx context.Context, call *MessageCall) error {
	if d := c.base.opt.callTimeout; d > 0 {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, d)
			defer cancel()
		}
	}
	if c.chain != nil {
		return c.chain.InvokeMessage(ctx, call)
	}
	return c.invoke(ctx, call)
}

// invoke makes one call, behind the interceptors.
func (c *MessageClient) invoke(ctx context.Context, call *MessageCall) error {
	if err := ctx.Err(); err != nil {
		return &Error{Stage: StageWait, Method: call.Method, Err: err}
	}
	for {
		cc, err := c.connection(ctx)
		if err != nil {
			return &Error{Stage: StageDial, Method: call.Method, Err: err}
		}
		id := c.nextID()
		request, err := c.encode(ctx, id, call)
		if err != nil {
			return &Error{Stage: StageEncode, Method: call.Method, Err: err}
		}
		p, err := cc.start(id, call.Oneway, request)
		if err != nil {
			return &Error{Stage: StageQueue, Method: call.Method, Err: err}
		}
		if p != nil {
			return cc.wait(ctx, p, call)
		}
	}
}

// nextID returns an id that no call of the last 2³² has, but for those reserved.
func (c *MessageClient) nextID() uint32 {
	id := c.last.Add(1)
	for id < trpc.FirstStreamID {
		id = c.last.Add(1)
	}
	return id
}

// encode returns the frame of a call.
func (c *MessageClient) encode(ctx context.Context, id uint32, call *MessageCall) (*buffer, error) {
	req := trpc.Request{
		Version: trpc.Version, ID: id, ContentType: call.Request.Type, Encoding: c.base.opt.packing,
		AttachmentSize: uint32(len(call.Attachment)), Timeout: uint32(min(remaining(ctx), 1<<32-1)),
	}
	if call.Oneway {
		req.CallType = trpc.CallOneway
	}
	buf := c.base.buffers.get()
	b := trpc.Head{Type: trpc.Unary, ID: id, Version: trpc.Version}.Append(buf.b)
	b = req.AppendTo(b, call.Method, serviceOf(call.Method), requestHeads(ctx, transport.TRPC, new(callRoom)).pairs)
	header := len(b) - trpc.HeadSize
	b, err := c.compressor.Compress(b, call.Request.Body, req.Encoding)
	if err == nil {
		b = append(b, call.Attachment...)
		if limit := trpcLimit(c.base.opt.maxFrame); len(b) > limit {
			err = diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("request of %d bytes exceeds the limit of %d", len(b), limit))
		} else {
			err = trpc.Seal(b, 0, header, 0)
		}
	}
	if err != nil {
		c.base.buffers.put(buf)
		return nil, err
	}
	buf.b = b
	return buf, nil
}

// serviceOf returns the service in "/service/method".
func serviceOf(method string) string {
	if len(method) > 0 && method[0] == '/' {
		method = method[1:]
	}
	service, _, _ := strings.Cut(method, "/")
	return service
}

// read reads the reply of a call.
func (c *MessageClient) read(ctx context.Context, frame []byte, call *MessageCall) error {
	broken := func(err error) error {
		return &Error{Stage: StageDecode, Method: call.Method, Sent: true, Err: err}
	}
	head, err := trpc.ParseHead(frame)
	if err != nil {
		return broken(err)
	}
	end := trpc.HeadSize + int(head.Header)
	var rsp trpc.Response
	if err := rsp.Parse(frame[trpc.HeadSize:end]); err != nil {
		return broken(err)
	}
	if wanted := wantedHeaders(ctx, &form{dialect: transport.TRPC}); wanted != nil {
		h := heads{trans: rsp.TransInfo}
		wanted.set(h.copyOf())
	}
	switch {
	case rsp.Ret != trpc.OK:
		return &StatusError{Code: rsp.Ret, Message: string(rsp.Message)}
	case rsp.FuncRet != 0:
		return &BizStatus{Code: rsp.FuncRet, Message: string(rsp.Message)}
	case uint64(rsp.AttachmentSize) > uint64(len(frame)-end):
		return broken(diag.NewFault(diag.InvalidLength, -1, fmt.Sprintf("an attachment of %d bytes in a frame of %d", rsp.AttachmentSize, len(frame))))
	case call.ReadReply == nil:
		return nil
	}
	at := len(frame) - int(rsp.AttachmentSize)
	body := frame[end:at]
	if rsp.Encoding != trpc.None && len(body) > 0 {
		if body, err = c.compressor.Decompress(nil, body, rsp.Encoding, trpcLimit(c.base.opt.maxFrame)); err != nil {
			return broken(err)
		}
	}
	if err := call.ReadReply(Message{Type: rsp.ContentType, Body: body}, frame[at:]); err != nil {
		return broken(err)
	}
	return nil
}

// connection returns the connection that new calls use and makes one if there is none.
func (c *MessageClient) connection(ctx context.Context) (*messageConn, error) {
	if cc, err := c.current(); cc != nil || err != nil {
		return cc, err
	}
	select {
	case c.dialing <- struct{}{}:
		defer func() { <-c.dialing }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if cc, err := c.current(); cc != nil || err != nil {
		return cc, err // another call has made it
	}
	if d := c.base.opt.dialTimeout; d > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, d)
		defer cancel()
	}
	nc, err := c.base.dialTLS(ctx)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, err
	}
	return c.adopt(nc)
}

// current returns the connection that new calls use, nil if one must be made.
func (c *MessageClient) current() (*messageConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClientClosed
	}
	return c.conn, nil
}

// adopt makes nc the connection that new calls use.
func (c *MessageClient) adopt(nc net.Conn) (*messageConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		nc.Close()
		return nil, ErrClientClosed
	}
	cc := newMessageConn(c, nc)
	c.conn = cc
	c.conns[cc] = struct{}{}
	go cc.read()
	return cc, nil
}

// retire keeps new calls away from cc.
func (c *MessageClient) retire(cc *messageConn, why Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, why)
}

// leave makes the next call use another connection than cc. c.mu is held.
func (c *MessageClient) leave(cc *messageConn, why Loss) {
	if c.conn != cc {
		return
	}
	c.conn = nil
	if c.base.opt.lost != nil {
		go c.base.opt.lost(why) // without the locks that are held here
	}
}

// remove forgets cc, which has ended.
func (c *MessageClient) remove(cc *messageConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, ConnectionFailed)
	delete(c.conns, cc)
}
