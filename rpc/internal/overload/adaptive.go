package overload

import (
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// This file holds the limit on requests in flight that follows latency.

const (
	// longWindow is how many intervals a window stays open for its samples.
	longWindow = 4
	// fewSamples is the part of the samples that is enough then.
	fewSamples = 10
	// starved is how many windows in a row may end with the lowest limit
	// before the target is taken to be wrong.
	starved = 5
	// firstTarget is how many intervals the first target lasts: the first
	// requests of a process are slower than others.
	firstTarget = 20
)

// AdaptiveOptions configure [NewAdaptive]; zeros mean the defaults.
type AdaptiveOptions struct {
	Min, Max   int           // the limit's bounds; 10 and 1000
	Samples    int           // latencies that make a window; 200
	Percentile float64       // of them that counts; 0.95
	Interval   time.Duration // from the start of a window to the next; 500 ms
	// Tolerance is how far latency may exceed the target before the limit
	// shrinks; 0.25, a quarter.
	Tolerance float64
	// Floor is the lowest target: what is faster is never a reason to shed,
	// however the latencies of a fast handler scatter; 1 ms.
	Floor time.Duration
	// Recalibrate is how long a target lasts at most; 5 minutes.
	Recalibrate time.Duration
}

// Adaptive finds out how many requests a server should have in flight. Its
// target is the latency under the lowest limit, measured at the start and
// again from time to time; then each window of samples moves the limit by the
// gradient, target ÷ measured, plus a headroom of √limit that lets it grow
// while latency stays. Its methods are safe for concurrent use.
//
// While the target is measured the limit is Min: for as long as Samples
// requests take, at most a few intervals.
type Adaptive struct {
	o     AdaptiveOptions
	limit atomic.Int64
	next  atomic.Int64 // samples before are not wanted

	mu     sync.Mutex
	window []int64 // latencies
	opened int64   // when the window's first came
	busy   bool    // in the window the limit was at least half used

	target      int64 // latency, ns
	calibrating bool  // the window is for the target
	since       int64 // start of calibration: requests from before do not count
	resume      int64 // limit after calibration
	expires     int64 // when the target is measured again
	lasts       int64 // how long the next target lasts
	atMin       int   // windows in a row that left the limit at Min
}

// NewAdaptive returns a limit of Min whose target is yet to be measured.
func NewAdaptive(o AdaptiveOptions, now int64) *Adaptive {
	defaults := AdaptiveOptions{Min: 10, Max: 1000, Samples: 200, Percentile: 0.95, Interval: 500 * time.Millisecond,
		Tolerance: 0.25, Floor: time.Millisecond, Recalibrate: 5 * time.Minute}
	o.Min = orDefault(o.Min, defaults.Min)
	o.Max = max(orDefault(o.Max, defaults.Max), o.Min)
	o.Samples = orDefault(o.Samples, defaults.Samples)
	o.Percentile = min(orDefault(o.Percentile, defaults.Percentile), 1)
	o.Interval = orDefault(o.Interval, defaults.Interval)
	o.Tolerance = orDefault(o.Tolerance, defaults.Tolerance)
	o.Floor = orDefault(o.Floor, defaults.Floor)
	o.Recalibrate = orDefault(o.Recalibrate, defaults.Recalibrate)
	a := &Adaptive{o: o, window: make([]int64, 0, o.Samples), lasts: min(firstTarget*int64(o.Interval), int64(o.Recalibrate))}
	a.calibrate(now, int64(o.Min))
	return a
}

func orDefault[T int | float64 | time.Duration](v, otherwise T) T {
	if v <= 0 {
		return otherwise
	}
	return v
}

// Limit returns how many requests may be in flight now.
func (a *Adaptive) Limit() int { return int(a.limit.Load()) }

// Sample notes that a request was served, latency nanoseconds after it had
// come, its time in queues included, while inFlight of them were there. Most calls
// return at once, because a window is soon full.
func (a *Adaptive) Sample(now, latency int64, inFlight int) {
	if now < a.next.Load() || !a.mu.TryLock() { // one sample is as good as another
		return
	}
	defer a.mu.Unlock()
	if a.calibrating && now-latency < a.since {
		return // it began under another limit
	}
	if len(a.window) == 0 {
		a.opened, a.busy = now, false
	}
	a.window = append(a.window, latency)
	a.busy = a.busy || 2*int64(inFlight) >= a.limit.Load()
	late := now-a.opened >= longWindow*int64(a.o.Interval) && len(a.window) >= (a.o.Samples+fewSamples-1)/fewSamples
	if len(a.window) < a.o.Samples && !late {
		return
	}
	slices.Sort(a.window)
	measured := a.window[int(math.Ceil(a.o.Percentile*float64(len(a.window))))-1]
	a.window = a.window[:0]
	a.next.Store(a.opened + int64(a.o.Interval))
	if a.calibrating {
		a.calibrated(now, measured)
	} else {
		a.follow(now, measured)
	}
}

// calibrate starts to measure the target. Afterwards the limit is resume.
func (a *Adaptive) calibrate(now, resume int64) {
	a.calibrating, a.since, a.resume, a.atMin = true, now, resume, 0
	a.limit.Store(int64(a.o.Min))
	a.next.Store(now)
}

// calibrated takes a target that has been measured.
func (a *Adaptive) calibrated(now, measured int64) {
	a.calibrating = false
	a.target = max(measured, int64(a.o.Floor))
	a.limit.Store(a.resume)
	a.expires = now + a.lasts
	a.lasts = min(2*a.lasts, int64(a.o.Recalibrate))
}

// follow moves the limit by what a window has measured.
func (a *Adaptive) follow(now, measured int64) {
	limit := a.limit.Load()
	gradient := (1 + a.o.Tolerance) * float64(a.target) / float64(max(measured, 1))
	gradient = min(max(gradient, 0.5), 2)
	next := int64(gradient*float64(limit) + math.Sqrt(float64(limit)))
	if !a.busy {
		next = min(next, limit) // nobody needs more, and nothing shows that more would do
	}
	next = min(max(next, int64(a.o.Min)), int64(a.o.Max))
	a.limit.Store(next)
	if next == int64(a.o.Min) {
		a.atMin++
	} else {
		a.atMin = 0
	}
	if now >= a.expires || a.atMin == starved {
		a.calibrate(now, next)
	}
}
