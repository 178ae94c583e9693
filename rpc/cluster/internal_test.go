package cluster

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/rpc/resolve"
	"pgregory.net/rapid"
)

// This file tests the arithmetic of breakers, budgets, ejection and latencies
// on clocks of its own.

const second = int64(time.Second)

func TestABreakerOpensOnAShareOfFailures(t *testing.T) {
	for _, c := range []struct {
		good, failed int
		want         BreakerState
	}{{0, 19, Closed}, {0, 20, Open}, {11, 9, Closed}, {10, 10, Open}, {1000, 900, Closed}} {
		b := newBreaker(Breaker{}.withDefaults())
		for range c.good {
			b.leave(second, Succeeded, false)
		}
		for range c.failed {
			b.leave(second, Failed, false)
		}
		if got := BreakerState(b.state.Load()); got != c.want {
			t.Errorf("%d good and %d failed calls: %v, want %v", c.good, c.failed, got, c.want)
		}
	}
}

func TestABreakerForgetsOldFailures(t *testing.T) {
	b := newBreaker(Breaker{}.withDefaults())
	for range 19 {
		b.leave(second, Failed, false)
	}
	b.leave(12*second, Failed, false)
	if s := BreakerState(b.state.Load()); s != Closed {
		t.Errorf("%v for failures eleven seconds ago", s)
	}
	b.leave(12*second, Canceled, false)
	for range 19 {
		b.leave(15*second, Refused, false)
	}
	if s := BreakerState(b.state.Load()); s != Open {
		t.Errorf("%v for twenty failures in three seconds", s)
	}
}

func opened(now int64) *breaker {
	b := newBreaker(Breaker{}.withDefaults())
	for range 20 {
		b.leave(now, Failed, false)
	}
	return b
}

func TestAnOpenBreakerTestsOneCallAtATime(t *testing.T) {
	b := opened(second)
	if admitted, _ := b.enter(second); admitted {
		t.Fatal("an open breaker admits a call")
	}
	now := second + int64(b.opt.Pause)
	for i := range b.opt.Tests {
		admitted, test := b.enter(now)
		if !admitted || !test || b.usable(now) {
			t.Fatalf("test %d: admitted %v as test %v; another one would be usable: %v", i, admitted, test, b.usable(now))
		}
		if again, _ := b.enter(now); again {
			t.Fatal("two tests at the same time")
		}
		b.leave(now, Canceled, test) // says nothing
		_, test = b.enter(now)
		b.leave(now, Succeeded, test)
	}
	if s := BreakerState(b.state.Load()); s != Closed {
		t.Fatalf("%v after the tests", s)
	}
	b.leave(now, Failed, false)
	if s := BreakerState(b.state.Load()); s != Closed {
		t.Errorf("%v: what was before the tests still counts", s)
	}
}

func TestAFailedTestPausesLonger(t *testing.T) {
	b, now := opened(0), int64(0)
	for n := range 10 {
		limit := min(b.opt.Pause<<n, b.opt.MaxPause)
		if d := time.Duration(b.until - now); d < limit/2 || d > limit {
			t.Fatalf("after %d failed tests a pause of %v, the longest is %v", n, d, limit)
		}
		now = b.until
		if admitted, test := b.enter(now); !admitted || !test {
			t.Fatal("no test after the pause")
		}
		if !b.leave(now, Failed, true) {
			t.Fatal("nothing has changed")
		}
	}
}

func TestABreakerNeverHasTwoTests(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b, now := newBreaker(Breaker{Calls: 2, Tests: 2}.withDefaults()), int64(0)
		var running []bool // whether each is a test
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now += rapid.Int64Range(0, 2*second).Draw(t, "pause")
			if rapid.Bool().Draw(t, "enter") {
				usable := b.usable(now)
				admitted, test := b.enter(now)
				if admitted != usable {
					t.Fatalf("usable %v, admitted %v", usable, admitted)
				}
				if admitted {
					running = append(running, test)
				}
			} else if len(running) > 0 {
				i := rapid.IntRange(0, len(running)-1).Draw(t, "which")
				b.leave(now, Outcome(rapid.IntRange(0, 3).Draw(t, "outcome")), running[i])
				running = slices.Delete(running, i, i+1)
			}
			tests := 0
			for _, test := range running {
				if test {
					tests++
				}
			}
			if tests > 1 || b.testing != (tests == 1) {
				t.Fatalf("%d tests run, and the breaker thinks so: %v", tests, b.testing)
			}
		}
	})
}

