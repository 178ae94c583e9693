package rpcsuite

import (
	"fmt"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work mix: calls that cost nothing and calls that keep a
// processor busy, on one connection. Where replies must keep the order, the
// first wait for the second.

// The mix, in calls per second: an open loop, so that noops come whatever the
// server does. Burns keep half of a
// processor busy.
const (
	mixNoops  = 4000
	mixBurns  = 500
	mixMicros = 1000
)

var mixes = []struct {
	name    string
	inOrder bool
	burns   bool
}{
	{"alone", false, false}, {"out-of-order", false, true}, {"in-order", true, true},
}

func (l *lab) mixWork(o harness.Options, report *harness.Report) error {
	const work = "rpc/mix/c1"
	samples, lags := map[string][]quantiles{}, map[string][]float64{}
	for round := range l.pace.rounds {
		for i := range mixes {
			m := mixes[(i+round)%len(mixes)]
			if o.Match != nil && !o.Match.MatchString(work+" "+m.name) {
				continue
			}
			r, err := l.mix(m.inOrder, m.burns)
			if err != nil {
				return fmt.Errorf("%s %s: %w", work, m.name, err)
			}
			samples[m.name] = append(samples[m.name], r.Kinds["noop"])
			lags[m.name] = append(lags[m.name], float64(r.Lag)/1e3)
		}
	}
	for _, m := range mixes {
		if len(samples[m.name]) > 0 {
			values := medianQuantiles(samples[m.name])
			values["lag-us"] = harness.Median(lags[m.name])
			l.figure(report, work, m.name, values)
		}
	}
	return nil
}

// mix makes one run. The server may use all cores.
func (l *lab) mix(inOrder, burns bool) (outcome, error) {
	p, err := l.unpinned("busy")
	if err != nil {
		return outcome{}, err
	}
	j := job{
		Dialect: "theader", InOrder: inOrder, Calls: []calls{{Shape: "noop", Weight: mixNoops / 100}},
		Connections: 1, Depth: 1000, Rate: mixNoops, Warmup: l.pace.warmup, Duration: 2 * l.pace.window,
	}
	if burns {
		j.Rate += mixBurns
		j.Calls = append(j.Calls, calls{Shape: "burn", Weight: mixBurns / 100, Micros: mixMicros})
	}
	return l.run(p, j)
}

// medianQuantiles is the median of each quantile, in microseconds.
func medianQuantiles(samples []quantiles) map[string]float64 {
	of := func(f func(quantiles) time.Duration) float64 {
		var list []float64
		for _, q := range samples {
			list = append(list, float64(f(q))/1e3)
		}
		return harness.Median(list)
	}
	return map[string]float64{
		"p50-us": of(func(q quantiles) time.Duration { return q.P50 }),
		"p75-us": of(func(q quantiles) time.Duration { return q.P75 }),
		"p90-us": of(func(q quantiles) time.Duration { return q.P90 }),
		"p99-us": of(func(q quantiles) time.Duration { return q.P99 }),
	}
}

// unpinned returns a server that may use all cores, started if it is not running.
func (l *lab) unpinned(name string) (*process, error) {
	key := name + " on all cores"
	if p := l.servers[key]; p != nil {
		return p, nil
	}
	p, err := l.fresh(name, nil)
	if err == nil {
		l.servers[key] = p
	}
	return p, err
}

// figure prints a figure and adds it to the report.
func (l *lab) figure(report *harness.Report, work, name string, values map[string]float64) {
	f := harness.Figure{Case: work, Name: name, Values: values}
	fmt.Fprintln(l.out, strings.TrimSpace(f.String()))
	report.Figures = append(report.Figures, f)
}
