package otelthrum

import (
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds how a call has ended, and what spans and measurements say of it.

// bizStatus is the type of a business status.
const bizStatus = "biz_status"

// outcome is how a call has ended.
type outcome struct {
	kind      string // error.type, "" for a success
	code      string // rpc.response.status_code, "" for none
	text      string // of the error
	fault     bool   // the span's status is an error
	exception int16  // the field of the declared exception, 0 for none
}

// clientsFault tells whether a call failed for what the client had sent.
func clientsFault(t int32) bool {
	switch t {
	case rpc.UnknownMethod, rpc.InvalidMessageType, rpc.WrongMethodName, rpc.BadSequenceID, rpc.ProtocolError,
		rpc.InvalidTransform, rpc.InvalidProtocol, rpc.UnsupportedClientType:
		return true
	}
	return false
}

// answered is the outcome of a call without an error, which a declared exception may have answered.
func (o *options) answered(exception int16) outcome {
	out := outcome{exception: exception}
	if exception != 0 && o.exceptions {
		out.kind, out.text, out.fault = "exception", "declared exception "+strconv.Itoa(int(exception)), true
	}
	return out
}

// failed is the outcome of a call with an error, seen by the client.
func (o *options) failed(err error) outcome {
	out := outcome{kind: rpc.ErrorType(err), text: err.Error(), fault: true}
	var status *rpc.BizStatus
	var exception *rpc.ApplicationException
	var framework *rpc.StatusError
	switch {
	case out.kind == bizStatus && errors.As(err, &status):
		out.code, out.text = strconv.Itoa(int(status.Code)), status.Message
		if !o.exceptions {
			out.kind, out.text, out.fault = "", "", false
		}
	case errors.As(err, &framework) && framework != nil:
		out.code, out.text = strconv.Itoa(int(framework.Code)), framework.Error()
	case errors.As(err, &exception) && exception != nil:
		out.code, out.text = strconv.Itoa(int(exception.Type)), exception.Message
	}
	return out
}

// failedHere is the outcome of a call with an error, seen by the server.
func (o *options) failedHere(err error) outcome {
	out := o.failed(err)
	var exception *rpc.ApplicationException
	var broken *stream.Error
	switch {
	case errors.As(err, &broken) && broken != nil: // the client has gone, or done what it must not
		out.fault = false
	case errors.As(err, &exception) && exception != nil:
		out.fault = !clientsFault(exception.Type)
	case out.kind == "canceled":
		out.fault = false
	case out.kind != "" && out.kind != "timeout" && out.kind != bizStatus: // the client is told so
		internal := &rpc.ApplicationException{Type: rpc.InternalError}
		out.kind, out.code = rpc.ErrorType(internal), strconv.Itoa(int(internal.Type))
	}
	return out
}

// end ends a span.
func (out *outcome) end(span trace.Span) {
	if span.IsRecording() {
		var attributes [3]attribute.KeyValue
		list := attributes[:0]
		if out.kind != "" {
			list = append(list, keyErrorType.String(out.kind))
		}
		if out.code != "" {
			list = append(list, keyStatusCode.String(out.code))
		}
		if out.exception != 0 {
			list = append(list, keyException.Int(int(out.exception)))
		}
		if len(list) > 0 {
			span.SetAttributes(list...)
		}
		if out.fault {
			span.SetStatus(codes.Error, out.text)
		}
	}
	span.End()
}
