package rpc

import (
	"bytes"
	"context"

	"github.com/thrum-rpc/thrum/codec"
)

// This file joins the calls on bytes to tagged Go structs. Generated code
// uses nothing else of this package's server and client.

// Unary returns a method that decodes its args struct to A, calls fn, and
// encodes the result struct R: fn sets the success field or that of a declared
// exception. Args that cannot be decoded are answered with ProtocolError, an
// error of fn as Method.Serve says. Fields of A that the client leaves out
// have the values that the method InitDefault of A sets. What fn keeps of args
// is its own; nothing aliases the network's buffers. A type that codec does
// not take makes [Server.Register] fail.
func Unary[A, R any](name string, fn func(ctx context.Context, args *A, result *R) error) Method {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return Method{Name: name, err: err}
	}
	resultCodec, err := codec.For[R]()
	if err != nil {
		return Method{Name: name, err: err}
	}
	return Method{Name: name, Serve: func(ctx context.Context, b, dst []byte) ([]byte, error) {
		args, err := decodeArgs(argsCodec, b)
		if err != nil {
			return dst, err
		}
		var result R
		if err := fn(ctx, args, &result); err != nil {
			return dst, err
		}
		return resultCodec.Append(dst, &result)
	}}
}

// Oneway is Unary for a method that has no reply. Its errors reach the
// server's log only.
func Oneway[A any](name string, fn func(ctx context.Context, args *A) error) Method {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return Method{Name: name, Oneway: true, err: err}
	}
	return Method{Name: name, Oneway: true, Serve: func(ctx context.Context, b, dst []byte) ([]byte, error) {
		args, err := decodeArgs(argsCodec, b)
		if err != nil {
			return dst, err
		}
		return dst, fn(ctx, args)
	}}
}

func decodeArgs[A any](c *codec.Codec[A], b []byte) (*A, error) {
	args := new(A)
	if d, ok := any(args).(interface{ InitDefault() }); ok {
		d.InitDefault()
	}
	if err := decode(c, b, args); err != nil {
		return nil, &ApplicationException{Type: ProtocolError, Message: "cannot decode the arguments: " + err.Error()}
	}
	return args, nil
}

// decode fills v from b, which is a view of the network's buffers and will be
// used again: fields tagged nocopy alias a copy of the message instead.
func decode[T any](c *codec.Codec[T], b []byte, v *T) error {
	if c.Aliases() {
		b = bytes.Clone(b)
	}
	_, err := c.Unmarshal(b, v)
	return err
}

// Call calls a method with the args struct A and decodes the result struct
// into result. Declared exceptions are fields of result, not errors; errors
// are those of [Caller].
func Call[A, R any](ctx context.Context, c Caller, name string, args *A, result *R) error {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	resultCodec, err := codec.For[R]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	return c.Invoke(ctx, &Invocation{
		Method:     name,
		AppendArgs: func(dst []byte) ([]byte, error) { return argsCodec.Append(dst, args) },
		ReadResult: func(b []byte) error { return decode(resultCodec, b, result) },
	})
}

// Send calls a oneway method. A nil error means that the request was handed
// to the network, not that the server has seen it.
func Send[A any](ctx context.Context, c Caller, name string, args *A) error {
	argsCodec, err := codec.For[A]()
	if err != nil {
		return &Error{Stage: StageEncode, Method: name, Err: err}
	}
	return c.Invoke(ctx, &Invocation{
		Method:     name,
		Oneway:     true,
		AppendArgs: func(dst []byte) ([]byte, error) { return argsCodec.Append(dst, args) },
	})
}
