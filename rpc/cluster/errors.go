package cluster

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the errors of calls, and what they say of an address.

// Outcome is what the end of an attempt says of its address.
type Outcome uint8

const (
	Succeeded Outcome = iota // a reply, were it an exception of the application
	Refused                  // the server had too much to do, or is stopping
	Failed                   // no reply in time, or a broken connection
	Canceled                 // the caller, or the other one of two attempts, was faster
)

// String returns the name of o, such as "succeeded".
func (o Outcome) String() string {
	if int(o) < len(outcomes) {
		return outcomes[o]
	}
	return "outcome " + strconv.Itoa(int(o))
}

var outcomes = [...]string{"succeeded", "refused", "failed", "canceled"}

// ErrUnavailable is the cause of calls for which there was no address: none is
// connected, or the breakers of those that are keep calls away.
var ErrUnavailable = errors.New("cluster: no address can be called")

// errOvertaken ends what the other one of two attempts has done already.
var errOvertaken = errors.New("cluster: another attempt was faster")

// AttemptError is how one attempt of a call failed.
type AttemptError struct {
	Address  resolve.Address
	Number   int // from 1
	Hedge    bool
	Duration time.Duration
	Err      error // an *rpc.ApplicationException, *rpc.BizStatus or *rpc.Error
}

// Error renders address and cause.
func (e *AttemptError) Error() string { return e.Address.String() + ": " + e.Err.Error() }

// Unwrap returns the cause.
func (e *AttemptError) Unwrap() error { return e.Err }

// Error is a call that failed, with each of its attempts. It unwraps to
// these, the last one first, so that errors.As finds what ended the call: an
// *rpc.ApplicationException, an *rpc.BizStatus or an *rpc.Error.
type Error struct {
	Method   string
	Attempts []*AttemptError // in the order of their ends; none if there was no address
	Err      error           // why there were no more attempts; nil if the last one decided
}

// Sent reports whether a server may have received the call.
func (e *Error) Sent() bool {
	for _, a := range e.Attempts {
		if !unsent(a.Err) {
			return true
		}
	}
	return false
}

// Error renders the attempts and what ended them.
func (e *Error) Error() string {
	var b strings.Builder
	b.WriteString("cluster: call " + e.Method)
	if e.Err != nil {
		b.WriteString(": " + e.Err.Error())
	}
	for i, a := range e.Attempts {
		switch {
		case len(e.Attempts) == 1:
			b.WriteString(": " + a.Error())
		case i == 0:
			fmt.Fprintf(&b, " (%d attempts)", len(e.Attempts))
			fallthrough
		default:
			fmt.Fprintf(&b, "; %d after %v", a.Number, a.Duration.Round(time.Microsecond))
			if a.Hedge {
				b.WriteString(", hedge")
			}
			b.WriteString(": " + a.Error())
		}
	}
	return b.String()
}

// Unwrap returns the attempts, the last one first, and what ended them.
func (e *Error) Unwrap() []error {
	errs := make([]error, 0, len(e.Attempts)+1)
	for i := len(e.Attempts) - 1; i >= 0; i-- {
		errs = append(errs, e.Attempts[i])
	}
	if e.Err != nil {
		errs = append(errs, e.Err)
	}
	return errs
}

// unavailable is ErrUnavailable with what is known of addresses.
type unavailable struct{ reasons []string }

func (u *unavailable) Error() string {
	if len(u.reasons) == 0 {
		return ErrUnavailable.Error()
	}
	return ErrUnavailable.Error() + " (" + strings.Join(u.reasons, "; ") + ")"
}

func (u *unavailable) Unwrap() error { return ErrUnavailable }

// outcomeOf judges the end of an attempt. ctx is the call's, not that of the
// attempt, whose own time limit is the address's failure.
func (c *Client) outcomeOf(ctx context.Context, err error) Outcome {
	if err == nil {
		return Succeeded
	}
	if c.opt.outcome != nil {
		if o, ok := c.opt.outcome(err); ok {
			return o
		}
	}
	var exception *rpc.ApplicationException
	var failure *rpc.Error
	switch {
	case errors.As(err, &exception):
		if exception.Refused() || exception.Type == rpc.LoadShedding {
			return Refused
		}
		if exception.Type == rpc.Timeout {
			return Failed
		}
		return Succeeded
	case !errors.As(err, &failure):
		return Succeeded // a status
	case failure.Stage == rpc.StageDecode: // what the caller expects is wrong, or another attempt was faster
		return Succeeded
	case failure.Stage == rpc.StageEncode, errors.Is(err, context.Canceled), errors.Is(err, errLeft), errors.Is(err, errNoStreams), errors.Is(err, rpc.ErrClientClosed):
		return Canceled
	case failure.Stage == rpc.StageQueue:
		return Refused
	}
	return Failed
}

// unsent reports whether err says that no server has received the call.
func unsent(err error) bool {
	var failure *rpc.Error
	return errors.As(err, &failure) && !failure.Sent
}

// verdict is what may follow a failed attempt.
type verdict uint8

const (
	final    verdict = iota // nothing
	free                    // another attempt, as the first one never reached a server
	budgeted                // another attempt, if the budget has one
)

// judge decides what may follow err.
func (c *Client) judge(ctx context.Context, call *rpc.Invocation, err error, idempotent bool) verdict {
	var exception *rpc.ApplicationException
	var failure *rpc.Error
	switch {
	case ctx.Err() != nil:
		return final
	case errors.As(err, &exception):
		if exception.Refused() || idempotent && exception.Type == rpc.Timeout {
			return budgeted
		}
		return final
	case !errors.As(err, &failure):
		return final
	}
	switch failure.Stage {
	case rpc.StageEncode, rpc.StageDecode:
		return final
	}
	switch {
	case !failure.Sent && failure.Stage == rpc.StageWait: // by the attempt's time limit, which other addresses can exceed, too
		return budgeted
	case !failure.Sent:
		return free
	case idempotent && !call.Oneway:
		return budgeted
	}
	return final
}
