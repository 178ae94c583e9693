package cluster_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/thrum-rpc/thrum/rpc/cluster"
)

func TestAnAddressWhoseCallsAreOvertakenGetsFew(t *testing.T) {
	for name, balancer := range map[string]cluster.Balancer{"round robin": cluster.RoundRobin(), "least pending": cluster.LeastPending()} {
		synctest.Test(t, func(t *testing.T) {
			f := newFleet(t, three...)
			defer f.stop()
			c := f.client(cluster.Balance(balancer), cluster.Idempotent("echo"),
				cluster.Hedging(cluster.Hedge{After: 10 * time.Millisecond, Budget: cluster.Budget{Share: 1, PerSecond: 100}}))
			defer c.Close()
			warm(t, c)
			for _, n := range three {
				f.node[n].slow(time.Millisecond)
			}
			f.node["a"].slow(time.Second)
			for range 900 {
				if err := echo(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if n := f.counts()["a"]; n > 30 {
				t.Errorf("%s: %d of 900 calls on the slow server", name, n)
			}
			// And when it is well again, it has its share.
			f.node["a"].slow(time.Millisecond)
			time.Sleep(time.Second)
			f.reset()
			for range 900 {
				if err := echo(t.Context(), c); err != nil {
					t.Fatal(err)
				}
			}
			if n := f.counts()["a"]; n < 200 {
				t.Errorf("%s: %d of 900 calls on the server that is well again", name, n)
			}
		})
	}
}
