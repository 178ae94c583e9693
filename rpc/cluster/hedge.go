package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds attempts that run beside each other.

// Hedge configures a second attempt for calls that take long: on another
// address, beside the first one. The reply that comes first counts, and the other attempt is cancelled.
type Hedge struct {
	After    time.Duration // when the second attempt starts; the least, if there is a Quantile
	Quantile float64       // of recent latencies, after which it starts; 0 for After alone
	Budget   Budget        // default a tenth of the calls, and one a second
}

// hedgeDelay returns after which time calls are hedged, 0 for never, as while too few latencies are known.
func (c *Client) hedgeDelay(now int64) time.Duration {
	if c.latencies == nil {
		return c.opt.hedge.After
	}
	q := c.latencies.get(now)
	if q == 0 {
		return 0
	}
	return max(q, c.opt.hedge.After)
}

// hedged is a call with up to two attempts at the same time. One whose second attempt was never due is used
// again, with its timer and its functions.
//
// Invariants: mu guards all below it, and is held while the arguments are
// written or the result is read, so that neither happens after over is set:
// the call has its end then, and its caller has arguments and result for itself.
type hedged struct {
	client *Client
	ctx    context.Context // of the call
	call   *rpc.Invocation
	shared rpc.Invocation // call, guarded
	timer  *time.Timer    // of the second attempt
	own    *ending        // the context of the first attempt, where package context's costs too much; nil if it is one of those
	open   chan struct{}  // for own, and never closed while h is used again
	notice func(*Endpoint)
	append func([]byte) ([]byte, error)
	result func([]byte) error

	message *rpc.MessageCall // the call, if it is one of a method on messages
	work    *work            // message, guarded

	mu     sync.Mutex
	over   bool
	read   bool // the result
	first  *Endpoint
	cancel [2]context.CancelFunc // of the attempts; nil for one that has not begun
	second trial
	done   chan struct{} // closed when the second attempt has ended; nil if it has not begun

	unwatch func() bool // of the end of ctx; nil if it is not watched
}

// ending is a context that ends when it is told to. Its parent's end is told to it
// only once the call is slow, so the parent must not end before that.
type ending struct {
	context.Context
	done chan struct{}

	mu  sync.Mutex
	err error
}

func (e *ending) Done() <-chan struct{} { return e.done }

func (e *ending) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

func (e *ending) end() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.err == nil {
		e.err = context.Canceled
		if err := e.Context.Err(); err != nil {
			e.err = err
		}
		close(e.done)
	}
}

// newHedged returns a call that waits for its first attempt.
func (c *Client) newHedged(ctx context.Context, call *rpc.Invocation, w *work) *hedged {
	h, _ := c.hedged.Get().(*hedged)
	if h == nil {
		h = &hedged{client: c}
		h.notice, h.append, h.result = h.chosen, h.appendArgs, h.readResult
		h.open = make(chan struct{})
	}
	h.ctx, h.call, h.shared = ctx, call, *call
	h.shared.AppendArgs, h.shared.ReadResult = h.append, h.result
	if w != nil {
		h.message = w.message
		h.work = &work{message: h.guarded(*w.message)}
	}
	return h
}

// reuse gives h back, whose second attempt was never due: nobody else knows h.
func (h *hedged) reuse() {
	h.ctx, h.call, h.shared, h.own = nil, nil, rpc.Invocation{}, nil
	h.message, h.work = nil, nil
	h.over, h.read, h.first, h.cancel[0] = false, false, nil, nil
	h.client.hedged.Put(h)
}

// firstContext returns the context of the first attempt, and what ends it.
func (h *hedged) firstContext(fixed bool, delay time.Duration) (context.Context, context.CancelFunc) {
	o := &h.client.opt
	if !fixed || len(o.interceptors) > 0 || o.retry.AttemptTimeout > 0 || o.timeout > 0 && delay >= o.timeout {
		return context.WithCancel(h.ctx)
	}
	h.own = &ending{Context: h.ctx, done: h.open} // which somebody may keep, so it is not used again
	return h.own, h.own.end
}

