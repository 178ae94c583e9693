package rpc

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/thrum-rpc/thrum/codec"
)

// This file holds how callbacks and futures answer.

// Responder answers one call, once, from any goroutine. It is a small value
// that may be copied, and kept after the call has been answered.
//
// All of its methods that answer report whether they did: false means that
// the call had its answer, because it was given twice, which the server logs and
// counts, or because the call has expired. Whether the client is still there is not known; when it is seen to go, the
// context of the call ends. The arguments of the call, which are a view of the network's buffers, are valid until it has its answer.
//
// A call that nobody answers is answered with Timeout when it expires ([TaskExpiry], [Method].Expiry), and counted as
// unanswered. One that never expires keeps its place among the calls in flight until it is answered, and so its connection,
// also when its client has gone: a client that only sends no more cannot be told from that.
type Responder struct {
	conn       *serverConn
	call       *serverCall
	generation uint64
}

// Context returns the context of the call, as a plain handler would get it: as
// interceptors have made it. It has ended if the call has been answered.
func (r Responder) Context() context.Context {
	if x := r.conn.contextOf(r.call, r.generation); x != nil {
		x.mu.Lock()
		defer x.mu.Unlock()
		if x.extras != nil && x.extras.inner != nil {
			return x.extras.inner
		}
		return x
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	return ctx
}

// Reply answers with a result struct in the binary protocol, which it copies.
func (r Responder) Reply(result []byte) bool {
	return r.ReplyFunc(func(dst []byte) ([]byte, error) { return append(dst, result...), nil })
}

// ReplyFunc answers with the result struct that appendResult appends in the
// binary protocol. It is called once, before ReplyFunc returns; its error is
// answered as a plain handler's.
func (r Responder) ReplyFunc(appendResult func(dst []byte) ([]byte, error)) bool {
	return r.reply(func(f *form, out *result) error {
		return f.appendResult(r.call.name, out, appendResult)
	})
}

// ReplyViews answers with a result struct that stands in pieces. Pieces that
// are long are sent from where they are: they must never change, or be views of the call's
// arguments, which are then kept until they are sent.
func (r Responder) ReplyViews(pieces ...[]byte) bool {
	return r.reply(func(f *form, out *result) error {
		if f.protocol != 0 {
			return f.appendResult(r.call.name, out, func(dst []byte) ([]byte, error) {
				for _, p := range pieces {
					dst = append(dst, p...)
				}
				return dst, nil
			})
		}
		for _, p := range pieces {
			if len(p) >= out.room {
				out.cuts = append(out.cuts, codec.Cut{Offset: len(out.b), Data: p})
			} else {
				out.b = append(out.b, p...)
			}
		}
		return nil
	})
}

// Done answers a oneway call, or a call whose result is an empty struct.
func (r Responder) Done() bool { return r.Reply(emptyStruct) }

// emptyStruct is a struct without fields in the binary protocol, and in the compact one.
var emptyStruct = []byte{0}

// Fail answers with an error, as a plain handler that returns it.
func (r Responder) Fail(err error) bool {
	if err == nil {
		err = errors.New("the handler failed without an error")
	}
	return r.reply(func(*form, *result) error { return err })
}

// reply answers with the result that appendResult appends in the form's protocol.
func (r Responder) reply(appendResult func(*form, *result) error) bool {
	call, c := r.call, r.conn
	if !call.claim(r.generation, claimed) {
		r.second()
		return false
	}
	ctx := call.ctx.Load()
	returned := false
	defer func() {
		if !returned { // what appends the result has ended the goroutine
			failure := c.failure(call, errHandlerExit)
			c.complete(call, &failure)
		}
	}()
	var out reply
	err := c.encodeGuarded(call, ctx, &out, appendResult)
	returned = true
	if ctx != nil {
		ctx.finish(err)
	}
	if err != nil {
		out = c.failure(call, err)
	}
	c.complete(call, &out)
	return true
}

// encodeGuarded makes out the reply with the result that appendResult appends. A
// panic becomes an error.
func (c *serverConn) encodeGuarded(call *serverCall, ctx *callContext, out *reply, appendResult func(*form, *result) error) (err error) {
	defer func() {
		if p := recover(); p != nil {
			*out, err = reply{}, c.panicked(call.method, p)
		}
	}()
	if call.oneway {
		r := result{room: cutSize}
		err := appendResult(&call.form, &r)
		r.message.release()
		return err
	}
	return c.encode(call, ctx, out, func(r *result) error { return appendResult(&call.form, r) })
}

// second notes that a call is answered again, unless it has expired meanwhile.
func (r Responder) second() {
	if r.call.state.Load() == r.generation<<generationBits|claimed|expired {
		return
	}
	s := r.conn.srv
	s.counts.secondReplies.Add(1)
	s.opt.logger.Error("rpc: a call was answered twice", "remote", r.conn.remote, "stack", string(debug.Stack()))
}
