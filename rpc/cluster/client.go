package cluster

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/internal/callctx"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the Client: one call from its first attempt to its end. The
// set of addresses is in members.go, one of them in endpoint.go, attempts that run beside each other in hedge.go.

// Client is an [rpc.Caller] for a service with many addresses. It is safe for
// concurrent use. Its methods need no lock that all calls share.
type Client struct {
	opt      options
	epoch    time.Time
	messages bool // methods on messages are called

	ctx    context.Context // of all that runs beside calls
	cancel context.CancelFunc
	work   sync.WaitGroup // goroutines

	members atomic.Pointer[members]
	changed broadcast
	doubts  chan struct{}

	retries, hedges, denied atomic.Uint64
	retryBudget             *budget
	hedgeBudget             *budget
	latencies               *latencies   // nil if no quantile is wanted
	hedged                  sync.Pool    // of *hedged
	compareDue              atomic.Int64 // when addresses are compared again

	mu     sync.Mutex // never held while the mutex of an Endpoint is awaited
	closed bool
	known  map[resolve.Key]*Endpoint
	lanes  map[*lane]struct{}
	past   uint64 // attempts on addresses that are known no more
}

// New returns a client of the service whose addresses r finds. It starts to
// resolve, and connects to an address when a call wants it, or by [Client.Connect].
func New(r resolve.Resolver, opts ...Option) (*Client, error) { return newClient(r, opts, false) }

// newClient returns a client of methods on structs, or on messages.
func newClient(r resolve.Resolver, opts []Option, messages bool) (*Client, error) {
	c := &Client{
		messages: messages,
		opt:      defaultOptions(), epoch: time.Now(), doubts: make(chan struct{}, 1),
		known: map[resolve.Key]*Endpoint{}, lanes: map[*lane]struct{}{},
	}
	for _, o := range opts {
		o(&c.opt)
	}
	if err := c.opt.check(); err != nil {
		return nil, err
	}
	c.retryBudget = newBudget(c.opt.retry.Budget)
	if h := c.opt.hedge; h != nil {
		c.hedgeBudget = newBudget(h.Budget)
		if h.Quantile > 0 {
			c.latencies = &latencies{quantile: h.Quantile}
		}
	}
	c.ctx, c.cancel = context.WithCancel(context.Background())
	c.changed.init()
	c.members.Store(&members{})
	c.work.Add(1)
	go func() {
		defer c.work.Done()
		c.resolve(r)
	}()
	return c, nil
}

// Close ends the client: calls that run fail with [rpc.ErrClientClosed], as later
// ones do. It returns when no goroutine of the client is left that runs calls, resolves or connects.
func (c *Client) Close() error {
	c.mu.Lock()
	c.closed = true
	lanes := make([]*lane, 0, len(c.lanes))
	for l := range c.lanes {
		lanes = append(lanes, l)
	}
	c.mu.Unlock()
	c.cancel()
	for _, l := range lanes {
		l.close()
	}
	c.changed.tell()
	c.work.Wait()
	return nil
}

// begin counts a goroutine that Close waits for. It reports false once the client is closed.
func (c *Client) begin() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return false
	}
	c.work.Add(1)
	return true
}

// remember keeps l for Close, or closes it if that has been.
func (c *Client) remember(l *lane) {
	c.mu.Lock()
	closed := c.closed
	if !closed {
		c.lanes[l] = struct{}{}
	}
	c.mu.Unlock()
	if closed {
		l.close()
	}
}

func (c *Client) forget(l *lane) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.lanes, l)
}

// now is the client's clock: nanoseconds since it was made.
func (c *Client) now() int64 { return int64(time.Since(c.epoch)) }

// doubt tells the resolver that an address could not be reached.
func (c *Client) doubt() {
	select {
	case c.doubts <- struct{}{}:
	default:
	}
}

// Invoke makes one call, in as many attempts as the options allow. An error is an
// [*Error]. The arguments are asked for again by each attempt.
func (c *Client) Invoke(ctx context.Context, call *rpc.Invocation) error {
	return c.call(ctx, call, nil)
}

