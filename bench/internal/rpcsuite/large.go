package rpcsuite

import (
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work large: what a server in Go does in user space for
// each MiB of an echo. A copy costs time there; what the kernel does to move
// bytes between sockets is not in it.

func (l *lab) largeWork(o harness.Options, report *harness.Report) error {
	const work = "rpc/large/echo1m/c1d1"
	for _, name := range append(append([]string{}, forms...), "kitex", "apache") {
		if o.Match != nil && !o.Match.MatchString(work+" "+name) {
			continue
		}
		values, err := l.large(name)
		if err != nil {
			return err
		}
		l.figure(report, work, name, values)
	}
	return nil
}

// large returns, for each MiB, what was allocated, the time in user space and
// the copies that this time would suffice for.
func (l *lab) large(name string) (map[string]float64, error) {
	p, err := l.server(name)
	if err != nil {
		return nil, err
	}
	j := job{
		Dialect: "framed", Calls: []calls{{Shape: "echo1m"}}, Connections: 1, Depth: 1,
		Duration: time.Duration(l.pace.rounds) * l.pace.window,
	}
	var before, after usage
	if err := p.ask(request{}, &before); err != nil {
		return nil, err
	}
	r, err := l.run(p, j)
	if err != nil {
		return nil, err
	}
	if err := p.ask(request{}, &after); err != nil {
		return nil, err
	}
	n := float64(max(r.Replies, 1))
	user := max(float64(after.User-before.User)/n, 1) // the system counts it in ticks
	return map[string]float64{
		"allocated": float64(after.Allocated-before.Allocated) / n,
		"objects":   float64(after.Allocations-before.Allocations) / n,
		"user-ns":   user,
		"copies":    user / copyTime(),
	}, nil
}

// copyTime is how many nanoseconds this machine takes to copy a MiB that is
// in no near cache, as that of a connection is not.
func copyTime() float64 {
	const size, sets = 1 << 20, 32
	from, to := make([]byte, size*sets), make([]byte, size*sets)
	for i := range from {
		from[i] = byte(i) // or the system has one page of zeros for all
	}
	var samples []float64
	for i := range 8 * sets {
		at := i % sets * size
		start := time.Now()
		copy(to[at:at+size], from[at:at+size])
		samples = append(samples, float64(time.Since(start)))
	}
	return max(harness.Median(samples), 1)
}
