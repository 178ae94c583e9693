package stream

import (
	"context"
	"errors"
	"fmt"
)

// This file holds the errors of streams.

// Code is why a stream ended without an outcome.
type Code uint8

const (
	Cancelled        Code = iota + 1 // the user's context was cancelled
	DeadlineExceeded                 // its deadline has passed
	Overflow                         // the peer sent more than may be queued
	Expired                          // the peer took nothing for too long
	Idle                             // no message came or went for too long
	Lost                             // the connection has ended
	Protocol                         // the peer broke the protocol
	Reset                            // the peer ended the stream at once
	Refused                          // the peer, or this side, does not serve the stream
	Ended                            // the stream had ended
	Misuse                           // this side's user did what cannot be done, as to send after CloseSend
)

var codeNames = [...]string{"error", "cancelled", "deadline exceeded", "overflow", "expired", "idle",
	"connection lost", "protocol error", "reset", "refused", "ended", "misuse"}

// String returns the name of c, such as "connection lost".
func (c Code) String() string {
	if int(c) < len(codeNames) {
		return codeNames[c]
	}
	return fmt.Sprintf("code %d", uint8(c))
}

// Error is why a stream ended, or could not do what it was asked for. It
// unwraps to its cause.
type Error struct {
	Code   Code
	Remote bool  // the peer said so
	Err    error // the cause; may be nil
}

// Error renders the code and the cause.
func (e *Error) Error() string {
	text := "stream: " + e.Code.String()
	if e.Remote {
		text += " by the peer"
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	return text
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }

// errorf returns an Error with a cause that is a text.
func errorf(c Code, format string, args ...any) *Error {
	return &Error{Code: c, Err: fmt.Errorf(format, args...)}
}

// errorOf returns the reason for which a stream ends as an Error.
func errorOf(err error) *Error {
	var e *Error
	switch {
	case errors.As(err, &e):
		return e
	case errors.Is(err, context.DeadlineExceeded):
		return &Error{Code: DeadlineExceeded, Err: err}
	}
	return &Error{Code: Cancelled, Err: err}
}
