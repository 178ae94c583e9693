package otelthrum

import (
	"context"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"
	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds streams: the spans of a client's, and what both sides tell of messages.

const (
	keySent     = attribute.Key("thrum.messages.sent")
	keyReceived = attribute.Key("thrum.messages.received")

	messageEvent   = "rpc.message"
	keyMessageType = attribute.Key("rpc.message.type")
	keyMessageID   = attribute.Key("rpc.message.id")
)

// newCounts returns a histogram of messages.
func (t *instruments) newCounts(name, description string) metric.Int64Histogram {
	h, err := t.meters.Meter(scope).Int64Histogram(name, metric.WithUnit("{count}"), metric.WithDescription(description))
	if err != nil {
		otel.Handle(err)
	}
	return h
}

// watch adds events to the span of a stream, which may be nil.
func (t *instruments) watch(s *stream.Stream, span trace.Span) {
	if s == nil || !t.events || !span.IsRecording() {
		return
	}
	s.Watch(func(p stream.Passage) {
		kind := "RECEIVED"
		if p.Sent {
			kind = "SENT"
		}
		span.AddEvent(messageEvent, trace.WithAttributes(keyMessageType.String(kind), keyMessageID.Int(p.Number)))
	})
}

// counted notes how many messages this side of a stream has sent and received, and which of these were requests.
func (t *instruments) counted(ctx context.Context, m *method, span trace.Span, sent, received, requests, responses int) {
	span.SetAttributes(keySent.Int(sent), keyReceived.Int(received))
	if t.legacy {
		t.requests.Record(ctx, int64(requests), m.success)
		t.responses.Record(ctx, int64(responses), m.success)
	}
}

// stream is the interceptor of streams.
func (c *client) stream(ctx context.Context, call *rpc.StreamCall, to rpc.Target, next rpc.Streamer) (*stream.Stream, error) {
	b := c.begin(ctx, call.Service, call.Method, to)
	s, err := next.OpenStream(b.ctx, call)
	if err != nil {
		c.end(&b, 0, err)
		return nil, err
	}
	c.follow(&b, s)
	return s, nil
}

// messageStream is the interceptor of streams of messages.
func (c *client) messageStream(ctx context.Context, call *rpc.MessageStreamCall, to rpc.Target, next rpc.MessageStreamer) (*rpc.MessageStream, error) {
	b := c.begin(ctx, "", call.Method, to)
	s, err := next.OpenMessageStream(b.ctx, call)
	if err != nil {
		c.end(&b, 0, err)
		return nil, err
	}
	c.follow(&b, s.Stream)
	return s, nil
}

// follow ends the span of a stream when the stream ends.
func (c *client) follow(b *begun, s *stream.Stream) {
	c.watch(s, b.span)
	context.AfterFunc(s.Context(), func() {
		ended, err := s.End()
		if !ended { // it will, for what has ended its context
			err = context.Cause(s.Context())
		}
		sent, received := s.Counts()
		c.counted(b.inner, b.method, b.span, sent, received, sent, received)
		c.end(b, 0, err)
	})
}