// call makes one call, of a method on messages if w holds one.
func (c *Client) call(ctx context.Context, call *rpc.Invocation, w *work) error {
	start := c.now()
	hedge := c.hedgeDelay(ctx, call, start)
	var deadline time.Time
	if c.opt.timeout > 0 {
		if _, ok := ctx.Deadline(); !ok {
			deadline = c.epoch.Add(time.Duration(start) + c.opt.timeout)
		}
	}
	if hedge > 0 || !deadline.IsZero() {
		limited := callctx.New(ctx, deadline)
		defer limited.Cancel()
		if hedge > 0 {
			return c.invokeHedged(limited, call, w, start, hedge)
		}
		ctx = limited
	}
	t := c.try(ctx, call, &attempt{number: 1, start: start, work: w})
	if t.err == nil {
		return nil
	}
	return c.again(ctx, call, t)
}

// attempt is one attempt, before it starts.
type attempt struct {
	number int
	hedge  bool
	start  int64 // 0 for not known
	tried  tried
	chosen func(*Endpoint) // told of the address; nil for nobody
	work   *work           // nil for a call of a method on structs
}

// trial is how an attempt ended.
type trial struct {
	endpoint *Endpoint // nil if there was no address
	work     *work     // that of the attempt
	number   int
	hedge    bool
	duration time.Duration
	err      error
}

func (t *trial) failure() *AttemptError {
	return &AttemptError{Address: t.endpoint.Address(), Number: t.number, Hedge: t.hedge, Duration: t.duration, Err: t.err}
}

// maxMisses bounds how often an attempt finds its connection lost before it began.
const maxMisses = 8

// try makes one attempt.
func (c *Client) try(ctx context.Context, call *rpc.Invocation, a *attempt) trial {
	t := trial{work: a.work, number: a.number, hedge: a.hedge}
	for misses := 0; ; misses++ {
		l, now, test, err := c.pick(ctx, call, a)
		if err != nil {
			t.err = err
			return t
		}
		e := l.endpoint
		t.endpoint = e
		if a.chosen != nil {
			a.chosen(e)
		}
		t.err = c.on(ctx, call, a, l, now, test)
		end := c.now()
		t.duration = time.Duration(end - now)
		left := t.err != nil && (errors.Is(t.err, errLeft) || errors.Is(t.err, rpc.ErrClientClosed) && ctx.Err() == nil)
		if left && unsent(t.err) && misses < maxMisses && c.ctx.Err() == nil {
			l.done()
			e.breaker.leave(end, Canceled, test)
			c.awaitGone(ctx, l)
			continue
		}
		if t.err == nil && a.work.streams() {
			c.opened(a.work.opening, l, end, test)
			return t
		}
		c.ended(ctx, call, l, t.err, now, end, test)
		return t
	}
}

// awaitGone waits until no call chooses a connection that was lost: its client says so on a goroutine of
// its own, and a call that came again earlier would find it each time.
func (c *Client) awaitGone(ctx context.Context, l *lane) {
	select {
	case <-l.gone:
	case <-ctx.Done():
	case <-c.ctx.Done():
	}
}

// on makes one attempt on a connection. If what its caller has given panics, the attempt counts as given up.
func (c *Client) on(ctx context.Context, call *rpc.Invocation, a *attempt, l *lane, now int64, test bool) error {
	finished := false
	defer func() {
		if !finished {
			l.endpoint.breaker.leave(c.now(), Canceled, test)
			l.done()
		}
	}()
	err := c.invoke(ctx, call, a, l, now)
	finished = true
	return err
}

// invoke makes one attempt, with what goes with it.
func (c *Client) invoke(ctx context.Context, call *rpc.Invocation, a *attempt, l *lane, now int64) error {
	if limited, ok := ctx.(*callctx.Context); ok && len(c.opt.interceptors) == 0 {
		limited.SetNow(c.epoch.Add(time.Duration(now)))
	}
	if a.number > 1 {
		ctx = rpc.WithHeader(ctx, AttemptHeader, attemptTexts[a.number-1])
	}
	if c.opt.retry.AttemptTimeout > 0 && c.opt.retry.Attempts > 1 && !a.work.streams() {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.opt.retry.AttemptTimeout)
		defer cancel()
	}
	if len(c.opt.interceptors) == 0 {
		return l.carry(ctx, call, a.work)
	}
	return c.intercepted(ctx, call, a, l)
}

// ended notes the end of an attempt.
func (c *Client) ended(ctx context.Context, call *rpc.Invocation, l *lane, err error, start, end int64, test bool) {
	e := l.endpoint
	o := c.outcomeOf(ctx, err)
	e.calls.latency.Add(uint64(end - start))
	e.learn(call, o, err, end, end-start)
	if c.latencies != nil && o == Succeeded && !call.Oneway && e.calls.attempts.Load()%sampleEvery == 0 {
		c.latencies.add(end, time.Duration(end-start))
	}
	c.settle(l, o, err, end, test)
}

