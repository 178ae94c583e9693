package gateway

import (
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file calls one method with JSON; it knows nothing of HTTP.

// Method calls one method of a service with JSON. It is compiled from the
// schema, immutable and safe for concurrent use.
type Method struct {
	def  *schema.Method
	conv *transcode.Method
}

// Exception is a declared exception that a service answered with.
type Exception struct {
	Field *schema.Field // of the throws clause; its type is the exception's
	JSON  []byte        // the exception's fields
}

// Error renders the exception's name and fields.
func (e *Exception) Error() string { return e.Name() + " " + string(e.JSON) }

// Name returns the name of the exception's type.
func (e *Exception) Name() string { return e.Field.Type().Struct().Name() }

// ArgumentError says that the arguments do not fit the method; nothing was sent.
type ArgumentError struct{ Err error } // usually a *diag.Fault

func (e *ArgumentError) Error() string { return "arguments: " + e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

// ReplyError says that the reply does not fit the schema.
type ReplyError struct{ Err error } // usually a *diag.Fault

func (e *ReplyError) Error() string { return "reply: " + e.Err.Error() }
func (e *ReplyError) Unwrap() error { return e.Err }

// NewMethod compiles m. Methods that stream are not supported.
func NewMethod(m *schema.Method, opts ...transcode.Option) (*Method, error) {
	if m.Stream() != nil {
		return nil, fmt.Errorf("%s.%s streams, which JSON calls cannot", m.Service().Name(), m.Name())
	}
	opts = append([]transcode.Option{transcode.NonFinite(transcode.NonFiniteStrings)}, opts...)
	conv, err := transcode.NewMethod(m, opts...)
	return &Method{m, conv}, err
}

// Call calls the method with a JSON object of its arguments and returns the
// JSON of its result, nil for a method that returns nothing. service is the
// name for a multiplexed server, "" for others. Errors are an
// [*ArgumentError], an [*Exception], a [*ReplyError] or what backend returned.
func (c *Method) Call(ctx context.Context, backend rpc.Caller, service string, args []byte) ([]byte, error) {
	encoded, err := c.conv.AppendArgsThrift(nil, args)
	if err != nil {
		return nil, &ArgumentError{err}
	}
	var result []byte
	var failure error
	call := &rpc.Invocation{
		Service: service, Method: c.def.Name(), Oneway: c.def.Oneway(),
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, encoded...), nil },
	}
	if !call.Oneway {
		call.ReadResult = func(b []byte) error {
			result, failure = c.read(b)
			return failure
		}
	}
	if err := backend.Invoke(ctx, call); failure != nil || err != nil {
		if failure != nil {
			return nil, failure
		}
		return nil, err
	}
	return result, nil
}

// read converts the result struct at the front of b.
func (c *Method) read(b []byte) ([]byte, error) {
	value, field, err := c.conv.AppendResultJSON(nil, b)
	switch {
	case err != nil:
		return nil, &ReplyError{err}
	case field == nil && c.def.Returns().Kind() == schema.Void:
		return nil, nil
	case field == nil:
		return nil, &rpc.ApplicationException{
			Type: rpc.MissingResult, Message: c.def.Name() + " returned neither a result nor a declared exception",
		}
	case field.ID() != 0:
		return nil, &Exception{field, value}
	}
	return value, nil
}
