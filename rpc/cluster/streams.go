package cluster

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/stream"
)

// This file holds streams: how one is opened, and what its end says of its address.

// opening is a stream from its first attempt on.
type opening struct {
	open   func(ctx context.Context, l *lane, o *opening) error // sets stream
	stream *stream.Stream
	ends   []func(AttemptResult) // of interceptors, that wait for the end of the stream
	start  int64                 // of the attempt
	over   func()                // called when all that follows from the end has been done
}

// OpenStream opens a stream on one of the addresses, over TTHeader. It is opened on another one, as the
// options for [Retries] say, only as long as nothing of it has been sent, or its method is [Idempotent]; once OpenStream
// has returned, the stream is on its address until it ends. Its address counts it like a call that runs. A stream
// that is lost, or refused by its server, counts against the address as a call does that fails so, and so does one that ends by
// its deadline before its first message has come; how a caller ends it does not.
//
// Over gRPC, a stream that is being opened at the moment when a server of net/http leaves, as ours are, may be lost with code
// stream.Lost.
//
// The limit of [Timeout] is for the opening alone. Streams on an address whose server leaves, or that the resolver finds no
// more, go on until they end. An error is an [*Error].
func (c *Client) OpenStream(ctx context.Context, call *rpc.StreamCall) (*stream.Stream, error) {
	var s *stream.Stream
	shown := &rpc.Invocation{Service: call.Service, Method: call.Method}
	err := c.openStream(ctx, shown, func(ctx context.Context, l *lane, o *opening) (err error) {
		s, err = l.client.OpenStream(ctx, call)
		o.stream = s
		return err
	})
	if err != nil {
		return nil, err
	}
	return s, nil
}

// openStream opens a stream, in as many attempts as the options allow. The client's goroutines
// count one more until the stream has ended.
func (c *Client) openStream(ctx context.Context, call *rpc.Invocation, open func(context.Context, *lane, *opening) error) error {
	if !c.begin() {
		return &Error{Method: call.Method, Err: rpc.ErrClientClosed}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	over := sync.OnceFunc(func() {
		cancel(nil)
		c.work.Done()
	})
	finished := false
	defer func() {
		if !finished { // what the caller has given has panicked
			over()
		}
	}()
	unwatch := context.AfterFunc(c.ctx, func() { cancel(rpc.ErrClientClosed) })
	defer unwatch()
	var limit *time.Timer
	if c.opt.timeout > 0 {
		limit = time.AfterFunc(c.opt.timeout, func() { cancel(context.DeadlineExceeded) })
	}
	w := &work{opening: &opening{open: open, over: over}}
	t := c.try(ctx, call, &attempt{number: 1, start: c.now(), work: w})
	err := t.err
	if err != nil {
		err = c.again(ctx, call, t)
	}
	finished = true
	if err != nil {
		over()
	}
	if limit == nil || limit.Stop() {
		return err
	}
	failure := &Error{Method: call.Method} // of a stream that was opened too late, and has been ended
	errors.As(err, &failure)
	failure.Err = fmt.Errorf("cluster: no stream was opened within %v: %w", c.opt.timeout, context.DeadlineExceeded)
	return failure
}

// opened follows a stream that was opened on l to its end.
func (c *Client) opened(o *opening, l *lane, now int64, test bool) {
	l.endpoint.calls.streams.Add(1)
	if test {
		c.work.Add(1)
		go c.tested(o.stream, l.endpoint)
	}
	context.AfterFunc(o.stream.Context(), func() { c.streamEnded(o, l) })
}

// streamEnded notes the end of a stream.
func (c *Client) streamEnded(o *opening, l *lane) {
	defer o.over()
	outcome, err := c.outcomeOfStream(o.stream)
	l.endpoint.calls.streams.Add(-1)
	end := c.now()
	for i := len(o.ends) - 1; i >= 0; i-- {
		o.ends[i](AttemptResult{Duration: time.Duration(end - o.start), Err: err, Outcome: outcome, Stream: o.stream})
	}
	switch outcome {
	case Succeeded:
		l.endpoint.peak.answered(end)
	case Failed, Refused:
		l.endpoint.peak.failed(end)
	}
	c.settle(l, outcome, err, end, false)
}

// testTime is how long a stream may test whether an address that failed is well again: streams
// may be quiet for long, and the next call can test it, too.
const testTime = time.Second

// tested tells the breaker of an address how the stream that tests it has begun.
func (c *Client) tested(s *stream.Stream, e *Endpoint) {
	defer c.work.Done()
	ctx, cancel := context.WithTimeout(c.ctx, testTime)
	defer cancel()
	_, err := s.Header(ctx)
	outcome := Canceled
	switch {
	case s.Context().Err() != nil:
		outcome, err = c.outcomeOfStream(s)
	case err == nil:
		outcome = Succeeded
	}
	c.leaveBreaker(e, outcome, err, c.now(), true)
}

// outcomeOfStream judges the end of a stream, and returns its error, nil if the server closed it regularly.
func (c *Client) outcomeOfStream(s *stream.Stream) (Outcome, error) {
	ended, err := s.End()
	if ended && err == nil {
		return Succeeded, nil
	}
	if !ended { // it will, for what has ended its context
		err = context.Cause(s.Context())
	}
	if c.opt.outcome != nil {
		if o, ok := c.opt.outcome(err); ok {
			return o, err
		}
	}
	var exception *rpc.ApplicationException
	var e *stream.Error
	errors.As(err, &e)
	deadline, limited := s.Context().Deadline()
	switch {
	case limited && !time.Now().Before(deadline): // which the server may have said first, in its own words
		if _, received := s.Counts(); received > 0 {
			return Canceled, err
		}
		return Failed, err
	case errors.As(err, &exception):
		return c.outcomeOf(s.Context(), exception), err
	case errors.Is(err, rpc.ErrClientClosed), errors.Is(err, context.Canceled):
		return Canceled, err
	case e == nil: // a status
		return Succeeded, err
	}
	return outcomeOfCode(e.Code), err
}

// outcomeOfCode judges the end of a stream without an outcome of its own.
func outcomeOfCode(code stream.Code) Outcome {
	switch code {
	case stream.Lost, stream.Protocol, stream.Reset, stream.Expired:
		return Failed
	case stream.Refused:
		return Refused
	}
	return Canceled // what this side's user has done, or not done
}

// asError makes the error of a stream that could not be opened one of calls.
func asError(method string, err error) error {
	var failure *rpc.Error
	if err == nil || errors.As(err, &failure) {
		return err
	}
	stage := rpc.StageWrite
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		stage = rpc.StageWait
	}
	return &rpc.Error{Stage: stage, Method: method, Sent: true, Err: err}
}
