package flatgeneric

import (
	"context"

	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode/flatjson"
)

// This file makes services.

// Handler serves unary methods. req is valid until it returns; reply is what
// flatbuffers.Make takes. Errors are sent as package flatrpc says.
type Handler func(ctx context.Context, m *schema.Method, req flatbuffers.Value) (reply any, err error)

// JSONHandler is Handler with JSON.
type JSONHandler func(ctx context.Context, m *schema.Method, req []byte) (reply []byte, err error)

// StreamHandler serves methods that stream. The stream ends when it returns, with its error,
// if it has one, as the outcome. Where the method has one request, that is the first message; where
// it has one reply, the handler sends one.
type StreamHandler func(ctx context.Context, m *schema.Method, s *Stream) error

// Serve makes a service whose unary methods are run by one handler and those that
// stream by another; methods whose handler is nil are left out. Clients may send
// FlatBuffers, JSON, or Protobuf as package flatproto has it. opts say how the JSON is.
func Serve(s *schema.Service, unary Handler, streams StreamHandler, opts ...flatjson.Option) (*rpc.Service, error) {
	if unary == nil {
		return serve(s, nil, streams, opts)
	}
	return serve(s, func(ctx context.Context, m *Method, req *root, reply *flatbuf.Builder) error {
		x, err := unary(ctx, m.def, m.send.value(req))
		if err != nil {
			return err
		}
		return flatbuffers.Build(reply, m.recv.def, x)
	}, streams, opts)
}

// ServeJSON is Serve for a handler that takes and returns JSON.
func ServeJSON(s *schema.Service, unary JSONHandler, streams StreamHandler, opts ...flatjson.Option) (*rpc.Service, error) {
	if unary == nil {
		return serve(s, nil, streams, opts)
	}
	return serve(s, func(ctx context.Context, m *Method, req *root, reply *flatbuf.Builder) error {
		text, err := m.send.json.AppendJSON(nil, req.t.Bytes)
		if err != nil {
			return err
		}
		if text, err = unary(ctx, m.def, text); err != nil {
			return err
		}
		return m.recv.json.BuildMessage(reply, text)
	}, streams, opts)
}

// serve makes a service of a function that finishes the reply in a Builder.
func serve(s *schema.Service, unary func(context.Context, *Method, *root, *flatbuf.Builder) error, streams StreamHandler, opts []flatjson.Option) (*rpc.Service, error) {
	out := &rpc.Service{Name: s.FullName()}
	for _, def := range s.AllMethods() {
		m, err := NewMethod(def, opts...)
		if err != nil {
			return nil, err
		}
		accept := m.bodies()
		switch {
		case def.Stream() != nil && streams != nil:
			out.Methods = append(out.Methods, flatrpc.Bidi(def.Name(), m.send.verifier,
				func(ctx context.Context, in *flatrpc.Receiver[*root], send *flatrpc.Sender) error {
					return streams(ctx, def, &Stream{in: in, out: send, recv: m.send, send: m.recv})
				}, accept...))
		case def.Stream() == nil && unary != nil:
			out.Methods = append(out.Methods, flatrpc.Unary(def.Name(), m.send.verifier,
				func(ctx context.Context, req *root) (*flatbuf.Builder, error) {
					b := flatrpc.NewBuilder(ctx)
					if err := unary(ctx, m, req, b); err != nil {
						return b, err
					}
					return b, nil
				}, accept...))
		}
	}
	return out, nil
}
