package cluster_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests which address gets a call.

// weighted runs a test of addresses with weights and zones.
func weighted(t *testing.T, set []resolve.Address, opts []cluster.Option, test func(t *testing.T, f *fleet, c *cluster.Client)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for _, a := range set {
			names = append(names, a.Addr)
		}
		f := newFleet(t, names...)
		defer f.stop()
		c := f.clientOf(resolve.Static(set...), opts...)
		defer c.Close()
		warm(t, c)
		test(t, f, c)
	})
}

// call makes calls one after another.
func call(t *testing.T, c *cluster.Client, n int) {
	t.Helper()
	for range n {
		if err := echo(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
}

func TestARoundHasEachWeight(t *testing.T) {
	set := []resolve.Address{{Addr: "a", Weight: 300}, {Addr: "b", Weight: 200}, {Addr: "c", Weight: 100}}
	weighted(t, set, []cluster.Option{cluster.Balance(cluster.RoundRobin())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		call(t, c, 600)
		if got := fmt.Sprint(f.counts()); got != "map[a:300 b:200 c:100]" {
			t.Errorf("calls: %s", got)
		}
	})
	set = []resolve.Address{{Addr: "a", Weight: 9999}, {Addr: "b", Weight: 1}} // too long a round for exactness
	weighted(t, set, []cluster.Option{cluster.Balance(cluster.RoundRobin())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		call(t, c, 5000)
		if n := f.counts()["b"]; n < 1 || n > 2 {
			t.Errorf("%d calls of 5000 for a weight of 1 in 10000", n)
		}
	})
}

// byLoad are the balancers that look at how much addresses have to do.
var byLoad = map[string]cluster.Balancer{"least pending": cluster.LeastPending(), "power of two": cluster.PowerOfTwo(), "peak EWMA": cluster.PeakEWMA()}

func TestASlowServerGetsFewCalls(t *testing.T) {
	for name, b := range byLoad {
		bubble(t, three, []cluster.Option{cluster.Balance(b)}, func(t *testing.T, f *fleet, c *cluster.Client) {
			for _, n := range f.node {
				n.slow(time.Millisecond)
			}
			f.node["b"].slow(time.Second)
			const callers, each = 30, 100
			var wg sync.WaitGroup
			for range callers {
				wg.Add(1)
				go func() {
					defer wg.Done()
					for range each {
						if err := echo(t.Context(), c); err != nil {
							t.Error(err)
						}
					}
				}()
			}
			wg.Wait()
			// It is a thousand times slower than the others, so what it has at one
			// time is all that it gets: some for each caller, and not a third of the calls.
			if n := f.counts()["b"]; n > callers*5 {
				t.Errorf("%s: the slow server has %d of %d calls", name, n, callers*each)
			}
		})
	}
}

func TestLeastPendingKeepsToWeights(t *testing.T) {
	set := []resolve.Address{{Addr: "a", Weight: 300}, {Addr: "b", Weight: 100}}
	weighted(t, set, []cluster.Option{cluster.Balance(cluster.LeastPending())}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.slow(time.Second)
		}
		var wg sync.WaitGroup
		for range 40 {
			wg.Add(1)
			go func() {
				defer wg.Done()
				echo(t.Context(), c)
			}()
			synctest.Wait()
		}
		if got := fmt.Sprint(f.counts()); got != "map[a:30 b:10]" {
			t.Errorf("calls that run: %s", got)
		}
		wg.Wait()
	})
}

func TestIdleAddressesShareByWeight(t *testing.T) {
	set := []resolve.Address{{Addr: "a", Weight: 300}, {Addr: "b", Weight: 100}, {Addr: "c", Weight: 100}}
	for name, b := range byLoad {
		weighted(t, set, []cluster.Option{cluster.Balance(b)}, func(t *testing.T, f *fleet, c *cluster.Client) {
			call(t, c, 5000)
			if n := f.counts(); n["a"] < 2700 || n["a"] > 3300 || n["b"] < 800 || n["c"] < 800 {
				t.Errorf("%s: calls: %v", name, n)
			}
		})
	}
}

// keyed makes one call for each key and returns the server of each.
func keyed(t *testing.T, f *fleet, c *cluster.Client, keys int) []string {
	t.Helper()
	owners := make([]string, keys)
	for i := range owners {
		before := f.counts()
		if err := echo(cluster.WithKey(t.Context(), fmt.Sprint("key ", i)), c); err != nil {
			t.Fatal(err)
		}
		for name, n := range f.counts() {
			if n > before[name] {
				owners[i] = name
			}
		}
	}
	return owners
}

