package cluster

import (
	"math"
	"sync/atomic"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
)

// This file holds the peak EWMA of an address's latencies, and the balancer that goes by it.

// PeakEWMA draws two addresses, by weight, and calls the one on which the call is expected to end
// first: by the latency of its calls, times those that run on it for its weight and this one. The latency is an exponentially
// weighted moving average that rises at once with a call that takes longer, and falls in some 10 s; in that time it also falls while
// no call ends, so that an address that was slow is tried again. Use it where servers are unequal, or slow at times:
// it keeps away from a slow one that is idle, too.
//
// An address that fails or refuses calls, however fast, counts as slower by the share of them: each one halves the share of
// answers, each answer halves what it lacks, and so do some 7 s. An exception of the application, or a call that was given up, says
// only that the address is no faster than it was; oneway calls and streams say nothing of latency, but open streams count as
// calls that run. An address of which no latency is known is taken to be as fast as the other one.
func PeakEWMA() Balancer { return peakEWMABalancer{} }

type peakEWMABalancer struct{}

func (peakEWMABalancer) Build(set []*Endpoint) Picker {
	p := &peakEWMAPicker{shares: newShares(set)}
	for _, e := range set {
		p.mean += float64(e.Address().Share()) / float64(len(set))
	}
	return p
}

type peakEWMAPicker struct {
	shares
	mean float64 // weight
}

// clearly is the share of the first address's cost below which the second one is preferred:
// otherwise addresses that are alike would be called by who was called longest ago, and not by weight.
const clearly = 0.9

func (l *peakEWMAPicker) Pick(p Pick) *Endpoint {
	a, b := l.two(p)
	if b == nil || a == b {
		return a
	}
	costA, costB := costs(&a.peak, &b.peak, p.now)
	if costB*(1+l.mean*b.load()) < clearly*costA*(1+l.mean*a.load()) {
		return b
	}
	return a
}

// compareCosts returns -1 if a call on a costs at most half of one on b, 1 if it is the other way round, and 0
// otherwise: that decides between addresses that have as much to do. Less would be noise, against which the weights by
// which they are drawn count for more.
func compareCosts(a, b *Endpoint, now int64) int {
	costA, costB := costs(&a.peak, &b.peak, now)
	switch {
	case 2*costA <= costB:
		return -1
	case 2*costB <= costA:
		return 1
	}
	return 0
}

const (
	decayTime  = 10 * time.Second // in which what was noted falls to 1/e
	tick       = 20               // of notes, in bits of nanoseconds: about a millisecond
	mostLack   = 1 - 1.0/1024     // of answers: failures at the same time must not add up to for ever
	forgetLack = 1.0 / 128
)

// peakEWMA is what is known of the latency and of the failures of one address, as arithmetic on a clock that is passed in.
type peakEWMA struct {
	latency note // of calls that were answered, in nanoseconds
	lack    note // of answers: the share of recent calls that failed
}

// costs returns how long calls on a and b are expected to take, with those that fail counted as calls that are
// made again until one is answered. They are to be compared with each other only.
func costs(a, b *peakEWMA, now int64) (costA, costB float64) {
	costA, costB = a.latency.at(now), b.latency.at(now)
	if costA == 0 || costB == 0 {
		costA, costB = 1, 1
	}
	return costA / (1 - a.lack.at(now)), costB / (1 - b.lack.at(now))
}

// reply notes a call that was answered.
func (p *peakEWMA) reply(now int64, took float64) {
	p.latency.set(now, func(known, left float64) float64 { return max(took, known*left+took*(1-left)) })
	p.answered(now)
}

// longer notes a call that would have taken so long or longer. What was known before counts as if it were of now.
func (p *peakEWMA) longer(now int64, took float64) {
	if p.latency.word.Load() != 0 {
		p.latency.set(now, func(known, _ float64) float64 { return max(took, known) })
	}
}

// answered notes that a call was answered.
func (p *peakEWMA) answered(now int64) {
	if p.lack.word.Load() == 0 {
		return
	}
	p.lack.set(now, func(lack, left float64) float64 {
		if lack *= left / 2; lack > forgetLack {
			return lack
		}
		return 0
	})
}

// failed notes that a call was not answered, or refused.
func (p *peakEWMA) failed(now int64) {
	p.lack.set(now, func(lack, left float64) float64 { return min((1+lack*left)/2, mostLack) })
}

// note is a number that decays, and when it was noted. Both are one word, so that notes need no lock: a float32
// above the tick. A note that changes nothing is not written, as it is with most calls: of those in one tick only peaks are.
// After 24 days without a note the tick is ambiguous; then the number may be one that has not decayed.
type note struct{ word atomic.Uint64 }

// unpack returns the number, and the share of it that is left at now.
func unpack(word uint64, now int64) (number, left float64) {
	number = float64(math.Float32frombits(uint32(word >> 32)))
	age := int32(uint32(now>>tick) - uint32(word))
	if age <= 0 { // another goroutine was later
		return number, 1
	}
	x := float64(age) * (1 << tick) / float64(decayTime)
	if x < 1.0/64 { // as it is on most calls: near enough, and an Exp takes longer than all else here
		return number, 1 - x
	}
	return number, math.Exp(-x)
}

// at returns the number by now, 0 if there is none.
func (n *note) at(now int64) float64 {
	word := n.word.Load()
	if word == 0 {
		return 0
	}
	number, left := unpack(word, now)
	return number * left
}

// set notes what next makes of the number that was noted and the share of it that is left.
func (n *note) set(now int64, next func(number, left float64) float64) {
	for {
		old := n.word.Load()
		number, left := unpack(old, now)
		word := uint64(0)
		if f := float32(next(number, left)); f > 0 {
			word = uint64(math.Float32bits(f))<<32 | uint64(uint32(now>>tick))
		}
		if word>>32 == old>>32 && left == 1 || n.word.CompareAndSwap(old, word) {
			return
		}
	}
}

// learn notes what the end of an attempt says of the latency of its address.
func (e *Endpoint) learn(call *rpc.Invocation, o Outcome, err error, now, took int64) {
	switch {
	case o == Failed || o == Refused:
		e.peak.longer(now, float64(took))
		e.peak.failed(now)
	case err != nil:
		e.peak.longer(now, float64(took))
		if o == Succeeded {
			e.peak.answered(now)
		}
	case !call.Oneway:
		e.peak.reply(now, float64(max(took, 1)))
	}
}
