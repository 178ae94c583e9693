package flat_test

// How generated mocks are used.

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/thrum-rpc/thrum/flatbuf"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/base"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/shop"
	"github.com/thrum-rpc/thrum/gen/internal/golden/flat/pkg/shop/shopmock"
	"github.com/thrum-rpc/thrum/rpc"
)

func TestMocksAnswerTheirClients(t *testing.T) {
	place := func(_ context.Context, req *shop.OrderT) (*base.MoneyT, error) {
		if req.Owner.Name == "" {
			return nil, &rpc.BizStatus{Code: 7}
		}
		return &base.MoneyT{Units: 3, Currency: "EUR"}, nil
	}
	onObjects := shopmock.NewMockOrders(t)
	onObjects.PlaceFunc = place
	onMessages := shopmock.NewMockOrdersHandler(t)
	onMessages.PlaceFunc = messages{}.Place
	ada := &shop.OrderT{Owner: &base.PersonT{Name: "Ada"}}

	c := onObjects.Client(t)
	if m, err := c.Place(t.Context(), ada); err != nil || m.Units != 3 {
		t.Errorf("got %v, %v", m, err)
	}
	var status *rpc.BizStatus
	if _, err := c.Place(t.Context(), &shop.OrderT{Owner: &base.PersonT{}}); !errors.As(err, &status) || status.Code != 7 {
		t.Errorf("got %v", err)
	}
	if m, err := onObjects.MessageClient(t).Place(t.Context(), order(flatbuf.NewBuilder(0), "Bob")); err != nil || m.Units() != 3 {
		t.Errorf("got %v", err)
	}
	if all := onObjects.PlaceCalls.All(); len(all) != 3 || all[0].Owner.Name != "Ada" || all[2].Owner.Name != "Bob" {
		t.Errorf("recorded: %v", all)
	}

	if _, err := onMessages.Client(t).Place(t.Context(), ada); !errors.As(err, &status) { // nothing to pay
		t.Errorf("got %v", err)
	}
	if _, err := onMessages.MessageClient(t).Place(t.Context(), order(flatbuf.NewBuilder(0), "Bob")); !errors.As(err, &status) {
		t.Errorf("got %v", err)
	}
	if all := onMessages.PlaceCalls.All(); len(all) != 2 || all[1].Owner.Name != "Bob" {
		t.Errorf("recorded: %v", all)
	}
}

func TestMocksStream(t *testing.T) {
	onObjects, onMessages := shopmock.NewMockOrders(t), shopmock.NewMockOrdersHandler(t)
	onObjects.WatchFunc, onObjects.LoadFunc, onObjects.ChatFunc = objects{}.Watch, objects{}.Load, objects{}.Chat
	onMessages.WatchFunc, onMessages.LoadFunc, onMessages.ChatFunc = messages{}.Watch, messages{}.Load, messages{}.Chat
	for name, c := range map[string]shop.OrdersClient{"objects": onObjects.MessageClient(t), "messages": onMessages.MessageClient(t)} {
		down, err := c.Watch(t.Context(), money(flatbuf.NewBuilder(0), 1))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := down.Recv(); err != nil || string(m.Owner(nil).Name()) != "buyer 0" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := down.Recv(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		up, err := c.Load(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := up.Send(order(flatbuf.NewBuilder(0), "Ada")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m, err := up.CloseAndRecv(); err != nil || m.Units() != 1 {
			t.Errorf("%s: %v", name, err)
		}
		both, err := c.Chat(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if err := both.Send(order(flatbuf.NewBuilder(0), "Ada")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m, err := both.Recv(); err != nil || string(m.Owner(nil).Name()) != "hello Ada" {
			t.Errorf("%s: %v", name, err)
		}
		both.Close()
	}
	for name, watched := range map[string][]*base.MoneyT{"objects": onObjects.WatchCalls.All(), "messages": onMessages.WatchCalls.All()} {
		if len(watched) != 1 || watched[0].Units != 1 {
			t.Errorf("%s: recorded %v", name, watched)
		}
	}
	if onObjects.ChatCalls.Len() != 1 || onMessages.LoadCalls.Len() != 1 {
		t.Error("streams are not recorded")
	}
}

func TestAMockStandsInForTheClientsInterface(t *testing.T) {
	m := shopmock.NewMockOrdersClient(t)
	m.PlaceFunc = func(context.Context, *flatbuf.Builder) (*base.Money, error) {
		return base.GetRootAsMoney(money(flatbuf.NewBuilder(0), 5).FinishedBytes(), 0), nil
	}
	var c shop.OrdersClient = m
	if got, err := c.Place(t.Context(), order(flatbuf.NewBuilder(0), "Ada")); err != nil || got.Units() != 5 {
		t.Errorf("got %v", err)
	}
	if all := m.PlaceCalls.All(); len(all) != 1 || all[0].Owner.Name != "Ada" {
		t.Errorf("recorded: %v", all)
	}
	m.WatchFunc = shopmock.NewMockOrders(t).MessageClient(t).Watch // streams come from another mock's client
	if (&shopmock.MockOrdersClient{}).LoadCalls.Len() != 0 {
		t.Error("a call before the first")
	}
	var e *rpc.ApplicationException
	if _, err := (&shopmock.MockOrdersClient{}).Chat(t.Context()); !errors.As(err, &e) || !strings.Contains(e.Message, "MockOrdersClient.ChatFunc") {
		t.Errorf("got %v", err)
	}
}
