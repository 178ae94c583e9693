package load_test

import (
	"context"
	"encoding/json"
	"io"
	"math"
	"net"
	"regexp"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/thrum-rpc/thrum/internal/load"
	"github.com/thrum-rpc/thrum/rpc/transport/header"
	"github.com/thrum-rpc/thrum/rpc/transport/trpc"
	"github.com/thrum-rpc/thrum/rpc/transport/ttheader"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
	"github.com/thrum-rpc/thrum/wire/thriftwire/compact"
)

func TestEveryFormIsServedAndChecked(t *testing.T) {
	address, web := serve(t), serveHTTP(t)
	for name, f := range forms() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			echo := request(t, f, "echo", text(1, strings.Repeat("text", 300)))
			echo.Same = true
			if f.Protocol == 0 {
				echo.Expect = text(0, strings.Repeat("text", 300))
			}
			c := load.Config{
				Address: address, Form: f, Requests: []load.Request{echo, request(t, f, "noop", []byte{0})},
				Connections: 3, Depth: 20, Duration: 100 * time.Millisecond,
			}
			if f.Dialect == load.HTTP {
				c.Address = web
			}
			res := driveUntil(t, c, answered(1))
			if res.Failed() > 0 || len(res.Kinds) != 2 || res.Kinds[0].Latency.Count == 0 || res.Kinds[1].Latency.Count == 0 {
				t.Errorf("%+v", res)
			}
			if res.Latency.P50 == 0 || res.Latency.P50 > res.Latency.P99 || res.Latency.P99 > res.Latency.Max {
				t.Errorf("latency %+v", res.Latency)
			}
			c.Rate, c.Depth = 2000, 100
			res = drive(t, c)
			if unsent := res.Errors[load.Unsent]; res.Failed() > unsent || res.Latency.Count+unsent != 200 || res.Lag.Count != res.Latency.Count {
				t.Errorf("open loop: %+v", res)
			}
		})
	}
}

// stalling returns a server of framed binary that stops once, for a time, when
// it has been running for as long.
func stalling(t *testing.T, stall time.Duration) string {
	var start, stopped atomic.Int64
	return framedServer(t, func(w io.Writer, seq int32, n int) bool {
		now := time.Now().UnixNano()
		start.CompareAndSwap(0, now)
		if now-start.Load() > int64(stall) && stopped.CompareAndSwap(0, 1) {
			time.Sleep(stall)
		}
		_, err := w.Write(good(seq))
		return err == nil
	})
}

func TestAStallCountsForEveryRequestThatWasDueInIt(t *testing.T) {
	const stall = 200 * time.Millisecond
	for _, poisson := range []bool{false, true} {
		res := drive(t, load.Config{
			Address: stalling(t, stall), Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})},
			Rate: 500, Poisson: poisson, Depth: 1, Duration: 3 * stall,
		})
		// A third of the requests was due while nothing was answered, and waited
		// half of that time on average, though only one was outstanding.
		if res.Latency.P90 < stall/3 || res.Latency.Max < stall*9/10 {
			t.Errorf("Poisson %v: %+v, errors %v", poisson, res.Latency, res.Errors)
		}
		if n := res.Latency.Count + res.Errors[load.Unsent]; n < 200 || n > 400 {
			t.Errorf("Poisson %v: %d requests were due", poisson, n)
		}
	}
}

func TestARateThatIsTooHighIsNotHidden(t *testing.T) {
	f := load.Form{Dialect: load.TTHeader}
	res := drive(t, load.Config{
		Address: serve(t), Form: f, Requests: []load.Request{request(t, f, "slow", []byte{0})},
		Rate: 5000, Depth: 2, Duration: 200 * time.Millisecond,
	})
	if unsent := res.Errors[load.Unsent]; unsent < 500 || unsent+res.Latency.Count != 1000 {
		t.Errorf("%d unsent, %d answered of 1000", unsent, res.Latency.Count)
	}
}