func TestABudgetIsAShareOfTheCalls(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		opt := Budget{Share: rapid.Float64Range(0, 1).Draw(t, "share"), PerSecond: rapid.Float64Range(0, 20).Draw(t, "per second")}
		b := newBudget(opt)
		var now int64
		var calls uint64
		taken := 0
		for range rapid.IntRange(1, 300).Draw(t, "steps") {
			now += rapid.Int64Range(0, 3*second).Draw(t, "pause")
			calls += rapid.Uint64Range(0, 1000).Draw(t, "calls")
			for range rapid.IntRange(0, 50).Draw(t, "wanted") {
				if b.take(now, calls) {
					taken++
				}
			}
			limit := opt.Share*float64(calls) + opt.PerSecond*(float64(now)/float64(second)+budgetWindow.Seconds())
			if float64(taken) > limit+1e-6*limit {
				t.Fatalf("%d taken of %v: %d calls in %v", taken, opt, calls, time.Duration(now))
			}
		}
	})
}

// An attempt that runs is taken from the calls that have ended before it has, so that they look fewer for a while.
func TestABudgetIsNotPaidTwiceForACall(t *testing.T) {
	b := newBudget(Budget{Share: 0.1})
	taken, now := 0, int64(0)
	for calls := uint64(10); calls <= 1000; calls++ {
		for _, seen := range []uint64{calls, calls - 5, calls - 1, calls - 3} {
			if now++; b.take(now, seen) {
				taken++
			}
		}
	}
	if taken > 100 {
		t.Errorf("%d taken of a tenth of 1000 calls", taken)
	}
}

func TestABudgetOfOldCallsIsGone(t *testing.T) {
	b := newBudget(Budget{Share: 0.2})
	takeAll := func(now int64, calls uint64) (n int) {
		for b.take(now, calls) {
			n++
		}
		return n
	}
	if n := takeAll(second, 1000); n != 200 {
		t.Errorf("%d for 1000 calls", n)
	}
	if n := takeAll(101*second, 11_000); n != 200 { // the last ten seconds of a hundred
		t.Errorf("%d for 10000 calls in 100 seconds", n)
	}
	if n := takeAll(101*second, 11_000); n != 0 {
		t.Errorf("%d more", n)
	}
}

func TestEjectionsAreLimitedAndGrow(t *testing.T) {
	e := Ejection{}.withDefaults()
	for n, want := range []int{0, 0, 1, 1, 2, 2, 3} {
		if got := e.most(n); got != want {
			t.Errorf("%d of %d may be ejected, want %d", got, n, want)
		}
	}
	if got := (Ejection{MaxShare: 1}).withDefaults().most(3); got != 2 {
		t.Errorf("with no limit %d of 3", got)
	}
	var h health
	var now int64
	var times []time.Duration
	for range 3 {
		e.eject(&h, now)
		times = append(times, time.Duration(h.until.Load()-now))
		now = h.until.Load()
	}
	now += int64(time.Hour)
	e.eject(&h, now)
	times = append(times, time.Duration(h.until.Load()-now))
	if got, want := fmt.Sprint(times), "[15s 30s 45s 15s]"; got != want {
		t.Errorf("ejected for %v, want %v", got, want)
	}
}

func TestOutliersAreFarBelowAllOthers(t *testing.T) {
	e := Ejection{}.withDefaults()
	for name, c := range map[string]struct {
		records []record
		want    string
	}{
		"one of three fails half":  {[]record{{100, 1}, {100, 50}, {100, 2}}, "[1]"},
		"all fail alike":           {[]record{{100, 90}, {100, 92}, {100, 95}}, "[]"},
		"too few calls":            {[]record{{1000, 0}, {49, 49}}, "[]"},
		"too few calls of others":  {[]record{{49, 0}, {1000, 1000}}, "[]"},
		"one of two":               {[]record{{1000, 0}, {1000, 400}}, "[1]"},
		"a gap that is too little": {[]record{{1000, 0}, {1000, 290}}, "[]"},
		"none":                     {nil, "[]"},
	} {
		if got := fmt.Sprint(e.outliers(c.records)); got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}

func TestAPeakIsFollowedAtOnceAndForgottenSlowly(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var p peakEWMA
		var now int64
		highest := 0.0
		for range rapid.IntRange(1, 100).Draw(t, "calls") {
			now += rapid.Int64Range(0, 30*second).Draw(t, "pause")
			took := rapid.Float64Range(1, 1e12).Draw(t, "took")
			before := p.latency.at(now)
			highest = max(highest, took)
			if rapid.Bool().Draw(t, "answered") {
				p.reply(now, took)
			} else {
				p.longer(now, took)
				if (before == 0) != (p.latency.at(now) == 0) {
					t.Fatal("what is no answer made a latency known")
				}
			}
			after := p.latency.at(now)
			if after != 0 && (after < took*0.999 || after > highest*1.001) {
				t.Fatalf("after %v a call of %v, none longer than %v, makes it %v", before, took, highest, after)
			}
		}
		last := p.latency.at(now)
		if later := p.latency.at(now + 10*second); later > last*0.38 || later < last*0.36 {
			t.Fatalf("of %v %v is left after 10 s", last, later)
		}
		if later := p.latency.at(now + 86400*second); later != 0 {
			t.Fatalf("of %v %v is left after a day", last, later)
		}
		if earlier := p.latency.at(now - second); earlier != last {
			t.Fatalf("%v for who is a second late, %v for others", earlier, last)
		}
	})
}

