package generic

import (
	"fmt"
	"strconv"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the errors of calls.

// Exception is a declared exception: the error of a call that ended with it, and
// what a handler returns to end a call with it. [Throw] and [ThrowJSON] make one.
type Exception struct {
	Field *schema.Field // of the method's throws clause
	// Value is the exception, which aliases nothing. Of one made by ThrowJSON it
	// does not exist.
	Value dynamic.Value
	// JSON holds the exception's fields if the call was made with JSON.
	JSON []byte
}

// Name returns the name of the exception's type.
func (e *Exception) Name() string {
	if e.Field == nil {
		return "of no type"
	}
	return e.Field.Type().String()
}

// Error names the exception and shows what it says.
func (e *Exception) Error() string {
	text := "exception " + e.Name()
	if e.JSON != nil {
		return text + " " + string(e.JSON)
	}
	if v, err := e.Value.Any(); err == nil {
		text += fmt.Sprint(" ", v)
	}
	return text
}

// Throw returns an [*Exception] for a handler to return: one that m declares under
// that name or of the type of that name, with fields as [dynamic.AppendAny] takes
// them. If there is none, or the fields do not fit, it returns the *diag.Fault instead.
func Throw(m *schema.Method, name string, fields any) error {
	f, err := thrown(m, name)
	if err != nil {
		return err
	}
	b, err := dynamic.AppendAny(nil, f.Type(), fields)
	if err != nil {
		return err
	}
	return &Exception{Field: f, Value: dynamic.NewValue(f.Type(), b)}
}

// ThrowJSON is Throw with a JSON object of the fields, for a [JSONHandler]. Fields
// that do not fit are found when the handler has returned.
func ThrowJSON(m *schema.Method, name string, fields []byte) error {
	f, err := thrown(m, name)
	if err != nil {
		return err
	}
	return &Exception{Field: f, JSON: fields}
}

// thrown finds an exception that m declares.
func thrown(m *schema.Method, name string) (*schema.Field, error) {
	for _, f := range m.Throws() {
		if f.Name() == name {
			return f, nil
		}
	}
	for _, f := range m.Throws() {
		if f.Type().Struct().Name() == name {
			return f, nil
		}
	}
	return nil, diag.NewFault(diag.UnknownField, -1, m.Name()+" declares no exception "+strconv.Quote(name))
}

// ArgumentError says that the arguments do not fit the method; nothing was sent.
type ArgumentError struct{ Err error } // usually a *diag.Fault

func (e *ArgumentError) Error() string { return "arguments: " + e.Err.Error() }
func (e *ArgumentError) Unwrap() error { return e.Err }

// ReplyError says that the reply does not fit the schema.
type ReplyError struct{ Err error } // usually a *diag.Fault

func (e *ReplyError) Error() string { return "reply: " + e.Err.Error() }
func (e *ReplyError) Unwrap() error { return e.Err }
