package dynamic_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/dynamic"
	"github.com/thrum-rpc/thrum/schema"
)

func Example() {
	item := schema.NewStruct(schema.DeclSpec{Name: "Item"}, schema.PlainStruct)
	item.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "name", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "price", Type: schema.Basic(schema.I64)}),
	})
	order := schema.NewStruct(schema.DeclSpec{Name: "Order"}, schema.PlainStruct)
	order.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "items", Type: schema.ListOf(item.Type())}),
	})
	message, err := dynamic.AppendAny(nil, order.Type(), map[string]any{
		"items": []any{map[string]any{"name": "pen", "price": 120}, map[string]any{"name": "ink", "price": 350}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}

	// One path, compiled once for many messages.
	price, err := dynamic.Compile(order.Type(), dynamic.Name("items"), dynamic.Index(1), dynamic.Name("price"))
	if err != nil {
		fmt.Println(err)
		return
	}
	v, err := price.Get(dynamic.NewValue(order.Type(), message).Node)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(v.Int())

	// A changed copy of the message.
	changed, err := price.AppendSet(nil, dynamic.NewValue(order.Type(), message).Node, dynamic.NewI64(300))
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(dynamic.NewValue(order.Type(), changed).Any())

	_, err = v.Text()
	fmt.Println(err)
	// Output:
	// 350 <nil>
	// map[items:[map[name:pen price:120] map[name:ink price:300]]] <nil>
	// type mismatch: a string or binary expected, got i64 (offset 0) [type-mismatch]
}
