package generic

import (
	"context"
	"errors"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds serving.

// Handler runs a method. args is the struct of the arguments as it came, which
// has not been read yet; it is valid until the handler returns. The result is what
// [dynamic.AppendAny] takes for the type that the method returns, such as a
// [dynamic.Value] that is passed on, or nil if it returns nothing. An error that is an
// [*Exception] whose field the method declares becomes that exception, any other error what
// [rpc.Method] says. A Handler must be safe for concurrent use.
type Handler func(ctx context.Context, m *schema.Method, args dynamic.Value) (any, error)

// Serve makes a service whose methods, inherited ones too, are all run by one
// handler. To serve a new schema, register the service that Serve makes of it
// anew.
func Serve(s *schema.Service, handler Handler) *rpc.Service {
	out := &rpc.Service{Name: s.Name()}
	for _, m := range s.AllMethods() {
		out.Methods = append(out.Methods, rpc.Method{
			Name: m.Name(), Oneway: m.Oneway(),
			Serve: func(ctx context.Context, args, dst []byte) ([]byte, error) {
				return serve(ctx, m, handler, args, dst)
			},
		})
	}
	return out
}

func serve(ctx context.Context, m *schema.Method, handler Handler, args, dst []byte) ([]byte, error) {
	result, err := handler(ctx, m, dynamic.NewValue(m.Args().Type(), args))
	if m.Oneway() {
		return dst, err
	}
	field := m.Result().FieldByID(0)
	var thrown *Exception
	switch {
	case errors.As(err, &thrown) && thrown.Field != nil && declares(m, thrown.Field):
		field, result = thrown.Field, thrown.Value
	case err != nil:
		return dst, err
	case field == nil && result != nil:
		return dst, diag.NewFault(diag.InvalidValue, -1, m.Name()+" returns nothing")
	}
	fields := map[int16]any{}
	if field != nil && result != nil {
		fields[int16(field.ID())] = result
	}
	return dynamic.AppendAny(dst, m.Result().Type(), fields)
}

// declares reports whether the method throws the exception of a field, of this
// schema or of another one in the same place.
func declares(m *schema.Method, f *schema.Field) bool {
	have := m.Result().FieldByID(f.ID())
	return f.ID() != 0 && have != nil && have.Type().Kind() == f.Type().Kind()
}

// Proxy returns a handler that passes calls on by a client and their replies
// back, neither decoded.
func Proxy(c *Client) Handler {
	return func(ctx context.Context, m *schema.Method, args dynamic.Value) (any, error) {
		n := thriftwire.Skip(args.Raw(), thriftwire.Struct, thriftwire.MaxDepth)
		if n < 0 {
			return nil, args.Check()
		}
		v, err := c.CallEncoded(ctx, m.Name(), args.Raw()[:n])
		if err != nil || !v.Exists() {
			return nil, err
		}
		return v, nil
	}
}
