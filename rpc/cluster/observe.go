package cluster

import (
	"context"
	"strconv"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/resolve"
	"github.com/thrum-rpc/thrum/rpc/stream"
	"github.com/thrum-rpc/thrum/rpc/transport"
)

// This file holds what a client lets others see: attempts, events and counts.

// AttemptInfo is one attempt of a call on one address, before it starts.
type AttemptInfo struct {
	Address         resolve.Address
	Service, Method string
	Dialect         transport.Dialect
	Number          int  // from 1
	Hedge           bool // runs beside an earlier one
	Stream          bool // opens a stream, whose end is the attempt's if it is opened
}

// AttemptResult is how an attempt ended.
type AttemptResult struct {
	Duration time.Duration
	Err      error // nil, an *rpc.ApplicationException, *rpc.BizStatus, *rpc.StatusError, *rpc.Error or *stream.Error
	Outcome  Outcome
	Stream   *stream.Stream // that has ended; nil for a call, or if none was opened
}

// AttemptInterceptor sees an attempt before it starts, where it is made. It returns the context for the attempt, which
// must be made from ctx, or nil for ctx, and a function that is called with its end, or nil.
type AttemptInterceptor func(ctx context.Context, a AttemptInfo) (inner context.Context, ended func(AttemptResult))

// intercepted makes an attempt on a connection between the interceptors.
func (c *Client) intercepted(ctx context.Context, call *rpc.Invocation, a *attempt, l *lane) error {
	info := AttemptInfo{Address: l.endpoint.Address(), Service: call.Service, Method: call.Method,
		Dialect: l.dialect, Number: a.number, Hedge: a.hedge, Stream: a.work.streams()}
	outer := ctx
	ends := make([]func(AttemptResult), 0, len(c.opt.interceptors))
	for _, f := range c.opt.interceptors {
		inner, ended := f(ctx, info)
		if inner != nil {
			ctx = inner
		}
		if ended != nil {
			ends = append(ends, ended)
		}
	}
	start := c.now()
	err := l.carry(ctx, call, a.work)
	if len(ends) == 0 {
		return err
	}
	if err == nil && a.work.streams() {
		a.work.opening.ends, a.work.opening.start = ends, start
		return nil
	}
	result := AttemptResult{Duration: time.Duration(c.now() - start), Err: err, Outcome: c.outcomeOf(outer, err)}
	for i := len(ends) - 1; i >= 0; i-- {
		ends[i](result)
	}
	return err
}

// EventKind is what happened to an address.
type EventKind uint8

const (
	Added          EventKind = iota // the resolver has found it
	Removed                         // the resolver finds it no more
	Connected                       // a connection was made
	Disconnected                    // a connection failed, or its server has said that it leaves
	Unreachable                     // no connection could be made; Err says why
	Ejected                         // it gets no calls for a while; Err says why
	Returned                        // it gets calls again
	BreakerChanged                  // Breaker is the new state
	ResolveFailed                   // the resolver could not find addresses; there is no Address
)

var eventKinds = [...]string{"added", "removed", "connected", "disconnected", "unreachable", "ejected", "returned",
	"breaker changed", "resolve failed"}

// String returns a name for people, such as "added".
func (k EventKind) String() string {
	if int(k) < len(eventKinds) {
		return eventKinds[k]
	}
	return "event " + strconv.Itoa(int(k))
}

// Event is something that happened to an address.
type Event struct {
	Kind    EventKind
	Address resolve.Address
	Breaker BreakerState
	Err     error
}

func (c *Client) emit(e Event) {
	for _, f := range c.opt.events {
		f(e)
	}
}

// Stats is what a client has done since it was made. Its numbers are each
// right, but not all of the same moment.
type Stats struct {
	Retries      uint64 // attempts that followed one which failed
	Hedges       uint64 // attempts beside another
	BudgetDenied uint64 // calls that were not repeated for want of budget
	Addresses    []AddressStats
}

// AddressStats is what is known of one address.
type AddressStats struct {
	Address     resolve.Address
	Connections int
	Pending     int    // calls that run, and streams that are open
	Streams     int    // that are open
	Attempts    uint64 // that ended, those below among them
	Failed      uint64 // without a reply in time
	Refused     uint64 // by the server, or because too many calls waited
	Canceled    uint64
	Latency     time.Duration // of all attempts together, but for streams
	PeakLatency time.Duration // of its calls, as [PeakEWMA] goes by; 0 if it is not known
	Reachable   bool          // connected, or not yet wanted
	Ejected     bool
	Warming     bool
	Breaker     BreakerState
	LastError   error // of connecting; nil if the last connection carried calls
}

// Stats returns a snapshot.
func (c *Client) Stats() Stats {
	s := Stats{Retries: c.retries.Load(), Hedges: c.hedges.Load(), BudgetDenied: c.denied.Load()}
	now := c.now()
	for _, e := range c.members.Load().set {
		state := e.linkState.Load()
		a := AddressStats{
			Address: e.Address(), Pending: e.Pending(), Streams: int(e.calls.streams.Load()),
			Attempts: e.calls.attempts.Load(), Failed: e.calls.failed.Load(), Refused: e.calls.refused.Load(),
			Canceled: e.calls.canceled.Load(), Latency: time.Duration(e.calls.latency.Load()),
			PeakLatency: time.Duration(e.peak.latency.at(now)),
			Reachable:   state == ready || state == idle, Ejected: e.health.until.Load() > now,
			Warming: e.warming.Load() != 0, Breaker: BreakerState(e.breaker.state.Load()),
		}
		if lanes := e.lanes.Load(); lanes != nil {
			a.Connections = len(*lanes)
		}
		e.mu.Lock()
		if e.failures > 0 {
			a.LastError = e.lastErr
		}
		e.mu.Unlock()
		s.Addresses = append(s.Addresses, a)
	}
	return s
}
