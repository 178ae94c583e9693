package harness

import (
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"
)

// Timing is how long a group is measured: each of Rounds rounds gives each
// contestant a slice of at least Slice.
type Timing struct {
	Rounds int
	Slice  time.Duration
	// Memory also counts allocations.
	Memory bool
}

// Result is what one contestant of a group was seen to need for one operation.
type Result struct {
	Name string `json:"name"`
	// NS is the median of the samples that no other process disturbed, or of
	// all where these are too few.
	NS float64 `json:"ns"`
	// CPU is the median of the processor time per operation, in nanoseconds,
	// the collector's on all processors included; 0 where the system does not
	// tell. Other processes disturb it little.
	CPU float64 `json:"cpu_ns"`
	// Samples are nanoseconds per operation, a value per round in order.
	Samples []float64 `json:"samples"`
	// Quiet is how many samples no other process disturbed.
	Quiet  int     `json:"quiet"`
	GBps   float64 `json:"gbps"`
	Memory *Memory `json:"memory,omitempty"`
	// Calls is what a suite of servers adds: its NS is processor time.
	Calls *Calls `json:"calls,omitempty"`
}

// Calls is what a contestant that is a server was seen to do.
type Calls struct {
	P50  float64 `json:"p50_ns"` // latency, as its clients saw it
	P99  float64 `json:"p99_ns"`
	Rate float64 `json:"per_second"`
	Busy float64 `json:"busy"` // the share of its core that it used
}

// Memory is what one operation allocated.
type Memory struct {
	Allocs float64 `json:"allocs"`
	Bytes  float64 `json:"bytes"`
}

// runner is a contestant that is ready: its workers, and how many operations
// of each fill a slice.
type runner struct {
	name    string
	workers []Worker
	n       int
	samples []float64
	quiet   []float64 // those samples that no other process disturbed
	cpu     []float64 // processor time
}

// Measure checks the group, then interleaves its contestants.
func (g *Group) Measure(t Timing) ([]Result, error) {
	if g.Check != nil {
		if err := g.Check(); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
	}
	runners, err := g.ready(t.Slice)
	if err != nil {
		return nil, err
	}
	for round := range t.Rounds {
		runtime.GC()
		for i := range runners {
			r := runners[(i+round)%len(runners)]
			if err := r.sample(); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
		}
	}
	var results []Result
	for _, r := range runners {
		res := Result{Name: r.name, NS: Median(r.quiet), CPU: Median(r.cpu), Samples: r.samples, Quiet: len(r.quiet)}
		if res.Disturbed() {
			res.NS = Median(r.samples)
		}
		if res.NS > 0 {
			res.GBps = float64(g.Bytes) / res.NS
		}
		if t.Memory {
			if res.Memory, err = r.memory(); err != nil {
				return nil, fmt.Errorf("%s: %w", r.name, err)
			}
		}
		results = append(results, res)
	}
	return results, nil
}

// Disturbed tells that too few samples were quiet for a median.
func (r *Result) Disturbed() bool { return r.Quiet < max(3, len(r.Samples)/8) }

// sample runs a slice and keeps its time. It was quiet if the process had the
// processors for the whole time: on a machine of our own that is every slice,
// whatever the collector does meanwhile.
func (r *runner) sample() error {
	before, _ := cpuTime()
	start := time.Now()
	ns, err := r.slice(r.n)
	wanted := time.Since(start) * time.Duration(len(r.workers))
	after, known := cpuTime()
	r.samples = append(r.samples, ns)
	r.cpu = append(r.cpu, float64(after-before)/float64(r.n*len(r.workers)))
	if !known || after-before > wanted*9/10 {
		r.quiet = append(r.quiet, ns)
	}
	return err
}

// ready makes the workers, warms them up and finds how many operations fill a
// slice.
func (g *Group) ready(slice time.Duration) ([]*runner, error) {
	workers := 1
	if g.Parallel {
		workers = runtime.GOMAXPROCS(0)
	}
	var runners []*runner
	for _, c := range g.Contestants {
		r := &runner{name: c.Name, n: 1}
		for range workers {
			w, err := c.New()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Name, err)
			}
			r.workers = append(r.workers, w)
		}
		if err := r.calibrate(slice); err != nil {
			return nil, fmt.Errorf("%s: %w", c.Name, err)
		}
		runners = append(runners, r)
	}
	return runners, nil
}

// calibrate doubles the number of operations until a run takes a quarter of a
// slice, and scales from there; these runs are the warm-up too.
func (r *runner) calibrate(slice time.Duration) error {
	for {
		start := time.Now()
		if _, err := r.slice(r.n); err != nil {
			return err
		}
		took := time.Since(start)
		if took >= slice/4 {
			r.n = max(1, int(float64(r.n)*float64(slice)/float64(max(took, 1))))
			return nil
		}
		r.n *= 2
	}
}

// slice runs n operations on every worker and returns the nanoseconds per
// operation; with several workers that is wall time divided by all operations.
func (r *runner) slice(n int) (float64, error) {
	if len(r.workers) == 1 {
		start := time.Now()
		err := r.workers[0](n)
		return float64(time.Since(start)) / float64(n), err
	}
	errs := make([]error, len(r.workers))
	var wg sync.WaitGroup
	start := time.Now()
	for i, w := range r.workers {
		wg.Go(func() { errs[i] = w(n) })
	}
	wg.Wait()
	took := time.Since(start)
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	return float64(took) / float64(n*len(r.workers)), nil
}

// memory counts what one worker allocates; nothing else runs meanwhile.
func (r *runner) memory() (*Memory, error) {
	n := max(1, r.n)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	err := r.workers[0](n)
	runtime.ReadMemStats(&after)
	return &Memory{
		Allocs: float64(after.Mallocs-before.Mallocs) / float64(n),
		Bytes:  float64(after.TotalAlloc-before.TotalAlloc) / float64(n),
	}, err
}

// Median returns the middle of the samples, 0 if there are none.
func Median(samples []float64) float64 {
	if len(samples) == 0 {
		return 0
	}
	s := slices.Clone(samples)
	slices.Sort(s)
	if m := len(s) / 2; len(s)%2 == 1 {
		return s[m]
	} else {
		return (s[m-1] + s[m]) / 2
	}
}
