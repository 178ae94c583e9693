package otelthrum

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
)

// This file holds the attempts of a client with many addresses.

const (
	keyAttempt = attribute.Key("thrum.attempt")
	keyHedge   = attribute.Key("thrum.hedge")
	keyOutcome = attribute.Key("thrum.outcome")
	keyZone    = attribute.Key("thrum.zone")
)

// Attempts gives each attempt of a cluster's calls and streams a span, which the server's span has for
// its parent: the first one, and those that repeat or hedge it. thrum.attempt counts them from 1, thrum.outcome is what
// the cluster made of it. Attempts are not measured, or calls that were repeated would count twice;
// for the calls, put [Interceptor] with [OverAttempts] around the cluster.
func Attempts(service string, opts ...Option) cluster.Option {
	c := newClient(opts)
	return cluster.InterceptAttempts(func(ctx context.Context, a cluster.AttemptInfo) (context.Context, func(cluster.AttemptResult)) {
		b := c.begin(ctx, a.Service, a.Method, rpc.Target{Service: service, Network: a.Address.Network, Address: a.Address.Addr, Dialect: a.Dialect})
		if b.span.IsRecording() {
			b.span.SetAttributes(keyAttempt.Int(a.Number), keyHedge.Bool(a.Hedge))
			if a.Address.Zone != "" {
				b.span.SetAttributes(keyZone.String(a.Address.Zone))
			}
		}
		return b.ctx, func(r cluster.AttemptResult) {
			out := outcome{}
			if r.Err != nil {
				out = c.failed(r.Err)
			}
			if r.Outcome == cluster.Canceled { // another attempt was faster, or the caller has left
				out.fault = false
			}
			if r.Stream != nil {
				sent, received := r.Stream.Counts()
				b.span.SetAttributes(keySent.Int(sent), keyReceived.Int(received))
			}
			if b.span.IsRecording() {
				b.span.SetAttributes(keyOutcome.String(r.Outcome.String()))
				if r.Outcome == cluster.Failed && !out.fault {
					b.span.SetStatus(codes.Error, "")
				}
			}
			out.end(b.span)
		}
	})
}
