package rpc

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// This file holds TApplicationException, the error of the Thrift protocol itself.

// ApplicationException is Thrift's TApplicationException: the reply to a call
// that failed without a declared exception.
type ApplicationException struct {
	Message string
	Type    int32
	code    string // fbthrift's, which came in a header beside the exception; empty for none
}

// keyExceptionCode is the header that says more closely than the type why a
// server has not answered otherwise.
const keyExceptionCode = "ex"

// Refused reports whether the server said that it has not begun to run the
// call, so that repeating it elsewhere is safe. fbthrift's codes say so (overload, full queues and time in
// them, quota, stopping), and the type LoadShedding does, where headers carry no code.
func (e *ApplicationException) Refused() bool {
	switch e.code {
	case "1", "5", "15", "22", "32":
		return true
	case "":
		return e.Type == LoadShedding
	}
	return false
}

// The types of an [ApplicationException]. Those from LoadShedding on are
// fbthrift's; other peers pass them on as numbers.
const (
	UnknownError          int32 = 0
	UnknownMethod         int32 = 1
	InvalidMessageType    int32 = 2
	WrongMethodName       int32 = 3
	BadSequenceID         int32 = 4
	MissingResult         int32 = 5
	InternalError         int32 = 6
	ProtocolError         int32 = 7
	InvalidTransform      int32 = 8
	InvalidProtocol       int32 = 9
	UnsupportedClientType int32 = 10
	LoadShedding          int32 = 11 // Apache Thrift uses 11 for VALIDATION_FAILED
	Timeout               int32 = 12
)

var exceptionNames = [...]string{
	"unknown error", "unknown method", "invalid message type", "wrong method name", "bad sequence id",
	"missing result", "internal error", "protocol error", "invalid transform", "invalid protocol",
	"unsupported client type", "load shedding", "timeout",
}

// Error renders the type's name and the message.
func (e *ApplicationException) Error() string {
	name := "exception type " + strconv.Itoa(int(e.Type))
	if e.Type >= 0 && int(e.Type) < len(exceptionNames) {
		name = exceptionNames[e.Type]
	}
	if e.Message == "" {
		return name
	}
	return name + ": " + e.Message
}

// maxExceptionText bounds the message of an exception that a server sends, in bytes.
const maxExceptionText = 8 << 10

// append appends e as a struct of the binary protocol.
func (e *ApplicationException) append(b []byte) []byte {
	text := e.Message
	if len(text) > maxExceptionText {
		text = strings.ToValidUTF8(text[:maxExceptionText], "")
	}
	b = thriftwire.AppendField(b, thriftwire.String, 1)
	b = thriftwire.AppendString(b, text)
	b = thriftwire.AppendField(b, thriftwire.I32, 2)
	b = thriftwire.AppendI32(b, e.Type)
	return thriftwire.AppendStop(b)
}

// consumeException reads an ApplicationException; unknown fields are skipped.
func consumeException(b []byte) (*ApplicationException, error) {
	e := new(ApplicationException)
	for {
		t, id, n := thriftwire.ConsumeField(b)
		if n < 0 {
			return nil, thriftwire.Error(n)
		}
		b = b[n:]
		switch {
		case t == thriftwire.Stop:
			return e, nil
		case id == 1 && t == thriftwire.String:
			var text []byte
			text, n = thriftwire.ConsumeBytes(b)
			e.Message = string(text)
		case id == 2 && t == thriftwire.I32:
			e.Type, n = thriftwire.ConsumeI32(b)
		default:
			n = thriftwire.Skip(b, t, thriftwire.MaxDepth)
		}
		if n < 0 {
			return nil, thriftwire.Error(n)
		}
		b = b[n:]
	}
}

// exceptionf returns an ApplicationException with a formatted message.
func exceptionf(t int32, format string, args ...any) *ApplicationException {
	return &ApplicationException{Type: t, Message: fmt.Sprintf(format, args...)}
}

// asException returns what the client is told about a handler's error.
func asException(err error) *ApplicationException {
	var e *ApplicationException
	if errors.As(err, &e) && e != nil {
		return e
	}
	return &ApplicationException{Type: InternalError, Message: err.Error()}
}
