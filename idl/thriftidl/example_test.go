package thriftidl_test

import (
	"fmt"
	"os"

	"github.com/thrum-rpc/thrum/idl/thriftidl"
)

func ExampleLoad() {
	files := map[string][]byte{
		"shop.thrift": []byte(`
include "money.thrift"

enum Color { RED = 1, GREEN }

struct Item {
  1: required string name
  2: optional money.Amount price = {"units": 5}
  3: Color color = Color.GREEN
}

service Shop {
  Item find(1: string name)
}
`),
		"money.thrift": []byte(`struct Amount { 1: i64 units }`),
	}
	file, list := thriftidl.Load("shop.thrift", thriftidl.Sources(files), thriftidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range file.Struct("Item").Fields() {
		fmt.Println(f)
	}
	fmt.Println(file.Struct("Item").FieldByName("color").Default().Int)
	// Output:
	// 1: required string name
	// 2: optional Amount price
	// 3: Color color
	// 2
}

func ExampleLoad_diagnostics() {
	files := map[string][]byte{
		"shop.thrift": []byte("struct Item {\n  1: strng name\n  1: i64 price\n}\n"),
	}
	_, list := thriftidl.Load("shop.thrift", thriftidl.Sources(files))
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop.thrift:2:6: error: the type strng is not declared [unknown-type]
	//   2 |   1: strng name
	//     |      ^^^^^
	//     = hint: did you mean string?
	// shop.thrift:3:3: error: struct Item uses the field id 1 twice [duplicate-field-id]
	//   3 |   1: i64 price
	//     |   ^
	//     = hint: the next free id is 2
	// shop.thrift:2:12: note: first used by name here
	//   2 |   1: strng name
	//     |            ^^^^
}
