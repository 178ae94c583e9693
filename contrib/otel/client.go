package otelthrum

import (
	"context"
	"sync"
	"time"

	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
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
	if found = c.targets[to.Address]; found == nil {
		found = &methods{legacy: c.legacy, kind: trace.SpanKindClient, to: serverOf(to), known: map[methodKey]*method{}}
		c.targets[to.Address] = found
	}
	return found
}

// call is the interceptor.
func (c *client) call(ctx context.Context, call *rpc.Invocation, to rpc.Target, next rpc.Caller) error {
	began := time.Now()
	service := call.Service
	if service == "" {
		service = to.Service
	}
	m := c.methodsOf(to).of(methodKey{service, call.Method}, true)
	ctx, span := c.tracer.Start(ctx, m.span, m.start...)
	sent := outgoing{ctx}
	if carries(to.Dialect) || to.Dialect == 0 { // a Caller of several dialects does not say which
		c.propagator.Inject(ctx, &sent)
	}
	own := watched{Invocation: *call, read: call.ReadResult}
	if !call.Oneway {
		own.ReadResult = own.watch
	}
	err := next.Invoke(sent.ctx, &own.Invocation)
	out := c.answered(own.exception)
	if err != nil {
		out = c.failed(err)
	}
	c.measure(ctx, m, began, out)
	out.end(span)
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
