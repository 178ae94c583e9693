package generic

import (
	"context"
	"errors"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds services of one function.

// Handler runs a method. args is the struct of the arguments as it came, which
// has not been read yet; it is valid until the handler returns. The result is what
// [dynamic.AppendAny] takes for the type that the method returns, such as a
// [dynamic.Value] that is passed on, or nil if it returns nothing. An error that is an
// [*Exception] which the method declares becomes that exception, any other error what
// [rpc.Method] says. A Handler must be safe for concurrent use.
type Handler func(ctx context.Context, m *schema.Method, args dynamic.Value) (any, error)

// MapHandler is a Handler whose arguments are Go values by name, as
// [dynamic.Value.Any] gives them; those that the client left out are absent.
type MapHandler func(ctx context.Context, m *schema.Method, args map[string]any) (any, error)

// JSONHandler is a Handler whose arguments are a JSON object, which it may
// keep, and whose result is the JSON of what the method returns, nil if it returns
// nothing.
type JSONHandler func(ctx context.Context, m *schema.Method, args []byte) ([]byte, error)

// Serve makes a service whose methods, inherited ones too, are all run by one
// handler. Methods that stream are left out. To serve a new schema, give the service that
// Serve makes of it to [rpc.Server.Replace]; with it a method keeps the schema it began with.
func Serve(s *schema.Service, handler Handler) *rpc.Service {
	return serveAll(s, func(m *schema.Method) serveFunc {
		return func(ctx context.Context, args, dst []byte) ([]byte, error) {
			result, err := handler(ctx, m, dynamic.NewValue(m.Args().Type(), args))
			return appendOutcome(dst, m, result, err)
		}
	})
}

// ServeMaps is Serve for a handler that takes and returns Go values. Arguments
// that do not fit the schema are answered with ProtocolError.
func ServeMaps(s *schema.Service, handler MapHandler) *rpc.Service {
	return Serve(s, func(ctx context.Context, m *schema.Method, args dynamic.Value) (any, error) {
		v, err := args.Any()
		if err != nil {
			return nil, badArguments(err)
		}
		return handler(ctx, m, v.(map[string]any)) // what a struct with a schema becomes
	})
}

// ServeJSON is Serve for a handler that takes and returns JSON. Arguments that
// do not fit the schema are answered with ProtocolError. The error is a *diag.Fault for a
// type that has no JSON.
func ServeJSON(s *schema.Service, handler JSONHandler, opts ...Option) (*rpc.Service, error) {
	o := newOptions(opts)
	all := make(map[*schema.Method]*transcode.Method)
	for _, m := range s.AllMethods() {
		if m.Stream() != nil {
			continue
		}
		conv, err := transcode.NewMethod(m, o.conversion...)
		if err != nil {
			return nil, err
		}
		all[m] = conv
	}
	return serveAll(s, func(m *schema.Method) serveFunc {
		conv := all[m]
		return func(ctx context.Context, args, dst []byte) ([]byte, error) {
			text, _, err := conv.AppendArgsJSON(nil, args)
			if err != nil {
				return dst, badArguments(err)
			}
			result, err := handler(ctx, m, text)
			return appendJSONOutcome(dst, conv, result, err)
		}
	}), nil
}

type serveFunc = func(ctx context.Context, args, dst []byte) ([]byte, error)

func serveAll(s *schema.Service, serve func(*schema.Method) serveFunc) *rpc.Service {
	out := &rpc.Service{Name: s.Name()}
	for _, m := range s.AllMethods() {
		if m.Stream() == nil {
			out.Methods = append(out.Methods, rpc.Method{Name: m.Name(), Oneway: m.Oneway(), Serve: serve(m)})
		}
	}
	return out
}

// badArguments is what the client is told about arguments that cannot be read.
func badArguments(err error) error {
	return &rpc.ApplicationException{Type: rpc.ProtocolError, Message: "cannot decode the arguments: " + err.Error()}
}

// appendOutcome appends the result struct of a method that a handler has run.
func appendOutcome(dst []byte, m *schema.Method, result any, err error) ([]byte, error) {
	if m.Oneway() {
		return dst, err
	}
	field := m.Result().FieldByID(0)
	thrown, err := declared(m, err)
	switch {
	case err != nil:
		return dst, err
	case thrown != nil:
		field, result = thrown.Field, thrown.Value
	case field == nil && result != nil:
		return dst, returnsNothing(m)
	}
	fields := map[int16]any{}
	if field != nil && result != nil {
		fields[int16(field.ID())] = result
	}
	return dynamic.AppendAny(dst, m.Result().Type(), fields)
}

// appendJSONOutcome is the same with a result in JSON.
func appendJSONOutcome(dst []byte, conv *transcode.Method, result []byte, err error) ([]byte, error) {
	m := conv.Schema()
	if m.Oneway() {
		return dst, err
	}
	field := m.Result().FieldByID(0)
	thrown, err := declared(m, err)
	switch {
	case err != nil:
		return dst, err
	case thrown != nil && thrown.Value.Exists():
		return appendOutcome(dst, m, nil, thrown)
	case thrown != nil:
		return conv.AppendResultThrift(dst, thrown.Field, thrown.JSON)
	case result == nil:
		return conv.AppendResultThrift(dst, nil, nil)
	case field == nil:
		return dst, returnsNothing(m)
	default:
		return conv.AppendResultThrift(dst, field, result)
	}
}

func returnsNothing(m *schema.Method) error {
	return diag.NewFault(diag.InvalidValue, -1, m.Name()+" returns nothing")
}

// declared returns the exception in err if the method declares it, with the
// method's own field, and any other error as it is.
func declared(m *schema.Method, err error) (*Exception, error) {
	var e *Exception
	if !errors.As(err, &e) || e.Field == nil || e.Field.ID() == 0 {
		return nil, err
	}
	f := m.Result().FieldByID(e.Field.ID())
	if f == nil || f.Type().Kind() != e.Field.Type().Kind() {
		return nil, err
	}
	return &Exception{Field: f, Value: e.Value, JSON: e.JSON}, nil
}
