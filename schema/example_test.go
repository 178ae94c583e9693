package schema_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
)

// A front end declares a struct, completes it with fields that may name the
// struct itself, and hands it on.
func Example() {
	node := schema.NewStruct(schema.DeclSpec{Name: "Node"}, schema.PlainStruct)
	node.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "label", Type: schema.Basic(schema.String), Requiredness: schema.Required}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "children", Type: schema.ListOf(node.Type())}),
	})
	for _, f := range node.Fields() {
		fmt.Println(f)
	}
	fmt.Println(node.FieldByName("children").Type().Elem().Struct() == node)
	// Output:
	// 1: required string label
	// 2: list<Node> children
	// true
}
