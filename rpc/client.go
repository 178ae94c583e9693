package rpc

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/thrifthttp"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the Client: one call from its arguments to its result, and
// making connections. What happens on a connection is in clientconn.go.

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
	opt              clientOptions
	network, address string
	blocks           transport.Pool
	buffers          bufferPool
	calls            sync.Pool // of *pendingCall
	transformer      header.Transformer
	seq              atomic.Int32  // of the last call
	chain            Caller        // the interceptors and the client behind them; nil without
	streamChain      Streamer      // likewise, for streams
	dialing          chan struct{} // holds a token; a lock that waiting for can be given up

	// Of HTTP, instead of the connections below.
	http       *thrifthttp.Client
	posts      atomic.Int64       // calls that wait
	posting    context.Context    // of all calls
	endPosting context.CancelFunc // which Close calls

	mu     sync.Mutex
	closed bool
	conn   *clientConn // that new calls use; nil if one must be made
	conns  map[*clientConn]struct{}

	streams clientStreams
}

// Dial connects to a server. network and address are those of net.Dial, such
// as "tcp", "127.0.0.1:9090" or "unix", "/run/shop.sock". The client speaks
// framed binary unless told otherwise. An error is an [*Error] of StageDial.
func Dial(ctx context.Context, network, address string, opts ...ClientOption) (*Client, error) {
	c := &Client{
		opt: defaultClientOptions(), network: network, address: address,
		dialing: make(chan struct{}, 1), conns: map[*clientConn]struct{}{},
	}
	c.streams.dialing = make(chan struct{}, 1)
	for _, o := range opts {
		o.applyClient(&c.opt)
	}
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
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns, c.conn = nil, nil
	c.mu.Unlock()
	for cc := range conns {
		cc.fail(StageRead, ErrClientClosed)
	}
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
	if c.opt.callTimeout > 0 {
		if _, ok := ctx.Deadline(); !ok {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, c.opt.callTimeout)
			defer cancel()
		}
	}
	if c.chain != nil {
		return c.chain.Invoke(ctx, call)
	}
	return c.invoke(ctx, call)
}

// invoke makes one call, behind the interceptors.
func (c *Client) invoke(ctx context.Context, call *Invocation) error {
	if err := ctx.Err(); err != nil {
		return &Error{Stage: StageWait, Method: call.Method, Err: err}
	}
	p := c.newCall(call)
	if call.Service != "" {
		p.name = call.Service + separator + call.Method
	}
	p.wanted = wantedHeaders(ctx, &c.opt.form)
	if err := c.encode(ctx, p); err != nil {
		return &Error{Stage: StageEncode, Method: call.Method, Err: err}
	}
	if c.http != nil {
		return c.post(ctx, p)
	}
	for {
		cc, err := c.connection(ctx)
		if err != nil {
			return &Error{Stage: StageDial, Method: call.Method, Err: err}
		}
		started, err := cc.start(p)
		if err != nil {
			return &Error{Stage: StageQueue, Method: call.Method, Err: err}
		}
		if !started {
			continue
		}
		if err := c.wait(ctx, cc, p); err != errMoved {
			return err
		}
	}
}

// newCall returns the state of a call, perhaps that of one which has ended.
func (c *Client) newCall(call *Invocation) *pendingCall {
	p, ok := c.calls.Get().(*pendingCall)
	if !ok {
		p = &pendingCall{done: make(chan struct{}, 1)}
	}
	p.invocation, p.name = call, call.Method
	return p
}

// errMoved is the result of a call that is to start on another connection.
var errMoved = errors.New("rpc: the call has not been sent")

// wait waits for the end of a call and reads its result. The state of a call that has
// ended goes to the next one.
func (c *Client) wait(ctx context.Context, cc *clientConn, p *pendingCall) error {
	select {
	case <-p.done:
	case <-ctx.Done():
		if sent, abandoned := cc.abandon(p, ctx.Err()); abandoned {
			return &Error{Stage: StageWait, Method: p.invocation.Method, Sent: sent, Err: ctx.Err()}
		}
		<-p.done
	}
	if p.moved {
		p.moved, p.ended, p.err = false, false, nil
		p.moves++
		return errMoved
	}
	err := p.outcome()
	p.room.clear()
	*p = pendingCall{done: p.done, room: p.room}
	c.calls.Put(p)
	return err
}

// outcome returns what a call that has ended came to.
func (p *pendingCall) outcome() error {
	switch {
	case p.err != nil:
		return p.err
	case p.reply == nil: // oneway
		return nil
	}
	p.wanted.set(p.replyHeads)
	return p.result()
}

// result reads the reply of a call.
func (p *pendingCall) result() error {
	defer p.block.Release()
	if p.status != nil {
		return p.status
	}
	reply, err := p.form.toBinary(p.reply)
	if err != nil {
		return &Error{Stage: StageDecode, Method: p.invocation.Method, Sent: true, Err: err}
	}
	if p.replyType == thriftwire.Exception {
		e, err := consumeException(reply)
		if err != nil {
			return &Error{Stage: StageDecode, Method: p.invocation.Method, Sent: true, Err: err}
		}
		e.code = p.code
		return e
	}
	if p.invocation.ReadResult == nil {
		return nil
	}
	if err := p.invocation.ReadResult(withoutVoid(reply)); err != nil {
		return &Error{Stage: StageDecode, Method: p.invocation.Method, Sent: true, Err: err}
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
	p.seq = c.seq.Add(1)
	f := c.opt.form
	f.sequence = uint32(p.seq)
	t := thriftwire.Call
	if p.invocation.Oneway {
		t = thriftwire.Oneway
	} else {
		for f.sequence == header.OnewaySequence || f.sequence == 0 { // which are not for calls that want a reply
			p.seq = c.seq.Add(1)
			f.sequence = uint32(p.seq)
		}
	}
	buf := c.buffers.get()
	heads := requestHeads(ctx, f.dialect, &p.room)
	p.heads = heads.pairs
	b, message := f.begin(buf.b, t, p.name, p.seq, heads)
	b, err := c.appendArgs(b, &f, p.invocation)
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

// connection returns the connection that new calls use and makes one if there is none.
func (c *Client) connection(ctx context.Context) (*clientConn, error) {
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
	if c.opt.dialTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.dialTimeout)
		defer cancel()
	}
	nc, err := c.dialTLS(ctx)
	if err != nil {
		if ctx.Err() != nil && !errors.Is(err, ctx.Err()) {
			err = fmt.Errorf("%w: %w", ctx.Err(), err)
		}
		return nil, err
	}
	return c.adopt(nc)
}

// current returns the connection that new calls use, nil if one must be made.
func (c *Client) current() (*clientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClientClosed
	}
	return c.conn, nil
}

// adopt makes nc the connection that new calls use.
func (c *Client) adopt(nc net.Conn) (*clientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		nc.Close()
		return nil, ErrClientClosed
	}
	cc := newClientConn(c, nc)
	c.conn = cc
	c.conns[cc] = struct{}{}
	go cc.read()
	return cc, nil
}

// retire keeps new calls away from cc.
func (c *Client) retire(cc *clientConn, why Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, why)
}

// leave makes the next call use another connection than cc. c.mu is held.
func (c *Client) leave(cc *clientConn, why Loss) {
	if c.conn != cc {
		return
	}
	c.conn = nil
	if c.opt.lost != nil {
		go c.opt.lost(why) // without the locks that are held here
	}
}

// remove forgets cc, which has ended.
func (c *Client) remove(cc *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, ConnectionFailed)
	delete(c.conns, cc)
}
