package rpc

import (
	"context"
	"errors"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds the names of errors for telemetry.

// OtherType is the type of errors that have no name of their own.
const OtherType = "_OTHER"

// typeNames are the types of an ApplicationException as Apache's and fbthrift's IDL spell them.
var typeNames = [...]string{
	"UNKNOWN", "UNKNOWN_METHOD", "INVALID_MESSAGE_TYPE", "WRONG_METHOD_NAME", "BAD_SEQUENCE_ID", "MISSING_RESULT",
	"INTERNAL_ERROR", "PROTOCOL_ERROR", "INVALID_TRANSFORM", "INVALID_PROTOCOL", "UNSUPPORTED_CLIENT_TYPE",
	"LOADSHEDDING", "TIMEOUT",
}

// ErrorType returns the class of a call's error, one of some thirty names, as labels of
// measurements need them: "" for nil, "biz_status" for a [*BizStatus], the name of an
// [*ApplicationException]'s type such as "INTERNAL_ERROR", "timeout" and "canceled" where the context has
// ended, what its code says where a stream ended without an outcome, such as "connection_lost", the [Stage] of
// another [*Error] such as "dial", else [OtherType].
func ErrorType(err error) string {
	var exception *ApplicationException
	var failed *Error
	var broken *stream.Error
	if err == nil {
		return ""
	}
	if _, ok := bizStatus(err); ok {
		return "biz_status"
	}
	if errors.As(err, &exception) && exception != nil {
		if t := exception.Type; t >= 0 && int(t) < len(typeNames) {
			return typeNames[t]
		}
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded):
		return "timeout"
	case errors.Is(err, context.Canceled):
		return "canceled"
	case errors.As(err, &broken) && broken != nil:
		return strings.ReplaceAll(broken.Code.String(), " ", "_")
	case errors.As(err, &failed) && failed != nil:
		return failed.Stage.String()
	}
	return OtherType
}
