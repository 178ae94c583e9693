package rpctest

import (
	"fmt"
	"slices"
	"sync"
	"testing"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file is what generated mocks are made of.

// Calls records the calls of a mocked method: of each what it was called with. The zero
// value has recorded none. It is safe for concurrent use.
type Calls[A any] struct {
	mu  sync.Mutex
	all []A
}

// Record adds a call. Mocks do so before they answer.
func (c *Calls[A]) Record(with A) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.all = append(c.all, with)
}

// All returns what the calls so far were made with, the first one first. The slice is
// the caller's.
func (c *Calls[A]) All() []A {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.all)
}

// Len returns the number of calls so far.
func (c *Calls[A]) Len() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.all)
}

// Unset returns what a mocked method answers while its function, such as
// "MockShop.FindFunc", is not set: an exception of type rpc.UnknownMethod. It fails tb,
// unless that is nil, and lets the test run on.
func Unset(tb testing.TB, function string) error {
	err := &rpc.ApplicationException{Type: rpc.UnknownMethod, Message: fmt.Sprintf("%s is not set, and its method was called", function)}
	if tb != nil {
		tb.Helper()
		tb.Error(err.Message)
	}
	return err
}
