package rpc

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/thrum-rpc/thrum/rpc/transport"
	"github.com/thrum-rpc/thrum/rpc/transport/grpc"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
)

// This file holds methods whose arguments and results are messages of a format
// of their own, rather than structs of Thrift.

// Message is the body of a request or of a reply.
type Message struct {
	Type transport.ContentType // the format of Body
	Body []byte

	// Owner, unless it is nil, is told when nobody needs Body any more: when a
	// reply has been written, or never will be.
	Owner Releaser
}

// Releaser is what memory goes back to.
type Releaser interface{ Release() }

// release tells the owner that nobody needs the body.
func (m *Message) release() {
	if m.Owner != nil {
		m.Owner.Release()
	}
}

// MessageHandler serves calls of a method on messages. in.Body is valid until
// it returns, or, if the result is a view of it, until that has been written. The result's body is
// sent from where it is if it is large, and must not change before Owner is told.
type MessageHandler func(ctx context.Context, in Message) (out Message, err error)

// addMessage adds a method on messages under construction.
func (r *registry) addMessage(s *Service, m *Method) error {
	if m.Serve != nil || m.Future != nil || m.Callback != nil || m.typed.plain != nil || m.typed.future != nil || m.typed.callback != nil ||
		m.MessageStream != nil && (m.Message != nil || m.MessageCallback != nil) {
		return fmt.Errorf("rpc: register: %s.%s is a method of two kinds", s.Name, m.Name)
	}
	if s.Name == "" || strings.Contains(s.Name, "/") || strings.Contains(m.Name, "/") {
		return fmt.Errorf("rpc: register: %q in %q: a method on messages is called by the name of its service, and neither contains \"/\"", m.Name, s.Name)
	}
	r.entries["/"+s.Name+"/"+m.Name] = entry{method: m}
	return nil
}

// lookupMessage finds the method on messages that a client calls as "/Service/Method".
func (r *registry) lookupMessage(name []byte) (*Method, *StatusError) {
	if e, ok := r.entries[string(name)]; ok && len(name) > 0 && name[0] == '/' {
		return e.method, nil
	}
	service, _, _ := strings.Cut(strings.TrimPrefix(string(name), "/"), "/")
	for _, s := range r.services {
		if s.Name == service {
			return nil, &StatusError{Code: trpc.NoFunc, Message: fmt.Sprintf("no method %q here", clip(name))}
		}
	}
	return nil, &StatusError{Code: trpc.NoService, Message: fmt.Sprintf("no service for %q here", clip(name))}
}

// StatusError is a call on messages that failed in the framework, on either
// side of it, with tRPC's code for that. A handler that returns one has it
// sent as it is; over gRPC with the nearest code. Failures of the application are a [BizStatus].
//
// What comes over gRPC has the nearest code of tRPC, and errors.As finds the [*grpc.Status] in it. A
// handler may return one of these, too.
type StatusError struct {
	Code    trpc.Code
	Message string

	app  int32        // the application's code instead, on its way
	wire *grpc.Status // as gRPC has it, if it came so or is to be sent so
	biz  *BizStatus   // that app is the code of; may be nil
	code string       // over gRPC, whose codes do not say whether the call was begun: that of an ApplicationException
}

// Error renders the code's meaning, gRPC's where tRPC has no such code, and the message.
func (e *StatusError) Error() string {
	meaning := e.Code.String()
	if e.Code == trpc.Unknown && e.wire != nil && e.wire.Code != grpc.Unknown {
		meaning = e.wire.Code.String()
	}
	if e.Message == "" {
		return meaning
	}
	return meaning + ": " + e.Message
}

// As makes errors.As find an [*ApplicationException], or a [*grpc.Status], of the same meaning.
func (e *StatusError) As(target any) bool {
	switch to := target.(type) {
	case **ApplicationException:
		*to = &ApplicationException{Type: exceptionOf(e.Code), Message: e.Message, code: e.code}
	case **grpc.Status:
		*to = grpcStatus(e)
	default:
		return false
	}
	return true
}

// exceptionOf returns the type of exception that comes nearest to a code.
func exceptionOf(c trpc.Code) int32 {
	switch c {
	case trpc.NoService, trpc.NoFunc:
		return UnknownMethod
	case trpc.ServerDecode, trpc.ServerValidate:
		return ProtocolError
	case trpc.ServerTimeout, trpc.ServerFullLink:
		return Timeout
	case trpc.ServerOverload, trpc.ServerLimited:
		return LoadShedding
	case trpc.ServerSystem, trpc.ServerEncode:
		return InternalError
	}
	return UnknownError
}

// codeOf returns the code that comes nearest to a type of exception.
func codeOf(exception int32) trpc.Code {
	switch exception {
	case UnknownMethod:
		return trpc.NoFunc
	case ProtocolError, InvalidMessageType, InvalidProtocol, InvalidTransform:
		return trpc.ServerDecode
	case MissingResult:
		return trpc.ServerEncode
	case LoadShedding:
		return trpc.ServerOverload
	case Timeout:
		return trpc.ServerTimeout
	case UnsupportedClientType:
		return trpc.ServerAuth
	}
	return trpc.ServerSystem
}

// statusOf returns what a client of tRPC is told of a handler's error.
func statusOf(err error) *StatusError {
	var status *StatusError
	if errors.As(err, &status) && status != nil {
		return status
	}
	if b, ok := bizStatus(err); ok {
		return &StatusError{app: b.Code, Message: b.Message, biz: b}
	}
	var wire *grpc.Status
	if errors.As(err, &wire) && wire != nil {
		status = statusError(wire)
		if status.Code == trpc.Unknown { // the application's, with gRPC's number
			status.Code, status.app = trpc.OK, int32(wire.Code)
		}
		return status
	}
	var tooLarge *tooLargeError
	if errors.As(err, &tooLarge) {
		return &StatusError{Code: trpc.ServerEncode, Message: err.Error(), wire: &grpc.Status{Code: grpc.ResourceExhausted, Message: err.Error()}}
	}
	var e *ApplicationException
	if errors.As(err, &e) && e != nil {
		return &StatusError{Code: codeOf(e.Type), Message: e.Message}
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return &StatusError{Code: trpc.ServerFullLink, Message: err.Error()}
	}
	return &StatusError{app: int32(trpc.Unknown), Message: err.Error()}
}

// status returns what a client of tRPC is told of a refusal.
func (r refusal) status(call *serverCall) *StatusError {
	if r.told != nil {
		return r.told
	}
	e, _ := r.reply()
	code := codeOf(e.Type)
	switch r.cause {
	case RefusedRate:
		code = trpc.ServerLimited
	case RefusedStopping:
		code = trpc.ServerOverload // others may serve it
	case RefusedExpired:
		if call.timeout > 0 {
			code = trpc.ServerFullLink
		}
	}
	return &StatusError{Code: code, Message: e.Message}
}
