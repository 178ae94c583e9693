package rpcsuite

import (
	"fmt"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work idle-memory: what a connection costs in user space
// after a call, while nothing happens on it. What the kernel keeps for a
// connection is in no figure.

// idleContestants have the dialect that each is called in.
var idleContestants = []struct{ name, dialect string }{
	{forms[0], "framed"}, {"floor", "framed"}, {"tnonblocking", "framed"}, {"kitex", "framed"},
	{"kitex-mux", "ttheader"}, {"apache", "framed"}, {"grpc", "grpc"},
}

// idleTime is how long nothing has happened on a connection that is idle.
const idleTime = 5 * time.Second

func (l *lab) idleConnections() int {
	switch {
	case l.quick:
		return 20
	case l.short:
		return 1000
	}
	return 5000
}

func (l *lab) idleWork(o harness.Options, report *harness.Report) error {
	n := l.idleConnections()
	work := fmt.Sprintf("rpc/idle-memory/c%d", n)
	for _, c := range idleContestants {
		if o.Match != nil && !o.Match.MatchString(work+" "+c.name) {
			continue
		}
		if ok, err := l.available(c.name); err != nil {
			return err
		} else if !ok {
			continue
		}
		values, err := l.idle(c.name, c.dialect, n)
		if err != nil {
			return fmt.Errorf("%s %s: %w", work, c.name, err)
		}
		l.figure(report, work, c.name, values)
	}
	return nil
}

// idle returns bytes per connection: resident as things are, resident once
// garbage is collected and free memory given back, and in use as Go counts it.
func (l *lab) idle(name, dialect string, n int) (map[string]float64, error) {
	p, err := l.fresh(name, l.serverCores)
	if err != nil {
		return nil, err
	}
	defer p.stop()
	_, isGo := goServers[name]
	j := job{Dialect: dialect, Calls: []calls{{Shape: "echo32"}}, Connections: 8, Depth: 1, Duration: 50 * time.Millisecond}
	if _, err := l.run(p, j); err != nil {
		return nil, err
	}
	before, own, err := memory(p, isGo)
	if err != nil {
		return nil, err
	}
	j.Hold, j.Connections = true, n
	if _, err := l.run(p, j); err != nil {
		return nil, err
	}
	time.Sleep(idleTime)
	raw, err := residentBytes(p.pid)
	if err != nil {
		return nil, err
	}
	after, ownAfter, err := memory(p, isGo)
	if err != nil {
		return nil, err
	}
	j.Connections = 0
	if _, err := l.run(p, j); err != nil { // closes them
		return nil, err
	}
	per := func(bytes int64) float64 { return float64(bytes) / float64(n) }
	values := map[string]float64{"resident": per(raw - before), "settled": per(after - before)}
	if isGo {
		values["heap"] = per(int64(ownAfter.Heap) - int64(own.Heap))
		values["stacks"] = per(int64(ownAfter.Stacks) - int64(own.Stacks))
	}
	return values, nil
}

// memory returns the resident memory of a server, settled if it is in Go, and
// then what it uses of it.
func memory(p *process, isGo bool) (resident int64, own usage, err error) {
	if isGo {
		if err := p.ask(request{Settle: true}, &own); err != nil {
			return 0, own, err
		}
	}
	resident, err = residentBytes(p.pid)
	return resident, own, err
}