func TestLatenciesThatFallAreBelievedInTime(t *testing.T) {
	var p peakEWMA
	now := second
	p.reply(now, 100)
	for range 10_000 { // 10 s
		now += int64(time.Millisecond)
		p.reply(now, 10)
	}
	if got := p.latency.at(now); got < 10+90*0.3 || got > 10+90*0.45 {
		t.Errorf("%v, ten seconds after 100, of calls that take 10", got)
	}
}

func TestFailuresHaveABound(t *testing.T) {
	var p, other peakEWMA
	now := second
	p.failed(now)
	if bad, good := costs(&p, &other, now); bad != 2*good {
		t.Errorf("after a failure calls cost %v, and %v elsewhere", bad, good)
	}
	for range 1000 {
		p.failed(now)
	}
	if bad, good := costs(&p, &other, now); bad > 1025*good || bad < 1000*good {
		t.Errorf("after many failures calls cost %v, and %v elsewhere", bad, good)
	}
	if bad, good := costs(&p, &other, now+second); bad > 12*good {
		t.Errorf("a second later %v, and %v", bad, good)
	}
	for range 8 {
		p.answered(now)
	}
	if p.lack.word.Load() != 0 {
		t.Error("failures count for ever")
	}
}

func TestNotesOfManyAreOne(t *testing.T) {
	var p peakEWMA
	var wg sync.WaitGroup
	for i := range 8 {
		wg.Go(func() {
			for n := range 1000 {
				p.reply(second, float64(1+(i*1000+n)%7777))
				p.failed(second)
				p.answered(second)
			}
		})
	}
	wg.Wait()
	if got := p.latency.at(second); got != 7777 {
		t.Errorf("the longest of all took 7777, and %v is known", got)
	}
}

func BenchmarkPick(b *testing.B) {
	for _, balancer := range []Balancer{RoundRobin(), LeastPending(), PowerOfTwo(), PeakEWMA()} {
		b.Run(strings.TrimPrefix(fmt.Sprintf("%T", balancer), "cluster."), func(b *testing.B) {
			c := &Client{opt: defaultOptions()}
			var set []*Endpoint
			for i := range 3 {
				e := &Endpoint{client: c, breaker: newBreaker(nil)}
				e.address.Store(&resolve.Address{Addr: fmt.Sprint(i)})
				e.lanes.Store(&[]*lane{{endpoint: e}})
				e.linkState.Store(ready)
				e.peak.reply(second, 1e6)
				set = append(set, e)
			}
			picker, p := balancer.Build(set), Pick{now: second + second/50}
			for b.Loop() {
				picker.Pick(p)
			}
		})
	}
	b.Run("reply", func(b *testing.B) {
		var p peakEWMA
		now := second
		for b.Loop() {
			now += 5000
			p.reply(now, 1e6)
		}
	})
}

func TestLatenciesHaveTheirSlots(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(0, math.MaxInt64).Draw(t, "latency"))
		i := slotOf(d)
		if i < 0 || i >= slots || slotEnd(i) < d || d >= 4 && float64(slotEnd(i)) > 1.26*float64(d) {
			t.Fatalf("%d is in slot %d, which ends at %d", d, i, slotEnd(i))
		}
	})
}

func TestTheQuantileIsOfRecentLatencies(t *testing.T) {
	l := &latencies{quantile: 0.9}
	now := second
	for i := range 100 {
		if got := l.get(now + int64(i)); i < minSamples && got != 0 {
			t.Fatalf("a quantile of %d latencies", i)
		}
		l.add(now, time.Duration(i+1)*time.Millisecond)
	}
	near := func(got, want time.Duration) bool { return got > want*3/4 && got < want*4/3 }
	if got := l.get(now + second); !near(got, 91*time.Millisecond) {
		t.Errorf("the 0.9 quantile of 1 to 100 ms is %v", got)
	}
	for n := range 4 {
		now += int64(generation)
		l.get(now)
		for range 100 {
			l.add(now, time.Second)
		}
		if n == 3 && !near(l.get(now+second), time.Second) {
			t.Errorf("what was long ago counts: %v", l.get(now+second))
		}
	}
	if got := l.get(now + 10*int64(generation)); got != 0 {
		t.Errorf("%v of latencies long ago", got)
	}
}
