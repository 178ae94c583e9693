package rpc

import (
	"context"
	"errors"
	"io"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file joins streams of messages to tagged Go structs, on both sides. Generated
// code uses nothing else of streams.

// ServerStreaming returns a method that takes one request and sends any number
// of responses by s. fn runs on a goroutine of its own, whose end ends the stream: an error
// of fn is what the client gets behind the responses, as Method says. When the client has
// gone or given up, ctx ends. A type that codec does not take makes [Server.Register] fail.
func ServerStreaming[Req, Res any](name string, fn func(ctx context.Context, req *Req, s stream.ServerStreamingServer[Res]) error) Method {
	m, req, res := streamMethod[Req, Res](name)
	m.Stream = func(ctx context.Context, s *stream.Stream) error {
		v, err := stream.Receive(ctx, s, req)
		switch {
		case err == io.EOF:
			return exceptionf(ProtocolError, "%s: the client closed without a request", name)
		case err != nil:
			return undecoded(err)
		}
		return fn(ctx, v, stream.NewServerStreamingServer(s, res))
	}
	return m
}

// ClientStreaming is ServerStreaming for a method that takes any number of
// requests and answers once, by SendAndClose.
func ClientStreaming[Req, Res any](name string, fn func(ctx context.Context, s stream.ClientStreamingServer[Req, Res]) error) Method {
	m, req, res := streamMethod[Req, Res](name)
	m.Stream = func(ctx context.Context, s *stream.Stream) error {
		return undecoded(fn(ctx, stream.NewClientStreamingServer(s, req, res)))
	}
	return m
}

// BidiStreaming is ServerStreaming for a method both of whose sides send any
// number of messages.
func BidiStreaming[Req, Res any](name string, fn func(ctx context.Context, s stream.BidiStreamingServer[Req, Res]) error) Method {
	m, req, res := streamMethod[Req, Res](name)
	m.Stream = func(ctx context.Context, s *stream.Stream) error {
		return undecoded(fn(ctx, stream.NewBidiStreamingServer(s, req, res)))
	}
	return m
}

func streamMethod[Req, Res any](name string) (Method, *messages[Req], *messages[Res]) {
	m := Method{Name: name}
	req, err := messagesOf[Req]()
	if err != nil {
		m.err = err
	}
	res, err := messagesOf[Res]()
	if err != nil {
		m.err = err
	}
	return m, req, res
}

// undecoded says what a client is told of a message that could not be decoded.
func undecoded(err error) error {
	var e *stream.Error
	if errors.As(err, &e) && e.Code == stream.Protocol && e.Err != nil {
		return exceptionf(ProtocolError, "cannot decode a message: %v", e.Err)
	}
	return err
}

// messages is the codec of the messages of a stream.
type messages[T any] struct{ codecs *codecs[T] }

func messagesOf[T any]() (*messages[T], error) {
	c, err := newCodecs[T](false)
	return &messages[T]{c}, err
}

// Append appends a message.
func (m *messages[T]) Append(dst []byte, v *T) ([]byte, error) { return m.codecs.binary.Append(dst, v) }

// Decode decodes a message.
func (m *messages[T]) Decode(b []byte) (*T, error) {
	v := new(T)
	if m.codecs.defaults {
		any(v).(interface{ InitDefault() }).InitDefault()
	}
	return v, decode(m.codecs.binary, b, v)
}

// Streamer opens streams. [*Client] is one if it speaks TTHeader.
type Streamer interface {
	// OpenStream opens a stream and sends its header. The stream ends when ctx does,
	// whose deadline and metadata are sent. An error is an [*Error], or a [*stream.Error].
	OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error)
}

// StreamCall is one call of a method that streams.
type StreamCall struct {
	Service string // the name in the IDL; may be empty if the server has the method in one service only
	Method  string
}

// errNoStreamer is the error of a caller that cannot stream.
var errNoStreamer = errors.New("the caller opens no streams")

// open opens a stream by a caller that may be able to.
func open(ctx context.Context, c Caller, call *StreamCall) (*stream.Stream, error) {
	s, ok := c.(Streamer)
	if !ok {
		return nil, &Error{Stage: StageDial, Method: call.Method, Err: errNoStreamer}
	}
	return s.OpenStream(ctx, call)
}

// codecsOf returns the codecs of a method's messages.
func codecsOf[Req, Res any](method string) (*messages[Req], *messages[Res], error) {
	req, err := messagesOf[Req]()
	if err != nil {
		return nil, nil, &Error{Stage: StageEncode, Method: method, Err: err}
	}
	res, err := messagesOf[Res]()
	if err != nil {
		return nil, nil, &Error{Stage: StageEncode, Method: method, Err: err}
	}
	return req, res, nil
}

// OpenServerStream calls a method with one request and many responses. Who
// stops to receive before the end must end ctx, or Cancel the stream.
func OpenServerStream[Req, Res any](ctx context.Context, c Caller, service, method string, req *Req) (stream.ServerStreamingClient[Res], error) {
	reqs, ress, err := codecsOf[Req, Res](method)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, c, &StreamCall{Service: service, Method: method})
	if err != nil {
		return nil, err
	}
	err = s.Send(ctx, func(dst []byte) ([]byte, error) { return reqs.Append(dst, req) })
	if err == nil {
		err = s.CloseSend(ctx)
	}
	if err != nil {
		s.Cancel(err)
		return nil, err
	}
	return stream.NewServerStreamingClient(s, ress), nil
}

// OpenClientStream calls a method with many requests and one response. Who
// does not CloseAndRecv must end ctx, or Cancel the stream.
func OpenClientStream[Req, Res any](ctx context.Context, c Caller, service, method string) (stream.ClientStreamingClient[Req, Res], error) {
	reqs, ress, err := codecsOf[Req, Res](method)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, c, &StreamCall{Service: service, Method: method})
	if err != nil {
		return nil, err
	}
	return stream.NewClientStreamingClient(s, reqs, ress), nil
}

// OpenBidiStream calls a method with many requests and many responses. Who
// stops to receive before the end must end ctx, or Cancel the stream.
func OpenBidiStream[Req, Res any](ctx context.Context, c Caller, service, method string) (stream.BidiStreamingClient[Req, Res], error) {
	reqs, ress, err := codecsOf[Req, Res](method)
	if err != nil {
		return nil, err
	}
	s, err := open(ctx, c, &StreamCall{Service: service, Method: method})
	if err != nil {
		return nil, err
	}
	return stream.NewBidiStreamingClient(s, reqs, ress), nil
}
