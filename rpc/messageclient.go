package rpc

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds the client of methods on messages: a call over tRPC from its
// message to its reply. What happens on a connection is in clientconn.go.

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

// MessageClient is a [MessageCaller] that speaks tRPC, or with the option [GRPC] gRPC, to one address. Any number of
// goroutines share its connection, on which replies come in whatever order. When the connection
// has failed, the next call makes a new one; calls are never repeated. A call whose context ends
// returns at once; as in [Client] the connection is closed if no other call waits on it, or if
// the server has been silent for all of the call's time.
type MessageClient struct {
	clientCore
	compressor trpc.Compressor
	last       atomic.Uint32
	chain      MessageCaller   // the interceptors and the client behind them; nil without
	streams    MessageStreamer // likewise, for streams
	grpc       *grpcClient     // that makes the calls instead, with the option GRPC
}

// DialMessages connects to a server of tRPC, or of gRPC with the option [GRPC]. network and address are those of
// net.Dial. Of the options those about other dialects do not matter. An error is an [*Error]
// of StageDial.
func DialMessages(ctx context.Context, network, address string, opts ...ClientOption) (*MessageClient, error) {
	c := &MessageClient{}
	c.clientCore = newClientCore(c, network, address, opts)
	if c.opt.form.dialect == transport.GRPC {
		c.grpc = newGRPCClient(&c.clientCore)
	} else {
		c.opt.form = form{dialect: transport.TRPC}
	}
	c.last.Store(trpc.FirstStreamID)
	if len(c.opt.messageInterceptors) > 0 {
		c.chain = InterceptedMessages(bareMessageClient{c}, c.target(), c.opt.messageInterceptors...)
	}
	if len(c.opt.messageStreamInterceptors) > 0 {
		c.streams = InterceptedMessageStreams(bareMessageClient{c}, c.target(), c.opt.messageStreamInterceptors...).(MessageStreamer)
	}
	if p := c.opt.packing; !p.Supported() || c.grpc != nil && p != trpc.None && p != trpc.Gzip {
		return nil, &Error{Stage: StageDial, Err: fmt.Errorf("messages cannot be compressed by %s", p)}
	}
	if c.grpc != nil {
		return c, nil
	}
	if _, err := c.connection(ctx); err != nil {
		return nil, &Error{Stage: StageDial, Err: err}
	}
	return c, nil
}

// Dialect returns what the client speaks.
func (c *MessageClient) Dialect() transport.Dialect { return c.opt.form.dialect }

// Close closes the client: calls that wait fail with [ErrClientClosed], as
// later ones do.
func (c *MessageClient) Close() error {
	c.closeConns()
	if c.grpc != nil {
		c.grpc.close()
	}
	return nil
}

// InvokeMessage makes one call.
func (c *MessageClient) InvokeMessage(ctx context.Context, call *MessageCall) error {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	if c.chain != nil {
		return c.chain.InvokeMessage(delayed(ctx), call)
	}
	return c.invoke(ctx, call)
}

// invoke makes one call, behind the interceptors.
func (c *MessageClient) invoke(ctx context.Context, call *MessageCall) error {
	if err := beginError(ctx); err != nil {
		return &Error{Stage: StageWait, Method: call.Method, Err: err}
	}
	if c.grpc != nil {
		return c.grpc.invoke(ctx, call)
	}
	p := c.newCall(call.Method, call.Oneway)
	if err := c.encode(ctx, p, call); err != nil {
		c.recycle(p)
		return &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	if err := c.roundTrip(ctx, p); err != nil {
		return err
	}
	err := c.outcome(ctx, p, call)
	c.recycle(p)
	return err
}

// nextID returns an id that no call of the last 2³² has, but for those reserved.
func (c *MessageClient) nextID() uint32 {
	id := c.last.Add(1)
	for id < trpc.FirstStreamID {
		id = c.last.Add(1)
	}
	return id
}

// encode encodes the request of a call.
func (c *MessageClient) encode(ctx context.Context, p *pendingCall, call *MessageCall) error {
	p.id = c.nextID()
	req := trpc.Request{
		Version: trpc.Version, ID: p.id, ContentType: call.Request.Type, Encoding: c.opt.packing,
		AttachmentSize: uint32(len(call.Attachment)), Timeout: uint32(min(remaining(ctx), 1<<32-1)),
	}
	if call.Oneway {
		req.CallType = trpc.CallOneway
	}
	buf := c.buffers.get()
	b := trpc.Head{Type: trpc.Unary, ID: p.id, Version: trpc.Version}.Append(buf.b)
	b = req.AppendTo(b, call.Method, serviceOf(call.Method), requestHeads(ctx, transport.TRPC, &p.room).pairs)
	header := len(b) - trpc.HeadSize
	b, err := c.compressor.Compress(b, call.Request.Body, req.Encoding)
	if err == nil {
		b = append(b, call.Attachment...)
		if limit := trpcLimit(c.opt.maxFrame); len(b) > limit {
			err = diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("request of %d bytes exceeds the limit of %d", len(b), limit))
		} else {
			err = trpc.Seal(b, 0, header, 0)
		}
	}
	if err != nil {
		c.buffers.put(buf)
		return err
	}
	buf.b, p.request = b, buf
	return nil
}

// serviceOf returns the service in "/service/method".
func serviceOf(method string) string {
	if len(method) > 0 && method[0] == '/' {
		method = method[1:]
	}
	service, _, _ := strings.Cut(method, "/")
	return service
}

// deliver hands a reply to the call that waits for it, or a frame to its stream.
func (c *MessageClient) deliver(cc *clientConn, frame []byte, block *transport.Block) (taken bool, err error) {
	switch t := trpc.FrameType(frame[2]); t {
	case trpc.Unary:
	case trpc.Stream:
		return cc.deliverStream(frame, block)
	default:
		return false, diag.NewFault(diag.InvalidHeader, 2, fmt.Sprintf("a frame of type %d, which nobody waits for", t))
	}
	id := binary.BigEndian.Uint32(frame[10:])
	cc.mu.Lock()
	defer cc.mu.Unlock()
	p := cc.pending[id]
	if p == nil || !p.sending {
		return false, diag.NewFault(diag.InvalidHeader, 10, fmt.Sprintf("a reply to call %d, which there is not", id))
	}
	delete(cc.pending, id)
	if p.abandoned {
		return false, nil
	}
	p.reply, p.block = frame, block
	cc.end(p, nil)
	return true, nil
}

// outcome reads the reply of a call that has ended, if it has one.
func (c *MessageClient) outcome(ctx context.Context, p *pendingCall, call *MessageCall) error {
	switch {
	case p.err != nil:
		return p.err
	case p.reply == nil: // oneway
		return nil
	}
	defer p.block.Release()
	return c.read(ctx, p.reply, call)
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
		if body, err = c.compressor.Decompress(nil, body, rsp.Encoding, c.opt.unpacked(trpcLimit(c.opt.maxFrame))); err != nil {
			return broken(err)
		}
	}
	if err := call.ReadReply(Message{Type: rsp.ContentType, Body: body}, frame[at:]); err != nil {
		return broken(err)
	}
	return nil
}
