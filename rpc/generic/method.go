package generic

import (
	"context"
	"errors"
	"sync"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds one method and its calls.

// Method is a method of a service that can be called with every kind of
// values. It is immutable and safe for concurrent use. What JSON and HTTP need
// is compiled when it is used first.
type Method struct {
	def  *schema.Method
	json func() (*transcode.Method, error)
	http func() (*transcode.HTTPMethod, error)
}

// NewMethod makes a Method of m. It fails with code Unsupported if m streams.
func NewMethod(m *schema.Method, opts ...Option) (*Method, error) {
	return newMethod(m, newOptions(opts))
}

func newMethod(m *schema.Method, o *options) (*Method, error) {
	if m.Stream() != nil {
		return nil, diag.NewFault(diag.Unsupported, -1, m.Service().Name()+"."+m.Name()+" streams, which generic calls cannot")
	}
	return &Method{
		def:  m,
		json: sync.OnceValues(func() (*transcode.Method, error) { return transcode.NewMethod(m, o.conversion...) }),
		http: sync.OnceValues(func() (*transcode.HTTPMethod, error) { return o.newHTTP(m) }),
	}, nil
}

// Schema returns the method's schema.
func (m *Method) Schema() *schema.Method { return m.def }

// CompileJSON compiles what calls with JSON need, if nothing has yet, and
// reports types that have no JSON.
func (m *Method) CompileJSON() error {
	_, err := m.json()
	return err
}

// Call calls the method with its arguments by name, as [dynamic.AppendAny]
// takes them for the struct of the arguments, and returns the result as
// [dynamic.Value.Any] gives it, nil for a method that returns nothing.
func (m *Method) Call(ctx context.Context, caller rpc.Caller, args map[string]any) (any, error) {
	encoded, err := dynamic.AppendAny(nil, m.def.Args().Type(), args)
	if err != nil {
		return nil, &ArgumentError{err}
	}
	var result any
	err = m.invoke(ctx, caller, encoded, func(b []byte) error {
		v, err := outcome(m.def, b)
		if err != nil || !v.Exists() {
			return err
		}
		if result, err = v.Any(); err != nil {
			return &ReplyError{err}
		}
		return nil
	})
	return result, err
}

// CallJSON calls the method with a JSON object of its arguments, which may be
// empty if there are none, and returns the JSON of its result, nil for a method that returns nothing. Types that have no JSON
// are a *diag.Fault with code Unsupported.
func (m *Method) CallJSON(ctx context.Context, caller rpc.Caller, args []byte) ([]byte, error) {
	conv, err := m.json()
	if err != nil {
		return nil, err
	}
	encoded, err := conv.AppendArgsThrift(nil, args)
	if err != nil {
		return nil, &ArgumentError{err}
	}
	var result []byte
	err = m.invoke(ctx, caller, encoded, func(b []byte) (err error) {
		result, err = jsonOutcome(conv, b)
		return err
	})
	return result, err
}

// CallEncoded calls the method with the struct of the arguments encoded in the
// binary protocol. It is sent as it is, if it is one whole struct; its fields are
// not compared with the schema. The result does not exist for a method that returns
// nothing; it aliases neither args nor the connection's memory.
func (m *Method) CallEncoded(ctx context.Context, caller rpc.Caller, args []byte) (dynamic.Value, error) {
	if err := dynamic.NewNode(thriftwire.Struct, args).Check(); err != nil {
		return dynamic.Value{}, &ArgumentError{err}
	}
	return m.callEncoded(ctx, caller, args)
}

// callEncoded is CallEncoded with args that are known to be one whole struct.
func (m *Method) callEncoded(ctx context.Context, caller rpc.Caller, args []byte) (dynamic.Value, error) {
	var result dynamic.Value
	err := m.invoke(ctx, caller, args, func(b []byte) error {
		v, err := outcome(m.def, b)
		if err == nil && v.Exists() {
			result = kept(v)
		}
		return err
	})
	return result, err
}

// invoke makes a call. What read returns is the error of the call, and not one
// of the reply's transport.
func (m *Method) invoke(ctx context.Context, caller rpc.Caller, args []byte, read func(result []byte) error) error {
	var failure error
	call := &rpc.Invocation{
		Method: m.def.Name(), Oneway: m.def.Oneway(),
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
	}
	if !call.Oneway {
		call.ReadResult = func(b []byte) error {
			failure = read(b)
			return nil // the reply was read, whatever it says
		}
	}
	if err := caller.Invoke(ctx, call); err != nil {
		return err
	}
	return failure
}

// outcome finds the result in the result struct at the front of b, which it
// aliases, or the exception. An exception goes before a result.
func outcome(m *schema.Method, b []byte) (dynamic.Value, error) {
	var result dynamic.Value
	var thrown *Exception
	it := dynamic.NewValue(m.Result().Type(), b).Iterate()
	for it.Next() {
		switch f := it.Field(); {
		case f == nil:
		case f.ID() == 0:
			result = it.Value()
		case thrown == nil:
			thrown = &Exception{Field: f, Value: kept(it.Value())}
		}
	}
	switch {
	case it.Err() != nil:
		return dynamic.Value{}, &ReplyError{it.Err()}
	case thrown != nil:
		return dynamic.Value{}, thrown
	case !result.Exists():
		return dynamic.Value{}, missing(m)
	}
	return result, nil
}

// jsonOutcome converts the result in the result struct at the front of b, nil if
// the method returns nothing, or the exception.
func jsonOutcome(conv *transcode.Method, b []byte) ([]byte, error) {
	value, field, err := conv.AppendResultJSON(nil, b)
	switch {
	case err != nil:
		return nil, &ReplyError{err}
	case field == nil:
		return nil, missing(conv.Schema())
	case field.ID() == 0:
		return value, nil
	}
	_, err = outcome(conv.Schema(), b)
	var thrown *Exception
	if errors.As(err, &thrown) {
		thrown.JSON = value
	}
	return nil, err
}

// missing is the error for a result struct without a field, nil if the method
// returns nothing.
func missing(m *schema.Method) error {
	if m.Returns().Kind() == schema.Void {
		return nil
	}
	return &rpc.ApplicationException{
		Type: rpc.MissingResult, Message: m.Name() + " returned neither a result nor a declared exception",
	}
}

// kept returns a copy of v that outlives the connection's memory.
func kept(v dynamic.Value) dynamic.Value {
	return dynamic.NewValue(v.Type(), append([]byte(nil), v.Raw()...))
}
