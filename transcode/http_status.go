package transcode

import (
	"fmt"
	"strconv"

	"github.com/thrum-rpc/thrum/schema"
)

// This file holds the statuses of replies.

const (
	statusOK            = 200
	statusAccepted      = 202
	statusNoContent     = 204
	statusResetContent  = 205
	statusUnprocessable = 422
	statusServerError   = 500
	statusUnavailable   = 503
)

// SuccessStatus returns the status of a method's success: its api.http_code,
// else 202 for a oneway method, 204 for one that returns nothing, 200 for others.
func SuccessStatus(m *schema.Method) (int, error) {
	usual, void := statusOK, m.Returns().Kind() == schema.Void
	switch {
	case m.Oneway():
		usual = statusAccepted
	case void:
		usual = statusNoContent
	}
	status, err := annotatedStatus(m.Annotations(), usual, 200, 299)
	if err == nil && !void && (status == statusNoContent || status == statusResetContent) {
		return 0, fmt.Errorf("api.http_code = %d leaves no room for the result", status)
	}
	return status, err
}

// ExceptionStatus returns the status of a declared exception, given by its
// field of the throws clause: the api.http_code of that, else of the exception, else 422; but
// 500 for fbthrift's server exceptions, and 503 for those that are transient.
func ExceptionStatus(f *schema.Field) (int, error) {
	a := f.Type().Struct().Annotations()
	usual := statusUnprocessable
	if a.Has("server") {
		usual = statusServerError
		if a.Has("transient") {
			usual = statusUnavailable
		}
	}
	status, err := annotatedStatus(a, usual, 400, 599)
	if err != nil {
		return 0, err
	}
	return annotatedStatus(f.Annotations(), status, 400, 599)
}

// annotatedStatus returns the status that api.http_code in a asks for.
func annotatedStatus(a schema.Annotations, usual, low, high int) (int, error) {
	v, ok := a.Get("api.http_code")
	if !ok {
		return usual, nil
	}
	status, err := strconv.Atoi(v.Value)
	if err != nil || status < low || status > high {
		return 0, fmt.Errorf("api.http_code = %q is no status from %d to %d", v.Value, low, high)
	}
	return status, nil
}
