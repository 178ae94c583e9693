package cluster

import (
	"context"
	"crypto/tls"
	"errors"
	"math"
	"math/rand/v2"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds one address: its connections, and whether it can be called.

// Endpoint is one address as a [Picker] sees it. It is safe for concurrent use.
type Endpoint struct {
	client  *Client
	address atomic.Pointer[resolve.Address]
	hash    uint64 // of its key

	// Read by each pick, and changed by each call on the address.
	linkState atomic.Int32
	lanes     atomic.Pointer[[]*lane] // connected, in no order
	warming   atomic.Int64            // since when calls grow to the full share; 0 if they have
	health    health
	breaker   *breaker
	peak      peakEWMA // of the latencies of calls
	calls     counts

	mu       sync.Mutex
	dialing  bool
	gone     bool               // no longer an address of the service
	stop     context.CancelFunc // of dialing; nil if nothing was dialed
	failures int                // connections in a row that failed, or never carried a call
	lastErr  error              // why
	pause    time.Duration      // before the next connection is made
}

// counts are the attempts on an address since it is known.
type counts struct {
	attempts, failed, refused, canceled, latency atomic.Uint64
	streams                                      atomic.Int64 // that are open
}

// linkState is what an address has by way of connections.
type linkState = int32

const (
	idle       linkState = iota // none, and nobody has asked for one
	connecting                  // the first is being made, or one in the place of one that was lost
	ready                       // one at least
	down                        // the last attempt failed; more are made, with pauses
)

// lane is one connection of an address. It never makes another one in its
// place, so that a call cannot wait for a server that does not answer.
type lane struct {
	endpoint *Endpoint
	client   *rpc.Client        // of methods on structs, or nil
	messages *rpc.MessageClient // of methods on messages, or nil
	dialect  transport.Dialect
	many     bool // its client makes connections as calls need them
	inOrder  bool
	since    int64
	dialed   atomic.Bool
	pending  atomic.Int64
	called   atomic.Bool // a call has chosen it
	proven   atomic.Bool // one has had its reply, or ended it without a failure
	left     atomic.Bool // its server has said that it leaves
	lost     atomic.Bool
	gone     chan struct{} // closed when no call can choose it any more
	closing  sync.Once
}

// errLeft ends calls that came to a connection at the moment when it was lost.
var errLeft = errors.New("cluster: the connection is no longer in use")

// Address returns what the resolver has said of the address last.
func (e *Endpoint) Address() resolve.Address { return *e.address.Load() }

// Pending returns the calls that run on the address, and the streams that are open.
func (e *Endpoint) Pending() int {
	lanes := e.lanes.Load()
	if lanes == nil {
		return 0
	}
	var n int64
	for _, l := range *lanes {
		n += l.pending.Load()
	}
	return int(n)
}

// load is Pending for a unit of weight.
func (e *Endpoint) load() float64 {
	return float64(e.Pending()) / float64(e.address.Load().Share())
}

// lane returns the connection with the fewest calls, nil if there is none, and
// has another one made when all are busy and more are allowed.
func (e *Endpoint) lane() *lane {
	lanes := e.lanes.Load()
	if lanes == nil || len(*lanes) == 0 {
		return nil
	}
	best, least := (*lanes)[0], int64(math.MaxInt64)
	most := e.client.opt.connections
	if most == 0 {
		most = 1
		if best.inOrder {
			most = inOrderConnections
		}
	}
	if most == 1 {
		return best
	}
	for _, l := range *lanes {
		if n := l.pending.Load(); n < least {
			best, least = l, n
		}
	}
	if least > 0 && len(*lanes) < most && !best.many {
		e.connect()
	}
	return best
}

// wake makes an idle address connect.
func (e *Endpoint) wake() {
	if e.linkState.Load() == idle {
		e.connect()
	}
}

// connect makes a connection, on a goroutine that tries until it has one.
func (e *Endpoint) connect() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.dialing || e.gone || !e.client.begin() {
		return
	}
	e.dialing = true
	ctx, cancel := context.WithCancel(e.client.ctx)
	e.stop = cancel
	if e.failures == 0 && !e.connected() {
		e.linkState.Store(connecting)
	}
	go func() {
		defer e.client.work.Done()
		defer cancel()
		e.dial(ctx)
	}()
}

func (e *Endpoint) connected() bool {
	lanes := e.lanes.Load()
	return lanes != nil && len(*lanes) > 0
}