func TestRequestsAreMixedByWeight(t *testing.T) {
	f := load.Form{Dialect: load.Header}
	noop, shed, throw := request(t, f, "noop", []byte{0}), request(t, f, "shed", []byte{0}), request(t, f, "throw", []byte{0})
	noop.Weight, throw.Weight = 6, 3
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	res, err := load.Run(ctx, load.Config{
		Network: "tcp", Address: serve(t), Form: f, Requests: []load.Request{noop, shed, throw}, Connections: 2, Depth: 10, Rate: 5000,
		Progress: func(p load.Progress) {
			if p.Replies >= 1500 { // so many that shares are near the weights
				cancel()
			}
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	total := res.Latency.Count + res.Refused.Count
	share := func(n int64) float64 { return float64(n) / float64(total) }
	if got := share(res.Kinds[0].Latency.Count); got < 0.54 || got > 0.66 {
		t.Errorf("noop has a share of %v", got)
	}
	if got := share(res.Kinds[2].Latency.Count); got < 0.25 || got > 0.35 || res.Declared != res.Kinds[2].Latency.Count {
		t.Errorf("throw has a share of %v, %d declared", got, res.Declared)
	}
	if res.Kinds[1].Name != "shed" || res.Kinds[1].Latency.Count != 0 || share(res.Refused.Count) < 0.07 ||
		len(res.Exceptions) != 1 || res.Exceptions[0].Type != 11 {
		t.Errorf("%+v, refused %+v", res.Exceptions, res.Refused)
	}
}

func TestTheEndOfTheContextEndsTheRunWithAResult(t *testing.T) {
	var calls atomic.Int64
	address := framedServer(t, func(w io.Writer, seq int32, _ int) bool {
		calls.Add(1)
		_, err := w.Write(good(seq))
		return err == nil
	})
	for _, rate := range []float64{0, 1000} {
		for _, warmup := range []time.Duration{0, time.Hour} {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			end := calls.Load() + 50 // of which all but those of the depth have been answered
			go func() {
				for calls.Load() < end && ctx.Err() == nil {
					time.Sleep(time.Millisecond)
				}
				cancel()
			}()
			res, err := load.Run(ctx, load.Config{
				Network: "tcp", Address: address, Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})},
				Connections: 2, Depth: 4, Rate: rate, Warmup: warmup,
			})
			cancel()
			if err != nil || res.Failed() > res.Errors[load.Unsent] || (res.Latency.Count > 0) != (warmup == 0) {
				t.Errorf("rate %v: %+v, %v", rate, res, err)
			}
		}
	}
}

func TestHooksAndSeriesLieAroundWhatIsMeasured(t *testing.T) {
	var calls []string
	var seen int
	var replies int64
	res := drive(t, load.Config{
		Address: serve(t), Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})},
		Depth: 10, Warmup: 1100 * time.Millisecond, Duration: 1500 * time.Millisecond,
		Begin: func() { calls = append(calls, "begin") }, End: func() { calls = append(calls, "end") },
		Progress: func(p load.Progress) {
			if p.Warmup {
				calls = append(calls, "warm-up")
			} else if seen++; seen == 1 {
				calls = append(calls, "second")
			}
			if p.Replies < replies || p.Errors != 0 {
				t.Errorf("%+v", p)
			}
			replies = p.Replies
		},
	})
	if got := strings.Join(calls, " "); !regexp.MustCompile(`^(warm-up )*begin (second )?end$`).MatchString(got) {
		t.Errorf("calls: %s", got)
	}
	var sum int64
	for _, s := range res.Series {
		sum += s.Replies
		if s.P50 == 0 && s.Replies > 10 || s.P50 > s.P99 || s.P99 > s.Max || s.Length <= 0 {
			t.Errorf("%+v", s)
		}
	}
	if len(res.Series) == 0 || sum != res.Replies || res.Replies > 1000 && seen > 0 && replies == 0 {
		t.Errorf("%d seconds with %d replies of %d", len(res.Series), sum, res.Replies)
	}
}

// answerWholeReads answers requests in place, as they and their replies have the same size.
func answerWholeReads(c net.Conn) {
	defer c.Close()
	b := make([]byte, 64<<10)
	size := len(good(1))
	for end := 0; ; {
		n, err := c.Read(b[end:])
		if err != nil {
			return
		}
		end += n
		whole := end - end%size
		for i := 0; i < whole; i += size {
			b[i+7] = byte(thriftwire.Reply)
		}
		c.Write(b[:whole])
		end = copy(b, b[whole:end])
	}
}

