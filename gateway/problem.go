package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/generic"
	"github.com/thrum-rpc/thrum/transcode"
)

// This file turns errors into problem documents.

// ProblemType is the media type of a [Problem].
const ProblemType = "application/problem+json"

// Problem is a problem document of RFC 9457, the body of every reply with an
// error. Type is "about:blank" where the status says all, and
// "urn:problem-type:exception:" with the exception's name for a declared exception.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"` // the request's path

	// Of input that is refused: a stable code (see diag.Code), the path in the
	// arguments, and where the value came from.
	Code      string     `json:"code,omitempty"`
	Path      string     `json:"path,omitempty"`
	Offset    *int       `json:"offset,omitempty"` // in the body, in bytes
	Parameter *Parameter `json:"parameter,omitempty"`

	// Exception holds the fields of a declared exception.
	Exception json.RawMessage `json:"exception,omitempty"`
}

// Parameter is a part of a request.
type Parameter struct {
	In   string `json:"in"` // path, query, header, cookie, form, raw_body or raw_uri
	Name string `json:"name,omitempty"`
}

// failure is an error of the gateway itself with its status.
type failure struct {
	status int
	detail string
}

func (f *failure) Error() string { return f.detail }

// problem describes err; tell says whether undeclared errors of a service are
// shown.
func problem(err error, tell bool) *Problem {
	var (
		own       *failure
		part      *transcode.PartError
		argument  *generic.ArgumentError
		exception *generic.Exception
		reply     *generic.ReplyError
		app       *rpc.ApplicationException
		business  *rpc.BizStatus // as undeclared as app: its codes are the application's
		transport *rpc.Error
	)
	switch {
	case errors.As(err, &own):
		return plain(own.status, own.detail)
	case errors.As(err, &part):
		p := faultProblem(part.Fault)
		p.Parameter = &Parameter{part.Place.String(), part.Name}
		return p
	case errors.As(err, &argument):
		return argumentProblem(argument.Err)
	case errors.As(err, &exception):
		return exceptionProblem(exception)
	case errors.As(err, &reply):
		p := faultProblem(reply.Err)
		p.Status, p.Title = http.StatusBadGateway, http.StatusText(http.StatusBadGateway)
		p.Detail = "the service's reply does not fit its schema: " + p.Detail
		return p
	case errors.As(err, &app):
		return undeclared(applicationStatus(app.Type), app, tell)
	case errors.As(err, &business):
		return undeclared(http.StatusInternalServerError, business, tell)
	case errors.Is(err, context.DeadlineExceeded):
		return plain(http.StatusGatewayTimeout, "the service did not answer in time")
	case errors.As(err, &transport) && transport.Stage == rpc.StageEncode:
		return plain(http.StatusRequestEntityTooLarge, "the arguments are too large for the service")
	case errors.As(err, &transport) && transport.Stage == rpc.StageQueue:
		return plain(http.StatusServiceUnavailable, "too many calls wait for the service")
	default:
		// The cause may hold addresses, which are not the caller's business;
		// Report has it.
		return plain(http.StatusBadGateway, "the service cannot be reached")
	}
}

// undeclared describes an error that a method does not declare.
func undeclared(status int, err error, tell bool) *Problem {
	if status == http.StatusInternalServerError && !tell {
		return plain(status, "the service failed")
	}
	return plain(status, err.Error())
}

func plain(status int, detail string) *Problem {
	return &Problem{Type: "about:blank", Title: http.StatusText(status), Status: status, Detail: detail}
}

// faultProblem describes input that is refused, without its place.
func faultProblem(err error) *Problem {
	p := plain(http.StatusBadRequest, err.Error())
	var f *diag.Fault
	if errors.As(err, &f) {
		p.Detail, p.Code, p.Path = f.Detail, f.Code.String(), f.Path()
	}
	return p
}

// argumentProblem describes a fault in the body, or arguments that are missing.
func argumentProblem(err error) *Problem {
	p := faultProblem(err)
	var f *diag.Fault
	if errors.As(err, &f) && f.Offset >= 0 {
		p.Offset = &f.Offset
	}
	return p
}

func exceptionProblem(e *generic.Exception) *Problem {
	status, err := transcode.ExceptionStatus(e.Field)
	if err != nil { // New has refused such annotations
		status = http.StatusInternalServerError
	}
	p := plain(status, exceptionMessage(e))
	p.Type, p.Title = "urn:problem-type:exception:"+e.Name(), e.Name()
	p.Exception = e.JSON
	return p
}

// exceptionMessage returns the text of the exception's field message, "" if it
// has none.
func exceptionMessage(e *generic.Exception) string {
	name := e.Field.Type().Struct().Annotations().Value("message") // fbthrift's way to name it
	if name == "" {
		name = "message"
	}
	var fields map[string]json.RawMessage
	var text string
	if json.Unmarshal(e.JSON, &fields) != nil || json.Unmarshal(fields[name], &text) != nil {
		return ""
	}
	return strings.TrimSpace(text)
}

// applicationStatus returns the status for a TApplicationException.
func applicationStatus(t int32) int {
	const (
		quota          = 16 // fbthrift
		unknownService = 20 // Kitex
		noService      = 21 // Kitex
	)
	switch t {
	case rpc.UnknownMethod, unknownService, noService:
		return http.StatusNotImplemented
	case rpc.UnknownError, rpc.InternalError:
		return http.StatusInternalServerError
	case rpc.LoadShedding:
		return http.StatusServiceUnavailable
	case rpc.Timeout:
		return http.StatusGatewayTimeout
	case quota:
		return http.StatusTooManyRequests
	default:
		return http.StatusBadGateway
	}
}
