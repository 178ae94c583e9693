package rpc

import (
	"errors"
	"sync"
)

// This file holds futures: results that come later.

// Future is a value that will be there later, or an error. It is safe for
// concurrent use. The zero value is one that has not come.
type Future[T any] struct {
	mu    sync.Mutex
	done  bool
	taken bool // somebody waits for it, or has it
	value T
	err   error
	then  func(T, error)
}

// NewFuture returns a future that has not come.
func NewFuture[T any]() *Future[T] { return new(Future[T]) }

// Resolve gives the future its value, and reports whether it had none, and no error.
func (f *Future[T]) Resolve(value T) bool { return f.settle(value, nil) }

// Reject gives the future an error, and reports whether it had none, and no value.
func (f *Future[T]) Reject(err error) bool {
	if err == nil {
		err = errors.New("the future was rejected without an error")
	}
	var none T
	return f.settle(none, err)
}

func (f *Future[T]) settle(value T, err error) bool {
	f.mu.Lock()
	if f.done {
		f.mu.Unlock()
		return false
	}
	f.done, f.value, f.err = true, value, err
	then := f.then
	f.then = nil
	f.mu.Unlock()
	if then != nil {
		then(value, err)
	}
	return true
}

// Then calls do once, with the value or the error: at once if it is there,
// else on the goroutine that gives it. It reports false, and does not, if the
// future has been asked before: it is for one call.
func (f *Future[T]) Then(do func(value T, err error)) bool {
	f.mu.Lock()
	if f.taken {
		f.mu.Unlock()
		return false
	}
	f.taken = true
	if !f.done {
		f.then = do
		f.mu.Unlock()
		return true
	}
	f.mu.Unlock()
	do(f.value, f.err)
	return true
}

// MapFuture returns a future of what convert makes of the value or the error
// of f. It is nil if f is.
func MapFuture[T, U any](f *Future[T], convert func(value T, err error) (U, error)) *Future[U] {
	if f == nil {
		return nil
	}
	out := NewFuture[U]()
	asked := f.Then(func(value T, err error) {
		if u, err := convert(value, err); err != nil {
			out.Reject(err)
		} else {
			out.Resolve(u)
		}
	})
	if !asked {
		out.Reject(errSecondHand)
	}
	return out
}

// errSecondHand answers the call of a handler that returns another call's future.
var errSecondHand = errors.New("the handler returned the future of another call")
