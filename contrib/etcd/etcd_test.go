package etcd_test

import (
	"context"
	"reflect"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/thrum-rpc/thrum/contrib/etcd"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// This file tests resolver and registrations on bad days of etcd.

func TestAddressesAreFoundWithAllThatWasSaidOfThem(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	l.await()
	want := resolve.Address{Network: "unix", Addr: "/run/shop.sock", Weight: 7, Zone: "eu-1", Dialect: resolve.TTHeader,
		TLSName: "shop.test", Metadata: map[string]string{"version": "1/2"}}
	reg := r.register(want)
	l.await(want.Addr)
	if got := l.set(); !reflect.DeepEqual(got, []resolve.Address{want}) {
		t.Errorf("got %+v, want %+v", got, want)
	}
	other := r.register(resolve.Address{Addr: "[::1]:9090"})
	l.await("[::1]:9090", want.Addr)

	want.Weight, want.Metadata = 9, nil
	if err := reg.Update(want); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the weight is another one", func() bool {
		return reflect.DeepEqual(l.set()[1], want)
	})
	if err := reg.Update(resolve.Address{Addr: "elsewhere:1"}); err == nil {
		t.Error("an update to another address is taken")
	}
	if err := reg.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.await("[::1]:9090")
	if err := other.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	l.await() // an empty set is handed on
}

func TestServicesDoNotSeeEachOther(t *testing.T) {
	r := newRegistry(t)
	c := r.client(false)
	for _, service := range []string{"shop", "shop/2", "shop2", "sho"} {
		reg, err := etcd.Register(t.Context(), c, service, resolve.Address{Addr: service})
		if err != nil {
			t.Fatal(err)
		}
		defer reg.Close(context.Background())
	}
	for _, service := range []string{"shop", "shop/2"} {
		got, err := resolve.Once(t.Context(), etcd.NewResolver(c, service))
		if err != nil || len(got) != 1 || got[0].Addr != service {
			t.Errorf("%s: %v, %v", service, got, err)
		}
	}
	got, err := resolve.Once(t.Context(), etcd.NewResolver(c, "shop", etcd.Prefix("/elsewhere/")))
	if err != resolve.ErrNone {
		t.Errorf("under another prefix: %v, %v", got, err)
	}
}

func TestAnAddressWithoutALeaseIsPutAgain(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	var losses, recoveries atomic.Int64
	r.register(resolve.Address{Addr: "a:1"}, etcd.TTL(2*time.Second), etcd.Report(func(err error) {
		if err != nil {
			losses.Add(1)
		} else {
			recoveries.Add(1)
		}
	}))
	l.await("a:1")
	c := r.client(false)
	leases, err := c.Leases(t.Context())
	if err != nil || len(leases.Leases) != 1 {
		t.Fatalf("%v, %v", leases, err)
	}
	if _, err := c.Revoke(t.Context(), leases.Leases[0].ID); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the address is there again", func() bool { return recoveries.Load() > 0 })
	if losses.Load() == 0 {
		t.Error("the loss is not reported")
	}
	l.await("a:1")
	got, err := c.Get(t.Context(), "/thrum/services/shop/", clientv3.WithPrefix())
	if err != nil || len(got.Kvs) != 1 || got.Kvs[0].Lease == int64(leases.Leases[0].ID) || got.Kvs[0].Lease == 0 {
		t.Errorf("%v, %v", got, err)
	}
}

func TestTheAddressOfAProcessThatHasGoneDisappears(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	r.register(resolve.Address{Addr: "b:1"})
	c, err := clientv3.New(clientv3.Config{Endpoints: []string{"http://" + r.address}, Logger: zap.NewNop()})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := etcd.Register(t.Context(), c, "shop", resolve.Address{Addr: "a:1"}, etcd.TTL(time.Second)); err != nil {
		t.Fatal(err)
	}
	l.await("a:1", "b:1")
	c.Close() // without saying goodbye
	l.await("b:1")
}

