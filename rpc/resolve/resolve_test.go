package resolve_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/thrum-rpc/thrum/rpc/resolve"
)

func TestAListIsHandedOnOnce(t *testing.T) {
	set, err := resolve.Once(t.Context(), resolve.Static(resolve.Address{Addr: "a:1", Weight: 3}, resolve.Address{Network: "unix", Addr: "/s"}))
	if err != nil || len(set) != 2 || set[0].Share() != 3 || set[1].Share() != resolve.DefaultWeight || set[1].String() != "unix:/s" {
		t.Errorf("%v, %v", set, err)
	}
	if _, err := resolve.Once(t.Context(), resolve.Hosts()); !errors.Is(err, resolve.ErrNone) {
		t.Errorf("an empty list: %v", err)
	}
}

// resolver is a function as a resolver.
type resolver func(ctx context.Context, l resolve.Listener) error

func (f resolver) Resolve(ctx context.Context, l resolve.Listener) error { return f(ctx, l) }

func TestOnceSaysWhyThereIsNothing(t *testing.T) {
	broken := errors.New("broken")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	for name, c := range map[string]struct {
		ctx  context.Context
		r    resolver
		want error
	}{
		"a failure that may pass": {t.Context(), func(ctx context.Context, l resolve.Listener) error {
			l.Failed(broken)
			<-ctx.Done()
			return nil
		}, broken},
		"a failure for good": {t.Context(), func(context.Context, resolve.Listener) error { return broken }, broken},
		"no time":            {ended, func(context.Context, resolve.Listener) error { return nil }, context.Canceled},
		"no word":            {t.Context(), func(context.Context, resolve.Listener) error { return nil }, resolve.ErrNone},
	} {
		if set, err := resolve.Once(c.ctx, c.r); set != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, set, err)
		}
	}
}

func TestAnAddressIsItsNetworkPlaceDialectAndName(t *testing.T) {
	a := resolve.Address{Addr: "shop.test:9090", Weight: 5, Zone: "a", Metadata: map[string]string{"version": "2"}}
	if b := (resolve.Address{Network: "tcp", Addr: "shop.test:9090"}); a.Key() != b.Key() {
		t.Errorf("%v and %v", a.Key(), b.Key())
	}
	for _, b := range []resolve.Address{{Addr: "shop.test:9091"}, {Network: "unix", Addr: "shop.test:9090"},
		{Addr: "shop.test:9090", Dialect: resolve.TTHeader}, {Addr: "shop.test:9090", TLSName: "x"}} {
		if a.Key() == b.Key() {
			t.Errorf("%v is %v", a, b)
		}
	}
	for addr, want := range map[string]string{"shop.test:9090": "shop.test", "[::1]:9090": "::1", "/run/s": ""} {
		if got := (resolve.Address{Addr: addr}).Host(); got != want {
			t.Errorf("host of %s is %q", addr, got)
		}
	}
	if got := (resolve.Address{Addr: "10.0.0.1:9090", TLSName: "shop.test"}).Host(); got != "shop.test" {
		t.Errorf("a name of its own: %q", got)
	}
	if got := (resolve.Address{Weight: 1 << 30}).Share(); got != resolve.MaxWeight {
		t.Errorf("weight %d", got)
	}
}

func TestPausesGrowToTheirLimit(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		b := resolve.Backoff{
			Base: time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "base")),
			Max:  time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, "max")),
		}
		n := rapid.IntRange(1, 1000).Draw(t, "failures")
		limit := b.Limit(n)
		if limit < 0 || limit > b.Max || limit < b.Limit(n-1) {
			t.Fatalf("after %d failures at most %v, one earlier %v, of %v", n, limit, b.Limit(n-1), b)
		}
		if d := b.Delay(n); d < 0 || d > limit {
			t.Fatalf("a pause of %v where %v is the longest", d, limit)
		}
	})
	b := resolve.Backoff{Base: 100 * time.Millisecond, Max: time.Second}
	var got []time.Duration
	for n := 1; n <= 6; n++ {
		got = append(got, b.Limit(n))
	}
	if want := "[100ms 200ms 400ms 800ms 1s 1s]"; fmt.Sprint(got) != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func Example() {
	fleet := resolve.Static(
		resolve.Address{Addr: "10.0.0.1:9090", Zone: "a"},
		resolve.Address{Addr: "10.0.0.2:9090", Zone: "b", Weight: 50},
	)
	set, err := resolve.Once(context.Background(), fleet)
	for _, a := range set {
		fmt.Println(a, a.Zone, a.Share())
	}
	fmt.Println(err)
	// Output:
	// 10.0.0.1:9090 a 100
	// 10.0.0.2:9090 b 50
	// <nil>
}
