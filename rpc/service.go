package rpc

import "context"

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
	Oneway  bool

	// AppendArgs appends the args struct in the binary protocol. It runs
	// once, before Invoke returns. nil sends an empty struct.
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

// Method is one method of a Service on encoded bytes. [Unary] and [Oneway]
// make one from a function on Go structs.
type Method struct {
	Name   string
	Oneway bool // no reply is ever sent

	// Serve decodes the args struct at the front of args, runs the method and
	// appends the result struct to dst, which it must not shorten. args and
	// dst are valid until Serve returns. A returned [*ApplicationException]
	// (found by errors.As) is sent as it is, any other error as
	// InternalError with the error's text. Serve must be safe for concurrent use.
	Serve func(ctx context.Context, args, dst []byte) ([]byte, error)

	err error // why the method cannot be served; Register reports it
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