// settle counts an attempt that has ended, with what that means for its address.
func (c *Client) settle(l *lane, o Outcome, err error, end int64, test bool) {
	e := l.endpoint
	e.calls.attempts.Add(1)
	switch o {
	case Succeeded:
		l.prove()
		if e.health.failures.Load() != 0 {
			e.health.failures.Store(0)
		}
		if e.health.overtaken.Load() != 0 {
			e.health.overtaken.Store(0)
			e.health.late.Store(0)
		}
	case Refused:
		l.prove()
		e.calls.refused.Add(1)
	case Failed:
		e.calls.failed.Add(1)
	case Canceled:
		e.calls.canceled.Add(1)
	}
	l.done()
	c.leaveBreaker(e, o, err, end, test)
	if ej := c.opt.ejection; ej != nil {
		if (o == Failed || o == Refused) && int(e.health.failures.Add(1)) >= ej.Consecutive {
			c.eject(e, end, err)
		}
		if due := c.compareDue.Load(); end >= due && c.compareDue.CompareAndSwap(due, end+int64(ej.Interval)) {
			c.compare(end)
		}
	}
}

// leaveBreaker tells a breaker of the end of an attempt that it has admitted.
func (c *Client) leaveBreaker(e *Endpoint, o Outcome, err error, end int64, test bool) {
	if e.breaker.leave(end, o, test) {
		c.emit(Event{Kind: BreakerChanged, Address: e.Address(), Breaker: BreakerState(e.breaker.state.Load()), Err: err})
	}
}

// again makes further attempts after one that failed, as long as that is safe and allowed.
func (c *Client) again(ctx context.Context, call *rpc.Invocation, ended ...trial) error {
	failure := &Error{Method: call.Method}
	next := attempt{work: ended[0].work}
	note := func(t trial) {
		if t.endpoint == nil {
			failure.Err = t.err
			return
		}
		failure.Attempts = append(failure.Attempts, t.failure())
		next.tried.add(t.endpoint)
		next.number = max(next.number, t.number)
	}
	for _, t := range ended {
		note(t)
	}
	for last := ended[len(ended)-1]; last.endpoint != nil && next.number < c.opt.retry.Attempts; {
		v := c.judge(ctx, call, last.err, c.idempotent(ctx, call))
		if v == final {
			break
		}
		if v == budgeted && !c.retryBudget.take(c.now(), c.firsts()) {
			c.denied.Add(1)
			failure.Err = ErrBudget
			break
		}
		var pause time.Duration
		if v == budgeted || next.number >= len(c.members.Load().set) {
			pause = c.opt.retry.Backoff.Delay(next.number)
		}
		if deadline, ok := ctx.Deadline(); ok && time.Until(deadline) <= pause || !sleep(ctx, pause) {
			break
		}
		next.number++
		c.retries.Add(1)
		if last = c.try(ctx, call, &next); last.err == nil {
			return nil
		}
		note(last)
	}
	return failure
}

// ErrBudget is the cause of calls that were not repeated for want of budget.
var ErrBudget = errors.New("cluster: the retry budget is used up")

// firsts returns the number of first attempts.
func (c *Client) firsts() uint64 {
	c.mu.Lock()
	n := c.past
	c.mu.Unlock()
	for _, e := range c.members.Load().set {
		n += e.calls.attempts.Load()
	}
	more := c.retries.Load() + c.hedges.Load()
	return n - min(more, n)
}

// idempotent reports whether the call may run twice.
func (c *Client) idempotent(ctx context.Context, call *rpc.Invocation) bool {
	if c.opt.idempotentFunc != nil && c.opt.idempotentFunc(call) {
		return true
	}
	if len(c.opt.idempotent) > 0 {
		if _, ok := c.opt.idempotent[call.Method]; ok {
			return true
		}
	}
	set, ok := ctx.Value(idempotentKey{}).(bool)
	return ok && set
}

// broadcast wakes all who wait for a change.
type broadcast struct {
	mu sync.Mutex
	c  chan struct{}
}

func (b *broadcast) init() { b.c = make(chan struct{}) }

// next returns a channel that is closed at the next change.
func (b *broadcast) next() <-chan struct{} {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.c
}

func (b *broadcast) tell() {
	b.mu.Lock()
	defer b.mu.Unlock()
	close(b.c)
	b.c = make(chan struct{})
}
