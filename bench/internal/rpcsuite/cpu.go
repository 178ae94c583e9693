package rpcsuite

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds the work rpc-cpu: the server's processor time per request.

// point is a place on the axes of load.
type point struct{ connections, depth int }

func (p point) String() string { return fmt.Sprintf("c%dd%d", p.connections, p.depth) }

// points are the loads of the small shapes. At depth 1 each request has a
// wake-up of its own; at depth 100 a hundred are outstanding on a connection.
var points = []point{{1, 1}, {16, 1}, {64, 1}, {1, 100}, {16, 100}, {64, 100}}

// family is the cases of one dialect.
type family struct {
	dialect string
	peers   []peer
	shapes  map[string][]point
}

// peer is a contestant that is not ours.
type peer struct {
	name, server string
	dialect      string // if it is not the family's
}

// forms are the forms of our handlers; the server of each has its name.
var forms = []string{"callback", "plain", "future"}

var shapes = []string{"noop", "echo32", "echo1k", "echo1m"}

// families has all cases.
var families = []family{
	{
		dialect: "framed",
		peers: []peer{
			{name: "floor", server: "floor"},
			{name: "goloop", server: "goloop"},
			{name: "tnonblocking", server: "tnonblocking"},
			{name: "kitex", server: "kitex"},
			{name: "apache", server: "apache"},
			{name: "grpc", server: "grpc", dialect: "grpc"},
		},
		shapes: map[string][]point{"noop": points, "echo32": points, "echo1k": points, "echo1m": {{1, 1}, {16, 1}}},
	},
	{
		dialect: "ttheader",
		peers:   []peer{{name: "kitex-mux", server: "kitex-mux"}},
		shapes:  map[string][]point{"noop": points, "echo32": points, "echo1k": points},
	},
	{
		dialect: "theader",
		peers:   []peer{{name: "apache", server: "apache-theader"}},
		shapes:  map[string][]point{"noop": {{16, 1}, {16, 100}}},
	},
}

// shortCases are those of a short run, one at a time.
var shortCases = map[string][]point{
	"framed/noop":   {{1, 100}, {16, 1}},
	"framed/echo32": {{64, 1}},
	"ttheader/noop": {{1, 100}},
}

// group is a harness.Group whose contestants are servers.
type group struct {
	harness.Group
	shape    string
	load     point
	dialects map[string]string // of contestants
	servers  map[string]string
	clients  map[string]string // of rpc-both; its time counts too
}

// groups returns all groups of a family, or those of a short run.
func (f *family) groups(short bool) []*group {
	var all []*group
	for _, shape := range shapes {
		for _, p := range f.shapes[shape] {
			if short && !slices.Contains(shortCases[f.dialect+"/"+shape], p) {
				continue
			}
			all = append(all, f.group(shape, p))
		}
	}
	return all
}

func (f *family) group(shape string, load point) *group {
	g := &group{
		Group: harness.Group{Work: "rpc-cpu", Shape: shape + "/" + load.String(), Bytes: sizes[shape]},
		shape: shape, load: load, dialects: map[string]string{}, servers: map[string]string{},
	}
	add := func(name, server, dialect string) {
		g.Contestants = append(g.Contestants, harness.Contestant{Name: name})
		g.servers[name], g.dialects[name] = server, dialect
	}
	for _, form := range forms {
		ours := form + "/" + f.dialect
		add(ours, form, f.dialect)
		for _, p := range f.peers {
			g.Pairs = append(g.Pairs, harness.Pair{Ours: ours, Peer: p.name, Label: p.name})
		}
	}
	for _, p := range f.peers {
		dialect := p.dialect
		if dialect == "" {
			dialect = f.dialect
		}
		add(p.name, p.server, dialect)
	}
	return g
}

// job is what the generator is to do with one contestant.
func (g *group) job(contestant string, warmup, window time.Duration) job {
	return job{
		Dialect: g.dialects[contestant], Client: g.clients[contestant], Calls: []calls{{Shape: g.shape}},
		Connections: g.load.connections, Depth: g.load.depth, Warmup: warmup, Duration: window,
	}
}

