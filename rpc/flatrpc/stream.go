package flatrpc

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds streams, on both sides.

// Receiver receives the messages of a stream. It is for one goroutine at a
// time, beside the one that sends.
type Receiver[P any] struct {
	s     *rpc.MessageStream
	check func(in rpc.Message) ([]byte, error) // what verifies a message, and makes it one of FlatBuffers
	root  func(message []byte) P
}

// Recv waits for a message and returns its root, which owns its bytes. [io.EOF] says that
// the other side has sent its last one; other errors are the stream's outcome, or
// why it ended without one. A message that is refused is a [*rpc.StatusError].
func (r *Receiver[P]) Recv() (P, error) {
	message, err := r.s.RecvOwn(r.s.Context())
	if err == nil {
		message, err = r.check(rpc.Message{Type: r.s.Type, Body: message})
	}
	if err != nil {
		var none P
		return none, err
	}
	return r.root(message), nil
}

// View is [Receiver.Recv] for those who need a message for a moment only: read is given
// its root, which is valid until read returns, and whose memory is used again then. An error of read is
// returned as it is.
func (r *Receiver[P]) View(read func(message P) error) error {
	return r.s.Recv(r.s.Context(), func(b []byte) error {
		message, err := r.check(rpc.Message{Type: r.s.Type, Body: b})
		if err != nil {
			return err
		}
		return read(r.root(message))
	})
}

// Sender sends the messages of a stream. It is for one goroutine at a time,
// beside the one that receives.
type Sender struct {
	s *rpc.MessageStream
	m *method // of a server, nil on a client

	// Of a client.
	lent  *flatbuf.Builder // that NewBuilder has returned last
	spare bool             // and that Send has got back
}

// keptSpare is the memory in bytes of the largest builder that a stream keeps.
const keptSpare = 64 << 10

// NewBuilder returns an empty Builder for a message to send, which Send gives back.
func (s *Sender) NewBuilder() *flatbuf.Builder {
	switch {
	case s.m != nil:
		return s.m.builders.Get()
	case !s.spare:
		s.lent = new(flatbuf.Builder)
	}
	s.spare = false
	return s.lent
}

// done takes the builder of a message back that has been sent, or cannot be.
func (s *Sender) done(b *flatbuf.Builder) {
	if b != s.lent {
		b.Release()
		return
	}
	b.Reset()
	if s.spare = cap(b.Bytes) <= keptSpare; !s.spare {
		s.lent = nil
	}
}

// Send sends the finished message of b, once the other side has room for it. b is
// the stream's from then on, whatever Send returns: it is released when Send returns.
func (s *Sender) Send(b *flatbuf.Builder) error {
	if b == nil {
		return errNoReply
	}
	defer s.done(b)
	message := b.FinishedBytes()
	if s.s.Type == transport.FlatBuffers {
		return s.s.SendBytes(s.s.Context(), message)
	}
	return s.s.Send(s.s.Context(), func(dst []byte) ([]byte, error) {
		return s.m.converters[s.s.Type].AppendBody(dst, message)
	})
}

// streamMethod returns a method that serves streams by serve.
func streamMethod[T any, P Table[T]](m *method, usable bool, serve func(ctx context.Context, in *Receiver[P], out *Sender) error) rpc.Method {
	out := rpc.Method{Name: m.name, Data: m, Untold: m.untold()}
	if m.verifier == nil || !usable {
		return out
	}
	out.MessageStream = func(ctx context.Context, s *rpc.MessageStream) error {
		if err := m.serves(s.Type); err != nil {
			return err
		}
		return serve(ctx, &Receiver[P]{s, m.request, root[T, P]}, &Sender{s: s, m: m})
	}
	return out
}

// ServerStream returns a method that answers one request with any number of
// messages. The stream ends when the handler returns, with its error, if it has one, as
// the outcome; when the client has gone or given up, ctx ends. It is otherwise as [Unary].
func ServerStream[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(ctx context.Context, req P, out *Sender) error, opts ...Option) rpc.Method {
	m := newMethod(name, v, opts)
	return streamMethod(m, handler != nil, func(ctx context.Context, in *Receiver[P], out *Sender) error {
		req, err := in.Recv()
		if err == io.EOF {
			return &rpc.StatusError{Code: trpc.ServerDecode, Message: "the client closed without a request"}
		}
		if err != nil {
			return err
		}
		return handler(ctx, req, out)
	})
}

// ClientStream is [ServerStream] for a method that takes any number of
// messages and answers with one.
func ClientStream[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(ctx context.Context, in *Receiver[P]) (*flatbuf.Builder, error), opts ...Option) rpc.Method {
	m := newMethod(name, v, opts)
	return streamMethod(m, handler != nil, func(ctx context.Context, in *Receiver[P], out *Sender) error {
		reply, err := handler(ctx, in)
		if err != nil {
			reply.Release()
			return err
		}
		if reply == nil {
			return &rpc.StatusError{Code: trpc.ServerEncode, Message: errNoReply.Error()}
		}
		return out.Send(reply)
	})
}

