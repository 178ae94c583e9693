package cluster

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
)

// This file holds attempts that run beside each other.

// Hedge configures a second attempt for calls that take long: on another
// address, beside the first one. The reply that comes first counts, and the other attempt is cancelled. An
// address on which one call after another is overtaken gets few calls until one of them is not.
type Hedge struct {
	After    time.Duration // when the second attempt starts; the least, if there is a Quantile
	Quantile float64       // of recent latencies, after which it starts; 0 for After alone
	Budget   Budget        // default a tenth of the calls, and one a second
}

// hedgeDelay returns after which time a call is hedged, 0 for never, as while too few latencies are known.
func (c *Client) hedgeDelay(ctx context.Context, call *rpc.Invocation, now int64) time.Duration {
	switch {
	case c.opt.hedge == nil || call.Oneway || !c.idempotent(ctx, call):
		return 0
	case c.latencies == nil:
		return c.opt.hedge.After
	}
	q := c.latencies.get(now)
	if q == 0 {
		return 0
	}
	return max(q, c.opt.hedge.After)
}

// hedged is a call with up to two attempts at the same time. One whose second attempt was never due is used
// again, with its timer and its functions. The timer is not stopped when a call ends, which
// most do long before it fires: when it does, it finds out what it is for.
//
// Invariants: mu guards all below it, and is held while the arguments are
// written or the result is read, so that neither happens after over is set:
// the call has its end then, and its caller has arguments and result for itself. alarm is not after due
// while a call waits for its second attempt.
type hedged struct {
	client *Client
	ctx    *callctx.Context // of the call and of its first attempt
	call   *rpc.Invocation
	shared rpc.Invocation // call, guarded
	notice func(*Endpoint)
	append func([]byte) ([]byte, error)
	result func([]byte) error
	timer  *time.Timer // of the second attempt

	work  *work         // message, guarded
	delay time.Duration // of the second attempt

	mu     sync.Mutex
	alarm  int64 // when the timer fires, on the client's clock; 0 if it does not
	due    int64 // when the second attempt starts; 0 if there is none to start
	over   bool
	read   bool // the result
	first  *Endpoint
	stop   context.CancelFunc // of the second attempt
	second trial
	done   chan struct{} // closed when the second attempt has ended; nil if it has not begun
}

// newHedged returns a call that waits for its first attempt.
func (c *Client) newHedged(ctx *callctx.Context, call *rpc.Invocation, w *work) *hedged {
	h, _ := c.hedged.Get().(*hedged)
	if h == nil {
		h = &hedged{client: c}
		h.notice, h.append, h.result = h.chosen, h.appendArgs, h.readResult
	}
	h.ctx, h.call, h.shared = ctx, call, *call
	h.shared.AppendArgs, h.shared.ReadResult = h.append, h.result
	if w != nil {
		h.work = &work{message: h.guarded(*w.message)}
	}
	return h
}

// reuse gives h back, whose second attempt was never due: nobody else knows h, but its timer.
func (h *hedged) reuse() {
	h.ctx, h.call, h.shared = nil, nil, rpc.Invocation{}
	h.work = nil
	h.read, h.first = false, nil
	h.client.hedged.Put(h)
}

// schedule has the second attempt start at due.
func (h *hedged) schedule(now, due int64) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.due = due
	if h.alarm != 0 && h.alarm <= due {
		return
	}
	h.alarm = due
	if wait := time.Duration(due - now); h.timer == nil {
		h.timer = time.AfterFunc(wait, h.ring)
	} else {
		h.timer.Reset(wait)
	}
}

// ring is what the timer does.
func (h *hedged) ring() {
	h.mu.Lock()
	now := h.client.now()
	h.alarm = 0
	switch {
	case h.due == 0:
	case now < h.due: // of a later call
		h.alarm = h.due
		h.timer.Reset(time.Duration(h.due - now))
	default:
		h.due = 0
		h.runSecond(now)
		return
	}
	h.mu.Unlock()
}

// invokeHedged makes a call with a second attempt after delay.
func (c *Client) invokeHedged(ctx *callctx.Context, call *rpc.Invocation, w *work, start int64, delay time.Duration) error {
	h := c.newHedged(ctx, call, w)
	h.delay = delay
	h.schedule(start, start+int64(delay))
	first := c.try(ctx, &h.shared, &attempt{number: 1, start: start, chosen: h.notice, work: h.work})

	h.mu.Lock()
	h.due = 0
	done := h.done
	if done == nil && first.err == nil {
		h.mu.Unlock()
		h.reuse()
		return nil
	}
	conclusive := !h.over && (first.err == nil || done == nil ||
		!errors.Is(first.err, errOvertaken) && c.judge(ctx, call, first.err, true) == final)
	h.over = h.over || conclusive
	stop := h.stop
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

// runSecond makes the second attempt, on the goroutine of the timer. h.mu is held on entry and not on return.
func (h *hedged) runSecond(now int64) {
	c := h.client
	if h.first == nil || !c.begin() {
		h.mu.Unlock()
		return
	}
	defer c.work.Done()
	if !c.hedgeBudget.take(now, c.firsts()) {
		h.mu.Unlock()
		return
	}
	ctx, cancel := context.WithCancel(h.ctx)
	defer cancel()
	h.stop = cancel
	h.done = make(chan struct{})
	defer close(h.done)
	a := attempt{number: 2, hedge: true, work: h.work.copy()}
	a.tried.add(h.first)
	h.mu.Unlock()

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
		h.ctx.Cancel()
		h.first.health.overtake(c.now(), h.delay)
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
