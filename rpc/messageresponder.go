package rpc

import "context"

// This file holds how callbacks of methods on messages answer.

// MessageCallbackHandler serves calls of a method on messages on the
// connection's loop: nothing else of the connection is read or written until it returns, so it must not wait for
// anything. It answers by r, then or later, from any goroutine. in.Body is valid until then, or, if the
// reply is a view of it, until that has been written.
type MessageCallbackHandler func(in Message, r MessageResponder)

// MessageResponder answers one call of a method on messages, once, from any goroutine, as a
// [Responder] does: what its methods that answer report is the same.
type MessageResponder struct{ r Responder }

// Context returns the context of the call, as [Responder.Context] does.
func (r MessageResponder) Context() context.Context { return r.r.Context() }

// Reply answers with a message. Its body is sent from where it is if it is large, and must not
// change before its Owner is told, which it is exactly once, whatever Reply reports.
func (r MessageResponder) Reply(m Message) bool {
	answered := r.r.reply(func(_ *form, out *result) error {
		out.message = m
		return nil
	})
	if !answered {
		m.release()
	}
	return answered
}

// Done says that a oneway call has been served.
func (r MessageResponder) Done() bool { return r.Reply(Message{}) }

// Fail answers with an error, as a [MessageHandler] that returns it.
func (r MessageResponder) Fail(err error) bool { return r.r.Fail(err) }