func TestNothingIsAllocatedForARequest(t *testing.T) {
	l := listener(t)
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerWholeReads(c)
		}
	}()
	var before, after runtime.MemStats
	res := driveUntil(t, load.Config{
		Address: l.Addr().String(), Requests: []load.Request{request(t, load.Form{}, "noop", []byte{0})}, Depth: 50,
		Warmup: 50 * time.Millisecond, Duration: 200 * time.Millisecond,
		Begin: func() { runtime.ReadMemStats(&before) }, End: func() { runtime.ReadMemStats(&after) },
	}, func(res *load.Result) bool { return res.Replies >= 5000 || res.Failed() > 0 }) // more than what the runtime does beside it
	if n := after.Mallocs - before.Mallocs; res.Replies < 50 || int64(n) > res.Replies/10 || res.Failed() > 0 {
		t.Errorf("%d allocations for %d requests, %v", n, res.Replies, res.Errors)
	}
}

func TestConfigurationsThatCannotBeAreRefused(t *testing.T) {
	good := request(t, load.Form{}, "noop", []byte{0})
	heavy := good
	heavy.Weight = 1 << 23
	for name, c := range map[string]load.Config{
		"no requests":      {},
		"no frame":         {Requests: []load.Request{{}}},
		"weight":           {Requests: []load.Request{heavy}},
		"depth":            {Requests: []load.Request{good}, Depth: 1 << 20},
		"connections":      {Requests: []load.Request{good}, Connections: -1},
		"rate":             {Requests: []load.Request{good}, Rate: math.NaN()},
		"timeout":          {Requests: []load.Request{good}, Timeout: time.Microsecond},
		"dialect":          {Requests: []load.Request{good}, Form: load.Form{Dialect: 77}},
		"protocol":         {Requests: []load.Request{good}, Form: load.Form{Protocol: 77}},
		"compressed frame": {Requests: []load.Request{good}, Form: load.Form{Transform: header.Zlib}},
		"snappy":           {Requests: []load.Request{good}, Form: load.Form{Dialect: load.Header, Transform: header.Snappy}},
		"headers":          {Requests: []load.Request{good}, Form: load.Form{Headers: []load.Pair{{Key: "a", Value: "b"}}}},
		"compact messages": {Requests: []load.Request{good}, Form: load.Form{Dialect: load.TRPC, Protocol: compact.Apache}},
		"ordered messages": {Requests: []load.Request{good}, Form: load.Form{Dialect: load.TRPC, InOrder: true}},
		"lz4":              {Requests: []load.Request{good}, Form: load.Form{Dialect: load.TRPC, Compression: trpc.LZ4Frame}},
		"gzip of structs":  {Requests: []load.Request{good}, Form: load.Form{Dialect: load.Header, Compression: trpc.Gzip}},
		"numbered headers": {Requests: []load.Request{good}, Form: load.Form{Dialect: load.Header, Numbered: []ttheader.IntPair{{Key: 1}}}},
	} {
		c.Network, c.Address = "tcp", "127.0.0.1:1"
		if _, err := load.Run(t.Context(), c); err == nil || strings.Contains(err.Error(), "refused") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := (&load.Form{}).Request("noop", []byte{1}); err == nil {
		t.Error("arguments that are no struct are taken")
	}
}

func TestResultsHaveStableNames(t *testing.T) {
	res := load.Result{Errors: map[load.ErrorKind]int64{load.Timeout: 2, load.Unsent: 1}, Elapsed: time.Second, Latency: load.Latency{P999: 7}}
	b, err := json.Marshal(&res)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{`"errors":{"timeout":2,"unsent":1}`, `"elapsed_ns":1000000000`, `"p99.9_ns":7`} {
		if !strings.Contains(string(b), want) {
			t.Errorf("%s is not in %s", want, b)
		}
	}
	var back load.Result
	if err := json.Unmarshal(b, &back); err != nil || back.Errors[load.Unsent] != 1 {
		t.Errorf("read back: %+v, %v", back, err)
	}
}
