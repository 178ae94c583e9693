package otelthrum

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the calls of a client.

// client is the telemetry of one client, or of several that share an interceptor.
type client struct {
	instruments

	mu      sync.RWMutex
	targets map[string]*methods // by address
}

// maxTargets bounds the addresses whose measurements are told apart.
const maxTargets = 1000

// methodsOf returns the methods that have been called at a target.
func (c *client) methodsOf(to rpc.Target) *methods {
	c.mu.RLock()
	found, size := c.targets[to.Address], len(c.targets)
	c.mu.RUnlock()
	switch {
	case found != nil:
		return found
	case size >= maxTargets && to.Address != "":
		return c.methodsOf(rpc.Target{}) // whose address is not told
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	kind := trace.SpanKindClient
	if c.over {
		kind = trace.SpanKindInternal
	}
	if found = c.targets[to.Address]; found == nil {
		found = &methods{legacy: c.legacy, kind: kind, to: serverOf(to), known: map[methodKey]*method{}}
		c.targets[to.Address] = found
	}
	return found
}

func newClient(opts []Option) *client {
	return &client{instruments: newInstruments(opts, "client"), targets: map[string]*methods{}}
}

// begun is a call that has begun.
type begun struct {
	at     time.Time
	method *method
	span   trace.Span
	ctx    context.Context // that the call is made with
	inner  context.Context // that it is measured with
}

// begin starts the span of a call.
func (c *client) begin(ctx context.Context, service, name string, to rpc.Target) begun {
	b := begun{at: time.Now()}
	if service == "" {
		service = to.Service
	}
	b.method = c.methodsOf(to).of(nameOf(to.Dialect, service, name), true)
	b.inner, b.span = c.tracer.Start(ctx, b.method.span, b.method.start...)
	sent := outgoing{b.inner}
	if !c.over && (carries(to.Dialect) || to.Dialect == transport.Unknown) { // a Caller of several dialects does not say which
		c.propagator.Inject(b.inner, &sent)
	}
	b.ctx = sent.ctx
	return b
}

// end ends the span of a call that has ended with err, or is answered by a declared exception.
func (c *client) end(b *begun, exception int16, err error) {
	out := c.answered(exception)
	if err != nil {
		out = c.failed(err)
	}
	c.measure(b.inner, b.method, b.at, out)
	out.end(b.span)
}

// call is the interceptor.
func (c *client) call(ctx context.Context, call *rpc.Invocation, to rpc.Target, next rpc.Caller) error {
	b := c.begin(ctx, call.Service, call.Method, to)
	own := watched{Invocation: *call, read: call.ReadResult}
	if !call.Oneway {
		own.ReadResult = own.watch
	}
	err := next.Invoke(b.ctx, &own.Invocation)
	c.end(&b, own.exception, err)
	return err
}

// callMessage is the interceptor of calls on messages, which have no declared exceptions.
func (c *client) callMessage(ctx context.Context, call *rpc.MessageCall, to rpc.Target, next rpc.MessageCaller) error {
	b := c.begin(ctx, "", call.Method, to)
	err := next.InvokeMessage(b.ctx, call)
	c.end(&b, 0, err)
	return err
}

// watched is a call whose result is looked at before it is read.
type watched struct {
	rpc.Invocation
	read      func(b []byte) error
	exception int16
}

func (w *watched) watch(b []byte) error {
	if id, ok := rpc.ExceptionField(b); ok {
		w.exception = id
	}
	if w.read == nil {
		return nil
	}
	return w.read(b)
}
