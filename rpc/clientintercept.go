package rpc

import (
	"context"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds what stands between a caller and the calls of its client.

// Target is whom a [Caller] calls.
type Target struct {
	Service          string // its name, which [ServiceName] says; "" if nobody has
	Network, Address string // those of [Dial]
	Dialect          transport.Dialect
}

// ClientInterceptor stands around a call: it makes it by next, with a context made from
// ctx, and returns the error of that or its own. It may make the call again or not at
// all; each time the arguments are encoded again. It must not change call, which next may be given a
// changed copy of. Interceptors run on the goroutine of the caller, are
// safe for concurrent use, and know nothing of the attempts that lie behind next.
type ClientInterceptor func(ctx context.Context, call *Invocation, to Target, next Caller) error

// InterceptCalls adds interceptors to a client, which see calls after those added
// before. The limit of [CallTimeout] is set when they see a call.
func InterceptCalls(interceptors ...ClientInterceptor) ClientOption {
	return clientOption(func(o *clientOptions) { o.interceptors = append(o.interceptors, interceptors...) })
}

// ServiceName names the service that a client calls, for its interceptors. It
// is not sent: see [Multiplexed] for that.
func ServiceName(name string) ClientOption {
	return clientOption(func(o *clientOptions) { o.service = name })
}

// Intercepted returns a Caller whose calls the interceptors see in their order
// before c makes them.
func Intercepted(c Caller, to Target, interceptors ...ClientInterceptor) Caller {
	for i := len(interceptors) - 1; i >= 0; i-- {
		c = &intercepted{interceptors[i], to, c}
	}
	return c
}

// intercepted is a link of a chain that is made once, so that a call allocates nothing for it.
type intercepted struct {
	interceptor ClientInterceptor
	to          Target
	next        Caller
}

func (i *intercepted) Invoke(ctx context.Context, call *Invocation) error {
	return i.interceptor(ctx, call, i.to, i.next)
}

// OpenStream opens a stream by what is behind the interceptors, which see calls alone.
func (i *intercepted) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	return open(ctx, i.next, call)
}

// StreamInterceptor is a [ClientInterceptor] for streams: it stands around the opening of one.
// What becomes of the stream it learns from that: its context ends with it, whose cause says why, and
// [stream.Stream.Watch] tells of messages.
type StreamInterceptor func(ctx context.Context, call *StreamCall, to Target, next Streamer) (*stream.Stream, error)

// InterceptStreams is [InterceptCalls] for streams.
func InterceptStreams(interceptors ...StreamInterceptor) ClientOption {
	return clientOption(func(o *clientOptions) { o.streamInterceptors = append(o.streamInterceptors, interceptors...) })
}

// InterceptedStreams returns a Caller that is a [Streamer], too: the interceptors see its streams in their
// order before c opens them; its calls are those of c.
func InterceptedStreams(c Caller, to Target, interceptors ...StreamInterceptor) Caller {
	for i := len(interceptors) - 1; i >= 0; i-- {
		c = &interceptedStreams{c, interceptors[i], to}
	}
	return c
}

type interceptedStreams struct {
	Caller
	interceptor StreamInterceptor
	to          Target
}

func (i *interceptedStreams) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	return i.interceptor(ctx, call, i.to, streamerOf{i.Caller})
}

// streamerOf opens streams by a Caller that may be able to.
type streamerOf struct{ Caller }

func (s streamerOf) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	return open(ctx, s.Caller, call)
}

// bareClient is a client behind its interceptors.
type bareClient struct{ *Client }

func (b bareClient) Invoke(ctx context.Context, call *Invocation) error { return b.invoke(ctx, call) }

func (b bareClient) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	return b.openStream(ctx, call)
}

// MessageInterceptor is a [ClientInterceptor] for the calls of a [MessageClient].
type MessageInterceptor func(ctx context.Context, call *MessageCall, to Target, next MessageCaller) error