// dial tries until there is one more connection, or ctx ends.
func (e *Endpoint) dial(ctx context.Context) {
	for {
		e.mu.Lock()
		pause := e.pause
		e.pause = 0
		if e.failures > 0 {
			pause = max(pause, e.client.opt.reconnect.Delay(e.failures))
		}
		e.mu.Unlock()
		if !sleep(ctx, pause) {
			return
		}
		l, err := e.newLane(ctx)
		if ctx.Err() != nil {
			if l != nil {
				l.close()
			}
			return
		}
		if err == nil {
			e.adopt(l)
			return
		}
		if e.refused(err) {
			return
		}
	}
}

// adopt puts a connection into use.
func (e *Endpoint) adopt(l *lane) {
	e.mu.Lock()
	e.dialing = false
	if e.gone {
		e.mu.Unlock()
		l.close()
		return
	}
	var lanes []*lane
	if old := e.lanes.Load(); old != nil {
		lanes = slices.Clone(*old)
	}
	lanes = append(lanes, l)
	e.lanes.Store(&lanes)
	if e.linkState.Load() == down {
		e.warm(e.client.now())
	}
	e.linkState.Store(ready)
	e.mu.Unlock()
	e.client.emit(Event{Kind: Connected, Address: e.Address()})
	e.client.changed.tell()
	if l.lost.Load() { // before it could be found among the connections
		e.lost(l)
	}
}

// refused notes that no connection could be made. It reports that trying has
// no use, because others are there.
func (e *Endpoint) refused(err error) (enough bool) {
	e.mu.Lock()
	e.failures = min(e.failures+1, 64)
	e.lastErr = err
	if enough = e.connected(); enough {
		e.dialing = false
	} else {
		e.linkState.Store(down)
	}
	e.mu.Unlock()
	e.client.emit(Event{Kind: Unreachable, Address: e.Address(), Err: err})
	e.client.doubt()
	e.client.changed.tell()
	return enough
}

// lost takes a connection out of use that failed, or whose server leaves, and
// makes another one unless nobody has used it.
func (e *Endpoint) lost(l *lane) {
	l.lost.Store(true)
	e.mu.Lock()
	var lanes []*lane
	found := false
	if old := e.lanes.Load(); old != nil {
		lanes = slices.DeleteFunc(slices.Clone(*old), func(o *lane) bool { return o == l })
		found = len(lanes) < len(*old)
	}
	if !found { // the other one who notices has done so, or adopt will
		e.mu.Unlock()
		return
	}
	e.lanes.Store(&lanes)
	close(l.gone)
	used := l.proven.Load()
	if used {
		e.failures = 0
	} else {
		e.failures = min(e.failures+1, 64)
		e.lastErr = errLeft
	}
	again := false
	if len(lanes) == 0 && !e.gone {
		switch old := e.client.now() - l.since; {
		case !used && old > int64(e.client.opt.reconnect.Max): // closed for being idle
			e.failures = 0
			e.linkState.Store(idle)
		case used:
			again = true
			e.linkState.Store(connecting)
		default:
			again = true
			e.linkState.Store(down)
		}
	}
	e.mu.Unlock()
	if l.pending.Load() == 0 {
		l.close()
	}
	e.client.emit(Event{Kind: Disconnected, Address: e.Address()})
	if again {
		if l.left.Load() {
			e.mu.Lock()
			e.pause = e.client.leavePause(e)
			e.mu.Unlock()
		}
		e.connect()
	}
	e.client.changed.tell()
}

// leave ends an address that is one no more: no call begins on it, those that
// run go on.
func (e *Endpoint) leave() {
	e.mu.Lock()
	e.gone = true
	stop := e.stop
	old := e.lanes.Swap(nil)
	e.linkState.Store(down)
	e.mu.Unlock()
	if stop != nil {
		stop()
	}
	if old == nil {
		return
	}
	for _, l := range *old {
		l.lost.Store(true)
		close(l.gone)
		if l.pending.Load() == 0 {
			l.close()
		}
	}
}

// A server that says that it leaves takes connections for a moment yet, only to
// reset them, or has a successor at the same address soon.
const (
	leavePause = time.Second           // before it is connected to again, half of which is random
	shortPause = 25 * time.Millisecond // if calls have no other address meanwhile
)

// leavePause returns the pause before e, whose server leaves, is connected to.
func (c *Client) leavePause(e *Endpoint) time.Duration {
	for _, o := range c.members.Load().set {
		if o != e && o.linkState.Load() == ready {
			return leavePause/2 + rand.N(leavePause/2)
		}
	}
	return shortPause
}

// prove notes that the connection carries calls.
func (l *lane) prove() {
	if l.proven.Load() || l.proven.Swap(true) {
		return
	}
	e := l.endpoint
	e.mu.Lock()
	defer e.mu.Unlock()
	e.failures = 0
}

