package otelthrum

import (
	"context"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds the interceptors of servers and clients.

// scope is the name of the instrumentation.
const scope = "github.com/thrum-rpc/thrum/contrib/otel"

// instruments are what a server or a client makes spans and measurements with.
type instruments struct {
	options
	tracer    trace.Tracer
	durations metric.Float64Histogram
	unit      time.Duration // of the histogram

	requests, responses metric.Int64Histogram // messages of a stream, with Legacy; else nil
}

func newInstruments(opts []Option, side string) instruments {
	t := instruments{options: newOptions(opts), unit: time.Second}
	t.tracer = t.tracers.Tracer(scope)
	name, unit := "rpc."+side+".call.duration", "s"
	buckets := []float64{0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10}
	if t.legacy {
		name, unit, t.unit = "rpc."+side+".duration", "ms", time.Millisecond
		buckets = []float64{0, 5, 10, 25, 50, 75, 100, 250, 500, 750, 1000, 2500, 5000, 7500, 10000}
	}
	var err error
	t.durations, err = t.meters.Meter(scope).Float64Histogram(name, metric.WithUnit(unit),
		metric.WithDescription("Duration of calls"), metric.WithExplicitBucketBoundaries(buckets...))
	if err != nil { // which leaves an instrument that measures nothing
		otel.Handle(err)
	}
	if t.legacy {
		t.requests = t.newCounts("rpc."+side+".requests_per_rpc", "Messages that clients sent on a stream")
		t.responses = t.newCounts("rpc."+side+".responses_per_rpc", "Messages that servers sent on a stream")
	}
	return t
}

// measure records how long a call took.
func (t *instruments) measure(ctx context.Context, m *method, began time.Time, out outcome) {
	took := float64(time.Since(began)) / float64(t.unit)
	if out.kind == "" {
		t.durations.Record(ctx, took, m.success)
		return
	}
	t.durations.Record(ctx, took, m.failure(out.kind))
}

// carries tells whether headers travel with a message.
func carries(d transport.Dialect) bool {
	switch d {
	case transport.Header, transport.TTHeader, transport.HTTP, transport.TRPC, transport.GRPC:
		return true
	}
	return false
}

// Server traces and measures the calls of a server.
func Server(opts ...Option) rpc.ServerOption {
	t := newInstruments(opts, "server")
	seen := &methods{legacy: t.legacy, kind: trace.SpanKindServer, known: map[methodKey]*method{}}
	return rpc.Intercept(func(ctx context.Context, call rpc.CallInfo) (context.Context, func(error), error) {
		began := time.Now()
		known := call.Known()
		name := nameOf(call.Dialect(), call.Service(), call.Method())
		m := seen.of(name, known)
		if carries(call.Dialect()) {
			ctx = t.propagator.Extract(ctx, incoming{call})
		}
		ctx, span := t.tracer.Start(ctx, m.span, m.start...)
		if span.IsRecording() {
			span.SetAttributes(peerOf(call.Remote())...)
			if !known {
				span.SetAttributes(keyMethodOriginal.String(name.full()))
			}
		}
		s := call.Stream()
		t.watch(s, span)
		return ctx, func(err error) {
			field, _ := call.Declared()
			out := t.answered(field)
			if err != nil {
				out = t.failedHere(err)
			}
			if s != nil {
				sent, received := s.Counts()
				t.counted(ctx, m, span, sent, received, received, sent)
			}
			t.measure(ctx, m, began, out)
			out.end(span)
		}, nil
	})
}

// Client traces and measures the calls and streams of a client, one of messages too, under the name of the
// service that the call itself or [rpc.ServiceName] says.
func Client(opts ...Option) rpc.ClientOption {
	c := newClient(opts)
	return rpc.ClientOptions(rpc.InterceptCalls(c.call), rpc.InterceptMessages(c.callMessage),
		rpc.InterceptStreams(c.stream), rpc.InterceptMessageStreams(c.messageStream))
}

// Interceptor is Client for any [rpc.Caller], by [rpc.Intercepted].
func Interceptor(opts ...Option) rpc.ClientInterceptor { return newClient(opts).call }

// MessageInterceptor is Client for any [rpc.MessageCaller], by [rpc.InterceptedMessages].
func MessageInterceptor(opts ...Option) rpc.MessageInterceptor { return newClient(opts).callMessage }

// StreamInterceptor is Client for the streams of any [rpc.Caller], by [rpc.InterceptedStreams].
func StreamInterceptor(opts ...Option) rpc.StreamInterceptor { return newClient(opts).stream }

// MessageStreamInterceptor is Client for the streams of any [rpc.MessageCaller], by [rpc.InterceptedMessageStreams].
func MessageStreamInterceptor(opts ...Option) rpc.MessageStreamInterceptor {
	return newClient(opts).messageStream
}

// incoming are the headers of a server's call.
type incoming struct{ call rpc.CallInfo }

// Get returns a header, or "".
func (in incoming) Get(key string) string {
	value, _ := in.call.Header(key)
	return value
}

// Set does nothing: what has come does not change.
func (in incoming) Set(string, string) {}

// Keys returns the names of all headers.
func (in incoming) Keys() []string {
	var keys []string
	for key := range in.call.Headers() {
		keys = append(keys, key)
	}
	return keys
}

// outgoing are the headers of a client's call, which its context holds.
type outgoing struct{ ctx context.Context }

// Get returns "": what a context carries is not asked for.
func (out *outgoing) Get(string) string { return "" }

// Set adds a header.
func (out *outgoing) Set(key, value string) { out.ctx = rpc.WithHeader(out.ctx, key, value) }

// Keys returns nothing.
func (out *outgoing) Keys() []string { return nil }
