package rpcsuite

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/thrum-rpc/thrum/bench/internal/harness"
)

// This file holds what all works share: the processes and where they run.

// lab starts servers as they are needed, and the generator, and stops them all.
type lab struct {
	out   io.Writer
	suite string // that the cases stand in
	ci    bool
	short bool
	quick bool // everything runs, nothing is measured well
	pace  pace

	profiles string // a directory for CPU profiles, or ""
	memory   bool   // count allocations too

	dir                         string // of the native servers
	serverCores, generatorCores []int
	generator                   *process            // one for closed loops
	paced                       *process            // one for open loops
	clients                     map[string]*process // one for each library whose client calls, so that none inherits another's heap
	servers                     map[string]*process
	binaries                    map[string]string
	missing                     map[string]bool
}

// pace is how long things are measured.
type pace struct {
	rounds         int
	warmup, window time.Duration
}

// shortMatch is the pace of matches in a short run, which are many.
var shortMatch = pace{rounds: 3, warmup: 25 * time.Millisecond, window: 60 * time.Millisecond}

// paceOf returns the pace of a run.
func paceOf(o harness.Options) pace {
	p := pace{rounds: 5, warmup: 100 * time.Millisecond, window: 400 * time.Millisecond}
	if o.Short {
		p = pace{rounds: 3, warmup: 40 * time.Millisecond, window: 120 * time.Millisecond}
	}
	if o.Profiles != "" { // a profile has a hundred samples a second
		p.rounds, p.window = 1, 4*time.Second
	}
	if o.Timing.Rounds != 0 {
		p = pace{rounds: o.Timing.Rounds, window: max(o.Timing.Slice, 10*time.Millisecond)}
	}
	return p
}

func newLab(out io.Writer, suite string, o harness.Options) (*lab, error) {
	l := &lab{
		out: out, suite: suite, short: o.Short, profiles: o.Profiles, memory: o.Memory, pace: paceOf(o), quick: o.Timing.Rounds != 0, ci: os.Getenv("CI") == "true",
		servers: map[string]*process{}, clients: map[string]*process{}, binaries: map[string]string{}, missing: map[string]bool{},
	}
	if !supported {
		return nil, errors.New("a suite of servers needs Linux")
	}
	if realTime() {
		return nil, errors.New("a suite of servers does not run at a real-time priority: a server and a generator that spin would take the machine; nice is enough")
	}
	// The first core often takes the interrupts, so it is the generator's.
	if cores := allowedCores(); len(cores) > 1 {
		last := len(cores) - 1
		l.generatorCores, l.serverCores = cores[:1], cores[last:]
		fmt.Fprintf(out, "CORES server on core %d, generator on core %d\n", cores[last], cores[0])
	} else {
		fmt.Fprintln(out, "NOTE there is no second core: server and generator share one, and times mean little")
	}
	var err error
	if l.dir, err = os.MkdirTemp("", "rpcsuite"); err != nil {
		return nil, err
	}
	if l.generator, err = launchSelf("generator", l.generatorCores, generateFlag); err == nil {
		l.paced, err = launchSelf("generator", l.generatorCores, generateFlag, pacedFlag)
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *lab) close() {
	for _, list := range []map[string]*process{l.servers, l.clients} {
		for _, p := range list {
			p.stop()
		}
	}
	for _, g := range []*process{l.generator, l.paced} {
		if g != nil {
			g.stop()
		}
	}
	os.RemoveAll(l.dir)
}

// server returns a server that runs, which it starts if it does not.
func (l *lab) server(name string) (*process, error) {
	if p := l.servers[name]; p != nil {
		return p, nil
	}
	p, err := l.fresh(name, l.serverCores)
	if err == nil {
		l.servers[name] = p
	}
	return p, err
}

// fresh starts a server that the caller must stop.
func (l *lab) fresh(name string, cores []int) (*process, error) {
	if err := l.built(name); err != nil {
		return nil, err
	}
	return launchServer(name, l.binaries[name], cores)
}

// built builds a native server unless that is done.
func (l *lab) built(name string) error {
	n, ok := natives[name]
	if !ok || l.binaries[name] != "" {
		return nil
	}
	file, err := n.build(l.dir, name)
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	l.binaries[name] = file
	return nil
}

// available tells whether a server can run here. What is missing is told once;
// where CI is true it is an error.
func (l *lab) available(name string) (bool, error) {
	if _, isNative := natives[name]; l.missing[name] || isNative && l.quick && !l.ci {
		return false, nil
	}
	err := l.built(name)
	var missing errMissing
	if !l.ci && errors.As(err, &missing) {
		l.missing[name] = true
		fmt.Fprintf(l.out, "MISSING %s: %s; %s\n", name, missing.what, missing.install)
		return false, nil
	}
	return err == nil, err
}

// run makes a run of the generator against a server.
func (l *lab) run(p *process, j job) (outcome, error) {
	j.Address, j.PID = p.address, p.pid
	var o outcome
	g, err := l.generatorOf(&j)
	if err != nil {
		return o, err
	}
	if err := g.ask(j, &o); err != nil {
		return o, fmt.Errorf("%s: %w %s", p.name, err, p.stderr)
	}
	return o, nil
}

// generatorOf returns the process that makes a run, and starts it if it does not run.
func (l *lab) generatorOf(j *job) (*process, error) {
	switch g := l.clients[j.Client]; {
	case j.Rate > 0:
		return l.paced, nil
	case j.Client == "":
		return l.generator, nil
	case g != nil:
		return g, nil
	}
	g, err := launchSelf("generator", l.generatorCores, generateFlag)
	if err == nil {
		l.clients[j.Client] = g
	}
	return g, err
}

// profile starts a CPU profile of a server in Go, if they are asked for; stop
// ends it. Its file has the name of the case, and is that of the last round.
func (l *lab) profile(p *process, name string) (stop func() error, err error) {
	if _, native := natives[p.name]; native || l.profiles == "" {
		return func() error { return nil }, nil
	}
	file, err := filepath.Abs(filepath.Join(l.profiles, strings.ReplaceAll(name, "/", "-")+".pprof"))
	if err != nil {
		return nil, err
	}
	var u usage
	stop = func() error { return p.ask(request{}, &u) }
	return stop, p.ask(request{Profile: file}, &u)
}
