package structs_test

import (
	"errors"
	"testing"

	"github.com/thrum-rpc/thrum/diag"
	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/structs"
	"github.com/thrum-rpc/thrum/wire/thriftwire"
)

// FuzzStructs reads any bytes into a struct; what is read becomes a map that
// gives the struct back, and other structs, or a fault.
func FuzzStructs(f *testing.F) {
	orders, err := structs.For[Order]()
	if err != nil {
		f.Fatal(err)
	}
	v, err := orders.Value(order())
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v.Raw())
	f.Add([]byte("\x0c\x00\x08\x00\x0c\x00\x09\x08\x00\x01\x00\x00\x00\x01\x00\x00"))
	byID, err := structs.Between[Order, Bill]()
	if err != nil {
		f.Fatal(err)
	}
	byName, err := structs.Between[Order, Renamed](structs.ByName())
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		check := func(err error) bool {
			var fault *diag.Fault
			if err != nil && !errors.As(err, &fault) {
				t.Fatal(err)
			}
			return err == nil
		}
		var o Order
		if !check(orders.Read(dynamic.NewNode(thriftwire.Struct, b), &o)) {
			return
		}
		m, err := orders.ToMap(&o)
		if err != nil {
			t.Fatalf("%x was read and is no map: %v", b, err)
		}
		var back Order
		if check(orders.FromMap(m, &back)) {
			again, err := orders.Value(&back)
			if n, _ := orders.Value(&o); err != nil || len(again.Raw()) != len(n.Raw()) {
				t.Fatalf("%x became %x, %v", n.Raw(), again.Raw(), err)
			}
		} else if err := orders.FromMap(m, &back); diag.CodeOf(err) != diag.InvalidUnion {
			t.Fatalf("%v is refused: %v", m, err)
		}
		check(byID.Convert(&o, new(Bill)))
		check(byName.Convert(&o, new(Renamed)))
	})
}
