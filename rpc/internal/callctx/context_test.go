package callctx

import (
	"context"
	"errors"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

type key struct{}

func TestAContextEndsAsOneOfPackageContextDoes(t *testing.T) {
	for name, test := range map[string]struct {
		end  func(parent context.CancelFunc, c *Context)
		want error
	}{
		"by its parent":   {func(parent context.CancelFunc, _ *Context) { parent() }, context.Canceled},
		"by its deadline": {func(context.CancelFunc, *Context) { time.Sleep(time.Minute) }, context.DeadlineExceeded},
		"by Cancel":       {func(_ context.CancelFunc, c *Context) { c.Cancel() }, context.Canceled},
	} {
		for _, asked := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(context.Background(), key{}, "x"))
					defer cancel()
					c := New(parent, time.Now().Add(time.Minute))
					defer c.Cancel()
					var inner context.Context
					if asked {
						var stop context.CancelFunc
						inner, stop = context.WithCancel(c)
						defer stop()
					}
					if c.Err() != nil || c.Value(key{}) != "x" {
						t.Fatalf("at first: error %v, value %v", c.Err(), c.Value(key{}))
					}
					test.end(cancel, c)
					synctest.Wait()
					if err := c.Err(); err != test.want {
						t.Errorf("error %v, want %v", err, test.want)
					}
					<-c.Done()
					if err := c.Err(); err != test.want {
						t.Errorf("error %v after Done, want %v", err, test.want)
					}
					if asked && inner.Err() != test.want {
						t.Errorf("one made from it has the error %v, want %v", inner.Err(), test.want)
					}
				})
			})
		}
	}
}

func TestAContextWithoutDeadlineHasThatOfItsParent(t *testing.T) {
	parent, cancel := context.WithTimeout(context.Background(), time.Hour)
	defer cancel()
	c := New(parent, time.Time{})
	defer c.Cancel()
	want, _ := parent.Deadline()
	if got, ok := c.Deadline(); !ok || !got.Equal(want) {
		t.Errorf("deadline %v, %v", got, ok)
	}
	if d, left := c.Limit(); !d.IsZero() || left != 0 {
		t.Errorf("its own limit is %v, %v", d, left)
	}
	if c.Parent() != parent {
		t.Error("another parent")
	}
}

func TestTheTimeLeftIsThatOfTheLastLook(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		now := time.Now()
		c := New(context.Background(), now.Add(time.Minute))
		defer c.Cancel()
		c.SetNow(now)
		time.Sleep(time.Second)
		if _, left := c.Limit(); left != time.Minute {
			t.Errorf("%v are left", left)
		}
		c.SetNow(time.Time{})
		if _, left := c.Limit(); left != time.Minute-time.Second {
			t.Errorf("%v are left", left)
		}
	})
}

type waiter struct {
	mu   sync.Mutex
	errs []error
}

func (w *waiter) Interrupt(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.errs = append(w.errs, err)
}

func TestWhoWatchesIsToldOfCancel(t *testing.T) {
	c, w := New(context.Background(), time.Time{}), &waiter{}
	if watched, err := c.Watch(w); !watched || err != nil {
		t.Fatal(watched, err)
	}
	c.Unwatch()
	if watched, err := c.Watch(w); !watched || err != nil {
		t.Fatal(watched, err)
	}
	if watched, err := c.Watch(&waiter{}); watched || err != nil {
		t.Errorf("a second waiter: %v, %v", watched, err)
	}
	c.Cancel()
	c.Unwatch()
	c.Cancel()
	if len(w.errs) != 1 || w.errs[0] != context.Canceled {
		t.Errorf("told %v", w.errs)
	}
	if watched, err := c.Watch(w); watched || !errors.Is(err, context.Canceled) {
		t.Errorf("one that has ended is watched: %v", err)
	}
}

func TestAContextIsUsedByMany(t *testing.T) {
	c, w := New(context.Background(), time.Now().Add(time.Hour)), &waiter{}
	if watched, err := c.Watch(w); !watched || err != nil {
		t.Fatal(watched, err)
	}
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() { <-c.Done() })
		all.Go(func() { c.Err(); c.Value(key{}); c.Deadline() })
		all.Go(c.Cancel)
	}
	all.Wait()
	if c.Err() != context.Canceled || len(w.errs) == 0 {
		t.Errorf("error %v, told %v", c.Err(), w.errs)
	}
}
