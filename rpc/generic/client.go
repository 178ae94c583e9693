package generic

import (
	"context"
	"fmt"
	"strconv"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds calls.

// Client calls the methods of a service by its schema. It is safe for
// concurrent use.
type Client struct {
	caller  rpc.Caller
	service atomic.Pointer[schema.Service]
}

// New makes a client that calls methods of s on caller. A service of several
// on one server is chosen by [rpc.Multiplexed].
func New(caller rpc.Caller, s *schema.Service) *Client {
	c := &Client{caller: caller}
	c.service.Store(s)
	return c
}

// Replace gives the client a new schema. Calls that have begun end with the
// old one; none fails because of it.
func (c *Client) Replace(s *schema.Service) { c.service.Store(s) }

// Service returns the schema in use.
func (c *Client) Service() *schema.Service { return c.service.Load() }

// Exception is the error of a call that ended with a declared exception.
type Exception struct {
	Field *schema.Field // of the method's throws clause
	Value dynamic.Value // the exception; it aliases nothing
}

// Error names the exception and shows what it says.
func (e *Exception) Error() string {
	text := "exception " + e.Field.Type().String()
	if v, err := e.Value.Any(); err == nil {
		text += fmt.Sprint(" ", v)
	}
	return text
}

// Call calls a method with its arguments by name, as [dynamic.AppendAny] takes
// them for the struct of the arguments, and returns the result as
// [dynamic.Value.Any] gives it, nil for a method that returns nothing. A declared
// exception is an [*Exception]; arguments and results that do not fit the schema are
// a *diag.Fault, other errors those of [rpc.Caller].
func (c *Client) Call(ctx context.Context, method string, args map[string]any) (any, error) {
	m, err := c.method(method)
	if err != nil {
		return nil, err
	}
	encoded, err := dynamic.AppendAny(nil, m.Args().Type(), args)
	if err != nil {
		return nil, err
	}
	v, err := c.invoke(ctx, m, encoded)
	if err != nil || !v.Exists() {
		return nil, err
	}
	return v.Any()
}

// CallEncoded is Call with the struct of the arguments encoded in the binary
// protocol. It is sent as it is, if it is one whole struct. The result does not exist for a method
// that returns nothing; it aliases neither args nor the connection's memory.
func (c *Client) CallEncoded(ctx context.Context, method string, args []byte) (dynamic.Value, error) {
	m, err := c.method(method)
	if err != nil {
		return dynamic.Value{}, err
	}
	if err := dynamic.NewNode(thriftwire.Struct, args).Check(); err != nil {
		return dynamic.Value{}, err
	}
	return c.invoke(ctx, m, args)
}

func (c *Client) method(name string) (*schema.Method, error) {
	s := c.service.Load()
	m := s.Method(name)
	if m == nil {
		return nil, &rpc.ApplicationException{Type: rpc.UnknownMethod, Message: s.Name() + " has no method " + strconv.Quote(name)}
	}
	return m, nil
}

func (c *Client) invoke(ctx context.Context, m *schema.Method, args []byte) (dynamic.Value, error) {
	var result dynamic.Value
	var failure error
	call := &rpc.Invocation{
		Method: m.Name(), Oneway: m.Oneway(),
		AppendArgs: func(dst []byte) ([]byte, error) { return append(dst, args...), nil },
	}
	if !m.Oneway() {
		call.ReadResult = func(b []byte) error {
			result, failure = outcome(m, b)
			return nil // the reply was read, whatever it says
		}
	}
	if err := c.caller.Invoke(ctx, call); err != nil {
		return dynamic.Value{}, err
	}
	return result, failure
}

// outcome finds the result or the exception in the result struct at the front
// of b. An exception goes before a result.
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
			thrown = &Exception{f, kept(it.Value())}
		}
	}
	switch {
	case it.Err() != nil:
		return dynamic.Value{}, it.Err()
	case thrown != nil:
		return dynamic.Value{}, thrown
	case !result.Exists() && m.Returns().Kind() != schema.Void:
		return dynamic.Value{}, &rpc.ApplicationException{
			Type: rpc.MissingResult, Message: m.Name() + " returned neither a result nor a declared exception",
		}
	case !result.Exists():
		return dynamic.Value{}, nil
	}
	return kept(result), nil
}

// kept returns a copy of v that outlives the connection's memory.
func kept(v dynamic.Value) dynamic.Value {
	return dynamic.NewValue(v.Type(), append([]byte(nil), v.Raw()...))
}
