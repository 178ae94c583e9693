package rpc

import (
	"context"
	"time"

	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds what generated code and the rest of Thrum see: callers and
// services on encoded bytes.

// Caller makes calls. [*Client] is one; generated clients and the gateway call
// on one. Implementations are safe for concurrent use.
type Caller interface {
	// Invoke makes one call and returns when its reply has been read, or, for
	// a oneway call, when it has been handed to the network. An exception that
	// the server reports as a TApplicationException is an [*ApplicationException];
	// other failures of a [*Client] are an [*Error].
	Invoke(ctx context.Context, call *Invocation) error
}

// Invocation is one call on encoded bytes.
type Invocation struct {
	Service string // name in Apache's multiplexed protocol; "" calls the bare method name
	Method  string
	Oneway  bool // ends when it has been sent; what Apache's servers say of a method that they do not know is ignored

	// AppendArgs appends the args struct in the binary protocol. It runs
	// before Invoke returns: once, or again, with the same result and never twice at a time, for each
	// further attempt of a Caller that repeats calls. nil sends an empty struct.
	AppendArgs func(dst []byte) ([]byte, error)
	// ReadResult decodes the result struct at the front of b. It runs at most
	// once, before Invoke returns; b is valid until it returns. nil ignores
	// the result, as a oneway call does.
	ReadResult func(b []byte) error
}

// Service is a named set of methods, which [Server.Register] takes.
type Service struct {
	Name    string
	Methods []Method

	// Unknown, unless it is nil, returns the method that serves the calls of a
	// name that is not in Methods, or nil if there is none. oneway says that the
	// client wants no reply. A bare name leads here if no service has the method
	// and no other service has Unknown. Unknown holds up what else arrives on the
	// connection, and must be safe for concurrent use.
	Unknown func(method string, oneway bool) *Method
}

// Method is one method of a Service on encoded bytes. [Unary], [Oneway] and
// their kin make one from a function on Go structs.
//
// A method has up to three forms, of which the first that is not nil serves: Callback,
// Future, Serve. What makes methods from functions on Go structs sets none of them, but its own. All must be safe for concurrent use. Arguments and results
// are structs in the binary protocol, whichever the client speaks. Errors that
// reach the client are sent as they are if they are an [*ApplicationException] (found
// by errors.As), else as InternalError with their text.
type Method struct {
	Name   string
	Oneway bool // no reply is ever sent, and the context of a call does not end when its client goes

	// Callback runs on the connection's loop: nothing else of the connection is
	// read or written until it returns, so it must not wait for anything. It
	// answers by r, then or later, from any goroutine. args is valid until then.
	Callback func(args []byte, r Responder)

	// Future runs on a worker, and answers by r, then or later, from any
	// goroutine; the worker is free when it returns. args is valid until the answer.
	Future func(ctx context.Context, args []byte, r Responder)

	// Serve runs on a worker. It decodes the args struct at the front of args,
	// runs the method and appends the result struct to dst, which it must not
	// shorten. args and dst are valid until Serve returns.
	Serve func(ctx context.Context, args, dst []byte) ([]byte, error)

	// Message serves a method whose arguments and result are messages of a format of
	// their own: FlatBuffers, Protobuf, JSON. It runs on a worker. A method has either this
	// or the forms above. It is called as "/Service/Method", over tRPC and gRPC; the Thrift dialects do
	// not see it. Package flatrpc makes such methods of functions on FlatBuffers.
	Message MessageHandler

	// MessageCallback serves such a method on the connection's loop, beside or instead of Message: if
	// it is not nil, it serves.
	MessageCallback MessageCallbackHandler

	// MessageStream serves a method that streams such messages, instead of Message, on
	// a goroutine of its own.
	MessageStream MessageStreamHandler

	// Stream serves a method that streams, instead of all of these, on a
	// goroutine of its own. The stream ends when it returns, with its error as the outcome.
	Stream func(ctx context.Context, s *stream.Stream) error

	// Untold is the format of the messages of a client that does not name one, as those of gRPC with the
	// plain content type application/grpc; Protobuf if it is zero.
	Untold transport.ContentType

	Priority Priority      // of calls whose client names none; 0 for Normal
	Expiry   time.Duration // instead of the server's TaskExpiry; 0 for that, less for never

	// Data is for who makes the method, who finds it again by CallInfo.Data.
	Data any

	typed   typedForms
	head    string // of a call's message in the binary protocol, by the bare name
	form    methodForm
	service string // that has the method
	unknown bool   // it is of Service.Unknown
	err     error  // why the method cannot be served; Register reports it
}

// methodForm is the form in which a method is served.
type methodForm uint8

const (
	formNone methodForm = iota
	formCallback
	formFuture
	formPlain
	formStream
)

// onMessages reports whether the method is one on messages.
func (m *Method) onMessages() bool {
	return m.Message != nil || m.MessageCallback != nil || m.MessageStream != nil
}

// choose returns the form in which the method is served.
func (m *Method) choose() methodForm {
	switch {
	case m.Callback != nil || m.typed.callback != nil || m.MessageCallback != nil:
		return formCallback
	case m.Future != nil || m.typed.future != nil:
		return formFuture
	case m.Serve != nil || m.typed.plain != nil || m.Message != nil || m.MessageStream != nil:
		return formPlain
	case m.Stream != nil:
		return formStream
	}
	return formNone
}

// Multiplexed returns a Caller that makes the calls of c under the name of a
// service, as Apache's TMultiplexedProtocol does, unless a call names one
// itself. Several services can so share one connection.
func Multiplexed(c Caller, service string) Caller { return multiplexed{c, service} }

type multiplexed struct {
	Caller
	service string
}

func (m multiplexed) Invoke(ctx context.Context, call *Invocation) error {
	if call.Service != "" {
		return m.Caller.Invoke(ctx, call)
	}
	named := *call
	named.Service = m.service
	return m.Caller.Invoke(ctx, &named)
}

func (m multiplexed) OpenStream(ctx context.Context, call *StreamCall) (*stream.Stream, error) {
	named := *call
	named.Service = m.service
	return open(ctx, m.Caller, &named)
}
