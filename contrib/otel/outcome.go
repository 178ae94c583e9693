package otelthrum

import (
	"context"
	"errors"
	"strconv"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds how a call has ended, and what spans and measurements say of it.

// outcome is how a call has ended.
type outcome struct {
	kind      string // error.type, "" for a success
	code      string // rpc.response.status_code, "" for none
	text      string // of the error
	fault     bool   // the span's status is an error
	exception int16  // the field of the declared exception, 0 for none
}

// exceptionNames are the types of a TApplicationException as Apache's and fbthrift's IDL spell them.
var exceptionNames = [...]string{
	rpc.UnknownError: "UNKNOWN", rpc.UnknownMethod: "UNKNOWN_METHOD", rpc.InvalidMessageType: "INVALID_MESSAGE_TYPE",
	rpc.WrongMethodName: "WRONG_METHOD_NAME", rpc.BadSequenceID: "BAD_SEQUENCE_ID", rpc.MissingResult: "MISSING_RESULT",
	rpc.InternalError: "INTERNAL_ERROR", rpc.ProtocolError: "PROTOCOL_ERROR", rpc.InvalidTransform: "INVALID_TRANSFORM",
	rpc.InvalidProtocol: "INVALID_PROTOCOL", rpc.UnsupportedClientType: "UNSUPPORTED_CLIENT_TYPE",
	rpc.LoadShedding: "LOADSHEDDING", rpc.Timeout: "TIMEOUT",
}

// exceptionName returns the name of a type. Those of no name share one, as a peer may send any number.
func exceptionName(t int32) string {
	if t >= 0 && int(t) < len(exceptionNames) {
		return exceptionNames[t]
	}
	return other
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
	var status *rpc.BizStatus
	var exception *rpc.ApplicationException
	var stage *rpc.Error
	switch {
	case errors.As(err, &status) && status != nil:
		out := outcome{code: strconv.Itoa(int(status.Code))}
		if o.exceptions {
			out.kind, out.text, out.fault = "biz_status", status.Message, true
		}
		return out
	case errors.As(err, &exception) && exception != nil:
		name := exceptionName(exception.Type)
		return outcome{kind: name, code: strconv.Itoa(int(exception.Type)), text: exception.Message, fault: true}
	case errors.Is(err, context.DeadlineExceeded):
		return outcome{kind: "timeout", text: err.Error(), fault: true}
	case errors.Is(err, context.Canceled):
		return outcome{kind: "canceled", text: err.Error(), fault: true}
	case errors.As(err, &stage) && stage != nil:
		return outcome{kind: stage.Stage.String(), text: err.Error(), fault: true}
	}
	return outcome{kind: other, text: err.Error(), fault: true}
}

// failedHere is the outcome of a call with an error, seen by the server.
func (o *options) failedHere(err error) outcome {
	out := o.failed(err)
	var exception *rpc.ApplicationException
	switch {
	case errors.As(err, &exception) && exception != nil:
		out.fault = !clientsFault(exception.Type)
	case out.kind == "canceled":
		out.fault = false
	case out.kind != "" && out.kind != "timeout" && out.kind != "biz_status": // the client is told so
		out.kind, out.code = exceptionNames[rpc.InternalError], strconv.Itoa(int(rpc.InternalError))
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
