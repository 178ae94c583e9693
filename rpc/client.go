package rpc

import (
	"bytes"
	"context"
	"fmt"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the Client: one call from its arguments to its result. What
// all clients share is in clientcore.go, what happens on a connection in clientconn.go.

// Client is a [Caller] for one address. Any number of goroutines share its
// connection: requests are sent without waiting for earlier replies, and
// replies are matched to calls by sequence id, in whatever order they come.
//
// When the connection has failed, or the server has said that it leaves, the
// next call makes a new one, as those do that have not been sent; calls are never repeated. A call whose context ends returns at once and leaves the
// others alone; when no other call waits, the connection is closed, so that
// the server learns of it. When a deadline passes without a byte from the
// server since the call was sent, new calls use a new connection.
type Client struct {
	clientCore
	transformer header.Transformer
	seq         atomic.Int32 // of the last call
	chain       Caller       // the interceptors and the client behind them; nil without
	streamChain Streamer     // likewise, for streams

	// Of HTTP, instead of the connections of clientCore.
	http       *thrifthttp.Client
	posts      atomic.Int64       // calls that wait
	posting    context.Context    // of all calls
	endPosting context.CancelFunc // which Close calls

	streams clientStreams
}

// Dial connects to a server. network and address are those of net.Dial, such
// as "tcp", "127.0.0.1:9090" or "unix", "/run/shop.sock". The client speaks
// framed binary unless told otherwise. An error is an [*Error] of StageDial.
func Dial(ctx context.Context, network, address string, opts ...ClientOption) (*Client, error) {
	c := &Client{}
	c.clientCore = newClientCore(c, network, address, opts)
	c.streams.dialing = make(chan struct{}, 1)
	if err := c.opt.form.check(); err != nil {
		return nil, &Error{Stage: StageDial, Err: err}
	}
	if len(c.opt.interceptors) > 0 {
		c.chain = Intercepted(bareClient{c}, c.target(), c.opt.interceptors...)
	}
	if len(c.opt.streamInterceptors) > 0 {
		c.streamChain = InterceptedStreams(bareClient{c}, c.target(), c.opt.streamInterceptors...).(Streamer)
	}
	if c.opt.form.dialect == transport.HTTP {
		if err := c.newHTTP(); err != nil {
			return nil, &Error{Stage: StageDial, Err: err}
		}
		return c, nil
	}
	if _, err := c.connection(ctx); err != nil {
		return nil, &Error{Stage: StageDial, Err: err}
	}
	return c, nil
}

// Dialect returns what the client speaks.
func (c *Client) Dialect() transport.Dialect { return c.opt.form.dialect }

// Close closes the client: calls that wait fail with [ErrClientClosed], as
// later ones do.
func (c *Client) Close() error {
	c.closeConns()
	c.streams.close()
	if c.http != nil {
		c.endPosting()
		c.http.Close()
	}
	return nil
}

// Invoke makes one call. Errors are an [*ApplicationException] that the
// server sent, a [*BizStatus] or an [*Error].
func (c *Client) Invoke(ctx context.Context, call *Invocation) error {
	ctx, cancel := c.withTimeout(ctx)
	defer cancel()
	if c.chain != nil {
		return c.chain.Invoke(delayed(ctx), call)
	}
	return c.invoke(ctx, call)
}

// invoke makes one call, behind the interceptors.
func (c *Client) invoke(ctx context.Context, call *Invocation) error {
	if err := beginError(ctx); err != nil {
		return &Error{Stage: StageWait, Method: call.Method, Err: err}
	}
	p := c.newCall(call.Method, call.Oneway)
	t := &p.thrift
	t.invocation, t.name = call, call.Method
	if call.Service != "" {
		t.name = call.Service + separator + call.Method
	}
	t.wanted = wantedHeaders(ctx, &c.opt.form)
	if err := c.encode(ctx, p); err != nil {
		c.recycle(p)
		return &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	if c.http != nil {
		return c.post(ctx, p)
	}
	if err := c.roundTrip(ctx, p); err != nil {
		return err
	}
	err := p.outcome()
	c.recycle(p)
	return err
}

// thriftCall is what a call of a method on structs has beside what every call has.
type thriftCall struct {
	invocation *Invocation
	name       string           // as sent
	heads      []transport.Pair // that HTTP has beside the message
	wanted     *ReplyHeaders    // where the caller wants the headers of the reply, nil for nowhere

	replyType  thriftwire.MessageType
	form       form       // of the reply, which is in its protocol
	status     *BizStatus // that the reply carries, nil for none
	code       string     // that an exception came with, empty for none
	replyHeads *metadata  // if they are wanted
}

// outcome returns what a call that has ended came to.
func (p *pendingCall) outcome() error {
	switch {
	case p.err != nil:
		return p.err
	case p.reply == nil: // oneway
		return nil
	}
	p.thrift.wanted.set(p.thrift.replyHeads)
	return p.result()
}

// result reads the reply of a call.
func (p *pendingCall) result() error {
	defer p.block.Release()
	t := &p.thrift
	if t.status != nil {
		return t.status
	}
	reply, err := t.form.toBinary(p.reply)
	if err != nil {
		return &Error{Stage: StageDecode, Method: p.method, Sent: true, Err: err}
	}
	if t.replyType == thriftwire.Exception {
		e, err := consumeException(reply)
		if err != nil {
			return &Error{Stage: StageDecode, Method: p.method, Sent: true, Err: err}
		}
		e.code = t.code
		return e
	}
	if t.invocation.ReadResult == nil {
		return nil
	}
	if err := t.invocation.ReadResult(withoutVoid(reply)); err != nil {
		return &Error{Stage: StageDecode, Method: p.method, Sent: true, Err: err}
	}
	return nil
}

// withoutVoid returns a result struct without a field 0 of the type void at its
// front, which has no value and no place in messages: the generic servers of Kitex
// answer with it from methods that return nothing.
func withoutVoid(b []byte) []byte { return bytes.TrimPrefix(b, []byte{1, 0, 0}) }

// encode encodes the request of a call with a sequence id that no call of the
// last 2³² has.
func (c *Client) encode(ctx context.Context, p *pendingCall) error {
	seq := c.seq.Add(1)
	f := c.opt.form
	t := thriftwire.Call
	if p.oneway {
		t = thriftwire.Oneway
	} else {
		for uint32(seq) == header.OnewaySequence || seq == 0 { // which are not for calls that want a reply
			seq = c.seq.Add(1)
		}
	}
	p.id, f.sequence = uint32(seq), uint32(seq)
	heads := requestHeads(ctx, f.dialect, &p.room)
	p.thrift.heads = heads.pairs
	if err := f.checkRoom(heads); err != nil {
		return err
	}
	buf := c.buffers.get()
	b, message := f.begin(buf.b, t, p.thrift.name, seq, heads)
	b, err := c.appendArgs(b, &f, p.thrift.invocation)
	if size := len(b) - message; err == nil && size > c.opt.maxFrame {
		err = diag.NewFault(diag.SizeLimit, -1, fmt.Sprintf("request of %d bytes exceeds the limit of %d", size, c.opt.maxFrame))
	}
	if err == nil {
		b, err = f.finish(b, message, 0, &c.transformer)
	}
	if err != nil {
		c.buffers.put(buf)
		return err
	}
	buf.b, p.request = b, buf
	return nil
}

// appendArgs appends the arguments of a call in the protocol of f.
func (c *Client) appendArgs(b []byte, f *form, call *Invocation) ([]byte, error) {
	if call.AppendArgs == nil {
		return append(b, byte(thriftwire.Stop)), nil // in either protocol
	}
	if f.protocol == 0 {
		return appendSome(b, call)
	}
	scratch := c.buffers.get()
	defer c.buffers.put(scratch)
	args, err := appendSome(scratch.b, call)
	if err != nil {
		return b, err
	}
	scratch.b = args
	return f.appendStruct(b, args)
}

// appendSome appends the arguments of a call, which are never nothing.
func appendSome(b []byte, call *Invocation) ([]byte, error) {
	out, err := call.AppendArgs(b)
	if err == nil && len(out) <= len(b) {
		err = diag.NewFault(diag.InvalidValue, -1, "AppendArgs appended nothing")
	}
	return out, err
}