// Bidi is [ServerStream] for a method both of whose sides send any number of messages.
func Bidi[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(ctx context.Context, in *Receiver[P], out *Sender) error, opts ...Option) rpc.Method {
	return streamMethod(newMethod(name, v, opts), handler != nil, handler)
}

// Duplex is a client's side of a stream on which both sides send.
type Duplex[P any] struct {
	Receiver[P]
	Sender
}

// CloseSend tells the server that no more messages will be sent.
func (d *Duplex[P]) CloseSend() error { return d.Sender.s.CloseSend(d.Sender.s.Context()) }

// Close gives the stream up, unless it has ended.
func (d *Duplex[P]) Close() { d.Sender.s.Cancel(nil) }

// Trailer returns what the server sent beside its outcome, once Recv has returned an error.
func (d *Duplex[P]) Trailer() map[string]string { return d.Sender.s.Trailer() }

// Download is a client's side of a stream on which the server sends.
type Download[P any] struct{ d *Duplex[P] }

// Recv is that of [Receiver].
func (d *Download[P]) Recv() (P, error) { return d.d.Recv() }

// View is that of [Receiver].
func (d *Download[P]) View(read func(message P) error) error { return d.d.View(read) }

// Close gives the stream up, unless it has ended.
func (d *Download[P]) Close() { d.d.Close() }

// Trailer returns what the server sent beside its outcome, once Recv has returned an error.
func (d *Download[P]) Trailer() map[string]string { return d.d.Trailer() }

// Upload is a client's side of a stream on which the client sends, and the
// server answers once.
type Upload[P any] struct{ d *Duplex[P] }

// Send is that of [Sender]. When the server has ended the stream, it returns an error;
// CloseAndRecv tells which outcome that was.
func (u *Upload[P]) Send(b *flatbuf.Builder) error { return u.d.Send(b) }

// CloseAndRecv says that no more messages come, and waits for the reply and the outcome.
func (u *Upload[P]) CloseAndRecv() (P, error) {
	var none P
	if err := u.d.CloseSend(); err != nil {
		return none, err
	}
	reply, err := u.d.Recv()
	if err == io.EOF {
		return none, errors.New("flatrpc: the server closed without a reply")
	}
	if err != nil {
		return none, err
	}
	switch _, err := u.d.Recv(); err {
	case io.EOF:
		return reply, nil
	case nil:
		u.d.Close()
		return none, errors.New("flatrpc: the server sent more than one reply")
	default:
		return none, err
	}
}

// Close gives the stream up, unless it has ended.
func (u *Upload[P]) Close() { u.d.Close() }

// OpenBidi opens a stream of a method both of whose sides send. v verifies what
// the server sends. Who stops to receive before the end must end ctx, or Close the stream.
func OpenBidi[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, v *flatbuf.Verifier) (*Duplex[P], error) {
	opener, ok := c.(rpc.MessageStreamer)
	if !ok {
		return nil, fmt.Errorf("flatrpc: %T opens no streams", c)
	}
	s, err := opener.OpenMessageStream(ctx, &rpc.MessageStreamCall{Method: method, Type: transport.FlatBuffers})
	if err != nil {
		return nil, err
	}
	check := func(in rpc.Message) ([]byte, error) {
		if err := v.Verify(in.Body); err != nil {
			err = &rpc.StatusError{Code: trpc.ClientDecode, Message: err.Error()}
			s.Cancel(err)
			return nil, err
		}
		return in.Body, nil
	}
	return &Duplex[P]{Receiver[P]{s, check, root[T, P]}, Sender{s: s}}, nil
}

// OpenServerStream calls a method with the finished message of req and returns
// what the server answers. req is the caller's again when it returns. It is otherwise as [OpenBidi].
func OpenServerStream[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, req *flatbuf.Builder, v *flatbuf.Verifier) (*Download[P], error) {
	d, err := OpenBidi[T, P](ctx, c, method, v)
	if err != nil {
		return nil, err
	}
	err = d.Sender.s.SendBytes(ctx, req.FinishedBytes())
	if err == nil {
		err = d.CloseSend()
	}
	if err != nil && !d.hasOutcome(err) {
		d.Close()
		return nil, err
	}
	return &Download[P]{d}, nil
}

// hasOutcome reports whether err is the outcome of the stream, which Recv returns.
func (d *Duplex[P]) hasOutcome(err error) bool {
	var status *rpc.StatusError
	var biz *rpc.BizStatus
	return err == io.EOF || errors.As(err, &status) || errors.As(err, &biz)
}

// OpenClientStream opens a stream of a method that the server answers once. It
// is otherwise as [OpenBidi].
func OpenClientStream[T any, P Table[T]](ctx context.Context, c rpc.MessageCaller, method string, v *flatbuf.Verifier) (*Upload[P], error) {
	d, err := OpenBidi[T, P](ctx, c, method, v)
	if err != nil {
		return nil, err
	}
	return &Upload[P]{d}, nil
}
