package rpc

import (
	"errors"
	"strconv"
)

// This file holds the errors of calls that found no reply.

// ErrServerClosed is returned by Serve after Shutdown or Close.
var ErrServerClosed = errors.New("rpc: server closed")

// ErrClientClosed is the cause of calls that end because of Client.Close.
var ErrClientClosed = errors.New("rpc: client closed")

// ErrTooManyCalls is the cause of calls refused by [MaxPending].
var ErrTooManyCalls = errors.New("rpc: too many calls wait for a reply")

// Stage is the part of a call that failed.
type Stage uint8

const (
	StageEncode Stage = iota + 1 // the args could not be encoded, or exceed the frame limit
	StageDial                    // no connection could be made
	StageQueue                   // too many calls wait already
	StageWrite                   // the request could not be sent whole
	StageWait                    // the context ended before the reply came
	StageRead                    // the connection failed, or broke the protocol, before the reply came
	StageDecode                  // the reply came but could not be decoded
)

var stageNames = [...]string{"", "encode", "dial", "queue", "write", "wait", "read", "decode"}

// String returns the name of s, such as "dial".
func (s Stage) String() string {
	if s > 0 && int(s) < len(stageNames) {
		return stageNames[s]
	}
	return "stage " + strconv.Itoa(int(s))
}

// Error is a call that failed on its way. It unwraps to its cause, so that
// errors.Is(err, context.DeadlineExceeded) and the like work.
type Error struct {
	Stage  Stage
	Method string // empty for Dial
	// Sent says that the server may have received the request: false means
	// that it certainly did not, and that the call can be repeated safely.
	Sent bool
	Err  error
}

// Error renders stage, method and cause.
func (e *Error) Error() string {
	if e.Method == "" {
		return "rpc: " + e.Stage.String() + ": " + e.Err.Error()
	}
	return "rpc: " + e.Stage.String() + " " + e.Method + ": " + e.Err.Error()
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Err }