// InterceptMessages is [InterceptCalls] for the clients of [DialMessages].
func InterceptMessages(interceptors ...MessageInterceptor) ClientOption {
	return clientOption(func(o *clientOptions) { o.messageInterceptors = append(o.messageInterceptors, interceptors...) })
}

// InterceptedMessages is [Intercepted] for callers of methods on messages.
func InterceptedMessages(c MessageCaller, to Target, interceptors ...MessageInterceptor) MessageCaller {
	for i := len(interceptors) - 1; i >= 0; i-- {
		c = &interceptedMessages{interceptors[i], to, c}
	}
	return c
}

type interceptedMessages struct {
	interceptor MessageInterceptor
	to          Target
	next        MessageCaller
}

func (i *interceptedMessages) InvokeMessage(ctx context.Context, call *MessageCall) error {
	return i.interceptor(ctx, call, i.to, i.next)
}

// OpenMessageStream opens a stream by what is behind the interceptors, which see calls alone.
func (i *interceptedMessages) OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	return openMessages(ctx, i.next, call)
}

// openMessages opens a stream by a caller that may be able to.
func openMessages(ctx context.Context, c MessageCaller, call *MessageStreamCall) (*MessageStream, error) {
	s, ok := c.(MessageStreamer)
	if !ok {
		return nil, &Error{Stage: StageDial, Method: call.Method, Err: errNoStreamer}
	}
	return s.OpenMessageStream(ctx, call)
}

// MessageStreamInterceptor is a [StreamInterceptor] for streams of messages.
type MessageStreamInterceptor func(ctx context.Context, call *MessageStreamCall, to Target, next MessageStreamer) (*MessageStream, error)

// InterceptMessageStreams is [InterceptStreams] for the clients of [DialMessages].
func InterceptMessageStreams(interceptors ...MessageStreamInterceptor) ClientOption {
	return clientOption(func(o *clientOptions) {
		o.messageStreamInterceptors = append(o.messageStreamInterceptors, interceptors...)
	})
}

// InterceptedMessageStreams is [InterceptedStreams] for callers of methods on messages; what it
// returns is a [MessageStreamer], too.
func InterceptedMessageStreams(c MessageCaller, to Target, interceptors ...MessageStreamInterceptor) MessageCaller {
	for i := len(interceptors) - 1; i >= 0; i-- {
		c = &interceptedMessageStreams{c, interceptors[i], to}
	}
	return c
}

type interceptedMessageStreams struct {
	MessageCaller
	interceptor MessageStreamInterceptor
	to          Target
}

func (i *interceptedMessageStreams) OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	return i.interceptor(ctx, call, i.to, messageStreamerOf{i.MessageCaller})
}

// messageStreamerOf opens streams by a MessageCaller that may be able to.
type messageStreamerOf struct{ MessageCaller }

func (s messageStreamerOf) OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	return openMessages(ctx, s.MessageCaller, call)
}

// bareMessageClient is a client behind its interceptors.
type bareMessageClient struct{ *MessageClient }

func (b bareMessageClient) InvokeMessage(ctx context.Context, call *MessageCall) error {
	return b.invoke(ctx, call)
}

func (b bareMessageClient) OpenMessageStream(ctx context.Context, call *MessageStreamCall) (*MessageStream, error) {
	return b.openStream(ctx, call)
}

// ClientOptions makes one option of several, which holds in their order.
func ClientOptions(opts ...ClientOption) ClientOption {
	return clientOption(func(o *clientOptions) {
		for _, option := range opts {
			option.applyClient(o)
		}
	})
}

// ExceptionField returns the id of the field that holds a declared exception in
// a result struct of the binary protocol, and false if it holds a success, or nothing, as
// the results of methods that return nothing do. An interceptor asks it in a ReadResult of its own.
func ExceptionField(result []byte) (id int16, ok bool) {
	t, id, n := thriftwire.ConsumeField(result)
	return id, n > 0 && t != thriftwire.Stop && id != 0
}
