package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests balancers that know how long calls take. Time is a bubble's; what is compared is numbers of calls.

// callAtOnce makes calls by some callers, who go on whatever comes of each.
func callAtOnce(t *testing.T, c rpc.Caller, callers, each int) {
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for range each {
				echo(t.Context(), c)
			}
		})
	}
	wg.Wait()
}

// slow makes all servers of f take d.
func (f *fleet) slow(d time.Duration) {
	for _, n := range f.node {
		n.slow(d)
	}
}

func TestASlowServerThatIsIdleIsLeftAloneForAWhile(t *testing.T) {
	for name, b := range byLoad {
		bubble(t, three, []cluster.Option{cluster.Balance(b)}, func(t *testing.T, f *fleet, c *cluster.Client) {
			f.slow(2 * time.Millisecond)
			f.node["b"].slow(40 * time.Millisecond)
			call(t, c, 100) // the client learns
			f.reset()
			call(t, c, 1000) // one at a time, so that all have the same to do: nothing
			if n := f.counts(); n["b"] > 10 || n["a"] < 350 || n["c"] < 350 {
				t.Errorf("%s: calls: %v", name, n)
			}
			f.slow(2 * time.Millisecond)
			time.Sleep(time.Minute)
			call(t, c, 100)
			f.reset()
			call(t, c, 1000)
			if n := f.counts(); n["b"] < 200 {
				t.Errorf("%s: when it is fast again it has %v", name, n)
			}
		})
	}
}

func TestASlowServerIsTriedAgainUnderLoad(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.slow(20 * time.Millisecond)
		f.node["b"].slow(400 * time.Millisecond)
		callAtOnce(t, c, 6, 1000)
		if n := f.counts()["b"]; n == 0 || n > 60 {
			t.Errorf("of 6000 calls %d on the slow server", n)
		}
		f.slow(20 * time.Millisecond)
		callAtOnce(t, c, 6, 3000) // a minute
		f.reset()
		callAtOnce(t, c, 6, 1000)
		if n := f.counts()["b"]; n < 1200 {
			t.Errorf("of 6000 calls %d when it is fast again", n)
		}
	})
}

func TestFailuresAttractNoCalls(t *testing.T) {
	plain := []cluster.Option{cluster.Balance(cluster.PeakEWMA()), cluster.NoBreakers(), cluster.NoEjections(), cluster.Retries(cluster.Retry{Attempts: 1})}
	const callers, each = 12, 250
	run := func(name string, most int64, broken func(context.Context) error, opts ...cluster.Option) {
		bubble(t, three, append(plain[:len(plain):len(plain)], opts...), func(t *testing.T, f *fleet, c *cluster.Client) {
			f.slow(10 * time.Millisecond)
			callAtOnce(t, c, callers, 20)
			f.reset()
			f.node["b"].handle(broken) // at once, so that nothing ever runs there
			callAtOnce(t, c, callers, each)
			if n := f.counts()["b"]; n == 0 || n > most {
				t.Errorf("%s: of %d calls %d on the server that fails", name, callers*each, n)
			}
			f.slow(10 * time.Millisecond)
			time.Sleep(time.Minute)
			callAtOnce(t, c, callers, 20)
			f.reset()
			callAtOnce(t, c, callers, 100)
			if n := f.counts()["b"]; n < callers*100/5 {
				t.Errorf("%s: of %d calls %d when it is well again", name, callers*100, n)
			}
		})
	}
	run("failures", 30, fail(rpc.Timeout))
	run("refusals", 30, fail(rpc.LoadShedding))
	// Nothing runs there, and its calls are taken to be as long as they were: so it has twice or three times the share of the others.
	run("exceptions of the application", callers*each*7/10, fail(rpc.InternalError))
	run("what its user calls failures", 30, fail(rpc.InternalError), cluster.Judge(func(err error) (cluster.Outcome, bool) {
		var exception *rpc.ApplicationException
		return cluster.Failed, errors.As(err, &exception)
	}))
}

func TestAServerThatFailedFirstIsNotTakenToBeFast(t *testing.T) {
	opts := []cluster.Option{cluster.Balance(cluster.PeakEWMA()), cluster.NoBreakers(), cluster.NoEjections()}
	for _, kind := range []int32{rpc.InternalError, rpc.LoadShedding} {
		bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
			f.slow(100 * time.Millisecond)
			f.node["b"].handle(func(context.Context) error {
				time.Sleep(time.Millisecond)
				return &rpc.ApplicationException{Type: kind}
			})
			for range 10 {
				echo(t.Context(), c)
			}
			time.Sleep(time.Minute) // all is forgotten nearly
			f.reset()
			callAtOnce(t, c, 3, 5000)
			// While nothing runs there it has the call of two, if they are drawn: some 9200 of 15000 calls, with a
			// standard deviation of 70. It would have 10000 if its failures were taken for answers.
			if n := f.counts()["b"]; n > 9600 {
				t.Errorf("%d of 15000 calls where they are not answered", n)
			}
		})
	}
}

