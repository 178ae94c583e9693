package rpc

import (
	"context"
	"crypto/tls"
	"net"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds the context that a handler gets, and what it says of its call.

// callContext is the context of a call. Each call on a worker makes one, which its handler may
// keep: so it is small, and makes a channel, or the rest, only if somebody
// asks for it, because most handlers never do.
type callContext struct {
	conn       *serverConn
	call       *serverCall // which may be another one's if its generation is not ours
	generation uint64
	method     *Method
	due        int64 // on the server's clock; 0 for none
	priority   Priority
	dialect    transport.Dialect

	begun    bool // the handler of a future has been started
	finished bool // answered, and interceptors told
	closed   bool // the reply has been encoded
	mu       sync.Mutex
	done     chan struct{}
	err      error
	extras   *callExtras // nil for none
}

// callExtras are what few calls have. They are guarded by the context's mutex.
type callExtras struct {
	after    map[*func()]struct{} // to be called when it ends
	ended    []func(error)        // of interceptors
	outcome  error                // the handler's, once finished
	in       *metadata            // read from the call's headers when first asked for
	out      []transport.Pair     // to be sent with the reply
	inner    context.Context      // that interceptors made for the handler; nil if there are none
	declared int16                // the field of the declared exception in the reply, 0 for none

	attachment []byte         // of the reply, over tRPC
	stream     *stream.Stream // nil for a call; set before anybody has the context
}

// extra returns the extras, which it makes if there are none. x.mu is held.
func (x *callContext) extra() *callExtras {
	if x.extras == nil {
		x.extras = new(callExtras)
	}
	return x.extras
}

// contextOf returns the context of the call of that generation, or nil if it
// has its answer.
func (c *serverConn) contextOf(call *serverCall, generation uint64) *callContext {
	c.mu.Lock() // so that the call stays what it is, and nobody else makes it one
	defer c.mu.Unlock()
	if !call.open(generation) {
		return nil
	}
	return c.workerContext(call, generation)
}

// workerContext is contextOf for the worker that is to run the call, before anybody else can ask. The
// call may have got its answer meanwhile; its context has ended then.
func (c *serverConn) workerContext(call *serverCall, generation uint64) *callContext {
	if known := call.ctx.Load(); known != nil {
		return known
	}
	x := &callContext{
		conn: c, call: call, generation: generation,
		method: call.method, priority: call.priority, dialect: call.form.dialect, due: call.due,
	}
	if call.given > 0 { // what the client waits for, not what it is given beyond
		x.due = call.given
	}
	call.ctx.Store(x)
	// Who ends the call or the connection first says so and then looks for a context.
	if c.gone.Load() && !c.outlives(call) || !call.open(generation) {
		x.end(context.Canceled)
	}
	return x
}

// Deadline returns when the client stops to wait, if it has said so, or when the
// call expires.
func (x *callContext) Deadline() (time.Time, bool) {
	if x.due == 0 {
		return time.Time{}, false
	}
	return x.conn.srv.epoch.Add(time.Duration(x.due)), true
}

// Done returns a channel that is closed when the call has ended.
func (x *callContext) Done() <-chan struct{} {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.done == nil {
		x.done = make(chan struct{})
		if x.err != nil {
			close(x.done)
		}
	}
	return x.done
}

// Err returns why the call has ended, nil while it has not.
func (x *callContext) Err() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.err
}

// contextKey finds the callContext below contexts that were made from it.
type contextKey struct{}

// Value returns the callContext itself for its own key.
func (x *callContext) Value(key any) any {
	if key == (contextKey{}) {
		return x
	}
	return nil
}

// AfterFunc calls f on a goroutine of its own when the call has ended. Package
// context uses it instead of a goroutine for each derived context.
func (x *callContext) AfterFunc(f func()) (stop func() bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.err != nil {
		go f()
		return func() bool { return false }
	}
	e := x.extra()
	if e.after == nil {
		e.after = map[*func()]struct{}{}
	}
	e.after[&f] = struct{}{}
	return func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		_, waits := e.after[&f]
		delete(e.after, &f)
		return waits
	}
}

// end ends the context, unless it has ended.
func (x *callContext) end(reason error) {
	x.mu.Lock()
	x.endLocked(reason)
	x.mu.Unlock()
}

// endLocked is end where x.mu is held.
func (x *callContext) endLocked(reason error) {
	if x.err != nil {
		return
	}
	x.err = reason
	if x.done != nil {
		close(x.done)
	}
	if e := x.extras; e != nil {
		for f := range e.after {
			go (*f)()
		}
		e.after = nil
	}
}

// finish ends the context of a call that has been answered, and tells the
// interceptors with which error.
func (x *callContext) finish(err error) {
	reason := context.Canceled
	if err == context.DeadlineExceeded {
		reason = err
	}
	var ended []func(error)
	x.mu.Lock()
	x.endLocked(reason)
	x.finished = true
	if err != nil {
		x.extra().outcome = err
	}
	if e := x.extras; e != nil {
		ended, e.ended = e.ended, nil
	}
	x.mu.Unlock()
	for i := len(ended) - 1; i >= 0; i-- {
		x.tell(ended[i], err)
	}
}

