package generic

import (
	"context"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds calls that nobody decodes: proxies, and calls without a schema.

// Proxy returns a handler that passes calls on by a client and their replies
// back, neither decoded.
func Proxy(c *Client) Handler {
	return func(ctx context.Context, m *schema.Method, args dynamic.Value) (any, error) {
		whole, err := cut(args.Raw())
		if err != nil {
			return nil, badArguments(err)
		}
		method, err := c.Method(m.Name())
		if err != nil {
			return nil, err
		}
		v, err := method.callEncoded(ctx, c.caller, whole)
		if err != nil || !v.Exists() {
			return nil, err
		}
		return v, nil
	}
}

// Relay makes a service that knows no methods. It passes every call on to the
// caller that choose returns for it, and the reply back, as they came. choose may look
// at args, the struct of the arguments, as far as it needs: the first field costs no
// more than the way to it. Its error is answered as [rpc.Method] says.
//
// A schema is what tells that a method is oneway. Without one, calls that the
// client marks as oneway are passed on as such, and a client that calls a oneway
// method like any other waits for a reply that never comes, until ctx ends.
func Relay(name string, choose func(ctx context.Context, method string, args dynamic.Node) (rpc.Caller, error)) *rpc.Service {
	return &rpc.Service{Name: name, Unknown: func(method string, oneway bool) *rpc.Method {
		return &rpc.Method{Name: method, Oneway: oneway, Serve: func(ctx context.Context, args, dst []byte) ([]byte, error) {
			whole, err := cut(args)
			if err != nil {
				return dst, badArguments(err)
			}
			caller, err := choose(ctx, method, dynamic.NewNode(thriftwire.Struct, whole))
			if err != nil {
				return dst, err
			}
			if oneway {
				return dst, send(ctx, caller, method, whole)
			}
			return appendReply(ctx, caller, method, whole, dst)
		}}
	}}
}

// CallBinary calls a method without a schema: with the struct of the arguments
// in the binary protocol, which is sent as it is if it is one whole struct. It returns the
// result struct, which aliases nothing: field 0 is the result, others are declared
// exceptions. Errors are an [*ArgumentError], a [*ReplyError] and those of [rpc.Caller].
func CallBinary(ctx context.Context, caller rpc.Caller, method string, args []byte) ([]byte, error) {
	if err := dynamic.NewNode(thriftwire.Struct, args).Check(); err != nil {
		return nil, &ArgumentError{err}
	}
	return appendReply(ctx, caller, method, args, nil)
}

// SendBinary is CallBinary for a oneway method.
func SendBinary(ctx context.Context, caller rpc.Caller, method string, args []byte) error {
	if err := dynamic.NewNode(thriftwire.Struct, args).Check(); err != nil {
		return &ArgumentError{err}
	}
	return send(ctx, caller, method, args)
}

func send(ctx context.Context, caller rpc.Caller, method string, args []byte) error {
	return caller.Invoke(ctx, &rpc.Invocation{
		Method: method, Oneway: true,
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
	})
}

// appendReply makes a call and appends the result struct to dst.
func appendReply(ctx context.Context, caller rpc.Caller, method string, args, dst []byte) ([]byte, error) {
	var failure error
	out := dst
	err := caller.Invoke(ctx, &rpc.Invocation{
		Method:     method,
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
		ReadResult: func(b []byte) error {
			whole, err := cut(b)
			if err != nil {
				failure = &ReplyError{err}
				return nil // the reply was read, whatever it says
			}
			out = append(out, whole...)
			return nil
		},
	})
	if err == nil {
		err = failure
	}
	return out, err
}

// maxDepth is the nesting of what is passed on, the same as package dynamic's.
const maxDepth = 1024

// cut returns the struct at the front of b. What a peer sent behind it must not
// reach the next one, where it could pass for another message.
func cut(b []byte) ([]byte, error) {
	n := thriftwire.Skip(b, thriftwire.Struct, maxDepth)
	if n < 0 {
		return nil, dynamic.NewNode(thriftwire.Struct, b).Check() // says the same with its place
	}
	return b[:n], nil
}
