package callctx

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the context, and how who knows it waits for its end without its channel.

// Waiter waits for the end of a call, and is told of that of its context.
type Waiter interface {
	// Interrupt ends the waiting because of err. It must not use the context.
	Interrupt(err error)
}

// Context ends with its parent, at its deadline and by Cancel. It is a whole
// context.Context, which may be kept and made others of; who takes it apart
// does without its channel: he waits for the end of Parent, watches for Cancel, and sees to the
// deadline himself. It is safe for concurrent use.
type Context struct {
	context.Context // the parent
	deadline        time.Time
	left            atomic.Int64 // nanoseconds until the deadline, at the last SetNow; 0 for not known

	whole atomic.Pointer[whole] // nil until somebody asks for the channel; written with mu held

	mu     sync.Mutex
	err    error // why it has ended, once somebody has seen that
	waiter Waiter
}

// whole is a context of package context's, and what ends it.
type whole struct {
	context.Context
	stop context.CancelFunc
}

// New returns a context that ends at deadline, unless that is zero, if parent does not
// before. A parent that has a deadline goes without one here.
func New(parent context.Context, deadline time.Time) *Context {
	return &Context{Context: parent, deadline: deadline}
}

// Parent returns the context that it was made of.
func (c *Context) Parent() context.Context { return c.Context }

// SetNow notes what time it is, for Limit, which so need not ask the clock; zero
// makes Limit ask.
func (c *Context) SetNow(now time.Time) {
	left := time.Duration(0)
	if !now.IsZero() && !c.deadline.IsZero() {
		left = c.deadline.Sub(now)
	}
	c.left.Store(int64(left))
}

// Limit returns its own deadline, zero for none, and the time until then, since the last SetNow.
func (c *Context) Limit() (deadline time.Time, left time.Duration) {
	left = time.Duration(c.left.Load())
	if left <= 0 && !c.deadline.IsZero() {
		return c.deadline, time.Until(c.deadline)
	}
	return c.deadline, left
}

// Cancel ends the context, if it has not, and tells the waiter.
func (c *Context) Cancel() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = context.Canceled
	}
	if w := c.whole.Load(); w != nil {
		w.stop()
	}
	if c.waiter != nil {
		c.waiter.Interrupt(c.err)
	}
}

// Canceled returns the error of a context that has been canceled or whose parent has ended;
// of the deadline it knows nothing.
func (c *Context) Canceled() error {
	c.mu.Lock()
	err := c.err
	c.mu.Unlock()
	if err != nil {
		return err
	}
	return c.Context.Err()
}

// Watch has w told of Cancel, until Unwatch. It returns the error of a context that
// has been canceled, and does not watch then. It watches for one at a time: while there is another waiter,
// as where an interceptor makes calls beside each other, it reports false, and w must wait for Done.
func (c *Context) Watch(w Waiter) (watched bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil || c.waiter != nil {
		return false, c.err
	}
	c.waiter = w
	return true, nil
}

// Unwatch ends what Watch began, for the waiter that is watched for. The waiter is told of nothing when it has returned.
func (c *Context) Unwatch() {
	c.mu.Lock()
	c.waiter = nil
	c.mu.Unlock()
}

// Deadline returns its own deadline, or that of its parent.
func (c *Context) Deadline() (time.Time, bool) {
	if c.deadline.IsZero() {
		return c.Context.Deadline()
	}
	return c.deadline, true
}

// Done returns the channel, which is made at the first call.
func (c *Context) Done() <-chan struct{} {
	if w := c.whole.Load(); w != nil {
		return w.Done()
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.whole.Load(); w != nil {
		return w.Done()
	}
	w := &whole{}
	if c.deadline.IsZero() {
		w.Context, w.stop = context.WithCancel(c.Context)
	} else {
		w.Context, w.stop = context.WithDeadline(c.Context, c.deadline)
	}
	if c.err != nil {
		w.stop()
	}
	c.whole.Store(w)
	return w.Done()
}

// Err returns why the context has ended, nil while it has not.
func (c *Context) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	w := c.whole.Load()
	switch {
	case w != nil:
		c.err = w.Err()
	case c.Context.Err() != nil:
		c.err = c.Context.Err()
	case !c.deadline.IsZero() && !time.Now().Before(c.deadline):
		c.err = context.DeadlineExceeded
	}
	return c.err
}

// Value returns what its parent has for key. Package context finds so whose channel it is.
func (c *Context) Value(key any) any {
	if w := c.whole.Load(); w != nil {
		return w.Value(key)
	}
	return c.Context.Value(key)
}