// tell tells an interceptor how the call has ended.
func (x *callContext) tell(ended func(error), err error) {
	defer func() {
		if p := recover(); p != nil {
			x.conn.panicked(x.method, p)
		}
	}()
	ended(err)
}

// CallInfo is what a server knows of a call beside its arguments. It is valid
// as long as anybody holds it.
type CallInfo struct{ x *callContext }

// Info returns what is known of the call whose handler got ctx, or a context
// made from it. It reports false in a context of another origin.
func Info(ctx context.Context) (CallInfo, bool) {
	x, ok := ctx.Value(contextKey{}).(*callContext)
	return CallInfo{x}, ok
}

// Method returns the method's name, without its service.
func (i CallInfo) Method() string { return i.x.method.Name }

// Service returns the name of the service that has the method.
func (i CallInfo) Service() string { return i.x.method.service }

// Data returns what stands in the method's field Data.
func (i CallInfo) Data() any { return i.x.method.Data }

// Known reports whether the method stands in its service's list: the names of those that
// [Service].Unknown serves are the clients' choice, and may be any number.
func (i CallInfo) Known() bool { return !i.x.method.unknown }

// Declared returns the field of the result struct that holds the declared
// exception which the call has been answered with, for interceptors whose call has ended.
func (i CallInfo) Declared() (field int16, ok bool) {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	if e := i.x.extras; e != nil {
		return e.declared, e.declared != 0
	}
	return 0, false
}

// Stream returns the stream of a method that streams, nil for a call.
func (i CallInfo) Stream() *stream.Stream {
	i.x.mu.Lock()
	defer i.x.mu.Unlock()
	if i.x.extras == nil {
		return nil
	}
	return i.x.extras.stream
}

// Remote returns the client's address.
func (i CallInfo) Remote() net.Addr { return i.x.conn.remote }

// TLS returns what TLS knows of the connection, the client's certificates
// among it; nil for calls in the clear.
func (i CallInfo) TLS() *tls.ConnectionState { return i.x.conn.tls }

// Dialect returns how the call travelled.
func (i CallInfo) Dialect() transport.Dialect { return i.x.dialect }

// Priority returns the call's priority, which is never 0.
func (i CallInfo) Priority() Priority { return i.x.priority }

// ConnInfo is what a server knows of a connection before its first call.
type ConnInfo struct {
	Remote, Local net.Addr
	Dialect       transport.Dialect
	TLS           *tls.ConnectionState // nil in the clear
}

func (c *serverConn) connInfo() ConnInfo {
	return ConnInfo{Remote: c.remote, Local: c.sock.nc.LocalAddr(), Dialect: c.form.dialect, TLS: c.tls}
}

// Interceptor sees every call that is admitted before its handler runs, where the handler
// would run: on the connection's loop for callbacks, which it must not hold
// up, else on a worker. It returns the context for the handler, which must be made from ctx, and
// a function that is called with the handler's error when the call has been
// answered, or nil. An error answers the call instead of the handler.
type Interceptor func(ctx context.Context, call CallInfo) (inner context.Context, ended func(err error), err error)

// whenFinished calls ended when the call has been answered, which it may have
// been meanwhile, because its time has passed.
func (x *callContext) whenFinished(ended func(error)) {
	x.mu.Lock()
	finished := x.finished
	var outcome error
	if !finished {
		x.extra().ended = append(x.extra().ended, ended)
	} else if x.extras != nil {
		outcome = x.extras.outcome
	}
	x.mu.Unlock()
	if finished {
		x.tell(ended, outcome)
	}
}

// noteField notes for interceptors which field of its result a call is answered with.
func (x *callContext) noteField(f *form, result []byte) {
	id, ok := ExceptionField(result)
	if f.protocol != 0 {
		field, n := f.protocol.ConsumeField(result, 0)
		id, ok = field.ID, n > 0 && field.Type != thriftwire.Stop && field.ID != 0
	}
	if ok {
		x.mu.Lock()
		x.extra().declared = id
		x.mu.Unlock()
	}
}

// intercept asks the interceptors in their order.
func (s *Server) intercept(x *callContext) (context.Context, error) { return s.interceptFrom(x, x) }

// interceptFrom asks them with a context that was made from x.
func (s *Server) interceptFrom(ctx context.Context, x *callContext) (context.Context, error) {
	for _, f := range s.opt.interceptors {
		inner, ended, err := f(ctx, CallInfo{x})
		if ended != nil {
			x.whenFinished(ended)
		}
		if err != nil {
			return nil, err
		}
		if inner != nil {
			ctx = inner
		}
	}
	if len(s.opt.interceptors) > 0 {
		x.mu.Lock()
		x.extra().inner = ctx
		x.mu.Unlock()
	}
	return ctx, nil
}
