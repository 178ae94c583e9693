package rpc

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime/debug"
	"sync"

	"github.com/thrum-rpc/thrum/codec"
	"github.com/thrum-rpc/thrum/rpc/internal/workers"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

// This file holds how a call is run: on its connection's loop or by a worker,
// and in which of the forms that its method has.

// dispatch refuses a call, runs it inline or hands it to the workers.
func (c *serverConn) dispatch(call *serverCall, refused refusal) {
	switch {
	case refused.cause != 0:
		c.refuseCall(call, refused)
	case call.method.form == formCallback:
		c.runCallback(call)
	case c.srv.opt.maxConcurrent > 0 && !c.mayRun(call):
	default:
		c.enqueue(call)
	}
}

// refuseCall answers a call with the reason why it is not served.
func (c *serverConn) refuseCall(call *serverCall, r refusal) {
	if call.claim(call.generation(), claimed) {
		c.srv.counts.refused[r.cause].Add(1)
		var out reply
		if !call.oneway {
			out = c.refusalReply(call, r)
		}
		c.complete(call, &out)
	} else {
		c.handled(call)
	}
}

// mayRun reports whether a call may run beside those of its connection that
// run, and lets it wait if not.
func (c *serverConn) mayRun(call *serverCall) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.running < c.srv.opt.maxConcurrent {
		c.running++
		call.withWorker = true
		return true
	}
	c.waiting = append(c.waiting, call)
	return false
}

// enqueue puts a call into the batch that goes to the workers at the end of the turn.
func (c *serverConn) enqueue(call *serverCall) {
	if call.priority != c.batched || c.batch != nil && len(c.batch.tasks) == maxBatch {
		c.submit()
		c.batched = call.priority
	}
	if c.batch == nil {
		c.batch = c.srv.batches.get()
	}
	c.batch.tasks = append(c.batch.tasks, call)
}

// maxBatch is the number of calls that are handed to the workers at once.
const maxBatch = 128

// batch are calls that are handed to the workers together.
type batch struct{ tasks []workers.Task }

// batchPool holds batches that are not in use, so that what waits for calls holds none. The
// zero value is ready.
type batchPool struct{ batches sync.Pool }

func (p *batchPool) get() *batch {
	if b, ok := p.batches.Get().(*batch); ok {
		return b
	}
	return new(batch)
}

func (p *batchPool) put(b *batch) {
	clear(b.tasks)
	b.tasks = b.tasks[:0]
	p.batches.Put(b)
}

// submit hands the batch to the workers, and refuses what their queue does not take.
func (c *serverConn) submit() {
	b := c.batch
	if b == nil {
		return
	}
	c.batch = nil
	taken := c.srv.pool.Submit(int(c.batched)-1, b.tasks...)
	for _, task := range b.tasks[taken:] {
		c.refuseTask(task.(*serverCall))
	}
	c.srv.batches.put(b)
}

// refuseTask refuses a call that the workers do not take.
func (c *serverConn) refuseTask(call *serverCall) {
	cause := RefusedQueueFull
	if c.srv.stopping.Load() {
		cause = RefusedStopping
	}
	c.mu.Lock()
	call.admitted = false // it is not served after all
	c.mu.Unlock()
	c.refuseCall(call, refusal{cause: cause})
}

// runCallback runs a call on the connection's loop. The handler has ended
// when the call is answered, whether it has returned or not.
func (c *serverConn) runCallback(call *serverCall) {
	r, m := Responder{c, call, call.generation()}, call.method
	returned := false
	defer func() {
		if !returned {
			c.brokeOff(m, r, recover())
		}
	}()
	c.callback(call, m, r)
	returned = true
}

// callback asks the interceptors and calls the handler.
func (c *serverConn) callback(call *serverCall, m *Method, r Responder) {
	p, b := call.form.protocol, call.args
	if len(c.srv.opt.interceptors) > 0 {
		if x := c.contextOf(call, r.generation); x != nil {
			if _, err := c.srv.intercept(x); err != nil {
				r.Fail(err)
				return
			}
		}
	}
	if m.MessageCallback != nil {
		m.MessageCallback(Message{Type: call.form.trpc.content, Body: b}, MessageResponder{r})
	} else if m.typed.callback != nil {
		m.typed.callback(p, b, r)
	} else if args, ok := binaryArgs(m, p, b, r); ok {
		m.Callback(args, r)
	}
}

// brokeOff answers a call whose handler has panicked with p, or has ended its
// goroutine by runtime.Goexit if p is nil.
func (c *serverConn) brokeOff(m *Method, r Responder, p any) {
	if p == nil {
		r.Fail(errHandlerExit)
		return
	}
	r.Fail(c.panicked(m, p))
}

// errHandlerExit is the error of a handler that called runtime.Goexit.
var errHandlerExit = &ApplicationException{Type: InternalError, Message: "the handler ended its goroutine"}

// binaryArgs returns the arguments in the binary protocol, or answers why it cannot.
func binaryArgs(m *Method, p compact.Dialect, b []byte, r Responder) ([]byte, bool) {
	f := form{protocol: p}
	args, err := f.toBinary(b)
	if err != nil {
		r.Fail(brokenArgs(m, err))
	}
	return args, err == nil
}

func brokenArgs(m *Method, err error) error {
	return exceptionf(ProtocolError, "the arguments of %s: %v", m.Name, err)
}

var _ workers.Task = (*serverCall)(nil)

