package transcode_test

import (
	"fmt"

	"github.com/thrum-rpc/thrum/schema"
	"github.com/thrum-rpc/thrum/transcode"
)

func Example() {
	item := schema.NewStruct(schema.DeclSpec{Name: "Item"}, schema.PlainStruct)
	item.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "name", Type: schema.Basic(schema.String)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "sizes", Type: schema.ListOf(schema.Basic(schema.I16))}),
	})
	c, err := transcode.New(item)
	if err != nil {
		fmt.Println(err)
		return
	}
	thrift, err := c.AppendThrift(nil, []byte(`{"name": "shirt", "sizes": [38, 40]}`))
	fmt.Printf("%q %v\n", thrift, err)

	json, n, err := c.AppendJSON(nil, thrift)
	fmt.Printf("%s %d %v\n", json, n, err)

	_, err = c.AppendThrift(nil, []byte(`{"name": "shirt", "sizes": [38, 40000]}`))
	fmt.Println(err)
	// Output:
	// "\v\x00\x01\x00\x00\x00\x05shirt\x0f\x00\x02\x06\x00\x00\x00\x02\x00&\x00(\x00" <nil>
	// {"name":"shirt","sizes":[38,40]} 25 <nil>
	// 40000 is not in the range of i16 at sizes[1] (offset 32) [out-of-range]
}

func ExampleNewHTTP() {
	note := func(name, value string) schema.Annotations {
		return schema.Annotations{{Name: name, Value: value, HasValue: true}}
	}
	order := schema.NewStruct(schema.DeclSpec{Name: "Order"}, schema.PlainStruct)
	order.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "book", Type: schema.Basic(schema.I64), Annotations: note("api.path", "id")}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "tags", Type: schema.ListOf(schema.Basic(schema.String)), Annotations: note("api.query", "tag")}),
		schema.NewField(schema.FieldSpec{ID: 3, Name: "text", Type: schema.Basic(schema.String)}),
	})
	c, err := transcode.NewHTTP(order)
	if err != nil {
		fmt.Println(err)
		return
	}
	plain, err := transcode.New(order)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, id := range []string{"7", "seven"} {
		thrift, err := c.AppendThrift(nil, newRequest(`{"text": "a gift"}`, "path id="+id, "query tag=new,red"))
		if err != nil {
			fmt.Println(err)
			continue
		}
		json, _, err := plain.AppendJSON(nil, thrift)
		fmt.Println(string(json), err)
	}
	// Output:
	// {"book":7,"tags":["new","red"],"text":"a gift"} <nil>
	// the request's path id: "seven" is no value of type i64 at book [syntax]
}

func ExampleNewMethod() {
	args := schema.NewStruct(schema.DeclSpec{Name: "add_args"}, schema.PlainStruct)
	args.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 1, Name: "a", Type: schema.Basic(schema.I32)}),
		schema.NewField(schema.FieldSpec{ID: 2, Name: "b", Type: schema.Basic(schema.I32)}),
	})
	result := schema.NewStruct(schema.DeclSpec{Name: "add_result"}, schema.PlainStruct)
	result.Complete([]*schema.Field{
		schema.NewField(schema.FieldSpec{ID: 0, Name: "success", Type: schema.Basic(schema.I64), Requiredness: schema.Optional}),
	})
	m, err := transcode.NewMethod(schema.NewMethod(schema.MethodSpec{DeclSpec: schema.DeclSpec{Name: "add"}, Args: args, Result: result}))
	if err != nil {
		fmt.Println(err)
		return
	}
	thrift, err := m.AppendArgsThrift(nil, []byte(`{"a": 1, "b": 2}`))
	fmt.Printf("%x %v\n", thrift, err)

	json, field, err := m.AppendResultJSON(nil, []byte("\x0a\x00\x00\x00\x00\x00\x00\x00\x00\x00\x03\x00"))
	fmt.Printf("%s is %s, %v\n", json, field.Name(), err)
	// Output:
	// 080001000000010800020000000200 <nil>
	// 3 is success, <nil>
}
