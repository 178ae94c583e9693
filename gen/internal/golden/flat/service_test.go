package flat_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/base"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/items"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/shop"
	"github.com/thrum-rpc/thrum/rpc"
	"github.com/thrum-rpc/thrum/rpc/flatrpc"
	"github.com/thrum-rpc/thrum/rpc/rpctest"
)

// dialService serves a service and returns a client's connection to it.
func dialService(t *testing.T, s *rpc.Service) rpc.MessageCaller {
	t.Helper()
	server := rpc.NewServer()
	if err := server.Register(s); err != nil {
		t.Fatal(err)
	}
	l := rpctest.NewListener()
	go server.Serve(l)
	t.Cleanup(func() { server.Close() })
	c, err := rpc.DialMessages(context.Background(), "memory", "", rpc.Dialer(l.DialContext))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// messages serves orders on messages.
type messages struct{ shop.UnimplementedOrders }

func (messages) Place(ctx context.Context, req *shop.Order) (*flatbuf.Builder, error) {
	b := flatrpc.NewBuilder(ctx)
	total := int64(0)
	var item items.Item
	for i := range req.ItemsLength() {
		req.Items(&item, i)
		total += item.Price(nil).Units()
	}
	if total == 0 {
		return nil, &rpc.BizStatus{Code: 7, Message: "nothing to pay"}
	}
	m := base.NewMoneyBuilder(b, flatbuf.String(b, "EUR")).Units(total).End()
	base.FinishMoneyBuffer(b, flatbuf.UOffsetT(m))
	return b, nil
}

// objects serves orders on objects.
type objects struct{}

func (objects) Place(_ context.Context, req *shop.OrderT) (*base.MoneyT, error) {
	m := &base.MoneyT{Currency: "EUR"}
	for _, i := range req.Items {
		m.Units += i.Price.Units
	}
	if m.Units == 0 {
		return nil, fmt.Errorf("in vain: %w", &rpc.BizStatus{Code: 7, Message: "nothing to pay"})
	}
	return m, nil
}

func TestServicesAnswerInBothForms(t *testing.T) {
	order := &shop.OrderT{Items: []*items.ItemT{
		{Name: "lamp", Price: &base.MoneyT{Units: 3, Currency: "EUR"}}, {Name: "desk", Price: &base.MoneyT{Units: 4, Currency: "EUR"}},
	}}
	for name, service := range map[string]*rpc.Service{
		"messages": shop.NewOrdersService(messages{}, flatrpc.InitialSize(64)), "objects": shop.NewOrdersObjectsService(objects{}),
	} {
		c := dialService(t, service)
		typed := shop.NewOrdersObjectsClient(c)
		for range 3 {
			if got, err := typed.Place(context.Background(), order); err != nil || got.Units != 7 || got.Currency != "EUR" {
				t.Errorf("%s: %+v, %v", name, got, err)
			}
		}
		b := flatbuf.NewBuilder(0)
		shop.FinishOrderBuffer(b, order.Pack(b))
		if got, err := shop.NewOrdersClient(c).Place(context.Background(), b); err != nil || got.Units() != 7 || string(got.Currency()) != "EUR" {
			t.Errorf("%s: %v", name, err)
		}
		var status *rpc.BizStatus
		if _, err := typed.Place(context.Background(), nil); !errors.As(err, &status) || status.Code != 7 {
			t.Errorf("%s: %v", name, err)
		}
	}
	_, err := shop.NewOrdersObjectsClient(dialService(t, shop.NewOrdersService(shop.UnimplementedOrders{}))).Place(context.Background(), order)
	var e *rpc.ApplicationException
	if !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("unimplemented: %v", err)
	}
}