// Run runs the call on a worker.
func (call *serverCall) Run() {
	c, s := call.conn, call.conn.srv
	if call.answered() { // it has expired in the queue
		c.handled(call)
		return
	}
	if c.clogged.Load() && c.mustWait(call) {
		return
	}
	if cause := s.late(call, s.clock()); cause != 0 {
		c.refuseCall(call, refusal{cause: cause})
		return
	}
	generation := call.generation()
	ctx := c.workerContext(call, generation)
	if !call.open(generation) { // it has just expired
		c.handled(call)
		return
	}
	if call.method.form == formFuture {
		ctx.mu.Lock()
		ctx.begun = true
		ctx.mu.Unlock()
		c.runFuture(ctx, call)
		return
	}
	returned := false
	defer func() {
		if !returned { // the handler ended the goroutine by runtime.Goexit
			c.answer(ctx, call, reply{}, errHandlerExit)
		}
	}()
	out, err := c.serve(ctx, call)
	returned = true
	c.answer(ctx, call, out, err)
}

// runFuture runs a handler that answers later. It has ended when it does.
func (c *serverConn) runFuture(ctx *callContext, call *serverCall) {
	// When the handler returns, the call may be another one.
	r, m := Responder{c, call, ctx.generation}, call.method
	p, b := call.form.protocol, call.args
	returned := false
	defer func() {
		if !returned {
			c.brokeOff(m, r, recover())
		}
	}()
	c.future(ctx, m, p, b, r)
	returned = true
}

// future asks the interceptors and calls the handler.
func (c *serverConn) future(ctx *callContext, m *Method, p compact.Dialect, b []byte, r Responder) {
	inner, err := c.srv.intercept(ctx)
	if err != nil {
		r.Fail(err)
		return
	}
	if m.typed.future != nil {
		m.typed.future(inner, p, b, r)
	} else if args, ok := binaryArgs(m, p, b, r); ok {
		m.Future(inner, args, r)
	}
}

// answer answers a call whose handler has returned.
func (c *serverConn) answer(ctx *callContext, call *serverCall, out reply, err error) {
	if !call.claim(ctx.generation, claimed) { // it has expired
		c.srv.discard(&out)
		c.handled(call)
		return
	}
	ctx.finish(err)
	if err != nil {
		out = c.failure(call, err)
	}
	c.complete(call, &out)
}

// serve runs a plain handler and returns the reply with its result. A panic
// becomes an error.
func (c *serverConn) serve(ctx *callContext, call *serverCall) (out reply, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = c.panicked(call.method, p)
		}
	}()
	m := call.method
	inner, err := c.srv.intercept(ctx)
	if err != nil {
		return reply{}, err
	}
	if call.oneway {
		scratch := c.srv.buffers.get()
		r := result{b: scratch.b}
		err := m.run(inner, call, &r)
		r.message.release()
		c.srv.buffers.put(scratch)
		return reply{}, err
	}
	err = c.encode(call, ctx, &out, func(r *result) error { return m.run(inner, call, r) })
	return out, err
}

// result is where a handler puts its result struct: behind b, and for what is
// large, beside it.
type result struct {
	b    []byte
	cuts []codec.Cut
	room int // bytes from which on a string or binary may be a cut

	message Message // of a method on messages, instead of all these
}

// run runs a plain handler in the protocol of the call.
func (m *Method) run(ctx context.Context, call *serverCall, r *result) (err error) {
	if m.Message != nil {
		r.message, err = m.Message(ctx, Message{Type: call.form.trpc.content, Body: call.args})
		return err
	}
	if m.typed.plain != nil {
		return m.typed.plain(ctx, call.form.protocol, call.args, r)
	}
	args, err := call.form.toBinary(call.args)
	if err != nil {
		return brokenArgs(m, err)
	}
	return call.form.appendResult(m.Name, r, func(dst []byte) ([]byte, error) { return m.Serve(ctx, args, dst) })
}

// appendResult appends what a handler appends in the binary protocol, in the
// form's protocol.
func (f *form) appendResult(method string, r *result, serve func(dst []byte) ([]byte, error)) error {
	dst := r.b
	if f.protocol != 0 {
		dst = nil
	}
	out, err := serve(dst)
	switch {
	case err != nil:
		return err
	case len(out) < len(dst):
		return fmt.Errorf("the handler of %s dropped what it was to append to", method)
	case f.protocol == 0:
		r.b = out
		return nil
	}
	if r.b, err = f.appendStruct(r.b, out); err != nil {
		return fmt.Errorf("the result of %s cannot be written in the compact protocol: %w", method, err)
	}
	return nil
}

// panicked logs a handler's panic and returns what the client is told.
func (c *serverConn) panicked(m *Method, p any) error {
	c.srv.counts.panics.Add(1)
	c.log(slog.LevelError, "rpc: handler panicked", fmt.Errorf("%s: %v\n%s", m.Name, p, debug.Stack()))
	return exceptionf(InternalError, "panic in %s", m.Name) // the value may hold secrets
}

// failure returns the reply that tells the client of a handler's error. An
// error that holds a nil pointer is no rare mistake, and its methods panic.
func (c *serverConn) failure(call *serverCall, err error) (out reply) {
	defer func() {
		if p := recover(); p != nil {
			out = c.exceptionReply(call, exceptionf(InternalError, "an error of type %T without a message", err), exHandler, nil)
		}
	}()
	if call.oneway {
		c.log(slog.LevelDebug, "rpc: oneway call failed", fmt.Errorf("%s: %w", call.name, err))
		return reply{}
	}
	if limit := cmp.Or(call.due, call.given); errors.Is(err, context.DeadlineExceeded) && limit > 0 && c.srv.clock() >= limit {
		return c.refusalReply(call, refusal{cause: RefusedExpired})
	}
	return c.errorReply(call, err)
}
