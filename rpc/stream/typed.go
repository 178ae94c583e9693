package stream

import (
	"context"
	"errors"
	"io"
)

// This file holds streams of typed messages, as handlers and callers see them.
// The names are those that Kitex's second streaming interface and grpc-go's generic one share.

// Mode says which side sends more than one message.
type Mode uint8

const (
	ServerStreaming Mode = iota + 1 // one request, many responses
	ClientStreaming                 // many requests, one response
	BidiStreaming                   // many of both, independently
)

var modeNames = [...]string{"unary", "server", "client", "bidirectional"}

// String returns the mode's name as IDL annotations have it.
func (m Mode) String() string {
	if int(m) < len(modeNames) {
		return modeNames[m]
	}
	return "unknown"
}

// Codec encodes and decodes the messages of one type. It is safe for concurrent use.
type Codec[T any] interface {
	Append(dst []byte, v *T) ([]byte, error)
	Decode(b []byte) (*T, error) // keeps nothing of b
}

// ClientSide is what all streams have at the client.
type ClientSide interface {
	// Header waits for the server's header.
	Header(ctx context.Context) (Metadata, error)
	// Trailer returns the server's trailer, once Recv has returned an error.
	Trailer() Metadata
	// Context returns the stream's context.
	Context() context.Context
	// Cancel resets the stream, unless it has ended.
	Cancel(reason error)
}

// ServerSide is what all streams have at the server.
type ServerSide interface {
	// SetHeader adds to the header that goes before the first message.
	SetHeader(md Metadata) error
	// SendHeader sends the header now.
	SendHeader(md Metadata) error
	// SetTrailer adds to the trailer that goes with the outcome.
	SetTrailer(md Metadata) error
}

// ServerStreamingClient receives the responses to one request.
type ServerStreamingClient[Res any] interface {
	Recv(ctx context.Context) (*Res, error) // io.EOF after the last
	ClientSide
}

// ClientStreamingClient sends requests and receives one response.
type ClientStreamingClient[Req, Res any] interface {
	Send(ctx context.Context, req *Req) error
	CloseAndRecv(ctx context.Context) (*Res, error)
	ClientSide
}

// BidiStreamingClient sends requests and receives responses.
type BidiStreamingClient[Req, Res any] interface {
	Send(ctx context.Context, req *Req) error
	CloseSend(ctx context.Context) error
	Recv(ctx context.Context) (*Res, error) // io.EOF after the last
	ClientSide
}

// ServerStreamingServer sends the responses to one request.
type ServerStreamingServer[Res any] interface {
	Send(ctx context.Context, res *Res) error
	ServerSide
}

// ClientStreamingServer receives requests and sends one response.
type ClientStreamingServer[Req, Res any] interface {
	Recv(ctx context.Context) (*Req, error) // io.EOF after the last
	SendAndClose(ctx context.Context, res *Res) error
	ServerSide
}

// BidiStreamingServer receives requests and sends responses.
type BidiStreamingServer[Req, Res any] interface {
	Recv(ctx context.Context) (*Req, error) // io.EOF after the last
	Send(ctx context.Context, res *Res) error
	ServerSide
}

// NewServerStreamingClient returns the client's half of a stream whose request
// has been sent.
func NewServerStreamingClient[Res any](s *Stream, res Codec[Res]) ServerStreamingClient[Res] {
	return &typed[struct{}, Res]{s, nil, res}
}

// NewClientStreamingClient returns the client's half of an open stream.
func NewClientStreamingClient[Req, Res any](s *Stream, req Codec[Req], res Codec[Res]) ClientStreamingClient[Req, Res] {
	return &typed[Req, Res]{s, req, res}
}

// NewBidiStreamingClient returns the client's half of an open stream.
func NewBidiStreamingClient[Req, Res any](s *Stream, req Codec[Req], res Codec[Res]) BidiStreamingClient[Req, Res] {
	return &typed[Req, Res]{s, req, res}
}

// NewServerStreamingServer returns the server's half of a stream.
func NewServerStreamingServer[Res any](s *Stream, res Codec[Res]) ServerStreamingServer[Res] {
	return &typed[Res, struct{}]{s, res, nil}
}

// NewClientStreamingServer returns the server's half of a stream.
func NewClientStreamingServer[Req, Res any](s *Stream, req Codec[Req], res Codec[Res]) ClientStreamingServer[Req, Res] {
	return &typed[Res, Req]{s, res, req}
}

// NewBidiStreamingServer returns the server's half of a stream.
func NewBidiStreamingServer[Req, Res any](s *Stream, req Codec[Req], res Codec[Res]) BidiStreamingServer[Req, Res] {
	return &typed[Res, Req]{s, res, req}
}

// typed is a stream on which Out is sent and In received.
type typed[Out, In any] struct {
	*Stream
	out Codec[Out]
	in  Codec[In]
}

// Send sends a message.
func (t *typed[Out, In]) Send(ctx context.Context, v *Out) error {
	return t.Stream.Send(ctx, func(dst []byte) ([]byte, error) { return t.out.Append(dst, v) })
}

// Recv receives a message. A client that cannot decode one resets the stream.
func (t *typed[Out, In]) Recv(ctx context.Context) (*In, error) {
	v, err := Receive(ctx, t.Stream, t.in)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// Receive receives a message of a stream. One that cannot be decoded is an
// error of code Protocol, for which a client's stream is reset.
func Receive[T any](ctx context.Context, s *Stream, c Codec[T]) (*T, error) {
	var v *T
	var broken error
	err := s.Recv(ctx, func(b []byte) error {
		v, broken = c.Decode(b)
		return broken
	})
	switch {
	case broken != nil:
		e := &Error{Code: Protocol, Err: broken}
		if s.opt.Role == Client {
			s.Cancel(e)
		}
		return nil, e
	case err != nil:
		return nil, err
	}
	return v, nil
}

// SendAndClose sends the only response. The stream ends when the handler returns.
func (t *typed[Out, In]) SendAndClose(ctx context.Context, v *Out) error { return t.Send(ctx, v) }

// CloseAndRecv half-closes the stream and waits for the only response and the outcome.
func (t *typed[Out, In]) CloseAndRecv(ctx context.Context) (*In, error) {
	if err := t.CloseSend(ctx); err != nil {
		return nil, err
	}
	v, err := t.Recv(ctx)
	if err == io.EOF {
		return nil, errorf(Protocol, "the server closed without a response")
	}
	if err != nil {
		return nil, err
	}
	switch more, err := t.Recv(ctx); {
	case more != nil:
		e := errorf(Protocol, "the server sent more than one response")
		t.Cancel(e)
		return nil, e
	case !errors.Is(err, io.EOF):
		return nil, err
	}
	return v, nil
}
