package rpc

import (
	"errors"
	"sync"
)

// This file holds futures: results that come later.

// Future is a result struct that will be there later, or an error. The zero
// value is one that has not come. It is safe for concurrent use.
type Future[R any] struct {
	mu     sync.Mutex
	done   bool
	result *R
	err    error
	reply  *Reply[R] // the call that waits, if any
}

// NewFuture returns a future that has not come.
func NewFuture[R any]() *Future[R] { return new(Future[R]) }

// Resolve gives the future its result, and reports whether it had none.
func (f *Future[R]) Resolve(result *R) bool { return f.settle(result, nil) }

// Reject gives the future an error, and reports whether it had none.
func (f *Future[R]) Reject(err error) bool {
	if err == nil {
		err = errors.New("the future was rejected without an error")
	}
	return f.settle(nil, err)
}

func (f *Future[R]) settle(result *R, err error) bool {
	f.mu.Lock()
	if f.done {
		f.mu.Unlock()
		return false
	}
	f.done, f.result, f.err = true, result, err
	reply := f.reply
	f.mu.Unlock()
	if reply != nil {
		f.answer(*reply)
	}
	return true
}

// then answers a call with the future, now or when it comes. A future answers
// one call; another is answered with an error.
func (f *Future[R]) then(reply Reply[R]) {
	f.mu.Lock()
	second := f.reply != nil
	if !second {
		f.reply = &reply
	}
	done := f.done
	f.mu.Unlock()
	switch {
	case second:
		reply.Fail(errors.New("the handler returned the future of another call"))
	case done:
		f.answer(reply)
	}
}

func (f *Future[R]) answer(reply Reply[R]) {
	if f.err != nil {
		reply.Fail(f.err)
	} else {
		reply.Result(f.result)
	}
}
