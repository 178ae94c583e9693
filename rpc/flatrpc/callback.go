package flatrpc

import (
	"context"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds methods that answer by a callback.

// Reply answers one call of a callback, once, from any goroutine. All of its
// methods that answer report whether they did, see [rpc.Responder].
type Reply struct {
	r rpc.MessageResponder
	m *method
	t transport.ContentType
}

// Context returns the context of the call.
func (r Reply) Context() context.Context { return r.r.Context() }

// NewBuilder returns an empty Builder with room for a reply of the usual size
// of the method, which Result gives back.
func (r Reply) NewBuilder() *flatbuf.Builder { return r.m.builders.Get() }

// Result answers with the finished message of b, which is the server's from
// then on, whatever Result reports.
func (r Reply) Result(b *flatbuf.Builder) bool {
	m, err := r.m.reply(r.t, b)
	if err != nil {
		return r.r.Fail(err)
	}
	return r.r.Reply(m)
}

// Done says that a oneway call has been served.
func (r Reply) Done() bool { return r.r.Done() }

// Fail answers with an error, as a handler of [Unary] that returns it.
func (r Reply) Fail(err error) bool { return r.r.Fail(err) }

// UnaryCallback is [Unary] for a handler that runs on the connection's loop and answers by
// a reply, then or later, from any goroutine: it must not wait for anything. req is valid until the
// call is answered.
func UnaryCallback[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(req P, reply Reply), opts ...Option) rpc.Method {
	m := newMethod(name, v, opts)
	out := rpc.Method{Name: name, Data: m, Untold: m.untold()}
	if v == nil || handler == nil {
		return out
	}
	out.MessageCallback = func(in rpc.Message, r rpc.MessageResponder) {
		message, err := m.request(in)
		if err != nil {
			r.Fail(err)
			return
		}
		handler(root[T, P](message), Reply{r, m, in.Type})
	}
	return out
}

// OnewayCallback is [UnaryCallback] for a method that is never answered. handler says by Done
// or Fail when it has ended.
func OnewayCallback[T any, P Table[T]](name string, v *flatbuf.Verifier, handler func(req P, reply Reply), opts ...Option) rpc.Method {
	m := UnaryCallback(name, v, handler, opts...)
	m.Oneway = true
	return m
}
