package flatbuf_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/flatbuf"
)

// A table with a number in slot 0 and a string in slot 1, which generated code
// would have methods for.
func Example() {
	var b flatbuf.Builder
	name := b.CreateString("Ada")
	b.StartObject(2)
	b.PrependUOffsetTSlot(1, name, 0)
	b.PrependInt32Slot(0, 36, 0)
	b.Finish(b.EndObject())
	msg := b.FinishedBytes()

	person := flatbuf.Layout{Tables: []flatbuf.TableLayout{{Name: "Person", Fields: []flatbuf.FieldLayout{
		{Name: "age", Slot: 0, Kind: flatbuf.ScalarField, Size: 4, Align: 4},
		{Name: "name", Slot: 1, Kind: flatbuf.StringField, Required: true},
	}}}}
	verifier, err := flatbuf.NewVerifier(&person, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := verifier.Verify(msg); err != nil {
		fmt.Println(err)
		return
	}
	t := flatbuf.Table{Bytes: msg, Pos: flatbuf.GetIndirectOffset(msg, 0)}
	fmt.Println(t.GetInt32Slot(4, 0), t.String(t.Pos+flatbuf.UOffsetT(t.Offset(6))))
	fmt.Println(verifier.Verify(msg[:len(msg)-2]))
	// Output:
	// 36 Ada
	// a part lies outside the message at name (offset 24) [unexpected-eof]
}

// A pool belongs to the messages of one kind. The builder goes back when the
// message has been sent.
func ExamplePool() {
	var pool flatbuf.Pool
	for _, name := range []string{"Ada", "Grace"} {
		b := pool.Get()
		s := b.CreateString(name)
		b.StartObject(1)
		b.PrependUOffsetTSlot(0, s, 0)
		b.Finish(b.EndObject())
		fmt.Println(len(b.FinishedBytes()), "bytes")
		pool.Put(b)
	}
	// Output:
	// 28 bytes
	// 32 bytes
}

// A struct with tags is enough to write and read messages.
func ExampleCodec() {
	type Item struct {
		Name  string `flatbuf:"name,required"`
		Count int32  `flatbuf:"count,default=1"`
	}
	type Order struct {
		ID    uint64 `flatbuf:"id"`
		Items []Item `flatbuf:"items"`
	}
	orders, err := flatbuf.For[Order]()
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := orders.Marshal(&Order{ID: 7, Items: []Item{{"tea", 1}, {"cup", 6}}})
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err = orders.Edit(msg, func(o *Order) error {
		o.Items = append(o.Items, Item{"pot", 1})
		return nil
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	var back Order
	fmt.Println(orders.Unmarshal(msg, &back), back)
	fmt.Println(orders.Unmarshal(msg[:40], &back))
	// Output:
	// <nil> {7 [{tea 1} {cup 6} {pot 1}]}
	// a part lies outside the message at items (offset 28) [unexpected-eof]
}

// A map is a vector of tables in the order of their keys.
func ExampleCodec_maps() {
	type Stock struct {
		Items map[string]int32 `flatbuf:"items"`
	}
	stocks, err := flatbuf.For[Stock]()
	if err != nil {
		fmt.Println(err)
		return
	}
	msg, err := stocks.Marshal(&Stock{Items: map[string]int32{"tea": 3, "cup": 12}})
	if err != nil {
		fmt.Println(err)
		return
	}
	var back Stock
	fmt.Println(stocks.Unmarshal(msg, &back), back)
	// Output: <nil> {map[cup:12 tea:3]}
}
