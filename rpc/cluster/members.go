package cluster

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file holds the set of addresses: how it follows the resolver, and how an attempt finds one in it.

// members is a set of addresses as calls see it; it never changes.
type members struct {
	set    []*Endpoint
	picker Picker // nil for an empty set
	err    error  // why there is no set yet; nil if that is not known
}

// resolve keeps the set up to date until the client is closed.
func (c *Client) resolve(r resolve.Resolver) {
	for failures := 1; ; failures++ {
		err := r.Resolve(c.ctx, listener{c})
		if c.ctx.Err() != nil || err == nil {
			return
		}
		listener{c}.Failed(err)
		if !sleep(c.ctx, resolveBackoff.Delay(failures)) {
			return
		}
	}
}

// resolveBackoff returns the pauses after a resolver has given up.
var resolveBackoff = resolve.Backoff{Base: time.Second, Max: time.Minute}

// listener is the client as its resolver sees it.
type listener struct{ c *Client }

func (l listener) Doubts() <-chan struct{} { return l.c.doubts }

func (l listener) Failed(err error) {
	c := l.c
	c.mu.Lock()
	if len(c.members.Load().set) == 0 {
		c.members.Store(&members{err: err})
	}
	c.mu.Unlock()
	c.emit(Event{Kind: ResolveFailed, Err: err})
	c.changed.tell()
}

func (l listener) Addresses(set []resolve.Address) {
	if len(set) == 0 {
		l.Failed(resolve.ErrNone)
		return
	}
	events, gone := l.c.update(set)
	for _, e := range gone {
		e.leave()
	}
	for _, e := range events {
		l.c.emit(e)
	}
	l.c.changed.tell()
}

// update puts a set of addresses into use: those that stay keep their connections. Those that are gone are to leave.
func (c *Client) update(set []resolve.Address) (events []Event, gone []*Endpoint) {
	c.mu.Lock()
	defer c.mu.Unlock()
	first := len(c.known) == 0
	next := map[resolve.Key]*Endpoint{}
	for _, a := range set {
		key := a.Key()
		e := c.known[key]
		if e == nil {
			e = next[key]
		}
		if e == nil {
			e = &Endpoint{client: c, hash: hashOf(key), breaker: newBreaker(c.opt.breaker)}
			if !first {
				e.warm(c.now())
			}
		}
		e.address.Store(&a)
		next[key] = e
	}
	c.limit(next)
	for key, e := range next {
		if c.known[key] == nil {
			events = append(events, Event{Kind: Added, Address: e.Address()})
		}
	}
	for key, e := range c.known {
		if next[key] == nil {
			c.past += e.calls.attempts.Load()
			events = append(events, Event{Kind: Removed, Address: e.Address()})
			gone = append(gone, e)
		}
	}
	c.known = next
	m := &members{}
	for _, e := range next {
		m.set = append(m.set, e)
	}
	slices.SortFunc(m.set, func(a, b *Endpoint) int {
		return cmp.Or(cmp.Compare(a.Address().String(), b.Address().String()), cmp.Compare(a.hash, b.hash))
	})
	m.picker = c.opt.balancer.Build(m.set)
	c.members.Store(m)
	return events, gone
}

// limit leaves the addresses in set that this client calls if there are too
// many: which ones is drawn by the client's seed, so that clients share them
// evenly and keep theirs while the set changes.
func (c *Client) limit(set map[resolve.Key]*Endpoint) {
	if len(set) <= c.opt.maxAddresses {
		return
	}
	keys := make([]resolve.Key, 0, len(set))
	for k := range set {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b resolve.Key) int {
		return cmp.Compare(mix(set[a].hash^c.opt.seed), mix(set[b].hash^c.opt.seed))
	})
	for _, k := range keys[c.opt.maxAddresses:] {
		delete(set, k)
	}
}

// hashOf returns the hash of an address, which is the same in every process.
func hashOf(k resolve.Key) uint64 {
	return mix(hashString(k.Network + "\x00" + k.Addr + "\x00" + string(k.Dialect) + "\x00" + k.TLSName))
}

// pick finds a connection for an attempt, and waits for one while some are being made and
// none is there. The attempt counts as one that runs; test is what the breaker says.
func (c *Client) pick(ctx context.Context, call *rpc.Invocation, a *attempt) (l *lane, now int64, test bool, err error) {
	p := Pick{Context: ctx, Call: call, tried: a.tried}
	if p.now = a.start; p.now == 0 {
		p.now = c.now()
	}
	a.start = 0 // of another attempt it would not be
	if l, test = c.members.Load().choose(p, a.hedge); l != nil {
		return l, p.now, test, nil
	}
	if a.hedge {
		return nil, 0, false, ErrUnavailable
	}
	var before, after []links
	for {
		changed := c.changed.next() // before looking, so that no change is missed
		m := c.members.Load()
		before = m.links(before[:0])
		p.now = c.now()
		if l, test = m.choose(p, false); l != nil {
			return l, p.now, test, nil
		}
		// What has changed since it looked may be what it looked for.
		after = m.links(after[:0])
		if m != c.members.Load() || !slices.Equal(before, after) {
			continue
		}
		if err := c.hopeless(m, after); err != nil {
			return nil, 0, false, &rpc.Error{Stage: rpc.StageDial, Method: call.Method, Err: err}
		}
		var poll <-chan time.Time // breakers and ejections end without a word
		if c.opt.wait {
			poll = time.After(pollTime)
		}
		select {
		case <-changed:
		case <-poll:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return nil, 0, false, &rpc.Error{Stage: rpc.StageDial, Method: call.Method, Err: fmt.Errorf("%w: %w", ctx.Err(), m.unavailable())}
		}
	}
}

