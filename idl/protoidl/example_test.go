package protoidl_test

import (
	"fmt"
	"os"

	"github.com/thrum-rpc/thrum/idl/protoidl"
)

func ExampleLoad() {
	files := map[string][]byte{"shop.proto": []byte(`
syntax = "proto3";
package shop.v1;

message Item {
  string name = 1;
  optional sint64 price = 2;
  repeated string tags = 3;
}
`)}
	file, list := protoidl.Load("shop.proto", protoidl.Sources(files), protoidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	item := file.Struct("Item")
	fmt.Println(item.FullName())
	for _, f := range item.Fields() {
		fmt.Println(f)
	}
	fmt.Println(item.FieldByName("price").Type().Encoding())
	// Output:
	// shop.v1.Item
	// 1: string name
	// 2: optional i64 price
	// 3: list<string> tags
	// zigzag
}

func ExampleLoad_diagnostics() {
	files := map[string][]byte{"shop.proto": []byte("syntax = \"proto3\";\nmessage Item {\n  strng name = 1;\n}\n")}
	_, list := protoidl.Load("shop.proto", protoidl.Sources(files), protoidl.MemoryOnly())
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop.proto:3:3: error: field Item.name: unknown type strng [protobuf]
	//   3 |   strng name = 1;
	//     |   ^^^^^
}
