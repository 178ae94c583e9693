package rpc

import (
	"context"
	"time"

	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
)

// This file holds how a call waits for its end, and how it is given up: by its
// caller when a context of package context's ends, else by the connection, which looks after the
// deadlines of all calls with one timer.

// await waits for the end of a call. An error is why the call has been left
// to itself; sent says whether the server may have received it.
func (cc *clientConn) await(ctx context.Context, p *pendingCall) (sent bool, err error) {
	if p.limited == nil {
		return cc.awaitDone(ctx, p)
	}
	p.conn = cc
	watched, err := p.limited.Watch(p)
	switch {
	case err != nil:
		p.Interrupt(err)
	case !watched:
		return cc.awaitDone(p.limited, p)
	}
	sent, err = cc.awaitDone(p.limited.Parent(), p)
	if watched {
		p.limited.Unwatch()
	}
	return sent, err
}

// awaitDone is await for a context that is asked for its channel.
func (cc *clientConn) awaitDone(ctx context.Context, p *pendingCall) (sent bool, err error) {
	select {
	case <-p.done:
	case <-ctx.Done():
		if sent, abandoned := cc.abandon(p, ctx.Err()); abandoned {
			return sent, ctx.Err()
		}
		<-p.done
	}
	if p.abandoned { // by the connection
		return p.sending, p.err
	}
	return true, nil
}

var _ callctx.Waiter = (*pendingCall)(nil)

// Interrupt gives the call up, if it has not ended.
func (p *pendingCall) Interrupt(err error) {
	p.conn.mu.Lock()
	defer p.conn.mu.Unlock()
	p.conn.interrupt(p, err)
}

// interrupt gives p up for its caller, who waits for the token. cc.mu is held.
func (cc *clientConn) interrupt(p *pendingCall, why error) {
	if _, abandoned := cc.giveUp(p, why); abandoned {
		p.ended, p.err = true, why
		p.done <- struct{}{}
	}
}

// sweepPause is the least time between two sweeps, and sweepShare bounds the part of the
// time that they take where very many calls wait.
const (
	sweepPause = time.Millisecond
	sweepShare = 16
)

// sweepBy sees to it that the calls are swept when due has come. cc.mu is held.
func (cc *clientConn) sweepBy(due time.Time) {
	if !cc.sweepAt.IsZero() && !due.Before(cc.sweepAt) {
		return
	}
	cc.sweepAt = due
	if cc.sweeper == nil {
		cc.sweeper = time.AfterFunc(time.Until(due), cc.sweep)
	} else {
		cc.sweeper.Reset(time.Until(due))
	}
}

// sweep gives up the calls that are due.
func (cc *clientConn) sweep() {
	cc.mu.Lock()
	defer cc.mu.Unlock()
	cc.sweepAt = time.Time{}
	if cc.err != nil {
		return
	}
	now := time.Now()
	var next time.Time
	for _, p := range cc.pending {
		switch {
		case p.due.IsZero() || p.ended || p.abandoned:
		case !now.Before(p.due):
			cc.interrupt(p, context.DeadlineExceeded)
		case next.IsZero() || p.due.Before(next):
			next = p.due
		}
	}
	if next.IsZero() {
		return
	}
	end := time.Now()
	if soonest := end.Add(max(sweepPause, sweepShare*end.Sub(now))); next.Before(soonest) {
		next = soonest
	}
	cc.sweepBy(next)
}

// beginError returns why a call cannot begin, nil if it can. The limit of a client of
// ours is not over yet, or is noticed while the call waits.
func beginError(ctx context.Context) error {
	if limited, ok := ctx.(*callctx.Context); ok {
		return limited.Canceled()
	}
	return ctx.Err()
}

// delayed tells ctx that time may pass before the call begins.
func delayed(ctx context.Context) context.Context {
	if limited, ok := ctx.(*callctx.Context); ok {
		limited.SetNow(time.Time{})
	}
	return ctx
}
