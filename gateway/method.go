package gateway

import (
	"bytes"
	"context"
	"fmt"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file calls one method with JSON; it knows nothing of HTTP.

// Method calls one method of a service with JSON. It is compiled from the
// schema, immutable and safe for concurrent use.
type Method struct {
	def      *schema.Method
	args     *transcode.Converter
	outcomes []outcome
}

// outcome is one field of a method's result: the success or an exception.
type outcome struct {
	field *schema.Field
	conv  *transcode.Converter
	key   []byte // what the converter writes before the value
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
	c := &Method{def: m}
	var err error
	if c.args, err = transcode.New(m.Args(), opts...); err != nil {
		return nil, err
	}
	if m.Result() == nil {
		return c, nil
	}
	for _, f := range m.Result().Fields() {
		// The converter takes structs; a struct of this one field makes it
		// take the field.
		one := schema.NewStruct(schema.DeclSpec{Name: m.Result().Name()}, schema.PlainStruct)
		one.Complete([]*schema.Field{schema.NewField(schema.FieldSpec{
			ID: f.ID(), Name: f.Name(), Type: f.Type(), Requiredness: schema.Optional,
		})})
		conv, err := transcode.New(one, opts...)
		if err != nil {
			return nil, err
		}
		c.outcomes = append(c.outcomes, outcome{f, conv, append([]byte{'{'}, jsonKey(f.Name())...)})
	}
	return c, nil
}

// Call calls the method with a JSON object of its arguments and returns the
// JSON of its result, nil for a method that returns nothing. service is the
// name for a multiplexed server, "" for others. Errors are an
// [*ArgumentError], an [*Exception], a [*ReplyError] or what backend returned.
func (c *Method) Call(ctx context.Context, backend rpc.Caller, service string, args []byte) ([]byte, error) {
	encoded, err := c.args.AppendThrift(nil, args)
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
	found, err := c.find(b)
	if err != nil {
		return nil, &ReplyError{err}
	}
	if found == nil {
		if c.def.Returns().Kind() == schema.Void {
			return nil, nil
		}
		return nil, &rpc.ApplicationException{
			Type: rpc.MissingResult, Message: c.def.Name() + " returned neither a result nor a declared exception",
		}
	}
	out, _, err := found.conv.AppendJSON(nil, b)
	if err != nil {
		return nil, &ReplyError{err}
	}
	value, ok := bytes.CutPrefix(out, found.key)
	if !ok {
		return nil, &ReplyError{diag.NewFault(diag.TypeMismatch, 0, "the field has another type than the schema").Field(found.field.Name())}
	}
	value = value[:len(value)-1]
	if found.field.ID() != 0 {
		return nil, &Exception{found.field, value}
	}
	return value, nil
}

// find returns which outcome the result struct holds, nil if none. An exception
// goes before a success.
func (c *Method) find(b []byte) (*outcome, error) {
	var found *outcome
	for at := 0; ; {
		t, id, n := thriftwire.ConsumeField(b[at:])
		if n < 0 {
			return nil, wireFault(at, n)
		}
		if t == thriftwire.Stop {
			return found, nil
		}
		at += n
		for i := range c.outcomes {
			if o := &c.outcomes[i]; o.field.ID() == int32(id) && (found == nil || found.field.ID() == 0) {
				found = o
			}
		}
		if n = thriftwire.Skip(b[at:], t, thriftwire.MaxDepth); n < 0 {
			return nil, wireFault(at, n)
		}
		at += n
	}
}

func wireFault(at, n int) *diag.Fault {
	code := diag.InvalidData
	switch n {
	case thriftwire.ErrEOF:
		code = diag.UnexpectedEOF
	case thriftwire.ErrLength:
		code = diag.InvalidLength
	case thriftwire.ErrType:
		code = diag.InvalidType
	case thriftwire.ErrDepth:
		code = diag.DepthLimit
	}
	return diag.NewFault(code, at, thriftwire.Error(n).Error())
}
