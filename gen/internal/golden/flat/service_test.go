package flat_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
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
	server := rpc.NewServer(rpc.QueueTimeout(0), rpc.TaskExpiry(0))
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

// callbacks serves orders on messages, Place by a callback.
type callbacks struct {
	messages
	plain *int // calls of the plain form
}

func (c callbacks) Place(ctx context.Context, req *shop.Order) (*flatbuf.Builder, error) {
	*c.plain++
	return c.messages.Place(ctx, req)
}

func (c callbacks) PlaceCallback(req *shop.Order, reply flatrpc.Reply) {
	go func() {
		if b, err := c.messages.Place(reply.Context(), req); err != nil {
			reply.Fail(err)
		} else {
			reply.Result(b)
		}
	}()
}

var _ shop.OrdersPlaceCallback = callbacks{}

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

// money returns a finished message of that many units.
func money(b *flatbuf.Builder, units int64) *flatbuf.Builder {
	base.FinishMoneyBuffer(b, (&base.MoneyT{Units: units, Currency: "EUR"}).Pack(b))
	return b
}

// order returns a finished message of a buyer of that name.
func order(b *flatbuf.Builder, name string) *flatbuf.Builder {
	shop.FinishOrderBuffer(b, (&shop.OrderT{Owner: &base.PersonT{Name: name}}).Pack(b))
	return b
}

func (messages) Watch(_ context.Context, req *base.Money, out *flatrpc.Sender) error {
	for n := range req.Units() {
		if err := out.Send(order(out.NewBuilder(), fmt.Sprint("buyer ", n))); err != nil {
			return err
		}
	}
	return nil
}

func (messages) Load(ctx context.Context, in *flatrpc.Receiver[*shop.Order]) (*flatbuf.Builder, error) {
	for n := int64(0); ; n++ {
		switch _, err := in.Recv(); err {
		case nil:
		case io.EOF:
			return money(flatrpc.NewBuilder(ctx), n), nil
		default:
			return nil, err
		}
	}
}

func (messages) Chat(_ context.Context, in *flatrpc.Receiver[*shop.Order], out *flatrpc.Sender) error {
	for {
		m, err := in.Recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		if err := out.Send(order(out.NewBuilder(), "hello "+string(m.Owner(nil).Name()))); err != nil {
			return err
		}
	}
}

func (objects) Watch(_ context.Context, req *base.MoneyT, send func(*shop.OrderT) error) error {
	for n := range req.Units {
		if err := send(&shop.OrderT{Owner: &base.PersonT{Name: fmt.Sprint("buyer ", n)}}); err != nil {
			return err
		}
	}
	return nil
}

func (objects) Load(_ context.Context, recv func() (*shop.OrderT, error)) (*base.MoneyT, error) {
	for n := int64(0); ; n++ {
		switch _, err := recv(); err {
		case nil:
		case io.EOF:
			return &base.MoneyT{Units: n, Currency: "EUR"}, nil
		default:
			return nil, err
		}
	}
}

func (objects) Chat(_ context.Context, recv func() (*shop.OrderT, error), send func(*shop.OrderT) error) error {
	for {
		m, err := recv()
		if err == io.EOF {
			return nil
		}
		if err != nil {
			return err
		}
		m.Owner.Name = "hello " + m.Owner.Name
		if err := send(m); err != nil {
			return err
		}
	}
}

func TestServicesStreamInBothForms(t *testing.T) {
	ctx := context.Background()
	for name, service := range map[string]*rpc.Service{"messages": shop.NewOrdersService(messages{}), "objects": shop.NewOrdersObjectsService(objects{})} {
		c := dialService(t, service)
		typed := shop.NewOrdersObjectsClient(c)
		var buyers []string
		err := typed.Watch(ctx, &base.MoneyT{Units: 3, Currency: "EUR"}, func(o *shop.OrderT) error {
			buyers = append(buyers, o.Owner.Name)
			return nil
		})
		if err != nil || !slices.Equal(buyers, []string{"buyer 0", "buyer 1", "buyer 2"}) {
			t.Errorf("%s: %q, %v", name, buyers, err)
		}
		enough := errors.New("enough")
		if err := typed.Watch(ctx, &base.MoneyT{Units: 3, Currency: "EUR"}, func(*shop.OrderT) error { return enough }); err != enough {
			t.Errorf("%s: %v", name, err)
		}
		left := 5
		next := func() (*shop.OrderT, error) {
			if left--; left < 0 {
				return nil, io.EOF
			}
			return &shop.OrderT{}, nil
		}
		if total, err := typed.Load(ctx, next); err != nil || total.Units != 5 {
			t.Errorf("%s: %+v, %v", name, total, err)
		}
		if _, err := typed.Load(ctx, func() (*shop.OrderT, error) { return nil, enough }); err != enough {
			t.Errorf("%s: %v", name, err)
		}
		onMessages := shop.NewOrdersClient(c)
		down, err := onMessages.Watch(ctx, money(flatbuf.NewBuilder(0), 1))
		if err != nil {
			t.Fatal(err)
		}
		if m, err := down.Recv(); err != nil || string(m.Owner(nil).Name()) != "buyer 0" {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := down.Recv(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
		up, err := onMessages.Load(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if err := up.Send(order(flatbuf.NewBuilder(0), "me")); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if m, err := up.CloseAndRecv(); err != nil || m.Units() != 1 {
			t.Errorf("%s: %v", name, err)
		}
		both, err := onMessages.Chat(ctx)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"Ada", "Bob"} {
			if err := both.Send(order(flatbuf.NewBuilder(0), who)); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if m, err := both.Recv(); err != nil || string(m.Owner(nil).Name()) != "hello "+who {
				t.Errorf("%s: %v", name, err)
			}
		}
		if err := both.CloseSend(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if _, err := both.Recv(); err != io.EOF {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestServicesAnswerInAllForms(t *testing.T) {
	order := &shop.OrderT{Items: []*items.ItemT{
		{Name: "lamp", Price: &base.MoneyT{Units: 3, Currency: "EUR"}}, {Name: "desk", Price: &base.MoneyT{Units: 4, Currency: "EUR"}},
	}}
	plain := 0
	for name, service := range map[string]*rpc.Service{
		"messages": shop.NewOrdersService(messages{}, flatrpc.InitialSize(64)), "objects": shop.NewOrdersObjectsService(objects{}),
		"callbacks": shop.NewOrdersService(callbacks{plain: &plain}),
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
	if plain != 0 {
		t.Errorf("the plain form of a method with a callback served %d calls", plain)
	}
	_, err := shop.NewOrdersObjectsClient(dialService(t, shop.NewOrdersService(shop.UnimplementedOrders{}))).Place(context.Background(), order)
	var e *rpc.ApplicationException
	if !errors.As(err, &e) || e.Type != rpc.UnknownMethod {
		t.Errorf("unimplemented: %v", err)
	}
}
