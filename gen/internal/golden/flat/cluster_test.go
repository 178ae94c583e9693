package flat_test

import (
	"errors"
	"net"
	"testing"

	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/base"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/shop"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/cluster"
	"github.com/thrum-rpc/thrum/rpc/resolve"
)

// A generated client works on a client of many addresses as it does on one of one.
func TestGeneratedClientsCallClusters(t *testing.T) {
	var hosts []string
	for range 2 {
		server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
		if err := server.Register(shop.NewOrdersObjectsService(objects{})); err != nil {
			t.Fatal(err)
		}
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go server.Serve(l)
		t.Cleanup(func() { server.Close() })
		hosts = append(hosts, l.Addr().String())
	}
	calls, err := cluster.NewMessages(resolve.Hosts(hosts...), cluster.WarmUp(0), cluster.Balance(cluster.RoundRobin()))
	if err != nil {
		t.Fatal(err)
	}
	defer calls.Close()
	if err := calls.Connect(t.Context()); err != nil {
		t.Fatal(err)
	}
	c := shop.NewOrdersObjectsClient(calls)
	for range 10 {
		var status *rpc.BizStatus
		if _, err := c.Place(t.Context(), &shop.OrderT{Owner: &base.PersonT{Name: "Ada"}}); !errors.As(err, &status) || status.Code != 7 {
			t.Fatal(err) // there is nothing to pay
		}
		n := 0
		err = c.Watch(t.Context(), &base.MoneyT{Units: 2, Currency: "EUR"}, func(*shop.OrderT) error {
			n++
			return nil
		})
		if err != nil || n != 2 {
			t.Fatalf("%d orders, %v", n, err)
		}
	}
	for _, a := range calls.Stats().Addresses {
		if a.Attempts == 0 || a.Failed > 0 {
			t.Errorf("%+v", a)
		}
	}
}
