package fbsidl_test

import (
	"fmt"
	"os"

	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

func ExampleLoad() {
	files := map[string][]byte{
		"shop.fbs": []byte(`
include "money.fbs";
attribute "go_package=example.com/shop";
namespace shop;

enum Color : byte { Red = 1, Green }

table Item {
  name:string (key);
  price:money.Amount;
  color:Color = Green;
}

rpc_service Shop { Find(Item):Item (streaming: "server"); }
root_type Item;
`),
		"money.fbs": []byte(`namespace money; struct Amount { units:long; cents:byte; }`),
	}
	file, list := fbsidl.Load("shop.fbs", fbsidl.Sources(files), fbsidl.MemoryOnly())
	if err := list.Err(); err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range file.Root().Fields() {
		fmt.Println(f)
	}
	amount := file.Root().FieldByName("price").Type().Struct()
	fmt.Println(amount.FullName(), "has", amount.Size(), "bytes")
	fmt.Println(file.Service("Shop").FullName(), "in", file.Namespace("go"))
	// Output:
	// 0: required string name
	// 1: optional Amount price
	// 2: Color color
	// money.Amount has 16 bytes
	// shop.Shop in example.com/shop
}

func ExampleLoad_diagnostics() {
	files := map[string][]byte{
		"shop.fbs": []byte("table Item {\n  name:strng;\n  price:long = 1.5;\n}\n"),
	}
	_, list := fbsidl.Load("shop.fbs", fbsidl.Sources(files))
	if err := list.Render(os.Stdout); err != nil {
		fmt.Println(err)
	}
	// Output:
	// shop.fbs:2:8: error: the type strng is not declared [unknown-type]
	//   2 |   name:strng;
	//     |        ^^^^^
	//     = hint: did you mean string?
	// shop.fbs:3:16: error: the number 1.5 is no value of type long [type-mismatch]
	//   3 |   price:long = 1.5;
	//     |                ^^^
}