func TestCallsThatRunCount(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.slow(10 * time.Millisecond)
		callAtOnce(t, c, 10, 100)
		f.reset()
		f.slow(5 * time.Second) // all at once, so that nothing is known of it
		var wg sync.WaitGroup
		for range 60 {
			wg.Go(func() { echo(t.Context(), c) })
			synctest.Wait()
		}
		for name, n := range f.counts() {
			if n < 12 || n > 28 {
				t.Errorf("%s runs %d calls of 60", name, n)
			}
		}
		wg.Wait()
	})
}

func TestStreamsCountAsCallsThatRun(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		ctx, cancel := context.WithCancel(t.Context())
		for range 30 {
			if _, err := c.OpenStream(ctx, &rpc.StreamCall{Method: "chat"}); err != nil {
				t.Fatal(err)
			}
			synctest.Wait()
		}
		total := 0
		for _, a := range c.Stats().Addresses {
			total += a.Streams
			if a.Streams < 7 || a.Streams > 13 {
				t.Errorf("%v has %d streams of 30, with nothing known of it", a.Address, a.Streams)
			}
			if a.PeakLatency != 0 {
				t.Errorf("%v: a stream made its latency %v", a.Address, a.PeakLatency)
			}
		}
		if total != 30 {
			t.Errorf("%d streams", total)
		}
		cancel()
		synctest.Wait()
	})
}

func TestOnewayCallsSayNothingOfLatency(t *testing.T) {
	bubble(t, []string{"a"}, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		known := func() time.Duration { return c.Stats().Addresses[0].PeakLatency }
		f.slow(10 * time.Millisecond)
		oneway := &rpc.Invocation{Method: "echo", Oneway: true}
		for range 10 {
			if err := c.Invoke(t.Context(), oneway); err != nil {
				t.Fatal(err)
			}
		}
		if d := known(); d != 0 {
			t.Errorf("oneway calls took %v", d)
		}
		call(t, c, 1)
		before := known()
		time.Sleep(time.Second)
		for range 10 {
			c.Invoke(t.Context(), oneway)
		}
		if after := known(); before < 9*time.Millisecond || after < 8*time.Millisecond {
			t.Errorf("a call took %v, and %v after oneway ones", before, after)
		}
	})
}

func TestMessagesGoByLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		c := f.messages(cluster.Balance(cluster.PeakEWMA()))
		defer c.Close()
		if err := c.Connect(t.Context()); err != nil {
			t.Fatal(err)
		}
		f.slow(2 * time.Millisecond)
		f.node["b"].slow(40 * time.Millisecond)
		for i := range 600 {
			if i == 100 {
				f.reset()
			}
			if _, err := say(t.Context(), c, []byte("x")); err != nil {
				t.Fatal(err)
			}
		}
		if n := f.counts(); n["b"] > 10 || n["a"]+n["c"] < 490 {
			t.Errorf("calls: %v", n)
		}
	})
}

func TestAnAddressWarmsUpWhateverItsLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFleet(t, three...)
		defer f.stop()
		f.slow(2 * time.Millisecond)
		s := make(source)
		c := f.clientOf(s, cluster.Balance(cluster.PeakEWMA()), cluster.WarmUp(10*time.Second))
		defer c.Close()
		s <- addresses("a", "b")
		synctest.Wait()
		warm(t, c)
		callAtOnce(t, c, 6, 500)
		s <- addresses(three...)
		synctest.Wait()
		warm(t, c)
		f.reset()
		callAtOnce(t, c, 6, 250) // half a second
		if n := f.counts()["c"]; n == 0 || n > 400 {
			t.Errorf("%d of 1500 calls on the address that is new", n)
		}
	})
}

func TestPeakEWMAKeepsToWeights(t *testing.T) {
	set := []resolve.Address{{Addr: "a", Weight: 300}, {Addr: "b", Weight: 100}}
	weighted(t, set, []cluster.Option{cluster.Balance(cluster.PeakEWMA())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.slow(10 * time.Millisecond)
		callAtOnce(t, c, 40, 100)
		f.reset()
		f.slow(time.Second)
		var wg sync.WaitGroup
		for range 40 {
			wg.Go(func() { echo(t.Context(), c) })
			synctest.Wait()
		}
		if n := f.counts(); n["a"] < 27 || n["b"] < 7 {
			t.Errorf("calls that run: %s", fmt.Sprint(n))
		}
		wg.Wait()
	})
}