// measureGroup checks that all contestants answer the same, byte for byte,
// then gives each a window of time in every round. Contestants that cannot run
// here are left out.
func (l *lab) measureGroup(g *group) ([]harness.Result, error) {
	var names []string
	for _, c := range g.Contestants {
		ok, err := l.available(g.servers[c.Name])
		if err != nil {
			return nil, err
		}
		if ok {
			names = append(names, c.Name)
		}
	}
	g.Pairs = slices.DeleteFunc(g.Pairs, func(p harness.Pair) bool { return !slices.Contains(names, p.Peer) })
	for _, name := range names {
		if err := l.check(g, name); err != nil {
			return nil, fmt.Errorf("check: %w", err)
		}
	}
	outcomes := map[string][]outcome{}
	for round := range l.pace.rounds {
		for i := range names {
			name := names[(i+round)%len(names)]
			p, err := l.server(g.servers[name])
			if err != nil {
				return nil, err
			}
			stop, err := l.profile(p, g.Case(l.suite, name))
			if err != nil {
				return nil, err
			}
			var o outcome
			for window := l.pace.window; o.Replies == 0; window *= 2 {
				if o, err = l.run(p, g.job(name, l.pace.warmup, window)); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
			outcomes[name] = append(outcomes[name], o)
			if err := stop(); err != nil {
				return nil, err
			}
		}
	}
	var results []harness.Result
	for _, name := range names {
		r := summary(name, outcomes[name], g.clients != nil)
		if _, native := natives[g.servers[name]]; !native && l.memory {
			var err error
			if r.Memory, err = l.allocations(g, name); err != nil {
				return nil, err
			}
		}
		results = append(results, r)
	}
	return results, nil
}

// allocations counts what a server in Go allocates for each request.
func (l *lab) allocations(g *group, name string) (*harness.Memory, error) {
	p, err := l.server(g.servers[name])
	if err != nil {
		return nil, err
	}
	var before, after usage
	if err := p.ask(request{}, &before); err != nil {
		return nil, err
	}
	o, err := l.run(p, g.job(name, 0, l.pace.window))
	if err != nil {
		return nil, err
	}
	if err := p.ask(request{}, &after); err != nil {
		return nil, err
	}
	n := float64(max(o.Replies, 1))
	return &harness.Memory{
		Allocs: float64(after.Allocations-before.Allocations) / n,
		Bytes:  float64(after.Allocated-before.Allocated) / n,
	}, nil
}

// check makes a few calls on one connection. The generator compares every
// reply with the one that the call must have, here and later.
func (l *lab) check(g *group, name string) error {
	p, err := l.server(g.servers[name])
	if err != nil {
		return err
	}
	j := g.job(name, 0, 2*time.Millisecond)
	j.Connections, j.Depth = 1, 1
	_, err = l.run(p, j)
	return err
}

// summary takes the medians of the rounds: of the server's processor time, or of that of
// both sides.
func summary(name string, rounds []outcome, both bool) harness.Result {
	var cpu, p50, p99, rate, busy []float64
	for _, o := range rounds {
		if both {
			o.Server += o.Own
		}
		cpu = append(cpu, o.perCall())
		p50 = append(p50, float64(o.Latency.P50))
		p99 = append(p99, float64(o.Latency.P99))
		rate = append(rate, o.rate())
		busy = append(busy, float64(o.Server)/float64(o.Elapsed))
	}
	ns := harness.Median(cpu)
	return harness.Result{
		Name: name, NS: ns, CPU: ns, Samples: cpu, Quiet: len(cpu),
		Calls: &harness.Calls{
			P50: harness.Median(p50), P99: harness.Median(p99),
			Rate: harness.Median(rate), Busy: harness.Median(busy),
		},
	}
}

// print prints a contestant's line beside the ratios: the processor time of the server per
// request with its least sample, and what the clients saw.
func (l *lab) print(g *group, r *harness.Result) {
	least := 0.0
	if len(r.Samples) > 0 {
		least = slices.Min(r.Samples)
	}
	fmt.Fprintf(l.out, "TIME %s %s cpu=%.0f least=%.0f p50=%.1fus p99=%.1fus calls/s=%.0f busy=%.2f",
		g.Case(l.suite, ""), r.Name, r.NS, least, r.Calls.P50/1e3, r.Calls.P99/1e3, r.Calls.Rate, r.Calls.Busy)
	if r.Memory != nil {
		fmt.Fprintf(l.out, " allocs=%.2f bytes=%.0f", r.Memory.Allocs, r.Memory.Bytes)
	}
	fmt.Fprintln(l.out)
}

// cpuWork measures all groups that the options select.
func (l *lab) cpuWork(o harness.Options, report *harness.Report) error {
	for i := range families {
		if err := l.groupsWork(families[i].groups(o.Short || l.quick), "/"+families[i].dialect, o, report); err != nil {
			return err
		}
	}
	return nil
}

// groupsWork measures those of groups that the options select, and reports
// them by their shapes with a suffix.
func (l *lab) groupsWork(groups []*group, suffix string, o harness.Options, report *harness.Report) error {
	for _, g := range groups {
		var some bool
		if g.Group, some = g.Select(l.suite, o.Match); !some {
			continue
		}
		results, err := l.measureGroup(g)
		if err != nil {
			return fmt.Errorf("%s%s: %w", g.Case(l.suite, ""), suffix, err)
		}
		gr := harness.GroupReport{
			Work: g.Work, Shape: g.Shape + suffix, Bytes: g.Bytes, Results: results, Ratios: g.Ratios(l.suite, results),
		}
		for i := range results {
			l.print(g, &results[i])
		}
		for _, r := range gr.Ratios {
			fmt.Fprintln(l.out, strings.TrimSpace(r.String()))
		}
		report.Groups = append(report.Groups, gr)
	}
	return nil
}
