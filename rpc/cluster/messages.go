package cluster

import (
	"bytes"
	"context"
	"errors"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds calls of methods on messages, and what an attempt is beside a call on structs.

// MessageClient is a [Client] for methods on messages, as FlatBuffers and Protobuf have them: an
// [rpc.MessageCaller] and [rpc.MessageStreamer] over many addresses. Generated clients work on it. Options, guarantees
// and errors are those of Client; the names of methods are "/package.Service/Method". It is safe for concurrent use.
//
// [Picker]s and [IdempotentFunc] see an Invocation that has the method's name alone.
type MessageClient struct{ client *Client }

var (
	_ rpc.MessageCaller   = (*MessageClient)(nil)
	_ rpc.MessageStreamer = (*MessageClient)(nil)
	_ rpc.Streamer        = (*Client)(nil)
)

// NewMessages returns a client of the service whose addresses r finds, as [New] does. The options of [Dial] are
// those of [rpc.DialMessages].
func NewMessages(r resolve.Resolver, opts ...Option) (*MessageClient, error) {
	c, err := newClient(r, opts, true)
	if err != nil {
		return nil, err
	}
	return &MessageClient{c}, nil
}

// Close is that of [Client].
func (c *MessageClient) Close() error { return c.client.Close() }

// Connect is that of [Client].
func (c *MessageClient) Connect(ctx context.Context) error { return c.client.Connect(ctx) }

// Stats is that of [Client].
func (c *MessageClient) Stats() Stats { return c.client.Stats() }

// InvokeMessage makes one call, in as many attempts as the options allow. An error is an [*Error]. An attempt
// that runs beside another one has a copy of the request.
func (c *MessageClient) InvokeMessage(ctx context.Context, call *rpc.MessageCall) error {
	return c.client.call(ctx, &rpc.Invocation{Method: call.Method, Oneway: call.Oneway}, &work{message: call})
}

// OpenMessageStream opens a stream, as [Client.OpenStream] does.
func (c *MessageClient) OpenMessageStream(ctx context.Context, call *rpc.MessageStreamCall) (*rpc.MessageStream, error) {
	var ms *rpc.MessageStream
	err := c.client.openStream(ctx, &rpc.Invocation{Method: call.Method}, func(ctx context.Context, l *lane, o *opening) (err error) {
		if ms, err = l.messages.OpenMessageStream(ctx, call); err == nil {
			o.stream = ms.Stream
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	return ms, nil
}

// work is what an attempt does if it does not call a method on structs.
type work struct {
	message *rpc.MessageCall // a call on messages, or nil
	opening *opening         // of a stream, or nil
}

func (w *work) streams() bool { return w != nil && w.opening != nil }

// copy returns a call on messages that does not need its caller's memory.
func (w *work) copy() *work {
	if w == nil {
		return nil
	}
	call := *w.message
	call.Request.Body, call.Attachment = bytes.Clone(call.Request.Body), bytes.Clone(call.Attachment)
	return &work{message: &call}
}

// errNoStreams is why an address opens no streams.
var errNoStreams = errors.New("cluster: streams go over TTHeader, or belong to methods on messages")

// streamDial marks the contexts of streams that are being opened.
type streamDial struct{}

// carry does the work of one attempt on the connection.
func (l *lane) carry(ctx context.Context, call *rpc.Invocation, w *work) error {
	switch {
	case w == nil:
		return l.client.Invoke(ctx, call)
	case w.message != nil:
		return l.messages.InvokeMessage(ctx, w.message)
	case l.client != nil && l.dialect != transport.TTHeader:
		return &rpc.Error{Stage: rpc.StageDial, Method: call.Method, Err: errNoStreams}
	}
	return asError(call.Method, w.opening.open(context.WithValue(ctx, streamDial{}, true), l, w.opening))
}
