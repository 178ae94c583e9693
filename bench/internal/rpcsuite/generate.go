package rpcsuite

import (
	"context"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
)

// This file holds the load generator: a process that makes one run after
// another as it is asked, and takes the server's processor time at their
// beginning and end.

// job is a run that the generator is asked for.
type job struct {
	Address     string
	PID         int    // of the server
	Dialect     string // framed, ttheader, theader or grpc
	Client      string // the library whose client calls, instead of the generator's own
	InOrder     bool   // tell the server that replies must keep the order
	Calls       []calls
	Connections int
	Depth       int
	Rate        float64 // per second; 0 for a closed loop
	Warmup      time.Duration
	Duration    time.Duration
	Refusals    bool // are no error

	// Hold, instead of a run, opens Connections, makes a call on each and keeps
	// them open until the next job.
	Hold bool
}

// calls are the share of one kind of call in a mix.
type calls struct {
	Shape  string
	Weight int
	Micros int32 // of burn
}

// outcome is what a run found.
type outcome struct {
	Replies int64         // good ones in the time that was measured
	Refused int64         // exceptions in that time
	Elapsed time.Duration // that was measured
	Server  time.Duration // its processor time in that time
	Own     time.Duration // that of the generator
	Latency quantiles
	Kinds   map[string]quantiles // by shape
	Lag     time.Duration        // p99 of how late the generator was in an open loop
}

// quantiles of a latency.
type quantiles struct{ P50, P75, P90, P99 time.Duration }

func quantilesOf(l load.Latency) quantiles { return quantiles{l.P50, l.P75, l.P90, l.P99} }

// perCall is the server's processor time per reply in nanoseconds.
func (o *outcome) perCall() float64 { return float64(o.Server) / float64(max(o.Replies, 1)) }

// rate is how many replies came in a second.
func (o *outcome) rate() float64 { return float64(o.Replies) / o.Elapsed.Seconds() }

func (c *Contest) generate(in io.Reader, out io.Writer) error {
	g := &generator{contest: c}
	return answerEach(in, out, func(j job) (outcome, error) {
		g.release()
		o, err := g.run(&j)
		if err != nil {
			err = fmt.Errorf("%s on %d connections: %w", j.Dialect, j.Connections, err)
		}
		return o, err
	})
}

// generator holds what stays open between jobs.
type generator struct {
	contest *Contest
	held    []io.Closer
}

func (g *generator) release() {
	for _, c := range g.held {
		c.Close()
	}
	g.held = nil
}

func (g *generator) run(j *job) (outcome, error) {
	switch {
	case j.Hold:
		var err error
		g.held, err = hold(j)
		return outcome{}, err
	case j.Dialect == "grpc":
		j.Client = "grpc"
	}
	if j.Client != "" {
		return runClients(g.contest.Clients[j.Client], j)
	}
	return runThrift(j)
}

// window takes processor times at the ends of the time that is measured.
type window struct {
	pid         int
	server, own time.Duration
	began       time.Time
	elapsed     time.Duration
	err         error
}

func (w *window) begin() {
	w.began = time.Now()
	w.take(-1)
}

func (w *window) end() {
	w.take(1)
	w.elapsed = time.Since(w.began)
}

func (w *window) take(sign time.Duration) {
	t, err := processorTime(w.pid)
	if err != nil {
		w.err = err
	}
	user, system := ownTimes()
	w.server += sign * t
	w.own += sign * (user + system)
}

func runThrift(j *job) (outcome, error) {
	form, requests, err := j.requests()
	if err != nil {
		return outcome{}, err
	}
	w := &window{pid: j.PID}
	r, err := load.Run(context.Background(), load.Config{
		Network: "tcp", Address: j.Address, Form: form, Requests: requests,
		Connections: j.Connections, Depth: j.Depth, Rate: j.Rate, Poisson: j.Rate > 0,
		Warmup: j.Warmup, Duration: j.Duration, Begin: w.begin, End: w.end,
	})
	if err != nil {
		return outcome{}, err
	}
	failed := r.Failed() - r.Errors[load.Unsent] // which says that the rate was too much, and latency says so too
	if j.Refusals {
		failed -= r.Errors[load.Refusal]
	}
	if failed > 0 {
		return outcome{}, fmt.Errorf("%d requests failed: %s", failed, r.FirstError)
	}
	o := outcome{
		Replies: r.Replies, Refused: r.Refused.Count, Elapsed: w.elapsed, Server: w.server, Own: w.own,
		Latency: quantilesOf(r.Latency), Kinds: map[string]quantiles{}, Lag: r.Lag.P99,
	}
	for _, k := range r.Kinds {
		o.Kinds[k.Name] = quantilesOf(k.Latency)
	}
	return o, w.err
}

// requests encodes the calls of a job, with the results that must come back.
func (j *job) requests() (load.Form, []load.Request, error) {
	dialect := slices.Index(load.DialectNames(), j.Dialect)
	if dialect < 0 {
		return load.Form{}, nil, fmt.Errorf("no dialect %q", j.Dialect)
	}
	form := load.Form{Dialect: load.Dialect(dialect), InOrder: j.InOrder}
	var requests []load.Request
	for _, c := range j.Calls {
		method, args, want := message(c)
		f := form
		if j.Dialect == "ttheader" { // the least that Kitex's clients send with each request
			f.Numbered = []ttheader.IntPair{
				{Key: ttheader.FromService, Value: "bench.client"}, {Key: ttheader.ToService, Value: "bench"},
				{Key: ttheader.ToMethod, Value: method},
			}
		}
		r, err := f.Request(method, args)
		if err != nil {
			return form, nil, err
		}
		r.Kind, r.Weight, r.Expect = c.Shape, c.Weight, want
		requests = append(requests, r)
	}
	return form, requests, nil
}
