package rpcsuite

import (
	"errors"
	"fmt"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work overload: what becomes of a server that is offered
// three times what it can do.

const (
	overloadMicros = 1000 // that each call keeps a worker busy
	overloadTimes  = 3
)

// overloadLoad is enough connections and places that an open loop is never
// held up.
var overloadLoad = point{16, 4000}

func (l *lab) overloadWork(o harness.Options, report *harness.Report) error {
	work := "rpc/overload/" + fmt.Sprintf("%dx", overloadTimes)
	if o.Match != nil && !o.Match.MatchString(work+" overloaded") {
		return nil
	}
	p, err := l.server("overloaded")
	if err != nil {
		return err
	}
	var samples []map[string]float64
	for range l.pace.rounds {
		values, err := l.overload(p)
		if err != nil {
			return fmt.Errorf("%s: %w", work, err)
		}
		samples = append(samples, values)
	}
	values := map[string]float64{}
	for key := range samples[0] {
		var list []float64
		for _, s := range samples {
			list = append(list, s[key])
		}
		values[key] = harness.Median(list)
	}
	l.figure(report, work, "overloaded", values)
	return nil
}

// overload finds the peak of a closed loop, offers three times that, and
// compares. What a refused call costs is what remains of the processor time when
// the served ones have had what they cost at the peak.
func (l *lab) overload(p *process) (map[string]float64, error) {
	window := max(2*l.pace.window, 300*time.Millisecond)
	call := []calls{{Shape: "burn", Micros: overloadMicros}}
	peak, err := l.run(p, job{Dialect: "theader", Calls: call, Connections: 4, Depth: 4, Warmup: l.pace.warmup, Duration: window, Refusals: true})
	if err != nil {
		return nil, err
	}
	if peak.Replies == 0 {
		return nil, errors.New("no reply in a window: the machine is too busy")
	}
	stop, err := l.profile(p, "rpc/overload")
	if err != nil {
		return nil, err
	}
	over, err := l.run(p, job{
		Dialect: "theader", Calls: call, Connections: overloadLoad.connections, Depth: overloadLoad.depth,
		Rate: overloadTimes * peak.rate(), Warmup: l.pace.warmup + queueTimeout, Duration: window, Refusals: true,
	})
	if err != nil {
		return nil, err
	}
	if err := stop(); err != nil {
		return nil, err
	}
	served := peak.perCall()
	refused := (float64(over.Server) - served*float64(over.Replies)) / float64(max(over.Refused, 1))
	return map[string]float64{
		"peak/s": peak.rate(), "goodput/s": over.rate(), "goodput": over.rate() / peak.rate(),
		"refused/s": float64(over.Refused) / over.Elapsed.Seconds(),
		"p50-ms":    float64(over.Latency.P50) / 1e6, "p99-ms": float64(over.Latency.P99) / 1e6,
		"lag-ms":    float64(over.Lag) / 1e6,
		"served-ns": served, "refused-ns": refused, "refused/served": refused / served,
	}, nil
}