func TestASuccessorKeepsTheAddressOfItsPredecessor(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	before := r.register(resolve.Address{Addr: "a:1", Weight: 1})
	l.await("a:1")
	r.register(resolve.Address{Addr: "a:1", Weight: 2})
	if err := before.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	r.register(resolve.Address{Addr: "b:1"}) // by which the resolver has seen all before
	l.await("a:1", "b:1")
	if got := l.set(); got[0].Weight != 2 {
		t.Errorf("%+v", got)
	}
}

func TestARestartOfEtcdIsSurvived(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	r.register(resolve.Address{Addr: "a:1"}, etcd.TTL(2*time.Second))
	l.await("a:1")
	r.stop()
	time.Sleep(50 * time.Millisecond) // in which nobody may despair
	l.await("a:1")                    // the last set holds
	r.start()
	r.register(resolve.Address{Addr: "b:1"})
	l.await("a:1", "b:1")
}

func TestAnEtcdThatHasLostEverythingIsToldAgain(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve(etcd.Resync(200 * time.Millisecond))
	r.register(resolve.Address{Addr: "a:1"}, etcd.TTL(time.Second))
	l.await("a:1")
	c := r.client(false)
	for range 50 { // so that its revision is far from where it starts
		if _, err := c.Put(t.Context(), "x", "y"); err != nil {
			t.Fatal(err)
		}
	}
	r.stop()
	r.dir = t.TempDir()
	r.start()
	r.register(resolve.Address{Addr: "b:1"})
	l.await("a:1", "b:1")
}

func TestAResolverReadsAgainWhatIsCompacted(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve(etcd.Resync(0))
	c := r.client(true)
	put := func(addr string) {
		t.Helper()
		if _, err := c.Put(t.Context(), "/thrum/services/shop/"+addr, `{"addr": "`+addr+`"}`); err != nil {
			t.Fatal(err)
		}
	}
	put("a:1")
	l.await("a:1")
	r.cut()
	put("b:1")
	deleted, err := c.Delete(t.Context(), "/thrum/services/shop/a:1")
	if err != nil {
		t.Fatal(err)
	}
	put("c:1")
	if _, err := c.Compact(t.Context(), deleted.Header.Revision+1, clientv3.WithCompactPhysical()); err != nil {
		t.Fatal(err)
	}
	r.join()
	l.await("b:1", "c:1")
	l.failed("it says why", func(err error) bool { return strings.Contains(err.Error(), "compacted") })
}

func TestValuesThatAreNoAddressAreLeftOut(t *testing.T) {
	r := newRegistry(t)
	l := r.resolve()
	c := r.client(false)
	for key, value := range map[string]string{"a": `{"addr": "a:1", "more": true}`, "b": `{"addr": ""}`, "c": "no JSON", "d": `{"addr": 1}`} {
		if _, err := c.Put(t.Context(), "/thrum/services/shop/"+key, value); err != nil {
			t.Fatal(err)
		}
	}
	l.await("a:1")
	l.failed("it says what is broken", func(err error) bool { return strings.Contains(err.Error(), "/shop/c") })
	if _, err := c.Put(t.Context(), "/thrum/services/shop/c", `{"addr": "c:1"}`); err != nil {
		t.Fatal(err)
	}
	l.await("a:1", "c:1")
	if _, err := etcd.Register(t.Context(), c, "shop", resolve.Address{Zone: "eu"}); err == nil {
		t.Error("an address without a place is registered")
	}
}

func TestFailuresAreTold(t *testing.T) {
	r := newRegistry(t)
	c := r.client(false)
	r.cut()
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if _, err := etcd.Register(ctx, c, "shop", resolve.Address{Addr: "a:1"}); err == nil {
		t.Error("registered where nothing is")
	}
	l := r.resolve()
	l.failed("etcd cannot be asked", func(error) bool { return true })
	r.join()
	l.await()
}
