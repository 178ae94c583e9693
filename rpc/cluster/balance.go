package cluster

import (
	"cmp"
	"context"
	"math/rand/v2"
	"sort"
	"sync/atomic"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds how an address is chosen for a call: the contract, and the
// balancers that look at weights and at calls that run.

// Balancer makes pickers. Users may bring their own.
type Balancer interface {
	// Build returns the picker of a set of addresses, which has one at least. It is called
	// for each new set, with the same *Endpoint for an address that stays. Nobody may change set.
	Build(set []*Endpoint) Picker
}

// Picker chooses among the addresses that it was built for.
type Picker interface {
	// Pick returns an address that p finds usable, or nil if there is none. It
	// is called for each attempt, by many goroutines at the same time, and must not wait.
	Pick(p Pick) *Endpoint
}

// Pick is an attempt that looks for an address.
type Pick struct {
	Context context.Context
	Call    *rpc.Invocation

	now   int64
	level level
	tried tried
}

// tried are the addresses of earlier attempts of the call.
type tried [maxAttempts - 1]*Endpoint

func (t *tried) add(e *Endpoint) {
	for i, old := range t {
		if old == nil || old == e {
			t[i] = e
			return
		}
	}
}

// level is what a pick puts up with. Each level is tried when the one before has found nothing.
type level uint8

const (
	best   level = iota // connected, healthy, warm or drawn, and not tried
	cold                // warming up, or overtaken by hedges, too
	again               // tried, too, if the attempt does not run beside an earlier one
	failed              // ejected, too, because nothing better is left
	levels
)

// Usable reports whether a call may be made on e: e is connected, its breaker
// lets calls pass, it has not been ejected or tried for this call, and, while it warms up, the call is one
// of those it gets. What matters less is let pass when a Pick finds nothing.
func (p Pick) Usable(e *Endpoint) bool {
	if state := e.linkState.Load(); state != ready {
		if state == idle {
			e.wake()
		}
		return false
	}
	if p.level < again {
		for _, t := range p.tried {
			if t == e {
				return false
			}
		}
	}
	if p.level < failed && e.ejected(p.now) {
		return false
	}
	if p.level < cold && (!e.drawn(p.now) || e.health.late.Load() > p.now || e.health.overtaken.Load() >= overtakenFew && e.Pending() > 0) {
		return false
	}
	return e.breaker.usable(p.now)
}

// first returns the first usable address of set from start on, going round.
func (p Pick) first(set []*Endpoint, start int) *Endpoint {
	for i := range set {
		if e := set[(start+i)%len(set)]; p.Usable(e) {
			return e
		}
	}
	return nil
}

// RoundRobin calls one address after another, each in proportion to its weight.
func RoundRobin() Balancer { return roundRobin{} }

type roundRobin struct{}

// maxRound bounds the length of a round, in which each address stands as often as
// its weight says; weights are rounded to it.
const maxRound = 4096

type roundRobinPicker struct {
	round []*Endpoint
	next  atomic.Uint64
}

// Build spreads the turns of each address over the round.
func (roundRobin) Build(set []*Endpoint) Picker {
	weights := make([]int, len(set))
	divisor, sum := 0, 0
	for i, e := range set {
		weights[i] = e.Address().Share()
		divisor = gcd(divisor, weights[i])
	}
	for i := range weights {
		weights[i] /= divisor
		sum += weights[i]
	}
	if limit := max(maxRound, len(set)); sum > limit {
		total := sum
		sum = 0
		for i := range weights {
			weights[i] = max(weights[i]*limit/total, 1)
			sum += weights[i]
		}
	}
	// At each place stands the address that is furthest behind its share.
	p := &roundRobinPicker{round: make([]*Endpoint, 0, sum)}
	due := make([]int, len(set))
	for range sum {
		first := 0
		for i := range set {
			due[i] += weights[i]
			if due[i] > due[first] {
				first = i
			}
		}
		due[first] -= sum
		p.round = append(p.round, set[first])
	}
	p.next.Store(rand.Uint64N(uint64(sum))) // many clients must not begin at the same address
	return p
}

func (r *roundRobinPicker) Pick(p Pick) *Endpoint {
	return p.first(r.round, int(r.next.Add(1)%uint64(len(r.round))))
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shares draws addresses by weight.
type shares struct {
	set  []*Endpoint
	sums []int // of the weights up to each; nil if all are equal
}

func newShares(set []*Endpoint) shares {
	s := shares{set: set, sums: make([]int, len(set))}
	sum, equal := 0, true
	for i, e := range set {
		share := e.Address().Share()
		equal = equal && share == set[0].Address().Share()
		sum += share
		s.sums[i] = sum
	}
	if equal {
		s.sums = nil
	}
	return s
}

// draw returns the index of an address.
func (s *shares) draw() int {
	if s.sums == nil {
		return rand.IntN(len(s.set))
	}
	return sort.SearchInts(s.sums, 1+rand.IntN(s.sums[len(s.sums)-1]))
}

// two returns two usable addresses that are drawn by weight: the second one is nil if there is but one
// address at all, and may be the first one if no other is usable. Both are nil if none is.
func (s *shares) two(p Pick) (a, b *Endpoint) {
	i := s.draw()
	a = p.first(s.set, i)
	if a == nil || len(s.set) == 1 {
		return a, nil
	}
	j := s.draw()
	if j == i {
		j = (i + 1 + rand.IntN(len(s.set)-1)) % len(s.set)
	}
	return a, p.first(s.set, j)
}

// LeastPending calls the address on which the fewest calls run for its weight; of equal ones one that is drawn by weight, unless
// a call on another one costs less than half by [PeakEWMA]'s measure. It looks at all addresses, so for many PowerOfTwo is cheaper, and nearly as good.
func LeastPending() Balancer { return leastPending{} }

type leastPending struct{}

func (leastPending) Build(set []*Endpoint) Picker { return leastPendingPicker(set) }

type leastPendingPicker []*Endpoint

func (l leastPendingPicker) Pick(p Pick) *Endpoint {
	var found *Endpoint
	var least float64
	shares := 0 // of the equal ones that have been seen
	for _, e := range l {
		load := e.load()
		order := cmp.Compare(load, least)
		if found == nil {
			order = -1
		} else if order == 0 {
			order = compareCosts(e, found, p.now)
		}
		if order > 0 || !p.Usable(e) {
			continue
		}
		share := e.address.Load().Share()
		if order < 0 {
			found, least, shares = e, load, share
		} else if shares += share; rand.IntN(shares) < share {
			found = e
		}
	}
	return found
}

// PowerOfTwo draws two addresses, by weight, and calls the one on which fewer calls run
// for its weight; of equal ones the first, unless a call on the other costs less than half by [PeakEWMA]'s measure. It is the default:
// it keeps away from slow servers as LeastPending does, without looking at
// all, and many clients do not all run to the same server.
func PowerOfTwo() Balancer { return powerOfTwo{} }

type powerOfTwo struct{}

func (powerOfTwo) Build(set []*Endpoint) Picker { return &powerOfTwoPicker{newShares(set)} }

type powerOfTwoPicker struct{ shares }

func (l *powerOfTwoPicker) Pick(p Pick) *Endpoint {
	a, b := l.two(p)
	if b == nil || a == b {
		return a
	}
	loadA, loadB := a.load(), b.load()
	if loadB < loadA || loadB == loadA && compareCosts(b, a, p.now) < 0 {
		return b
	}
	return a
}
