package otelthrum

import (
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"
)

// This file holds the options.

// Option configures [Server] and [Client].
type Option func(*options)

type options struct {
	tracers    trace.TracerProvider
	meters     metric.MeterProvider
	propagator propagation.TextMapPropagator
	legacy     bool
	exceptions bool
	over       bool // attempts, which have spans of their own
	events     bool // of messages
}

func newOptions(opts []Option) options {
	var o options
	for _, f := range opts {
		f(&o)
	}
	if o.tracers == nil {
		o.tracers = otel.GetTracerProvider()
	}
	if o.meters == nil {
		o.meters = otel.GetMeterProvider()
	}
	if o.propagator == nil {
		o.propagator = propagation.NewCompositeTextMapPropagator(propagation.TraceContext{}, propagation.Baggage{})
	}
	return o
}

// TracerProvider makes the spans; the default is OpenTelemetry's global one at
// the time of the call that takes the option.
func TracerProvider(p trace.TracerProvider) Option { return func(o *options) { o.tracers = p } }

// MeterProvider takes the measurements; the default is OpenTelemetry's global
// one at the time of the call that takes the option.
func MeterProvider(p metric.MeterProvider) Option { return func(o *options) { o.meters = p } }

// Propagator writes and reads what crosses the network. The default is W3C's
// trace context and baggage, and not OpenTelemetry's global propagator, which
// is none until somebody sets it.
func Propagator(p propagation.TextMapPropagator) Option { return func(o *options) { o.propagator = p } }

// Legacy uses the names and units of the semantic conventions v1.37.0.
func Legacy() Option { return func(o *options) { o.legacy = true } }

// OverAttempts is for the interceptor of calls whose attempts have spans of their own, by [Attempts]: its spans are
// of the kind internal, and it leaves it to the attempts to carry the trace to a server.
func OverAttempts() Option { return func(o *options) { o.over = true } }

// ExceptionsAreErrors makes declared exceptions and business statuses errors of spans and
// measurements, with the types "exception" and "biz_status".
func ExceptionsAreErrors() Option { return func(o *options) { o.exceptions = true } }

// MessageEvents adds an event rpc.message to the span of a stream for each of its messages, with rpc.message.type and
// rpc.message.id. Without it a span has the numbers of messages alone.
func MessageEvents() Option { return func(o *options) { o.events = true } }
