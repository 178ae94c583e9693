package rpc

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds what the clients of methods on structs and on messages
// share: making connections, and a call from its encoding to its end. What happens on a
// connection is in clientconn.go.

// clientCore is what both kinds of client are made of.
type clientCore struct {
	opt              clientOptions
	network, address string
	kind             clientKind
	blocks           transport.Pool
	buffers          bufferPool
	calls            sync.Pool     // of *pendingCall
	dialing          chan struct{} // holds a token; a lock that waiting for can be given up

	mu     sync.Mutex
	closed bool
	conn   *clientConn // that new calls use; nil if one must be made
	conns  map[*clientConn]struct{}
}

// clientKind is what a connection leaves to the client that it belongs to.
type clientKind interface {
	// deliver hands a frame to whom it is for, and the block that it is a view of; taken
	// says that the block will be released. An error means that the connection cannot be trusted any more.
	deliver(cc *clientConn, frame []byte, block *transport.Block) (taken bool, err error)
}

// newClientCore returns the core of a client, without a connection.
func newClientCore(kind clientKind, network, address string, opts []ClientOption) clientCore {
	opt := defaultClientOptions()
	for _, o := range opts {
		o.applyClient(&opt)
	}
	return clientCore{
		opt: opt, network: network, address: address, kind: kind,
		dialing: make(chan struct{}, 1), conns: map[*clientConn]struct{}{},
	}
}

// target returns whom the client calls.
func (c *clientCore) target() Target {
	return Target{Service: c.opt.service, Network: c.network, Address: c.address, Dialect: c.opt.form.dialect}
}

// closeConns ends the connections and the calls on them; no more are made.
func (c *clientCore) closeConns() {
	c.mu.Lock()
	c.closed = true
	conns := c.conns
	c.conns, c.conn = nil, nil
	c.mu.Unlock()
	for cc := range conns {
		cc.fail(StageRead, ErrClientClosed)
	}
}

// withTimeout returns ctx with the client's limit of time for a call, unless it has one.
func (c *clientCore) withTimeout(ctx context.Context) (context.Context, context.CancelFunc) {
	if c.opt.callTimeout > 0 {
		if _, ok := ctx.Deadline(); !ok {
			limited := callctx.New(ctx, time.Now().Add(c.opt.callTimeout))
			return limited, limited.Cancel
		}
	}
	return ctx, func() {}
}

// newCall returns the state of a call, perhaps that of one which has ended.
func (c *clientCore) newCall(method string, oneway bool) *pendingCall {
	p, ok := c.calls.Get().(*pendingCall)
	if !ok {
		p = &pendingCall{done: make(chan struct{}, 1)}
	}
	p.method, p.oneway = method, oneway
	return p
}

// recycle gives the state of a call that has ended, or has not begun, to the next one.
func (c *clientCore) recycle(p *pendingCall) {
	c.buffers.put(p.request)
	p.room.clear()
	*p = pendingCall{done: p.done, room: p.room}
	c.calls.Put(p)
}

// roundTrip sends a call that has been encoded and waits for its end. With an
// error the call is no longer the caller's; else it has ended, and must be recycled.
func (c *clientCore) roundTrip(ctx context.Context, p *pendingCall) error {
	method := p.method
	if limited, ok := ctx.(*callctx.Context); ok && !p.oneway { // those end when they are written, and nobody looks after them
		p.limited = limited
		p.due, _ = limited.Limit()
	}
	for {
		cc, err := c.connection(ctx)
		if err != nil {
			c.recycle(p)
			return &Error{Stage: StageDial, Method: method, Err: err}
		}
		started, err := cc.start(p)
		if err != nil {
			c.recycle(p)
			return &Error{Stage: StageQueue, Method: method, Err: err}
		}
		if !started {
			continue
		}
		if sent, err := cc.await(ctx, p); err != nil {
			return &Error{Stage: StageWait, Method: method, Sent: sent, Err: err}
		}
		if !p.moved {
			return nil
		}
		p.moved, p.ended, p.err = false, false, nil
		p.moves++
	}
}

// connection returns the connection that new calls use and makes one if there is none.
func (c *clientCore) connection(ctx context.Context) (*clientConn, error) {
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
func (c *clientCore) current() (*clientConn, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return nil, ErrClientClosed
	}
	return c.conn, nil
}

// adopt makes nc the connection that new calls use.
func (c *clientCore) adopt(nc net.Conn) (*clientConn, error) {
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
func (c *clientCore) retire(cc *clientConn, why Loss) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, why)
}

// leave makes the next call use another connection than cc. c.mu is held.
func (c *clientCore) leave(cc *clientConn, why Loss) {
	if c.conn != cc {
		return
	}
	c.conn = nil
	if c.opt.lost != nil {
		go c.opt.lost(why) // without the locks that are held here
	}
}

// remove forgets cc, which has ended.
func (c *clientCore) remove(cc *clientConn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.leave(cc, ConnectionFailed)
	delete(c.conns, cc)
}
