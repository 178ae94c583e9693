package grpc

import "strconv"

// This file holds codes and statuses.

// Code is how a call has ended, with gRPC's numbers.
type Code uint32

const (
	OK                 Code = 0
	Canceled           Code = 1
	Unknown            Code = 2
	InvalidArgument    Code = 3
	DeadlineExceeded   Code = 4
	NotFound           Code = 5
	AlreadyExists      Code = 6
	PermissionDenied   Code = 7
	ResourceExhausted  Code = 8
	FailedPrecondition Code = 9
	Aborted            Code = 10
	OutOfRange         Code = 11
	Unimplemented      Code = 12
	Internal           Code = 13
	Unavailable        Code = 14
	DataLoss           Code = 15
	Unauthenticated    Code = 16
)

var codeNames = [...]string{"ok", "canceled", "unknown", "invalid argument", "deadline exceeded", "not found", "already exists",
	"permission denied", "resource exhausted", "failed precondition", "aborted", "out of range", "unimplemented", "internal",
	"unavailable", "data loss", "unauthenticated"}

// String returns the code's name, such as "not found".
func (c Code) String() string {
	if int64(c) < int64(len(codeNames)) {
		return codeNames[c]
	}
	return "code " + strconv.FormatUint(uint64(c), 10)
}

// ParseCode reads the field grpc-status. What is no code of gRPC's is Unknown, as
// the specification has it.
func ParseCode(text string) Code {
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil || n >= uint64(len(codeNames)) {
		return Unknown
	}
	return Code(n)
}

// Status is a call that has ended with another code than OK. A handler that
// returns one has it sent as it is.
type Status struct {
	Code    Code
	Message string
	Details []byte // of the field grpc-status-details-bin: a google.rpc.Status in Protobuf; may be nil
}

// Error renders the code and the message.
func (s *Status) Error() string {
	if s.Message == "" {
		return s.Code.String()
	}
	return s.Code.String() + ": " + s.Message
}

// CodeOfHTTP returns the code that stands for the status of an answer which is
// none of gRPC's, from a proxy for example.
func CodeOfHTTP(status int) Code {
	switch status {
	case 400:
		return Internal
	case 401:
		return Unauthenticated
	case 403:
		return PermissionDenied
	case 404:
		return Unimplemented
	case 429, 502, 503, 504:
		return Unavailable
	}
	return Unknown
}
