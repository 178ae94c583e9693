package protobuf_test

import (
	"fmt"
	"testing"

	"github.com/thrum-rpc/thrum/dynamic/protobuf"
	"github.com/thrum-rpc/thrum/idl/protoidl"
	"github.com/thrum-rpc/thrum/schema"
)

const shopIDL = `
syntax = "proto3";
message Item { string name = 1; sint64 price = 2; repeated string tags = 3; }
enum State { NEW = 0; PAID = 1; }
message Order {
  string name = 1;
  repeated Item items = 2;
  map<uint64, string> ids = 3;
  State state = 4;
  uint64 number = 5;
  oneof payment { string card = 6; Item voucher = 7; }
  repeated int32 counts = 8;
  optional int32 discount = 9;
  Item gift = 10;
}
`

// loadShop returns the type Order.
func loadShop() (*schema.Type, error) {
	file, list := protoidl.Load("shop.proto", protoidl.MemoryOnly(), protoidl.Sources(map[string][]byte{"shop.proto": []byte(shopIDL)}))
	if err := list.Err(); err != nil {
		return nil, err
	}
	return file.Struct("Order").Type(), nil
}

func shop(t testing.TB) *schema.Type {
	t.Helper()
	typ, err := loadShop()
	if err != nil {
		t.Fatal(err)
	}
	return typ
}

func Example() {
	order, err := loadShop()
	if err != nil {
		fmt.Println(err)
		return
	}
	message, err := protobuf.AppendAny(nil, order, map[string]any{
		"name":  "Ada",
		"items": []any{map[string]any{"name": "pen", "price": 120}, map[string]any{"name": "ink", "price": 350}},
		"state": "PAID",
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// One part of the message, along a path that is compiled once.
	price, err := protobuf.Compile(order, protobuf.Name("items"), protobuf.Index(1), protobuf.Name("price"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := price.Get(protobuf.NewMessage(message))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Int())

	state, err := protobuf.NewValue(order, message).Get(protobuf.Name("state"))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(state.EnumName())

	_, err = v.Text()
	fmt.Println(err)
	// Output:
	// 350 <nil>
	// PAID <nil>
	// type mismatch: a string or binary expected, got i64 (offset 0) [type-mismatch]
}
