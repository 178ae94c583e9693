package store

import (
	"context"
	"errors"
	"maps"
	"slices"

	"github.com/thrum-rpc/thrum/examples/shop"
	"github.com/thrum-rpc/thrum/examples/shop/common"
)

// This file holds the orders.

// maxOrders bounds the memory of a shop that anybody may order from.
const maxOrders = 10_000

func (s *Store) PlaceOrder(_ context.Context, customer string, draft *shop.Draft) (*shop.Order, error) {
	if draft == nil {
		return nil, errors.New("placeOrder: the draft is missing")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.orders) == maxOrders {
		return nil, errors.New("placeOrder: the books are full")
	}
	total, err := s.take(draft)
	if err != nil {
		return nil, err
	}
	o := &shop.Order{
		Id: int64(len(s.orders)) + 1, Customer: customer, Lines: draft.Lines, Delivery: draft.Delivery,
		Total: euros(total), History: make(map[shop.OrderState]int64),
	}
	s.enter(o, shop.OrderState_NEW)
	s.orders = append(s.orders, o)
	return copyOrder(o), nil
}

// take removes what draft orders from the shelves, all of it or nothing, and
// returns the price after vouchers.
func (s *Store) take(draft *shop.Draft) (int64, error) {
	wanted := make(map[common.BookID]int64)
	var total int64
	for _, l := range draft.Lines {
		t, err := s.title(l.Book)
		if err != nil {
			return 0, err
		}
		quantity := max(int64(l.Quantity), 1)
		wanted[l.Book] += quantity
		if wanted[l.Book] > int64(t.copies) {
			return 0, &shop.OutOfStock{Book: l.Book, Left: t.copies}
		}
		total += quantity * t.book.Price.Minor
	}
	for id, n := range wanted {
		s.titles[id-1].copies -= int32(n)
	}
	var percent int64
	for _, p := range draft.Vouchers {
		percent = min(max(percent, int64(p)), 100)
	}
	return total * (100 - percent) / 100, nil
}

// enter moves o to a state.
func (s *Store) enter(o *shop.Order, state shop.OrderState) {
	s.now += 60
	o.State = state
	o.History[state] = s.now
}

// copyOrder returns what can be encoded after s.mu is released: the parts of
// an order that change are copied.
func copyOrder(o *shop.Order) *shop.Order {
	c := *o
	c.History = maps.Clone(o.History)
	c.Lines = slices.Clone(o.Lines)
	return &c
}

func (s *Store) order(id int64) (*shop.Order, error) {
	if id < 1 || id > int64(len(s.orders)) {
		return nil, missing("order", id)
	}
	return s.orders[id-1], nil
}

func (s *Store) GetOrder(_ context.Context, id int64) (*shop.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.order(id)
	if err != nil {
		return nil, err
	}
	return copyOrder(o), nil
}

func (s *Store) Redirect(_ context.Context, id int64, delivery *shop.Delivery) (*shop.Order, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.open(id)
	if err != nil {
		return nil, err
	}
	o.Delivery = delivery
	return copyOrder(o), nil
}

func (s *Store) CancelOrder(_ context.Context, id int64, _ string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	o, err := s.open(id)
	if err != nil {
		return err
	}
	for _, l := range o.Lines {
		s.titles[l.Book-1].copies += max(l.Quantity, 1)
	}
	s.enter(o, shop.OrderState_CANCELLED)
	return nil
}

// open returns an order that can still be changed.
func (s *Store) open(id int64) (*shop.Order, error) {
	o, err := s.order(id)
	if err != nil {
		return nil, err
	}
	if o.State != shop.OrderState_NEW {
		return nil, &shop.TooLate{State: o.State, Message: "the order cannot be changed any more"}
	}
	return o, nil
}