// pollTime is how often calls look for an address that wait although none is being connected to.
const pollTime = 50 * time.Millisecond

// links is what an address has by way of connections at one time. It equals that of another time only if
// none has come or gone between.
type links struct {
	state linkState
	lanes *[]*lane
}

// links appends those of each address to dst.
func (m *members) links(dst []links) []links {
	for _, e := range m.set {
		dst = append(dst, links{e.linkState.Load(), e.lanes.Load()})
	}
	return dst
}

// hopeless returns why waiting for an address is of no use, nil if it may be. all is what the addresses have.
func (c *Client) hopeless(m *members, all []links) error {
	if c.ctx.Err() != nil {
		return rpc.ErrClientClosed
	}
	if c.opt.wait {
		return nil
	}
	if len(m.set) == 0 {
		return m.err // nil while the resolver has said nothing
	}
	for _, l := range all {
		switch {
		case l.state == connecting, l.state == idle, l.state == ready && (l.lanes == nil || len(*l.lanes) == 0): // whose loss is being noted
			return nil
		}
	}
	return m.unavailable()
}

// choose finds the best connection that there is.
func (m *members) choose(p Pick, hedge bool) (*lane, bool) {
	if m.picker == nil {
		return nil, false
	}
	for p.level = best; p.level < levels; p.level++ {
		if hedge && p.level >= again {
			return nil, false
		}
		for range len(m.set) + 1 { // another call may be faster each time
			e := m.picker.Pick(p)
			if e == nil {
				break
			}
			l := e.lane()
			if l == nil {
				continue
			}
			admitted, test := e.breaker.enter(p.now)
			if !admitted {
				continue
			}
			l.pending.Add(1)
			if !l.called.Load() {
				l.called.Store(true)
			}
			return l, test
		}
	}
	return nil, false
}

// maxReasons bounds how many addresses an error tells of.
const maxReasons = 8

// unavailable says why no address can be called.
func (m *members) unavailable() error {
	u := &unavailable{}
	if m.err != nil {
		u.reasons = append(u.reasons, m.err.Error())
	}
	for i, e := range m.set {
		if i == maxReasons {
			u.reasons = append(u.reasons, fmt.Sprintf("and %d more", len(m.set)-i))
			break
		}
		u.reasons = append(u.reasons, e.reason())
	}
	return u
}

// reason says why an address cannot be called.
func (e *Endpoint) reason() string {
	text := e.Address().String() + ": "
	if s := BreakerState(e.breaker.state.Load()); s != Closed {
		return text + "the breaker is " + s.String()
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.lastErr != nil {
		return text + e.lastErr.Error()
	}
	return text + "not connected"
}

// Connect connects to all addresses and returns when each has a connection or has failed to get
// one. An error means that none has one. A client that is warmed up so makes its first calls without waiting.
func (c *Client) Connect(ctx context.Context) error {
	for {
		changed := c.changed.next()
		m := c.members.Load()
		waiting, connected := len(m.set) == 0 && m.err == nil, false
		for _, e := range m.set {
			e.wake()
			switch e.linkState.Load() {
			case ready:
				connected = true
			case connecting, idle:
				waiting = true
			}
		}
		if c.ctx.Err() != nil {
			return rpc.ErrClientClosed
		}
		if m != c.members.Load() {
			continue // those of the old set have left
		}
		if !waiting {
			if connected {
				return nil
			}
			return m.unavailable()
		}
		select {
		case <-changed:
		case <-c.ctx.Done():
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), m.unavailable())
		}
	}
}

// eject ejects an address that has failed too often in a row, if so many may be.
func (c *Client) eject(e *Endpoint, now int64, err error) {
	c.mu.Lock()
	done := c.ejectOne(e, now)
	c.mu.Unlock()
	if done {
		c.emit(Event{Kind: Ejected, Address: e.Address(), Err: err})
	}
}

// ejectOne ejects an address unless it is, or too many are. c.mu is held.
func (c *Client) ejectOne(e *Endpoint, now int64) bool {
	set := c.members.Load().set
	ejected := 0
	for _, o := range set {
		if o.health.until.Load() > now {
			if o == e {
				return false
			}
			ejected++
		}
	}
	if ejected >= c.opt.ejection.most(len(set)) {
		return false
	}
	c.opt.ejection.eject(&e.health, now)
	return true
}

// compare ejects the addresses that failed much more than the others since the last time.
func (c *Client) compare(now int64) {
	var events []Event
	c.mu.Lock()
	set := c.members.Load().set
	records := make([]record, len(set))
	for i, e := range set {
		attempts, failed := e.calls.attempts.Load(), e.calls.failed.Load()+e.calls.refused.Load()
		records[i] = record{attempts - e.health.attempts, failed - e.health.failed}
		e.health.attempts, e.health.failed = attempts, failed
	}
	for _, i := range c.opt.ejection.outliers(records) {
		if c.ejectOne(set[i], now) {
			events = append(events, Event{Kind: Ejected, Address: set[i].Address(), Err: fmt.Errorf(
				"%d of %d calls failed", records[i].failed, records[i].attempts)})
		}
	}
	c.mu.Unlock()
	for _, e := range events {
		c.emit(e)
	}
}
