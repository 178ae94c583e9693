package flatbuffers_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/dynamic/flatbuffers"
	"github.com/thrum-rpc/thrum/idl/fbsidl"
)

func Example() {
	const text = `
		enum Color : byte { Red, Green }
		table Item { name: string (key); price: double; color: Color = Green; }
		table Cart { owner: string; items: [Item]; }
		root_type Cart;`
	file, problems := fbsidl.Load("cart.fbs", fbsidl.MemoryOnly(), fbsidl.Sources(map[string][]byte{"cart.fbs": []byte(text)}))
	if file == nil {
		fmt.Println(problems.Err())
		return
	}
	message, err := flatbuffers.Make(file.Root(), map[string]any{
		"owner": "Ada",
		"items": []map[string]any{{"name": "pen", "price": 1.5}, {"name": "ink", "price": 4, "color": "Red"}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	cart := flatbuffers.Root(file.Root(), message)
	owner, _ := cart.Field("owner").Text()
	pen := cart.Field("items").Lookup("pen")
	color, _ := pen.Field("color").EnumName()
	fmt.Println(owner, cart.Field("items").Len(), color)

	message, err = cart.AppendSet(nil, 2.25, dynamic.Name("items"), dynamic.Index(1), dynamic.Name("price"))
	if err != nil {
		fmt.Println(err)
		return
	}
	_, err = flatbuffers.Root(file.Root(), message).Get(dynamic.Name("items"), dynamic.Index(2))
	fmt.Println(err)
	fmt.Println(flatbuffers.Root(file.Root(), message).Any())
	// Output:
	// Ada 2 Green
	// the message has no such value at items[2] (offset 28) [not-found]
	// map[items:[map[color:0 name:ink price:4] map[name:pen price:2.25]] owner:Ada] <nil>
}
