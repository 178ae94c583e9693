package otelthrum

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds what no interceptor sees: calls and streams that were refused.

const keyRefusal = attribute.Key("thrum.refusal")

// Watch measures what a server refuses at its admission, as thrum.server.refusals, with the reason in
// thrum.refusal. The Registration ends it. Of the options that of the [MeterProvider] counts.
func Watch(server *rpc.Server, opts ...Option) (metric.Registration, error) {
	o := newOptions(opts)
	meter := o.meters.Meter(scope)
	refusals, err := meter.Int64ObservableCounter("thrum.server.refusals", metric.WithUnit("{call}"),
		metric.WithDescription("Calls and streams that were refused or given up before their handler ran"))
	if err != nil {
		return nil, err
	}
	var reasons []metric.ObserveOption
	for r := rpc.RefusedConnection; r <= rpc.RefusedExpired; r++ {
		reasons = append(reasons, metric.WithAttributeSet(attribute.NewSet(keyRefusal.String(r.String()))))
	}
	return meter.RegisterCallback(func(_ context.Context, to metric.Observer) error {
		stats := server.Stats()
		for i, reason := range reasons { // those that never were are 0, so that rates are right from the first on
			to.ObserveInt64(refusals, stats.Refused[rpc.RefusedConnection+rpc.Refusal(i)], reason)
		}
		return nil
	}, refusals)
}