// invokeHedged makes a call with a second attempt after delay. fixed says that ctx ends only by
// the client's own time limit.
func (c *Client) invokeHedged(ctx context.Context, call *rpc.Invocation, w *work, start int64, delay time.Duration, fixed bool) error {
	h := c.newHedged(ctx, call, w)
	inner, cancel := h.firstContext(fixed, delay)
	h.cancel[0] = cancel
	if h.timer == nil {
		h.timer = time.AfterFunc(delay, h.runSecond)
	} else {
		h.timer.Reset(delay)
	}
	first := c.try(inner, &h.shared, &attempt{number: 1, start: start, chosen: h.notice, work: h.work})
	if h.own == nil {
		defer cancel()
	}
	if h.timer.Stop() && first.err == nil {
		h.reuse()
		return nil
	}

	h.mu.Lock()
	done := h.done
	conclusive := !h.over && (first.err == nil || done == nil ||
		!errors.Is(first.err, errOvertaken) && c.judge(ctx, call, first.err, true) == final)
	h.over = h.over || conclusive
	stop := h.cancel[1]
	if h.unwatch != nil {
		h.unwatch()
	}
	h.mu.Unlock()
	if !conclusive {
		<-done // which ends with ctx at the latest
		h.mu.Lock()
		h.over = true
		h.mu.Unlock()
		if h.second.err == nil {
			return nil
		}
		return c.again(ctx, call, h.failures(first)...)
	}
	if stop != nil {
		stop()
	}
	if first.err == nil {
		return nil
	}
	return c.again(ctx, call, first)
}

// failures returns the attempts that failed, the one that decides what follows last.
func (h *hedged) failures(first trial) []trial {
	switch {
	case h.second.endpoint == nil:
		return []trial{first}
	case h.client.judge(h.ctx, h.call, h.second.err, true) == final:
		return []trial{first, h.second}
	}
	return []trial{h.second, first}
}

// chosen notes the address of the first attempt.
func (h *hedged) chosen(e *Endpoint) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.first = e
}

// runSecond makes the second attempt, on a goroutine of its own.
func (h *hedged) runSecond() {
	c := h.client
	if !c.begin() {
		return
	}
	defer c.work.Done()
	h.mu.Lock()
	if h.own != nil && !h.over { // the call is slow: from now on its end is watched
		h.unwatch = context.AfterFunc(h.ctx, h.own.end)
	}
	if h.over || h.first == nil || !c.hedgeBudget.take(c.now(), c.firsts()) {
		h.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	h.cancel[1] = cancel
	h.done = make(chan struct{})
	a := attempt{number: 2, hedge: true, work: h.work.copy()}
	a.tried.add(h.first)
	h.mu.Unlock()
	defer close(h.done)

	c.hedges.Add(1)
	t := c.try(ctx, &h.shared, &a)
	h.mu.Lock()
	defer h.mu.Unlock()
	h.second = t
	if t.endpoint == nil {
		c.hedges.Add(^uint64(0)) // there was no other address
	}
	if t.err == nil && !h.over {
		h.over = true
		h.cancel[0]()
	}
}

// appendArgs writes the arguments while somebody waits for the call.
func (h *hedged) appendArgs(dst []byte) ([]byte, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over {
		return dst, errOvertaken
	}
	if h.call.AppendArgs == nil {
		return append(dst, 0), nil // a struct without fields
	}
	return h.call.AppendArgs(dst)
}

// readResult reads the result of the attempt that comes first.
func (h *hedged) readResult(b []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.over || h.read {
		return errOvertaken
	}
	h.read = true
	if h.call.ReadResult == nil {
		return nil
	}
	return h.call.ReadResult(b)
}

// guarded returns a call on messages whose reply is read by the attempt that comes first.
func (h *hedged) guarded(call rpc.MessageCall) *rpc.MessageCall {
	read := call.ReadReply
	call.ReadReply = func(reply rpc.Message, attachment []byte) error {
		h.mu.Lock()
		defer h.mu.Unlock()
		if h.over || h.read {
			return errOvertaken
		}
		h.read = true
		if read == nil {
			return nil
		}
		return read(reply, attachment)
	}
	return &call
}