// done ends a call on l. The last one on a lost connection closes it.
func (l *lane) done() {
	if l.pending.Add(-1) == 0 && l.lost.Load() {
		l.close()
	}
}

// close closes the connection, which may be done from within it.
func (l *lane) close() {
	l.closing.Do(func() {
		if l.client != nil {
			l.client.Close()
		} else {
			l.messages.Close()
		}
		l.endpoint.client.forget(l)
	})
}

// newLane connects to the address.
func (e *Endpoint) newLane(ctx context.Context) (*lane, error) {
	c, a := e.client, e.Address()
	l := &lane{endpoint: e, since: c.now(), gone: make(chan struct{})}
	opts := slices.Clone(c.opt.dial)
	opts = append(opts, rpc.DialTimeout(c.opt.dialTimeout))
	o, err := dialectOption(a.Dialect, c.messages)
	if err != nil {
		return nil, err
	}
	if o != nil {
		opts = append(opts, o)
	}
	if c.opt.perAddress != nil {
		opts = append(opts, c.opt.perAddress(a)...)
	}
	if config := c.opt.tlsConfig(a); config != nil {
		opts = append(opts, rpc.TLS(config))
	}
	opts = append(opts,
		rpc.Dialer(func(ctx context.Context, network, address string) (net.Conn, error) {
			if !l.mayDial(ctx) {
				return nil, errLeft
			}
			return c.opt.dialer(ctx, network, address)
		}),
		rpc.Disconnected(func(why rpc.Loss) {
			if why != rpc.ConnectionFailed && l.called.Load() {
				l.proven.Store(true)
			}
			l.left.Store(why == rpc.ServerLeaves)
			e.lost(l)
		}))
	if c.messages {
		l.messages, err = rpc.DialMessages(ctx, a.Key().Network, a.Addr, opts...)
	} else {
		l.client, err = rpc.Dial(ctx, a.Key().Network, a.Addr, opts...)
	}
	if err != nil {
		return nil, err
	}
	l.knowDialect()
	c.remember(l)
	return l, nil
}

// knowDialect notes what the dialect of the connection means for calls.
func (l *lane) knowDialect() {
	if l.messages != nil {
		l.dialect = l.messages.Dialect()
		l.many = l.dialect != transport.TRPC
		return
	}
	switch l.dialect = l.client.Dialect(); l.dialect {
	case transport.HTTP:
		l.many = true
	case transport.Header, transport.TTHeader:
	default:
		l.inOrder = true
	}
}

// mayDial reports whether a connection may be made: the lane's own, and the one that its streams
// share where they cannot share that of calls.
func (l *lane) mayDial(ctx context.Context) bool {
	if l.many {
		return true
	}
	if ctx.Value(streamDial{}) != nil {
		return !l.lost.Load()
	}
	return !l.dialed.Swap(true)
}

// tlsConfig returns the configuration of connections to a, nil for none.
func (o *options) tlsConfig(a resolve.Address) *tls.Config {
	if o.tls == nil {
		return nil
	}
	config := o.tls(a)
	if config == nil || (a.TLSName == "" || config.ServerName == a.TLSName) && o.pin == nil {
		return config
	}
	config = config.Clone()
	if a.TLSName != "" {
		config.ServerName = a.TLSName
	}
	if o.pin != nil {
		before := config.VerifyConnection
		config.VerifyConnection = func(state tls.ConnectionState) error {
			if before != nil {
				if err := before(state); err != nil {
					return err
				}
			}
			return o.pin(a, state)
		}
	}
	return config
}

// warm makes calls grow to the full share from now on.
func (e *Endpoint) warm(now int64) {
	if e.client.opt.warmUp > 0 {
		e.warming.Store(max(now, 1))
	}
}

// drawn reports whether a call may come to the address, which only some may
// while it is warming up.
func (e *Endpoint) drawn(now int64) bool {
	since := e.warming.Load()
	if since == 0 {
		return true
	}
	share := warmStart + (1-warmStart)*float64(now-since)/float64(e.client.opt.warmUp)
	if share >= 1 {
		e.warming.CompareAndSwap(since, 0)
		return true
	}
	return rand.Float64() < share
}

// ejected reports whether the address gets no calls for having failed.
func (e *Endpoint) ejected(now int64) bool {
	until := e.health.until.Load()
	if until == 0 {
		return false
	}
	if now < until {
		return true
	}
	if e.health.until.CompareAndSwap(until, 0) {
		e.warm(now)
		e.client.emit(Event{Kind: Returned, Address: e.Address()})
	}
	return false
}

// sleep waits, and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	if d <= 0 {
		return ctx.Err() == nil
	}
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-ctx.Done():
		return false
	}
}