func TestAKeyKeepsItsAddress(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		names := []string{"a", "b", "c", "d", "e"}
		f := newFleet(t, names...)
		defer f.stop()
		s := make(source)
		c := f.clientOf(s, cluster.Balance(cluster.ConsistentHash(nil)))
		defer c.Close()
		s <- addresses(names[:4]...)
		synctest.Wait()
		warm(t, c)
		const keys = 1000
		first, second := keyed(t, f, c, keys), keyed(t, f, c, keys)
		share := map[string]int{}
		for i := range first {
			share[first[i]]++
			if first[i] != second[i] {
				t.Fatalf("key %d is on %s and then on %s", i, first[i], second[i])
			}
		}
		for name, n := range share {
			if n < keys/4*7/10 || n > keys/4*13/10 {
				t.Errorf("%s has %d keys of %d", name, n, keys)
			}
		}
		s <- addresses(names...)
		synctest.Wait()
		warm(t, c)
		for i, owner := range keyed(t, f, c, keys) {
			if owner != first[i] && owner != "e" {
				t.Fatalf("key %d went from %s to %s when e came", i, first[i], owner)
			}
		}
		f.node["e"].stop()
		synctest.Wait()
		for i, owner := range keyed(t, f, c, keys) {
			if owner != first[i] {
				t.Fatalf("key %d went from %s to %s when e died", i, first[i], owner)
			}
		}
	})
}

func TestAKeyThatAllWantIsShared(t *testing.T) {
	names := []string{"a", "b", "c", "d"}
	bubble(t, names, []cluster.Option{cluster.Balance(cluster.ConsistentHash(func(context.Context, *rpc.Invocation) (string, bool) {
		return "the one", true
	}))}, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.slow(time.Second)
		}
		const calls = 100
		var wg sync.WaitGroup
		for range calls {
			wg.Add(1)
			go func() {
				defer wg.Done()
				echo(t.Context(), c)
			}()
			synctest.Wait()
		}
		limit := int64(math.Ceil(1.25 * calls / float64(len(names))))
		for name, n := range f.counts() {
			if n > limit {
				t.Errorf("%s runs %d calls of %d, the limit is %d", name, n, calls, limit)
			}
		}
		wg.Wait()
	})
}

func TestAZoneIsPreferredWhileItLasts(t *testing.T) {
	set := []resolve.Address{{Addr: "a", Zone: "here"}, {Addr: "b", Zone: "here"}, {Addr: "c", Zone: "there"}, {Addr: "d"}}
	opts := []cluster.Option{cluster.Balance(cluster.PreferZone("here", cluster.RoundRobin()))}
	weighted(t, set, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		call(t, c, 100)
		if n := f.counts(); n["a"] != 50 || n["b"] != 50 {
			t.Errorf("calls: %v", n)
		}
		f.node["a"].stop()
		synctest.Wait()
		f.reset()
		call(t, c, 100)
		if n := f.counts(); n["b"] != 100 {
			t.Errorf("with one server left in the zone: %v", n)
		}
		f.node["b"].stop()
		synctest.Wait()
		f.reset()
		call(t, c, 100)
		if n := f.counts(); n["c"] != 50 || n["d"] != 50 {
			t.Errorf("without servers in the zone: %v", n)
		}
	})
	none := []cluster.Option{cluster.Balance(cluster.PreferZone("nowhere", cluster.RoundRobin()))}
	weighted(t, set, none, func(t *testing.T, f *fleet, c *cluster.Client) { call(t, c, 8) })
}

// lastOne is a balancer of a user.
type lastOne struct{ set []*cluster.Endpoint }

func (lastOne) Build(set []*cluster.Endpoint) cluster.Picker { return lastOne{set} }

func (l lastOne) Pick(p cluster.Pick) *cluster.Endpoint {
	for i := len(l.set) - 1; i >= 0; i-- {
		if p.Usable(l.set[i]) && l.set[i].Pending() < 2 {
			return l.set[i]
		}
	}
	return nil
}

func TestUsersBringTheirOwnBalancer(t *testing.T) {
	bubble(t, three, []cluster.Option{cluster.Balance(lastOne{})}, func(t *testing.T, f *fleet, c *cluster.Client) {
		call(t, c, 10)
		if n := f.counts()["c"]; n != 10 {
			t.Errorf("calls: %v", f.counts())
		}
		f.node["c"].stop()
		synctest.Wait()
		call(t, c, 10)
		if n := f.counts()["b"]; n != 10 {
			t.Errorf("calls: %v", f.counts())
		}
	})
}

func TestAClientKeepsToSomeOfManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var names []string
		for i := range 20 {
			names = append(names, fmt.Sprint("n", i))
		}
		f := newFleet(t, names...)
		defer f.stop()
		s := make(source)
		c := f.clientOf(s, cluster.MaxAddresses(5))
		defer c.Close()
		mine := func(set []resolve.Address) map[string]bool {
			s <- set
			synctest.Wait()
			m := map[string]bool{}
			for _, a := range c.Stats().Addresses {
				m[a.Address.Addr] = true
			}
			return m
		}
		before := mine(addresses(names...))
		after := mine(addresses(names[1:]...))
		kept := 0
		for name := range before {
			if after[name] {
				kept++
			}
		}
		if len(before) != 5 || len(after) != 5 || kept < 4 {
			t.Errorf("of %v %d stay when one of all goes: %v", before, kept, after)
		}
	})
}

func TestAnAddressThatFailsIsEjectedAndWarmsUpAgain(t *testing.T) {
	log := new(eventLog)
	opts := []cluster.Option{cluster.Balance(cluster.RoundRobin()), cluster.NoBreakers(), cluster.OnEvent(log.add), cluster.WarmUp(10 * time.Second)}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		f.node["b"].handle(fail(rpc.Timeout))
		failed := 0
		for range 300 {
			if err := echo(t.Context(), c); err != nil {
				failed++
			}
		}
		if n := f.counts()["b"]; failed != 5 || n != 5 || log.count("ejected b") != 1 {
			t.Errorf("%d calls failed, %d on the server that is ejected %d times", failed, n, log.count("ejected b"))
		}
		f.node["b"].slow(0)
		f.reset()
		time.Sleep(16 * time.Second) // of 15
		call(t, c, 300)
		young := f.counts()["b"]
		time.Sleep(10 * time.Second)
		f.reset()
		call(t, c, 300)
		if old := f.counts()["b"]; young == 0 || young > 50 || old != 100 || log.count("returned b") != 1 {
			t.Errorf("of 300 calls %d at first, and %d later; returned %d times", young, old, log.count("returned b"))
		}
	})
}

func TestOnlyAShareIsEjected(t *testing.T) {
	opts := []cluster.Option{cluster.Balance(cluster.RoundRobin()), cluster.NoBreakers()}
	bubble(t, []string{"a", "b", "c", "d"}, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(fail(rpc.Timeout))
		}
		for range 200 {
			if err := echo(t.Context(), c); err == nil || errors.Is(err, cluster.ErrUnavailable) {
				t.Fatalf("a call: %v", err)
			}
		}
		ejected := 0
		for _, a := range c.Stats().Addresses {
			if a.Ejected {
				ejected++
			}
		}
		if ejected != 2 {
			t.Errorf("%d of 4 are ejected", ejected)
		}
	})
}

func TestAnOutlierIsEjected(t *testing.T) {
	opts := []cluster.Option{cluster.Balance(cluster.RoundRobin()), cluster.NoBreakers()}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		n := 0
		f.node["b"].handle(func(context.Context) error {
			if n++; n%2 == 0 { // never five in a row
				return &rpc.ApplicationException{Type: rpc.Timeout}
			}
			return nil
		})
		for range 300 {
			echo(t.Context(), c)
		}
		time.Sleep(11 * time.Second)
		for range 3 {
			echo(t.Context(), c)
		}
		f.reset()
		call(t, c, 100)
		if n := f.counts()["b"]; n != 0 {
			t.Errorf("%d calls for a server that fails half of them", n)
		}
	})
}

func TestBreakersEndTheLoadOnAFleetThatFails(t *testing.T) {
	log := new(eventLog)
	opts := []cluster.Option{cluster.OnEvent(log.add)}
	bubble(t, three, opts, func(t *testing.T, f *fleet, c *cluster.Client) {
		for _, n := range f.node {
			n.handle(fail(rpc.Timeout))
		}
		refused := 0
		for range 1000 {
			if err := echo(t.Context(), c); errors.Is(err, cluster.ErrUnavailable) {
				refused++
			}
		}
		var sum int64
		for _, n := range f.counts() {
			sum += n
		}
		if sum > 100 || refused < 900 {
			t.Errorf("%d calls of 1000 came to servers that fail, %d ended at once", sum, refused)
		}
		for _, n := range f.node {
			n.slow(0)
		}
		time.Sleep(time.Minute)
		call(t, c, 100)
		for _, a := range c.Stats().Addresses {
			if log.count("breaker open "+a.Address.Addr) == 0 || log.count("breaker closed "+a.Address.Addr) == 0 {
				t.Errorf("%s: %q", a.Address, log.lines)
			}
		}
	})
}
