package flatrpc

import (
	"context"
	"errors"
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds methods of servers.

// Table is a pointer to the generated accessor type of a table.
type Table[T any] interface {
	*T
	flatbuf.FlatBuffer
}

// Option changes how a method is served.
type Option interface{ apply(*method) }

type option func(*method)

func (o option) apply(m *method) { o(m) }

// InitialSize is the size in bytes of the memory that the method's first
// builders start with; by default it is learnt from the first replies.
func InitialSize(bytes int) Option {
	return option(func(m *method) { m.builders.InitialSize = bytes })
}

// Converter converts bodies of another format. It is safe for concurrent use.
type Converter interface {
	// AppendMessage appends the FlatBuffers message that a request in the other format says.
	AppendMessage(dst, body []byte) ([]byte, error)
	// AppendBody appends a reply, which is a FlatBuffers message, in the other format.
	AppendBody(dst, message []byte) ([]byte, error)
}

// Accept makes a method serve bodies of another format too, such as
// transport.JSON or transport.Protobuf. Replies are in the format of their call.
func Accept(t transport.ContentType, c Converter) Option {
	return option(func(m *method) {
		if m.converters == nil {
			m.converters = map[transport.ContentType]Converter{}
		}
		m.converters[t] = c
	})
}

// ForEach makes one option for a whole service of options that differ by method: of
// is asked for each by its name.
func ForEach(of func(method string) []Option) Option {
	return option(func(m *method) {
		for _, o := range of(m.name) {
			o.apply(m)
		}
	})
}

// AcceptJSON makes a method serve JSON too. Requests are converted by req and
// replies by reply, such as the Converters of package flatjson for the two messages.
func AcceptJSON(req MessageReader, reply JSONWriter) Option {
	return Accept(transport.JSON, jsonConverter{req, reply})
}

// AcceptProtobuf makes a method serve Protobuf too. Requests are converted by req and
// replies by reply, such as the Converters of package flatproto for the two messages. Over gRPC the plain content type
// application/grpc means Protobuf then.
func AcceptProtobuf(req MessageReader, reply BodyWriter) Option {
	return Accept(transport.Protobuf, protobufConverter{req, reply})
}

// BodyWriter makes Protobuf of messages. It is safe for concurrent use.
type BodyWriter interface {
	AppendBody(dst, message []byte) ([]byte, error)
}

type protobufConverter struct {
	MessageReader
	reply BodyWriter
}

func (c protobufConverter) AppendBody(dst, message []byte) ([]byte, error) {
	return c.reply.AppendBody(dst, message)
}

// MessageReader makes messages of bodies in another format. It is safe for concurrent use.
type MessageReader interface {
	AppendMessage(dst, body []byte) ([]byte, error)
}

// JSONWriter makes JSON of messages. It is safe for concurrent use.
type JSONWriter interface {
	AppendJSON(dst, message []byte) ([]byte, error)
}

type jsonConverter struct {
	MessageReader
	reply JSONWriter
}

func (c jsonConverter) AppendBody(dst, message []byte) ([]byte, error) {
	return c.reply.AppendJSON(dst, message)
}

// method is what all calls of a method share.
type method struct {
	name       string
	verifier   *flatbuf.Verifier
	builders   flatbuf.Pool
	converters map[transport.ContentType]Converter
}

func newMethod(name string, v *flatbuf.Verifier, opts []Option) *method {
	m := &method{name: name, verifier: v}
	for _, o := range opts {
		o.apply(m)
	}
	return m
}

// untold returns the format of messages that do not name one: what gRPC means by that if
// the method takes it, else that of FlatBuffers' own gRPC in other languages.
func (m *method) untold() transport.ContentType {
	if m.converters[transport.Protobuf] != nil {
		return transport.Protobuf
	}
	return transport.FlatBuffers
}

// Unary returns a method that answers each request with one reply. v verifies requests; without one,
// or without a handler, Register refuses the method.
//
// req is valid until the handler returns. The Builder holds a finished message, and is
// the server's from then on. An error is sent as package rpc says: a [*rpc.BizStatus] with the application's
// code, a [*rpc.StatusError] with the framework's, any other with the code trpc.Unknown of the
// application.
func Unary[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(ctx context.Context, req P) (*flatbuf.Builder, error), opts ...Option) rpc.Method {
	m := newMethod(name, v, opts)
	out := rpc.Method{Name: name, Data: m, Untold: m.untold()}
	if v == nil || handler == nil {
		return out
	}
	out.Message = func(ctx context.Context, in rpc.Message) (rpc.Message, error) {
		message, err := m.request(in)
		if err != nil {
			return rpc.Message{}, err
		}
		reply, err := handler(ctx, root[T, P](message))
		if err != nil {
			reply.Release()
			return rpc.Message{}, err
		}
		return m.reply(in.Type, reply)
	}
	return out
}

// Oneway returns a method that is never answered. It is otherwise as [Unary].
func Oneway[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(ctx context.Context, req P) error, opts ...Option) rpc.Method {
	m := newMethod(name, v, opts)
	out := rpc.Method{Name: name, Oneway: true, Data: m, Untold: m.untold()}
	if v == nil || handler == nil {
		return out
	}
	out.Message = func(ctx context.Context, in rpc.Message) (rpc.Message, error) {
		message, err := m.request(in)
		if err == nil {
			err = handler(ctx, root[T, P](message))
		}
		return rpc.Message{}, err
	}
	return out
}

// root returns the accessor of a message's root.
func root[T any, P Table[T]](message []byte) P {
	p := P(new(T))
	flatbuf.GetRootAs(message, 0, p)
	return p
}

// request returns the message of a request, verified.
func (m *method) request(in rpc.Message) ([]byte, error) {
	body := in.Body
	if in.Type != transport.FlatBuffers {
		err := m.serves(in.Type)
		if err != nil {
			return nil, err
		}
		if body, err = m.converters[in.Type].AppendMessage(nil, body); err != nil {
			return nil, decoding(err)
		}
	}
	if err := m.verifier.Verify(body); err != nil {
		return nil, decoding(err)
	}
	return body, nil
}

// serves tells why the method takes no messages of a format, if it does not.
func (m *method) serves(t transport.ContentType) error {
	if t == transport.FlatBuffers || m.converters[t] != nil {
		return nil
	}
	return &rpc.StatusError{Code: trpc.ServerDecode, Message: fmt.Sprintf("%s takes no body in %s", m.name, t)}
}

func decoding(err error) error {
	return &rpc.StatusError{Code: trpc.ServerDecode, Message: "cannot decode the request: " + err.Error()}
}

// errNoReply is the failure of a handler that returns neither a reply nor an error.
var errNoReply = errors.New("the handler returned no message")

// reply returns what answers a call in the format t.
func (m *method) reply(t transport.ContentType, b *flatbuf.Builder) (rpc.Message, error) {
	if b == nil {
		return rpc.Message{}, &rpc.StatusError{Code: trpc.ServerEncode, Message: errNoReply.Error()}
	}
	message := b.FinishedBytes()
	if t == transport.FlatBuffers {
		return rpc.Message{Type: t, Body: message, Owner: b}, nil
	}
	body, err := m.converters[t].AppendBody(nil, message)
	b.Release()
	if err != nil {
		return rpc.Message{}, &rpc.StatusError{Code: trpc.ServerEncode, Message: err.Error()}
	}
	return rpc.Message{Type: t, Body: body}, nil
}

// NewBuilder returns an empty Builder for the reply of the call whose handler
// got ctx, or a context made from it. It has room for a reply of the usual size
// of the method, and goes back to the method's pool when the reply has been sent.
// In another context it is a plain new Builder.
func NewBuilder(ctx context.Context) *flatbuf.Builder {
	if info, ok := rpc.Info(ctx); ok {
		if m, ok := info.Data().(*method); ok {
			return m.builders.Get()
		}
	}
	return new(flatbuf.Builder)
}
