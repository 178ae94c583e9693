package generic

import (
	"context"
	"errors"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file holds calls with HTTP requests and replies.

// HTTP adds options of the conversion between HTTP and Thrift, behind those of
// [Conversion], which it heeds as well.
func HTTP(opts ...transcode.HTTPOption) Option {
	return func(o *options) { o.http = append(o.http, opts...) }
}

// newHTTP compiles a method for HTTP.
func (o *options) newHTTP(m *schema.Method) (*transcode.HTTPMethod, error) {
	all := make([]transcode.HTTPOption, 0, len(o.conversion)+len(o.http))
	for _, c := range o.conversion {
		all = append(all, c)
	}
	return transcode.NewHTTPMethod(m, append(all, o.http...)...)
}

// CompileHTTP compiles what calls with HTTP need, if nothing has yet, and
// reports types and annotations that cannot be.
func (m *Method) CompileHTTP() error {
	_, err := m.http()
	return err
}

// CallHTTP calls the method with what its annotations take from the parts of
// an HTTP request, and makes an HTTP reply of its result: it returns the body, says what that
// is, and gives the rest to resp, a status always among it. On an error resp has
// got nothing; a declared exception is one unless [transcode.ConvertExceptions] is given.
// The request is read before the call is sent, and not kept. What routes lead to is not looked at: that is
// package gateway's.
func (m *Method) CallHTTP(ctx context.Context, caller rpc.Caller, req transcode.HTTPRequest, resp transcode.HTTPResponse) (body []byte, kind transcode.Body, err error) {
	conv, err := m.http()
	if err != nil {
		return nil, transcode.NoBody, err
	}
	encoded, err := conv.AppendArgs(nil, req)
	if err != nil {
		return nil, transcode.NoBody, &ArgumentError{err}
	}
	if m.def.Oneway() {
		if err := m.invoke(ctx, caller, encoded, nil); err != nil {
			return nil, transcode.NoBody, err
		}
		status, err := transcode.SuccessStatus(m.def)
		if err == nil {
			resp.SetStatus(status)
		}
		return nil, transcode.NoBody, err
	}
	err = m.invoke(ctx, caller, encoded, func(b []byte) (err error) {
		body, kind, err = conv.AppendResult(nil, b, resp)
		if err != nil {
			return httpFailure(conv, b, err)
		}
		return nil
	})
	return body, kind, err
}

// httpFailure says what the result struct at the front of b holds instead of
// a result, err being what the conversion says.
func httpFailure(conv *transcode.HTTPMethod, b []byte, err error) error {
	var converted *transcode.Exception
	isException := errors.As(err, &converted)
	_, failure := outcome(conv.Schema(), b)
	var thrown *Exception
	switch {
	case errors.As(failure, &thrown) && isException:
		thrown.JSON = converted.JSON
		return thrown
	case failure != nil && !errors.As(failure, &thrown):
		return failure
	}
	return &ReplyError{err}
}
